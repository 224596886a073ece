import json

import pytest
from conftest import REAL
from ptx_isa import Module

TEXT = """\
.version 7.8
.target sm_90
.address_size 64
.global .u32 table[4];
.entry old(.param .u64 out)
{
    .shared .align 16 .b8 tile[64];
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd;
    @%p ld.shared.v2.u32 {%r1, %r2}, [tile+8];
    mov.u32 %r3, tile;
    atom.acquire.gpu.global.add.u32 %r4, [%rd], %r1;
    add.cc.u32 %r1, %r2, %r3;
    bar.sync 0;
    bra DONE;
DONE:
    ret;
}
.entry new()
{
    .reg .b32 %r;
    mov.u32 %r, %clusterid.x;
    setp.lo.f32 %q, %r, %r;
    ret;
}
"""


def test_statements_have_effects():
    old, new = Module(TEXT).functions
    load, move, atomic, add, barrier, branch, leave = [it.effects for it in old.statements]
    # Variables are not registers.
    assert (load.reads, load.writes, load.flow, load.lacks) == (("%p",), ("%r1", "%r2"), "next", None)
    assert (move.reads, move.writes, move.memory) == ((), ("%r3",), ())
    [access] = load.memory
    assert (access.space, access.bytes, access.read, access.written, access.operand) == ("shared", 8, True, False, 1)
    [access] = atomic.memory
    assert (access.read, access.written, access.order, access.scope) == (True, True, "acquire", "gpu")
    assert atomic.reads == ("%rd", "%r1")
    assert add.writes == ("%r1", "CC.CF")
    assert barrier.synchronization == ("wait",)
    assert (branch.flow, leave.flow) == ("branch", "return")
    # A special register is none that a thread writes; what has an error has no effects.
    assert new.statements[0].effects.reads == ()
    assert new.statements[1].effects is None


def test_floors_are_those_of_each_function_and_of_the_module():
    old, new, module = Module(TEXT).floors
    assert (old.function, old.ptx, old.target) == ("old", "6.0", "sm_70")
    assert (new.function, new.ptx, new.target) == ("new", "7.8", "sm_90")
    assert (module.function, module.ptx, module.target) == (None, "7.8", "sm_90")
    [version, target] = new.reasons
    assert (version.needs, target.needs, target.line) == ("PTX 7.8", "sm_90", 23)
    assert "%clusterid" in TEXT[target.span]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_floors_are_those_of_the_command_line(command_line, path):
    theirs = [json.loads(line) for line in command_line("check", "--floor", "--format", "json", str(path))]
    # The command line leaves out functions that are not kernels.
    ours = [it for it in Module(path.read_text()).floors if it.kernel or it.function is None]
    assert [(it.function, it.ptx, it.target) for it in ours] == [(it["kernel"], it["ptx"], it["target"]) for it in theirs]
