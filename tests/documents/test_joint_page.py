"""The page of several private columns: what one person loses first, then each column with the way to its own page."""

import pytest

from cli.running import write_csv
from documents.reading import Page
from shuffledp.documents.release_document import write_release
from shuffledp.documents.words import Scale
from shuffledp.files import stages
from shuffledp.survey import Task
from shuffledp.testing import SeededSource

HOSTILE = "<b>town</b> & $x$"
BLOCKS = [
    {"column": "smokes", "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}},
    {"column": HOSTILE, "randomizer": {"kind": "oue", "epsilon0": 0.5, "categories": [f"T{n}" for n in range(13)]}},
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Makes the page: the outcome and what is on it."""
    folder = tmp_path_factory.mktemp("joint")
    answers = write_csv(
        folder / "answers.csv", ["smokes", HOSTILE], [["No" if n % 4 else "Yes", f"T{n % 13}"] for n in range(3000)]
    )

    def make(name, **options):
        (folder / name).mkdir()
        task = Task.from_dict({"name": "habits", "value": BLOCKS, "release": {"delta": 1e-6}})
        joint = stages.run(task, answers, folder / name, **options)
        joint, _ = write_release(joint, folder / name)
        assert list(joint.files) == ["statement.json", "release.html"]
        return joint, Page.read((folder / name / "release.html").read_text(encoding="utf-8"))

    return make


@pytest.fixture(scope="module")
def private(made):
    return made("private")


def test_the_page_is_well_formed_and_every_place_in_it_is_there_once(private):
    _, page = private
    assert page.errors == []
    places = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(places) == len(set(places))
    named = {name for each in page.elements for name in (each.attributes.get("aria-labelledby") or "").split()}
    assert named <= set(places)


def test_the_sum_over_all_columns_is_said_before_anything_else(private):
    joint, page = private
    titles = [element.text for element in page.all("h2")]
    assert titles == ["In short", "smokes", HOSTILE, "Meaning", "Why it holds", "How it was made"]
    text = page.text_unfolded
    assert joint.statements[0].guarantee.text_of_sum("at most") in text
    assert text.index(joint.statements[0].guarantee.text_of_sum("at most")) < text.index(
        "3,000 reports, randomized by k-rr"
    )
    assert "One person answers in 2 columns" in text
    assert "all reports of one person together" in text


def test_each_column_is_shown_and_leads_to_its_own_page(private):
    joint, page = private
    links = [element.attributes["href"] for element in page.all("a")]
    assert links == [f"{folder}/release.html" for folder in joint.columns]
    for folder, outcome in joint.columns.items():
        assert len(page.all("figure", id=f"chart-estimates-{folder}")) == 1
        scale = Scale.of(outcome.release.estimate, outcome.model.local)
        for share in outcome.release.estimate.estimate:
            assert scale.text(share) in page.text


def test_a_long_table_is_folded_and_a_short_one_is_not(private):
    _, page = private
    assert ["details" in table.within for table in page.all("table", class_="numeric")] == [False, True]


def test_nothing_is_loaded_and_text_stays_text(private):
    _, page = private
    assert not page.all("b", id="town")
    assert not [each for each in page.elements if each.tag in {"script", "img", "link", "iframe", "object"}]
    assert HOSTILE in page.text


def test_the_parameters_of_every_column_are_listed(private):
    joint, page = private
    names = [element.text for element in page.all("dt")]
    assert "value.smokes.epsilon0" in names
    assert joint.task.sha256 in page.text


def test_a_seeded_run_is_marked_before_all_else(made):
    _, page = made("seeded", source=SeededSource(1))
    assert page.text.strip().startswith("WITHDRAWN")
    assert "Trial run, not private" in page.text
    assert "One person answers in 2 columns" not in page.text_unfolded
