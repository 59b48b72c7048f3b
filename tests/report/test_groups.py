"""The sections about groups: who is mixed with whom, and estimates by place as a line, a map or rows."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from cli.running import task_with, write_csv
from report.reading import Page
from shuffledp.report import write_page
from shuffledp.tables import run_file
from shuffledp.tasks import Task
from shuffledp.testing import SeededSource

WAYS = {
    "line": {"columns": ["lat"], "radius": 0.02},
    "map": {"columns": ["lat", "lon"], "radius": 5.0, "metric": "haversine"},
    "rows": {"column": "town"},
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """For each way of making groups the outcome, the page and the folder."""
    folder = tmp_path_factory.mktemp("pages")
    draw = np.random.default_rng(2)
    towns = draw.integers(0, 30, 900)
    rows = [
        [
            f"<b>town {town}</b>",
            48 + 0.05 * town,
            9 + (town * 7 % 30) / 20,
            "Yes" if draw.random() < town / 30 else "No",
        ]
        for town in towns.tolist()
    ]
    answers = write_csv(folder / "people.csv", ["town", "lat", "lon", "cheated"], rows)
    found = {}
    for name, groups in WAYS.items():
        task = Task.from_dict(
            task_with(public=["town", "lat", "lon"], shuffler={"kind": "mallows", "alpha": 2.0}, groups=groups)
        )
        (folder / name).mkdir()
        outcome = run_file(task, answers, folder / name)
        files = write_page(outcome, folder / name)
        found[name] = (outcome, Page.read((folder / name / "release.html").read_text(encoding="utf-8")), files)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_the_page_shows_places_and_who_is_mixed_with_whom(pages, way):
    outcome, page, files = pages[way]
    assert page.errors == []
    assert {"places.svg", "places.png"} <= set(files)
    assert {"places", "groups"} <= {each.attributes["id"] for each in page.all("section")}
    assert "accounting" not in {each.attributes["id"] for each in page.all("section")}
    mixing = outcome.regional.mixing
    assert f"{mixing.num_groups} groups of" in page.text
    assert "alpha at most 2" in page.text
    assert "Uniform shuffle" in page.text
    assert "names the slots of one person's report correctly with a probability of at most" in page.text
    assert "30 places can be compared" in page.text


def test_the_table_has_all_places_as_text_whatever_they_contain(pages):
    outcome, page, _ = pages["rows"]
    assert page.all("b", class_="x") == []
    assert "<b>town 29</b>" in page.text
    first = outcome.regional.estimate.rows()[0]
    assert f"{100 * first['estimate']:.1f}" in page.text.replace("\N{MINUS SIGN}", "-")


def test_the_uniform_shuffle_is_the_line_that_every_place_is_compared_with(pages):
    outcome, page, _ = pages["line"]
    share = outcome.release.estimate.estimate[1]
    captions = " ".join(each.text for each in page.all("figcaption"))
    assert "which a uniform shuffle would give every place" in captions
    assert f"{100 * share:.4g}%" in captions or f"{100 * (1 - share):.4g}%" in captions


def test_no_shuffling_would_give_intervals_that_are_no_wider(pages):
    for outcome, _, _ in pages.values():
        assert (outcome.regional.unshuffled_error <= outcome.regional.estimate.standard_error * (1 + 1e-9)).all()


def test_people_who_are_alone_are_counted(tmp_path):
    answers = write_csv(tmp_path / "people.csv", ["km", "cheated"], [[5 * km, "No"] for km in range(20)] + [[0, "Yes"]])
    task = Task.from_dict(
        task_with(public=["km"], shuffler={"kind": "auto", "alpha": 1.0}, groups={"columns": ["km"], "radius": 1.0})
    )
    (tmp_path / "out").mkdir()
    outcome = run_file(task, answers, tmp_path / "out", source=SeededSource(1))
    write_page(outcome, tmp_path / "out")
    page = Page.read((tmp_path / "out" / "release.html").read_text(encoding="utf-8"))
    assert "19 of 21 people (90.5%) are alone in a block: their reports are not shuffled at all" in page.text
    assert "names the slots" not in page.text  # nothing is promised about a seeded run
    assert "WITHDRAWN" in page.text
    row = next(each for each in page.all("tr") if "Loss of the order inside a group" in each.text)
    assert "withdrawn" in row.text
    assert not any(letter.isdigit() for letter in row.text)
    assert outcome.to_dict()["mixing"]["alpha"] == "inf"
    assert "Read as odds" not in page.text + json.dumps(outcome.to_dict())
    ElementTree.fromstring((tmp_path / "out" / "places.svg").read_bytes())  # noqa: S314
