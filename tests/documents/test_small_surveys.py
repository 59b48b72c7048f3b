"""What is said of few people: what is lost if fewer answer, what shuffling is worth, and what estimates tell."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli.running import shuffledp
from documents.outcomes import make_outcome
from shuffledp.core.estimates import Estimate
from shuffledp.documents.blocks import PAGE, TERMINAL, Role, Text
from shuffledp.documents.estimate_document import estimates_section
from shuffledp.documents.plans.plan_document import plan_document
from shuffledp.documents.release_document import column_document
from shuffledp.documents.words import wide_intervals
from shuffledp.protocols.strata.documents.strata_document import strata_sections
from shuffledp.survey import Task, plan
from shuffledp.survey.task_templates import FirstQuestion, task_text
from shuffledp.testing import SeededSource


def shares(epsilon0=2.0, **release):
    return Task.from_dict(
        {
            "name": "t", "value": "v", "release": {"delta": 1e-6, **release},
            "randomizer": {"kind": "k-rr", "epsilon0": epsilon0, "categories": ["No", "Yes"]},
        }
    )  # fmt: skip


def said(document):
    parts = (*document.promise.headline, *document.promise.meaning)
    return [block.text for block in parts if isinstance(block, Text) and TERMINAL in block.on and PAGE in block.on]


@pytest.mark.parametrize(("people", "least"), [(2, 2), (3, 2), (5, 3), (30, 15), (100, 50), (10_000, 5000)])
def test_a_new_task_loses_everything_only_if_less_than_half_of_those_expected_answer(people, least):
    asked = [FirstQuestion(columns=("v",), form="category", categories=(("No", "Yes"),))]
    for kind, shown in (("survey", least), ("walk", least), ("regions", min(max(people // 10, 2), 100))):
        assert f"\nminimum_batch = {shown}  #" in task_text(kind, asked, people=people)


def test_a_new_task_for_regions_of_unknown_sizes_is_released_for_thirty_people_in_three_regions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shuffledp("init", "--users", 30, "--kind", "regions", "--output", "task.toml").code == 0
    rows = [f"{region},Yes\n" for region, people in (("a", 12), ("b", 10), ("c", 8)) for _ in range(people)]
    Path("table.csv").write_text(f"region,answer\n{''.join(rows)}")
    assert shuffledp("run", "task.toml", "--input", "table.csv", "--output", "out", "--seed", 1).code == 0


def test_a_new_task_for_regions_of_a_table_loses_everything_only_if_half_of_the_smallest_is_missing(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = [f"{region},{'No' if n % 2 else 'Yes'}\n" for region, people in (("a", 12), ("b", 9)) for n in range(people)]
    Path("table.csv").write_text(f"region,answer\n{''.join(rows)}")
    assert shuffledp("init", "table.csv", "--value", "answer", "--kind", "regions", "--output", "task.toml").code == 0
    assert Task.read("task.toml").release.minimum_batch == 5
    assert Task.read("task.toml").people.expected == 21


def test_a_plan_of_strata_says_that_too_few_people_in_any_one_of_them_lose_everything():
    task = Task.from_dict(shares(minimum_batch=5).to_dict() | {"by": "region"})
    lines = said(plan_document(plan(task, 30)))
    lost = "If fewer than 5 people answer in any one region, everything is destroyed, and nothing is released."
    assert [line for line in lines if "destroyed" in line] == [lost]


@pytest.mark.parametrize("people", [0, 1])
def test_a_new_task_for_fewer_than_two_people_is_refused_since_its_plan_would_be(people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = shuffledp("init", "--users", people, "--output", "task.toml")
    assert made.code == 2
    assert f"users must be an integer that is 2 or more; got {people}." in " ".join(made.err.split())
    assert not Path("task.toml").exists()


def test_a_plan_says_what_is_lost_if_too_few_answer():
    sentence = "If fewer than 15 of the 30 expected answer, everything is destroyed, and nothing is released."
    assert sentence in said(plan_document(plan(shares(minimum_batch=15), 30)))
    assert not any("destroyed" in line for line in said(plan_document(plan(shares(), 30))))


@pytest.mark.parametrize(
    ("people", "shuffler", "little"), [(30, "uniform", True), (300, "uniform", False), (30, "none", False)]
)
def test_a_plan_says_where_shuffling_takes_less_than_a_tenth_off(people, shuffler, little):
    task = Task.from_dict(shares().to_dict() | {"shuffler": {"kind": shuffler}})
    planned = plan(task, people)
    lines = [line for line in said(plan_document(planned)) if "each device's own chance alone protects" in line]
    assert lines == ["Shuffling 30 reports takes less than a tenth off epsilon0 = 2: each device's own chance alone "
                     "protects."] * little  # fmt: skip
    if shuffler == "uniform":
        assert (planned.statements[0].guarantee.epsilon >= 0.9 * 2.0) is little


def test_a_release_measures_a_small_sample_by_its_exact_intervals():
    outcome = make_outcome([0] * 6, release={"delta": 1e-3})
    found = outcome.release.estimate
    points = f"{50 * (found.upper - found.lower).max():.0f}"
    lines = [block.text for block in estimates_section(outcome).blocks if isinstance(block, Text)]
    told = f"A small sample: 6 answers tell a share to about \N{PLUS-MINUS SIGN}{points} percentage points"
    assert sum(told in line for line in lines if "small sample" in line) == 2  # on the screen and on the page


def test_a_release_names_the_regions_where_it_tells_nothing():
    task = Task.from_dict(
        shares(minimum_batch=3).to_dict() | {"by": "region", "release": {"delta": 1e-3, "minimum_batch": 3}}
    )
    sizes = {"north": 2000, "south": 4}
    table = {
        "region": [name for name, size in sizes.items() for _ in range(size)],
        "v": ["No", "Yes"] * (sum(sizes.values()) // 2),
    }
    outcome = task.run(table, source=SeededSource(3)).column
    (section,) = [each for each in strata_sections(outcome) if each.anchor == "regions"]
    (danger,) = [each.text for each in section.blocks if isinstance(each, Text) and each.role is Role.DANGER]
    assert danger == (
        'This release tells nothing about "No (region south)" and "Yes (region south)": an interval there spans more '
        "than 50 percentage points."
    )
    assert wide_intervals(outcome.release.estimate) == ""


def estimate(lower, upper):
    ends = np.array([lower, upper]).T
    return Estimate(statistic="frequency", target=("No", "Yes")[: len(lower)], estimate=ends.mean(axis=1),
                    standard_error=np.full(len(lower), 0.1), interval=ends, num_reports=9)  # fmt: skip


def test_intervals_of_more_than_half_of_all_are_said_to_tell_nothing():
    assert wide_intervals(estimate([0.1, 0.2], [0.61, 0.8])) == (
        "This release tells nothing: every interval spans more than 50 percentage points."
    )
    assert wide_intervals(estimate([0.1, 0.2], [0.5, 0.8])) == (
        'This release tells nothing about "Yes": an interval there spans more than 50 percentage points.'
    )
    assert wide_intervals(estimate([0.25, 0.25], [0.75, 0.75])) == ""


def test_a_long_category_is_shortened_in_the_warning_about_wide_intervals():
    wide = replace(estimate([0.1, 0.2], [0.5, 0.8]), target=("No", "a" * 200))
    assert "tells nothing about " + '"' + "a" * 39 + '\N{HORIZONTAL ELLIPSIS}":' in wide_intervals(wide)


def test_a_release_that_tells_nothing_says_so_first_on_the_screen_and_the_page():
    (found,) = [block for block in estimates_section(make_outcome([0, 1] * 4, epsilon0=0.3)).blocks
                if isinstance(block, Text) and block.role is Role.DANGER]  # fmt: skip
    assert (found.text[:27], found.on) == ("This release tells nothing:", TERMINAL | PAGE)
    many = estimates_section(make_outcome([0, 1] * 500)).blocks
    assert not any(isinstance(block, Text) and block.role is Role.DANGER for block in many)


def test_a_collection_says_what_is_lost_and_that_shuffling_is_worth_little(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for role in ("shuffler", "analyzer"):
        assert shuffledp("keys", "new", "--role", role, "--output", f"{role}.pem").code == 0
    assert shuffledp("init", "--users", 30, "--output", "task.toml").code == 0
    made = shuffledp(
        "collect", "new", "task.toml", "--shuffler", "https://mixer.example", "--analyzer", "https://office.example",
        "--shuffler-key", "shuffler.pem.pub", "--analyzer-key", "analyzer.pem", "--closes", "9000-12-01",
        "--output", "survey.collection",
    )  # fmt: skip
    assert "If fewer than 15 of the 30 expected answer, everything is destroyed, and nothing is released.\n" in made.out
    assert "Shuffling 15 reports takes less than a tenth off epsilon0 = 1: each device's own chance" in made.out


@pytest.mark.parametrize(("epsilon0", "role"), [(6.0, "danger"), (4.0, "plain"), (3.0, None)])
def test_the_page_of_a_release_says_what_a_report_by_itself_tells(epsilon0, role):
    found = [block.role for section in column_document(make_outcome([0, 1] * 200, epsilon0=epsilon0)).sections
             for block in section.blocks if isinstance(block, Text) and "A report by itself is the true" in block.text
             and PAGE in block.on and TERMINAL in block.on]  # fmt: skip
    assert found == [role] * (role is not None)
