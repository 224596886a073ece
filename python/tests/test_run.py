"""Kernels that NVRTC compiled run on NumPy arrays and on what else has memory."""

import ctypes
import io
import struct
import sys
import threading
from pathlib import Path

import numpy
import ptx_isa
import pytest

KERNELS = Path(__file__).parents[2] / "tests/kernels"
SUITE = (KERNELS / "suite-compute_80.ptx").read_text()
FAILS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry spin(.param .u64 out) {
LOOP: bra LOOP;
}
.visible .entry tell(.param .u8 small, .param .align 8 .b8 pair[16], .param .u64 out) {
    .reg .b64 %rd<4>; .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [pair+8];
    ld.param.u8 %r1, [small];
    st.global.u64 [%rd1], %rd2;
    st.global.u32 [%rd1+8], %r1;
    ret;
}
.visible .entry widths(.param .b32 bits, .param .f64 wide, .param .s16 narrow, .param .u64 out) {
    .reg .b64 %rd<3>; .reg .b32 %r<2>; .reg .b16 %h<2>;
    ld.param.u64 %rd1, [out];
    ld.param.b32 %r1, [bits];
    ld.param.b64 %rd2, [wide];
    ld.param.s16 %h1, [narrow];
    st.global.u64 [%rd1], %rd2;
    st.global.u32 [%rd1+8], %r1;
    st.global.u16 [%rd1+12], %h1;
    ret;
}
"""


@pytest.fixture
def saxpy():
    return ptx_isa.Module(SUITE).kernel("saxpy")


def vectors(count=1000):
    return numpy.arange(count, dtype=numpy.float32), numpy.ones(count, dtype=numpy.float32)


class OnlyDlpack:
    """A tensor as other libraries have them: without the buffer protocol."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


def test_a_kernel_works_in_place(saxpy):
    x, y = vectors()
    expected = x * 2 + y
    report = saxpy[4, 256](1000, 2.0, x, y)
    assert (y == expected).all()
    assert report.instructions > 10_000 and report.seconds > 0
    saxpy((4, 1, 1), (256,), (numpy.uint32(1000), numpy.float32(-2), x, y), threads=1)
    assert (y == 1).all()


def test_memory_comes_by_every_protocol(saxpy):
    x, y = vectors(64)
    expected = x * 3 + y
    for wrapped in [OnlyDlpack(y), memoryview(y.copy()), bytearray(y.tobytes()), (ctypes.c_float * 64)(*y)]:
        saxpy[2, 32](64, 3, OnlyDlpack(x), wrapped)
        result = wrapped.array if isinstance(wrapped, OnlyDlpack) else numpy.frombuffer(wrapped, numpy.float32)
        assert (result == expected).all()
    # Elements that NumPy exports by no protocol, as those that other packages add.
    saxpy[2, 32](64, 3, x.view("datetime64[s]"), y.view("datetime64[s]"))
    assert (y == x * 3 + expected).all()


def test_arrays_that_overlap_are_one(saxpy):
    both = numpy.arange(96, dtype=numpy.float32)
    expected = both[:64] + both[32:]
    x = both[:64].copy()
    saxpy[2, 32](64, 1.0, x, both[32:])
    assert (both[32:] == expected).all()
    # `y = y + y`: the same array twice, and then a part of it.
    saxpy[2, 32](64, 1.0, x, x)
    saxpy[1, 32](32, 1.0, x[32:], x)
    assert (x[32:] == 2 * numpy.arange(32, 64)).all()
    # Afterwards none of it is the device's.
    with pytest.raises(ptx_isa.LaunchError, match="no allocation"):
        saxpy[2, 32](64, 1.0, x.ctypes.data, x[:32].copy())


def test_matrices_and_two_dimensions():
    rng = numpy.random.default_rng(1)
    module = ptx_isa.Module(SUITE)
    matrix = rng.standard_normal((40, 24)).astype(numpy.float32)
    turned = numpy.zeros((24, 40), numpy.float32)
    module.kernel("transpose")[(2, 3), (16, 16)](matrix, turned, 24, 40)
    assert (turned == matrix.T).all()


def test_values_are_those_of_the_parameters():
    module = ptx_isa.Module(FAILS)
    out = numpy.zeros(2, numpy.uint64)
    module.kernel("tell")[1, 1](255, numpy.array([1, 2**63], numpy.uint64), out)
    assert out.tolist() == [2**63, 255]
    module.kernel("widths")[1, 1](1.5, 2, numpy.int16(-2), out)
    assert out.tobytes() == numpy.float64(2).tobytes() + numpy.float32(1.5).tobytes() + b"\xfe\xff\0\0"
    module.kernel("widths")[1, 1](-1, numpy.float32(0.5), 65535, out)
    assert out.tobytes() == numpy.float64(0.5).tobytes() + b"\xff\xff\xff\xff\xff\xff\0\0"


def test_arguments_are_explained_against_the_signature(saxpy):
    x, y = vectors()
    frozen = x.copy()
    frozen.setflags(write=False)
    wrong = [
        ((1000, 2.0, x), TypeError, "takes 4 arguments, not 3; missing"),
        ((1000, 2.0, x, y, y), TypeError, "takes 4 arguments, not 5"),
        ((1000.5, 2.0, x, y), TypeError, r"argument 1 .* is 1000.5; the parameter is `.u32`: pass an integer"),
        ((x, 2.0, x, y), TypeError, "argument 1 .* is of the type `ndarray`; .*pass an integer"),
        ((1000, "two", x, y), TypeError, "argument 2 .* is 'two'; the parameter is `.f32`: pass a number"),
        ((1000, 2.0, 2.0, y), TypeError, "argument 3 .*pass an integer or an array"),
        ((1000, 2.0, frozen, y), TypeError, "argument 3 .* read-only: pass a copy"),
        ((1000, 2.0, x[::2], y), TypeError, "argument 3 .* not contiguous"),
        ((1000, 2.0, OnlyDlpack(x.reshape(40, 25)[:, ::5]), y), TypeError, "argument 3 .* not contiguous"),
        ((1000, 2.0, OnlyDlpack(x, (2, 0)), y), TypeError, "argument 3 .* memory of the CPU"),
        ((2**32, 2.0, x, y), OverflowError, "argument 1 .* is 4294967296, which `.u32` cannot hold"),
        ((-(2**31) - 1, 2.0, x, y), OverflowError, "cannot hold"),
        ((2**80, 2.0, x, y), OverflowError, "cannot hold"),
    ]
    for arguments, kind, message in wrong:
        with pytest.raises(kind, match=message) as raised:
            saxpy[4, 256](*arguments)
        assert f"the kernel is {saxpy.signature}" in str(raised.value)
    with pytest.raises(TypeError, match="has 3 bytes; the parameter has 16"):
        ptx_isa.Module(FAILS).kernel("tell")[1, 1](1, b"abc", None)
    for shape in [(1,), (1, 2, 3, 4, 5), ("one", 2), ((1, 1, 1, 1), 2)]:
        with pytest.raises((TypeError, ValueError)):
            saxpy[shape]
    assert (y == 1).all()


def test_errors_have_fields(saxpy):
    x, y = vectors()
    with pytest.raises(ptx_isa.LaunchError) as raised:
        saxpy[4, 256](1024, 2.0, x, y)
    error = raised.value
    assert (error.kind, error.kernel, error.block, error.thread) == ("access", "saxpy", (3, 0, 0), (232, 0, 0))
    assert SUITE.splitlines()[error.line - 1].split() == error.statement.split()
    assert error.source[0].endswith("suite.cu") and error.source[1] > 0
    assert error.address - 4 * 1000 in (x.ctypes.data, y.ctypes.data)
    assert error.message in str(error) and "suite.cu" in str(error)
    out = numpy.zeros(1, numpy.int32)
    with pytest.raises(ptx_isa.LaunchError) as raised:
        ptx_isa.Module(FAILS).kernel("spin")(1, 32, [out], limit=10**5)
    assert (raised.value.kind, raised.value.kernel, raised.value.line) == ("limit", "spin", 6)
    with pytest.raises(ptx_isa.LaunchError) as raised:
        saxpy[4, 2048](1000, 2.0, x, y)
    assert raised.value.kind == "shape"
    with pytest.raises(ptx_isa.LaunchError, match="saxpy") as raised:
        ptx_isa.Module(SUITE).kernel("saxpi")
    assert raised.value.kind == "no-kernel"
    with pytest.raises(ptx_isa.LaunchError, match="several kernels"):
        ptx_isa.Module(SUITE).kernel()
    with pytest.raises(ptx_isa.PtxError) as raised:
        ptx_isa.Module(FAILS.replace("bra LOOP", "bra LOOPS")).kernel("tell")
    assert raised.value.diagnostic.line == 6


def test_what_a_kernel_prints_goes_to_the_standard_output_of_python(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    ptx_isa.Module(SUITE).kernel("print")[1, 32](2)
    assert sys.stdout.getvalue() == "0 0.00 ok\n1 0.50 ok\n"


def test_other_threads_run_during_a_launch():
    spin = ptx_isa.Module(FAILS).kernel("spin")
    counted, done = 0, threading.Event()

    def launch():
        with pytest.raises(ptx_isa.LaunchError):
            spin(1, 32, [None], limit=10**8)
        done.set()

    thread = threading.Thread(target=launch)
    thread.start()
    while not done.wait(0.001):
        counted += 1
    thread.join()
    assert counted > 5


def test_launches_from_several_threads_share_arrays(saxpy):
    x, y = vectors()
    threads = [threading.Thread(target=lambda: saxpy[4, 256](1000, 1.0, x, y)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (y == 8 * x + 1).all()


TENSOR = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry box(.param .align 64 .b8 map[128], .param .u64 y, .param .u32 waits) {
    .reg .b64 %rd<6>; .reg .b32 %r<6>; .reg .pred %p<3>;
    .shared .align 128 .b8 data[64]; .shared .align 8 .b64 bar;
    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [y]; ld.param.u32 %r5, [waits];
    mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 %rd3, [bar], 64;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [data], [%rd1, {0, 2}], [bar];
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra DONE;
AGAIN: mbarrier.try_wait.shared.b64 %p1, [bar], %rd3; @!%p1 bra AGAIN;
DONE: ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [data+48]; st.global.v4.b32 [%rd2], {%r1, %r2, %r3, %r4};
    ret;
}
"""


def aligned(shape, dtype):
    """An array of zeros at a multiple of 32 bytes, which some tensors require and NumPy does not promise."""
    size = numpy.prod(shape) * numpy.dtype(dtype).itemsize
    memory = numpy.zeros(size + 32, dtype=numpy.uint8)
    start = -memory.ctypes.data % 32
    return memory[start : start + size].view(dtype).reshape(shape)


def test_tensor_maps():
    kernel = ptx_isa.Module(TENSOR).kernel()
    x, y = numpy.arange(32, dtype=numpy.uint32).reshape(8, 4), numpy.zeros(4, dtype=numpy.uint32)
    map = ptx_isa.TensorMap(x, (4, 4))
    kernel[1, 1](map, y, 0)
    assert y.tolist() == [20, 21, 22, 23]
    for waits, expected in [(0, [0, 0, 0, 0]), (1, [20, 21, 22, 23])]:
        kernel(1, 1, (map, y, waits), delay=5)
        assert y.tolist() == expected
    with pytest.raises(ptx_isa.LaunchError) as caught:
        kernel[1, 1](bytes(128), y, 1)
    assert caught.value.kind == "tensor-map"
    with pytest.raises(ValueError, match="multiple of 16 bytes"):
        ptx_isa.TensorMap(x, (4, 3))
    with pytest.raises(ValueError, match="not adjacent"):
        ptx_isa.TensorMap(x.T, (4, 4))
    with pytest.raises(TypeError, match="elements of the type"):
        ptx_isa.TensorMap(x.astype(numpy.int16), (4, 8))


def test_tensor_maps_of_images_and_packed_bits():
    text = TENSOR.replace("2d.shared::cluster.global.tile.", "4d.shared::cluster.global.im2col.")
    text = text.replace("[%rd1, {0, 2}], [bar]", "[%rd1, {0, 0, 0, 1}], [bar], {2, 1}")
    x = numpy.arange(2 * 5 * 6 * 4, dtype=numpy.uint32).reshape(2, 5, 6, 4)
    y = numpy.zeros(4, dtype=numpy.uint32)
    # Four pixels in three columns and two rows, of which the last one is the first of the second row.
    map = ptx_isa.TensorMap.im2col(x, (0, 0), (-3, -3), 4, 4)
    ptx_isa.Module(text).kernel()[1, 1](map, y, 1)
    assert y.tolist() == x[1, 1 + 1, 0 + 2].tolist()
    with pytest.raises(ValueError, match="2 coordinates of the lower corner, not 1"):
        ptx_isa.TensorMap.im2col(x, (0,), (-3, -3), 4, 4)
    # A view of some columns has the strides of the array.
    wide = numpy.arange(64, dtype=numpy.uint32).reshape(8, 8)
    ptx_isa.Module(TENSOR).kernel()[1, 1](ptx_isa.TensorMap(wide[:, :4], (4, 4)), y, 1)
    assert y.tolist() == wide[5, :4].tolist()
    packed = aligned((4, 64), numpy.uint8)
    assert len(ptx_isa.TensorMap(packed, (4, 128), element="b4x16_p64").encode()) == 128
    with pytest.raises(ValueError, match="in an array of adjacent bytes"):
        ptx_isa.TensorMap(x, (1, 1, 4, 128), element="b4x16")


@pytest.mark.parametrize("slice", [16, 32])
def test_tensor_maps_of_interleaved_channels(slice):
    # A copy of four pixels, of which the kernel stores the last 16 bytes.
    text = TENSOR.replace("data[64]", f"data[{4 * slice}]").replace("[bar], 64", f"[bar], {4 * slice}")
    text = text.replace("data+48", f"data+{4 * slice - 16}").replace("tensor.2d", "tensor.4d")
    x = aligned((2, 3, 5, 4, slice // 4), numpy.uint32)
    x[...] = numpy.arange(x.size).reshape(x.shape)
    y = numpy.zeros(4, dtype=numpy.uint32)
    map = ptx_isa.TensorMap(x, (1, 1, 1, 4), interleave=slice)
    ptx_isa.Module(text.replace("{0, 2}", "{0, 3, 2, 1}")).kernel()[1, 1](map, y, 1)
    assert y.tolist() == x[1, 2, 3, 3, -4:].tolist()
    # Four pixels of a bounding box with three columns: the last one is the first of the second row.
    text = text.replace(".tile.", ".im2col.").replace("{0, 2}], [bar]", "{0, 0, 1, 1}], [bar], {1, 2}")
    map = ptx_isa.TensorMap.im2col(x, (0, 0), (-3, -1), 4, 4, interleave=slice)
    ptx_isa.Module(text).kernel()[1, 1](map, y, 1)
    assert y.tolist() == x[1, 1, 1 + 2, 0 + 1, -4:].tolist()


def test_arrays_that_are_not_interleaved():
    x = numpy.zeros((2, 3, 5, 4, 8), dtype=numpy.float16)
    assert len(ptx_isa.TensorMap(x, (1, 1, 1, 8), interleave=16).encode()) == 128
    with pytest.raises(ValueError, match="last dimension has 16 bytes; with interleave=32 it must be one slice of 32 bytes"):
        ptx_isa.TensorMap(x, (1, 1, 1, 8), interleave=32)
    with pytest.raises(ValueError, match="second-to-last dimension are not adjacent"):
        ptx_isa.TensorMap(x[:, :, :, ::2], (1, 1, 1, 8), interleave=16)
    with pytest.raises(ValueError, match="3 to 5 dimensions, not 2"):
        ptx_isa.TensorMap(x[0, 0], (1, 8), interleave=16)
    with pytest.raises(ValueError, match="have 0, 16 or 32 bytes"):
        ptx_isa.TensorMap(x, (1, 1, 1, 8), interleave=8)


POINTERS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .align 8 .b8 pointers[16]) {
    .reg .b64 %rd<3>; .reg .b32 %r<2>;
    ld.param.u64 %rd1, [pointers]; ld.param.u64 %rd2, [pointers+8];
    ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1;
    ret;
}
"""


@pytest.mark.parametrize(
    "array, message",
    [(numpy.array([None, None]), "holds Python objects"), (numpy.ones(4, dtype=">f4"), "has the other byte order")],
)
def test_arrays_that_a_kernel_cannot_have(array, message):
    kernel = ptx_isa.Module(".version 8.0 .target sm_80 .entry k(.param .u64 x) { ret; }").kernel()
    with pytest.raises(TypeError, match=message):
        kernel(1, 1, (array,))


def test_arrays_behind_pointers_in_structs():
    kernel = ptx_isa.Module(POINTERS).kernel()
    x, y = numpy.array([7], dtype=numpy.uint32), numpy.array([0], dtype=numpy.uint32)
    pointers = struct.pack("QQ", x.ctypes.data, y.ctypes.data)
    with pytest.raises(ptx_isa.LaunchError, match="no allocation"):
        kernel(1, 1, (pointers,))
    kernel(1, 1, (pointers,), reaches=[x, y])
    assert y.tolist() == [7]
    with pytest.raises(TypeError, match="what the kernel reaches is no array, but 7"):
        kernel(1, 1, (pointers,), reaches=[7])


def test_the_bytes_of_a_tensor_map():
    x = numpy.arange(32, dtype=numpy.uint32).reshape(8, 4)
    map = ptx_isa.TensorMap(x, (4, 4))
    encoded = map.encode()
    assert len(encoded) == 128 and encoded == map.encode() != ptx_isa.TensorMap(x.copy(), (4, 4)).encode()
    y = numpy.zeros(4, dtype=numpy.uint32)
    kernel = ptx_isa.Module(TENSOR).kernel()
    # The bytes alone lend no array to the launch.
    with pytest.raises(ptx_isa.LaunchError):
        kernel[1, 1](encoded, y, 1)
    kernel[1, 1](map, y, 1)
    assert y.tolist() == [20, 21, 22, 23]
    with pytest.raises(TypeError, match="a tensor map is of an array with the buffer protocol, not 7"):
        ptx_isa.TensorMap(7, (4, 4))


CALLER = """
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .u32 r) triple(.param .u32 x);
.visible .entry caller(.param .u64 y) {
    .reg .b64 %rd; .reg .b32 %r<3>; .param .u32 a; .param .u32 b;
    ld.param.u64 %rd, [y]; ld.global.u32 %r1, [%rd]; st.param.u32 [a], %r1;
    call (b), triple, (a);
    ld.param.u32 %r2, [b]; st.global.u32 [%rd], %r2;
    ret;
}
"""
CALLEE = """
.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .u32 r) triple(.param .u32 x) {
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [x]; mul.lo.u32 %r2, %r1, 3; st.param.u32 [r], %r2;
    ret;
}
"""


def test_modules_are_linked():
    linked = ptx_isa.link(ptx_isa.Module(CALLER), CALLEE)
    y = numpy.array([14], dtype=numpy.uint32)
    linked.kernel()[1, 1](y)
    assert (linked.kernels, linked.kernel("caller").name, y[0]) == (("caller",), "caller", 42)
    with pytest.raises(ptx_isa.LaunchError, match="`triple` is defined in module 1 and again in module 2"):
        ptx_isa.link(CALLEE, CALLEE)
    with pytest.raises(ptx_isa.PtxError, match="u33") as caught:
        ptx_isa.link(CALLER, CALLEE.replace("mul.lo.u32", "mul.lo.u33"))
    assert caught.value.diagnostic.line == 7
    with pytest.raises(ptx_isa.LaunchError, match="there is no module"):
        ptx_isa.link()


def test_numbers_of_numpy():
    out = numpy.zeros(16, dtype=numpy.uint8)
    tell = ptx_isa.Module(FAILS).kernel("tell")
    tell(1, 1, [numpy.True_, bytes(16), out])
    assert out[8] == 1
    tell(1, 1, [numpy.uint8(7), bytes(16), numpy.uint64(out.ctypes.data)], reaches=[out])
    assert out[8] == 7


def test_sizes_of_stack_and_heap():
    out = numpy.zeros(32, dtype=numpy.int32)
    recursion = ptx_isa.Module(SUITE).kernel("recursion")
    recursion(1, 32, [out], stack=1 << 12, heap=1 << 10)
    assert list(out[10:12]) == [55, 89]
    with pytest.raises(ptx_isa.LaunchError, match="stack overflow: .* the stack of a thread has 128"):
        recursion(1, 32, [out], stack=128)


WIDE = """
.version 8.8
.target sm_100
.address_size 64
.visible .entry reverse(.param .u64 x, .param .u64 from) {
    .reg .b64 %rd<3>; .reg .b32 %r<8>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [from];
    add.u64 %rd2, %rd1, %rd2;
    ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%rd2];
    st.global.v8.b32 [%rd1], {%r7, %r6, %r5, %r4, %r3, %r2, %r1, %r0};
    ret;
}
"""


@pytest.mark.parametrize("offset", range(0, 32, 16))
def test_vectors_of_32_bytes_are_aligned_where_their_offset_in_the_array_is(offset):
    whole = numpy.arange(64, dtype=numpy.uint32)
    start = (offset - whole.ctypes.data) % 32 // 4
    array = whole[start : start + 32]
    reverse = ptx_isa.Module(WIDE).kernel("reverse")
    reverse(1, 1, (array, 32))
    assert list(array[:8]) == [start + index for index in range(15, 7, -1)]
    with pytest.raises(ptx_isa.LaunchError, match="is not a multiple of 32"):
        reverse(1, 1, (array, 8))


RACY = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry swaps(.param .u64 y) {
    .reg .b32 %r<6>; .reg .b64 %rd<4>; .shared .align 4 .b8 s[256];
    mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1;
    BARRIER
    xor.b32 %r4, %r1, 32; mad.lo.u32 %r4, %r4, 4, %r2; ld.shared.u32 %r5, [%r4];
    ld.param.u64 %rd1, [y]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r5;
    ret;
}
"""


def test_races():
    y = numpy.zeros(64, dtype=numpy.uint32)
    ordered = ptx_isa.Module(RACY.replace("BARRIER", "bar.sync 0;")).kernel()
    ordered(1, 64, (y,), races=True)
    assert y.tolist() == [index ^ 32 for index in range(64)]
    racy = ptx_isa.Module(RACY.replace("BARRIER", "")).kernel()
    racy(1, 64, (y,))
    with pytest.raises(ptx_isa.LaunchError, match="data race") as caught:
        racy(1, 64, (y,), races=True)
    error = caught.value
    assert error.kind == "race" and error.other.kind == "race" and error.other.other is None
    assert {error.statement, error.other.statement} == {"st.shared.u32 [%r3], %r1;", "ld.shared.u32 %r5, [%r4];"}
