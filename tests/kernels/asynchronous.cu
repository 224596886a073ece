// Asynchronous copies: tensors (TMA), bulk copies and reductions, multicast, remote stores, barriers with transactions.
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_fp16.h>
#include <cooperative_groups.h>
namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;

struct alignas(64) TensorMap { unsigned long long words[16]; };

__device__ void init(uint64_t *barrier, unsigned count) {
    ptx::mbarrier_init(barrier, count);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
}

__device__ void expect(uint64_t *barrier, unsigned bytes) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier, bytes);
}

__device__ void await(uint64_t *barrier, unsigned parity) {
    while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {}
}

/// Loads a box and writes shared memory as it is, then adds one to each word and stores it back.
extern "C" __global__ void tile_2d(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to, unsigned *raw,
                                   unsigned bytes, int x, int y) {
    extern __shared__ __align__(1024) int data[];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) init(&barrier, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        int at[2] = {x, y};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, data, &from, at, &barrier);
        expect(&barrier, bytes);
    }
    await(&barrier, 0);
    for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) { raw[i] = data[i]; data[i] += 1; }
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        int at[2] = {x < 0 ? 0 : x, y < 0 ? 0 : y};
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, data);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

#define DIMENSIONS(N)                                                                                                      \
    extern "C" __global__ void tile_##N##d(const __grid_constant__ TensorMap map, const int *start, unsigned *out, unsigned bytes) { \
        __shared__ __align__(128) unsigned data[1024];                                                                     \
        __shared__ uint64_t barrier;                                                                                       \
        if (threadIdx.x == 0) init(&barrier, 1);                                                                           \
        __syncthreads();                                                                                                   \
        if (threadIdx.x == 0) {                                                                                            \
            int at[N];                                                                                                     \
            for (int i = 0; i < N; i++) at[i] = start[i];                                                                  \
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, data, &map, at, &barrier);                    \
            expect(&barrier, bytes);                                                                                       \
        }                                                                                                                  \
        await(&barrier, 0);                                                                                                \
        for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = data[i];                                   \
    }
DIMENSIONS(1)
DIMENSIONS(3)
DIMENSIONS(4)
DIMENSIONS(5)

/// Reduces a box into a tensor.
#define REDUCE(NAME, OP)                                                                                                   \
    extern "C" __global__ void reduce_##NAME(const __grid_constant__ TensorMap map, const unsigned *x, int count, int row) { \
        __shared__ __align__(128) unsigned data[256];                                                                      \
        for (int i = threadIdx.x; i < count; i += blockDim.x) data[i] = x[i];                                              \
        ptx::fence_proxy_async(ptx::space_shared);                                                                         \
        __syncthreads();                                                                                                   \
        if (threadIdx.x == 0) {                                                                                            \
            int at[2] = {0, row};                                                                                          \
            ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, OP, &map, at, data);                    \
            ptx::cp_async_bulk_commit_group();                                                                             \
            ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());                                                                \
        }                                                                                                                  \
    }
REDUCE(add, ptx::op_add)
REDUCE(min, ptx::op_min)
REDUCE(xor, ptx::op_xor_op)
REDUCE(inc, ptx::op_inc)

/// Columns of images, as a convolution needs them.
extern "C" __global__ void columns(const __grid_constant__ TensorMap map, const int *start, unsigned *out, unsigned bytes,
                                   unsigned short w, unsigned short h) {
    __shared__ __align__(128) unsigned data[2048];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) init(&barrier, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned to = __cvta_generic_to_shared(data), at = __cvta_generic_to_shared(&barrier);
        asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%0, {%1, %2, %3, %4}], {%5, %6};"
                     :: "l"(&map), "r"(start[0]), "r"(start[1]), "r"(start[2]), "r"(start[3]), "h"(w), "h"(h) : "memory");
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                     :: "r"(to), "l"(&map), "r"(start[0]), "r"(start[1]), "r"(start[2]), "r"(start[3]), "r"(at), "h"(w), "h"(h)
                     : "memory");
        expect(&barrier, bytes);
    }
    await(&barrier, 0);
    for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = data[i];
}

/// Stores columns of images.
extern "C" __global__ void columns_back(const __grid_constant__ TensorMap map, const unsigned *x, unsigned bytes, int add) {
    __shared__ __align__(128) unsigned data[2048];
    for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) data[i] = x[i];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned from = __cvta_generic_to_shared(data);
        if (add)
            asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.im2col_no_offs.bulk_group [%0, {0, 0, 0, 0}], [%1];"
                         :: "l"(&map), "r"(from) : "memory");
        else
            asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {0, 0, 0, 0}], [%1];"
                         :: "l"(&map), "r"(from) : "memory");
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

/// Each block of a cluster loads a part of the box and multicasts it to all.
extern "C" __global__ void multicast(const __grid_constant__ TensorMap map, const int *x, int *out) {
    extern __shared__ __align__(1024) int data[];
    __shared__ uint64_t barrier;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
    if (threadIdx.x == 0) { init(&barrier, 1); expect(&barrier, size * (256 + 128)); }
    cluster.sync();
    if (threadIdx.x == 0) {
        int at[2] = {0, int(rank) * 4};
        uint16_t mask = (1 << size) - 1;
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, data + 64 * rank, &map, at, &barrier, mask);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, data + 1024 + 32 * rank, x + 32 * rank, 128, &barrier, mask);
    }
    await(&barrier, 0);
    for (unsigned i = threadIdx.x; i < 96 * size; i += blockDim.x)
        out[96 * size * rank + i] = i < 64 * size ? data[i] : data[1024 + i - 64 * size];
    cluster.sync();
}

/// Blocks of a cluster write to each other asynchronously: stores, reductions, bulk copies and bulk reductions.
extern "C" __global__ void __cluster_dims__(4, 1, 1) remote(const int *x, int *out) {
    __shared__ __align__(16) int inbox[32], sums[32], copied[32], own[32];
    __shared__ int count, most;
    __shared__ uint64_t barrier;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) & 3, t = threadIdx.x;
    inbox[t] = 0; sums[t] = 1000; copied[t] = 0; own[t] = x[32 * blockIdx.x + t];
    if (t == 0) { count = 0; most = -1000; init(&barrier, 1); expect(&barrier, 32 * 4 + 32 * 4 + 32 * 4 + 128 + 128); }
    ptx::fence_proxy_async(ptx::space_shared);
    cluster.sync();
    uint64_t *bar = cluster.map_shared_rank(&barrier, next);
    ptx::st_async(cluster.map_shared_rank(inbox + t, next), own[t] * 3, bar);
    ptx::red_async(ptx::op_add, cluster.map_shared_rank(&count, next), own[t], bar);
    ptx::red_async(ptx::op_max, cluster.map_shared_rank(&most, next), own[t], bar);
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(copied, next), own, 128, bar);
        ptx::cp_reduce_async_bulk(ptx::space_cluster, ptx::space_shared, ptx::op_add, cluster.map_shared_rank(sums, next), own, 128, bar);
    }
    await(&barrier, 0);
    int *to = out + 130 * blockIdx.x;
    to[t] = inbox[t]; to[32 + t] = sums[t]; to[64 + t] = copied[t];
    if (t == 0) { to[128] = count; to[129] = most; }
    cluster.sync();
    if (t == 0) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, bar);
    await(&barrier, 1);
    to[96 + t] = 7;
    cluster.sync();
}

/// Bulk reductions into global memory, of several types; `type` chooses.
extern "C" __global__ void bulk_reduce(void *to, const unsigned *x, int type, int words) {
    __shared__ __align__(16) unsigned data[64];
    for (int i = threadIdx.x; i < words; i += blockDim.x) data[i] = x[i];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned bytes = words * 4;
        auto global = ptx::space_global; auto shared = ptx::space_shared;
        switch (type) {
        case 0: ptx::cp_reduce_async_bulk(global, shared, ptx::op_add, (uint32_t *)to, (const uint32_t *)data, bytes); break;
        case 1: ptx::cp_reduce_async_bulk(global, shared, ptx::op_min, (int32_t *)to, (const int32_t *)data, bytes); break;
        case 2: ptx::cp_reduce_async_bulk(global, shared, ptx::op_add, (float *)to, (const float *)data, bytes); break;
        case 3: ptx::cp_reduce_async_bulk(global, shared, ptx::op_add, (double *)to, (const double *)data, bytes); break;
        case 4: ptx::cp_reduce_async_bulk(global, shared, ptx::op_add, (__half *)to, (const __half *)data, bytes); break;
        case 5: ptx::cp_reduce_async_bulk(global, shared, ptx::op_max, (int64_t *)to, (const int64_t *)data, bytes); break;
        case 6: ptx::cp_reduce_async_bulk(global, shared, ptx::op_dec, (uint32_t *)to, (const uint32_t *)data, bytes); break;
        default: ptx::cp_reduce_async_bulk(global, shared, ptx::op_or_op, (uint32_t *)to, (const uint32_t *)data, bytes); break;
        }
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

/// A ring of stages that one warp fills by tensor copies and the others empty.
extern "C" __global__ void pipeline(const __grid_constant__ TensorMap map, int *sums, int rounds) {
    constexpr int STAGES = 3;
    extern __shared__ __align__(1024) int data[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) { init(full + s, 1); init(empty + s, 64); }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            for (int round = 0; round < rounds; round++) {
                int s = round % STAGES;
                await(empty + s, (round / STAGES & 1) ^ 1);
                expect(full + s, 512);
                int at[2] = {0, round * 4};
                ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, data + 128 * s, &map, at, full + s);
            }
    } else {
        int sum = 0;
        for (int round = 0; round < rounds; round++) {
            int s = round % STAGES;
            await(full + s, round / STAGES & 1);
            int t = threadIdx.x - 32;
            sum += data[128 * s + t] * (round + 1) + data[128 * s + 64 + t];
            ptx::mbarrier_arrive(empty + s);
        }
        sums[threadIdx.x - 32] = sum;
    }
}

/// Copies an array over shared memory and reverses it; `waits` has a bit for each wait that is not left out.
extern "C" __global__ void waiting(const int *x, int *y, int waits) {
    __shared__ __align__(16) int first[64], second[64], third[64];
    __shared__ uint64_t barrier, copies;
    unsigned t = threadIdx.x;
    first[t] = second[t] = third[t] = -1;
    if (t == 0) { init(&barrier, 1); init(&copies, 64); }
    __syncthreads();
    if (t == 0) {
        expect(&barrier, 256);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, first, x, 256, &barrier);
    }
    unsigned to = __cvta_generic_to_shared(second + t), also = __cvta_generic_to_shared(third + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + t) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(also), "l"(x + t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"((unsigned)__cvta_generic_to_shared(&copies)) : "memory");
    if (waits & 1) await(&barrier, 0);
    if (waits & 2) asm volatile("cp.async.wait_group 0;" ::: "memory");
    if (waits & 4) await(&copies, 0);
    __syncthreads();
    y[t] = first[63 - t];
    y[64 + t] = second[63 - t];
    y[128 + t] = third[63 - t];
}

/// Stores two halves by bulk copies and overwrites the source of the first; `waits` says whether it waits before.
extern "C" __global__ void reading(int *y, int waits) {
    __shared__ __align__(16) int data[64];
    unsigned t = threadIdx.x;
    data[t] = t;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y, data, 128);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + 32, data + 32, 128);
        ptx::cp_async_bulk_commit_group();
        if (waits) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
    }
    __syncthreads();
    if (t < 32) data[t] = -1;
}
