// Four rows of a tensor at once, columns along one row of images, and pairs of blocks.
#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;

struct alignas(64) TensorMap { unsigned long long words[16]; };

__device__ void await(uint64_t *barrier, unsigned parity) {
    while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {}
}

/// Gathers four rows and scatters them to others, or adds them there.
extern "C" __global__ void rows(const __grid_constant__ TensorMap map, const int *from, const int *to, int column, int add) {
    __shared__ __align__(1024) int data[128];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        int a[5] = {column, from[0], from[1], from[2], from[3]};
        ptx::cp_async_bulk_tensor_tile_gather4(ptx::space_shared, ptx::space_global, data, &map, a, &barrier);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 512);
        await(&barrier, 0);
        int b[5] = {column, to[0], to[1], to[2], to[3]};
        if (add)
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile::scatter4.bulk_group [%0, {%1, %2, %3, %4, %5}], [%6];"
                         :: "l"(&map), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"((unsigned)__cvta_generic_to_shared(data)) : "memory");
        else
            ptx::cp_async_bulk_tensor_tile_scatter4(ptx::space_global, ptx::space_shared, &map, b, data);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

/// Pixels along one row of images; 128 of them if `fixed` is set.
extern "C" __global__ void along(const __grid_constant__ TensorMap map, int *out, unsigned bytes, int c, int w, int h, int n,
                                 unsigned short offset, int fixed) {
    __shared__ __align__(1024) int data[2048];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        unsigned to = __cvta_generic_to_shared(data), at = __cvta_generic_to_shared(&barrier);
        unsigned short halo = 0;
        if (fixed)
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                         :: "r"(to), "l"(&map), "r"(c), "r"(w), "r"(h), "r"(n), "r"(at), "h"(halo), "h"(offset) : "memory");
        else
            asm volatile("cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                         :: "r"(to), "l"(&map), "r"(c), "r"(w), "r"(h), "r"(n), "r"(at), "h"(halo), "h"(offset) : "memory");
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, bytes);
    }
    __syncthreads();
    await(&barrier, 0);
    for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = data[i];
}

/// Two blocks load halves of a box, and both signal the barrier of the first one.
extern "C" __global__ void __cluster_dims__(2, 1, 1) pairs(const __grid_constant__ TensorMap map, int *out, int all) {
    __shared__ __align__(1024) int data[256];
    __shared__ uint64_t barrier;
    unsigned rank = blockIdx.x & 1, bar = __cvta_generic_to_shared(&barrier), to = __cvta_generic_to_shared(data), first;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(first) : "r"(bar));
    if (threadIdx.x == 0) {
        if (rank == 0) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, all ? 2048 : 1024);
        if (all)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 "
                         "[%0], [%1, {%2, %3}], [%4], %5;"
                         :: "r"(to + 512 * rank), "l"(&map), "r"(0), "r"(4 * (int)rank), "r"(first), "h"((unsigned short)3) : "memory");
        else
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 "
                         "[%0], [%1, {%2, %3}], [%4];"
                         :: "r"(to + 512 * rank), "l"(&map), "r"(0), "r"(4 * (int)rank), "r"(first) : "memory");
    }
    if (rank == 0) await(&barrier, 0);
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) out[256 * rank + i] = data[i];
}
