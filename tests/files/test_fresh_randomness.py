"""Nothing that draws repeats its randomness when it is called again in the same thread, without a source of its own."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from cli.running import write_csv
from shuffledp.analyzers import MeanAnalyzer
from shuffledp.files import stages
from shuffledp.files.shuffling import ReportSpool
from shuffledp.pipeline import Pipeline
from shuffledp.randomizers import DiscreteLaplaceMean
from shuffledp.shufflers import UniformShuffler
from shuffledp.survey import Task

NUM_PEOPLE = 600
NOISY = {"kind": "laplace-mean", "epsilon0": 0.1, "lower": 0.0, "upper": 1.0}
TASK = Task.from_dict(
    {
        "name": "twice",
        "value": [{"column": name, "randomizer": NOISY} for name in ("first", "second")],
        "release": {"delta": 1e-6},
    }
)
PIPELINE = Pipeline(
    randomizer=DiscreteLaplaceMean(epsilon0=0.1, lower=0.0, upper=1.0),
    shuffler=UniformShuffler(),
    analyzer=MeanAnalyzer(),
)


def agreement(first, second):
    """The share of rows that hold the same in both: about 1 in 20,000 by chance, all of them if words are repeated."""
    return np.mean(np.asarray(first) == np.asarray(second))


def rows(path):
    return pq.read_table(path).column("value").to_numpy()


def files(folder, make):
    """The rows of every file that ``make`` writes when it is called twice, pair by pair."""
    for name in ("one", "two"):
        (folder / name).mkdir()
        make(folder / name)
    written = sorted(path.relative_to(folder / "one") for path in (folder / "one").rglob("*.parquet"))
    assert written
    return [(rows(folder / "one" / name), rows(folder / "two" / name)) for name in written]


@pytest.fixture
def answers(tmp_path):
    return write_csv(tmp_path / "answers.csv", ["first", "second"], [["0.5", "0.5"]] * NUM_PEOPLE)


@pytest.mark.parametrize(
    "make",
    [
        lambda answers, folder: stages.run(TASK, answers, folder),
        lambda answers, folder: stages.randomize(TASK, answers, folder),
        lambda answers, folder: stages.run(Task(TASK.columns[0]), answers, folder),
        lambda answers, folder: stages.randomize(Task(TASK.columns[0]), answers, folder / "reports.parquet"),
    ],
    ids=["run-joint", "randomize-joint", "run", "randomize"],
)
def test_the_same_answers_give_other_reports(tmp_path, answers, make):
    pairs = files(tmp_path, lambda folder: make(answers, folder))
    assert all(agreement(first, second) < 0.05 for first, second in pairs)
    once = [first for first, _ in pairs]
    assert all(agreement(once[0], column) < 0.05 for column in once[1:])


@pytest.mark.parametrize("joint", [False, True])
def test_the_same_reports_come_in_another_order(tmp_path, answers, joint):
    (tmp_path / "reports").mkdir()
    stages.randomize(TASK, answers, tmp_path / "reports")

    def make(folder):
        if joint:
            stages.shuffle(TASK, tmp_path / "reports", folder)
        else:
            stages.shuffle(Task(TASK.columns[0]), tmp_path / "reports" / "first.parquet", folder / "view.parquet")

    for first, second in files(tmp_path, make):
        np.testing.assert_array_equal(np.sort(first), np.sort(second))
        assert agreement(first, second) < 0.05


def test_a_pipeline_runs_and_simulates_afresh():
    values = [0.5] * NUM_PEOPLE
    views = [PIPELINE.run(values, delta=1e-6).view for _ in range(2)]
    assert agreement(*(view.reports["value"] for view in views)) < 0.05
    told = [PIPELINE.simulate(values) for _ in range(2)]
    assert agreement(*(each.reports["value"] for each in told)) < 0.05
    assert agreement(*(each.origins for each in told)) < 0.05


def test_buckets_on_disk_are_filled_afresh(tmp_path):
    reports = PIPELINE.randomizer.randomize([0.5] * NUM_PEOPLE)
    given = []
    for _ in range(2):
        with ReportSpool(tmp_path, in_memory=0) as spool:
            spool.add(reports)
            parts = list(spool.views(UniformShuffler().model(NUM_PEOPLE)))
        given.append([np.sort(part.reports["value"]).tolist() for part in parts])
    assert given[0] != given[1]
    assert len(given[0]) == pytest.approx(256 * (1 - (255 / 256) ** NUM_PEOPLE), abs=40)
