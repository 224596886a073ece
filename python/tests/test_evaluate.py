import json
import random
import re

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
        ("add.u32 d, a, b", {"a": -1, "b": 1 << 32}, "`a`: -1 is not 32 bits.*; `b`: 4294967296 is not 32 bits"),
        ("add.u32 d, a, a", {"a": 1.5}, "1.5 is not 32 bits"),
        ("add.u32 d, a, a", {"a": [1, 2]}, "a warp has 32 threads, and here are 2 values"),
        ("add.u32 d, a, a", {"a": "0x1"}, "a warp has 32 threads, and here are 3 values|is not 32 bits"),
        ("setp.lt.s32 p|p, a, a", {"a": 1}, "both destinations are `p`"),
        ("ld.global.u32 d, [a]", {"a": 1}, "without semantics"),
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
