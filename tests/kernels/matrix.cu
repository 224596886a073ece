// Matrix products, asynchronous copies and barriers in shared memory.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/type_traits>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// Barriers are initialized by code.
#pragma nv_diag_suppress static_var_with_dynamic_init

// One product of each shape, the matrices in the orders given.
template <int M, int N, int K, typename F, typename A, typename C, typename OrderA, typename OrderB>
__device__ void product(const F *a, const F *b, const C *c, C *d) {
    wmma::fragment<wmma::matrix_a, M, N, K, A, OrderA> x;
    wmma::fragment<wmma::matrix_b, M, N, K, A, OrderB> y;
    wmma::fragment<wmma::accumulator, M, N, K, C> z;
    constexpr bool rows_a = cuda::std::is_same<OrderA, wmma::row_major>::value, rows_b = cuda::std::is_same<OrderB, wmma::row_major>::value;
    wmma::load_matrix_sync(x, a, rows_a ? K : M);
    wmma::load_matrix_sync(y, b, rows_b ? N : K);
    wmma::load_matrix_sync(z, c, N, wmma::mem_row_major);
    wmma::mma_sync(z, x, y, z);
    wmma::store_matrix_sync(d, z, N, wmma::mem_row_major);
}

using row = wmma::row_major;
using col = wmma::col_major;

extern "C" __global__ void halves_16(const half *a, const half *b, const float *c, float *d) { product<16, 16, 16, half, half, float, row, col>(a, b, c, d); }
extern "C" __global__ void halves_32(const half *a, const half *b, const float *c, float *d) { product<32, 8, 16, half, half, float, col, row>(a, b, c, d); }
extern "C" __global__ void halves_8(const half *a, const half *b, const float *c, float *d) { product<8, 32, 16, half, half, float, row, row>(a, b, c, d); }
extern "C" __global__ void halves_in_halves(const half *a, const half *b, const half *c, half *d) { product<16, 16, 16, half, half, half, col, col>(a, b, c, d); }
extern "C" __global__ void bfloats_16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const float *c, float *d) { product<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, row, row>(a, b, c, d); }
extern "C" __global__ void bfloats_32(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const float *c, float *d) { product<32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, row, col>(a, b, c, d); }
extern "C" __global__ void bfloats_8(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const float *c, float *d) { product<8, 32, 16, __nv_bfloat16, __nv_bfloat16, float, col, col>(a, b, c, d); }
extern "C" __global__ void tf32_16(const float *a, const float *b, const float *c, float *d) { product<16, 16, 8, float, wmma::precision::tf32, float, row, col>(a, b, c, d); }
extern "C" __global__ void doubles_8(const double *a, const double *b, const double *c, double *d) { product<8, 8, 4, double, double, double, row, col>(a, b, c, d); }
extern "C" __global__ void bytes_16(const signed char *a, const signed char *b, const int *c, int *d) { product<16, 16, 16, signed char, signed char, int, row, col>(a, b, c, d); }
extern "C" __global__ void bytes_32(const signed char *a, const signed char *b, const int *c, int *d) { product<32, 8, 16, signed char, signed char, int, col, row>(a, b, c, d); }
extern "C" __global__ void bytes_8(const unsigned char *a, const unsigned char *b, const int *c, int *d) { product<8, 32, 16, unsigned char, unsigned char, int, row, row>(a, b, c, d); }
extern "C" __global__ void nibbles(const wmma::experimental::precision::s4 *, const int *a, const int *b, const int *c, int *d) {
    wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, row> x;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, col> y;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> z;
    wmma::load_matrix_sync(x, a, 32);
    wmma::load_matrix_sync(y, b, 32);
    wmma::load_matrix_sync(z, c, 8, wmma::mem_row_major);
    wmma::mma_sync(z, x, y, z);
    wmma::store_matrix_sync(d, z, 8, wmma::mem_row_major);
}
extern "C" __global__ void bits(const unsigned *a, const unsigned *b, const int *c, int *d) {
    wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, row> x;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, col> y;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> z;
    wmma::load_matrix_sync(x, a, 128);
    wmma::load_matrix_sync(y, b, 128);
    wmma::load_matrix_sync(z, c, 8, wmma::mem_row_major);
    wmma::bmma_sync(z, x, y, z, wmma::experimental::bmmaBitOpAND);
    wmma::store_matrix_sync(d, z, 8, wmma::mem_row_major);
}

// d = a × b of n × n halves, tile by tile through shared memory.
extern "C" __global__ void tiled(const half *a, const half *b, float *d, int n) {
    __shared__ __align__(32) half x[16][16], y[16][16];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 256; i += 32) {
            x[i / 16][i % 16] = a[(blockIdx.y * 16 + i / 16) * n + k + i % 16];
            y[i / 16][i % 16] = b[(k + i / 16) * n + blockIdx.x * 16 + i % 16];
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, row> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, row> right;
        wmma::load_matrix_sync(left, &x[0][0], 16);
        wmma::load_matrix_sync(right, &y[0][0], 16);
        wmma::mma_sync(sum, left, right, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(d + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

// Loads matrices, transposes them on the way or in registers, and stores them.
extern "C" __global__ void transposes(const unsigned short *in, unsigned short *loaded, unsigned short *moved) {
    __shared__ __align__(16) unsigned short tiles[4][8][8];
    for (int i = threadIdx.x; i < 256; i += 32) (&tiles[0][0][0])[i] = in[i];
    __syncwarp();
    unsigned r[4], at = (unsigned)__cvta_generic_to_shared(&tiles[threadIdx.x / 8][threadIdx.x % 8][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    for (int m = 0; m < 4; m++) {
        int place = m * 64 + threadIdx.x / 4 * 8 + threadIdx.x % 4 * 2;
        loaded[place] = r[m] & 0xffff;
        loaded[place + 1] = r[m] >> 16;
        unsigned turned;
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(r[m]));
        moved[place] = turned & 0xffff;
        moved[place + 1] = turned >> 16;
    }
}

// Copies through two buffers in shared memory while the other one is summed.
extern "C" __global__ void staged(const float *x, float *sums, int tiles) {
    __shared__ alignas(16) float buffers[2][256];
    auto group = cooperative_groups::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(group, &state);
    float sum = 0;
    for (int fetch = 0, tile = 0; tile < tiles; tile++) {
        for (; fetch < tiles && fetch < tile + 2; fetch++) {
            pipe.producer_acquire();
            cuda::memcpy_async(group, buffers[fetch % 2], x + fetch * 256, cuda::aligned_size_t<16>(1024), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        group.sync();
        sum += buffers[tile % 2][(threadIdx.x * 7) % 256];
        group.sync();
        pipe.consumer_release();
    }
    sums[threadIdx.x] = sum;
}

// As `staged`, with groups of copies of a thread; the last tile is cut short and filled with zeros.
extern "C" __global__ void grouped(const float *x, float *sums, int count) {
    __shared__ alignas(16) float buffers[4][128];
    int tiles = (count + 127) / 128;
    auto fetch = [&](int tile) {
        int left = (count - tile * 128 - (int)threadIdx.x * 4) * 4;
        int bytes = left < 0 ? 0 : left > 16 ? 16 : left;
        if (tile < tiles && threadIdx.x < 32) {
            unsigned to = (unsigned)__cvta_generic_to_shared(&buffers[tile % 4][threadIdx.x * 4]);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(x + tile * 128 + threadIdx.x * 4), "r"(bytes));
        }
        asm volatile("cp.async.commit_group;");
    };
    for (int tile = 0; tile < 3; tile++) fetch(tile);
    float sum = 0;
    for (int tile = 0; tile < tiles; tile++) {
        asm volatile("cp.async.wait_group 2;");
        __syncthreads();
        sum += buffers[tile % 4][127 - threadIdx.x];
        fetch(tile + 3);
    }
    sums[threadIdx.x] = sum;
}

// Half of the warps produce, the others consume.
extern "C" __global__ void producers(const int *x, int *y, int rounds) {
    __shared__ int buffer[2][64];
    __shared__ cuda::barrier<cuda::thread_scope_block> filled[2], emptied[2];
    if (threadIdx.x < 2) {
        init(&filled[threadIdx.x], 128);
        init(&emptied[threadIdx.x], 128);
    }
    __syncthreads();
    int lane = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int i = 0; i < rounds; i++) {
            emptied[i % 2].arrive_and_wait();
            buffer[i % 2][lane] = x[i * 64 + lane] * 3;
            (void)filled[i % 2].arrive();
        }
    } else {
        (void)emptied[0].arrive();
        (void)emptied[1].arrive();
        for (int i = 0; i < rounds; i++) {
            filled[i % 2].arrive_and_wait();
            y[i * 64 + lane] = buffer[i % 2][63 - lane] + 1;
            (void)emptied[i % 2].arrive();
        }
    }
}

// Threads leave a barrier one after another.
extern "C" __global__ void leavers(int *counts, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> all;
    __shared__ int present;
    if (threadIdx.x == 0) {
        init(&all, blockDim.x);
        present = 0;
    }
    __syncthreads();
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x % rounds == i) {
            all.arrive_and_drop();
            return;
        }
        atomicAdd(&present, 1);
        all.arrive_and_wait();
        if (threadIdx.x % rounds == rounds - 1 && threadIdx.x / rounds == 0) counts[i] = present;
        all.arrive_and_wait();
    }
}

#if __CUDA_ARCH__ >= 900
// A bulk copy in, work, and a bulk copy out.
extern "C" __global__ void bulk(const int *x, int *y, int count) {
    __shared__ alignas(128) int buffer[512];
    __shared__ alignas(8) unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(buffer);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(count * 4));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(x), "r"(count * 4), "r"(at) : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
    for (int i = threadIdx.x; i < count; i += blockDim.x) buffer[i] = buffer[i] * buffer[i] + i;
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y), "r"(to), "r"(count * 4) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
#endif
