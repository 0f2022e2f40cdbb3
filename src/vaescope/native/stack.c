/* Steps of many small VAEs, one after another: fully connected nets, a diagonal Gaussian posterior,
   p(z) = N(0, I), a Gaussian p(x|z) of fixed variance, distortion + beta * rate, Adam. What one
   model needs stays in the cache for a whole block of steps. BATCH is a multiple of 16. */

#include "exponential.h"
#include <stdlib.h>

#define LANES 16
#define PARTS (BATCH / LANES)
#define MOST_LAYERS 16

typedef float lanes __attribute__((vector_size(64), aligned(64)));
typedef float loose __attribute__((vector_size(64), aligned(4)));

static inline float sum_of(lanes v)
{
    float sum = 0.0f;
    for (int i = 0; i < LANES; i++) sum += v[i];
    return sum;
}

/* z[r] = start[r] + sum_i w[r * row + i * inner] a[i], of rows of BATCH numbers. */
static inline void product_of(int tile, int64_t r, int64_t count, const float *w, int64_t row,
                              int64_t inner, const float *start, const lanes *a, lanes *z)
{
    lanes sums[4][PARTS];
    for (int t = 0; t < tile; t++)
        for (int n = 0; n < PARTS; n++) sums[t][n] = (lanes){0} + (start ? start[r + t] : 0.0f);
    for (int64_t i = 0; i < count; i++)
        for (int t = 0; t < tile; t++) {
            const float by = w[(r + t) * row + i * inner];
            for (int n = 0; n < PARTS; n++) sums[t][n] += by * a[i * PARTS + n];
        }
    for (int t = 0; t < tile; t++)
        for (int n = 0; n < PARTS; n++) z[(r + t) * PARTS + n] = sums[t][n];
}

static void product(int64_t rows, int64_t count, const float *w, int64_t row, int64_t inner,
                    const float *start, const lanes *a, lanes *z)
{
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) product_of(4, r, count, w, row, inner, start, a, z);
    for (; r < rows; r++) product_of(1, r, count, w, row, inner, start, a, z);
}

/* g[i][o] = sum over the batch of a[i] d[o]: tile rows of g, wide vectors of them at a time. */
static inline void outer_of(int tile, int wide, int64_t i, int64_t o, int64_t padded,
                            const float *a, const float *turned, lanes sums[4][4])
{
    for (int t = 0; t < tile; t++)
        for (int n = 0; n < wide; n++) sums[t][n] = (lanes){0};
    for (int64_t b = 0; b < BATCH; b++)
        for (int t = 0; t < tile; t++) {
            const float by = a[(i + t) * BATCH + b];
            for (int n = 0; n < wide; n++)
                sums[t][n] += by * *(const loose *)(turned + b * padded + o + n * LANES);
        }
}

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
    const int64_t padded = (out + LANES - 1) / LANES * LANES;
    const float *by_output = (const float *)d, *rows = (const float *)a;
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t o = 0; o < out; o++) turned[b * padded + o] = by_output[o * BATCH + b];
    lanes sums[4][4];
    for (int64_t i = 0; i < in;) {
        const int tile = in - i >= 4 ? 4 : 1;
        for (int64_t o = 0; o < padded;) {
            const int wide = padded - o >= 4 * LANES ? 4 : (padded - o >= 2 * LANES ? 2 : 1);
            if (tile == 4 && wide == 4) outer_of(4, 4, i, o, padded, rows, turned, sums);
            else if (tile == 4 && wide == 2) outer_of(4, 2, i, o, padded, rows, turned, sums);
            else if (tile == 4) outer_of(4, 1, i, o, padded, rows, turned, sums);
            else outer_of(1, wide, i, o, padded, rows, turned, sums);
            for (int t = 0; t < tile; t++)
                for (int n = 0; n < wide; n++)
                    for (int l = 0; l < LANES && o + n * LANES + l < out; l++)
                        g[(i + t) * out + o + n * LANES + l] = sums[t][n][l];
            o += wide * LANES;
        }
        i += tile;
    }
}

enum { NONE, TANH, RELU };

static void activate(int kind, int64_t count, float *restrict x)
{
    if (kind == TANH)
        for (int64_t i = 0; i < count; i++) x[i] = 1.0f - 2.0f / (exp_float(2.0f * x[i]) + 1.0f);
    if (kind == RELU)
        for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

static void deactivate(int kind, int64_t count, const float *restrict y, float *restrict d)
{
    if (kind == TANH)
        for (int64_t i = 0; i < count; i++) d[i] *= 1.0f - y[i] * y[i];
    if (kind == RELU)
        for (int64_t i = 0; i < count; i++) d[i] = y[i] > 0.0f ? d[i] : 0.0f;
}

typedef struct {
    int64_t layers;
    const int64_t *widths; /* layers + 1 */
    int kind;
    lanes *values[MOST_LAYERS + 1]; /* (width, BATCH) each, after the activation */
    int64_t weights[MOST_LAYERS];   /* where (in, out) weights and biases begin in the parameters */
    int64_t biases[MOST_LAYERS];
} net;

static void forward(const net *own, const float *parameters)
{
    for (int64_t l = 0; l < own->layers; l++) {
        const int64_t in = own->widths[l], out = own->widths[l + 1];
        product(out, in, parameters + own->weights[l], 1, out, parameters + own->biases[l],
                own->values[l], own->values[l + 1]);
        if (l < own->layers - 1) activate(own->kind, out * BATCH, (float *)own->values[l + 1]);
    }
}

/* d holds the derivative by the output, and at the end that by the input; other is as large. */
static lanes *backward(const net *own, const float *parameters, lanes *d, lanes *other,
                       float *turned, float *gradient, int to_input)
{
    for (int64_t l = own->layers - 1; l >= 0; l--) {
        const int64_t in = own->widths[l], out = own->widths[l + 1];
        outer(in, out, own->values[l], d, turned, gradient + own->weights[l]);
        for (int64_t o = 0; o < out; o++) {
            lanes sum = d[o * PARTS];
            for (int n = 1; n < PARTS; n++) sum += d[o * PARTS + n];
            gradient[own->biases[l] + o] = sum_of(sum);
        }
        if (l == 0 && !to_input) break;
        product(in, out, parameters + own->weights[l], out, 1, 0, d, other);
        if (l > 0) deactivate(own->kind, in * BATCH, (const float *)own->values[l], (float *)other);
        lanes *held = d; d = other; other = held;
    }
    return d;
}

static int64_t place(net *own, int64_t at)
{
    for (int64_t l = 0; l < own->layers; l++) {
        own->weights[l] = at;
        at += own->widths[l] * own->widths[l + 1];
        own->biases[l] = at;
        at += own->widths[l + 1];
    }
    return at;
}

typedef struct {
    int64_t steps, models, latent, data, encoder_layers, decoder_layers;
    const int64_t *encoder_widths, *decoder_widths;
    int64_t encoder_kind, decoder_kind, amsgrad;
    float first_decay, second_decay, epsilon, precision, constant;
    float *flat, *first, *second, *largest; /* (models, parameters) */
    const float *x;                         /* (steps, models, BATCH, data) */
    const float *noise;                     /* (steps, models, BATCH, latent) */
    const float *beta, *size;               /* (steps, models) */
    const float *root;                      /* (steps,) 1 / (1 - b2^t) */
    float *loss, *distortion, *rate;        /* (steps, models) */
    float *variance, *variance_squared, *mean, *mean_squared; /* (steps, models, latent) */
} plan;

int advance(const plan *p)
{
    if (p->encoder_layers > MOST_LAYERS || p->decoder_layers > MOST_LAYERS) return 0;
    net encoder = {p->encoder_layers, p->encoder_widths, (int)p->encoder_kind, {0}, {0}, {0}};
    net decoder = {p->decoder_layers, p->decoder_widths, (int)p->decoder_kind, {0}, {0}, {0}};
    const int64_t count = place(&decoder, place(&encoder, 0)), latent = p->latent, data = p->data;
    int64_t rows = latent, widest = 1;
    for (int64_t l = 0; l <= encoder.layers; l++) rows += encoder.widths[l];
    for (int64_t l = 0; l <= decoder.layers; l++) rows += decoder.widths[l];
    for (int64_t l = 0; l <= encoder.layers; l++)
        widest = encoder.widths[l] > widest ? encoder.widths[l] : widest;
    for (int64_t l = 0; l <= decoder.layers; l++)
        widest = decoder.widths[l] > widest ? decoder.widths[l] : widest;
    const int64_t padded = (widest + LANES - 1) / LANES * LANES, rounded = (count + 15) / 16 * 16;
    const int64_t floats = (rows + 2 * widest + padded) * BATCH + rounded;
    float *memory = aligned_alloc(64, sizeof(float) * ((floats + 15) / 16 * 16));
    if (!memory) return 0;
    memset(memory, 0, sizeof(float) * floats);
    float *at = memory;
    for (int64_t l = 0; l <= encoder.layers; at += encoder.widths[l++] * BATCH)
        encoder.values[l] = (lanes *)at;
    for (int64_t l = 0; l <= decoder.layers; at += decoder.widths[l++] * BATCH)
        decoder.values[l] = (lanes *)at;
    float *eps = at; at += latent * BATCH;
    lanes *d = (lanes *)at; at += widest * BATCH;
    lanes *other = (lanes *)at; at += widest * BATCH;
    float *turned = at; at += padded * BATCH;
    float *restrict g = at;
    float *input = (float *)encoder.values[0], *head = (float *)encoder.values[encoder.layers];
    float *code = (float *)decoder.values[0], *output = (float *)decoder.values[decoder.layers];
    const float share = 1.0f / BATCH;
    for (int64_t k = 0; k < p->models; k++) {
        float *restrict w = p->flat + k * count, *restrict m = p->first + k * count;
        float *restrict v = p->second + k * count, *restrict most = p->largest + k * count;
        for (int64_t t = 0; t < p->steps; t++) {
            const int64_t here = t * p->models + k;
            const float *x = p->x + here * BATCH * data, *noise = p->noise + here * BATCH * latent;
            const float beta = p->beta[here], size = p->size[here], root = p->root[t];
            for (int64_t b = 0; b < BATCH; b++) {
                for (int64_t j = 0; j < data; j++) input[j * BATCH + b] = x[b * data + j];
                for (int64_t j = 0; j < latent; j++) eps[j * BATCH + b] = noise[b * latent + j];
            }
            forward(&encoder, w);
            float nats = 0.0f;
            for (int64_t j = 0; j < latent; j++) {
                const float *mean = head + j * BATCH, *log_variance = head + (latent + j) * BATCH;
                float s1 = 0.0f, s2 = 0.0f, m1 = 0.0f, m2 = 0.0f, sum = 0.0f;
                for (int64_t b = 0; b < BATCH; b++) {
                    const float std = exp_float(0.5f * log_variance[b]), own = std * std;
                    code[j * BATCH + b] = mean[b] + std * eps[j * BATCH + b];
                    s1 += own; s2 += own * own; m1 += mean[b]; m2 += mean[b] * mean[b];
                    sum += mean[b] * mean[b] + own - 1.0f - log_variance[b];
                }
                nats += 0.5f * sum * share;
                p->variance[here * latent + j] = s1 * share;
                p->variance_squared[here * latent + j] = s2 * share;
                p->mean[here * latent + j] = m1 * share;
                p->mean_squared[here * latent + j] = m2 * share;
            }
            forward(&decoder, w);
            float squares = 0.0f, *slope = (float *)d;
            for (int64_t i = 0; i < data * BATCH; i++) {
                const float off = output[i] - input[i];
                squares += off * off;
                slope[i] = p->precision * share * off;
            }
            const float distortion = 0.5f * p->precision * squares * share + p->constant;
            p->distortion[here] = distortion;
            p->rate[here] = nats;
            p->loss[here] = distortion + beta * nats;
            float *by_code = (float *)backward(&decoder, w, d, other, turned, g, 1);
            float *by_head = (float *)(by_code == (float *)d ? other : d);
            for (int64_t j = 0; j < latent; j++)
                for (int64_t b = 0; b < BATCH; b++) {
                    const int64_t i = j * BATCH + b, behind = (latent + j) * BATCH + b;
                    const float std = exp_float(0.5f * head[behind]);
                    by_head[i] = by_code[i] + beta * share * head[i];
                    by_head[behind] = 0.5f * (by_code[i] * std * eps[i]
                                              + beta * share * (std * std - 1.0f));
                }
            backward(&encoder, w, (lanes *)by_head, (lanes *)by_code, turned, g, 0);
            const float b1 = 1.0f - p->first_decay, b2 = p->second_decay;
            for (int64_t i = 0; i < count; i++) {
                m[i] += b1 * (g[i] - m[i]);
                v[i] = b2 * v[i] + (1.0f - b2) * g[i] * g[i];
                const float under = p->amsgrad ? (most[i] > v[i] ? most[i] : v[i]) : v[i];
                most[i] = under;
                w[i] -= size * m[i] / (sqrtf(under * root) + p->epsilon);
            }
        }
    }
    free(memory);
    return 1;
}
