"""The notebook for newcomers: each cell is run in order and gives what the notebook shows.

`PTX_ISA_BLESS=1 pytest tests/test_notebook.py` writes what it gives now, to be read before it is committed.
"""

import ast
import contextlib
import io
import json
import os
from pathlib import Path

NOTEBOOK = Path(__file__).parents[1] / "first-steps.ipynb"


def outputs(source, names, number):
    """What a cell prints, and the value of its last expression, as notebooks keep them."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, NOTEBOOK.name, "exec"), names)
        value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names) if last else None
    found = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        found.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return found


def test_the_notebook_gives_what_it_shows():
    notebook = json.loads(NOTEBOOK.read_text())
    names = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        found = outputs("".join(cell["source"]), names, number)
        if os.environ.get("PTX_ISA_BLESS"):
            cell["outputs"], cell["execution_count"] = found, number
        assert cell["outputs"] == found, "".join(cell["source"])
    assert len(cells) > 8
    if os.environ.get("PTX_ISA_BLESS"):
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
