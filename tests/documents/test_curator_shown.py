"""Where a result stands beside a trusted curator's, and why it does not where people count by weights."""

import pytest

from cli.running import shuffledp
from documents.outcomes import make_outcome
from shuffledp.documents.estimate_document import beside_section
from shuffledp.documents.plans.plan_document import plan_document
from shuffledp.documents.words import NO_CURATOR
from shuffledp.survey import Task, plan

QUESTION = {"randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"]}}
RELEASED = {"name": "t", "release": {"delta": 1e-6}}


def said_of_plan(**keys):
    document = plan_document(plan(Task.from_dict({**RELEASED, "value": "v", **QUESTION, **keys}), 200))
    return " ".join(getattr(block, "text", "") for section in document.sections for block in section.blocks)


def test_a_plan_with_weights_says_why_no_curator_stands_beside_it():
    assert NO_CURATOR in said_of_plan(weight="w", release={"delta": 1e-6, "minimum_batch": 20})
    assert NO_CURATOR not in (plain := said_of_plan())
    assert "A trusted curator who adds" in plain


def test_a_release_without_weights_stands_beside_a_curator():
    section = beside_section(make_outcome([0, 1] * 50))
    assert section is not None
    assert section.blocks[0].text.startswith("The standard error is ")


@pytest.mark.parametrize("weight", [None, "w"])
def test_every_page_names_the_curator_or_says_why_there_is_none(weight, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    column = (
        '\n[[value]]\ncolumn = "{0}"\n[value.randomizer]\nkind = "k-rr"\nepsilon0 = 2.0\ncategories = ["No", "Yes"]\n'
    )
    top = f'name = "t"\n{f"""weight = "{weight}"{chr(10)}""" if weight else ""}'
    text = f"{top}{column.format('a')}{column.format('b')}\n[release]\ndelta = 1e-6\nminimum_batch = 5\n"
    (tmp_path / "task.toml").write_text(text)
    rows = [f"{'Yes' if row % 2 else 'No'},{'Yes' if row % 3 else 'No'},{1 + row % 2}\n" for row in range(60)]
    (tmp_path / "table.csv").write_text(f"a,b,w\n{''.join(rows)}")
    made = shuffledp("run", "task.toml", "--input", "table.csv", "--output", "out")
    assert made.code == 0, made.err
    for page in (tmp_path / "out").rglob("release.html"):
        times = page.read_text().count("times that of a trusted curator"), page.read_text().count("No trusted curator")
        alone = page.parent.name in "ab"
        assert times == ((0, 1 if alone else 2) if weight else (1 if alone else 2, 0)), page
