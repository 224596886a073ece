"""Compiles kernels to PTX with Gluon, the lower language of Triton: products in the tensor memory of pairs of blocks, and reductions of it.

    python -m venv venv && venv/bin/pip install triton
    venv/bin/python gluon_kernels.py

`gluon-provenance.txt` says which compiler wrote what.
"""
import os
import tempfile

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

import triton
from triton._C.libtriton.ir import PROPAGATE_NAN
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, TensorMemoryScalesLayout, allocate_tensor_memory, fence_async_shared, mbarrier, tcgen05_mma, tcgen05_mma_scaled)

HERE = os.path.dirname(os.path.abspath(__file__))
NANS = gl.constexpr(PROPAGATE_NAN.ALL)


@gluon.jit
def load(x, rows: gl.constexpr, columns: gl.constexpr, across: gl.constexpr):
    """A matrix whose rows, columns or copies the blocks of a pair have."""
    held: gl.constexpr = gl.BlockedLayout([1, 8], [32, 1], [4, 1], [1, 0], cga_layout=across)
    i, j = gl.arange(0, rows, gl.SliceLayout(1, held)), gl.arange(0, columns, gl.SliceLayout(0, held))
    return gl.load(x + i[:, None] * columns + j[None, :])


@gluon.jit
def store(c, sums, rows: gl.constexpr, columns: gl.constexpr):
    held: gl.constexpr = gl.BlockedLayout([1, 4], [32, 1], [4, 1], [1, 0], cga_layout=[[1, 0]])
    i, j = gl.arange(0, rows, gl.SliceLayout(1, held)), gl.arange(0, columns, gl.SliceLayout(0, held))
    gl.store(c + i[:, None] * columns + j[None, :], gl.convert_layout(sums, held))


@gluon.jit
def pair(a, b, c, m: gl.constexpr, n: gl.constexpr, k: gl.constexpr):
    """A block has half of the rows of a and c, and half of the columns of b, which is given column by column."""
    of_a: gl.constexpr = gl.NVMMASharedLayout.get_default_for([m, k], a.dtype.element_ty, cga_layout=[[1, 0]])
    of_b: gl.constexpr = gl.NVMMASharedLayout.get_default_for([n, k], a.dtype.element_ty, cga_layout=[[1, 0]])
    x = gl.allocate_shared_memory(a.dtype.element_ty, [m, k], of_a, load(a, m, k, [[1, 0]]))
    y = gl.allocate_shared_memory(a.dtype.element_ty, [n, k], of_b, load(b, n, k, [[1, 0]]))
    layout: gl.constexpr = TensorMemoryLayout([m // 2, n], 1, cga_layout=[[1, 0]], two_ctas=True)
    sums = allocate_tensor_memory(gl.float32, [m, n], layout)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    fence_async_shared(cluster=True)
    gl.barrier(cluster=True)
    tcgen05_mma(x, y.permute((1, 0)), sums, use_acc=False, multicast=True, mbarriers=[done])
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)
    store(c, sums.load(), m, n)


@gluon.jit
def scaled_pair(a, of_a, b, of_b, c, m: gl.constexpr, n: gl.constexpr, k: gl.constexpr):
    """The same with scale factors of 32 elements each."""
    in_a: gl.constexpr = gl.NVMMASharedLayout.get_default_for([m, k], a.dtype.element_ty, cga_layout=[[1, 0]])
    in_b: gl.constexpr = gl.NVMMASharedLayout.get_default_for([n, k], a.dtype.element_ty, cga_layout=[[1, 0]])
    x = gl.allocate_shared_memory(a.dtype.element_ty, [m, k], in_a, load(a, m, k, [[1, 0]]))
    y = gl.allocate_shared_memory(a.dtype.element_ty, [n, k], in_b, load(b, n, k, [[1, 0]]))
    rows: gl.constexpr = TensorMemoryScalesLayout(cga_layout=[[1, 0]])
    columns: gl.constexpr = TensorMemoryScalesLayout(cga_layout=[[0, 0]])
    scales = allocate_tensor_memory(gl.uint8, [m, k // 32], rows)
    factors = allocate_tensor_memory(gl.uint8, [n, k // 32], columns)
    scales.store(gl.convert_layout(load(of_a, m, k // 32, [[1, 0]]), scales.get_reg_layout()))
    factors.store(gl.convert_layout(load(of_b, n, k // 32, [[0, 0]]), factors.get_reg_layout()))
    layout: gl.constexpr = TensorMemoryLayout([m // 2, n], 1, cga_layout=[[1, 0]], two_ctas=True)
    sums = allocate_tensor_memory(gl.float32, [m, n], layout)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    fence_async_shared(cluster=True)
    gl.barrier(cluster=True)
    tcgen05_mma_scaled(x, y.permute((1, 0)), sums, scales, factors, "e4m3", "e4m3", use_acc=False, multicast=True, mbarriers=[done])
    mbarrier.wait(done, 0)
    mbarrier.invalidate(done)
    store(c, sums.load(), m, n)


@gluon.jit
def extremes(x, least, most, n: gl.constexpr):
    """The minimum of each row, and the maximum of its magnitudes, of which one is NaN if any is."""
    memory = allocate_tensor_memory(gl.float32, [128, n], TensorMemoryLayout([128, n], 1))
    held: gl.constexpr = memory.get_reg_layout()
    i, j = gl.arange(0, 128, gl.SliceLayout(1, held)), gl.arange(0, n, gl.SliceLayout(0, held))
    memory.store(gl.load(x + i[:, None] * n + j[None, :]))
    _, lower = memory.load_min()
    _, upper = memory.load_max(abs=True, propagate_nan=NANS)
    gl.store(least + gl.arange(0, 128, lower.type.layout), lower)
    gl.store(most + gl.arange(0, 128, upper.type.layout), upper)


def compile(kernel, name, types, sizes, arch=100, blocks=2):
    signature = dict(zip(kernel.arg_names, types)) | dict.fromkeys(sizes, "constexpr")
    source = GluonASTSource(kernel, signature, sizes)
    made = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": 4, "num_ctas": blocks})
    file = f"gluon-{name}-{arch}.ptx"
    with open(os.path.join(HERE, file), "w") as out:
        out.write(made.asm["ptx"])
    return f"{file}: {kernel.fn.__name__} by Triton {triton.__version__}, {made.metadata.shared} bytes of shared memory\n"


def main():
    lines = []
    for element in ["fp16", "fp8e4nv", "fp32"]:
        for rows in [256, 128]:
            types = ["*" + element, "*" + element, "*fp32"]
            lines.append(compile(pair, f"pair-{element}-{rows}", types, {"m": rows, "n": 64, "k": 64}))
    types = ["*fp8e4nv", "*u8", "*fp8e4nv", "*u8", "*fp32"]
    lines.append(compile(scaled_pair, "scaled", types, {"m": 256, "n": 64, "k": 128}))
    lines.append(compile(extremes, "extremes", ["*fp32", "*fp32", "*fp32"], {"n": 64}, 103, 1))
    with open(os.path.join(HERE, "gluon-provenance.txt"), "w") as out:
        out.writelines(lines)


main()
