// Kernels whose speed is measured: each has a counterpart of the same name in `rivals.c`.
#include <cuda_fp16.h>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" {
__global__ void saxpy(const float *x, float *y, float a, int n) {
    int i = INDEX;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void copy(const float *x, float *y, int n) {
    int i = INDEX;
    if (i < n) y[i] = x[i];
}

__global__ void copy_strided(const float *x, float *y, int stride, int n) {
    int i = INDEX;
    if (i < n) y[i] = x[i * stride];
}

__global__ void transpose(const float *x, float *y, int n) {
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[(row + k) * n + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) y[(row + k) * n + column] = tile[threadIdx.x][threadIdx.y + k];
}

__global__ void reduce_shared(const float *x, float *sums, int n) {
    __shared__ float part[256];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    part[t] = sum;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (t < k) part[t] += part[t + k];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

__global__ void reduce_shuffle(const int *x, int *sum, int n) {
    int own = 0;
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) own += x[i];
    for (int k = 16; k > 0; k /= 2) own += __shfl_down_sync(0xffffffff, own, k);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

// Inclusive prefix sums of each block of 256.
__global__ void scan(const int *x, int *y) {
    __shared__ int part[2][256];
    int t = threadIdx.x, now = 0;
    part[0][t] = x[INDEX];
    __syncthreads();
    for (int k = 1; k < 256; k *= 2) {
        part[1 - now][t] = part[now][t] + (t >= k ? part[now][t - k] : 0);
        now = 1 - now;
        __syncthreads();
    }
    y[INDEX] = part[now][t];
}

__global__ void histogram(const unsigned *x, unsigned *bins, int n) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i] & 255], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__global__ void product_naive(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = INDEX;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void product_tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float x[16][16], y[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) sum += x[threadIdx.y][i] * y[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Halves, summed in floats.
__global__ void product_half(const __half *a, const __half2 *b, __half2 *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = INDEX;
    float2 sum = make_float2(0, 0);
    for (int k = 0; k < n; k++) {
        float factor = __half2float(a[row * n + k]);
        float2 pair = __half22float2(b[k * n / 2 + column]);
        sum.x += factor * pair.x;
        sum.y += factor * pair.y;
    }
    c[row * n / 2 + column] = __float22half2_rn(sum);
}

__global__ void stencil_2d(const float *x, float *y, int n) {
    int i = INDEX, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i == 0 || j == 0 || i >= n - 1 || j >= n - 1) return;
    const float *at = x + j * n + i;
    y[j * n + i] = 0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-n] + at[n]);
}

__global__ void stencil_3d(const float *x, float *y, int n) {
    int i = INDEX, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i == 0 || j == 0 || i >= n - 1 || j >= n - 1) return;
    for (int k = 1; k < n - 1; k++) {
        const float *at = x + (k * n + j) * n + i;
        y[(k * n + j) * n + i] = 0.4f * at[0] + 0.1f * (at[-1] + at[1] + at[-n] + at[n] + at[-n * n] + at[n * n]);
    }
}

__constant__ float taps[25] = {1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};

__global__ void convolution(const float *x, float *y, int n) {
    int i = INDEX, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (int v = -2; v <= 2; v++)
        for (int u = -2; u <= 2; u++) {
            int s = min(max(i + u, 0), n - 1), t = min(max(j + v, 0), n - 1);
            sum += taps[(v + 2) * 5 + u + 2] * x[t * n + s];
        }
    y[j * n + i] = sum / 256;
}

// A row of `n` elements for each block.
__global__ void softmax(const float *x, float *y, int n) {
    __shared__ float part[128];
    const float *row = x + blockIdx.x * n;
    int t = threadIdx.x;
    float most = __int_as_float(0xff800000), sum = 0;
    for (int i = t; i < n; i += 128) most = fmaxf(most, row[i]);
    part[t] = most;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) part[t] = fmaxf(part[t], part[t + k]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads();
    for (int i = t; i < n; i += 128) sum += __expf(row[i] - most);
    part[t] = sum;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) part[t] += part[t + k];
        __syncthreads();
    }
    sum = 1 / part[0];
    for (int i = t; i < n; i += 128) y[blockIdx.x * n + i] = __expf(row[i] - most) * sum;
}

__device__ float warp_sum(float own) {
    for (int k = 16; k > 0; k /= 2) own += __shfl_xor_sync(0xffffffff, own, k);
    return own;
}

// A row of `n` elements for each warp.
__global__ void layer_norm(const float *x, float *y, int n) {
    int row = INDEX / 32, lane = threadIdx.x % 32;
    x += row * n;
    y += row * n;
    float sum = 0, squares = 0;
    for (int i = lane; i < n; i += 32) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    float mean = warp_sum(sum) / n;
    float scale = rsqrtf(warp_sum(squares) / n - mean * mean + 1e-5f);
    for (int i = lane; i < n; i += 32) y[i] = (x[i] - mean) * scale;
}

__device__ float normal(float d) {
    float k = 1 / (1 + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * expf(-0.5f * d * d) *
                 (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - tail : tail;
}

__global__ void black_scholes(const float *price, const float *strike, const float *years, float *call, float *put, int n) {
    int i = INDEX;
    if (i >= n) return;
    const float rate = 0.02f, volatility = 0.3f;
    float root = sqrtf(years[i]);
    float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
    float d2 = d1 - volatility * root;
    float below = normal(d1), above = normal(d2), discount = expf(-rate * years[i]);
    call[i] = price[i] * below - strike[i] * discount * above;
    put[i] = strike[i] * discount * (1 - above) - price[i] * (1 - below);
}

__global__ void n_body(const float4 *bodies, float4 *forces, int n) {
    __shared__ float4 tile[128];
    float4 own = bodies[INDEX];
    float x = 0, y = 0, z = 0;
    for (int first = 0; first < n; first += 128) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 128; k++) {
            float4 other = tile[k];
            float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float strength = other.w * inverse * inverse * inverse;
            x += dx * strength;
            y += dy * strength;
            z += dz * strength;
        }
        __syncthreads();
    }
    forces[INDEX] = make_float4(x, y, z, 0);
}

__global__ void mandelbrot(int *counts, int width, int height, int limit) {
    int i = INDEX, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= width || j >= height) return;
    float a = -2.0f + 3.0f * i / width, b = -1.0f + 2.0f * j / height, x = 0, y = 0;
    int count = 0;
    while (count < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + a;
        y = 2 * x * y + b;
        x = next;
        count++;
    }
    counts[j * width + i] = count;
}

// Sorts each block of 512.
__global__ void bitonic_sort(const unsigned *x, unsigned *y) {
    __shared__ unsigned part[512];
    unsigned t = threadIdx.x;
    x += blockIdx.x * 512;
    y += blockIdx.x * 512;
    part[t] = x[t];
    part[t + 256] = x[t + 256];
    for (unsigned k = 2; k <= 512; k *= 2)
        for (unsigned j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            unsigned low = 2 * t - (t & (j - 1)), high = low + j;
            unsigned a = part[low], b = part[high];
            bool swap = (a > b) == ((low & k) == 0);
            part[low] = swap ? b : a;
            part[high] = swap ? a : b;
        }
    __syncthreads();
    y[t] = part[t];
    y[t + 256] = part[t + 256];
}

__global__ void sparse_product(const int *starts, const int *columns, const float *values, const float *x, float *y, int rows) {
    int row = INDEX;
    if (row >= rows) return;
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
    y[row] = sum;
}

__global__ void hash(const unsigned long long *x, unsigned long long *y, int n) {
    int i = INDEX;
    if (i >= n) return;
    unsigned long long h = x[i];
    for (int k = 0; k < 8; k++) {
        h ^= h >> 33;
        h *= 0xff51afd7ed558ccdULL;
        h ^= h >> 33;
        h *= 0xc4ceb9fe1a85ec53ULL;
        h ^= h >> 33;
    }
    y[i] = h;
}

// Inclusive prefix sums of the whole array: a block takes a ticket, sums its part, and looks back at the blocks before it.
__global__ void look_back(const unsigned *x, unsigned *y, unsigned *ticket, volatile unsigned long long *states) {
    __shared__ unsigned block, sums[8], before;
    if (threadIdx.x == 0) block = atomicAdd(ticket, 1);
    __syncthreads();
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = block * 256 + threadIdx.x;
    unsigned own = x[i];
    for (int k = 1; k < 32; k *= 2) {
        unsigned other = __shfl_up_sync(0xffffffff, own, k);
        if (lane >= k) own += other;
    }
    if (lane == 31) sums[warp] = own;
    __syncthreads();
    for (int k = 0; k < warp; k++) own += sums[k];
    if (threadIdx.x == 255) {
        states[block] = (block == 0 ? 2ull : 1ull) << 32 | own;
        unsigned all = 0;
        for (int k = (int)block - 1; k >= 0; k--) {
            unsigned long long state;
            do state = states[k];
            while (state >> 32 == 0);
            all += (unsigned)state;
            if (state >> 32 == 2) break;
        }
        before = all;
        states[block] = 2ull << 32 | (all + own);
    }
    __syncthreads();
    y[i] = own + before;
}

__global__ void philox(uint4 *out, unsigned key, int n) {
    int i = INDEX;
    if (i >= n) return;
    uint4 c = make_uint4(i, 0, 0, 0);
    unsigned k0 = key, k1 = ~key;
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xd2511f53u, c.x), low0 = 0xd2511f53u * c.x;
        unsigned high1 = __umulhi(0xcd9e8d57u, c.z), low1 = 0xcd9e8d57u * c.z;
        c = make_uint4(high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0);
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[i] = c;
}
}
