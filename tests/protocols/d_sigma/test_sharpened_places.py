"""Sharpened maps on a release: places are joined until the blur can be undone, and refused with a reason elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from cli.running import task_with, write_csv
from documents.outcomes import write_page
from documents.reading import Page
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.documents.blocks import Picture
from shuffledp.files import stages
from shuffledp.planning.mechanism_choice import expected_error
from shuffledp.protocols.d_sigma.analyzers.sharpened_regions import SharpenedAnalyzer, inverse_of
from shuffledp.protocols.d_sigma.documents.place_document import _opening, places_section
from shuffledp.protocols.d_sigma.files.sharpened_places import _joined, _named
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.planning.displacement_choice import mean_displacement
from shuffledp.protocols.d_sigma.planning.group_mixing import mixing_of
from shuffledp.protocols.d_sigma.planning.sharpened_cells import sharpened_cells
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.survey.groups import GroupsSection
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.survey import Task
from shuffledp.testing import SeededSource

PEOPLE = 3000
SHARES = (0.1, 0.8)  # of the answer Yes, in turn, by five kilometers of forty


def released(folder, *, radius=1.0, **shuffler):
    """The outcome of people along a line; with a radius below 1 nobody is in the group of people elsewhere."""
    km = np.arange(PEOPLE) * 40 // PEOPLE + 0.0  # 40 sites
    says = np.random.default_rng(3).random(PEOPLE) < np.where((km // 5) % 2, SHARES[1], SHARES[0])
    rows = [[at, "Yes" if yes else "No"] for at, yes in zip(km.tolist(), says, strict=True)]
    answers = write_csv(folder / "people.csv", ["km", "cheated"], rows)
    near = {"columns": ["km"], "radius": radius}
    task = Task.from_dict(task_with(public=["km"], shuffler={"kind": "noisy-sort", **shuffler}, groups=near))
    (folder / "out").mkdir()
    return stages.run(task, answers, folder / "out", source=SeededSource(5)).column


@pytest.fixture(scope="module")
def blurred(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sharp")
    return released(folder, alpha=480.0), folder / "out"


def test_sharpened_cells_are_about_their_people_where_slots_hold_those_of_others(blurred):
    outcome, _ = blurred
    rows = [row for row in outcome.shuffle_result.sharpened.rows() if row["target"] == "Yes"]
    assert len(rows) > 5
    displacement = outcome.shuffle_result.mixing.displacement
    assert outcome.shuffle_result.sharpened.people.min() >= 2 * displacement
    assert outcome.shuffle_result.sharpened.people.sum() == PEOPLE
    pure = [
        (row, SHARES[int(row["where"]["km from"] // 5) % 2])
        for row in rows
        if "km from" in row["where"] and row["where"]["km from"] // 5 == row["where"]["km to"] // 5
    ]
    assert len(pure) > 8
    off = np.array([[row["displaced"] - share, row["estimate"] - share, row["standard_error"]] for row, share in pure])
    assert np.abs(off[:, 1] / off[:, 2]).max() < 4
    assert np.sqrt((off[:, 1] ** 2).mean()) < np.sqrt((off[:, 0] ** 2).mean())


def test_page_and_statement_have_both_estimates(blurred):
    outcome, folder = blurred
    content = outcome.to_dict()
    assert content["sharpened"] == outcome.shuffle_result.sharpened.rows()
    write_page(outcome, folder)
    page = Page.read((folder / "release.html").read_text(encoding="utf-8"))
    assert "Sharpened estimates of cheated are about the people of a cell themselves" in page.text
    assert "In the slots" in page.text
    assert page.errors == []


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"alpha": 4.0}, "a cell would have to hold twice as many people, of 3,000"),
        ({"alpha": 60.0, "noise": "gaussian", "delta": 1e-6}, "Gaussian noise damps fine detail exponentially"),
    ],
)
def test_a_map_that_cannot_be_sharpened_is_refused_with_the_reason(tmp_path, keys, reason):
    outcome = released(tmp_path, **keys)
    assert reason in outcome.shuffle_result.sharpened.obstacle
    assert "sharpened" not in outcome.to_dict()
    write_page(outcome, tmp_path / "out")
    assert reason in Page.read((tmp_path / "out" / "release.html").read_text(encoding="utf-8")).text


def test_nothing_is_said_where_no_report_leaves_its_place(tmp_path):
    sharpened = released(tmp_path, radius=0.5, alpha=4.0).shuffle_result.sharpened
    assert (sharpened.obstacle, sharpened.rows()) == ("", [])


def test_cells_are_joined_along_the_order_until_they_hold_enough():
    assert _joined(np.array([30.0, 10.0, 20.0, 40.0, 50.0]), np.array([5, 4, 6, 9, 3]), 9.0).tolist() == [1, 0, 0, 1, 1]
    assert _joined(np.array([1.0, 0.0]), np.array([2, 2]), 9.0).tolist() == [0, 0]


def test_a_blur_that_leaves_nothing_is_refused():
    mixed = np.array([[0.52, 0.48], [0.48, 0.52]])
    with pytest.raises(UnsupportedModelError, match="stretches of the reference order"):
        inverse_of(mixed)
    with pytest.raises(UnsupportedModelError, match="stretches"):
        inverse_of(np.full((2, 2), 0.5))
    assert inverse_of(np.array([[0.9, 0.1], [0.1, 0.9]])) @ [[0.3], [0.7]] == pytest.approx(np.array([[0.25], [0.75]]))


def test_the_analyzer_refuses_gaussian_noise():
    groups = Groups.from_radius(np.arange(200), 3)
    shuffler = NoisySortShuffler(groups=groups, alpha=20.0, noise="gaussian", delta=1e-6, order=np.arange(200))
    with pytest.raises(UnsupportedModelError, match="Gaussian noise"):
        SharpenedAnalyzer(regions=np.arange(200) // 50, shuffler=shuffler)


def test_a_cell_is_called_by_its_ends_or_its_largest_place_and_never_by_nothing():
    assert _named([{"km": 3.0}, {"km": 1.0}, {}], np.array([2, 1, 9])) == {"km from": 1.0, "km to": 3.0}
    assert _named([{"lat": 1.0, "lon": 2.0}, {"lat": 3.0, "lon": 4.0}], np.array([1, 2])) == {
        "lat": 3.0,
        "lon": 4.0,
        "joined": "2 places",
    }
    assert _named([{"group": "a", "shuffled": "no"}], np.array([4])) == {"group": "a"}
    assert _named([{}], np.array([4])) == {"place": "elsewhere"}


def test_sharpened_cells_are_drawn_a_row_each(blurred):
    outcome, _ = blurred
    section = places_section(outcome)
    (chart,) = [
        block.chart for block in section.blocks if isinstance(block, Picture) and block.chart.name == "sharpened"
    ]
    cells = len(outcome.shuffle_result.sharpened.people)
    assert [len(panel.y.names) for panel in chart.panels] == [cells]


def test_where_nothing_leaves_its_group_it_is_not_said_that_most_reports_are_near():
    groups, section = Groups.from_labels(np.arange(400) // 40), GroupsSection(column="town")
    all_stay = mixing_of(groups, NoisySortShuffler(groups=groups, alpha=4.0))
    said = _opening(all_stay, section, 10)
    assert said.startswith("Reports stay in their senders\u2019 groups, so that 10 places can be compared.")
    assert "Most reports" not in said
    assert _opening(replace(all_stay, kept=0.99), section, 10).startswith("Most reports stay near their senders")


def test_a_plan_expects_no_less_error_of_sharpened_cells_than_a_release_states():
    """Mutant: randomizing alone counts, though whose answers land in a cell is chance too."""
    sort = NoisySortShuffler(groups=Groups.from_radius(np.arange(600), 5), alpha=4.0, order=np.arange(600))
    planned = sharpened_cells(sort, mean_displacement(sort))
    width = planned.people + 5  # the displacement is simulated anew
    cells = np.minimum(np.arange(600) // width, 600 // width - 1)
    randomizer, source = KaryRandomizedResponse(epsilon0=3.0, domain_size=2), SeededSource(1)
    view = sort.shuffle(randomizer.randomize(np.arange(600) % 2, source=source), source=source)
    analyzer = SharpenedAnalyzer(regions=cells, shuffler=sort)
    stated = max(row["standard_error"] for row in analyzer.estimate(analyzer.summarize(view)).rows())
    of_as_many = expected_error(randomizer.model, width)
    assert planned.stretched * of_as_many.standard_error < stated <= planned.error(of_as_many)
