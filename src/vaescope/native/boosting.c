/* Loops of metrics/boosting.py: histograms, cuts and descent of all trees of a round. Each adds in
   the order in which NumPy does there, in the same precision. */

#include <stdint.h>
#include <string.h>

#define WIDE 16 /* floats that are added at once; rows of sums are padded to it */

static inline void add(int64_t wide, const float *restrict w, float *restrict s)
{
    for (int64_t k = 0; k < wide; k++)
        for (int64_t c = 0; c < WIDE; c++) s[k * WIDE + c] += w[k * WIDE + c];
}

/* acc[cell] += row for the cell of each feature; acc (cells, wide * WIDE). */
static void scatter(int64_t d, int64_t wide, const int32_t *cell, const float *row, float *acc)
{
    const int64_t size = wide * WIDE;
    if (wide == 1)
        for (int64_t j = 0; j < d; j++) add(1, row, acc + cell[j] * size);
    else
        for (int64_t j = 0; j < d; j++) add(wide, row, acc + cell[j] * size);
}

/* sums[cell][column] over rows; weights (n, columns); cell (n, d) numbers the bins of all features.
   scratch: (cells + 1) * columns rounded up to WIDE. */
void histogram(int64_t n, int64_t d, int64_t columns, const int32_t *cell, const float *weights,
               int64_t cells, float *scratch, float *sums)
{
    const int64_t wide = (columns + WIDE - 1) / WIDE, size = wide * WIDE;
    float *row = scratch + cells * size;
    memset(scratch, 0, sizeof(float) * (cells + 1) * size);
    for (int64_t i = 0; i < n; i++) {
        memcpy(row, weights + i * columns, sizeof(float) * columns);
        scatter(d, wide, cell + i * d, row, scratch);
    }
    for (int64_t k = 0; k < cells; k++)
        memcpy(sums + k * columns, scratch + k * size, sizeof(float) * columns);
}

/* Histograms of the next level: of left children by counting, of right ones by subtraction.
   child (n, trees); sums and counts (cells, nodes, trees); out (cells, nodes, 2, trees).
   scratch: (cells + 1) * 2 * nodes * trees rounded up to WIDE. */
void children(int64_t n, int64_t d, int64_t trees, int64_t nodes, int64_t cells,
              const int32_t *cell, const float *by_row, const int8_t *child, const float *sums,
              const float *counts, float *scratch, float *out_sums, float *out_counts)
{
    const int64_t columns = nodes * trees, wide = (2 * columns + WIDE - 1) / WIDE;
    const int64_t size = wide * WIDE;
    float *restrict slopes = scratch + cells * size, *restrict ones = slopes + columns;
    memset(scratch, 0, sizeof(float) * (cells + 1) * size);
    for (int64_t i = 0; i < n; i++) {
        const float *restrict r = by_row + i * trees;
        const int8_t *restrict own = child + i * trees;
        for (int64_t q = 0; q < nodes; q++)
            for (int64_t t = 0; t < trees; t++) {
                const float member = own[t] == 2 * q ? 1.0f : 0.0f;
                ones[q * trees + t] = member;
                slopes[q * trees + t] = r[t] * member;
            }
        scatter(d, wide, cell + i * d, slopes, scratch);
    }
    for (int64_t k = 0; k < cells; k++)
        for (int64_t q = 0; q < nodes; q++) {
            const float *left = scratch + k * size + q * trees, *count = left + columns;
            const int64_t from = (k * nodes + q) * trees, to = 2 * from;
            for (int64_t t = 0; t < trees; t++) {
                out_sums[to + t] = left[t];
                out_sums[to + trees + t] = sums[from + t] - left[t];
                out_counts[to + t] = count[t];
                out_counts[to + trees + t] = counts[from + t] - count[t];
            }
        }
}

static inline float gain_of(float left, float n_left, float total, float n)
{
    const float right = total - left, n_right = n - n_left;
    if (n_left < 0.5f || n_right < 0.5f) return -1.0f;
    return left * left / (n_left > 0.5f ? n_left : 0.5f)
         + right * right / (n_right > 0.5f ? n_right : 0.5f);
}

/* The best bin of each feature and column, the gain there and what lies left of it; totals of the
   first feature. sums and counts (d, bins, columns); running: 4 * columns floats. */
void coarse(int64_t d, int64_t bins, int64_t columns, const float *sums, const float *counts,
            float *running, float *total, float *n, float *best, int64_t *bin, float *left,
            float *n_left)
{
    float *restrict s = running, *restrict c = running + columns;
    memcpy(total, sums, sizeof(float) * columns);
    memcpy(n, counts, sizeof(float) * columns);
    for (int64_t b = 1; b < bins; b++)
        for (int64_t k = 0; k < columns; k++) {
            total[k] += sums[b * columns + k];
            n[k] += counts[b * columns + k];
        }
    for (int64_t j = 0; j < d; j++) {
        float *restrict most = best + j * columns;
        int64_t *restrict at = bin + j * columns;
        float *restrict l = left + j * columns, *restrict m = n_left + j * columns;
        for (int64_t b = 0; b < bins - 1; b++) {
            const float *restrict add = sums + (j * bins + b) * columns;
            const float *restrict more = counts + (j * bins + b) * columns;
            for (int64_t k = 0; k < columns; k++) {
                s[k] = b ? s[k] + add[k] : add[k];
                c[k] = b ? c[k] + more[k] : more[k];
                const float g = gain_of(s[k], c[k], total[k], n[k]);
                if (b == 0 || g > most[k]) {
                    most[k] = g; at[k] = b; l[k] = s[k]; m[k] = c[k];
                }
            }
        }
    }
}

/* The best place near the chosen quantile of each kept feature and column. near and barred
   (d * (bins - 1), window); residuals and nodes (trees, rows). */
void refine(int64_t kept, int64_t columns, int64_t trees, int64_t rows, int64_t reach,
            const int64_t *at, const int64_t *near, const int8_t *barred, const float *residuals,
            const int8_t *nodes, const float *left, const float *n_left, const float *total,
            const float *n, float *scratch, int64_t *best, float *gain)
{
    const int64_t window = 2 * reach;
    float *sum = scratch, *count = scratch + window;
    for (int64_t f = 0; f < kept; f++)
        for (int64_t k = 0; k < columns; k++) {
            const int64_t *rows_near = near + at[f * columns + k] * window;
            const int8_t *closed = barred + at[f * columns + k] * window;
            const float *r = residuals + (k % trees) * rows;
            const int8_t *own = nodes + (k % trees) * rows, node = (int8_t)(k / trees);
            float s = 0.0f, c = 0.0f;
            for (int64_t w = 0; w < window; w++) {
                const float member = own[rows_near[w]] == node ? 1.0f : 0.0f;
                const float add = r[rows_near[w]] * member;
                s = w ? s + add : add;
                c += member;
                sum[w] = s; count[w] = c;
            }
            const float middle = sum[reach - 1], half = count[reach - 1];
            const float before = left[f * columns + k], fewer = n_left[f * columns + k];
            float most = 0.0f; int64_t place = 0;
            for (int64_t w = 0; w < window; w++) {
                float g = gain_of((sum[w] + before) - middle, (count[w] + fewer) - half, total[k],
                                  n[k]);
                if (closed[w]) g = -1.0f;
                if (w == 0 || g > most) { most = g; place = w; }
            }
            best[f * columns + k] = place; gain[f * columns + k] = most;
        }
}

/* node = 2 node + (value > cut) by the split of each row's node; values (d, n), cuts of one type. */
#define DESCEND(NAME, TYPE)                                                                       \
void NAME(int64_t n, int64_t trees, int64_t stride, const TYPE *values, const int64_t *feature,   \
          const TYPE *cut, int8_t *node)                                                          \
{                                                                                                 \
    for (int64_t t = 0; t < trees; t++) {                                                         \
        int8_t *restrict own = node + t * stride;                                                 \
        for (int64_t i = 0; i < n; i++) {                                                         \
            const int64_t k = own[i] * trees + t;                                                 \
            own[i] = (int8_t)(2 * own[i] + (values[feature[k] * n + i] > cut[k]));                \
        }                                                                                         \
    }                                                                                             \
}
DESCEND(descend_ranks, int32_t)
DESCEND(descend_values, double)

/* Sums of residuals and of p (1 - p) in each leaf of each tree, in float64. */
void leaves(int64_t n, int64_t trees, int64_t stride, int64_t size, const int8_t *leaf,
            const float *residual, const float *probability, double *slope, double *curve)
{
    memset(slope, 0, sizeof(double) * size * trees);
    memset(curve, 0, sizeof(double) * size * trees);
    for (int64_t t = 0; t < trees; t++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t k = t * size + leaf[t * stride + i];
            const float p = probability[t * n + i];
            slope[k] += (double)residual[t * stride + i];
            curve[k] += (double)(p * (1.0f - p));
        }
}
