"""Repeats the tensor copies of `tensors.txt` on a GPU, and writes what they do there.

    python tensors.py             # on a machine with a GPU of sm_90 or newer: writes `tensors.txt` anew from its own lines
    python tensors.py kernels     # writes `tensors.ptx`, the kernels that this script and `tests/run/tensor_maps.rs` launch

A line is a copy, or only a tensor map, then `->` and the outcome:

- `refused`, `made`: the driver does not make, or makes the tensor map;
- `illegal`, `misaligned`: the copy fails with this error;
- else the bytes that complete on the mbarrier (0 for stores), and for each 16 bytes of the destination the 16 bytes of the source
  that are there, counted from the tensor's or the buffer's begin: `3..5` is short for `3 4 5`; `-` is zero, `n` NaN, `.` untouched.

It needs NumPy and the driver, nothing else.
"""
import ctypes as C
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED, GLOBAL, BASE = 16384, 1 << 17, 1 << 14
# Types by the numbers of `tensormap.replace`: name, and number of the driver.
ELEMENTS = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
EMPTY = 0xEEEEEEEE


def kernel(rank, mode, operation):
    coordinates = ", ".join(f"%c{axis}" for axis in range(rank))
    offsets = ", {" + ", ".join(f"%h{axis}" for axis in range(rank - 2)) + "}" if mode == "im2col" else ""
    if operation == "load":
        copy = (
            f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes "
            f"[%to], [%map, {{{coordinates}}}], [bar]{offsets};"
        )
    else:
        mode_of = "im2col_no_offs" if mode == "im2col" else mode
        name, change = ("cp.reduce.async.bulk.tensor", ".add") if operation == "reduce" else ("cp.async.bulk.tensor", "")
        copy = (
            f"{name}.{rank}d.global.shared::cta{change}.{mode_of}.bulk_group [%map, {{{coordinates}}}], [%to];\n"
            "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"
        )
    loads = "".join(f"ld.global.b32 %c{at}, [%places+{4 * at}];\n" for at in range(8))
    halves = "".join(f"cvt.u16.u32 %h{at}, %c{5 + at};\n" for at in range(3))
    return f"""
.visible .entry {operation}_{mode}_{rank}(.param .align 64 .b8 map[128], .param .u64 places, .param .u64 before, .param .u64 after,
    .param .u32 start, .param .u32 bytes)
{{
.reg .b64 %map, %places, %before, %after, %a, %t<3>, %token; .reg .b32 %to, %c<8>, %i, %v, %bytes, %x; .reg .b16 %h<4>; .reg .pred %p, %q;
.shared .align 1024 .b8 data[{SHARED}];
.shared .align 8 .b64 bar;
mov.b64 %map, map; cvta.param.u64 %map, %map;
ld.param.u64 %places, [places]; ld.param.u64 %before, [before]; ld.param.u64 %after, [after];
ld.param.u32 %to, [start]; ld.param.u32 %bytes, [bytes];
mov.u32 %x, data; add.u32 %to, %to, %x;
mov.u32 %i, 0;
FILL:
cvt.u64.u32 %a, %i; add.u64 %a, %a, %before; ld.global.b32 %v, [%a]; mov.u32 %x, data; add.u32 %x, %x, %i; st.shared.b32 [%x], %v;
add.u32 %i, %i, 4; setp.lt.u32 %p, %i, {SHARED}; @%p bra FILL;
{loads}{halves}mbarrier.init.shared.b64 [bar], 1;
fence.mbarrier_init.release.cluster; fence.proxy.async;
mbarrier.arrive.expect_tx.shared.b64 %token, [bar], %bytes;
{copy}
mov.u64 %t0, %clock64;
WAIT:
mov.u64 %t1, %clock64; sub.u64 %t2, %t1, %t0; setp.lt.u64 %p, %t2, 20000; @%p bra WAIT;
mov.u32 %i, 0;
TEST:
mbarrier.test_wait.shared.b64 %q, [bar], %token; add.u32 %i, %i, 1; setp.lt.and.u32 %p, %i, 50, !%q; @%p bra TEST;
selp.b32 %v, 1, 0, %q; st.global.b32 [%after+{SHARED}], %v;
mov.u32 %i, 0;
TAKE:
mov.u32 %x, data; add.u32 %x, %x, %i; ld.shared.b32 %v, [%x]; cvt.u64.u32 %a, %i; add.u64 %a, %a, %after; st.global.b32 [%a], %v;
add.u32 %i, %i, 4; setp.lt.u32 %p, %i, {SHARED}; @%p bra TAKE;
ret;
}}
"""


def kernels():
    text = "// Written by tensors.py.\n.version 8.0\n.target sm_90\n.address_size 64\n"
    for operation in ("load", "store", "reduce"):
        for mode, ranks in (("tile", range(1, 6)), ("im2col", range(3, 6))):
            text += "".join(kernel(rank, mode, operation) for rank in ranks)
    return text


def fields(line):
    """The operation of a line, and its parameters: lists of numbers, or the type of elements."""
    operation, *rest = line.split("->")[0].split()
    found = dict(word.split("=") for word in rest)
    return operation, {
        name: value if name == "element" else [int(number) for number in value.split(",")] for name, value in found.items()
    }


def encoded(driver, given, address):
    """The status and the 128 bytes of a tensor map."""
    space = C.create_string_buffer(256)
    at = (C.addressof(space) + 127) // 128 * 128
    one = lambda name, default=0: given.get(name, [default])[0]
    longs = lambda name: (C.c_uint64 * 5)(*given.get(name, []))
    words = lambda name: (C.c_uint32 * 5)(*given.get(name, []))
    head = [C.c_void_p(at), ELEMENTS[given["element"]], len(given["dims"]), C.c_void_p(address), longs("dims"), longs("strides")]
    steps = (C.c_uint32 * 5)(*given.get("steps", [1] * 5))
    tail = [steps, *(C.c_int(number) for number in (one("interleave"), one("swizzle"), 0, one("fill")))]
    if "box" in given:
        status = driver.cuTensorMapEncodeTiled(*head, words("box"), *tail)
    else:
        corners = [(C.c_int * 5)(*given[name]) for name in ("lower", "upper")]
        status = driver.cuTensorMapEncodeIm2col(*head, *corners, one("channels"), one("pixels"), *tail)
    return status, C.string_at(at, 128)


def check(status, what):
    if status:
        raise OSError(status, what)


class Card:
    def __init__(self):
        self.driver = C.CDLL("libcuda.so.1")
        device, context, module = C.c_int(), C.c_void_p(), C.c_void_p()
        check(self.driver.cuInit(0), "cuInit")
        check(self.driver.cuDeviceGet(C.byref(device), 0), "cuDeviceGet")
        check(self.driver.cuDevicePrimaryCtxRetain(C.byref(context), device), "context")
        check(self.driver.cuCtxSetCurrent(context), "context")
        check(self.driver.cuModuleLoadData(C.byref(module), kernels().encode() + b"\0"), "module")
        self.module = module
        self.tensor, self.before, self.after, self.places = (self.allocate(size) for size in (GLOBAL, SHARED, SHARED + 64, 64))
        name, version = C.create_string_buffer(100), C.c_int()
        self.driver.cuDeviceGetName(name, 100, device)
        self.driver.cuDriverGetVersion(C.byref(version))
        self.name = f"{name.value.decode()}, driver for CUDA {version.value // 1000}.{version.value % 1000 // 10}"

    def allocate(self, size):
        address = C.c_uint64()
        check(self.driver.cuMemAlloc_v2(C.byref(address), C.c_size_t(size)), "memory")
        return address.value

    def write(self, address, array):
        check(self.driver.cuMemcpyHtoD_v2(C.c_uint64(address), array.ctypes.data_as(C.c_void_p), C.c_size_t(array.nbytes)), "write")

    def read(self, address, words):
        array = np.zeros(words, np.uint32)
        check(self.driver.cuMemcpyDtoH_v2(array.ctypes.data_as(C.c_void_p), C.c_uint64(address), C.c_size_t(array.nbytes)), "read")
        return array

    def run(self, operation, given, bytes):
        """The words of the destination, and whether `bytes` completed the phase of the barrier."""
        load = operation == "load"
        status, map = encoded(self.driver, given, self.tensor + BASE)
        if status or operation == "map":
            return "refused" if status else "made"
        numbered = lambda size, base: (np.arange(size // 4, dtype=np.int64) - base // 4 + (1 << 20)).astype(np.uint32)
        self.write(self.tensor, numbered(GLOBAL, BASE) if load else np.full(GLOBAL // 4, EMPTY if operation == "store" else 0, np.uint32))
        self.write(self.before, np.full(SHARED // 4, EMPTY, np.uint32) if load else numbered(SHARED, 0))
        places = np.zeros(16, np.int32)
        places[: len(given["at"])] = given["at"]
        places[5 : 5 + len(given.get("offsets", []))] = given.get("offsets", [])
        self.write(self.places, places)
        function = C.c_void_p()
        mode = "tile" if "box" in given else "im2col"
        check(self.driver.cuModuleGetFunction(C.byref(function), self.module, f"{operation}_{mode}_{len(given['dims'])}".encode()), "kernel")
        space = C.create_string_buffer(256)
        at = (C.addressof(space) + 127) // 128 * 128
        C.memmove(at, map, 128)
        longs = [C.c_uint64(address) for address in (self.places, self.before, self.after)]
        words = [C.c_uint32(given.get("start", [0])[0]), C.c_uint32(bytes)]
        arguments = (C.c_void_p * 6)(at, *(C.addressof(word) for word in longs + words))
        check(self.driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None), "launch")
        status = self.driver.cuCtxSynchronize()
        if status:
            return {715: "illegal", 716: "misaligned"}.get(status, f"error-{status}")
        done = bool(self.read(self.after + SHARED, 1)[0])
        return (self.read(self.after, SHARED // 4) if load else self.read(self.tensor, GLOBAL // 4)), done


def listed(words, empty):
    """The chunks of the destination in short."""
    out = []
    for chunk in words.reshape(-1, 4).astype(np.int64):
        first = int(chunk[0])
        number = first - (1 << 20)
        if (chunk == empty).all():
            out.append(".")
        elif (chunk == 0).all():
            out.append("-")
        elif (chunk == 0x7FF77FF7).all():
            out.append("n")
        elif (chunk == first + np.arange(4)).all() and number % 4 == 0:
            out.append(number // 4)
        else:
            out.append("?")
    while out and out[-1] == ".":
        out.pop()
    text, at = [], 0
    while at < len(out):
        end = at + 1
        if isinstance(out[at], int):
            while end < len(out) and out[end] == out[at] + end - at:
                end += 1
            text.append(str(out[at]) if end == at + 1 else f"{out[at]}..{out[end - 1]}")
        else:
            while end < len(out) and out[end] == out[at]:
                end += 1
            text.append(out[at] if end == at + 1 else f"{out[at]}*{end - at}")
        at = end
    return " ".join(text)


def outcome(card, line):
    operation, given = fields(line)
    found = card.run(operation, given, 1 << 19)
    if isinstance(found, str):
        return found
    words, _ = found
    if operation != "load":
        return "0 " + listed(words[BASE // 4 :], EMPTY if operation == "store" else 0)
    moved = 16 * int((words.reshape(-1, 4) != EMPTY).any(axis=1).sum())
    done = [card.run(operation, given, moved + more)[1] for more in (0, 16)]
    return f"{moved if done == [True, False] else '?'} {listed(words, EMPTY)}"


def main():
    if sys.argv[1:] == ["kernels"]:
        with open(os.path.join(HERE, "tensors.ptx"), "w") as out:
            out.write(kernels())
        return
    lines = [line.split("->")[0].strip() for line in open(os.path.join(HERE, "tensors.txt")) if line[0] != "#"]
    if sys.argv[1:2] == ["from"]:
        card = Card()
        print("#", card.name)
        for number, line in enumerate(lines[int(sys.argv[2]) :], int(sys.argv[2])):
            print(number, outcome(card, line), flush=True)
        return
    # After a copy that fails nothing more runs in a process.
    results, name = {}, ""
    while len(results) < len(lines):
        command = [sys.executable, __file__, "from", str(len(results))]
        for line in subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines():
            number, _, found = line.partition(" ")
            if number == "#":
                name = found
            else:
                results[int(number)] = found
                if found in ("illegal", "misaligned") or found.startswith("error"):
                    break
    head = f"# Tensor copies on a card, and tensor maps that its driver makes; `tensors.py` explains the lines and repeats them.\n# {name}.\n"
    text = head + "".join(f"{line} -> {results[number]}".rstrip() + "\n" for number, line in enumerate(lines))
    with open(os.environ.get("TENSORS", os.path.join(HERE, "tensors.txt")), "w") as out:
        out.write(text)


if __name__ == "__main__":
    main()
