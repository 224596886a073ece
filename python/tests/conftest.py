"""What tests share: modules that compilers wrote, and the command line, which must say the same."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "tests/modules").glob("*.ptx"))
REAL = [path for path in MODULES if ".spoilt." not in path.name]
assert REAL, "no modules to test with"


@pytest.fixture(scope="session")
def command_line():
    """Runs `ptx-isa` with arguments and standard input; gives the lines of its output."""
    binary = os.environ.get("PTX_ISA")
    if not binary:
        pytest.skip("PTX_ISA does not name the command line")

    def run(*arguments, stdin=""):
        # Without a limit a test that hangs would say nothing.
        done = subprocess.run([binary, *arguments], input=stdin, capture_output=True, text=True, timeout=300)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout.splitlines()

    return run


@pytest.fixture(scope="session")
def json_lines(command_line):
    """As `command_line`, each line as the object that it is."""
    return lambda *arguments, stdin="": [json.loads(line) for line in command_line(*arguments, stdin=stdin)]
