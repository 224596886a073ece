"""Renders the kernels of `tests/run/tinygrad.rs` with tinygrad's PTX renderer, which needs no GPU.

    python -m venv venv && venv/bin/pip install tinygrad==0.10.3 numpy
    venv/bin/python tinygrad_kernels.py

The first line of each file is its launch, `// grid 4 1 1 block 32 1 1`. The parameters are the output and then the inputs, each in
the order in which the case below names them. `tinygrad-provenance.txt` says which version wrote them.
"""
import importlib.metadata
import os

os.environ.update(CPU="1", CACHELEVEL="0")
HERE = os.path.dirname(os.path.abspath(__file__))

from tinygrad import Tensor, dtypes
from tinygrad.engine.realize import get_kernel
from tinygrad.ops import Ops
from tinygrad.renderer.ptx import PTXRenderer


def empty(*shape, dtype=dtypes.float32):
    return Tensor.empty(*shape, dtype=dtype)


def halves(*shape):
    return empty(*shape, dtype=dtypes.half)


def integers(*shape):
    return empty(*shape, dtype=dtypes.int32)


CASES = {
    "relu_add": lambda: empty(1000).relu() + empty(1000),
    "sum_rows": lambda: empty(17, 300).sum(1),
    "max_all": lambda: empty(4096).max(),
    "product": lambda: empty(32, 48) @ empty(48, 24),
    "product_half": lambda: (halves(32, 32) @ halves(32, 64)),
    "convolution": lambda: empty(2, 3, 12, 12).conv2d(empty(4, 3, 3, 3), padding=1),
    "integers": lambda: (integers(500) // 3 + integers(500) % 5) ^ 77,
    "bytes": lambda: (empty(300, dtype=dtypes.int8).cast(dtypes.int32) * 3).cast(dtypes.uint8),
    "exponential": lambda: empty(200).exp() + empty(200).sqrt(),
    "where": lambda: (empty(100) < 0.5).where(integers(100), -1),
    "longs": lambda: integers(64).cast(dtypes.int64) * 5_000_000_000,
    "pool": lambda: empty(3, 16, 16).max_pool2d(2),
    "half_sums": lambda: halves(8, 4096).sum(1),
    "double_sums": lambda: empty(5, 2000, dtype=dtypes.float64).sum(1),
    "running_sums": lambda: integers(6, 50).cumsum(1),
    "variance": lambda: (empty(6, 256) - empty(6, 1)).square().mean(1),
    "any": lambda: (integers(20, 100) == 7).any(1),
    "largest_bytes": lambda: empty(4, 64, dtype=dtypes.uint8).max(1),
    "long_products": lambda: empty(3, 100, dtype=dtypes.int64).prod(1),
    "shorts": lambda: empty(200, dtype=dtypes.int16) * empty(200, dtype=dtypes.int16) + empty(200, dtype=dtypes.uint16).cast(dtypes.int16),
    "shifts": lambda: (empty(200, dtype=dtypes.uint32) << 3) ^ (empty(200, dtype=dtypes.uint32) >> 5),
    "padded": lambda: empty(7, 9).pad(((2, 1), (0, 3))).flip(0) * 2,
    "activations": lambda: empty(200).tanh() + empty(200).sigmoid(),
    "waves": lambda: empty(200).sin() + empty(200).log2(),
    "product_mixed": lambda: halves(64, 64).matmul(halves(64, 32), dtype=dtypes.float32),
}


def main():
    renderer = PTXRenderer("sm_80", device="CUDA")
    for name, case in CASES.items():
        kernels = [item for item in case().schedule() if item.ast.op is Ops.SINK]
        assert len(kernels) == 1, (name, len(kernels))
        program = get_kernel(renderer, kernels[0].ast).to_program()
        text = program.src.replace("TARGET", "sm_80").replace("VERSION", "7.5")
        grid, block = program.global_size or [1, 1, 1], program.local_size or [1, 1, 1]
        launch = f"// grid {' '.join(map(str, grid))} block {' '.join(map(str, block))}\n"
        with open(os.path.join(HERE, f"tinygrad-{name}.ptx"), "w") as out:
            out.write(launch + text.strip() + "\n")
        print(name, launch.strip(), len(kernels[0].bufs))
    with open(os.path.join(HERE, "tinygrad-provenance.txt"), "w") as out:
        out.write(f"tinygrad-*.ptx: tinygrad_kernels.py by tinygrad {importlib.metadata.version('tinygrad')}\n")


main()
