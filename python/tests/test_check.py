import pickle
from pathlib import Path

import ptx_isa
import pytest
from conftest import MODULES, REAL, ROOT

HEAD = ".version 8.6 .target sm_90 .entry k() { .reg .pred p; .reg .f32 f; "


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_what_compilers_write_is_fine(path):
    assert [str(it) for it in ptx_isa.check(path.read_bytes()) if it.severity == "error"] == []


def test_a_finding_says_where_and_why():
    text = HEAD + "setp.lo.f32 p, f, f; }"
    [found] = ptx_isa.check(text)
    assert (found.severity, found.code, found.line, found.column) == ("error", "illegal-modifier", 1, len(HEAD) + 6)
    assert text[found.span] == "lo"
    assert (found.end_line, found.end_column) == (1, len(HEAD) + 8)
    assert "`.lo`" in found.message and "`setp.lt.f32`" in found.help
    assert str(found) == f"1:{len(HEAD) + 6}: error[illegal-modifier]: {found.message}"
    assert found == ptx_isa.check(text)[0] != ptx_isa.check(" " + text)[0]


def test_findings_are_those_of_the_command_line(json_lines):
    """Over modules, and over whatever a fuzzer found worth keeping: text that is none among it."""
    paths = MODULES + sorted(path for path in (ROOT / "fuzz/corpus/module").iterdir() if path.is_file())
    wanted = {str(path): [] for path in paths}
    for strict in [False, True]:
        flags = ["--strict"] if strict else []
        for found in json_lines("check", "--format", "json", *flags, *wanted):
            wanted[found["file"]].append(found)
        for path in paths:
            ours = [
                {
                    "line": it.line,
                    "column": it.column,
                    "end": {"line": it.end_line, "column": it.end_column},
                    "severity": it.severity,
                    "code": it.code,
                    "message": it.message,
                    "help": it.help,
                    "fixes": [
                        {"bytes": [fix.span.start, fix.span.stop], "text": fix.text, "safe": fix.safe} for fix in it.fixes
                    ],
                }
                for it in ptx_isa.check(path.read_bytes(), strict=strict)
            ]
            theirs = [{key: it.get(key) for key in ours[0]} if ours else it for it in wanted[str(path)]]
            assert ours == theirs, path
            wanted[str(path)] = []
    assert ptx_isa.check(b"\xff")[0].code == "encoding"


def test_target_and_version_are_the_callers():
    bare = "setp.lt.f16 p, a, b;"
    assert ptx_isa.check(bare, target="sm_53", ptx="4.2") == []
    assert [it.code for it in ptx_isa.check(bare, target="sm_52", ptx="4.2")] == ["target"]
    assert [it.code for it in ptx_isa.check(bare, target="sm_53", ptx="4.1")] == ["ptx-version"]
    for wrong, message in [
        ({"target": "sm_54"}, "unknown target `sm_54`; the nearest is `sm_53`"),
        ({"target": "90"}, "a target is `sm_`"),
        ({"ptx": "1.9"}, "unknown PTX version 1.9; the nearest is 1.5"),
        ({"ptx": "eight"}, "a PTX version is two numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            ptx_isa.check(bare, **wrong)


def test_spans_are_indices_of_what_was_given():
    text = "// süß 😀\n" + HEAD + "/* ß */ setp.lo.f32 p, f, f; }"
    assert text[ptx_isa.check(text)[0].span] == "lo"
    assert text.encode()[ptx_isa.check(text.encode())[0].span] == b"lo"
    assert ptx_isa.check(text)[0].column == ptx_isa.check(text.encode())[0].column


def test_what_is_no_text_is_an_error_of_pythons():
    for wrong, error in [(None, TypeError), (7, TypeError), ("\ud800", UnicodeEncodeError)]:
        with pytest.raises(error):
            ptx_isa.check(wrong)


def test_findings_are_read_only():
    [found] = ptx_isa.check("setp.lo.f32 p, f, f;", target="sm_90", ptx="8.6")
    with pytest.raises(AttributeError):
        found.message = "fine"
    with pytest.raises(TypeError):
        ptx_isa.Diagnostic()


SPOILT = """// é
.version 8.6
.target sm_90
.entry k() {
    .reg .b32 %r<3>;
    .reg .pred %p;
    setp.s32.lt %p, %r1, %r2
    add.u33 %r1, %r1, %r2;
}
"""


def test_fixes_are_made():
    found = ptx_isa.check(SPOILT)
    shown = [(it.code, [(SPOILT[fix.span], fix.text, fix.safe) for fix in it.fixes][:1]) for it in found]
    assert shown == [('syntax', [('', ';', True)]), ('unknown-modifier', [('add.u33', 'add.u32', False)])]
    safe = ptx_isa.fix(SPOILT)
    assert safe == SPOILT.replace("setp.s32.lt %p, %r1, %r2", "setp.lt.s32 %p, %r1, %r2;")
    assert ptx_isa.fix(SPOILT, unsafe=True) == safe.replace("u33", "u32")
    assert ptx_isa.fix(SPOILT, unsafe=True, ignore=["unknown-modifier"]) == safe
    assert ptx_isa.check(ptx_isa.fix(SPOILT, unsafe=True)) == []


def test_findings_can_be_left_out():
    assert ptx_isa.check(SPOILT, ignore=[it.code for it in ptx_isa.check(SPOILT)]) == []
    text = safe = ptx_isa.fix(SPOILT)
    assert ptx_isa.check(text.replace("add.u33", "// ptx-isa: ignore unknown-modifier\nadd.u33")) == []
    assert ptx_isa.check(safe + "// ptx-isa: ignore sink\n")[-1].code == "unused-ignore"
    with pytest.raises(ValueError, match="`unknown-modifer` is not the code of a finding; did you mean `unknown-modifier`"):
        ptx_isa.check(SPOILT, ignore=["unknown-modifer"])
    assert "unknown-modifier" in ptx_isa.explain("unknown-modifier") and "Write" in ptx_isa.explain("unknown-modifier")


def test_paths_are_refused():
    for ask in [ptx_isa.check, ptx_isa.Module, ptx_isa.fix, ptx_isa.link]:
        with pytest.raises(TypeError, match="this is a path: pass the text of the file"):
            ask(Path("kernel.ptx"))
        with pytest.raises(ValueError, match="`../kernel.ptx` is a path"):
            ask("../kernel.ptx")


def test_findings_can_be_pickled():
    found = ptx_isa.check(SPOILT)
    again = pickle.loads(pickle.dumps(found))
    assert again == found and [str(it) for it in again] == [str(it) for it in found]
    assert [it.fixes for it in again] == [it.fixes for it in found]
    try:
        ptx_isa.evaluate("setp.lo.s32 p, a, b", {})
    except ptx_isa.PtxError as error:
        assert pickle.loads(pickle.dumps(error)).diagnostic == error.diagnostic
