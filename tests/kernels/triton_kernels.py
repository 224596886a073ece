"""Compiles kernels to PTX with Triton, which needs no GPU for it.

    python -m venv venv && venv/bin/pip install triton
    venv/bin/python triton_kernels.py

`triton-provenance.txt` says which compiler wrote what.
"""
import os
import tempfile

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = os.path.dirname(os.path.abspath(__file__))


@triton.jit
def product(a, b, c, m, n, k, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr):
    i = tl.program_id(0) * rows + tl.arange(0, rows)
    j = tl.program_id(1) * columns + tl.arange(0, columns)
    l = tl.arange(0, depth)
    sums = tl.zeros((rows, columns), dtype=tl.float32)
    for first in range(0, k, depth):
        x = tl.load(a + i[:, None] * k + (first + l)[None, :])
        y = tl.load(b + (first + l)[:, None] * n + j[None, :])
        sums = tl.dot(x, y, sums)
    tl.store(c + i[:, None] * n + j[None, :], sums)


@triton.jit
def attention(q, k, v, out, count, scale, rows: tl.constexpr, columns: tl.constexpr, width: tl.constexpr):
    i = tl.program_id(0) * rows + tl.arange(0, rows)
    d = tl.arange(0, width)
    x = tl.load(q + i[:, None] * width + d[None, :])
    most = tl.full((rows,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((rows,), dtype=tl.float32)
    sums = tl.zeros((rows, width), dtype=tl.float32)
    for first in range(0, count, columns):
        j = first + tl.arange(0, columns)
        y = tl.load(k + j[:, None] * width + d[None, :])
        scores = tl.dot(x, tl.trans(y)) * scale
        now = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        shrink = tl.exp2(most - now)
        total = total * shrink + tl.sum(weights, 1)
        z = tl.load(v + j[:, None] * width + d[None, :])
        sums = tl.dot(weights.to(tl.float16), z, sums * shrink[:, None])
        most = now
    tl.store(out + i[:, None] * width + d[None, :], sums / total[:, None])


@triton.jit
def softmax(x, y, columns, width: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, width)
    values = tl.load(x + row * columns + j, mask=j < columns, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * columns + j, weights / tl.sum(weights, 0), mask=j < columns)


@triton.jit
def persistent(a, b, c, m, n, k, blocks: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr):
    """Each block computes every so-manieth tile, in one loop over the tiles and their sums."""
    across = tl.cdiv(n, columns)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, rows) * across, blocks, flatten=True):
        i = tile // across * rows + tl.arange(0, rows)
        j = tile % across * columns + tl.arange(0, columns)
        sums = tl.zeros((rows, columns), dtype=tl.float32)
        for first in range(tl.cdiv(k, depth)):
            l = first * depth + tl.arange(0, depth)
            x = tl.load(a + i[:, None] * k + l[None, :], mask=(i[:, None] < m) & (l[None, :] < k), other=0.0)
            y = tl.load(b + l[:, None] * n + j[None, :], mask=(j[None, :] < n) & (l[:, None] < k), other=0.0)
            sums = tl.dot(x, y, sums)
        tl.store(c + i[:, None] * n + j[None, :], sums, mask=(i[:, None] < m) & (j[None, :] < n))


@triton.jit
def split(a, b, c, m, n, k, parts: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr):
    """Blocks add their parts of the sums to the result."""
    across = tl.cdiv(n, columns)
    i = tl.program_id(0) // across * rows + tl.arange(0, rows)
    j = tl.program_id(0) % across * columns + tl.arange(0, columns)
    sums = tl.zeros((rows, columns), dtype=tl.float32)
    for first in range(tl.program_id(1) * depth, k, parts * depth):
        l = first + tl.arange(0, depth)
        x = tl.load(a + i[:, None] * k + l[None, :], mask=l[None, :] < k, other=0.0)
        y = tl.load(b + l[:, None] * n + j[None, :], mask=l[:, None] < k, other=0.0)
        sums = tl.dot(x, y, sums)
    tl.atomic_add(c + i[:, None] * n + j[None, :], sums, sem="relaxed")


@triton.jit
def layer_norm(x, y, w, b, columns, least, width: tl.constexpr):
    row = tl.program_id(0) * columns
    j = tl.arange(0, width)
    total = tl.zeros((width,), dtype=tl.float32)
    for first in range(0, columns, width):
        total += tl.load(x + row + first + j, mask=first + j < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros((width,), dtype=tl.float32)
    for first in range(0, columns, width):
        part = tl.load(x + row + first + j, mask=first + j < columns, other=0.0).to(tl.float32)
        part = tl.where(first + j < columns, part - mean, 0.0)
        squares += part * part
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns + least)
    for first in range(0, columns, width):
        mask = first + j < columns
        part = tl.load(x + row + first + j, mask=mask, other=0.0).to(tl.float32)
        shift = tl.load(b + first + j, mask=mask)
        tl.store(y + row + first + j, (part - mean) * scale * tl.load(w + first + j, mask=mask) + shift, mask=mask)


@triton.jit
def block_scaled(a, of_a, b, of_b, c, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr, ty: tl.constexpr,
                 packed: tl.constexpr, block: tl.constexpr, step: tl.constexpr):
    """The product of one tile with scale factors of blocks of a row; b is given column by column."""
    i, j = tl.arange(0, rows), tl.arange(0, columns)
    sums = tl.zeros((rows, columns), dtype=tl.float32)
    for first in range(depth // step):
        l = first * (step // packed) + tl.arange(0, step // packed)
        s = first * (step // block) + tl.arange(0, step // block)
        x = tl.load(a + i[:, None] * (depth // packed) + l[None, :])
        y = tl.load(b + j[None, :] * (depth // packed) + l[:, None])
        of_x = tl.load(of_a + i[:, None] * (depth // block) + s[None, :])
        of_y = tl.load(of_b + j[:, None] * (depth // block) + s[None, :])
        sums = tl.dot_scaled(x, of_x, ty, y, of_y, ty, sums)
    tl.store(c + i[:, None] * columns + j[None, :], sums)


def compile(kernel, name, target, types, sizes, stages, aligned=False):
    """With `aligned`, pointers and sizes are multiples of 16, as Triton finds them to be at most calls."""
    signature = dict(zip(kernel.arg_names, types)) | dict.fromkeys(sizes, "constexpr")
    options = {"num_warps": 4, "num_stages": stages}
    attributes = {(place,): [["tt.divisibility", 16]] for place in range(len(types))} if aligned else None
    source = ASTSource(kernel, signature, sizes, attributes)
    made = triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)
    file = f"triton-{name}-{target}.ptx"
    with open(os.path.join(HERE, file), "w") as out:
        out.write(made.asm["ptx"])
    return f"{file}: {kernel.fn.__name__} by Triton {triton.__version__}, {made.metadata.shared} bytes of shared memory\n"


def main():
    lines = []
    tile = {"rows": 32, "columns": 32, "depth": 32}
    for element, targets in [("fp16", [80, 90, 120]), ("bf16", [80, 120]), ("fp32", [80, 90]), ("fp8e4nv", [89, 120]), ("fp8e5", [89])]:
        for target in targets:
            types = ["*" + element, "*" + element, "*fp32", "i32", "i32", "i32"]
            lines.append(compile(product, f"product-{element}", target, types, tile, 3))
    types = ["*fp16", "*fp16", "*fp32", "i32", "i32", "i32"]
    tile = {"rows": 64, "columns": 64, "depth": 32}
    lines.append(compile(product, "aligned-fp16", 80, types, tile, 3, aligned=True))
    # Products of warpgroups, and in tensor memory: of 128 and 64 rows.
    for element in ["fp16", "bf16", "fp32", "fp8e4nv", "fp8e5"]:
        for target, rows, part in [(90, 64, "group"), (100, 128, "tensor"), (100, 64, "half")]:
            types = ["*" + element, "*" + element, "*fp32", "i32", "i32", "i32"]
            tile = {"rows": rows, "columns": 32, "depth": 64}
            lines.append(compile(product, f"{part}-{element}", target, types, tile, 2))
    for target in [90, 100]:
        types = ["*fp16", "*fp16", "*fp16", "*fp32", "i32", "fp32"]
        tile = {"rows": 64 if target == 90 else 128, "columns": 32, "width": 64}
        lines.append(compile(attention, "attention", target, types, tile, 2))
    for target in [80, 120]:
        types = ["*fp16", "*fp16", "*fp16", "*fp32", "i32", "fp32"]
        lines.append(compile(attention, "attention", target, types, {"rows": 32, "columns": 32, "width": 32}, 2))
        lines.append(compile(softmax, "softmax", target, ["*fp32", "*fp32", "i32"], {"width": 256}, 1))
    for target in [80, 90, 100, 120]:
        types = ["*fp16", "*fp16", "*fp32", "i32", "i32", "i32"]
        tile = {"rows": 64, "columns": 32, "depth": 32}
        lines.append(compile(persistent, "persistent", target, types, {"blocks": 3} | tile, 3))
        lines.append(compile(split, "split", target, types, {"parts": 2} | tile, 3))
        types = ["*fp16", "*fp16", "*fp32", "*fp32", "i32", "fp32"]
        lines.append(compile(layer_norm, "layer_norm", target, types, {"width": 128}, 2))
    for target in [100, 120]:
        for ty, scale, packed, block in [("e4m3", "u8", 1, 32), ("e2m1", "u8", 2, 32), ("e2m1", "fp8e4nv", 2, 16)]:
            types = ["*fp8e4nv" if ty == "e4m3" else "*u8", "*" + scale] * 2 + ["*fp32"]
            sizes = {"rows": 128, "columns": 64, "depth": 256, "ty": ty, "packed": packed, "block": block, "step": 128}
            lines.append(compile(block_scaled, f"scaled-{ty}-{block}", target, types, sizes, 2))
    with open(os.path.join(HERE, "triton-provenance.txt"), "w") as out:
        out.writelines(lines)


main()
