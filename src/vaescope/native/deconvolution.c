/* nets/fast_deconvolution.py: transposed convolutions with kernels of 4 x 4, stride 2 and padding
   1, one after another with bias and ReLU, an image at a time so that all of it stays in the
   cache. Channels come last, and images have a border of zeros. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
#define LANES 16
#define WIDE 4 /* vectors of a tile: with its pixels, what the registers hold */
#define MANY 8
#else
#define LANES 8
#define WIDE 2
#define MANY 4
#endif
typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t bits __attribute__((vector_size(4 * LANES)));
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

/* What is negative becomes 0; NaN stays. */
static inline vector rectified(vector x)
{
    const vector zero = {0};
    return (vector)((bits)x & ~(bits)(x < zero));
}

/* Of `pixels` neighbours in a row and `vectors` vectors of output channels: the sums over taps and
   inputs. `offsets` says where the input of each tap lies; `weight` (tap, input, output). */
static inline __attribute__((always_inline)) void
tile(const int pixels, const int vectors, int64_t taps, const int64_t *offsets, int64_t inputs,
     int64_t outputs, const float *x, const float *weight, const float *bias, int relu, float *y,
     int64_t stride)
{
    vector sum[8][4];
#pragma GCC unroll 8
    for (int p = 0; p < pixels; p++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[p][v] = bias ? *(const vector *)(bias + LANES * v) : (vector){0};
    for (int64_t tap = 0; tap < taps; tap++) {
        const float *at = x + offsets[tap], *w = weight + tap * inputs * outputs;
        for (int64_t c = 0; c < inputs; c++, w += outputs)
#pragma GCC unroll 8
            for (int p = 0; p < pixels; p++)
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++)
                    sum[p][v] += at[p * inputs + c] * *(const vector *)(w + LANES * v);
    }
#pragma GCC unroll 8
    for (int p = 0; p < pixels; p++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            *(vector *)(y + p * stride + LANES * v) = relu ? rectified(sum[p][v]) : sum[p][v];
}

/* One row of `width` pixels, all output channels: a multiple of LANES. */
static void row_of(int64_t width, int64_t taps, const int64_t *offsets, int64_t inputs,
                   int64_t outputs, const float *x, const float *weight, const float *bias,
                   int relu, float *y, int64_t stride)
{
    for (int64_t o = 0; o < outputs;) {
        const int vectors = outputs - o >= WIDE * LANES ? WIDE : (outputs - o >= 2 * LANES ? 2 : 1);
        const float *w = weight + o, *b = bias ? bias + o : NULL;
        int64_t j = 0;
#define TILE(P, V) \
    tile(P, V, taps, offsets, inputs, outputs, x + j * inputs, w, b, relu, y + j * stride + o, stride)
        if (vectors == 4)
            for (; j + 4 <= width; j += 4) TILE(4, 4);
        else if (vectors == 2)
            for (; j + MANY <= width; j += MANY) TILE(MANY, 2);
        else
            for (; j + 8 <= width; j += 8) TILE(8, 1);
        if (vectors == 4)
            for (; j < width; j++) TILE(1, 4);
        else if (vectors == 2)
            for (; j < width; j++) TILE(1, 2);
        else
            for (; j < width; j++) TILE(1, 1);
        o += vectors * LANES;
    }
}

/* x (height + 2, width + 2, inputs) to y, whose pixels are `stride` apart and rows `row`.
   `weight` (phase row, phase column, tap row, tap column, input, output). */
static void wide_layer(int64_t height, int64_t width, int64_t inputs, int64_t outputs,
                       const float *x, const float *weight, const float *bias, int relu, float *y,
                       int64_t row)
{
    const int64_t line = (width + 2) * inputs;
    const int64_t offsets[4] = {0, inputs, line, line + inputs};
    for (int64_t i = 0; i < height; i++)
        for (int a = 0; a < 2; a++)
            for (int b = 0; b < 2; b++)
                row_of(width, 4, offsets, inputs, outputs, x + (i + a) * line + b * inputs,
                       weight + (a * 2 + b) * 4 * inputs * outputs, bias, relu,
                       y + (2 * i + a) * row + b * outputs, 2 * outputs);
}

/* The same to few channels, (outputs, 2 height, 2 width): what each pixel adds to 16 neighbours.
   `weight` (input, output, 16); `added` (outputs, 2 height + 2, 2 width + 2); `line` (width,
   16 outputs). */
static void narrow_layer(int64_t height, int64_t width, int64_t inputs, int64_t outputs,
                         const float *x, const float *weight, const float *bias, int relu,
                         float *added, float *line, float *y)
{
    const int64_t across = 2 * width + 2, plane = (2 * height + 2) * across, none = 0;
    memset(added, 0, sizeof(float) * outputs * plane);
    for (int64_t i = 0; i < height; i++) {
        row_of(width, 1, &none, inputs, 16 * outputs, x + ((i + 1) * (width + 2) + 1) * inputs,
               weight, NULL, 0, line, 16 * outputs);
        for (int64_t o = 0; o < outputs; o++)
            for (int64_t k = 0; k < 4; k++) {
                float *to = added + o * plane + (2 * i + k) * across;
                for (int64_t j = 0; j < width; j++)
                    *(four *)(to + 2 * j) += *(const four *)(line + (j * outputs + o) * 16 + 4 * k);
            }
    }
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t i = 0; i < 2 * height; i++)
            for (int64_t j = 0; j < 2 * width; j++) {
                const float value = added[o * plane + (i + 1) * across + j + 1] + bias[o];
                y[(o * 2 * height + i) * 2 * width + j] = relu && value < 0.0f ? 0.0f : value;
            }
}

/* x (n, height, width, channels[0]) through `layers` layers. Weights as above, in the second way
   where the last layer has at most four channels; then y is (n, channels, height, width), else
   (n, height, width, channels). Returns 0 where memory is short. */
int chain(int64_t n, int64_t height, int64_t width, int64_t layers, const int64_t *channels,
          const float *const *weights, const float *const *biases, const int64_t *relu,
          const float *x, float *y)
{
    float **padded = calloc(layers + 2, sizeof(float *));
    if (!padded) return 0;
    const int64_t inputs = channels[0], last = channels[layers];
    int64_t h = height, w = width;
    int whole = 1;
    for (int64_t k = 0; k < layers; k++, h *= 2, w *= 2) {
        padded[k] = calloc((h + 2) * (w + 2) * channels[k], sizeof(float));
        whole = whole && padded[k];
    }
    const int64_t values = h * w * last;
    if (last <= 4) { /* h and w are those of the output */
        padded[layers] = malloc(sizeof(float) * last * (h + 2) * (w + 2));
        padded[layers + 1] = malloc(sizeof(float) * (w / 2) * 16 * last);
        whole = whole && padded[layers] && padded[layers + 1];
    }
    for (int64_t image = 0; whole && image < n; image++) {
        for (int64_t i = 0; i < height; i++)
            memcpy(padded[0] + ((i + 1) * (width + 2) + 1) * inputs,
                   x + (image * height + i) * width * inputs, sizeof(float) * width * inputs);
        h = height;
        w = width;
        for (int64_t k = 0; k < layers; k++, h *= 2, w *= 2) {
            const int64_t in = channels[k], out = channels[k + 1];
            if (k + 1 < layers) {
                const int64_t row = (2 * w + 2) * out;
                wide_layer(h, w, in, out, padded[k], weights[k], biases[k], (int)relu[k],
                           padded[k + 1] + row + out, row);
            } else if (out <= 4) {
                narrow_layer(h, w, in, out, padded[k], weights[k], biases[k], (int)relu[k],
                             padded[layers], padded[layers + 1], y + image * values);
            } else {
                wide_layer(h, w, in, out, padded[k], weights[k], biases[k], (int)relu[k],
                           y + image * values, 2 * w * out);
            }
        }
    }
    for (int64_t k = 0; k < layers + 2; k++) free(padded[k]);
    free(padded);
    return whole;
}
