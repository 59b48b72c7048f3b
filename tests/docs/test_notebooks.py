"""The notebooks among the examples run, and show what is stored in them, but for what is drawn anew each time."""

import pytest

from docs.notebooks import ANEW, EXAMPLES, executed, forms, is_drawn_anew, read, texts

NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
CELL = {"cell_type": "code", "metadata": {}, "source": ["print('a')\n", "x = 2\n", "x + 1"], "outputs": []}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_shows_what_its_cells_show(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stored = read(path)
    again = executed(stored)
    for old, new in zip(stored["cells"], again["cells"], strict=True):
        if old["cell_type"] != "code":
            continue
        where = f"{path.name}: {''.join(old['source'])}"
        assert old["execution_count"] == new["execution_count"], where
        assert forms(old) == forms(new), where
        if not is_drawn_anew(old):
            assert texts(old) == texts(new), where


def test_there_is_a_notebook_that_was_executed_and_of_which_not_all_is_drawn_anew():
    cells = [cell for path in NOTEBOOKS for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in cells if not "".join(cell["source"]).startswith("import"))
    assert sum(not is_drawn_anew(cell) for cell in cells) >= 3
    shown = {form for cell in cells for each in forms(cell) for form in each}
    assert {"text/html", "image/svg+xml", "text/plain", "stream"} <= shown


def test_a_cell_is_run_as_a_notebook_runs_it():
    (cell,) = executed({"cells": [CELL]})["cells"]
    assert texts(cell) == ["a\n", "3"]
    assert forms(cell) == [["stream"], ["text/plain"]]
    first, second = executed({"cells": [CELL, CELL | {"source": ["x"], "metadata": {"tags": [ANEW]}}]})["cells"]
    assert (texts(second), is_drawn_anew(second), is_drawn_anew(first)) == (["2"], True, False)
