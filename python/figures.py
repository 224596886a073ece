"""Prints how long `check` takes for 200,000 lines of a compiler's, beside the command line that the argument names."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ptx_isa

LINES = 200_000
RUNS = 7


def text():
    """The functions of a module again and again, under new names."""
    module = ptx_isa.Module((Path(__file__).parents[1] / "tests/modules/nvrtc-13.0-compute_90.ptx").read_text())
    functions = [it for it in module.functions if it.kernel]
    head = module.text[: functions[0].span.start]
    parts, lines, number = [head], head.count("\n"), 0
    while lines < LINES:
        for function in functions:
            parts.append(function.text.replace(function.name, f"{function.name}_{number}") + "\n")
            lines += parts[-1].count("\n")
        number += 1
    return "".join(parts)


def best(work):
    """The least time of some runs, in milliseconds."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


module = text()
assert ptx_isa.check(module) == []
with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
    file.write(module)
    file.flush()
    ours = best(lambda: ptx_isa.check(Path(file.name).read_text()))
    theirs = best(lambda: subprocess.run([sys.argv[1], "check", file.name], check=True, stdout=subprocess.DEVNULL))
print(
    f"{module.count(chr(10))} lines: check {ours:.0f} ms, the command line {theirs:.0f} ms; "
    f"Module {best(lambda: ptx_isa.Module(module)):.0f} ms"
)
