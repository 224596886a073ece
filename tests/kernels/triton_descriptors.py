"""Compiles kernels with tensor descriptors to PTX with Triton, which needs no GPU for it.

    python -m venv venv && venv/bin/pip install triton
    venv/bin/python triton_descriptors.py

Descriptors are made on the device, by `tensormap.replace` in the kernel's scratch memory, or are parameters that the host makes;
`triton-descriptors.txt` says how much scratch and shared memory each needs.
"""
import os
import tempfile

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = os.path.dirname(os.path.abspath(__file__))


@triton.jit
def scaled(x, y, rows, columns, factor, height: tl.constexpr, width: tl.constexpr):
    """y = factor * x, box by box; boxes at the edges reach beyond."""
    a = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[height, width])
    b = tl.make_tensor_descriptor(y, shape=[rows, columns], strides=[columns, 1], block_shape=[height, width])
    i, j = tl.program_id(0) * height, tl.program_id(1) * width
    b.store([i, j], (a.load([i, j]) * factor).to(b.dtype))


@triton.jit
def row_sums(x, y, rows, columns, height: tl.constexpr, width: tl.constexpr):
    """Sums of rows, over boxes that a loop loads."""
    a = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[height, width])
    i = tl.program_id(0) * height
    sums = tl.zeros((height,), dtype=tl.float32)
    for j in range(0, columns, width):
        sums += tl.sum(a.load([i, j]).to(tl.float32), 1)
    tl.store(y + i + tl.arange(0, height), sums, mask=i + tl.arange(0, height) < rows)


@triton.jit
def added(x, y, rows, columns, height: tl.constexpr, width: tl.constexpr):
    """Every program adds its box to the same one of y, atomically."""
    a = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[height, width])
    b = tl.make_tensor_descriptor(y, shape=[height, columns], strides=[columns, 1], block_shape=[height, width])
    i, j = tl.program_id(0) * height, tl.program_id(1) * width
    b.atomic_add([0, j], a.load([i, j]))


@triton.jit
def gathered(x, index, y, rows, columns, count: tl.constexpr, width: tl.constexpr):
    """Rows that an index chooses."""
    a = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[1, width])
    which = tl.load(index + tl.arange(0, count))
    j = tl.program_id(0) * width
    found = a.gather(which, j)
    place = tl.arange(0, count)[:, None] * columns + j + tl.arange(0, width)[None, :]
    tl.store(y + place, found)


@triton.jit
def scaled_by_host(a, b, factor, height: tl.constexpr, width: tl.constexpr):
    """The same as `scaled`, with descriptors that the host made."""
    i, j = tl.program_id(0) * height, tl.program_id(1) * width
    b.store([i, j], (a.load([i, j]) * factor).to(b.dtype))


@triton.jit
def product(x, y, z, m, n, k, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr):
    """z = x y, with wgmma or tcgen05 where the target has it."""
    a = tl.make_tensor_descriptor(x, shape=[m, k], strides=[k, 1], block_shape=[rows, depth])
    b = tl.make_tensor_descriptor(y, shape=[k, n], strides=[n, 1], block_shape=[depth, columns])
    c = tl.make_tensor_descriptor(z, shape=[m, n], strides=[n, 1], block_shape=[rows, columns])
    i, j = tl.program_id(0) * rows, tl.program_id(1) * columns
    sums = tl.zeros((rows, columns), dtype=tl.float32)
    for l in range(0, k, depth):
        sums = tl.dot(a.load([i, l]), b.load([l, j]), sums)
    c.store([i, j], sums)


def compile(kernel, name, target, types, sizes, stages=2):
    signature = dict(zip(kernel.arg_names, types)) | dict.fromkeys(sizes, "constexpr")
    options = {"num_warps": 4, "num_stages": stages}
    made = triton.compile(ASTSource(kernel, signature, sizes), target=GPUTarget("cuda", target, 32), options=options)
    file = f"triton-tma-{name}-{target}.ptx"
    with open(os.path.join(HERE, file), "w") as out:
        out.write(made.asm["ptx"])
    data = made.metadata
    return f"{file}: {kernel.fn.__name__} by Triton {triton.__version__}, {data.shared} bytes of shared memory, {data.global_scratch_size} of scratch\n"


def main():
    lines = []
    for target in [90, 100, 120]:
        lines.append(compile(scaled, "scaled-fp16", target, ["*fp16", "*fp16", "i32", "i32", "fp32"], {"height": 32, "width": 64}))
        lines.append(compile(scaled, "scaled-fp32", target, ["*fp32", "*fp32", "i32", "i32", "fp32"], {"height": 16, "width": 16}))
        boxes = "tensordesc<fp16[32, 64]>"
        lines.append(compile(scaled_by_host, "host-fp16", target, [boxes, boxes, "fp32"], {"height": 32, "width": 64}))
        lines.append(compile(row_sums, "sums", target, ["*fp16", "*fp32", "i32", "i32"], {"height": 32, "width": 32}))
        lines.append(compile(added, "added", target, ["*fp32", "*fp32", "i32", "i32"], {"height": 16, "width": 32}))
    lines.append(compile(gathered, "gathered", 100, ["*fp16", "*i32", "*fp16", "i32", "i32"], {"count": 32, "width": 64}))
    lines.append(compile(product, "product", 120, ["*fp16", "*fp16", "*fp32", "i32", "i32", "i32"], {"rows": 64, "columns": 64, "depth": 32}))
    with open(os.path.join(HERE, "triton-descriptors.txt"), "w") as out:
        out.writelines(lines)


main()
