/* geometry/tanh_fit.py: f(eps) = g [tanh(m eps / g + b) - tanh b] to each output by Levenberg's
   method. One output after another, so that all of it stays in the cache. */

#include "exponential.h"
#include <stdlib.h>

#define MOST_BIAS 6.0
#define STARTS 6

static const double gains[STARTS] = {1.0, 1.0, 1.0, 3.0, 3.0, 3.0};
static const double biases[STARTS] = {0.0, -0.7, 0.7, 0.0, -0.7, 0.7};

static double dot(int64_t n, const double *restrict a, const double *restrict b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* tanh(u / g + b) and what f misses of the target; the mean square of that. */
static double evaluate(int64_t n, const double *restrict u, const double *restrict target,
                       double bias, double gain, double *restrict th, double *restrict residual)
{
    const double level = tanh(bias), inverse = 1.0 / gain;
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double t = 1.0 - 2.0 / (exp_double(2.0 * (u[i] * inverse + bias)) + 1.0);
        const double missed = target[i] - gain * (t - level);
        th[i] = t;
        residual[i] = missed;
        sum += missed * missed;
    }
    return sum / n;
}

/* Solves a x = b by elimination with pivots; a (m, m) and b are overwritten, x is in b. */
static int solve(int m, double *a, double *b)
{
    for (int c = 0; c < m; c++) {
        int pivot = c;
        for (int r = c + 1; r < m; r++)
            if (fabs(a[r * m + c]) > fabs(a[pivot * m + c])) pivot = r;
        if (!(fabs(a[pivot * m + c]) > 0.0)) return 0;
        if (pivot != c) {
            for (int k = c; k < m; k++) {
                const double held = a[c * m + k];
                a[c * m + k] = a[pivot * m + k];
                a[pivot * m + k] = held;
            }
            const double held = b[c]; b[c] = b[pivot]; b[pivot] = held;
        }
        for (int r = c + 1; r < m; r++) {
            const double factor = a[r * m + c] / a[c * m + c];
            for (int k = c; k < m; k++) a[r * m + k] -= factor * a[c * m + k];
            b[r] -= factor * b[c];
        }
    }
    for (int c = m - 1; c >= 0; c--) {
        for (int k = c + 1; k < m; k++) b[c] -= a[c * m + k] * b[k];
        b[c] /= a[c * m + c];
    }
    return 1;
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : (x > high ? high : x);
}

/* eps (d, n); pairs (d (d + 1) / 2, n), the products eps_i eps_j, i <= j; target (outputs, n);
   start (outputs, d); unknowns (outputs, d + 2): m, b, log g. Returns 0 where memory is short. */
int fit(int64_t n, int64_t d, int64_t outputs, const double *eps, const double *pairs,
        const double *target, const double *start, double tolerance, int64_t iterations,
        double *unknowns, double *losses)
{
    const int m = (int)d + 2;
    double *memory = malloc(sizeof(double) * (9 * n + 2 * m * m + 3 * m));
    if (!memory) return 0;
    double *u = memory, *th = u + n, *residual = th + n;
    double *new_u = residual + n, *new_th = new_u + n, *new_residual = new_th + n;
    double *slope = new_residual + n, *by_bias = slope + n, *by_gain = by_bias + n;
    double *normal = by_gain + n, *matrix = normal + m * m, *step = matrix + m * m;
    double *trial = step + m;
    for (int64_t o = 0; o < outputs; o++) {
        const double *y = target + o * n, *line = start + o * d;
        double *at = unknowns + o * m;
        for (int64_t i = 0; i < n; i++) new_u[i] = 0.0;
        for (int64_t j = 0; j < d; j++)
            for (int64_t i = 0; i < n; i++) new_u[i] += line[j] * eps[j * n + i];
        const double size = sqrt(dot(n, new_u, new_u) / n);
        double loss = INFINITY;
        int best = 0;
        for (int k = 0; k < STARTS; k++) {
            const double level = tanh(biases[k]), rise = 1.0 - level * level;
            for (int64_t i = 0; i < n; i++) u[i] = new_u[i] / rise;
            const double found = evaluate(n, u, y, biases[k], gains[k] * size, th, residual);
            if (k == 0 || found < loss) { loss = found; best = k; }
        }
        const double level_0 = tanh(biases[best]), rise = 1.0 - level_0 * level_0;
        for (int64_t i = 0; i < n; i++) u[i] = new_u[i] / rise;
        loss = evaluate(n, u, y, biases[best], gains[best] * size, th, residual);
        for (int64_t j = 0; j < d; j++) at[j] = line[j] / rise;
        at[d] = biases[best];
        at[d + 1] = log(gains[best] * size);
        double damping = 1e-2;
        int fresh = 1; /* whether the normal equations are to be made anew */
        for (int64_t round = 0; round < iterations; round++) {
            if (fresh) {
                const double level = tanh(at[d]), gain = exp(at[d + 1]);
                const double flat = 1.0 - level * level;
                for (int64_t i = 0; i < n; i++) {
                    const double s = 1.0 - th[i] * th[i];
                    slope[i] = s;
                    by_bias[i] = gain * (s - flat);
                    by_gain[i] = (y[i] - residual[i]) - u[i] * s;
                }
                double *restrict w = new_th;
                for (int64_t i = 0; i < n; i++) w[i] = slope[i] * slope[i];
                for (int64_t a = 0, p = 0; a < d; a++)
                    for (int64_t b = a; b < d; b++, p++)
                        normal[a * m + b] = normal[b * m + a] = dot(n, w, pairs + p * n);
                const double *bends[3] = {by_bias, by_gain, residual};
                for (int k = 0; k < 3; k++) {
                    for (int64_t i = 0; i < n; i++) w[i] = slope[i] * bends[k][i];
                    for (int64_t j = 0; j < d; j++) {
                        const double product = dot(n, w, eps + j * n);
                        if (k == 2) trial[j] = product;
                        else normal[j * m + d + k] = normal[(d + k) * m + j] = product;
                    }
                }
                normal[d * m + d] = dot(n, by_bias, by_bias);
                normal[d * m + d + 1] = normal[(d + 1) * m + d] = dot(n, by_bias, by_gain);
                normal[(d + 1) * m + d + 1] = dot(n, by_gain, by_gain);
                trial[d] = dot(n, by_bias, residual);
                trial[d + 1] = dot(n, by_gain, residual);
            }
            double trace = 0.0;
            for (int k = 0; k < m; k++) trace += normal[k * m + k];
            memcpy(matrix, normal, sizeof(double) * m * m);
            memcpy(step, trial, sizeof(double) * m);
            for (int k = 0; k < m; k++)
                matrix[k * m + k] += damping * normal[k * m + k] + 1e-12 * trace / m + 1e-300;
            double found = INFINITY, bias = 0.0;
            if (solve(m, matrix, step)) {
                step[d] = clamp(step[d], -1.0, 1.0);
                step[d + 1] = clamp(step[d + 1], -1.0, 1.0);
                for (int k = 0; k < m; k++) step[k] += at[k];
                bias = step[d] = clamp(step[d], -MOST_BIAS, MOST_BIAS);
                for (int64_t i = 0; i < n; i++) new_u[i] = 0.0;
                for (int64_t j = 0; j < d; j++)
                    for (int64_t i = 0; i < n; i++) new_u[i] += step[j] * eps[j * n + i];
                found = evaluate(n, new_u, y, bias, exp(step[d + 1]), new_th, new_residual);
            }
            const int closed = fabs(loss - found) <= tolerance * loss;
            fresh = found < loss;
            if (fresh) {
                double *held;
                held = u; u = new_u; new_u = held;
                held = th; th = new_th; new_th = held;
                held = residual; residual = new_residual; new_residual = held;
                memcpy(at, step, sizeof(double) * m);
                loss = found;
                damping = damping * 0.2 > 1e-9 ? damping * 0.2 : 1e-9;
            } else {
                damping *= 5.0;
            }
            if (closed || damping > 1e8) break;
        }
        losses[o] = loss;
    }
    free(memory);
    return 1;
}
