/* FactorVAE's critic, a net with two outputs that learns to tell codes from codes permuted over the
   batch. Comes after the nets of stack.c. */

typedef struct {
    net own;
    int64_t count;
    float *gradient, *beside; /* count numbers each, on even places */
    lanes *d, *other;         /* as large as its widest layer */
} critic;

/* What the critic's loss by one side adds to its gradient: the codes themselves have kind 0, the
   permuted ones 1. Logits are in place already. */
static double side(const critic *c, const float *w, int kind, float *turned, float *gradient)
{
    const float share = 0.5f / BATCH, *logits = (const float *)c->own.values[c->own.layers];
    float *d = (float *)c->d;
    double sum = 0.0;
    for (int b = 0; b < BATCH; b++) {
        const float gap = logits[kind * BATCH + b] - logits[(1 - kind) * BATCH + b];
        const float e = exp_float(-fabsf(gap)), wrong = (gap > 0.0f ? e : 1.0f) / (1.0f + e);
        d[kind * BATCH + b] = -share * wrong;
        d[(1 - kind) * BATCH + b] = share * wrong;
        sum += (gap > 0.0f ? 0.0f : -gap) + log1pf(e);
    }
    backward(&c->own, w, c->d, c->other, turned, gradient, 0);
    return share * sum;
}

/* gamma times the mean of logit 0 - logit 1 at the codes, its derivative by them into by_code, and
   the gradient of the critic's own loss; parts: the mean, and that loss. */
static float density_ratio(const critic *c, const float *w, int64_t latent, const float *code,
                           const int64_t *order, float gamma, float *by_code, float *turned,
                           float *parts)
{
    float *input = (float *)c->own.values[0], *d = (float *)c->d, sum = 0.0f;
    const float *logits = (const float *)c->own.values[c->own.layers], share = 1.0f / BATCH;
    memcpy(input, code, sizeof(float) * latent * BATCH);
    forward(&c->own, w);
    for (int b = 0; b < BATCH; b++) {
        sum += logits[b] - logits[BATCH + b];
        d[b] = gamma * share;
        d[BATCH + b] = -gamma * share;
    }
    const float *by = (const float *)backward(&c->own, w, c->d, c->other, turned, 0, 1);
    memcpy(by_code, by, sizeof(float) * latent * BATCH);
    double loss = side(c, w, 0, turned, c->gradient);
    for (int64_t j = 0; j < latent; j++)
        for (int b = 0; b < BATCH; b++) input[j * BATCH + b] = code[j * BATCH + order[b * latent + j]];
    forward(&c->own, w);
    loss += side(c, w, 1, turned, c->beside);
    for (int64_t i = 0; i < c->count; i++) c->gradient[i] += c->beside[i];
    parts[0] = sum * share;
    parts[1] = (float)loss;
    return gamma * parts[0];
}
