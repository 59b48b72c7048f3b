"""Runs the code cells of a notebook with plain Python, and keeps what they show; nothing of Jupyter is needed.

After a change that a notebook shows on purpose, ``python tests/docs/notebooks.py`` executes and writes all of them.
"""

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
ANEW = "drawn anew"  # the tag of a cell whose output is another each time
_FORMS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its code cells, run one after the other in the current folder."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        shown = {}
        if cell["cell_type"] == "code":
            count += 1
            shown = {"execution_count": count, "outputs": _outputs("".join(cell["source"]), namespace, count)}
        cells.append(cell | shown)
    return notebook | {"cells": cells}


def _outputs(code: str, namespace: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What is printed, then what the last line comes to, in every form that it has."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), namespace)  # noqa: S102
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), namespace)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {form: getattr(value, method)() for form, method in _FORMS.items() if hasattr(value, method)}
        shown = {form: _lines(text) for form, text in data.items() if text} | {"text/plain": _lines(repr(value))}
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": shown})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def is_drawn_anew(cell: dict[str, Any]) -> bool:
    return ANEW in cell["metadata"].get("tags", ())


def texts(cell: dict[str, Any]) -> list[str]:
    """What a cell shows as text: what is printed, and the line of its value."""
    return ["".join(each["text"] if "text" in each else each["data"]["text/plain"]) for each in cell["outputs"]]


def forms(cell: dict[str, Any]) -> list[list[str]]:
    """In which forms a cell shows its value."""
    return [sorted(each.get("data", ["stream"])) for each in cell["outputs"]]


def record() -> None:
    """Execute every notebook, and write it with its outputs."""
    for path in EXAMPLES.glob("*.ipynb"):
        notebook = read(path)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            done = executed(notebook)
        path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    record()
