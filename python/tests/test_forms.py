import pickle

import ptx_isa
import pytest


def test_forms_are_those_of_the_command_line(json_lines):
    for arguments, given in [
        ([], {}),
        (["setp.*.f16"], {"pattern": "setp.*.f16"}),
        (["--target", "sm_75", "mma*"], {"pattern": "mma*", "target": "sm_75"}),
        (["--ptx", "3.0"], {"ptx": "3.0"}),
    ]:
        theirs = json_lines("table", "--format", "json", *arguments)
        ours = [
            {
                "mnemonic": form.mnemonic,
                "pattern": form.pattern,
                "operands": form.signature,
                "ptx": form.ptx,
                "target": " or ".join(form.targets),
                "section": form.section,
            }
            for form in ptx_isa.forms(**given)
        ]
        assert ours == theirs and ours, arguments


def test_a_form_knows_its_operands():
    [form] = ptx_isa.forms("setp.lt.f32")
    assert (form.opcode, form.mnemonic, form.signature, str(form)) == (
        "setp", "setp.lt.f32", "p[|q], a, b", "setp.lt.f32 p[|q], a, b",
    )
    assert [(it.name, it.type, it.bits, it.kind, it.destination) for it in form.operands] == [
        ("p", "pred", 1, "scalar", True),
        ("a", "f32", 32, "scalar", False),
        ("b", "f32", 32, "scalar", False),
    ]
    assert form.operands[0].second == "q"
    assert form.has_evaluator and not form.is_collective
    assert form in {form} and form == ptx_isa.forms("setp.lt.f32")[0] != ptx_isa.forms("setp.le.f32")[0]
    load = ptx_isa.forms("ld*v4*")[0].operands[0]
    assert (load.kind, load.lanes) == ("vector", 4)
    assert ptx_isa.forms("no.such.form") == []


def test_explanations_are_those_of_the_command_line(command_line):
    # Each opcode has a page. Of these and of forms, some from every part of the table are compared.
    opcodes = sorted({form.opcode for form in ptx_isa.forms()})
    assert all(ptx_isa.explain(opcode) for opcode in opcodes)
    forms = [form.mnemonic for form in ptx_isa.forms() if form.pattern == form.mnemonic]
    for name in opcodes[:: len(opcodes) // 40] + forms[:: len(forms) // 40]:
        assert ptx_isa.explain(name).splitlines() == command_line("explain", name), name


def test_what_means_nothing_is_explained_by_an_error():
    with pytest.raises(ptx_isa.PtxError, match="use `setp.lt.s32` or `setp.lo.u32`") as raised:
        ptx_isa.explain("setp.lo.s32")
    assert raised.value.diagnostic.code == "illegal-modifier"
    with pytest.raises(ptx_isa.PtxError, match="use `setp` or `st`"):
        ptx_isa.explain("stp")


def test_a_form_is_found_by_any_legal_spelling():
    form = ptx_isa.Form("ld.relaxed.gpu.global.u64")
    assert form == ptx_isa.Form("ld.u64") and form in ptx_isa.forms("ld.global.*")
    with pytest.raises(ptx_isa.PtxError, match="`.lo` is for unsigned integers"):
        ptx_isa.Form("setp.lo.s32")


def test_forms_can_be_pickled():
    forms = ptx_isa.forms("mov.*") + ptx_isa.forms("mma.*")[:20]
    assert pickle.loads(pickle.dumps(forms)) == forms and len(forms) > 30
