"""The stages of a task for every kind of randomizer of categories: files in, files out, and refusals."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp.core.errors import InputDataError
from shuffledp.files import shuffling, stages
from shuffledp.survey import Task

KINDS = ("k-rr", "sue", "oue", "olh", "hadamard", "subset")
CATEGORIES = ["apple", "pear", "plum", "quince", "fig", "grape", "lime", "peach", "cherry"]
TRUTH = np.array([0.5, 0.25, 0.25, 0, 0, 0, 0, 0, 0])


def task(kind: str, shuffler: str = "uniform") -> Task:
    return Task.from_dict(
        {
            "name": "fruit",
            "value": "fruit",
            "randomizer": {"kind": kind, "epsilon0": 4.0, "categories": CATEGORIES},
            "shuffler": {"kind": shuffler},
            "release": {"delta": 1e-6},
        }
    )


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("fruit\n" + "apple\npear\nplum\napple\n" * 2000, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shuffler", ["uniform", "none"])
def test_three_stages_and_one_run_estimate_the_same_frequencies(kind, shuffler, answers, tmp_path):
    job = task(kind, shuffler)
    stages.randomize(job, answers, tmp_path / "reports.parquet")
    stages.shuffle(job, tmp_path / "reports.parquet", tmp_path / "view.parquet")
    for name in ("apart", "at-once"):
        (tmp_path / name).mkdir()
    apart = stages.analyze(job, tmp_path / "view.parquet", tmp_path / "apart")
    at_once = stages.run(job, answers, tmp_path / "at-once")
    for outcome in (apart, at_once):
        estimate = outcome.column.release.estimate
        assert estimate.target == tuple(CATEGORIES)
        assert (np.abs(estimate.estimate - TRUTH) < 6 * estimate.standard_error).all()


@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_every_kind_go_through_buckets_on_disk(kind, answers, tmp_path, monkeypatch):
    monkeypatch.setattr(shuffling, "_IN_MEMORY", 0)
    (tmp_path / "out").mkdir()
    outcome = stages.run(task(kind), answers, tmp_path / "out")
    estimate = outcome.column.release.estimate
    assert estimate.num_reports == 8000
    assert (np.abs(estimate.estimate - TRUTH) < 6 * estimate.standard_error).all()
    assert pq.read_metadata(tmp_path / "out" / "release.parquet").num_row_groups > 100


@pytest.mark.parametrize("kind", ["oue", "subset", "olh", "hadamard"])
def test_a_file_whose_reports_were_replaced_is_refused(kind, answers, tmp_path):
    job, path = task(kind), tmp_path / "reports.parquet"
    stages.randomize(job, answers, path)
    # What the file says about itself is kept; a table that is written anew has it in its schema.
    table = pq.read_table(path).replace_schema_metadata(pq.read_metadata(path).metadata)
    for name in table.column_names:
        place = table.column_names.index(name)
        for wrong in (pa.array([b"\xff\xff"] * len(table), pa.binary(2)), pa.array([2**62] * len(table))):
            pq.write_table(table.set_column(place, name, wrong), path)
            with pytest.raises(InputDataError, match="holds something else than reports of the task's randomizer"):
                stages.shuffle(job, path, tmp_path / "view.parquet")


def test_an_answer_outside_the_categories_is_refused_and_not_shown(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("fruit\napple\nmandrake\n", encoding="utf-8")
    for kind in KINDS:
        with pytest.raises(InputDataError, match=r"row 2 \(counted from 1") as caught:
            stages.run(task(kind), path, tmp_path)
        assert "mandrake" not in str(caught.value)
