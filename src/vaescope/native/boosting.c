/* Loops of metrics/boosting.py: histograms, cuts and descent of all trees of a round. Each adds in
   the order in which NumPy does there, in the same precision. */

#include <stdint.h>
#include <string.h>

#define WIDE 16 /* floats that are added at once; rows of sums are padded to it */

typedef float lanes __attribute__((vector_size(4 * WIDE), aligned(4)));

/* Rows whose weights are together in the second cache. */
#define ROWS 256

/* acc[block][cell] += the block of each of some rows' weights, for the cell of each feature. Sums of
   one block of columns stay in the first cache while all these rows are added to them. */
static void scatter(int64_t rows, int64_t d, int64_t wide, const int32_t *cell,
                    const float *weights, int64_t cells, float *acc)
{
    for (int64_t k = 0; k < wide; k++) {
        lanes *own = (lanes *)(acc + k * cells * WIDE);
        for (int64_t i = 0; i < rows; i++) {
            const lanes row = *(const lanes *)(weights + (i * wide + k) * WIDE);
            for (int64_t j = 0; j < d; j++) own[cell[i * d + j]] += row;
        }
    }
}

/* The sums of one cell, its blocks side by side. */
static void gather(int64_t wide, int64_t cells, int64_t cell, const float *acc, float *row)
{
    for (int64_t k = 0; k < wide; k++)
        memcpy(row + k * WIDE, acc + (k * cells + cell) * WIDE, sizeof(float) * WIDE);
}

/* sums[cell][column] over rows; weights (n, columns); cell (n, d) numbers the bins of all features.
   scratch: (cells + ROWS) * columns rounded up to WIDE. */
void histogram(int64_t n, int64_t d, int64_t columns, const int32_t *cell, const float *weights,
               int64_t cells, float *scratch, float *sums)
{
    const int64_t wide = (columns + WIDE - 1) / WIDE, size = wide * WIDE;
    float *rows = scratch + cells * size;
    memset(scratch, 0, sizeof(float) * (cells + ROWS) * size);
    for (int64_t i = 0; i < n; i += ROWS) {
        const int64_t some = n - i < ROWS ? n - i : ROWS;
        for (int64_t r = 0; r < some; r++)
            memcpy(rows + r * size, weights + (i + r) * columns, sizeof(float) * columns);
        scatter(some, d, wide, cell + i * d, rows, cells, scratch);
    }
    for (int64_t k = 0; k < cells; k++) {
        gather(wide, cells, k, scratch, rows);
        memcpy(sums + k * columns, rows, sizeof(float) * columns);
    }
}

/* Histograms of the next level: of left children by counting, of right ones by subtraction.
   child (n, trees); sums and counts (cells, nodes, trees); out (cells, nodes, 2, trees).
   scratch: (cells + ROWS) * 2 * nodes * trees rounded up to WIDE. */
void children(int64_t n, int64_t d, int64_t trees, int64_t nodes, int64_t cells,
              const int32_t *cell, const float *by_row, const int8_t *child, const float *sums,
              const float *counts, float *scratch, float *out_sums, float *out_counts)
{
    const int64_t columns = nodes * trees, wide = (2 * columns + WIDE - 1) / WIDE;
    const int64_t size = wide * WIDE;
    float *rows = scratch + cells * size;
    memset(scratch, 0, sizeof(float) * (cells + ROWS) * size);
    for (int64_t i = 0; i < n; i += ROWS) {
        const int64_t some = n - i < ROWS ? n - i : ROWS;
        for (int64_t r = 0; r < some; r++) {
            const float *restrict residual = by_row + (i + r) * trees;
            const int8_t *restrict own = child + (i + r) * trees;
            for (int64_t q = 0; q < nodes; q++) {
                float *restrict slopes = rows + r * size + q * trees;
                float *restrict ones = slopes + columns;
                for (int64_t t = 0; t < trees; t++) {
                    const float member = own[t] == 2 * q ? 1.0f : 0.0f;
                    ones[t] = member;
                    slopes[t] = residual[t] * member;
                }
            }
        }
        scatter(some, d, wide, cell + i * d, rows, cells, scratch);
    }
    for (int64_t k = 0; k < cells; k++) {
        gather(wide, cells, k, scratch, rows);
        for (int64_t q = 0; q < nodes; q++) {
            const float *restrict left = rows + q * trees, *restrict count = left + columns;
            const int64_t from = (k * nodes + q) * trees, to = 2 * from;
            float *restrict new = out_sums + to, *restrict many = out_counts + to;
            for (int64_t t = 0; t < trees; t++) {
                new[t] = left[t];
                new[trees + t] = sums[from + t] - left[t];
                many[t] = count[t];
                many[trees + t] = counts[from + t] - count[t];
            }
        }
    }
}

static inline float gain_of(float left, float n_left, float total, float n)
{
    const float right = total - left, n_right = n - n_left;
    const float gain = left * left / (n_left > 0.5f ? n_left : 0.5f)
                     + right * right / (n_right > 0.5f ? n_right : 0.5f);
    return (n_left < 0.5f) | (n_right < 0.5f) ? -1.0f : gain;
}

/* The best bin of each feature and column, the gain there and what lies left of it; totals of the
   first feature. sums and counts (d, bins, columns); running: 2 * columns floats, numbers: columns.
   */
void coarse(int64_t d, int64_t bins, int64_t columns, const float *sums, const float *counts,
            float *running, int32_t *numbers, float *total, float *n, float *best, int64_t *bin,
            float *left, float *n_left)
{
    float *restrict s = running, *restrict c = running + columns;
    const float *restrict whole = total, *restrict rows = n;
    int32_t *restrict at = numbers; /* as wide as the sums, so that all are compared at once */
    memcpy(total, sums, sizeof(float) * columns);
    memcpy(n, counts, sizeof(float) * columns);
    for (int64_t b = 1; b < bins; b++)
        for (int64_t k = 0; k < columns; k++) {
            total[k] += sums[b * columns + k];
            n[k] += counts[b * columns + k];
        }
    for (int64_t j = 0; j < d; j++) {
        const float *restrict add = sums + j * bins * columns;
        const float *restrict more = counts + j * bins * columns;
        float *restrict most = best + j * columns;
        float *restrict l = left + j * columns, *restrict m = n_left + j * columns;
        for (int64_t k = 0; k < columns; k++) {
            l[k] = s[k] = add[k];
            m[k] = c[k] = more[k];
            most[k] = gain_of(s[k], c[k], whole[k], rows[k]);
            at[k] = 0;
        }
        for (int32_t b = 1; b < bins - 1; b++) {
            add += columns;
            more += columns;
            for (int64_t k = 0; k < columns; k++) {
                const float sum = s[k] + add[k], count = c[k] + more[k];
                const float g = gain_of(sum, count, whole[k], rows[k]);
                const int better = g > most[k];
                s[k] = sum;
                c[k] = count;
                most[k] = better ? g : most[k];
                at[k] = better ? b : at[k];
                l[k] = better ? sum : l[k];
                m[k] = better ? count : m[k];
            }
        }
        for (int64_t k = 0; k < columns; k++) bin[j * columns + k] = at[k];
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
    float *restrict sum = scratch, *restrict count = sum + window, *restrict gains = count + window;
    for (int64_t f = 0; f < kept; f++)
        for (int64_t k = 0; k < columns; k++) {
            const int64_t *rows_near = near + at[f * columns + k] * window;
            const int8_t *closed = barred + at[f * columns + k] * window;
            const float *r = residuals + (k % trees) * rows;
            const int8_t *own = nodes + (k % trees) * rows, node = (int8_t)(k / trees);
            float s = 0.0f, c = 0.0f;
            for (int64_t w = 0; w < window; w++) {
                const float member = (float)(own[rows_near[w]] == node); /* no branch: it guesses */
                s += r[rows_near[w]] * member;
                c += member;
                sum[w] = s; count[w] = c;
            }
            const float middle = sum[reach - 1], half = count[reach - 1];
            const float before = left[f * columns + k], fewer = n_left[f * columns + k];
            const float whole = total[k], all = n[k];
            for (int64_t w = 0; w < window; w++) {
                const float g = gain_of((sum[w] + before) - middle, (count[w] + fewer) - half,
                                        whole, all);
                gains[w] = closed[w] ? -1.0f : g;
            }
            float most = gains[0]; int64_t place = 0;
            for (int64_t w = 1; w < window; w++)
                if (gains[w] > most) { most = gains[w]; place = w; }
            best[f * columns + k] = place; gain[f * columns + k] = most;
        }
}

/* node = 2 node + (value > cut) by the split of each row's node; values (d, n), cuts of one type.
   The answers of up to four nodes are had for all rows at once: that takes less than looking up
   what each row's node asks. */
#define DESCEND(NAME, TYPE)                                                                       \
static inline __attribute__((always_inline)) void                                                 \
NAME##_few(int nodes, int64_t n, const TYPE *const *value, const TYPE *cut, int8_t *restrict own) \
{                                                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                             \
        int8_t beyond = 0;                                                                        \
        for (int8_t q = 0; q < nodes; q++)                                                        \
            beyond |= (int8_t)(own[i] == q) & (int8_t)(value[q][i] > cut[q]);                     \
        own[i] = (int8_t)(2 * own[i] + beyond);                                                   \
    }                                                                                             \
}                                                                                                 \
void NAME(int64_t n, int64_t trees, int64_t stride, int64_t nodes, const TYPE *values,            \
          const int64_t *feature, const TYPE *cut, int8_t *node)                                  \
{                                                                                                 \
    for (int64_t t = 0; t < trees; t++) {                                                         \
        int8_t *restrict own = node + t * stride;                                                 \
        const TYPE *value[4];                                                                     \
        TYPE cuts[4];                                                                             \
        for (int64_t q = 0; q < nodes && q < 4; q++) {                                            \
            value[q] = values + feature[q * trees + t] * n;                                       \
            cuts[q] = cut[q * trees + t];                                                         \
        }                                                                                         \
        if (nodes == 1) NAME##_few(1, n, value, cuts, own);                                       \
        else if (nodes == 2) NAME##_few(2, n, value, cuts, own);                                  \
        else if (nodes == 4) NAME##_few(4, n, value, cuts, own);                                  \
        else for (int64_t i = 0; i < n; i++) {                                                    \
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
