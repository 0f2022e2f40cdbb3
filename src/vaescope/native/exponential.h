/* exp in a form that compilers turn into vectors: exp(x) = 2^k exp(r), |r| <= log(2) / 2, exp(r) by
   its series. Beyond the range of normal numbers x is clamped. */

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double exp_double(double x)
{
    x = x > 708.0 ? 708.0 : (x < -708.0 ? -708.0 : x);
    const double k = floor(x * 1.4426950408889634 + 0.5);
    const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const int64_t bits = ((int64_t)(int32_t)k + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, 8);
    return p * scale;
}

static inline float exp_float(float x)
{
    x = x > 87.0f ? 87.0f : (x < -87.0f ? -87.0f : x);
    const float k = floorf(x * 1.44269504f + 0.5f);
    const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const int32_t bits = ((int32_t)k + 127) << 23;
    float scale;
    memcpy(&scale, &bits, 4);
    return p * scale;
}
