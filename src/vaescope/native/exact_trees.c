/* Friedman's boosted trees with the cuts of scikit-learn's GradientBoostingClassifier: every value
   may be cut, ties go by the order in which features are drawn, and sums are taken in the order in
   which they are taken there, since the cuts of small nodes often differ by rounding alone. Rows
   are sorted once for all trees instead of in every node. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 3
#define NODES 15 /* of a whole tree of that depth, root first, then its left subtree */
static const float APART = 1e-7f;        /* values nearer than this are not cut apart */
static const double PURE = 2.220446049250313e-16;

typedef struct {
    int64_t n, d;
    const float *x;       /* (d, n) */
    int32_t *order;       /* (d, n) rows by value, within each node's range */
    int32_t *rows;        /* (n,) in the order in which sums are taken */
    int32_t *scratch;     /* (n,) */
    int8_t *leaf;         /* (n,) */
    double *y;            /* (n,) */
    int64_t *features, *constants;
    uint32_t state;
    /* the tree: feature -1 of leaves */
    int64_t nodes;
    int32_t feature[NODES], left[NODES], right[NODES];
    double threshold[NODES];
    double *importance;   /* (d,) of this tree */
} Grower;

static uint32_t drawn(uint32_t *state)
{
    if (*state == 0) *state = 1;
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % 2147483648u;
}

static void swap(int64_t *a, int64_t *b) { const int64_t c = *a; *a = *b; *b = c; }

typedef struct { int64_t feature, place; double threshold, gain; } Cut;

/* The best place to cut this feature, if better than what was found before. */
static void search(const Grower *g, int64_t feature, int64_t start, int64_t end, double total,
                   Cut *best)
{
    const float *x = g->x + feature * g->n;
    const int32_t *row = g->order + feature * g->n;
    const double *y = g->y;
    double left = 0.0;
    int64_t at = start, p = start;
    float value = x[row[start]];
    while (1) {
        p++;
        float before = value;
        while (p < end && (value = x[row[p]]) <= before + APART) { before = value; p++; }
        if (p >= end) return;
        if (p - at <= end - p) {
            for (int64_t q = at; q < p; q++) left += y[row[q]];
        } else { /* the nearer end, as a long run of equal values is passed */
            left = total;
            for (int64_t q = end - 1; q >= p; q--) left -= y[row[q]];
        }
        at = p;
        const double right = total - left, n_left = (double)(p - start), n_right = (double)(end - p);
        const double gain = left * left / n_left + right * right / n_right;
        if (gain > best->gain) {
            best->gain = gain;
            best->feature = feature;
            best->place = p;
            best->threshold = before / 2.0 + value / 2.0;
        }
    }
}

/* Grows the node of these rows and what is below it; returns its number. */
static int32_t grow(Grower *g, int64_t start, int64_t end, int depth, double impurity,
                    int64_t known)
{
    const int32_t node = (int32_t)g->nodes++;
    const int64_t n = end - start;
    const double size = (double)n;
    double total = 0.0, squares = 0.0;
    for (int64_t p = start; p < end; p++) {
        const double y = g->y[g->rows[p]];
        total += y;
        squares += y * y;
    }
    if (node == 0) impurity = squares / size - (total / size) * (total / size);
    g->feature[node] = -1;
    Cut best = {-1, end, 0.0, -INFINITY};
    int64_t all_constant = known;
    if (depth < DEPTH && n >= 2 && impurity > PURE) {
        /* Fisher-Yates over the features; those found constant are put first, for the children. */
        int64_t *f = g->features, i = g->d, found = 0, passed = 0, last = -1;
        while (i > all_constant) {
            int64_t j = passed + (int64_t)(drawn(&g->state) % (uint32_t)(i - found - passed));
            if (j < known) {
                swap(&f[passed++], &f[j]);
                continue;
            }
            j += found;
            const int64_t own = f[j];
            const int32_t *row = g->order + own * g->n;
            const float least = g->x[own * g->n + row[start]];
            const float most = g->x[own * g->n + row[end - 1]];
            if (most > least) last = own; /* rows of one value keep their order */
            if (most <= least + APART) {
                swap(&f[j], &f[all_constant]);
                found++;
                all_constant++;
                continue;
            }
            i--;
            swap(&f[i], &f[j]);
            search(g, own, start, end, total, &best);
        }
        if (last >= 0) memcpy(g->rows + start, g->order + last * g->n + start, sizeof(int32_t) * n);
        memcpy(f, g->constants, sizeof(int64_t) * known);
        memcpy(g->constants + known, f + known, sizeof(int64_t) * found);
    }
    double impure_left = 0.0, impure_right = 0.0;
    int splits = best.place < end;
    if (splits) {
        const float *x = g->x + best.feature * g->n;
        int64_t p = start, q = end;
        while (p < q) {
            if (x[g->rows[p]] <= best.threshold) p++;
            else { const int32_t r = g->rows[p]; g->rows[p] = g->rows[--q]; g->rows[q] = r; }
        }
        double left = 0.0, squares_left = 0.0;
        if (best.place - start <= end - best.place)
            for (int64_t k = start; k < best.place; k++) left += g->y[g->rows[k]];
        else {
            left = total;
            for (int64_t k = end - 1; k >= best.place; k--) left -= g->y[g->rows[k]];
        }
        for (int64_t k = start; k < best.place; k++) squares_left += g->y[g->rows[k]] * g->y[g->rows[k]];
        const double n_left = (double)(best.place - start), n_right = (double)(end - best.place);
        const double right = total - left;
        impure_left = squares_left / n_left - (left / n_left) * (left / n_left);
        impure_right = (squares - squares_left) / n_right - (right / n_right) * (right / n_right);
        const double removed = size / (double)g->n
            * (impurity - n_right / size * impure_right - n_left / size * impure_left);
        splits = removed + PURE >= 0.0;
        if (splits)
            g->importance[best.feature] += size * impurity - n_left * impure_left - n_right * impure_right;
    }
    if (!splits) {
        for (int64_t p = start; p < end; p++) g->leaf[g->rows[p]] = (int8_t)node;
        return node;
    }
    g->feature[node] = (int32_t)best.feature;
    g->threshold[node] = best.threshold;
    if (depth + 1 < DEPTH) { /* children are cut again: their rows by value, in the same order */
        const float *x = g->x + best.feature * g->n;
        for (int64_t j = 0; j < g->d; j++) {
            int32_t *row = g->order + j * g->n;
            int64_t left = start, right = 0;
            for (int64_t p = start; p < end; p++) {
                const int32_t r = row[p];
                const int goes_left = x[r] <= best.threshold;
                row[left] = r;
                g->scratch[right] = r;
                left += goes_left;
                right += !goes_left;
            }
            memcpy(row + left, g->scratch, sizeof(int32_t) * right);
        }
    }
    g->left[node] = grow(g, start, best.place, depth + 1, impure_left, all_constant);
    g->right[node] = grow(g, best.place, end, depth + 1, impure_right, all_constant);
    return node;
}

/* NumPy's sum of contiguous float64. */
static double pairwise(const double *a, int64_t n)
{
    if (n < 8) {
        double sum = 0.0;
        for (int64_t i = 0; i < n; i++) sum += a[i];
        return sum;
    }
    if (n <= 128) {
        double r[8];
        int64_t i;
        memcpy(r, a, sizeof r);
        for (i = 8; i < n - n % 8; i += 8)
            for (int k = 0; k < 8; k++) r[k] += a[i + k];
        double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; i < n; i++) sum += a[i];
        return sum;
    }
    int64_t half = n / 2;
    half -= half % 8;
    return pairwise(a, half) + pairwise(a + half, n - half);
}

/* y - p of each row and tree; one tree for two classes. */
static void slopes(int64_t n, int64_t trees, const int32_t *label, const double *raw, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        const double *own = raw + i * trees;
        double *r = out + i * trees;
        if (trees == 1) {
            const double y = (double)label[i];
            if (own[0] > -37.0) {
                const double e = exp(-own[0]);
                r[0] = -(((1.0 - y) - y * e) / (1.0 + e));
            } else
                r[0] = -(exp(own[0]) - y);
            continue;
        }
        double most = own[0], sum = 0.0;
        for (int64_t k = 1; k < trees; k++) if (most < own[k]) most = own[k];
        for (int64_t k = 0; k < trees; k++) { r[k] = exp(own[k] - most); sum += r[k]; }
        for (int64_t k = 0; k < trees; k++) r[k] = -(r[k] / sum - (double)(label[i] == k));
    }
}

/* A Newton step of each leaf, over its rows in ascending order. */
static void leaves(Grower *g, const int32_t *label, int64_t k, int64_t trees, double *slope,
                   double *curve, double *value)
{
    int64_t first[NODES + 1] = {0}, at[NODES];
    for (int64_t i = 0; i < g->n; i++) first[g->leaf[i] + 1]++;
    for (int64_t q = 0; q < g->nodes; q++) { first[q + 1] += first[q]; at[q] = first[q]; }
    for (int64_t i = 0; i < g->n; i++) {
        const int64_t to = at[g->leaf[i]]++;
        const double y = trees == 1 ? (double)label[i] : (double)(label[i] == k);
        const double p = y - g->y[i];
        slope[to] = g->y[i];
        curve[to] = p * (1.0 - p);
    }
    for (int64_t q = 0; q < g->nodes; q++) {
        const int64_t size = first[q + 1] - first[q];
        value[q] = 0.0;
        if (g->feature[q] >= 0 || size == 0) continue;
        double up = pairwise(slope + first[q], size) / (double)size;
        const double down = pairwise(curve + first[q], size) / (double)size;
        if (trees > 1) up *= (double)(trees - 1) / (double)trees;
        value[q] = fabs(down) < 1e-150 ? 0.0 : up / down;
    }
}

/* x (d, n), order (d, n), test (d, tests), label (n,), seeds (rounds * trees,), raw (n, trees) and
   raw_test (tests, trees) at their start; importance (d,) summed over trees, each divided by n, and
   the number of trees with a cut in `grown`. feature and threshold (rounds, trees, NODES) are kept
   where they are not NULL. Returns -1 where memory is short. */
int boosted_exactly(int64_t n, int64_t d, int64_t tests, int64_t trees, int64_t rounds, double rate,
                    const float *x, const int32_t *order, const float *test, const int32_t *label,
                    const uint32_t *seeds, double *raw, double *raw_test, double *importance,
                    int64_t *grown, int32_t *feature, double *threshold)
{
    Grower g = {.n = n, .d = d, .x = x};
    double *residual = malloc(sizeof(double) * n * trees);
    double *numbers = malloc(sizeof(double) * (3 * n + d));
    int32_t *places = malloc(sizeof(int32_t) * (d * n + 2 * n));
    int64_t *features = malloc(sizeof(int64_t) * 2 * d);
    g.leaf = malloc(n);
    const int short_of_memory = !residual || !numbers || !places || !features || !g.leaf;
    *grown = 0;
    memset(importance, 0, sizeof(double) * d);
    for (int64_t round = 0; round < rounds && !short_of_memory; round++) {
        slopes(n, trees, label, raw, residual);
        for (int64_t k = 0; k < trees; k++) {
            double value[NODES];
            g.y = numbers;
            g.importance = numbers + 3 * n;
            g.order = places;
            g.rows = places + d * n;
            g.scratch = g.rows + n;
            g.features = features;
            g.constants = features + d;
            g.state = seeds[round * trees + k];
            g.nodes = 0;
            memcpy(g.order, order, sizeof(int32_t) * d * n);
            memset(g.importance, 0, sizeof(double) * d);
            for (int64_t i = 0; i < n; i++) { g.rows[i] = (int32_t)i; g.y[i] = residual[i * trees + k]; }
            for (int64_t j = 0; j < d; j++) g.features[j] = j;
            grow(&g, 0, n, 0, INFINITY, 0);
            leaves(&g, label, k, trees, numbers + n, numbers + 2 * n, value);
            for (int64_t i = 0; i < n; i++) raw[i * trees + k] += rate * value[g.leaf[i]];
            for (int64_t i = 0; i < tests; i++) {
                int32_t q = 0;
                while (g.feature[q] >= 0)
                    q = test[g.feature[q] * tests + i] <= g.threshold[q] ? g.left[q] : g.right[q];
                raw_test[i * trees + k] += rate * value[q];
            }
            if (g.nodes > 1) {
                (*grown)++;
                for (int64_t j = 0; j < d; j++) importance[j] += g.importance[j] / (double)n;
            }
            if (feature)
                for (int64_t q = 0; q < NODES; q++) {
                    feature[(round * trees + k) * NODES + q] = q < g.nodes ? g.feature[q] : -2;
                    threshold[(round * trees + k) * NODES + q] = q < g.nodes ? g.threshold[q] : 0.0;
                }
        }
    }
    free(residual);
    free(numbers);
    free(places);
    free(features);
    free(g.leaf);
    return -short_of_memory;
}
