// The kernels of `kernels.cu` as one would write them for a processor.
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void saxpy(const float *x, float *y, float a, int n) {
    for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void copy(const float *restrict x, float *restrict y, int n) {
    for (int i = 0; i < n; i++) y[i] = x[i];
}

void copy_strided(const float *restrict x, float *restrict y, int stride, int n) {
    for (int i = 0; i < n; i++) y[i] = x[i * stride];
}

void transpose(const float *restrict x, float *restrict y, int n) {
    for (int i = 0; i < n; i += 32)
        for (int j = 0; j < n; j += 32)
            for (int k = i; k < i + 32; k++)
                for (int l = j; l < j + 32; l++) y[l * n + k] = x[k * n + l];
}

// Sums of what each block of 256 threads has, as the kernel's; there are `blocks` of them.
void reduce_shared(const float *restrict x, float *restrict sums, int n, int blocks) {
    for (int b = 0; b < blocks; b++) {
        float part[256] = {0};
        for (int first = b * 256; first < n; first += blocks * 256)
            for (int t = 0; t < 256 && first + t < n; t++) part[t] += x[first + t];
        float sum = 0;
        for (int t = 0; t < 256; t++) sum += part[t];
        sums[b] = sum;
    }
}

void reduce_shuffle(const int *restrict x, int *restrict sum, int n) {
    int all = 0;
    for (int i = 0; i < n; i++) all += x[i];
    *sum += all;
}

void scan(const int *restrict x, int *restrict y, int n) {
    for (int first = 0; first < n; first += 256) {
        int sum = 0;
        for (int i = first; i < first + 256; i++) y[i] = sum += x[i];
    }
}

void histogram(const unsigned *restrict x, unsigned *restrict bins, int n) {
    for (int i = 0; i < n; i++) bins[x[i] & 255]++;
}

void product_naive(const float *restrict a, const float *restrict b, float *restrict c, int n) {
    memset(c, 0, sizeof(float) * n * n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

void product_tiled(const float *restrict a, const float *restrict b, float *restrict c, int n) {
    memset(c, 0, sizeof(float) * n * n);
    for (int i = 0; i < n; i += 64)
        for (int k = 0; k < n; k += 64)
            for (int j = 0; j < n; j += 64)
                for (int u = i; u < i + 64; u++)
                    for (int w = k; w < k + 64; w++)
                        for (int v = j; v < j + 64; v++) c[u * n + v] += a[u * n + w] * b[w * n + v];
}

// Eight halves at once become floats, which are what processors of this kind compute with.
void product_half(const uint16_t *restrict a, const uint16_t *restrict b, uint16_t *restrict c, int n) {
    float *wide = malloc(sizeof(float) * n * (n + 1)), *row = wide + n * n;
    for (int i = 0; i < n * n; i += 8)
        _mm256_storeu_ps(wide + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(b + i))));
    for (int i = 0; i < n; i++) {
        memset(row, 0, sizeof(float) * n);
        for (int k = 0; k < n; k++) {
            float factor = _cvtsh_ss(a[i * n + k]);
            for (int j = 0; j < n; j++) row[j] += factor * wide[k * n + j];
        }
        for (int j = 0; j < n; j += 8)
            _mm_storeu_si128((__m128i *)(c + i * n + j), _mm256_cvtps_ph(_mm256_loadu_ps(row + j), 0));
    }
    free(wide);
}

void stencil_2d(const float *restrict x, float *restrict y, int n) {
    for (int j = 1; j < n - 1; j++)
        for (int i = 1; i < n - 1; i++) {
            const float *at = x + j * n + i;
            y[j * n + i] = 0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-n] + at[n]);
        }
}

void stencil_3d(const float *restrict x, float *restrict y, int n) {
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++) {
                const float *at = x + (k * n + j) * n + i;
                y[(k * n + j) * n + i] =
                    0.4f * at[0] + 0.1f * (at[-1] + at[1] + at[-n] + at[n] + at[-n * n] + at[n * n]);
            }
}

static const float taps[25] = {1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};

static int clamp(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

void convolution(const float *restrict x, float *restrict y, int n) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            float sum = 0;
            for (int v = -2; v <= 2; v++)
                for (int u = -2; u <= 2; u++)
                    sum += taps[(v + 2) * 5 + u + 2] * x[clamp(j + v, n) * n + clamp(i + u, n)];
            y[j * n + i] = sum / 256;
        }
}

void softmax(const float *restrict x, float *restrict y, int n, int rows) {
    for (int row = 0; row < rows; row++, x += n, y += n) {
        float most = -INFINITY, sum = 0;
        for (int i = 0; i < n; i++) most = fmaxf(most, x[i]);
        for (int i = 0; i < n; i++) y[i] = expf(x[i] - most);
        for (int i = 0; i < n; i++) sum += y[i];
        for (int i = 0; i < n; i++) y[i] *= 1 / sum;
    }
}

void layer_norm(const float *restrict x, float *restrict y, int n, int rows) {
    for (int row = 0; row < rows; row++, x += n, y += n) {
        float sum = 0, squares = 0;
        for (int i = 0; i < n; i++) {
            sum += x[i];
            squares += x[i] * x[i];
        }
        float mean = sum / n, scale = 1 / sqrtf(squares / n - mean * mean + 1e-5f);
        for (int i = 0; i < n; i++) y[i] = (x[i] - mean) * scale;
    }
}

static float normal(float d) {
    float k = 1 / (1 + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * expf(-0.5f * d * d) *
                 (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - tail : tail;
}

void black_scholes(const float *restrict price, const float *restrict strike, const float *restrict years,
                   float *restrict call, float *restrict put, int n) {
    const float rate = 0.02f, volatility = 0.3f;
    for (int i = 0; i < n; i++) {
        float root = sqrtf(years[i]);
        float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
        float d2 = d1 - volatility * root;
        float below = normal(d1), above = normal(d2), discount = expf(-rate * years[i]);
        call[i] = price[i] * below - strike[i] * discount * above;
        put[i] = strike[i] * discount * (1 - above) - price[i] * (1 - below);
    }
}

void n_body(const float *restrict bodies, float *restrict forces, int n) {
    for (int i = 0; i < n; i++) {
        float x = 0, y = 0, z = 0;
        for (int k = 0; k < n; k++) {
            float dx = bodies[4 * k] - bodies[4 * i], dy = bodies[4 * k + 1] - bodies[4 * i + 1],
                  dz = bodies[4 * k + 2] - bodies[4 * i + 2];
            float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float strength = bodies[4 * k + 3] * inverse * inverse * inverse;
            x += dx * strength;
            y += dy * strength;
            z += dz * strength;
        }
        forces[4 * i] = x;
        forces[4 * i + 1] = y;
        forces[4 * i + 2] = z;
        forces[4 * i + 3] = 0;
    }
}

void mandelbrot(int *restrict counts, int width, int height, int limit) {
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++) {
            float a = -2.0f + 3.0f * i / width, b = -1.0f + 2.0f * j / height, x = 0, y = 0;
            // Squares are rounded and one product is fused, as in the kernel: orbits near the border are chaotic.
            float xx = 0, yy = 0;
            int count = 0;
            while (count < limit && xx + yy < 4.0f) {
                y = fmaf(2 * x, y, b);
                x = xx - yy + a;
                xx = x * x;
                yy = y * y;
                count++;
            }
            counts[j * width + i] = count;
        }
}

static int ascending(const void *a, const void *b) {
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

void bitonic_sort(const unsigned *restrict x, unsigned *restrict y, int n) {
    memcpy(y, x, sizeof(unsigned) * n);
    for (int first = 0; first < n; first += 512) qsort(y + first, 512, sizeof(unsigned), ascending);
}

void sparse_product(const int *restrict starts, const int *restrict columns, const float *restrict values,
                    const float *restrict x, float *restrict y, int rows) {
    for (int row = 0; row < rows; row++) {
        float sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}

void hash(const uint64_t *restrict x, uint64_t *restrict y, int n) {
    for (int i = 0; i < n; i++) {
        uint64_t h = x[i];
        for (int k = 0; k < 8; k++) {
            h ^= h >> 33;
            h *= 0xff51afd7ed558ccdULL;
            h ^= h >> 33;
            h *= 0xc4ceb9fe1a85ec53ULL;
            h ^= h >> 33;
        }
        y[i] = h;
    }
}

void look_back(const unsigned *restrict x, unsigned *restrict y, int n) {
    unsigned sum = 0;
    for (int i = 0; i < n; i++) y[i] = sum += x[i];
}

void philox(uint32_t *restrict out, uint32_t key, int n) {
    for (int i = 0; i < n; i++) {
        uint32_t a = i, b = 0, c = 0, d = 0, k0 = key, k1 = ~key;
        for (int round = 0; round < 10; round++) {
            uint64_t first = (uint64_t)0xd2511f53u * a, second = (uint64_t)0xcd9e8d57u * c;
            a = (uint32_t)(second >> 32) ^ b ^ k0;
            b = (uint32_t)second;
            c = (uint32_t)(first >> 32) ^ d ^ k1;
            d = (uint32_t)first;
            k0 += 0x9e3779b9u;
            k1 += 0xbb67ae85u;
        }
        out[4 * i] = a;
        out[4 * i + 1] = b;
        out[4 * i + 2] = c;
        out[4 * i + 3] = d;
    }
}
