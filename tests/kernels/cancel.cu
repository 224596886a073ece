// Work stealing: clusters that have begun cancel those that have not, and do their work.
#include <cuda/barrier>
#include <cuda/ptx>
#include <cooperative_groups.h>
namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;

extern "C" __global__ void steal(int *done, int *blocks) {
    __shared__ __align__(16) uint4 response;
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        atomicAdd(blocks, 1);
    }
    __syncthreads();
    dim3 index = blockIdx;
    for (unsigned phase = 0;; phase ^= 1) {
        if (threadIdx.x == 0) {
            ptx::clusterlaunchcontrol_try_cancel(&response, &barrier);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 16);
        }
        atomicAdd(done + index.y * gridDim.x + index.x, 1);
        while (!ptx::mbarrier_try_wait_parity(&barrier, phase)) {}
        uint4 found = response;
        if (!ptx::clusterlaunchcontrol_query_cancel_is_canceled(found)) break;
        index.x = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<int>(found);
        index.y = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_y<int>(found);
        int all[4];
        ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid(all, found);
        if (all[0] != index.x || all[1] != index.y || all[2] != 0) __trap();
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
    }
}

/// The same by clusters of two blocks: the response goes to both.
extern "C" __global__ void __cluster_dims__(2, 1, 1) steal_pairs(int *done, int *blocks) {
    __shared__ __align__(16) uint4 response;
    __shared__ uint64_t barrier;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        atomicAdd(blocks, 1);
    }
    int first = blockIdx.x - cluster.block_rank();
    for (unsigned phase = 0;; phase ^= 1) {
        cluster.sync();
        if (threadIdx.x == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 16);
            if (cluster.block_rank() == 0) ptx::clusterlaunchcontrol_try_cancel_multicast(&response, &barrier);
        }
        atomicAdd(done + first + cluster.block_rank(), 1);
        while (!ptx::mbarrier_try_wait_parity(&barrier, phase)) {}
        uint4 found = response;
        if (!ptx::clusterlaunchcontrol_query_cancel_is_canceled(found)) break;
        first = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<int>(found);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    cluster.sync();
}
