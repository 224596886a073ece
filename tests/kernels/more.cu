// More kernels that the tests of the runner compare with the host: cooperative groups, narrow atomics, sorts, look-back.
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" {
__global__ void asserted(const int *x) {
    if (x[threadIdx.x] < 0) __assertfail("x[threadIdx.x] >= 0", "more.cu", 42, "asserted", 1);
}

__global__ void tiles(const int *x, int *sums, int *scans) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int t = block.thread_rank();
    sums[t] = cg::reduce(tile, x[t], cg::plus<int>());
    scans[t] = cg::inclusive_scan(tile, x[t]);
}

// Those that branch together add once.
__global__ void coalesced(const int *x, int *count, int *ranks) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    ranks[t] = -1;
    if (x[t] % 3 == 0) {
        auto active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) base = atomicAdd(count, (int)active.size());
        ranks[t] = active.shfl(base, 0) + active.thread_rank();
    }
}

__global__ void grid_sync(int *x, int n) {
    auto grid = cg::this_grid();
    int t = grid.thread_rank();
    for (int k = 1; k < n; k *= 2) {
        int v = t >= k ? x[t - k] : 0;
        grid.sync();
        x[t] += v;
        grid.sync();
    }
}

// Lanes of a warp take turns.
__global__ void lanes_lock(int *count) {
    __shared__ int lock, own;
    if (threadIdx.x == 0) { lock = 0; own = 0; }
    __syncthreads();
    while (atomicCAS(&lock, 0, 1) != 0) {}
    *(volatile int *)&own += 1;
    __threadfence_block();
    atomicExch(&lock, 0);
    __syncthreads();
    if (threadIdx.x == 0) *count = own;
}

__global__ void narrow_atomics(unsigned short *s, __half *h, __half2 *h2) {
    int t = threadIdx.x;
    unsigned short old, now = s[0];
    do { old = now; now = atomicCAS(&s[0], old, (unsigned short)(old + 3)); } while (now != old);
    atomicAdd(h, __float2half(0.25f));
    atomicAdd(h2, __floats2half2_rn(1.0f, (float)(t & 1)));
}

__global__ void scoped_atomics(unsigned *u, unsigned long long *l) {
    __shared__ unsigned own[8];
    __shared__ unsigned long long wide[4];
    int t = threadIdx.x;
    if (t < 8) own[t] = t == 5 ? 0xffffffffu : 0;
    if (t < 4) wide[t] = t == 3 ? ~0ull : 0;
    __syncthreads();
    atomicAdd_block(&own[0], (unsigned)t); atomicMax(&own[1], (unsigned)t); atomicOr(&own[2], 1u << (t & 31));
    atomicXor(&own[3], (unsigned)t); atomicInc(&own[4], 6); atomicAnd(&own[5], ~(1u << (t & 15)));
    atomicDec(&own[6], 6); atomicMin((int *)&own[7], -t);
    atomicAdd(&wide[0], (unsigned long long)t << 33); atomicMax(&wide[1], (unsigned long long)t << 40);
    atomicXor(&wide[2], 1ull << (t & 63)); atomicAnd(&wide[3], ~(1ull << (t & 31)));
    __syncthreads();
    if (t < 8) atomicAdd_system(&u[t], own[t]);
    if (t < 4) atomicAdd(&l[t], wide[t]);
}

// A scan in one pass: a block publishes its sum, then looks back until it finds a prefix.
__global__ void decoupled(const int *x, int *y, unsigned long long *state, int *ticket, int n) {
    __shared__ int block, prefix, warps[4];
    int t = threadIdx.x, lane = t & 31;
    if (t == 0) block = atomicAdd(ticket, 1);
    __syncthreads();
    int i = block * 128 + t, v = i < n ? x[i] : 0;
    for (int k = 1; k < 32; k *= 2) { int o = __shfl_up_sync(~0u, v, k); if (lane >= k) v += o; }
    if (lane == 31) warps[t / 32] = v;
    __syncthreads();
    int sum = 0, total = 0;
    for (int w = 0; w < 4; w++) { if (w < t / 32) sum += warps[w]; total += warps[w]; }
    if (t == 0) {
        if (block) atomicExch(&state[block], 1ull << 32 | (unsigned)total);
        int before = 0;
        for (int b = block - 1; b >= 0;) {
            unsigned long long s = atomicAdd(&state[b], 0ull);
            if (s >> 32 == 0) continue;
            before += (int)s;
            if (s >> 32 == 2) break;
            b--;
        }
        atomicExch(&state[block], 2ull << 32 | (unsigned)(before + total));
        prefix = before;
    }
    __syncthreads();
    if (i < n) y[i] = v + sum + prefix;
}

__global__ void radix(unsigned *keys, int n) {
    extern __shared__ unsigned room[];
    unsigned *from = room, *to = room + n;
    __shared__ int offsets[16][128];
    int t = threadIdx.x, per = n / blockDim.x;
    for (int i = 0; i < per; i++) from[t * per + i] = keys[t * per + i];
    for (int bit = 0; bit < 32; bit += 4) {
        for (int d = 0; d < 16; d++) offsets[d][t] = 0;
        __syncthreads();
        for (int i = 0; i < per; i++) offsets[from[t * per + i] >> bit & 15][t]++;
        __syncthreads();
        if (t == 0) {
            int sum = 0;
            for (int d = 0; d < 16; d++) for (int o = 0; o < (int)blockDim.x; o++) { int v = offsets[d][o]; offsets[d][o] = sum; sum += v; }
        }
        __syncthreads();
        for (int i = 0; i < per; i++) { unsigned k = from[t * per + i]; to[offsets[k >> bit & 15][t]++] = k; }
        __syncthreads();
        unsigned *swap = from; from = to; to = swap;
    }
    for (int i = 0; i < per; i++) keys[t * per + i] = from[t * per + i];
}

struct __attribute__((packed)) Packed { char tag; int number; short half; double wide; };
__global__ void unaligned(Packed p, double *out) {
    out[threadIdx.x] = p.tag + p.number * 2.0 + p.half + p.wide * threadIdx.x;
}

struct Matrix { float m[3][3]; };
__device__ __noinline__ Matrix times(Matrix a, Matrix b) {
    Matrix c;
    for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) { c.m[i][j] = 0; for (int k = 0; k < 3; k++) c.m[i][j] += a.m[i][k] * b.m[k][j]; }
    return c;
}
__global__ void power(Matrix a, Matrix *out, int n) {
    Matrix r = a;
    for (int i = 0; i < n + (int)threadIdx.x; i++) r = times(r, a);
    out[threadIdx.x] = r;
}

// Depth first, each call with a stack of its own.
struct Node { int left, right, value; };
__device__ int visit(const Node *nodes, int at, int depth) {
    if (at < 0) return 0;
    int own[4];
    for (int i = 0; i < 4; i++) own[i] = nodes[at].value * (depth + i);
    int l = visit(nodes, nodes[at].left, depth + 1), r = visit(nodes, nodes[at].right, depth + 2);
    return own[l & 3] + l + r;
}
__global__ void tree(const Node *nodes, int *out) { out[threadIdx.x] = visit(nodes, threadIdx.x, 0); }

struct Shape { __device__ virtual float area() const = 0; };
struct Square : Shape { float a; __device__ Square(float a) : a(a) {} __device__ float area() const override { return a * a; } };
struct Circle : Shape { float r; __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3 * r * r; } };
__global__ void virtuals(float *out) {
    Shape *s = threadIdx.x % 2 ? (Shape *)new Square(threadIdx.x) : new Circle(threadIdx.x);
    out[threadIdx.x] = s->area();
    delete s;
}

__global__ void list(int *out) {
    struct Cell { int value; Cell *next; } *head = nullptr;
    for (int i = 0; i <= (int)threadIdx.x % 7; i++) { Cell *c = (Cell *)malloc(sizeof(Cell)); c->value = i * i; c->next = head; head = c; }
    int sum = 0;
    while (head) { Cell *next = head->next; sum = sum * 3 + head->value; free(head); head = next; }
    out[threadIdx.x] = sum;
}

__global__ void wide_products(const long long *a, const unsigned long long *b, long long *high, unsigned long long *low, unsigned __int128 *square) {
    int t = threadIdx.x;
    high[t] = __mul64hi(a[t], (long long)b[t]);
    low[t] = a[t] * b[t];
    square[t] = (unsigned __int128)b[t] * b[t] / 1000003;
}

__global__ void bits(const unsigned *x, int *out) {
    unsigned v = x[threadIdx.x];
    out[threadIdx.x] = __popc(v) + 100 * __clz(v) + 10000 * __ffs(v) + (int)(__brev(v) >> 12) + (int)__byte_perm(v, ~v, 0x5140) + (int)__funnelshift_l(v, v, 9);
}

__global__ void mathematics(const float *x, float *y, const double *dx, double *dy) {
    int t = threadIdx.x;
    y[t] = sinf(x[t]) + expf(x[t]) * logf(fabsf(x[t]) + 1) + powf(fabsf(x[t]), 0.3f) + tanhf(x[t]) + erff(x[t]) + cbrtf(x[t]);
    dy[t] = sin(dx[t]) + exp(dx[t]) * log(fabs(dx[t]) + 1) + pow(fabs(dx[t]), 0.3) + tanh(dx[t]) + atan2(dx[t], 2.0) + fmod(dx[t], 0.7);
}

__global__ void bits_of_halves(const __half2 *a, const __half2 *b, __half2 *out, float *f) {
    int t = threadIdx.x;
    __half2 v = __hfma2(a[t], b[t], __hmax2(a[t], b[t]));
    out[t] = __hlt(__low2half(v), __high2half(v)) ? v : __lowhigh2highlow(v);
    f[t] = __half2float(hsqrt(__habs(__low2half(v))));
}
}

// The lanes of a block sort their keys against each other, two at a time, and merge in steps.
template <typename T> __device__ void exchange(T *s, int n, int t) {
    for (int k = 0; k < n; k++) {
        int i = 2 * t + (k & 1);
        if (i + 1 < n && s[i] > s[i + 1]) { T v = s[i]; s[i] = s[i + 1]; s[i + 1] = v; }
        __syncthreads();
    }
}
template <typename T> __device__ void odd_even(T *keys, int n) {
    __shared__ T s[128];
    int t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) s[i] = keys[i];
    __syncthreads();
    exchange(s, n, t);
    for (int i = t; i < n; i += blockDim.x) keys[i] = s[i];
}
extern "C" {
__global__ void sort_bytes(signed char *keys, int n) { odd_even(keys, n); }
__global__ void sort_shorts(unsigned short *keys, int n) { odd_even(keys, n); }
__global__ void sort_longs(long long *keys, int n) { odd_even(keys, n); }
__global__ void sort_doubles(double *keys, int n) { odd_even(keys, n); }
}
