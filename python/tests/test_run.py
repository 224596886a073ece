"""Kernels on the CPU: launches over arrays of every kind, and what ends one."""

import pathlib
from array import array

import pytest

import ptx_isa
from ptx_isa import LaunchError, Module

KERNELS = pathlib.Path(__file__).parents[2] / "tests" / "kernels"
SUITE = (KERNELS / "suite-compute_80.ptx").read_text()

SCALE = """
.version 8.0
.target sm_80
.global .u32 calls;
.visible .entry scale(.param .u64 data, .param .u32 count, .param .f32 by)
{
    .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd<3>; .reg .f32 %f<3>;
    ld.param.u64 %rd1, [data]; ld.param.u32 %r4, [count]; ld.param.f32 %f2, [by];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    setp.ge.u32 %p, %r1, %r4;
    @%p ret;
    atom.global.add.u32 %r2, [calls], 1;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    ld.global.f32 %f1, [%rd2];
    mul.f32 %f1, %f1, %f2;
    st.global.f32 [%rd2], %f1;
    ret;
}
.visible .entry total(.param .u64 out)
{
    .reg .b32 %r; .reg .b64 %rd;
    ld.param.u64 %rd, [out];
    ld.global.u32 %r, [calls];
    st.global.u32 [%rd], %r;
    ret;
}
.visible .entry pair(.param .align 4 .b8 p[8], .param .u64 out)
{
    .reg .b32 %r<3>; .reg .b64 %rd;
    ld.param.u64 %rd, [out];
    ld.param.u32 %r1, [p];
    ld.param.u32 %r2, [p+4];
    sub.u32 %r1, %r1, %r2;
    st.global.u32 [%rd], %r1;
    ret;
}
"""


def test_a_compilers_kernel_over_numpy():
    numpy = pytest.importorskip("numpy")
    kernel = Module(SUITE).kernel("saxpy")
    x, y = numpy.arange(1000, dtype=numpy.float32), numpy.ones(1000, numpy.float32)
    report = kernel[4, 256](1000, 2.0, x, y)
    assert (y == 2 * numpy.arange(1000) + 1).all() and (x == numpy.arange(1000)).all()
    assert report.instructions > 1000 and report.seconds > 0
    # NumPy's scalars are numbers, and its arrays may have any shape.
    square = numpy.ones((10, 100), numpy.float32)
    kernel[(4,), (256, 1, 1), 0](numpy.int32(1000), numpy.float32(0.5), x, square)
    assert (square.ravel() == numpy.arange(1000) / 2 + 1).all()
    with pytest.raises(ValueError, match="contiguous"):
        kernel[4, 256](500, 2.0, x[::2], y)


def test_buffers_and_what_dlpack_gives():
    scale = Module(SCALE).kernel("scale")
    x = array("f", range(40))
    scale[2, 32](x, 40, 3.0)
    assert list(x) == [3.0 * i for i in range(40)]
    raw = bytearray(array("f", [1.5, 2.5]).tobytes())
    scale[1, 32](memoryview(raw), 2, 2.0)
    assert list(array("f", bytes(raw))) == [3.0, 5.0]
    # What must not change is not changed.
    fixed = array("f", [1.0]).tobytes()
    scale[1, 1](fixed, 1, 2.0)
    assert fixed == array("f", [1.0]).tobytes()

    numpy = pytest.importorskip("numpy")

    class Tensor:
        """An array that has nothing but DLPack."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    ones = numpy.ones(5, numpy.float32)
    scale[1, 32](Tensor(ones), 5, 7.0)
    assert (ones == 7).all()


def test_a_modules_variables_keep_their_values():
    module = Module(SCALE)
    x, out = array("f", [0.0] * 10), array("I", [0])
    module.kernel("scale")[1, 32](x, 10, 1.0)
    module.kernel("scale")[1, 32](x, 7, 1.0)
    module.kernel("total")[1, 1](out)
    assert out[0] == 17


def test_structures_by_value():
    out = array("i", [0])
    Module(SCALE).kernel("pair")[1, 1](array("i", [10, 13]), out)
    assert out[0] == -3


def test_what_is_wrong_has_its_place():
    scale = Module(SCALE).kernel("scale")
    with pytest.raises(LaunchError) as caught:
        scale[1, 32](array("f", [1.0, 2.0]), 3, 2.0)
    error = caught.value
    assert (error.kind, error.kernel, error.thread, error.block) == ("access", "scale", (2, 0, 0), (0, 0, 0))
    assert error.statement == "ld.global.f32 %f1, [%rd2];" and SCALE.splitlines()[error.line - 1].strip() == error.statement
    assert error.address is not None and error.source is None
    with pytest.raises(LaunchError, match="no kernel `scales`") as caught:
        Module(SCALE).kernel("scales")
    assert caught.value.kind == "no-kernel"
    with pytest.raises(LaunchError, match="several kernels: `scale`, `total`, `pair`"):
        Module(SCALE).kernel()
    with pytest.raises(LaunchError) as caught:
        Module(".version 8.0\n.target sm_80\n.entry k() { mov.b33 %r1, 0; }").kernel()
    assert caught.value.kind == "module"
    with pytest.raises(LaunchError) as caught:
        Module(SCALE).kernel("scale")[1, 32](array("f", [1.0] * 32), 32, 2.0, limit=3)
    assert caught.value.kind == "limit"


def test_arguments_are_explained():
    scale = Module(SCALE).kernel("scale")
    assert scale.signature == "scale(.u64 data, .u32 count, .f32 by)" and scale.name == "scale"
    x = array("f", [1.0])
    with pytest.raises(TypeError, match=r"3 parameters, here are 2 arguments: scale\(.u64 data, .u32 count, .f32 by\)"):
        scale[1, 1](x, 1)
    with pytest.raises(TypeError, match=r"`.u32 count` takes an integer of 32 bits"):
        scale[1, 1](x, 1.5, 2.0)
    with pytest.raises(TypeError, match=r"`.f32 by` takes a number"):
        scale[1, 1](x, 1, x)
    with pytest.raises(TypeError, match=r"`.u64 data` takes an array"):
        scale[1, 1]("x", 1, 2.0)
    with pytest.raises(ValueError, match="does not fit"):
        scale[1, 1](x, 1 << 32, 2.0)
    with pytest.raises(TypeError, match="a launch is"):
        scale[1]
    with pytest.raises(TypeError, match="three"):
        scale[1, (1, 2, 3, 4)]


def test_matrix_products():
    numpy = pytest.importorskip("numpy")
    kernel = Module((KERNELS / "triton-product-fp16-80.ptx").read_text()).kernel()
    generator = numpy.random.default_rng(1)
    a, b = (generator.standard_normal((64, 64)).astype(numpy.float16) for _ in "ab")
    c = numpy.zeros((64, 64), numpy.float32)
    kernel[(2, 2), 128, 32768](a, b, c, 64, 64, 64, 0, 0)
    assert abs(c - a.astype(float) @ b.astype(float)).max() < 1e-3
