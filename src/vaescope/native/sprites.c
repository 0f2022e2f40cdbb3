/* data/dsprites_render.py: one sprite at all its positions. A pixel row is the exclusive or of a
   prefix of ones per crossing of its outline. */

#include <stdint.h>

/* crossing (crossings, live); row (live) says where a row goes; prefix (size + 1);
   image (positions, rows). */
#define DRAW(NAME, WORD)                                                                          \
void NAME(int64_t positions, int64_t crossings, int64_t live, int64_t rows, int64_t size,         \
          double unit, const double *crossing, const double *across, const int64_t *row,          \
          const WORD *prefix, WORD *image)                                                        \
{                                                                                                 \
    for (int64_t p = 0; p < positions; p++, image += rows)                                        \
        for (int64_t r = 0; r < live; r++) {                                                      \
            WORD bits = 0;                                                                        \
            for (int64_t c = 0; c < crossings; c++) {                                             \
                const double count = (crossing[c * live + r] + across[p]) * unit + 0.5;           \
                bits ^= prefix[!(count > 0.0) ? 0 : count < size ? (int64_t)count : size];        \
            }                                                                                     \
            image[row[r]] = bits;                                                                 \
        }                                                                                         \
}
DRAW(draw_64, uint64_t)
DRAW(draw_32, uint32_t)
DRAW(draw_16, uint16_t)
