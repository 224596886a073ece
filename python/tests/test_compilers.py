"""What Numba and Triton compile is taken: a real user's kernels, for several targets.

Both are large and not needed by the package, so that their tests are skipped where they are not installed. Each kernel is
compiled for one target, in turn; with PTX_ISA_EVERY set, for all of them.
"""

import os
import warnings

import ptx_isa
import pytest

EVERY = bool(os.environ.get("PTX_ISA_EVERY"))


def in_turn(cases, targets_of):
    """Each case with one of its targets, or with all."""
    for number, case in enumerate(cases):
        targets = targets_of(case)
        for target in targets if EVERY else [targets[number % len(targets)]]:
            yield case, target


def refused(ptx):
    """What we have against a module: findings with their lines, and statements that `Module` has no form for."""
    lines = ptx.split("\n")
    found = [f"{it}\n    {lines[it.line - 1].strip()}" for it in ptx_isa.check(ptx) if it.severity == "error"]
    functions = [function for function in ptx_isa.Module(ptx).functions if function.body is not None]
    assert functions and all(function.statements for function in functions)
    assert ptx_isa.check(ptx.replace("ret;", "ret.wide;")), "a spoilt copy is not taken"
    return found + [repr(it) for function in functions for it in function.statements if it.form is None]


def held_against(compiled, capsys):
    """Asserts that nothing is refused of what could be compiled; each is a name with its text or what came in its way."""
    wrong, taken, failed = [], 0, []
    for name, ptx in compiled:
        if isinstance(ptx, Exception):
            failed.append(f"{name}: {str(ptx).strip().splitlines()[-1]}")
            continue
        taken += 1
        wrong += [f"{name}: {it}" for it in refused(ptx)]
    with capsys.disabled():
        print(f"\n{taken} kernels compiled, {len(failed)} not", *failed, sep="\n  ")
    assert not wrong, "\n".join(wrong)
    assert taken > 19 * len(failed), "the compiler takes nearly all of them"


def test_what_numba_compiles_is_taken(capsys):
    cuda = pytest.importorskip("numba.cuda", reason="Numba is not installed", exc_type=ImportError)
    import kernels_numba

    def compiled():
        flags = [{}, {"fastmath": True}, {"debug": True, "opt": False}, {"lineinfo": True}]
        kernels = [(kernel, types, some) for kernel, all in kernels_numba.KERNELS for types in all for some in flags]
        functions = [(function, types, {"device": True}) for function, types in kernels_numba.library()]
        targets = [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (12, 0)]
        for (function, types, some), cc in in_turn(kernels + functions, lambda _: targets):
            name = f"{function.__name__} {types[0]} {some} {cc}"
            try:
                yield name, cuda.compile_ptx(function, types, cc=cc, **some)[0]
            except Exception as error:
                yield name, error

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held_against(compiled(), capsys)


def test_what_triton_compiles_is_taken(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    triton = pytest.importorskip("triton", reason="Triton is not installed", exc_type=ImportError)
    import kernels_triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    def compiled():
        targets = [75, 80, 89, 90, 100, 103, 120]
        cases = in_turn(kernels_triton.KERNELS, lambda case: [target for target in targets if target >= case[3]])
        for (kernel, types, sizes, _), target in cases:
            name = f"{kernel.__name__} {' '.join(types)} sm_{target}"
            signature = dict(zip(kernel.arg_names, types)) | dict.fromkeys(sizes, "constexpr")
            try:
                # The assembler that it brings has the last word on what it gives.
                result = triton.compile(ASTSource(kernel, signature, sizes), target=GPUTarget("cuda", target, 32))
                yield name, result.asm["ptx"]
            except Exception as error:
                yield name, error

    held_against(compiled(), capsys)
