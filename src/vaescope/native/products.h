/* Products of the layers of one small net with a batch: numbers of one unit lie together, BATCH of
   them, a multiple of 16. */

#include <stdint.h>
#include <string.h>

/* Vectors of the width that the machine has: compilers keep wider ones in memory, and a product takes
   sixty times as long. SUMS of them stay in its registers. */
#ifdef __AVX512F__
#define LANES 16
#define SUMS 24
#define MOST_COLUMNS 4
#else
#ifdef __AVX__
#define LANES 8
#else
#define LANES 4
#endif
#define SUMS 12
#define MOST_COLUMNS 2
#endif
#define PARTS (BATCH / LANES)

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4 * LANES)));
typedef float loose __attribute__((vector_size(4 * LANES), aligned(4)));

/* to[c * step + r] = rows[r][c] for LANES rows and columns: halves of two rows change places, then
   quarters, and so on. */
static inline void turn_square(const float *const *rows, float *to, int64_t step)
{
#ifdef __AVX512F__
    typedef int32_t places __attribute__((vector_size(4 * LANES)));
    lanes v[LANES];
    for (int r = 0; r < LANES; r++) v[r] = *(const loose *)rows[r];
#pragma GCC unroll 4
    for (int h = LANES / 2; h; h /= 2) {
        places low, high;
        for (int l = 0; l < LANES; l++) {
            low[l] = l & h ? LANES + (l ^ h) : l;
            high[l] = l & h ? LANES + l : l ^ h;
        }
        for (int r = 0; r < LANES; r++)
            if (!(r & h)) {
                const lanes one = v[r], other = v[r | h];
                v[r] = __builtin_shuffle(one, other, low);
                v[r | h] = __builtin_shuffle(one, other, high);
            }
    }
    for (int c = 0; c < LANES; c++) *(loose *)(to + c * step) = v[c];
#else
    for (int r = 0; r < LANES; r++)
        for (int c = 0; c < LANES; c++) to[c * step + r] = rows[r][c];
#endif
}

/* to[c * step + r] = rows[r][c] for LANES rows. */
static inline void turn(const float *const *rows, int64_t columns, float *to, int64_t step)
{
    int64_t c = 0;
    for (; c + LANES <= columns; c += LANES) {
        const float *here[LANES];
        for (int r = 0; r < LANES; r++) here[r] = rows[r] + c;
        turn_square(here, to + c * step, step);
    }
    for (; c < columns; c++)
        for (int r = 0; r < LANES; r++) to[c * step + r] = rows[r][c];
}

static inline float sum_of(lanes v)
{
    float sum = 0.0f;
    for (int i = 0; i < LANES; i++) sum += v[i];
    return sum;
}

/* Sums that stay in registers: TILE rows of COLUMNS vectors. */
#define COLUMNS (PARTS < MOST_COLUMNS ? PARTS : MOST_COLUMNS)
#define TILE (SUMS / COLUMNS)
#define TILES 4 /* whose weights are brought together: some lines of the cache at a time */
#define DEPTH 96 /* inputs of a block: with its codes it stays in the first cache */

/* z[t] = start[t] + sum_i w[t * row + i * inner] a[i]; without start, what z has is added to. */
static inline __attribute__((always_inline)) void
product_of(int tile, int wide, int64_t count, const float *w, int64_t row, int64_t inner,
           int begun, const float *start, const lanes *a, lanes *z)
{
    lanes sums[SUMS][MOST_COLUMNS];
    for (int t = 0; t < tile; t++)
        for (int n = 0; n < wide; n++)
            sums[t][n] = begun ? z[t * PARTS + n] : (lanes){0} + (start ? start[t] : 0.0f);
    for (int64_t i = 0; i < count; i++)
        for (int t = 0; t < tile; t++) {
            const float by = w[t * row + i * inner];
            for (int n = 0; n < wide; n++) sums[t][n] += by * a[i * PARTS + n];
        }
    for (int t = 0; t < tile; t++)
        for (int n = 0; n < wide; n++) z[t * PARTS + n] = sums[t][n];
}

/* All rows of z, of inputs [0, count), wide columns. Weights of one output lie apart by the width
   of the layer: those of some outputs are brought together first. */
static inline __attribute__((always_inline)) void
product_block(int wide, int64_t rows, int64_t count, const float *w, int64_t row, int64_t inner,
              int begun, const float *start, const lanes *a, lanes *z)
{
    float together[DEPTH * TILE * TILES];
    int64_t r = 0;
    for (; row == 1 && r + TILE <= rows;) {
        const int64_t tiles = (rows - r) / TILE < TILES ? (rows - r) / TILE : TILES;
        for (int64_t i = 0; i < count; i++)
            for (int64_t k = 0; k < tiles; k++)
                memcpy(together + (k * DEPTH + i) * TILE, w + r + k * TILE + i * inner,
                       sizeof(float) * TILE);
        for (int64_t k = 0; k < tiles; k++, r += TILE)
            product_of(TILE, wide, count, together + k * DEPTH * TILE, 1, TILE, begun,
                       start ? start + r : 0, a, z + r * PARTS);
    }
    for (; r + TILE <= rows; r += TILE)
        product_of(TILE, wide, count, w + r * row, row, inner, begun, start ? start + r : 0, a,
                   z + r * PARTS);
    for (; r + 4 <= rows; r += 4)
        product_of(4, wide, count, w + r * row, row, inner, begun, start ? start + r : 0, a,
                   z + r * PARTS);
    for (; r < rows; r++)
        product_of(1, wide, count, w + r * row, row, inner, begun, start ? start + r : 0, a,
                   z + r * PARTS);
}

/* z[r] = start[r] + sum_i w[r * row + i * inner] a[i], of rows of BATCH numbers. */
static void product(int64_t rows, int64_t count, const float *w, int64_t row, int64_t inner,
                    const float *start, const lanes *a, lanes *z)
{
    const int64_t blocks = (count + DEPTH - 1) / DEPTH, depth = (count + blocks - 1) / blocks;
    for (int64_t i = 0; i < count; i += depth) {
        const int64_t some = count - i < depth ? count - i : depth;
        const float *own = w + i * inner;
        int n = 0;
        for (; n + COLUMNS <= PARTS; n += COLUMNS)
            product_block(COLUMNS, rows, some, own, row, inner, i > 0, start, a + i * PARTS + n,
                          z + n);
        for (; n < PARTS; n++)
            product_block(1, rows, some, own, row, inner, i > 0, start, a + i * PARTS + n, z + n);
    }
}

/* g[t][o] = sum over the batch of a[t] d[o]: tile rows of g, wide vectors of them. turned holds
   PANEL numbers of d for each example. */
#define PANEL (MOST_COLUMNS * LANES)
#define HIGH (SUMS / MOST_COLUMNS)

static inline __attribute__((always_inline)) void
outer_of(int tile, int wide, const float *a, const float *turned, int64_t out, int64_t last,
         float *g)
{
    lanes sums[HIGH][MOST_COLUMNS];
    for (int t = 0; t < tile; t++)
        for (int n = 0; n < wide; n++) sums[t][n] = (lanes){0};
    for (int64_t b = 0; b < BATCH; b++)
        for (int t = 0; t < tile; t++) {
            const float by = a[t * BATCH + b];
            for (int n = 0; n < wide; n++)
                sums[t][n] += by * *(const lanes *)(turned + b * PANEL + n * LANES);
        }
    for (int t = 0; t < tile; t++)
        for (int n = 0; n < wide; n++)
            if (n * LANES + LANES <= last) *(loose *)(g + t * out + n * LANES) = sums[t][n];
            else
                for (int l = 0; n * LANES + l < last; l++) g[t * out + n * LANES + l] = sums[t][n][l];
}

static inline __attribute__((always_inline)) void
outer_panel(int wide, int64_t in, const float *a, const float *turned, int64_t out, int64_t last,
            float *g)
{
    int64_t i = 0;
    for (; i + HIGH <= in; i += HIGH)
        outer_of(HIGH, wide, a + i * BATCH, turned, out, last, g + i * out);
    for (; i < in; i++) outer_of(1, wide, a + i * BATCH, turned, out, last, g + i * out);
}

/* g[i][o] = sum over the batch of a[i] d[o]. */
static void outer(int64_t in, int64_t out, const lanes *a, const lanes *d, float *turned, float *g)
{
    if (in <= 8) {
        for (int64_t i = 0; i < in; i++)
            for (int64_t o = 0; o < out; o++) {
                lanes sum = a[i * PARTS] * d[o * PARTS];
                for (int n = 1; n < PARTS; n++) sum += a[i * PARTS + n] * d[o * PARTS + n];
                g[i * out + o] = sum_of(sum);
            }
        return;
    }
    const float *by_output = (const float *)d, *rows = (const float *)a;
    for (int64_t o = 0; o < out; o += PANEL) {
        const int64_t last = out - o < PANEL ? out - o : PANEL;
        int64_t l = 0;
        for (; l + LANES <= last; l += LANES) {
            const float *from[LANES];
            for (int r = 0; r < LANES; r++) from[r] = by_output + (o + l + r) * BATCH;
            turn(from, BATCH, turned + l, PANEL);
        }
        for (; l < last; l++)
            for (int64_t b = 0; b < BATCH; b++)
                turned[b * PANEL + l] = by_output[(o + l) * BATCH + b];
        if (last > 2 * LANES) outer_panel(MOST_COLUMNS, in, rows, turned, out, last, g + o);
        else if (last > LANES) outer_panel(2, in, rows, turned, out, last, g + o);
        else outer_panel(1, in, rows, turned, out, last, g + o);
    }
}
