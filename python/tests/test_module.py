import ptx_isa
import pytest
from conftest import MODULES
from ptx_isa import Declaration, Directive, Function, Label, Module, Statement

TEXT = """\
.version 8.0
.target sm_80
.address_size 64
// größer
.global .align 4 .f32 table[4][2];
.extern .func (.reg .u32 r) get(.param .align 8 .b8 a[16], .reg .f32 x);
.visible .entry k(.param .u64 out, .param .u32 n)
{
    .reg .pred %p<3>;
    .reg .v2 .f32 v;
    .reg .b32 %r<5>, x;
    .reg .b64 %rd;
LOOP:
    setp.f32.lt %p1|_, v.x, 1.0;
    @!%p1 bra LOOP;
    setp.lo.f32 %p1, v.x, v.y;
    ld.global.v2.f32 v, [table+8];
    st.global.v2.u32 [%rd], {%r1, 7};
    ret;
}
"""


def parts_of(module):
    for part in module.parts:
        yield part
        if isinstance(part, Function):
            yield from (*part.results, *part.parameters, *(part.body or ()))


def test_a_module_shows_its_parts():
    module = Module(TEXT)
    assert (module.version, module.target, module.text) == ("8.0", "sm_80", TEXT)
    assert [type(part) for part in module.parts] == [*[Directive] * 3, Declaration, Function, Function]
    [table] = module.declarations
    assert (table.name, table.type, table.space, table.elements, table.count) == ("table", "f32", "global", 8, None)
    assert (table.line, table.column, table.text) == (5, 1, ".global .align 4 .f32 table[4][2]")

    get, kernel = module.functions
    assert (get.name, get.kernel, get.body, get.statements) == ("get", False, None, ())
    assert [(it.name, it.space, it.type) for it in get.results] == [("r", "reg", "u32")]
    assert [(it.name, it.space, it.type, it.elements) for it in get.parameters] == [
        ("a", "param", "b8", 16), ("x", "reg", "f32", None),
    ]
    assert (kernel.name, kernel.kernel, kernel.line) == ("k", True, 7)
    assert kernel.text == TEXT[TEXT.index(".visible"):].rstrip()
    assert [(it.name, it.type) for it in kernel.parameters] == [("out", "u64"), ("n", "u32")]
    assert [(it.name, it.count, it.lanes) for it in kernel.declarations] == [
        ("%p", 3, 1), ("v", None, 2), ("%r", 5, 1), ("x", None, 1), ("%rd", None, 1),
    ]
    assert [it.name for it in kernel.body if isinstance(it, Label)] == ["LOOP"]
    assert module.statements == ()


def test_a_statement_shows_its_form_guard_and_operands():
    less, branch, refused, load, store, ret = Module(TEXT).functions[1].statements
    assert (less.opcode, less.mnemonic, str(less)) == (
        "setp", "setp.lt.f32", "setp.lt.f32 %p1|_, v.x, 0f3f800000;",
    )
    assert less.form == ptx_isa.forms("setp.lt.f32")[0]
    assert less.modifiers == {"CmpOp": "lt", "type": "f32"}
    assert less.text == "setp.f32.lt %p1|_, v.x, 1.0;" and less.guard is None
    p, a, b = less.operands
    assert (p.info.name, p.kind, p.name, p.second) == ("p", "register", "%p1", "_")
    assert (a.kind, a.name) == ("register", "v.x")
    assert (b.kind, b.name, b.value) == ("constant", None, 0x3F80_0000)

    assert (branch.guard.register, branch.guard.negated, str(branch.guard)) == ("%p1", True, "@!%p1")
    assert [(it.kind, it.name) for it in branch.operands] == [("name", "LOOP")]
    assert [(it.kind, it.name, it.value) for it in load.operands] == [("register", "v", None), ("sum", "table", 8)]
    assert load.modifiers["ss"] == "global" and load.mnemonic == "ld.global.v2.f32"
    assert store.operands[1].elements == ["%r1", "7"]
    assert ret.operands == ()


def test_a_statement_with_an_error_has_a_reason():
    module = Module(TEXT)
    refused = module.functions[1].statements[2]
    assert refused.text == "setp.lo.f32 %p1, v.x, v.y;" == str(refused)
    assert (refused.form, refused.mnemonic, refused.guard, refused.operands) == (None, None, None, ())
    assert refused.reason.code == "illegal-modifier" and TEXT[refused.reason.span] == "lo"
    assert module.diagnostics == tuple(ptx_isa.check(TEXT))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_parts_have_their_places(path):
    text = path.read_text()
    lines = text.split("\n")
    module = Module(text)
    before = 0
    for part in parts_of(module):
        assert text[part.span] == part.text
        assert lines[part.line - 1][part.column - 1 :].startswith(part.text.split("\n")[0])
    for function in module.functions:
        assert function.span.start >= before
        before = function.span.stop
        for statement in function.statements:
            if statement.form is None:
                assert statement.reason in module.diagnostics
                continue
            # The names of its operands occur in its text.
            names = [operand.name for operand in statement.operands if operand.name]
            assert all(name.split(".")[0] in statement.text for name in names), statement
    errors = [it for it in module.diagnostics if it.severity == "error"]
    refused = [it for function in module.functions for it in function.statements if it.form is None]
    assert len(refused) == len(errors) == (2 if ".spoilt." in path.name else 0)


def test_bare_statements_are_a_modules():
    module = Module("add.u32 a, b, c; add.u33 a, b;", target="sm_90", ptx="8.6")
    assert [it.opcode for it in module.statements] == ["add", None]
    assert module.functions == ()


def test_a_text_cut_off_keeps_what_was_read():
    for end in range(0, len(TEXT), 7):
        module = Module(TEXT[:end])
        assert all(module.text[part.span] == part.text for part in parts_of(module))
    module = Module(TEXT[: TEXT.index("ret;")])
    assert [it.name for it in module.functions] == ["get", "k"]
    assert [it.code for it in module.diagnostics if it.severity == "error"] == ["illegal-modifier", "syntax"]
    assert module.functions[1].text.endswith("7};\n    ")


def test_a_module_is_read_only():
    module = Module(TEXT)
    for holder, name in [(module, "text"), (module.functions[1], "name"), (module.functions[1].statements[0], "form")]:
        with pytest.raises(AttributeError):
            setattr(holder, name, None)
    assert repr(module) == "<Module PTX 8.0, sm_80>"
    assert repr(module.functions[1].statements[1]) == "<Statement line 15: @!%p1 bra LOOP;>"
