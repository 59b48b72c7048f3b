"""Syn has the structure that it is named for, at three granularities, and is the same every time."""

import csv
import functools
import itertools

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.demo import LABELS, is_survey, make_survey, write_survey
from shuffledp.survey import Task

SURVEY = make_survey(20_000)
SHARE_OF_OWN = 0.8 + 0.2 / 8  # most people hold the label of their place; the others any label


def centers(labels) -> np.ndarray:
    """The middle of the people of each label."""
    return np.array([np.median(SURVEY.positions[SURVEY.labels == label], axis=0) for label in labels])


def share_nearest_to_own(labels) -> float:
    """Of the people who hold one of two labels, the share that is nearer to the middle of their own."""
    people = np.isin(SURVEY.labels, labels)
    distances = np.linalg.norm(SURVEY.positions[people, None] - centers(labels), axis=2)
    return float((np.take(labels, distances.argmin(axis=1)) == SURVEY.labels[people]).mean())


def test_there_are_eight_labels_two_of_each_color_warm_ones_first():
    assert len(set(LABELS)) == 8
    assert [label.split()[0] for label in LABELS] == ["light", "dark"] * 4
    assert [label.split()[1] for label in LABELS[::2]] == ["red", "orange", "blue", "green"]


def test_every_label_is_held_by_an_eighth():
    shares = np.bincount(SURVEY.labels, minlength=8) / 20_000
    assert shares == pytest.approx([1 / 8] * 8, abs=0.012)  # five standard errors


def test_warm_labels_are_on_the_left_and_cool_ones_on_the_right():
    left = SURVEY.positions[:, 0] < 0
    warm = SURVEY.labels < 4
    # Of the people of other labels, half are of the same warmth.
    assert (left == warm).mean() == pytest.approx(0.8 + 0.2 / 2, abs=0.015)


@pytest.mark.parametrize("cluster", [0, 1])
def test_in_each_cluster_two_crescents_reach_into_each_other(cluster):
    upper, lower = ([4 * cluster + 2 * crescent, 4 * cluster + 2 * crescent + 1] for crescent in (0, 1))
    middle = centers([*upper, *lower])
    left, right = middle[:, 0].min() - 1, middle[:, 0].max() + 1
    tops, bottoms = (np.isin(SURVEY.labels, labels) & own_place() for labels in (upper, lower))
    height = SURVEY.positions[:, 1]
    assert np.median(height[tops]) > 0 > np.median(height[bottoms])
    # No line divides them: the ends of each crescent lie beyond the middle of the other.
    assert (height[tops] < 0).mean() > 0.1
    assert (height[bottoms] > 0).mean() > 0.1
    assert left < SURVEY.positions[tops, 0].mean() < SURVEY.positions[bottoms, 0].mean() < right


@functools.cache
def own_place() -> np.ndarray:
    """The people who live where their label does: within a crescent's width of others who hold it."""
    near = np.empty(20_000, dtype=bool)
    for label in range(8):
        people = np.flatnonzero(SURVEY.labels == label)
        sample = SURVEY.positions[people]
        # Among 2500 people the label's own 2000 are dense; the 500 strays are spread over all eight places.
        neighbors = (np.abs(sample[:, None] - sample[None, :: len(sample) // 500]).max(axis=2) < 0.1).sum(axis=1)
        near[people] = neighbors > 5
    return near


@pytest.mark.parametrize("crescent", range(4))
def test_each_crescent_has_a_light_and_a_dark_half(crescent):
    light, dark = 2 * crescent, 2 * crescent + 1
    assert share_nearest_to_own([light, dark]) > 0.85


def test_the_three_granularities_are_nested():
    """Labels that agree in more binary digits live closer together: half, crescent, cluster."""
    middle = centers(range(8))
    distance = {pair: np.linalg.norm(middle[pair[0]] - middle[pair[1]]) for pair in itertools.combinations(range(8), 2)}
    across = [distance[pair] for pair in distance if pair[0] // 4 != pair[1] // 4]
    within = [distance[pair] for pair in distance if pair[0] // 4 == pair[1] // 4]
    assert np.mean(within) < np.mean(across) / 2
    assert max(distance[pair] for pair in distance if pair[0] // 2 == pair[1] // 2) < np.mean(across)


def test_places_do_not_determine_answers():
    """A person's place tells the label in about four of five cases, and never for certain."""
    cells = np.floor(SURVEY.positions / 0.35).astype(int)
    _, cell = np.unique(cells, axis=0, return_inverse=True)
    counts = np.zeros((cell.max() + 1, 8))
    np.add.at(counts, (cell.ravel(), SURVEY.labels), 1)
    assert 0.7 < counts.max(axis=1).sum() / 20_000 < SHARE_OF_OWN + 0.01


def test_the_same_seed_makes_the_same_people():
    again, other = make_survey(500), make_survey(500, seed=1)
    assert make_survey(500).labels.tolist() == again.labels.tolist()
    assert make_survey(500).positions.tolist() == again.positions.tolist()
    assert other.labels.tolist() != again.labels.tolist()


@pytest.mark.parametrize("people", [0, -1, 1.5, "many", True])
def test_people_are_counted_in_whole_numbers_from_one(people):
    with pytest.raises(InvalidParameterError, match="num_people must be an integer that is 1 or more"):
        make_survey(people)


def test_the_survey_is_written_with_a_task_that_fits_it(tmp_path):
    task_file, answers = write_survey(tmp_path, people=150)
    task = Task.read(task_file)
    survey = make_survey(150)
    with answers.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == [LABELS[label] for label in survey.labels]
    assert [[float(row["x"]), float(row["y"])] for row in rows] == pytest.approx(survey.positions, abs=5e-5)
    assert [row["person"] for row in rows] == [str(person) for person in range(150)]
    assert task.column.randomizer.targets == LABELS
    assert (task.column.value, task.public, task.people.id, task.people.expected) == (
        "label",
        ("x", "y"),
        "person",
        150,
    )


def test_a_survey_is_recognized_only_as_it_was_written(tmp_path):
    task, answers = write_survey(tmp_path, people=150)
    assert is_survey(tmp_path)
    for path, old, new in (
        (task, "1e-6", "1e-5"),
        (task, "= 150", "= 151"),
        (task, "= 150", "= 0"),
        (answers, "1", "2"),
    ):
        before = path.read_text()
        path.write_text(before.replace(old, new, 1))
        assert not is_survey(tmp_path)
        path.write_text(before)
    task.write_bytes(b"\xff")
    assert not is_survey(tmp_path)
    task.unlink()
    assert not is_survey(tmp_path)
