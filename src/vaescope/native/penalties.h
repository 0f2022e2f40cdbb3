/* What objectives add to distortion and rate, with derivatives, of batches of BATCH images. Comes
   after exponential.h. */

/* Of one batch, rows of BATCH numbers for each latent: what the objective adds to the derivatives
   by means, log-variances and codes. */
typedef struct {
    const float *mean, *log_variance, *code;
    float *by_mean, *by_log_variance, *by_code;
    float *scratch; /* (2 latent + 1) rows */
} added;

/* off sum_{i != j} c_ij^2 + diagonal sum_i (c_ii - 1)^2, c the covariance of means, with the mean
   variances where `samples`; parts: the two sums. */
static float covariance_penalty(const added *a, int64_t latent, int samples, float off,
                                float diagonal, float *parts)
{
    const float share = 1.0f / BATCH;
    float *centred = a->scratch;
    for (int64_t j = 0; j < latent; j++) {
        const float *mean = a->mean + j * BATCH;
        float sum = 0.0f;
        for (int b = 0; b < BATCH; b++) sum += mean[b];
        for (int b = 0; b < BATCH; b++) centred[j * BATCH + b] = mean[b] - sum * share;
    }
    parts[0] = parts[1] = 0.0f;
    for (int64_t i = 0; i < latent; i++)
        for (int64_t j = 0; j <= i; j++) {
            const float *one = centred + i * BATCH, *other = centred + j * BATCH;
            float c = 0.0f;
            for (int b = 0; b < BATCH; b++) c += one[b] * other[b];
            c *= share;
            if (i != j) {
                parts[0] += 2.0f * c * c;
                const float slope = 4.0f * off * c * share;
                for (int b = 0; b < BATCH; b++) {
                    a->by_mean[i * BATCH + b] += slope * other[b];
                    a->by_mean[j * BATCH + b] += slope * one[b];
                }
                continue;
            }
            const float *log_variance = a->log_variance + i * BATCH;
            if (samples)
                for (int b = 0; b < BATCH; b++) c += share * exp_float(log_variance[b]);
            parts[1] += (c - 1.0f) * (c - 1.0f);
            const float slope = 2.0f * diagonal * (c - 1.0f) * share;
            for (int b = 0; b < BATCH; b++) a->by_mean[i * BATCH + b] += 2.0f * slope * one[b];
            if (samples)
                for (int b = 0; b < BATCH; b++)
                    a->by_log_variance[i * BATCH + b] += slope * exp_float(log_variance[b]);
        }
    return off * parts[0] + diagonal * parts[1];
}

/* Softmax of BATCH numbers in place; the logarithm of the sum of their exponentials. */
static inline float softmax(float *restrict values)
{
    float top = values[0], sum = 0.0f;
    for (int k = 1; k < BATCH; k++) top = values[k] > top ? values[k] : top;
    for (int k = 0; k < BATCH; k++) {
        values[k] = exp_float(values[k] - top);
        sum += values[k];
    }
    for (int k = 0; k < BATCH; k++) values[k] /= sum;
    return top + logf(sum);
}

/* weight * TC, the aggregate posterior being the batch's; parts: information of index and code,
   total correlation, and the sum of the latents' divergences from the prior. */
static float correlation_penalty(const added *a, int64_t latent, float weight, float *parts)
{
    const float share = 1.0f / BATCH, log_two_pi = 1.8378770664093453f;
    float *inverse = a->scratch, *marginal = inverse + latent * BATCH;
    float *joint = marginal + latent * BATCH;
    double conditional = 0.0, joints = 0.0, marginals = 0.0, prior = 0.0;
    for (int64_t i = 0; i < latent * BATCH; i++) inverse[i] = exp_float(-a->log_variance[i]);
    for (int64_t b = 0; b < BATCH; b++) {
        memset(joint, 0, sizeof(float) * BATCH);
        for (int64_t j = 0; j < latent; j++) {
            const float z = a->code[j * BATCH + b], *restrict mean = a->mean + j * BATCH;
            const float *restrict v = a->log_variance + j * BATCH;
            const float *restrict w = inverse + j * BATCH;
            float *restrict own = marginal + j * BATCH;
            for (int k = 0; k < BATCH; k++) {
                own[k] = -0.5f * ((z - mean[k]) * (z - mean[k]) * w[k] + v[k] + log_two_pi);
                joint[k] += own[k];
            }
            prior += -0.5f * (z * z + log_two_pi);
            marginals += softmax(own);
        }
        conditional += joint[b];
        joints += softmax(joint);
        for (int64_t j = 0; j < latent; j++) {
            const float z = a->code[j * BATCH + b], *restrict mean = a->mean + j * BATCH;
            const float *restrict w = inverse + j * BATCH, *restrict own = marginal + j * BATCH;
            float *restrict by_mean = a->by_mean + j * BATCH;
            float *restrict by_log_variance = a->by_log_variance + j * BATCH;
            float by_code = 0.0f;
            for (int k = 0; k < BATCH; k++) {
                const float by = weight * share * (joint[k] - own[k]);
                const float apart = (z - mean[k]) * w[k], slope = by * apart;
                by_code -= slope;
                by_mean[k] += slope;
                by_log_variance[k] += 0.5f * by * (apart * (z - mean[k]) - 1.0f);
            }
            a->by_code[j * BATCH + b] += by_code;
        }
    }
    const double each = log((double)BATCH), count = BATCH;
    joints = joints / count - each;
    marginals = marginals / count - each * latent;
    parts[0] = (float)(conditional / count - joints);
    parts[1] = (float)(joints - marginals);
    parts[2] = (float)(marginals - prior / count);
    return weight * parts[1];
}

/* gamma times the term of SlowVAE's transitions: the images of a pair are half a batch apart, and
   `entropies` Gaussian ones are taken from two cross-entropies with a Laplace density of `rate`;
   parts: the term. */
static float slowness_penalty(const added *a, int64_t latent, float gamma, float rate,
                              int entropies, float *parts)
{
    const float share = 1.0f / BATCH, mean_absolute = 0.7978845608028654f; /* sqrt(2 / pi) */
    double cross = 0.0, entropy = 0.0;
    float *slope = a->scratch;
    for (int64_t j = 0; j < latent; j++) {
        const float *mean = a->mean + j * BATCH, *log_variance = a->log_variance + j * BATCH;
        float *by_mean = a->by_mean + j * BATCH;
        float *by_log_variance = a->by_log_variance + j * BATCH;
        for (int b = 0; b < BATCH; b++) {
            const float distance = mean[b] - mean[(b + BATCH / 2) % BATCH];
            const float std = exp_float(0.5f * log_variance[b]), ratio = distance / std;
            const float bell = mean_absolute * std * exp_float(-0.5f * ratio * ratio);
            slope[b] = erff(0.7071067811865476f * ratio);
            cross += rate * (bell + distance * slope[b]);
            entropy += 0.5f * (log_variance[b] + 2.8378770664093453f); /* log(2 pi e) */
            by_log_variance[b] += gamma * share * (rate * bell - 0.5f * entropies);
        }
        for (int b = 0; b < BATCH; b++)
            by_mean[b] += 2.0f * gamma * rate * share * (slope[b] - slope[(b + BATCH / 2) % BATCH]);
    }
    cross = cross / BATCH - latent * log(0.5 * rate);
    parts[0] = (float)(2.0 * cross - entropies * entropy / BATCH);
    return gamma * parts[0];
}
