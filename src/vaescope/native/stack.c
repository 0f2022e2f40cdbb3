/* Steps of many small VAEs, one after another: fully connected nets, a diagonal Gaussian posterior
   or a point, p(z) = N(0, I), p(x|z) Bernoulli or a Gaussian of fixed variance, distortion + beta *
   rate and what some objectives add to it, Adam. What one model needs stays in the cache for a whole block
   of steps. BATCH is a multiple of 16. */

#include "exponential.h"
#include "penalties.h"
#include "products.h"
#include <stdlib.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#define MOST_LAYERS 16

enum { NONE, TANH, RELU, LEAKY }; /* the last of slope 0.2 below 0 */

static void activate(int kind, int64_t count, float *restrict x)
{
    if (kind == TANH)
        for (int64_t i = 0; i < count; i++) x[i] = 1.0f - 2.0f / (exp_float(2.0f * x[i]) + 1.0f);
    if (kind == RELU)
        for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0.0f ? x[i] : 0.0f;
    if (kind == LEAKY)
        for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0.0f ? x[i] : 0.2f * x[i];
}

static void deactivate(int kind, int64_t count, const float *restrict y, float *restrict d)
{
    if (kind == TANH)
        for (int64_t i = 0; i < count; i++) d[i] *= 1.0f - y[i] * y[i];
    if (kind == RELU)
        for (int64_t i = 0; i < count; i++) d[i] = y[i] > 0.0f ? d[i] : 0.0f;
    if (kind == LEAKY)
        for (int64_t i = 0; i < count; i++) d[i] = y[i] > 0.0f ? d[i] : 0.2f * d[i];
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

/* d holds the derivative by the output, and at the end that by the input; other is as large.
   Without gradient nothing but the latter is wanted. */
static lanes *backward(const net *own, const float *parameters, lanes *d, lanes *other,
                       float *turned, float *gradient, int to_input)
{
    for (int64_t l = own->layers - 1; l >= 0; l--) {
        const int64_t in = own->widths[l], out = own->widths[l + 1];
        if (gradient) outer(in, out, own->values[l], d, turned, gradient + own->weights[l]);
        for (int64_t o = 0; o < out && gradient; o++) {
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

static int64_t widest_of(const net *own, int64_t *rows)
{
    int64_t widest = 1;
    for (int64_t l = 0; l <= own->layers && own->layers; l++) {
        *rows += own->widths[l];
        widest = own->widths[l] > widest ? own->widths[l] : widest;
    }
    return widest;
}

static float *place_values(net *own, float *at)
{
    for (int64_t l = 0; l <= own->layers && own->layers; at += own->widths[l++] * BATCH)
        own->values[l] = (lanes *)at;
    return at;
}

#include "critic.h"

/* What is added to distortion and rate. The last two are of pairs: batches hold the first images of
   all, then the second ones. */
enum {
    PLAIN, CAPACITY, COVARIANCE_OF_MEANS, COVARIANCE_OF_SAMPLES, TOTAL_CORRELATION,
    DENSITY_RATIO, SLOW_RELEASED, SLOW_CONSISTENT
};

typedef struct {
    int64_t steps, models, latent, data, encoder_layers, decoder_layers, critic_layers;
    const int64_t *encoder_widths, *decoder_widths, *critic_widths;
    int64_t encoder_kind, decoder_kind, amsgrad, bernoulli, objective, point;
    float first_decay, second_decay, epsilon, precision, constant;
    float critic_first_decay, critic_second_decay, critic_epsilon;
    float *flat, *first, *second, *largest; /* (models, parameters) */
    const float *x;                         /* (rows, data) */
    const int64_t *index;                   /* (steps, models, BATCH) rows of x */
    const float *noise;                     /* (steps, models, BATCH, latent), not for points */
    const float *beta, *size;               /* (steps, models) */
    const float *one, *two;                 /* (steps, models) further strengths */
    const float *root;                      /* (steps,) 1 / (1 - b2^t) */
    float *loss, *distortion, *rate;        /* (steps, models) */
    float *more;                            /* (3, steps, models) further parts */
    float *variance, *variance_squared, *mean, *mean_squared; /* (steps, models, latent) */
    float *critic, *critic_first, *critic_second; /* (models, parameters of the critic) */
    const int64_t *order;                         /* (steps, models, BATCH, latent) */
    const float *critic_size, *critic_root;       /* as size and root */
} plan;

/* -log p(x|z) of logits; its derivative into slope. A product of 64 numbers between 1 and 2 has one
   logarithm. */
static float bernoulli(int64_t data, const float *restrict output, const float *restrict input,
                       float *restrict slope)
{
    const float share = 1.0f / BATCH;
    double sum = 0.0;
    for (int64_t first = 0; first < data; first += 64) {
        const int64_t last = first + 64 < data ? first + 64 : data;
        float products[BATCH], rest = 0.0f;
        for (int b = 0; b < BATCH; b++) products[b] = 1.0f;
        for (int64_t i = first; i < last; i++)
            for (int b = 0; b < BATCH; b++) {
                const float o = output[i * BATCH + b], x = input[i * BATCH + b], size = fabsf(o);
                const float e = exp_float(-size), under = 1.0f / (1.0f + e);
                products[b] *= 1.0f + e;
                rest += 0.5f * (o + size) - x * o;
                slope[i * BATCH + b] = ((o > 0.0f ? 1.0f : e) * under - x) * share;
            }
        for (int b = 0; b < BATCH; b++) rest += logf(products[b]);
        sum += rest;
    }
    return (float)(sum / BATCH);
}

/* A step of Adam, or with `most` of AMSGrad. */
static void adam(int64_t count, float *restrict w, float *restrict m, float *restrict v,
                 float *restrict most, const float *restrict g, float first_decay, float b2,
                 float epsilon, float size, float root)
{
    const float b1 = 1.0f - first_decay;
    if (!most)
        for (int64_t i = 0; i < count; i++) {
            m[i] += b1 * (g[i] - m[i]);
            v[i] = b2 * v[i] + (1.0f - b2) * g[i] * g[i];
            w[i] -= size * m[i] / (sqrtf(v[i] * root) + epsilon);
        }
    else
        for (int64_t i = 0; i < count; i++) {
            m[i] += b1 * (g[i] - m[i]);
            v[i] = b2 * v[i] + (1.0f - b2) * g[i] * g[i];
            most[i] = most[i] > v[i] ? most[i] : v[i];
            w[i] -= size * m[i] / (sqrtf(most[i] * root) + epsilon);
        }
}

static int advance_all(const plan *p)
{
    if (p->encoder_layers > MOST_LAYERS || p->decoder_layers > MOST_LAYERS) return 0;
    if (p->critic_layers > MOST_LAYERS) return 0;
    net encoder = {p->encoder_layers, p->encoder_widths, (int)p->encoder_kind, {0}, {0}, {0}};
    net decoder = {p->decoder_layers, p->decoder_widths, (int)p->decoder_kind, {0}, {0}, {0}};
    critic judge = {{p->critic_layers, p->critic_widths, LEAKY, {0}, {0}, {0}}, 0, 0, 0, 0, 0};
    judge.count = place(&judge.own, 0);
    const int64_t count = place(&decoder, place(&encoder, 0)), latent = p->latent, data = p->data;
    int64_t rows = latent;
    const int64_t down = widest_of(&encoder, &rows), up = widest_of(&decoder, &rows);
    const int64_t widest = down > up ? down : up, across = widest_of(&judge.own, &rows);
    const int64_t rounded = (count + 15) / 16 * 16, kept = 5 * latent + 1;
    const int64_t padded = (judge.count + 15) / 16 * 16;
    const int64_t floats =
        (rows + 2 * (widest + across) + PANEL + kept) * BATCH + rounded + 2 * padded;
    float *memory = aligned_alloc(64, sizeof(float) * ((floats + 15) / 16 * 16));
    if (!memory) return 0;
    memset(memory, 0, sizeof(float) * floats);
    float *at = memory;
    at = place_values(&judge.own, place_values(&decoder, place_values(&encoder, at)));
    judge.d = (lanes *)at; at += across * BATCH;
    judge.other = (lanes *)at; at += across * BATCH;
    judge.gradient = at; at += padded;
    judge.beside = at; at += padded;
    float *eps = at; at += latent * BATCH;
    lanes *d = (lanes *)at; at += widest * BATCH;
    lanes *other = (lanes *)at; at += widest * BATCH;
    float *turned = at; at += PANEL * BATCH;
    float *extra = at; at += 3 * latent * BATCH; /* by means, log-variances and codes */
    float *scratch = at; at += (2 * latent + 1) * BATCH;
    float *restrict g = at;
    float *input = (float *)encoder.values[0], *head = (float *)encoder.values[encoder.layers];
    float *code = (float *)decoder.values[0], *output = (float *)decoder.values[decoder.layers];
    const added own = {head, head + latent * BATCH, code, extra, extra + latent * BATCH,
                       extra + 2 * latent * BATCH, scratch};
    const float share = 1.0f / BATCH;
    for (int64_t k = 0; k < p->models; k++) {
        float *restrict w = p->flat + k * count, *restrict m = p->first + k * count;
        float *restrict v = p->second + k * count, *restrict most = p->largest + k * count;
        float *cw = p->critic + k * judge.count;
        for (int64_t t = 0; t < p->steps; t++) {
            const int64_t here = t * p->models + k;
            const float *noise = p->noise + here * BATCH * latent;
            const float size = p->size[here], root = p->root[t];
            float beta = p->beta[here];
            for (int64_t b = 0; b < BATCH; b += LANES) {
                const float *from[LANES];
                for (int r = 0; r < LANES; r++) from[r] = p->x + p->index[here * BATCH + b + r] * data;
                turn(from, data, input + b, BATCH);
            }
            for (int64_t b = 0; b < BATCH && !p->point; b++)
                for (int64_t j = 0; j < latent; j++) eps[j * BATCH + b] = noise[b * latent + j];
            forward(&encoder, w);
            float nats = 0.0f;
            for (int64_t j = 0; j < latent; j++) {
                const float *mean = head + j * BATCH, *log_variance = head + (latent + j) * BATCH;
                float s1 = 0.0f, s2 = 0.0f, m1 = 0.0f, m2 = 0.0f, sum = 0.0f;
                for (int64_t b = 0; b < BATCH && p->point; b++) {
                    code[j * BATCH + b] = mean[b];
                    m1 += mean[b]; m2 += mean[b] * mean[b];
                }
                for (int64_t b = 0; b < BATCH && !p->point; b++) {
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
            float squares = 0.0f, distortion, *slope = (float *)d;
            if (p->bernoulli) distortion = bernoulli(data, output, input, slope);
            else {
                for (int64_t i = 0; i < data * BATCH; i++) {
                    const float off = output[i] - input[i];
                    squares += off * off;
                    slope[i] = p->precision * share * off;
                }
                distortion = 0.5f * p->precision * squares * share + p->constant;
            }
            const int of_pairs = p->objective >= SLOW_RELEASED; /* their loss sums both images */
            for (int64_t i = 0; i < data * BATCH && of_pairs; i++) slope[i] *= 2.0f;
            const float one = p->one[here], two = p->two[here];
            float parts[3] = {0.0f, 0.0f, 0.0f}, beside = 0.0f;
            if (p->objective > CAPACITY) memset(extra, 0, sizeof(float) * 3 * latent * BATCH);
            if (p->objective == CAPACITY) { /* one: the capacity; beta: what its distance weighs */
                beta = nats > one ? beta : (nats < one ? -beta : 0.0f);
                beside = -beta * one;
            } else if (p->objective == TOTAL_CORRELATION)
                beside = correlation_penalty(&own, latent, one, parts);
            else if (p->objective == DENSITY_RATIO)
                beside = density_ratio(&judge, cw, latent, code, p->order + here * BATCH * latent,
                                       one, extra + 2 * latent * BATCH, turned, parts);
            else if (of_pairs)
                beside = slowness_penalty(&own, latent, one, two,
                                          (int)(p->objective - SLOW_RELEASED) + 1, parts);
            else if (p->objective != PLAIN)
                beside = covariance_penalty(&own, latent, p->objective == COVARIANCE_OF_SAMPLES,
                                            one, two, parts);
            for (int64_t i = 0; i < 3; i++) p->more[i * p->steps * p->models + here] = parts[i];
            p->distortion[here] = distortion;
            p->rate[here] = nats;
            p->loss[here] = (of_pairs ? 2.0f : 1.0f) * distortion + beta * nats + beside;
            float *by_code = (float *)backward(&decoder, w, d, other, turned, g, 1);
            float *by_head = (float *)(by_code == (float *)d ? other : d);
            if (p->point) memcpy(by_head, by_code, sizeof(float) * latent * BATCH);
            for (int64_t j = 0; j < latent && !p->point; j++)
                for (int64_t b = 0; b < BATCH; b++) {
                    const int64_t i = j * BATCH + b, behind = (latent + j) * BATCH + b;
                    const float std = exp_float(0.5f * head[behind]);
                    float by = by_code[i], by_mean = 0.0f, by_log_variance = 0.0f;
                    if (p->objective > CAPACITY) {
                        by += own.by_code[i];
                        by_mean = own.by_mean[i];
                        by_log_variance = own.by_log_variance[i];
                    }
                    by_head[i] = by + beta * share * head[i] + by_mean;
                    by_head[behind] = 0.5f * (by * std * eps[i] + beta * share * (std * std - 1.0f))
                                      + by_log_variance;
                }
            backward(&encoder, w, (lanes *)by_head, (lanes *)by_code, turned, g, 0);
            adam(count, w, m, v, p->amsgrad ? most : 0, g, p->first_decay, p->second_decay,
                 p->epsilon, size, root);
            if (judge.count)
                adam(judge.count, cw, p->critic_first + k * judge.count,
                     p->critic_second + k * judge.count, 0, judge.gradient, p->critic_first_decay,
                     p->critic_second_decay, p->critic_epsilon, p->critic_size[here],
                     p->critic_root[t]);
        }
    }
    free(memory);
    return 1;
}

/* Moments of a weight without gradient decay to numbers that are a hundred times slower: below
   1e-38 they are taken for 0, in here alone. */
int advance(const plan *p)
{
#ifdef __SSE__
    const unsigned int before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
#endif
    const int done = advance_all(p);
#ifdef __SSE__
    _mm_setcsr(before);
#endif
    return done;
}
