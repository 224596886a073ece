import json
import math
import pickle
import random
import re
import time

import numpy
import ptx_isa
import pytest


def test_bits_in_bits_out():
    got = ptx_isa.evaluate("setp.lt.and.s32 p|q, a, b, !c", {"a": 5, "b": 0xFFFF_FFFD, "c": 1})
    assert (got.outputs, got.bound) == ({"p": 0, "q": 0}, None)
    assert ptx_isa.evaluate("add.f32 d, a, 1.0", {"a": 0x3F80_0000})["d"] == 0x4000_0000
    # A sink gives nothing, a guard that is false nothing at all, and states of the thread have names.
    assert ptx_isa.evaluate("setp.lt.s32 p|_, a, 3", {"a": 2}).outputs == {"p": 1}
    assert ptx_isa.evaluate("@!p add.s32 d, a, a", {"a": 2, "p": True}).outputs == {}
    assert ptx_isa.evaluate("addc.cc.u32 d, a, 1", {"a": 0xFFFF_FFFF, "CC.CF": 0}).outputs == {"d": 0, "CC.CF": 1}


def test_a_bound_is_told():
    bound = ptx_isa.evaluate("ex2.approx.f32 d, a", {"a": 0x3F80_0000}).bound
    assert (bound.measure, bound.value, str(bound)) == ("ulp", "2", "2 units in the last place")
    assert ptx_isa.evaluate("sin.approx.f32 d, a", {"a": 0}).bound.measure == "abs"


def test_what_the_manual_leaves_open_is_told():
    divided = "div.u32 d, a, b"
    assert ptx_isa.evaluate(divided, {"a": 1, "b": 0}).unspecified == {"d": 1}
    assert ptx_isa.evaluate(divided, {"a": 1, "b": 1}).unspecified == {}
    assert ptx_isa.evaluate(divided, {"a": 1, "b": [0, 1] * 16}, active=0xFF).unspecified == {"d": 0x55}


def test_a_warp_is_computed_at_once():
    lanes = list(range(32))
    got = ptx_isa.evaluate("shfl.sync.bfly.b32 d, a, 1, 31, 0xffffffff", {"a": lanes})
    assert got["d"] == [lane ^ 1 for lane in lanes]
    got = ptx_isa.evaluate("@p add.u32 d, a, b", {"a": lanes, "b": 100, "p": [lane % 2 for lane in lanes]}, active=0xFF)
    assert got["d"] == [lane + 100 if lane < 8 and lane % 2 else None for lane in lanes]
    assert ptx_isa.evaluate("add.u32 d, a, 1", {"a": 1}, active=1)["d"] == [2] + [None] * 31


@pytest.mark.parametrize(
    "inst, inputs, message",
    [
        ("add.u32 d, a, b", {"a": 1}, "`b` has no value: give 32 bits of type `.u32`"),
        ("add.u32 d, a, b", {"a": -1 << 32, "b": 1 << 32}, "`a`: -4294967296 does not fit the 32 bits.*; `b`: 4294967296"),
        ("add.u32 d, a, a", {"a": 1.5}, "1.5 is a float, and `.u32` is not: give its bits"),
        ("add.u32 d, a, b", {"a": [1, 2], "b": [1, 2, 3]}, "`b` has 3 values, and others have 2"),
        ("add.u32 d, a, a", {"a": "0x1"}, "'0x1' is not a number"),
        ("add.u32 d, a, a", {"a": None}, "None is not a number"),
        ("add.f32 d, a, a", {"a": -1}, "an integer gives the bits of `.f32`, which are not negative as -1 is"),
        ("setp.lt.s32 p, a, a", {"a": [True, 1 << 31, -(1 << 31) - 1]}, "-2147483649 does not fit"),
        ("setp.lt.s32 p|p, a, a", {"a": 1}, "both destinations are `p`"),
        ("ld.global.u32 d, [a]", {"a": 1}, "is not computed from registers of one warp alone"),
    ],
)
def test_what_cannot_be_computed_says_why(inst, inputs, message):
    with pytest.raises(ValueError, match=message):
        ptx_isa.evaluate(inst, inputs)


def test_a_target_computes_as_it_does():
    with pytest.raises(ValueError, match="`add.f16` needs `sm_53`; the target is `sm_30`"):
        ptx_isa.evaluate("add.f16 d, a, a", {"a": 0}, target="sm_30")
    with pytest.raises(ValueError, match="unknown target"):
        ptx_isa.evaluate("add.f32 d, a, a", {"a": 0}, target="sm_1")
    # Targets without subnormal numbers take them for zero.
    old = ptx_isa.evaluate("add.f32 d, a, a", {"a": 1}, target="sm_10")["d"]
    assert (old, ptx_isa.evaluate("add.f32 d, a, a", {"a": 1}, target="sm_90")["d"]) == (0, 2)


def test_an_illegal_statement_is_an_error_with_its_place():
    text = "setp.lo.s32 p, a, b"
    with pytest.raises(ptx_isa.PtxError, match="`.lo` is for unsigned integers") as raised:
        ptx_isa.evaluate(text, {})
    assert text[raised.value.diagnostic.span] == "lo"
    assert isinstance(raised.value, ValueError)


def test_numbers_are_taken_as_python_has_them():
    evaluate = ptx_isa.evaluate
    assert evaluate("add.s32 d, a, b", {"a": -3, "b": 1})["d"] == 0xFFFF_FFFE
    assert evaluate("add.u64 d, a, b", {"a": -1, "b": numpy.int8(3)})["d"] == 2
    assert evaluate("fma.rn.f32 d, a, b, c", {"a": 1.5, "b": -2.0, "c": math.inf})["d"] == 0x7F80_0000
    assert evaluate("add.f64 d, a, b", {"a": 0.1, "b": numpy.float64(0.2)})["d"] == int(numpy.float64(0.1 + 0.2).view("uint64"))
    assert evaluate("add.f16 d, a, b", {"a": numpy.float16(0.5), "b": numpy.array(1.0)})["d"] == 0x3E00
    assert evaluate("neg.bf16 d, a", {"a": math.nan})["d"] & 0x7F80 == 0x7F80


def test_sequences_of_any_length_are_computed():
    got = ptx_isa.evaluate("mad.lo.s32 d, a, b, 1", {"a": range(100), "b": -1})
    assert got["d"] == [(1 - lane) & 0xFFFF_FFFF for lane in range(100)]
    got = ptx_isa.evaluate("@p div.u32 d, a, b", {"a": [6, 7, 8], "b": (2, 0, 0), "p": [1, 1, 0]})
    assert (got["d"][0], got["d"][2], got.unspecified) == (3, None, {"d": 0b10})
    assert ptx_isa.evaluate("add.u32 d, a, a", {"a": []})["d"] == []
    # More than a warp is several.
    got = ptx_isa.evaluate("shfl.sync.idx.b32 d, a, 0, 31, 0xffffffff", {"a": range(64)})
    assert got["d"] == [0] * 32 + [32] * 32


def test_arrays_come_back_as_arrays_of_the_types_of_destinations():
    generator = numpy.random.default_rng(1)
    a, b = generator.standard_normal((2, 7, 11)).astype(numpy.float32)
    got = ptx_isa.evaluate("add.f32 d, a, b", {"a": a, "b": b})["d"]
    assert got.dtype == numpy.float32 and got.shape == a.shape and (got == a + b).all()
    # Elements that are not adjacent, and one that is the same for all.
    got = ptx_isa.evaluate("mul.f32 d, a, 2.0", {"a": a.T[::2]})["d"]
    assert (got == 2 * a.T[::2]).all()
    got = ptx_isa.evaluate("setp.lt.s32 p|q, a, b", {"a": numpy.array([-1, 2, 3]), "b": 2})
    assert got["p"].dtype == bool and got["p"].tolist() == [True, False, False] and got["q"].tolist() == [False, True, True]
    for inst, dtype, result in [
        ("add.s64 d, a, a", "int64", "int64"), ("add.u16 d, a, a", "uint8", "uint16"), ("add.s32 d, a, a", "int16", "int32"),
        ("xor.b32 d, a, 0", "float32", "uint32"), ("add.f16 d, a, a", "float16", "float16"), ("add.f64 d, a, a", "float64", "float64"),
        ("add.bf16 d, a, a", "uint16", "uint16"), ("add.f16x2 d, a, a", "uint32", "uint32"), ("cvt.rzi.s32.f32 d, a", "float32", "int32"),
        ("not.pred d, a", "bool", "bool"), ("cvt.sat.s8.s32 d, a", "int32", "int8"),
    ]:
        values = numpy.arange(2 if "pred" in inst else 9).astype(dtype)
        got = ptx_isa.evaluate(inst, {"a": values})["d"]
        alone = [ptx_isa.evaluate(inst, {"a": int(bits)})["d"] for bits in values.view(f"uint{8 * values.itemsize}")]
        assert (got.dtype.name, got.view(f"uint{8 * got.itemsize}").tolist()) == (result, alone), inst
    # Where the guard is false, what was there stays.
    guard, old = numpy.arange(5) % 2 == 0, numpy.full(5, 9, "uint32")
    got = ptx_isa.evaluate("@p mov.u32 d, a", {"p": guard, "a": numpy.arange(5), "d": old})["d"]
    assert got.tolist() == [0, 9, 2, 9, 4]
    with pytest.raises(ValueError, match="`d` has no value: .*, which it keeps where the guard is false"):
        ptx_isa.evaluate("@p mov.u32 d, a", {"p": guard, "a": numpy.arange(5)})
    got = ptx_isa.evaluate("div.u32 d, a, b", {"a": numpy.ones(3, "uint32"), "b": numpy.arange(3)})
    assert got.unspecified["d"].tolist() == [True, False, False]


@pytest.mark.parametrize(
    "inst, a, message",
    [
        ("add.f32 d, a, a", numpy.ones(3), r"elements are `float64`, and the operand is `.f32`: use `.astype\("),
        ("add.s32 d, a, a", numpy.ones(3), "`float64`, and the operand is `.s32`: give its bits as `uint32`"),
        ("add.f32 d, a, a", numpy.ones(3, int), "`int64`, and the operand is `.f32`: give its bits as `uint32`"),
        ("add.u32 d, a, a", numpy.array([1, 1 << 40]), "1099511627776 does not fit the 32 bits"),
        ("add.u32 d, a, a", numpy.array(["1"]), "`str32`, and the operand"),
        ("add.u32 d, a, b", numpy.ones((2, 2), int), r"`b`: its shape is \(4,\), and that of others \(2, 2\)"),
    ],
)
def test_arrays_of_other_types_are_refused_with_the_cure(inst, a, message):
    with pytest.raises(ValueError, match=message):
        ptx_isa.evaluate(inst, {"a": a, "b": numpy.ones(4, int)})


def test_a_million_lanes_take_milliseconds():
    count = 1 << 20
    a, b, c = numpy.random.default_rng(1).standard_normal((3, count)).astype(numpy.float32)
    def work():
        return ptx_isa.evaluate("fma.rn.f32 d, a, b, c", {"a": a, "b": b, "c": c})["d"]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        got = work()
        times.append(time.perf_counter() - start)
    wide = a.astype(float) * b + c
    assert numpy.allclose(got, wide, rtol=1e-6, atol=1e-6)
    # One thread at a time would take a second.
    assert min(times) < 0.1, times
    print(f"{min(times) * 1e3:.2f} ms")


def test_what_is_computed_can_be_pickled():
    got = ptx_isa.evaluate("ex2.approx.f32 d, a", {"a": 1.0})
    again = pickle.loads(pickle.dumps(got))
    assert (again.outputs, again.unspecified, again.bound, str(again.bound)) == (
        got.outputs, got.unspecified, got.bound, str(got.bound),
    )


def statement(form):
    """The form with its operands by their own names: `setp.lt.s32 p, a, b`. What may be left out is."""
    operands = re.sub(r"{[,.!-][^}]*}", "", form.signature)
    return form.mnemonic + " " + re.sub(r"\[[^]]*]", "", operands)


def test_every_form_computes_as_the_command_line_does(json_lines):
    generator = random.Random(1)
    requests, ours = [], []
    for form in ptx_isa.forms():
        if not form.has_evaluator:
            continue
        inst = statement(form)
        inputs = {"CC.CF": generator.getrandbits(1)}
        for operand in form.operands:
            if operand.bits and not operand.destination:
                bits = [generator.getrandbits(operand.bits) for _ in range(32)]
                inputs[operand.name] = bits if form.is_collective else bits[0]
        try:
            got = ptx_isa.evaluate(inst, inputs)
        except ValueError:
            # Operands that are constants only, or are spelt otherwise.
            continue
        answer = {"out": written(got.outputs)}
        if got.unspecified:
            threads = {name: hex(mask) for name, mask in got.unspecified.items()}
            answer["unspecified"] = threads if form.is_collective else list(threads)
        if got.bound:
            value = got.bound.value
            answer["bound"] = {got.bound.measure: int(value) if got.bound.measure == "ulp" and value.isdigit() else value}
        ours.append(answer)
        requests.append(json.dumps({"inst": inst, "in": written(inputs)}))
    theirs = json_lines("eval", "--batch", "-", stdin="\n".join(requests) + "\n")
    for request, our, their in zip(requests, ours, theirs, strict=True):
        assert our == their, request
    assert len(ours) > 6000, "most forms with an evaluator can be written so"
    assert any("bound" in our for our in ours)


def written(words):
    """Words as a batch has them."""
    def one(word):
        return word if word is None else hex(word)

    return {name: [one(it) for it in word] if isinstance(word, list) else one(word) for name, word in words.items()}
