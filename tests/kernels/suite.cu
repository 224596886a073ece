// Kernels that the tests of the runner compare with the host: one a feature.
#include <cuda_fp16.h>

extern "C" {
__device__ int vprintf(const char *, const char *);

__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void reduce_shared(const float *x, float *out, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    s[t] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void reduce_shuffle(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? x[i] : 0;
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffff, v, k);
    __shared__ int warps[32];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < (blockDim.x + 31) / 32 ? warps[threadIdx.x] : 0;
        for (int k = 16; k > 0; k /= 2) v += __shfl_xor_sync(0xffffffff, v, k);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}

__global__ void transpose(const float *in, float *out, int w, int h) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float x[16][16], y[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum = fmaf(x[threadIdx.y][i], y[i][threadIdx.x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}

__global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&i[0], t); atomicSub(&i[1], t); atomicMin(&i[2], -t); atomicMax(&i[3], t);
    atomicAnd(&u[0], ~(1u << (t % 32))); atomicOr(&u[1], 1u << (t % 32)); atomicXor(&u[2], t * 2654435761u);
    atomicInc(&u[3], 99); atomicDec(&u[4], 99); atomicMin(&u[5], 1000u - t); atomicMax(&u[6], (unsigned)t);
    atomicExch(&u[7], 7u); atomicCAS(&u[8], 0u, 5u);
    atomicAdd(&l[0], (unsigned long long)t << 32); atomicMax(&l[1], (unsigned long long)t * t);
    atomicMin((long long *)&l[2], -(long long)t); atomicOr(&l[3], 1ull << (t % 64)); atomicExch(&l[4], 9ull);
    atomicCAS(&l[5], 0ull, 1ull << 40);
    atomicAdd(f, 0.5f); atomicAdd(d, 0.25);
}

__global__ void scan(const int *x, int *y, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int k = 1; k < blockDim.x; k *= 2) {
        int v = t >= k ? s[t - k] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t < n) y[t] = s[t];
}

// Each block waits for the one before it.
__global__ void look_back(const int *x, int *y, volatile int *sums, volatile int *flags) {
    __shared__ int before;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = x[i];
    for (int k = 1; k < 32; k *= 2) {
        int o = __shfl_up_sync(0xffffffff, v, k);
        if (t >= k) v += o;
    }
    if (t == 31) {
        int sum = 0;
        if (blockIdx.x > 0) {
            while (flags[blockIdx.x - 1] == 0) {}
            __threadfence();
            sum = sums[blockIdx.x - 1];
        }
        sums[blockIdx.x] = sum + v;
        __threadfence();
        flags[blockIdx.x] = 1;
        before = sum;
    }
    __syncthreads();
    y[i] = v + before;
}

__global__ void spin_grid(int *arrived, int *out) {
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < (int)gridDim.x) {}
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile int *)arrived;
}

__global__ void spin_lock(int *lock, int *count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)count = *(volatile int *)count + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

__global__ void mandelbrot(int *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float cr = -2 + 3.0f * x / w, ci = -1 + 2.0f * y / h, zr = 0, zi = 0;
    int n = 0;
    while (n < 100 && zr * zr + zi * zi < 4) {
        float r = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = r;
        n++;
    }
    out[y * w + x] = n;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int negate(int x) { return -x; }
typedef int (*Function)(int);
__device__ Function table[3] = { twice, square, negate };
__global__ void pointers(int *out, const int *which) { out[threadIdx.x] = table[which[threadIdx.x]](threadIdx.x); }

struct Pair { int a; double b; char c[3]; };
__device__ __noinline__ Pair swapped(Pair p, int k) { Pair q; q.a = (int)p.b; q.b = p.a + k; q.c[0] = p.c[2]; q.c[1] = p.c[1]; q.c[2] = p.c[0]; return q; }
__global__ void structs(Pair p, int *out) {
    Pair q = swapped(p, threadIdx.x);
    out[threadIdx.x] = q.a * 1000 + (int)q.b * 10 + q.c[0] - q.c[2];
}

__global__ void print(int n) { if (threadIdx.x < n) { struct { int a; int pad; double b; const char *s; } v = { (int)threadIdx.x, 0, threadIdx.x * 0.5, "ok" }; vprintf("%d %.2f %s\n", (const char *)&v); } }

__global__ void local_array(int *out, const int *index, int n) {
    int own[32];
    for (int i = 0; i < 32; i++) own[i] = i * threadIdx.x;
    int sum = 0;
    for (int i = 0; i < n; i++) { int k = index[i] & 31; own[k] += i; sum += own[(k * 7) & 31]; }
    out[threadIdx.x] = sum;
}

__global__ void bytes(const signed char *a, const unsigned char *b, signed char *c, short *s, unsigned short *u) {
    int i = threadIdx.x;
    c[i] = a[i] + (signed char)b[i];
    s[i] = (short)(a[i] * b[i]);
    u[i] = (unsigned short)(b[i] << 7) >> 3;
}

__global__ void halves(const __half *a, const __half *b, __half *c, float *f) {
    int i = threadIdx.x;
    c[i] = __hadd(__hmul(a[i], b[i]), b[i]);
    f[i] = __half2float(a[i]) * 3;
}

__global__ void wide(const long long *a, const double *x, long long *b, double *y) {
    int i = threadIdx.x;
    b[i] = a[i] / (i + 3) + a[i] % 7 + (a[i] >> (i & 7));
    y[i] = x[i] / 3.0 + sqrt(x[i]);
}

__global__ void votes(unsigned *out) {
    int t = threadIdx.x;
    unsigned b = __ballot_sync(0xffffffff, t % 3 == 0);
    unsigned m = __match_any_sync(0xffffffff, t / 5);
    unsigned r = __reduce_add_sync(0xffffffff, (unsigned)t);
    int all = __all_sync(0xffffffff, t >= 0), any = __any_sync(0xffffffff, t == 40);
    unsigned odd = 0;
    if (t & 1) odd = __activemask() ^ __ballot_sync(0xaaaaaaaa, t > 16);
    out[t] = b ^ m ^ r ^ all ^ (any << 1) ^ odd;
}

__global__ void named(int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        s[t] = t * t;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[t] = s[63 - t];
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[t] = t;
    }
    out[t] += __syncthreads_count(t % 3 == 0) + 1000 * __syncthreads_and(t < 128) + 10000 * __syncthreads_or(t == 5);
}

__global__ void producer(int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = 100 + t;
        asm volatile("bar.arrive 3, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 3, 64;" ::: "memory");
        out[t - 32] = s[63 - t];
    }
}

__global__ void deadlock(int *out) {
    if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}

__global__ void beyond(int *out, int n) { out[threadIdx.x + n] = 1; }
__global__ void trapped(int n) { if (threadIdx.x == n) __trap(); }
__global__ void forever(volatile int *x) { while (*x == 0) {} }

__constant__ int squares[8] = { 0, 1, 4, 9, 16, 25, 36, 49 };
__device__ int counter = 5;
__global__ void globals(int *out) { out[threadIdx.x] = squares[threadIdx.x % 8] + counter; }

__global__ void switched(int *out, const int *in) {
    int v = in[threadIdx.x];
    switch (v) {
        case 0: v = 11; break;
        case 1: v = v * 3 + (int)threadIdx.x; break;
        case 2: v = 7 - v; break;
        case 3: v = out[threadIdx.x] + 1; break;
        case 4: v = 1 << v; break;
        case 5: v = -v; break;
        case 6: v ^= 0x55; break;
        case 7: v = 12345 / (v + (int)threadIdx.x); break;
        default: v = -1;
    }
    out[threadIdx.x] = v;
}

__global__ void vectors(const float4 *a, float4 *b, const int2 *c, short4 *d) {
    int i = threadIdx.x;
    float4 v = a[i];
    b[i] = make_float4(v.w, v.z, v.y, v.x);
    int2 w = c[i];
    d[i] = make_short4(w.x, w.y, w.x + w.y, w.x - w.y);
}

__global__ void heap(int *out) {
    int *own = (int *)malloc(4 * sizeof(int));
    for (int i = 0; i < 4; i++) own[i] = threadIdx.x + i;
    out[threadIdx.x] = own[0] + own[1] + own[2] + own[3];
    free(own);
}

__global__ void bitonic(int *data, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = data[t];
    __syncthreads();
    for (int k = 2; k <= n; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int o = t ^ j;
            if (o > t) {
                int a = s[t], b = s[o];
                if ((a > b) == ((t & k) == 0)) { s[t] = b; s[o] = a; }
            }
            __syncthreads();
        }
    data[t] = s[t];
}

__global__ void sparse(const int *rows, const int *columns, const float *values, const float *x, float *y, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float sum = 0;
    for (int i = rows[row]; i < rows[row + 1]; i++) sum += values[i] * x[columns[i]];
    y[row] = sum;
}

__global__ void bodies(const float4 *p, float4 *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = p[i];
    float x = 0, y = 0, z = 0;
    for (int j = 0; j < n; j++) {
        float4 o = p[j];
        float dx = o.x - own.x, dy = o.y - own.y, dz = o.z - own.z;
        float d = dx * dx + dy * dy + dz * dz + 0.01f;
        float f = o.w / (d * sqrtf(d));
        x += dx * f; y += dy * f; z += dz * f;
    }
    a[i] = make_float4(x, y, z, 0);
}

__global__ void hash(const unsigned long long *in, unsigned long long *out, int rounds) {
    unsigned long long h = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < rounds; i++) { h ^= h >> 33; h *= 0xff51afd7ed558ccdull; h ^= h >> 29; h += 0x9e3779b97f4a7c15ull; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = h;
}

__global__ void breadth(const int *offsets, const int *edges, int *level, int depth, int *changed, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != depth) return;
    for (int i = offsets[v]; i < offsets[v + 1]; i++)
        if (atomicCAS(&level[edges[i]], -1, depth + 1) == -1) *changed = 1;
}

__global__ void stencil(const float *in, float *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
        out[y * w + x] = 0.25f * (in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x]);
}

__global__ void clocks(long long *out) { long long a = clock64(); for (int i = 0; i < 10; i++) __nanosleep(1); out[threadIdx.x] = clock64() - a; }
}
