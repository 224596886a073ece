// Clusters: distributed shared memory, the barrier of the cluster, ranks.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

/// A histogram whose bins are spread over the shared memory of the blocks of a cluster.
extern "C" __global__ void cluster_histogram(int *bins, int bins_per_block, const int *input, int n) {
    extern __shared__ int smem[];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) smem[i] = 0;
    cluster.sync();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        int bin = input[i];
        int *remote = cluster.map_shared_rank(smem, bin / bins_per_block);
        atomicAdd(remote + bin % bins_per_block, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x)
        atomicAdd(&bins[rank * bins_per_block + i], smem[i]);
}

/// Each block passes a value around the ring of its cluster, with arrival and wait apart.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_ring(const int *x, int *y, int rounds) {
    __shared__ int box[2];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
    if (threadIdx.x == 0) box[0] = x[blockIdx.x];
    cluster.sync();
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x == 0) {
            int *next = cluster.map_shared_rank(box, (rank + 1) % size);
            next[(round + 1) & 1] = box[round & 1] * 3 + (int)rank;
        }
        auto token = cluster.barrier_arrive();
        cluster.barrier_wait(static_cast<decltype(token) &&>(token));
    }
    if (threadIdx.x == 0) y[blockIdx.x] = box[rounds & 1];
    cluster.sync();
}

/// What each thread sees of its place in grid and cluster, in two dimensions.
extern "C" __global__ void cluster_places(int *out) {
    __shared__ int own;
    cg::cluster_group cluster = cg::this_cluster();
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    dim3 in = cluster.block_index(), shape = cluster.dim_blocks();
    int *other = cluster.map_shared_rank(&own, cluster.num_blocks() - 1);
    int *to = out + 10 * block;
    to[0] = in.x; to[1] = in.y; to[2] = shape.x; to[3] = shape.y;
    to[4] = cluster.block_rank(); to[5] = cluster.num_threads(); to[6] = cluster.thread_rank();
    to[7] = cluster.query_shared_rank(other);
    to[8] = __isShared(other);
    to[9] = __isGlobal(other) | __isLocal(other) << 1;
    cluster.sync();
}
