"""What pages, screens and plans say of regions, weights, and the strata that these divide people into."""

import numpy as np
import pytest

from cli.running import shuffledp, task_with, write_csv, write_task
from documents.outcomes import write_page
from documents.reading import Page
from shuffledp.documents.document import Document
from shuffledp.documents.terminal import whole_lines
from shuffledp.files import stages
from shuffledp.protocols.strata.documents.strata_document import strata_sections
from shuffledp.survey import Task

REGIONS = [f"<i>region {number}</i>" for number in range(16)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixteen regions of 60 to 75 people, of which ever more say yes."""
    folder = tmp_path_factory.mktemp("strata")
    rows = [
        [name, 1.0 + person % 3, "Yes" if person % 24 < number else "No"]
        for number, name in enumerate(REGIONS)
        for person in range(60 + number)
    ]
    write_csv(folder / "people.csv", ["region", "w", "cheated"], rows)
    return folder


@pytest.fixture(scope="module")
def outcome(folder):
    task = Task.from_dict(task_with(by="region", weight="w", weight_classes=3, randomizer={"epsilon0": 6.0}))
    (folder / "out").mkdir()
    return stages.run(task, folder / "people.csv", folder / "out").column


def screen_of(outcome, **options) -> str:
    """What a terminal shows of regions and strata."""
    return whole_lines(Document(sections=tuple(strata_sections(outcome))), **options)


def test_the_page_draws_regions_in_order_and_lists_regions_and_strata(folder, outcome):
    files = write_page(outcome, folder / "out")
    page = Page.read((folder / "out" / "release.html").read_text(encoding="utf-8"))
    assert page.errors == []
    assert "regions.svg" in files
    assert {"regions", "strata"} <= {each.attributes["id"] for each in page.all("section")}
    assert page.all("i") == []
    smallest = min(outcome.shuffle_result.sizes)
    for said in (
        "Estimates by region",
        "What people in each region answered. Each interval by itself covers the truth about these people",
        "All 32 estimates as a table",
        f"All {len(outcome.shuffle_result.sizes)} strata as a table",
        f"Each region and class of w is shuffled by itself: 48 strata of {smallest} to 25 people",
        "Everybody counts by w, rounded to the mean of a class, of which there are at most 3 of a region.",
        "by a uniform shuffle inside each of 48 strata",
        "each marked with its stratum",
        'Each report is released beside "region" and "w" of its stratum.',
        f"This is about the smallest of 48 strata, of {smallest} people; nobody's guarantee is weaker.",
        "The people counted here are those of the smallest stratum, who are hidden least.",
        f"one of {smallest} people of the smallest stratum",
        "1,080 reports about the private column cheated",
        "Estimated frequency (weighted)",
    ):
        assert said in page.text, said
    drawn = (folder / "out" / "regions.svg").read_text(encoding="utf-8")
    assert drawn.index("region 0") < drawn.index("region 8") < drawn.index("region 15")  # of the first answer, No


def test_the_screen_shows_both_answers_in_the_regions_with_most_people(outcome):
    screen = screen_of(outcome)
    rows = screen[screen.index("cheated, share of people, by region") :].splitlines()
    assert rows[1].split() == ["answer", "region", "people", "estimate", "95%", "interval"]
    assert [row.split()[0] for row in rows[2:26]] == ["No"] * 12 + ["Yes"] * 12
    assert "region 3" not in screen
    assert rows[26] == "Shown are the 12 of 16 regions with most people; estimates.csv has all."
    assert "48 strata of" in screen


def test_what_rounding_may_change_is_said_as_a_detail_and_on_the_page(folder, outcome):
    assert outcome.model.shuffle.rounding == 0
    assert "Rounding changes nobody's weight" in screen_of(outcome, detail=True)
    task = Task.from_dict(task_with(by="region", weight="w", weight_classes=2))
    (folder / "rounded").mkdir()
    rounded = stages.run(task, folder / "people.csv", folder / "rounded").column
    assert rounded.model.shuffle.rounding == pytest.approx(1 / 12)
    assert "Rounding moves 8.4% of the weight at most" in screen_of(rounded, detail=True)
    assert "Rounding moves" not in screen_of(rounded)


def test_a_plan_says_which_strata_there_will_be_or_how_small_one_may_be(folder):
    task = write_task(folder, by="region", weight="w", weight_classes=3, release={"minimum_batch": 20})
    known = shuffledp("plan", task, "--input", folder / "people.csv").out
    assert "48 strata of 20 to 25 people" in known
    assert "In the smallest region, of 60 people, errors are about 4.2 times those of everybody below." in known
    unknown = shuffledp("plan", task, "--users", 2000).out
    assert "What is stated here is for a smallest stratum of 20 people, the minimum_batch" in unknown
    assert "Weights that differ make errors larger than what is said below." in unknown
    assert shuffledp("plan", task, "--users", 2000, "--json").json["strata"]["num_strata"] is None


def test_too_small_strata_are_refused_by_plan_and_run_with_the_code_for_too_few(folder):
    task = write_task(folder, by="region", release={"minimum_batch": 62})
    for command in (["plan"], ["run", "--output", folder / "none"]):
        result = shuffledp(command[0], task, "--input", folder / "people.csv", *command[1:])
        assert result.code == 4
        assert "2 of 16 strata have fewer, the smallest 60 (in region '<i>region 0</i>')" in result.err
    assert not (folder / "none").exists()


def test_leakage_and_accounts_are_of_the_smallest_stratum(folder):
    task = write_task(folder, by="region", release={"minimum_batch": 60})
    by_input = shuffledp("leakage", task, "--input", folder / "people.csv", "--json").json
    assert by_input["num_users"] == np.sum([60 + number for number in range(16)])
    assert by_input["hypotheses"][0] == "of these the 60 who are hidden least"
    account = shuffledp("account", task, "--users", 1080, "--json").json
    assert account["statements"][0]["basis"]["theorem"] == "strata"


def test_means_by_region_are_drawn_in_their_own_units(folder):
    rows = [[f"r{person % 3}", person % 3 + person % 2] for person in range(300)]
    write_csv(folder / "numbers.csv", ["region", "cheated"], rows)
    randomizer = {"kind": "one-bit-mean", "epsilon0": 20.0, "lower": 0.0, "upper": 4.0, "categories": None}
    task = Task.from_dict(task_with(by="region", randomizer=randomizer))
    (folder / "means").mkdir()
    screen = screen_of(stages.run(task, folder / "numbers.csv", folder / "means").column)
    rows = screen[screen.index("cheated, mean, by region") :].splitlines()[2:5]
    assert [row.split()[0] for row in rows] == ["r0", "r1", "r2"]
