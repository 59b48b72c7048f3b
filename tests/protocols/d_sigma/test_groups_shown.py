"""The sections about groups: who is mixed with whom, and estimates by place as a line, a map or rows."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from cli.running import task_with, write_csv
from documents.outcomes import write_page
from documents.reading import Page
from shuffledp.core.text import percent
from shuffledp.documents.blocks import Fold, Picture, Text
from shuffledp.files import stages
from shuffledp.protocols.d_sigma.documents.place_document import inside, places_section
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.survey.groups import Grouping
from shuffledp.survey import Task, plan
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
        outcome = stages.run(task, answers, folder / name).column
        files = write_page(outcome, folder / name)
        found[name] = (outcome, Page.read((folder / name / "release.html").read_text(encoding="utf-8")), files)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_the_page_shows_places_and_who_is_mixed_with_whom(pages, way):
    outcome, page, files = pages[way]
    assert page.errors == []
    assert {"places.svg"} <= set(files)
    assert {"places", "groups"} <= {each.attributes["id"] for each in page.all("section")}
    assert "accounting" not in {each.attributes["id"] for each in page.all("section")}
    mixing = outcome.shuffle_result.mixing
    assert f"{mixing.num_groups} groups of" in page.text
    assert "alpha at most 2" in page.text
    assert "Uniform shuffle" in page.text
    assert "With which chance somebody names the slot of one person\u2019s report" in page.text
    assert "Somebody whose group is the largest: " in page.text
    share = percent(mixing.kept)
    assert f"Of the slots of a person\u2019s group, {share} hold a report of the group" in page.text
    assert ("30 places can be compared" in page.text) == (mixing.kept > 0.2)


def test_the_table_has_all_places_as_text_whatever_they_contain(pages):
    outcome, page, _ = pages["rows"]
    assert page.all("b", class_="x") == []
    assert "<b>town 29</b>" in page.text
    first = outcome.shuffle_result.estimate.rows()[0]
    assert f"{100 * min(max(first['estimate'], 0), 1):.1f}" in page.text.replace("\N{MINUS SIGN}", "-")


def test_the_uniform_shuffle_is_the_line_that_every_place_is_compared_with(pages):
    outcome, page, _ = pages["line"]
    share = outcome.release.estimate.estimate[1]
    captions = " ".join(each.text for each in page.all("figcaption"))
    assert "which a uniform shuffle would give every place" in captions
    assert f"{100 * share:.4g}%" in captions or f"{100 * (1 - share):.4g}%" in captions


def test_no_shuffling_would_give_intervals_that_are_no_wider(pages):
    for outcome, _, _ in pages.values():
        assert (
            outcome.shuffle_result.unshuffled_error <= outcome.shuffle_result.estimate.standard_error * (1 + 1e-9)
        ).all()


def test_the_page_names_people_with_the_chances_of_the_plan(tmp_path):
    rows = [[person % 40, "Yes" if person % 3 else "No"] for person in range(400)]
    _, page, _ = page_of(tmp_path, rows, names=("age", "cheated"), alpha=60.0, columns=["age"], radius=2.0)
    ages = np.array([[row[0]] for row in rows], dtype=float)
    grouping = Grouping(Groups.from_radius(ages, 2.0), ages)
    task = Task.from_dict(
        task_with(public=["age"], shuffler={"kind": "mallows", "alpha": 60.0}, groups={"columns": ["age"], "radius": 2})
    )
    named = plan(task, grouping=grouping).of_shuffle.promises.named
    for whose, chance in (("The least hidden person", named.most), ("Half of the people", named.half)):
        row = next(each for each in page.all("tr") if each.text.strip().startswith(whose))
        assert f"at most {percent(chance, 'at most')}" in row.text
    assert "nothing is promised" not in page.text  # of the largest group alone, at so large an alpha


def test_what_is_shown_of_few_people_is_inside_its_interval(pages):
    regions = pages["rows"][0].regions
    beyond = replace(regions, estimate=regions.estimate + 2 * np.resize([-1, 1], regions.estimate.size))
    shown = inside(beyond)
    assert shown.estimate.tolist() == [0.0, 1.0] * 30
    assert (shown.lower == beyond.lower).all()
    assert (shown.upper == beyond.upper).all()
    result = replace(pages["rows"][0].shuffle_result, estimate=beyond)
    blocks = places_section(replace(pages["rows"][0], shuffle_result=result)).blocks
    (table,) = [table for fold in blocks if isinstance(fold, Fold) for table in fold.blocks]
    assert {row[3].text for row in table.rows} == {"0.0%", "100.0%"}


def test_people_who_are_alone_are_counted(tmp_path):
    answers = write_csv(tmp_path / "people.csv", ["km", "cheated"], [[5 * km, "No"] for km in range(20)] + [[0, "Yes"]])
    task = Task.from_dict(
        task_with(public=["km"], shuffler={"kind": "auto", "alpha": 1.0}, groups={"columns": ["km"], "radius": 1.0})
    )
    (tmp_path / "out").mkdir()
    outcome = stages.run(task, answers, tmp_path / "out", source=SeededSource(1)).column
    write_page(outcome, tmp_path / "out")
    page = Page.read((tmp_path / "out" / "release.html").read_text(encoding="utf-8"))
    assert "19 of 21 people (90.5%) are alone in a block: their reports are not shuffled at all" in page.text
    assert "names the slot" not in page.text  # nothing is promised about a seeded run
    assert "WITHDRAWN" in page.text
    row = next(each for each in page.all("tr") if "Loss of the order inside a group" in each.text)
    assert "withdrawn" in row.text
    assert not any(letter.isdigit() for letter in row.text)
    assert outcome.to_dict()["mixing"]["alpha"] == "inf"
    assert "Read as odds" not in page.text + json.dumps(outcome.to_dict())
    ElementTree.fromstring((tmp_path / "out" / "places.svg").read_bytes())  # noqa: S314


def page_of(folder, rows, *, names=("lat", "lon", "cheated"), alpha=2.0, **groups):
    """The outcome, the page and its files, of rows whose last entry is the answer."""
    answers = write_csv(folder / "people.csv", list(names), rows)
    task = Task.from_dict(
        task_with(public=list(names[:-1]), shuffler={"kind": "mallows", "alpha": alpha}, groups=groups)
    )
    (folder / "out").mkdir()
    outcome = stages.run(task, answers, folder / "out").column
    files = write_page(outcome, folder / "out")
    return outcome, Page.read((folder / "out" / "release.html").read_text(encoding="utf-8")), files


def test_a_map_says_which_answer_it_shows_and_has_intervals_beside_no_shuffling(pages):
    outcome, page, files = pages["map"]
    assert {"places.svg", "places-intervals.svg"} <= set(files)
    captions = " ".join(each.text for each in page.all("figcaption"))
    assert "Lines: 95% intervals of this release." in captions
    shares = outcome.release.estimate
    second = 1  # of two answers the second is drawn, whatever the estimates are
    assert f"Blue: above {100 * shares.estimate[second]:.4g}%, the estimate for everybody" in captions
    shown = [each.text for each in page.all("svg")]
    assert sum(f"cheated: {shares.target[second]}, share of people" in text for text in shown) >= 4
    for way in ("line", "rows"):
        assert any(", share of people" in each.text for each in pages[way][1].all("svg"))


def test_every_output_has_the_errors_that_there_would_be_without_shuffling(pages):
    for outcome, page, _ in pages.values():
        rows = [row for row in outcome.to_dict()["estimates"] if "where" in row]
        assert [row["unshuffled_error"] for row in rows] == outcome.shuffle_result.unshuffled_error.tolist()
        assert all(0 < row["unshuffled_error"] <= row["standard_error"] for row in rows)
        ratio = outcome.shuffle_result.estimate.standard_error / outcome.shuffle_result.unshuffled_error
        assert ("\u00b1" in page.text) == (np.median(ratio) >= 1.05)


def test_that_everything_is_mixed_is_said_before_the_chart(tmp_path):
    rows = [[person % 40, "Yes" if person % 3 else "No"] for person in range(400)]
    outcome, page, _ = page_of(tmp_path, rows, names=("age", "cheated"), alpha=0.01, columns=["age"], radius=4.0)
    assert outcome.shuffle_result.mixing.mixes_all
    warning = page.text.index("The shuffle mixes almost everybody with everybody.")
    assert warning < page.text.index("Band: 95% intervals")
    assert "can be compared" not in page.text
    assert "stay near their senders" not in page.text


def test_distant_people_are_not_drawn_and_the_frame_follows_the_others(tmp_path):
    village = [
        [48 + town / 50, 9 + town / 50, "Yes" if person % 2 else "No"] for town in range(40) for person in range(20)
    ]
    hermits = [[60 + number, -10 - 3 * number, "No"] for number in range(8)]
    outcome, page, _ = page_of(tmp_path, village + hermits, columns=["lat", "lon"], metric="haversine", radius=5.0)
    assert outcome.shuffle_result.left_out == 8
    assert len(outcome.shuffle_result.people) == 40
    assert max(place["lat"] for place in outcome.shuffle_result.estimate.where) < 50
    assert len(outcome.shuffle_result.estimate.target) == len(outcome.shuffle_result.unshuffled_error) == 80
    assert "8 people are at places far from all others with too few people to show" in page.text
    assert "The 8 people who are alone: the report stays in its slot" in page.text
    smallest = outcome.shuffle_result.hidden.by_smallest
    assert smallest is None or smallest.success >= outcome.shuffle_result.hidden.by_group.success


def test_where_everybody_is_in_one_group_the_page_says_so(tmp_path):
    answers = write_csv(tmp_path / "people.csv", ["town", "cheated"], [["A", "Yes"]] * 40 + [["A", "No"]] * 20)
    shuffler = {"kind": "mallows", "concentration": 0.2}
    task = Task.from_dict(task_with(public=["town"], shuffler=shuffler, groups={"column": "town"}))
    (tmp_path / "out").mkdir()
    outcome = stages.run(task, answers, tmp_path / "out").column
    write_page(outcome, tmp_path / "out")
    page = Page.read((tmp_path / "out" / "release.html").read_text(encoding="utf-8"))
    assert "Everybody is in everybody\u2019s group" in page.text


@pytest.mark.parametrize(("answers", "drawn"), [(2, ["b"]), (6, ["a", "b", "c", "d"])])
def test_the_answers_that_are_drawn_by_place_are_not_chosen_by_their_numbers(tmp_path, answers, drawn):
    names = list("abcdef"[:answers])
    draw = np.random.default_rng(4)
    rows = [[f"t{person % 4}", str(draw.choice(names))] for person in range(60)]
    randomizer = {"kind": "k-rr", "epsilon0": 2.0, "categories": names}
    task = Task.from_dict(
        task_with(
            public=["town"],
            shuffler={"kind": "mallows", "alpha": 2.0},
            groups={"column": "town"},
            randomizer=randomizer,
            release={"delta": 1e-3, "minimum_batch": 5},
        )
    )
    outcome = stages.run(task, write_csv(tmp_path / "people.csv", ["town", "cheated"], rows), tmp_path).column
    assert (outcome.regions.lower >= 0).all()
    assert (outcome.regions.upper <= 1).all()
    blocks = places_section(outcome).blocks
    charts = [each.chart for each in blocks if isinstance(each, Picture)]
    assert [chart.title for chart in charts] == [f"cheated: {name}, share of people, by place" for name in drawn]
    assert [chart.name for chart in charts] == ["places", "places-2", "places-3", "places-4"][: len(drawn)]
    said = " ".join(each.text for each in blocks if isinstance(each, Text))
    assert ("Drawn is the second of the two answers" in said) == (answers == 2)
    assert ("Drawn are the first 4 of 6 answers, in the order of the task" in said) == (answers == 6)
