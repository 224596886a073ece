"""Compiles the kernels of `tests/run/numba.rs` with Numba, which needs no GPU for that.

    python -m venv venv && venv/bin/pip install numba numba-cuda nvidia-nvvm nvidia-cuda-nvcc nvidia-cuda-nvrtc nvidia-cuda-runtime
    venv/bin/python numba_kernels.py

A kernel has seven parameters for an array of one dimension: two pointers of Numba's own, the number of elements, the bytes of one, the
address, the shape and the stride; two more for each further dimension. `numba-provenance.txt` says which versions wrote them.
"""
import importlib.metadata
import math
import os
import re
import types

import numpy as np
from numba import cuda, float32, float64, from_dtype, int8, int16, int32, int64, uint16, uint32, uint64
from numba.cuda import dispatcher

# Functions that kernels call are compiled for the device of the process; there is none.
dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=(8, 0))

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = from_dtype(np.dtype([("a", np.uint8), ("b", np.float64), ("c", np.int16, (3,)), ("d", np.int32)], align=True))
TABLE = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype=np.int16)


def reduced(x, out):
    """Tree in shared memory, shuffles, and an atomic addition."""
    tile = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    own = 0.0
    for at in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        own += x[at]
    tile[t] = own
    cuda.syncthreads()
    step = 64
    while step >= 32:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t < 32:
        value = tile[t]
        for mask in (16, 8, 4, 2, 1):
            value += cuda.shfl_xor_sync(-1, value, mask)
        if t == 0:
            cuda.atomic.add(out, 0, value)


def atomics(i, u, l, f, d):
    own = cuda.grid(1)
    cuda.atomic.add(i, 0, own)
    cuda.atomic.sub(i, 1, own)
    cuda.atomic.max(i, 2, own * 3)
    cuda.atomic.min(i, 3, -own)
    cuda.atomic.and_(u, 0, ~(1 << (own % 31)))
    cuda.atomic.or_(u, 1, 1 << (own % 31))
    cuda.atomic.xor(u, 2, own)
    cuda.atomic.inc(u, 3, 10)
    cuda.atomic.dec(u, 4, 10)
    cuda.atomic.exch(u, 5, own)
    cuda.atomic.cas(u, 6, 0, own + 1)
    cuda.atomic.add(l, 0, own << 33)
    cuda.atomic.max(l, 1, own * 5_000_000_000)
    cuda.atomic.add(f, 0, 0.5)
    cuda.atomic.max(f, 1, own * 0.25)
    cuda.atomic.min(f, 2, -own * 0.25)
    cuda.atomic.nanmax(f, 3, math.nan if own % 2 else own * 1.0)
    cuda.atomic.add(d, 0, 0.125)
    cuda.atomic.min(d, 1, float64(own) - 40.0)


@cuda.jit(device=True, inline="never")
def ackermann(n):
    if n < 2:
        return 1
    return ackermann(n - 1) + 2 * ackermann(n - 2)


@cuda.jit(device=True, inline="never")
def swapped(a, b, turn):
    if turn:
        return b, a * 2, complex(a, b)
    return a, b, complex(b, a)


def called(x, out, parts):
    """Functions: recursion, and tuples as results."""
    own = cuda.grid(1)
    out[own] = ackermann(own % 9)
    a, b, c = swapped(x[own], x[own] + 1.5, own % 3 == 0)
    parts[own, 0] = a
    parts[own, 1] = b
    parts[own, 2] = (c * c).real
    parts[own, 3] = (c / (1 + 2j)).imag


def sorted_locally(x):
    """An array in local memory, and a table of constants."""
    own = cuda.grid(1)
    kept = cuda.local.array(8, int16)
    table = cuda.const.array_like(TABLE)
    for at in range(8):
        kept[at] = x[own, at] - table[at]
    for end in range(7, 0, -1):
        for at in range(end):
            if kept[at] > kept[at + 1]:
                kept[at], kept[at + 1] = kept[at + 1], kept[at]
    for at in range(8):
        x[own, 7 - at] = kept[at]


def records(x):
    """Records with fields of several sizes, one of which is an array."""
    own = cuda.grid(1)
    if own < x.size:
        x[own]["a"] += 200
        x[own]["b"] *= 0.5
        x[own]["c"][own % 3] -= 5
        x[own]["d"] = x[own]["d"] // (own + 1) + x[own]["c"][0] % 7


def warps(out, counts):
    own = cuda.grid(1)
    lane = cuda.laneid
    mask = cuda.ballot_sync(0xFFFFFFFF, own % 3 == 0)
    same = cuda.match_any_sync(0xFFFFFFFF, own % 5)
    up = cuda.shfl_up_sync(0xFFFFFFFF, own, 3)
    down = cuda.shfl_down_sync(0xFFFFFFFF, own * 0.5, 5)
    if cuda.any_sync(0xFFFFFFFF, own == 40):
        up += 1000
    out[own, 0] = mask
    out[own, 1] = same
    out[own, 2] = up
    out[own, 3] = int(down * 2)
    out[own, 4] = cuda.popc(mask) + 100 * cuda.clz(own) + 10000 * cuda.ffs(own)
    out[own, 5] = cuda.brev(own) >> 20
    out[own, 6] = cuda.selp(lane > 7, lane, int32(-lane))
    counts[own] = (
        cuda.syncthreads_count(int32(own % 7 < 3))
        + 1000 * cuda.syncthreads_and(int32(own < 64))
        + 2000 * cuda.syncthreads_or(int32(own == 70))
    )


def mathematics(x, y):
    own = cuda.grid(1)
    if own < x.size:
        v = x[own]
        y[own, 0] = math.sin(v) * math.cos(v) + math.tan(v / 4)
        y[own, 1] = math.exp(v / 8) - math.log1p(abs(v)) + math.expm1(v / 50)
        y[own, 2] = math.atan2(v, 2.0) + math.asinh(v) + math.hypot(v, 3.0)
        y[own, 3] = math.erf(v / 4) + math.gamma(abs(v) / 8 + 0.5) - math.lgamma(abs(v) + 1)
        y[own, 4] = v % 3.0 + v // 2.5 + math.fmod(v, 1.7) + math.pow(abs(v), 1.3)
        y[own, 5] = math.floor(v) + math.ceil(v * 2) + math.trunc(v * 3) + round(v * 1.5) + math.copysign(2.0, v)
        y[own, 6] = math.ldexp(v, 3) + math.frexp(v)[1] + math.modf(v)[0]


def narrow(a, b, out):
    """Small and wide integers as Python divides them."""
    own = cuda.grid(1)
    if own < a.size:
        out[own, 0] = a[own] // b[own]
        out[own, 1] = a[own] % b[own]
        out[own, 2] = int8(a[own] * 3) >> 1
        out[own, 3] = uint16(a[own]) * uint16(b[own])
        out[own, 4] = uint64(a[own]) >> uint64(60)
        out[own, 5] = (int64(a[own]) << 40) // (int64(b[own]) * 7)
        out[own, 6] = min(a[own], b[own]) ^ max(a[own], b[own])
        out[own, 7] = int32(a[own]) ** 3


def checked(x, at, out):
    """Errors as exceptions: a code in a variable of the module, and threads that end."""
    own = cuda.grid(1)
    out[own] = x[at[own]] // at[own]


def printed(x, n):
    own = cuda.grid(1)
    if own < n:
        print("thread", own, "has", x[own], "twice", x[own] * 2.5)


def transposed(x, y):
    """Two dimensions with strides, and a tile with padding."""
    tile = cuda.shared.array((16, 17), float32)
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        tile[cuda.threadIdx.x, cuda.threadIdx.y] = x[i, j]
    cuda.syncthreads()
    i = cuda.blockIdx.x * 16 + cuda.threadIdx.y
    j = cuda.blockIdx.y * 16 + cuda.threadIdx.x
    if i < x.shape[0] and j < x.shape[1]:
        y[j, i] = tile[cuda.threadIdx.y, cuda.threadIdx.x]


KERNELS = {
    reduced: (float64[:], float64[:]),
    atomics: (int32[:], uint32[:], int64[:], float32[:], float64[:]),
    called: (float64[:], int32[:], float64[:, :]),
    sorted_locally: (int16[:, :],),
    records: (RECORD[:],),
    warps: (int32[:, :], int32[:]),
    mathematics: (float64[:], float64[:, :]),
    narrow: (int8[:], int8[:], int64[:, :]),
    checked: (int32[:], int32[:], int32[:]),
    printed: (float32[:], int32),
    transposed: (float32[:, :], float32[:, :]),
}


def main():
    for kernel, parameters in KERNELS.items():
        name = kernel.__name__
        checks = {"debug": True, "opt": False} if kernel is checked else {}
        text, _ = cuda.compile_ptx(kernel, parameters, cc=(8, 0), abi="numba", **checks)
        # The output does not depend on where this folder is, and has no tables for debuggers.
        text = text.replace(os.path.join(HERE, ""), "").replace(", debug", "")
        text = re.sub(r"\t\.section\t\S+\s*\{.*?\}\n?", "", text, flags=re.DOTALL)
        with open(os.path.join(HERE, f"numba-{name}.ptx"), "w") as out:
            out.write(text)
        print(name, len(text))
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in ["numba", "numba-cuda", "nvidia-nvvm"])
    with open(os.path.join(HERE, "numba-provenance.txt"), "w") as out:
        out.write(f"numba-*.ptx: numba_kernels.py by {versions}\n")


main()
