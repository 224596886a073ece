"""Kernels as people write them with Numba, each with the types it is compiled for."""

import math

import numba
import numpy
from numba import cuda, types


def array(dtype, dimensions=1):
    return types.Array(dtype, dimensions, "C")


def arrays(dtypes, count, *more):
    return [(array(dtype),) * count + more for dtype in dtypes]


INTEGERS = [types.int8, types.uint8, types.int16, types.uint16, types.int32, types.uint32, types.int64, types.uint64]
FLOATS = [types.float32, types.float64]
HALF = [types.float16]


def compute(out, a, b):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (a[i] + b[i]) * a[i] - b[i]


def divide(out, a, b):
    i = cuda.grid(1)
    if i < out.size and b[i] != 0:
        out[i] = a[i] // b[i] + a[i] % b[i]


def shift(out, a, b):
    i = cuda.grid(1)
    out[i] = (a[i] << b[i]) ^ (a[i] >> 1) | (a[i] & ~b[i])


def transcend(out, a, b):
    i = cuda.grid(1)
    x, y = a[i], b[i]
    out[i] = math.sin(x) + math.cos(y) * math.exp(x) - math.log(abs(y)) + math.sqrt(abs(x)) + math.tanh(y)
    out[i] += math.atan2(x, y) + math.pow(x, y) + math.floor(x) + math.ceil(y) + math.erf(x) + math.fmod(x, y)


def choose(out, a, b):
    i = cuda.grid(1)
    out[i] = min(a[i], b[i]) if a[i] < b[i] or a[i] == 3 else max(a[i], b[i])


def convert(out, a, b):
    i = cuda.grid(1)
    out[i] = numpy.int32(a[i]) + numpy.uint8(b[i]) + numpy.float64(a[i]) + numpy.float32(b[i])


def bits(out, a, b):
    i = cuda.grid(1)
    out[i] = cuda.popc(a[i]) + cuda.clz(b[i]) + cuda.ffs(a[i]) + cuda.brev(b[i])


def multiply(a, b, c):
    tile_a = cuda.shared.array((16, 16), numba.float32)
    tile_b = cuda.shared.array((16, 16), numba.float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = numba.float32(0)
    for k in range(a.shape[1] // 16):
        tile_a[tx, ty] = a[x, ty + k * 16]
        tile_b[tx, ty] = b[tx + k * 16, y]
        cuda.syncthreads()
        for j in range(16):
            total += tile_a[tx, j] * tile_b[j, ty]
        cuda.syncthreads()
    c[x, y] = total


def reduce(out, a):
    shared = cuda.shared.array(256, numba.float32)
    i = cuda.threadIdx.x
    shared[i] = a[cuda.grid(1)]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if i < step:
            shared[i] += shared[i + step]
        cuda.syncthreads()
        step //= 2
    if i == 0:
        cuda.atomic.add(out, 0, shared[0])


def atomics(out, a):
    i = cuda.grid(1)
    cuda.atomic.add(out, i, a[i])
    cuda.atomic.max(out, i, a[i])
    cuda.atomic.min(out, i, a[i])


def exchange(out, a):
    i = cuda.grid(1)
    cuda.atomic.cas(out, i, 0, a[i])
    cuda.atomic.exch(out, i, a[i])
    cuda.atomic.and_(out, i, a[i])
    cuda.atomic.or_(out, i, a[i])
    cuda.atomic.xor(out, i, a[i])
    cuda.atomic.inc(out, i, a[i])
    cuda.atomic.dec(out, i, a[i])


def warp(out, a):
    i = cuda.grid(1)
    value = a[i]
    value += cuda.shfl_sync(0xFFFFFFFF, value, 3)
    value += cuda.shfl_up_sync(0xFFFFFFFF, value, 1)
    value += cuda.shfl_down_sync(0xFFFFFFFF, value, 1)
    value += cuda.shfl_xor_sync(0xFFFFFFFF, value, 16)
    if cuda.all_sync(0xFFFFFFFF, value > 0) or cuda.any_sync(0xFFFFFFFF, value < 3):
        value += cuda.ballot_sync(0xFFFFFFFF, value > 1)
    cuda.syncwarp(0xFFFFFFFF)
    out[i] = value


def matching(out, a):
    i = cuda.grid(1)
    out[i] = cuda.match_any_sync(0xFFFFFFFF, a[i]) + cuda.activemask() + cuda.lanemask_lt() + cuda.laneid


def blocks(out, a):
    i = cuda.grid(1)
    value = cuda.syncthreads_count(a[i]) + cuda.syncthreads_and(a[i]) + cuda.syncthreads_or(a[i])
    cuda.threadfence()
    cuda.threadfence_block()
    cuda.threadfence_system()
    cuda.nanosleep(100)
    out[i] = value


def sort(out, a):
    local = cuda.local.array(32, numba.int32)
    for j in range(32):
        local[j] = a[cuda.grid(1) * 32 + j]
    for j in range(1, 32):
        value, k = local[j], j - 1
        while k >= 0 and local[k] > value:
            local[k + 1] = local[k]
            k -= 1
        local[k + 1] = value
    for j in range(32):
        out[cuda.grid(1) * 32 + j] = local[j]


def mandelbrot(image, left, step):
    x, y = cuda.grid(2)
    c = complex(left + x * step, y * step)
    z = 0.0j
    for j in range(100):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4:
            image[x, y] = j
            return
    image[x, y] = 0


def fused(out, a):
    i = cuda.grid(1)
    out[i] = cuda.fma(a[i], a[i], a[i]) + cuda.cbrt(a[i])


def half(out, a, b):
    i = cuda.grid(1)
    out[i] = cuda.fp16.hfma(a[i], b[i], a[i]) + cuda.fp16.hsqrt(a[i]) if a[i] < b[i] else cuda.fp16.hexp(b[i]) / a[i]


# Kernels with the types they are compiled for.
KERNELS = [
    (compute, arrays(INTEGERS + FLOATS + HALF, 3)),
    (divide, arrays(INTEGERS + FLOATS, 3)),
    (shift, arrays(INTEGERS, 3)),
    (transcend, arrays(FLOATS, 3)),
    (choose, arrays(INTEGERS + FLOATS + HALF, 3)),
    (convert, arrays(INTEGERS + FLOATS, 3)),
    (bits, arrays([types.int32, types.uint32, types.int64, types.uint64], 3)),
    (multiply, [(array(types.float32, 2),) * 3]),
    (reduce, arrays([types.float32], 2)),
    (atomics, arrays([types.int32, types.uint32, types.int64, types.uint64, *FLOATS], 2)),
    (exchange, arrays([types.uint32, types.uint64], 2)),
    (warp, arrays([types.int32, types.int64, *FLOATS], 2)),
    (matching, arrays([types.int32, types.int64], 2)),
    (blocks, arrays([types.int32], 2)),
    (sort, arrays([types.int32], 2)),
    (mandelbrot, [(array(types.int32, 2), types.float64, types.float64)]),
    (fused, arrays(FLOATS, 2)),
    (half, arrays(HALF, 3)),
]


def library():
    """A function of a thread for each of CUDA's library, with the types that it takes."""
    from numba.cuda import libdevice, libdevicefuncs

    for name, (_, arguments) in libdevicefuncs.functions.items():
        called = name.removeprefix("__nv_")
        given = [it.ty for it in arguments if not it.is_ptr]
        names = ", ".join(f"x{number}" for number in range(len(given)))
        scope = {"libdevice": libdevice}
        exec(f"def {called}({names}): return libdevice.{called}({names})", scope)
        yield scope[called], tuple(given)
