// Sorts each run of 32 floats, NaNs as zeros: one warp, a bitonic network over shuffles.
extern "C" __global__ void sort_warps(float *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned lane = threadIdx.x % 32;
    float v = __int_as_float(0x7f800000);
    if (i < n) {
        v = x[i];
        v = v != v ? 0.0f : v;
    }
#pragma unroll
    for (unsigned k = 2; k <= 32; k *= 2)
#pragma unroll
        for (unsigned j = k / 2; j > 0; j /= 2) {
            float w = __shfl_xor_sync(~0u, v, j);
            bool up = (lane & k) == 0, low = (lane & j) == 0;
            v = (w < v) == (up == low) ? w : v;
        }
    if (i < n) x[i] = v;
}
