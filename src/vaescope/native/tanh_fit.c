/* geometry/tanh_fit.py: f(eps) = g [tanh(m eps / g + b) - tanh b] to each output by Levenberg's
   method. One output after another, so that all of it stays in the cache. */

#include "exponential.h"
#include <stdlib.h>

#define MOST_BIAS 6.0
#define STARTS 6
#define LANES 8 /* of tanh_fit.py: numbers that are loaded at once, without one cut in two */

static const double gains[STARTS] = {1.0, 1.0, 1.0, 3.0, 3.0, 3.0};
static const double biases[STARTS] = {0.0, -0.7, 0.7, 0.0, -0.7, 0.7};

static double dot(int64_t n, const double *restrict a, const double *restrict b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* out[r] = sum_i a[i] rows[r][i]: eight rows at a time, as one sum alone waits for itself. */
static void dots(int64_t n, int64_t count, const double *restrict a, const double *restrict rows,
                 double *restrict out)
{
    int64_t r = 0;
    for (; r + 8 <= count; r += 8) {
        const double *restrict b = rows + r * n;
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0, s5 = 0.0, s6 = 0.0, s7 = 0.0;
        for (int64_t i = 0; i < n; i++) {
            s0 += a[i] * b[i];
            s1 += a[i] * b[n + i];
            s2 += a[i] * b[2 * n + i];
            s3 += a[i] * b[3 * n + i];
            s4 += a[i] * b[4 * n + i];
            s5 += a[i] * b[5 * n + i];
            s6 += a[i] * b[6 * n + i];
            s7 += a[i] * b[7 * n + i];
        }
        out[r] = s0; out[r + 1] = s1; out[r + 2] = s2; out[r + 3] = s3;
        out[r + 4] = s4; out[r + 5] = s5; out[r + 6] = s6; out[r + 7] = s7;
    }
    for (; r + 2 <= count; r += 2) {
        const double *restrict b = rows + r * n;
        double s0 = 0.0, s1 = 0.0;
        for (int64_t i = 0; i < n; i++) {
            s0 += a[i] * b[i];
            s1 += a[i] * b[n + i];
        }
        out[r] = s0; out[r + 1] = s1;
    }
    for (; r < count; r++) out[r] = dot(n, a, rows + r * n);
}

/* The same of three vectors: out[3 r + k] = sum_i a_k[i] rows[r][i]. */
static void threes(int64_t n, int64_t count, const double *restrict a0, const double *restrict a1,
                   const double *restrict a2, const double *restrict rows, double *restrict out)
{
    int64_t r = 0;
    for (; r + 2 <= count; r += 2) {
        const double *restrict b = rows + r * n, *restrict c = b + n;
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0, s5 = 0.0;
        for (int64_t i = 0; i < n; i++) {
            s0 += a0[i] * b[i];
            s1 += a1[i] * b[i];
            s2 += a2[i] * b[i];
            s3 += a0[i] * c[i];
            s4 += a1[i] * c[i];
            s5 += a2[i] * c[i];
        }
        out[3 * r] = s0; out[3 * r + 1] = s1; out[3 * r + 2] = s2;
        out[3 * r + 3] = s3; out[3 * r + 4] = s4; out[3 * r + 5] = s5;
    }
    for (; r < count; r++) {
        out[3 * r] = dot(n, a0, rows + r * n);
        out[3 * r + 1] = dot(n, a1, rows + r * n);
        out[3 * r + 2] = dot(n, a2, rows + r * n);
    }
}

/* out[i] = sum_j by[j] rows[j][i]. */
static void combined(int64_t n, int64_t count, const double *restrict by,
                     const double *restrict rows, double *restrict out)
{
    for (int64_t i = 0; i < n; i++) out[i] = 0.0;
    int64_t j = 0;
    for (; j + 4 <= count; j += 4) {
        const double *restrict b = rows + j * n;
        for (int64_t i = 0; i < n; i++)
            out[i] += by[j] * b[i] + by[j + 1] * b[n + i] + by[j + 2] * b[2 * n + i]
                    + by[j + 3] * b[3 * n + i];
    }
    for (; j < count; j++)
        for (int64_t i = 0; i < n; i++) out[i] += by[j] * rows[j * n + i];
}

/* tanh(u / g + b) and what f misses of the target; the mean square of that. */
static double evaluate(int64_t samples, int64_t n, const double *restrict u,
                       const double *restrict target, double bias, double gain,
                       double *restrict th, double *restrict residual)
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
    return sum / samples;
}

/* The square of f's derivative by u, and its products with the derivatives by the bias and by log g
   and with what f misses; into sums the products of these three with each other, but the last's
   with itself: bias bias, bias gain, gain gain, bias missed, gain missed. */
static void bend(int64_t n, const double *restrict u, const double *restrict target,
                 const double *restrict th, const double *restrict residual, double gain,
                 double flat, double *restrict square, double *restrict to_bias,
                 double *restrict to_gain, double *restrict missed, double *restrict sums)
{
    double bb = 0.0, bg = 0.0, gg = 0.0, br = 0.0, gr = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double s = 1.0 - th[i] * th[i], r = residual[i];
        const double by_bias = gain * (s - flat), by_gain = (target[i] - r) - u[i] * s;
        square[i] = s * s;
        to_bias[i] = s * by_bias;
        to_gain[i] = s * by_gain;
        missed[i] = s * r;
        bb += by_bias * by_bias;
        bg += by_bias * by_gain;
        gg += by_gain * by_gain;
        br += by_bias * r;
        gr += by_gain * r;
    }
    sums[0] = bb; sums[1] = bg; sums[2] = gg; sums[3] = br; sums[4] = gr;
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
   start (outputs, d); unknowns (outputs, d + 2): m, b, log g. n is samples rounded up to LANES, and
   what is beyond them is 0: it adds nothing to any sum. Returns 0 where memory is short. */
int fit(int64_t samples, int64_t n, int64_t d, int64_t outputs, const double *eps,
        const double *pairs, const double *target, const double *start, double tolerance,
        int64_t iterations, double *unknowns, double *losses)
{
    const int m = (int)d + 2;
    double *memory;
    const size_t bytes = sizeof(double) * (7 * n + 3 * m * m + 5 * m);
    if (posix_memalign((void **)&memory, sizeof(double) * LANES, bytes)) return 0;
    double *u = memory, *th = u + n, *residual = th + n;
    double *new_u = residual + n, *new_th = new_u + n, *new_residual = new_th + n;
    double *square = new_residual + n, *normal = square + n, *matrix = normal + m * m;
    double *step = matrix + m * m;
    double *trial = step + m, *product = trial + m;
    for (int64_t o = 0; o < outputs; o++) {
        const double *y = target + o * n, *line = start + o * d;
        double *at = unknowns + o * m;
        combined(n, d, line, eps, new_u);
        const double size = sqrt(dot(n, new_u, new_u) / samples);
        double loss = INFINITY;
        int best = 0;
        for (int k = 0; k < STARTS; k++) {
            const double level = tanh(biases[k]), rise = 1.0 - level * level;
            for (int64_t i = 0; i < n; i++) u[i] = new_u[i] / rise;
            const double gain = gains[k] * size;
            const double found = evaluate(samples, n, u, y, biases[k], gain, th, residual);
            if (k == 0 || found < loss) { loss = found; best = k; }
        }
        const double level_0 = tanh(biases[best]), rise = 1.0 - level_0 * level_0;
        for (int64_t i = 0; i < n; i++) u[i] = new_u[i] / rise;
        loss = evaluate(samples, n, u, y, biases[best], gains[best] * size, th, residual);
        for (int64_t j = 0; j < d; j++) at[j] = line[j] / rise;
        at[d] = biases[best];
        at[d + 1] = log(gains[best] * size);
        double damping = 1e-2;
        int fresh = 1; /* whether the normal equations are to be made anew */
        for (int64_t round = 0; round < iterations; round++) {
            if (fresh) {
                const double level = tanh(at[d]), gain = exp(at[d + 1]);
                const double flat = 1.0 - level * level;
                double sums[5]; /* the new ones are made only after this */
                bend(n, u, y, th, residual, gain, flat, square, new_u, new_th, new_residual, sums);
                dots(n, d * (d + 1) / 2, square, pairs, product);
                for (int64_t a = 0, p = 0; a < d; a++)
                    for (int64_t b = a; b < d; b++, p++)
                        normal[a * m + b] = normal[b * m + a] = product[p];
                threes(n, d, new_u, new_th, new_residual, eps, product);
                for (int64_t j = 0; j < d; j++) {
                    normal[j * m + d] = normal[d * m + j] = product[3 * j];
                    normal[j * m + d + 1] = normal[(d + 1) * m + j] = product[3 * j + 1];
                    trial[j] = product[3 * j + 2];
                }
                normal[d * m + d] = sums[0];
                normal[d * m + d + 1] = normal[(d + 1) * m + d] = sums[1];
                normal[(d + 1) * m + d + 1] = sums[2];
                trial[d] = sums[3];
                trial[d + 1] = sums[4];
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
                combined(n, d, step, eps, new_u);
                const double gain = exp(step[d + 1]);
                found = evaluate(samples, n, new_u, y, bias, gain, new_th, new_residual);
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
