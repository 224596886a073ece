"""Kernels as people write them with Triton, each with the types and sizes it is compiled for."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def convert(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    value = tl.load(x + at, mask=mask).to(tl.float32) * tl.load(y + at, mask=mask).to(tl.float32)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=mask)


@triton.jit
def mathematics(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at), tl.load(y + at)
    value = tl.exp(a) + tl.log(b) + tl.sin(a) * tl.cos(b) + tl.sqrt(b) + tl.rsqrt(b) + tl.sigmoid(a)
    value += tl.floor(a) + tl.ceil(b) + tl.erf(a) + tl.abs(b) + tl.fma(a, b, a) + tl.exp2(a) + tl.log2(b)
    value = tl.where(a > b, value / a, tl.maximum(value, b)) + tl.clamp(a, -1.0, 1.0)
    tl.store(out + at, value + tl.div_rn(a, b) + tl.sqrt_rn(b), mask=at < n)


@triton.jit
def integers(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at), tl.load(y + at)
    value = (a * b) ^ (a << 3) | (b >> 2) & ~a
    value += a // (b | 1) + a % (b | 1) + tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int32)
    tl.store(out + at, tl.where(a < b, tl.minimum(value, a), value), mask=at < n)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * stride
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at, mask=at < n, other=-float("inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row + at, (value / tl.sum(value, axis=0)).to(out.dtype.element_ty), mask=at < n)


@triton.jit
def scan(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * stride
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at)
    total = tl.cumsum(value, 0) + tl.sort(value) + tl.argmax(value, 0) + tl.flip(value)
    tl.store(out + row + at, total.to(out.dtype.element_ty), mask=at < n)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n), 128)
    tl.atomic_add(out + tl.arange(0, 128), counts)


@triton.jit
def atomics(x, out, lock, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.atomic_add(out + at, value, sem="relaxed", scope="cta")
    tl.atomic_max(out + at, value, sem="acquire")
    tl.atomic_min(out + at, value, sem="release", scope="sys")
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def random(out, seed, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.rand(seed, at) + tl.randn(seed, at), mask=at < n)


@triton.jit
def matmul(a, b, c, K, stride_a, stride_b, stride_c, M: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, STEP)
    a += m[:, None] * stride_a + k[None, :]
    b += k[:, None] * stride_b + n[None, :]
    total = tl.zeros((M, N), dtype=tl.float32 if a.dtype.element_ty.is_floating() else tl.int32)
    for at in range(0, K, STEP):
        left = tl.load(a, mask=k[None, :] < K - at, other=0.0)
        right = tl.load(b, mask=k[:, None] < K - at, other=0.0)
        total = tl.dot(left, right, total)
        a += STEP
        b += STEP * stride_b
    tl.store(c + m[:, None] * stride_c + n[None, :], total.to(c.dtype.element_ty))


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    result = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(left.load([m, k]), right.load([k, n]), total)
    result.store([m, n], total.to(c.dtype.element_ty))


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n, d = tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + m[:, None] * D + d[None, :])
    highest = tl.full([M], -float("inf"), dtype=tl.float32)
    norm = tl.zeros([M], dtype=tl.float32)
    total = tl.zeros([M, D], dtype=tl.float32)
    for at in range(0, length, N):
        key = tl.load(k + (at + n)[None, :] * D + d[:, None])
        score = tl.dot(query, key) * scale
        score = tl.where(m[:, None] >= (at + n)[None, :], score, -float("inf"))
        higher = tl.maximum(highest, tl.max(score, 1))
        weight = tl.exp2(score - higher[:, None])
        shrink = tl.exp2(highest - higher)
        norm = norm * shrink + tl.sum(weight, 1)
        value = tl.load(v + (at + n)[:, None] * D + d[None, :])
        total = tl.dot(weight.to(value.dtype), value, total * shrink[:, None])
        highest = higher
    tl.store(out + m[:, None] * D + d[None, :], (total / norm[:, None]).to(out.dtype.element_ty))


@triton.jit
def layer_norm(x, out, weight, bias, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * stride
    at = tl.arange(0, BLOCK)
    mask = at < n
    value = tl.load(x + row + at, mask=mask, other=0).to(tl.float32)
    mean = tl.sum(value, 0) / n
    value = tl.where(mask, value - mean, 0.0)
    value *= tl.rsqrt(tl.sum(value * value, 0) / n + eps)
    value = value * tl.load(weight + at, mask=mask) + tl.load(bias + at, mask=mask)
    tl.store(out + row + at, value.to(out.dtype.element_ty), mask=mask)


def pointers(types, *more):
    return [f"*{name}" for name in types.split()] + list(more)


# Kernels with the types of their arguments, the sizes, and the lowest target that has what they ask for.
KERNELS = [
    *[(add, pointers(f"{name} " * 3, "i32"), {"BLOCK": 1024}, 75) for name in "fp32 fp64 fp16 bf16 i8 i16 i32 i64".split()],
    *[
        (convert, pointers(f"{one} {other} {one}", "i32"), {"BLOCK": 1024}, least)
        for one, other, least in [
            ("fp16", "fp32", 75), ("bf16", "i8", 80), ("fp32", "bf16", 80), ("fp64", "i64", 75), ("i8", "fp16", 75),
            ("fp8e4nv", "fp8e5", 89), ("fp8e5", "bf16", 89),
        ]
    ],
    (mathematics, pointers("fp32 fp32 fp32", "i32"), {"BLOCK": 512}, 75),
    (integers, pointers("i32 i32 i32", "i32"), {"BLOCK": 512}, 75),
    *[(softmax, pointers(f"{name} {name}", "i32", "i32"), {"BLOCK": 1024}, 75) for name in ["fp32", "fp16"]],
    *[(scan, pointers(f"{name} {name}", "i32", "i32"), {"BLOCK": 256}, 75) for name in ["fp32", "i32"]],
    (histogram, pointers("i32 i32", "i32"), {"BLOCK": 512}, 75),
    *[(atomics, pointers(f"{name} {name} i32", "i32"), {"BLOCK": 256}, 75) for name in ["i32", "fp32", "i64"]],
    (random, pointers("fp32", "i32", "i32"), {"BLOCK": 512}, 75),
    *[
        (matmul, pointers(f"{one} {one} {other}", *["i32"] * 4), {"M": 128, "N": 128, "STEP": 64}, least)
        for one, other, least in [
            ("fp16", "fp16", 75), ("bf16", "fp32", 80), ("fp32", "fp32", 80), ("i8", "i32", 80), ("fp8e4nv", "fp16", 89),
        ]
    ],
    *[(matmul_tma, pointers(f"{name} " * 3, *["i32"] * 3), {"BM": 128, "BN": 128, "BK": 64}, 90) for name in ["fp16", "bf16"]],
    *[(attention, pointers(f"{name} " * 4, "i32", "fp32"), {"M": 64, "N": 64, "D": 64}, 80) for name in ["fp16", "bf16"]],
    (layer_norm, pointers("fp16 fp16 fp32 fp32", "i32", "i32", "fp32"), {"BLOCK": 1024}, 75),
]
