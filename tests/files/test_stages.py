"""From a table of answers to a release: the counts, the files, and the three stages for separate parties."""

import csv
import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import task_with, write_answers, write_csv
from files.whole import read_view
from shuffledp.core.errors import BatchTooSmallError, InputDataError
from shuffledp.core.statement_terms import Trust
from shuffledp.files import is_release, reading, stages
from shuffledp.files.parquet import read_facts
from shuffledp.survey import DataFlow, Task
from shuffledp.testing import SeededSource

TRUTHFUL = {"randomizer": {"epsilon0": 25.0}}  # a lie in 10^10 reports: what comes out is what went in


def task_of(**changes) -> Task:
    return Task.from_dict(task_with(**changes))


@pytest.fixture
def run(tmp_path):
    """Runs all stages at once; returns the outcome and its folder."""

    def run(task, answers, seed=1, name="out"):
        folder = tmp_path / name
        folder.mkdir()
        return stages.run(task, answers, folder, source=None if seed is None else SeededSource(seed)), folder

    return run


@pytest.fixture
def run_stages(tmp_path):
    """Runs the stages one by one, on files; returns what came of each."""

    def run_stages(task, answers, name="stages"):
        folder = tmp_path / name
        folder.mkdir()
        randomized = stages.randomize(task, answers, folder / "reports.parquet")
        shuffled = stages.shuffle(task, folder / "reports.parquet", folder / "view.parquet")
        (folder / "out").mkdir()
        return randomized, shuffled, stages.analyze(task, folder / "view.parquet", folder / "out"), folder

    return run_stages


def values(path) -> list:
    return pq.read_table(path).column("value").to_pylist()


# ---- estimates and counts -------------------------------------------------------------------------------------------


def test_estimates_of_nearly_truthful_reports_are_the_truth(tmp_path, run):
    outcome, _ = run(task_of(**TRUTHFUL), write_answers(tmp_path, ["No"] * 3 + ["Yes"]))
    assert outcome.column.release.estimate.target == ("No", "Yes")
    assert outcome.column.release.estimate.estimate == pytest.approx([0.75, 0.25], abs=1e-9)


def test_the_number_of_batches_does_not_matter(tmp_path, run, monkeypatch):
    answers = write_answers(tmp_path, ["No", "Yes", "Yes"] * 50)
    whole, _ = run(task_of(**TRUTHFUL), answers, name="whole")
    monkeypatch.setattr(reading, "_BYTES_AT_A_TIME", 64)
    parts, _ = run(task_of(**TRUTHFUL), answers, name="parts")
    assert parts.column.flow == whole.column.flow
    assert parts.column.release.estimate.estimate.tolist() == whole.column.release.estimate.estimate.tolist()


ANSWERS = ["No", "", "Yes", "?", "No"]
LISTED = {"missing_values": ["", "?"]}
FLOWS = [
    ({}, ["No", "Yes"], DataFlow(received=2, missing=0, released=2)),
    ({**LISTED, "missing": "drop"}, ANSWERS, DataFlow(received=5, missing=2, released=3)),
    ({**LISTED, "missing": "category"}, ANSWERS, DataFlow(received=5, missing=0, released=5)),
    ({"people": {"expected": 9}}, ["No", "Yes"], DataFlow(received=2, missing=0, released=2, expected=9)),
    ({"public": ["other"]}, ["No"], DataFlow(received=1, missing=0, released=1, detached=("other",))),
    ({"public": ["other"], "shuffler": {"kind": "none"}}, ["No"], DataFlow(received=1, missing=0, released=1)),
]


@pytest.mark.parametrize(("changes", "answers", "flow"), FLOWS, ids=lambda part: str(part)[:40])
def test_the_counts_are_right_at_once_and_stage_by_stage(tmp_path, run, run_stages, *, changes, answers, flow):
    task, file = task_of(**changes), write_answers(tmp_path, answers)
    assert run(task, file)[0].column.flow == flow
    randomized, shuffled, analyzed, _ = run_stages(task, file)
    assert randomized.column.flow == DataFlow(
        received=flow.received, missing=flow.missing, released=0, expected=flow.expected
    )
    assert randomized.column.num_reports == shuffled.column.num_reports == flow.released
    assert shuffled.column.flow == analyzed.column.flow == flow


def test_missing_answers_as_a_category_are_counted_like_any_other(tmp_path, run):
    task = task_of(**LISTED, missing="category", **TRUTHFUL)
    outcome, folder = run(task, write_answers(tmp_path, ANSWERS))
    assert outcome.column.release.estimate.target == ("No", "Yes", "(missing)")
    assert outcome.column.release.estimate.estimate == pytest.approx([0.4, 0.2, 0.4], abs=1e-9)
    assert Counter(values(folder / "release.parquet")) == {"No": 2, "Yes": 1, "(missing)": 2}


def test_remarks_say_what_the_counts_mean(tmp_path, run):
    task = task_of(missing="drop", people={"expected": 10})
    statement = run(task, write_answers(tmp_path, ["No", "", "Yes"]))[0].column.release.statements[0]
    assert "Who answered at all is not protected: the number of reports is public." in statement.remarks
    assert "Planned for 10 people; this is computed for the 2 reports that came." in statement.remarks
    plain = run(task_of(), write_answers(tmp_path, ["No", "Yes"]), name="plain")[0].column.release.statements[0]
    assert not any("Planned" in remark or "Who answered" in remark for remark in plain.remarks)


# ---- the smallest batch ---------------------------------------------------------------------------------------------


def test_a_batch_that_is_too_small_is_released_at_no_stage(tmp_path, run, run_stages):
    answers = write_answers(tmp_path, ["No", "", "Yes"])
    enough, demanding = ({"missing": "drop", "release": {"minimum_batch": size}} for size in (2, 3))
    assert run(task_of(**enough), answers)[0].column.flow.released == 2
    with pytest.raises(BatchTooSmallError, match=r"at least minimum_batch = 3 reports of column '.*'; got 2\. Nothing"):
        run(task_of(**demanding), answers, name="small")
    with pytest.raises(BatchTooSmallError):
        run_stages(task_of(**demanding), answers)
    assert not list((tmp_path / "small").iterdir())
    assert [path.name for path in (tmp_path / "stages").iterdir()] == ["reports.parquet"]


def test_the_analyst_checks_the_size_of_the_batch_again(tmp_path, run_stages, monkeypatch):
    task, answers = task_of(release={"minimum_batch": 3}), write_answers(tmp_path, ["No", "Yes"])
    with monkeypatch.context() as careless:
        careless.setattr("shuffledp.survey.columns.Column.require_batch", lambda *_: None)
        *_, folder = run_stages(task, answers)
    (folder / "again").mkdir()
    with pytest.raises(BatchTooSmallError):
        stages.analyze(task, folder / "view.parquet", folder / "again")
    assert not list((folder / "again").iterdir())


def test_nobody_at_all_is_too_small_a_batch(tmp_path, run):
    with pytest.raises(BatchTooSmallError, match="got 0"):
        run(task_of(missing="drop"), write_answers(tmp_path, ["", ""]))


# ---- the release ----------------------------------------------------------------------------------------------------


def test_a_release_is_exactly_the_view(tmp_path, run):
    task = task_of(public=["other"], people={"id": "id"}, **TRUTHFUL)
    rows = [[f"SECRET-ID-{i}", f"SECRET-PLACE-{i}", ["No", "Yes"][i % 2]] for i in range(200)]
    outcome, folder = run(task, write_csv(tmp_path / "a.csv", ["id", "other", "cheated"], rows))
    table = pq.read_table(folder / "release.parquet")
    assert table.column_names == ["value"]
    assert table.schema.metadata is None
    said = pq.read_metadata(folder / "release.parquet").metadata
    assert set(said) == {b"shuffledp", b"ARROW:schema"}
    assert json.loads(said[b"shuffledp"]) == read_facts(folder / "release.parquet").to_dict()
    view, facts = read_view(folder / "release.parquet", task)
    assert view.shuffle == outcome.column.model.shuffle
    assert len(view) == outcome.column.release.num_reports == 200
    assert facts.flow == outcome.column.flow
    written = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"SECRET" not in written


def test_the_order_of_a_release_is_not_the_order_of_the_input(tmp_path, run, run_stages):
    answers = ["No"] * 500 + ["Yes"] * 500
    file = write_answers(tmp_path, answers)
    *_, folder = run_stages(task_of(**TRUTHFUL), file)
    assert values(folder / "reports.parquet") == answers
    for path in (
        folder / "view.parquet",
        folder / "out" / "release.parquet",
        run(task_of(), file)[1] / "release.parquet",
    ):
        released = values(path)
        # In a random order the first half holds 250 of each, give or take 8.
        assert 150 < released[:500].count("No") < 350


def test_a_seed_repeats_a_run_and_no_seed_does_not(tmp_path, run):
    file = write_answers(tmp_path, ["No", "Yes"] * 100)
    first, again, other, secure, secure_again = (
        values(run(task_of(), file, seed, name)[1] / "release.parquet")
        for name, seed in [("a", 1), ("b", 1), ("c", 2), ("d", None), ("e", None)]
    )
    assert first == again
    assert len({tuple(released) for released in (first, other, secure, secure_again)}) == 4


def test_the_folder_of_a_release_holds_what_the_outcome_says(tmp_path, run):
    outcome, folder = run(task_of(), write_answers(tmp_path, ["No", "Yes"]))
    assert set(outcome.column.files) == {path.name for path in folder.iterdir()}
    assert set(outcome.column.files) == {"release.parquet", "estimates.csv", "statement.json"}
    assert outcome.column.with_files(folder, outcome.column.files).files == outcome.column.files
    assert is_release(folder)
    statement = json.loads((folder / "statement.json").read_text(encoding="utf-8"))
    assert statement == outcome.to_dict() | {"files": statement["files"]}
    assert set(statement["files"]) == {"release.parquet", "estimates.csv"}


def test_estimates_are_a_table_of_the_schema(tmp_path, run):
    outcome, folder = run(task_of(), write_answers(tmp_path, ["No", "Yes"] * 10), seed=None)
    with (folder / "estimates.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [list(row) for row in outcome.column.release.estimate.rows()]
    assert [float(row["estimate"]) for row in rows] == outcome.column.release.estimate.estimate.tolist()


def test_a_name_that_a_spreadsheet_would_run_is_written_as_text(tmp_path, run):
    names = ["=1+1", "+a", "-b", "@c", "-", "a=b", "=2", 'quoted "x", y', "-1.5"]
    task = task_of(randomizer={"categories": names})
    outcome, folder = run(task, write_answers(tmp_path, names), seed=None)
    text = (folder / "estimates.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["target"] for row in rows] == [
        "'=1+1", "'+a", "'-b", "'@c", "'-", "a=b", "=2", 'quoted "x", y', "-1.5"
    ]  # fmt: skip
    assert text.count('"frequency","') == len(names)
    assert [row["target"] for row in outcome.to_dict()["estimates"]] == names


@pytest.mark.parametrize("seed", [1, None])
def test_a_seed_marks_everything_that_is_written(tmp_path, run, seed):
    outcome, folder = run(task_of(), write_answers(tmp_path, ["No", "Yes"] * 300), seed=seed)
    seeded = seed is not None
    assert read_facts(folder / "release.parquet").seeded is seeded
    assert json.loads((folder / "statement.json").read_text())["seeded"] is seeded
    assert ("seeded" in (folder / "estimates.csv").read_text().splitlines()[0]) is seeded
    assert all((statement.withdrawn is not None) is seeded for statement in outcome.column.release.statements)
    assert all((statement.guarantee.is_trivial) is seeded for statement in outcome.column.release.statements)


# ---- stages ---------------------------------------------------------------------------------------------------------


def test_stages_give_what_a_run_gives_but_need_less_trust(tmp_path, run, run_stages):
    task = task_of(missing="drop", public=["other"], people={"expected": 100})
    file = write_answers(tmp_path, ["No", "", "Yes"] * 300)
    whole = run(task, file, seed=None)[0].to_dict()
    in_stages = run_stages(task, file)[2].to_dict()
    differing = {"estimates", "statements", "files"}
    assert list(in_stages) == list(whole)
    assert {key: in_stages[key] for key in in_stages if key not in differing} == {
        key: whole[key] for key in whole if key not in differing
    }
    assert [row.keys() for row in in_stages["estimates"]] == [row.keys() for row in whole["estimates"]]
    for staged, at_once in zip(in_stages["statements"], whole["statements"], strict=True):
        assert at_once["trust"] == [*staged["trust"], Trust.OPERATOR]
        assert staged | {"trust": None} == at_once | {"trust": None}


def test_a_seed_at_one_stage_marks_all_that_follow(tmp_path):
    task, answers = task_of(), write_answers(tmp_path, ["No", "Yes"] * 20)
    for name, sources in {"first": (SeededSource(1), None), "second": (None, SeededSource(1))}.items():
        folder = tmp_path / name
        folder.mkdir()
        randomized = stages.randomize(task, answers, folder / "reports.parquet", source=sources[0])
        shuffled = stages.shuffle(task, folder / "reports.parquet", folder / "view.parquet", source=sources[1])
        (folder / "out").mkdir()
        analyzed = stages.analyze(task, folder / "view.parquet", folder / "out")
        assert randomized.seeded is (name == "first")
        assert shuffled.seeded
        assert analyzed.column.release.seeded
        assert all(statement.withdrawn for statement in analyzed.column.release.statements)


def test_whoever_analyzes_a_run_again_must_trust_its_operator_still(tmp_path, run):
    task = task_of()
    first, folder = run(task, write_answers(tmp_path, ["No", "Yes"] * 20), seed=None)
    (tmp_path / "again").mkdir()
    again = stages.analyze(task, folder / "release.parquet", tmp_path / "again")
    assert again.column.release.statements == first.column.release.statements
    assert Trust.OPERATOR in again.column.release.statements[0].trust


def test_reports_carry_public_columns_only_where_the_shuffler_keeps_them(tmp_path, run_stages):
    file = write_answers(tmp_path, ["No", "Yes"] * 5)
    *_, folder = run_stages(task_of(public=["other"]), file, name="uniform")
    assert pq.read_table(folder / "reports.parquet").column_names == ["value"]
    *_, folder = run_stages(task_of(public=["other"], shuffler={"kind": "none"}), file, name="none")
    assert pq.read_table(folder / "reports.parquet").column_names == ["value", "public:other"]


def test_without_a_shuffle_public_columns_stay_beside_their_reports(tmp_path, run_stages):
    task = task_of(public=["label", "value", "public:x"], shuffler={"kind": "none"}, missing="drop", **TRUTHFUL)
    rows = [["a", 1, "", "No"], ["b", 2, "x", "Yes"], ["c", 3, "y", ""], ["d", 4, "z", "Yes"]]
    file = tmp_path / "a.parquet"
    columns = dict(zip(["label", "value", "public:x", "cheated"], zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table(columns), file)
    _, shuffled, analyzed, folder = run_stages(task, file)
    assert set(shuffled.column.files) == {"view.parquet", "view.labels.parquet"}
    assert {"release.parquet", "release.labels.parquet"} < set(analyzed.column.files)
    release = pq.read_table(folder / "out" / "release.parquet")
    assert release.column("label").to_pylist() == [0, 1, 2]
    assert release.column("value").to_pylist() == ["No", "Yes", "Yes"]
    beside = pq.read_table(folder / "out" / "release.labels.parquet")
    assert beside.to_pydict() == {"label": ["a", "b", "d"], "value": [1, 2, 4], "public:x": ["", "x", "z"]}
    assert read_facts(folder / "out" / "release.labels.parquet").content == "labels"


@pytest.mark.parametrize("name", ["label", "value", "public:x", "a.b", "", " "])
def test_the_private_column_may_have_any_name_but_none(tmp_path, run, name):
    file = write_csv(tmp_path / "a.csv", ["x", name], [["1", "No"], ["2", "Yes"]])
    if name:
        assert run(task_of(value=name), file)[0].column.flow.released == 2
    else:
        with pytest.raises(ValueError, match="not empty"):
            task_of(value=name)


def test_people_are_checked_and_their_names_go_nowhere(tmp_path, run_stages):
    task = task_of(people={"id": "person"})
    names = [["SECRET-1", "No"], ["SECRET-2", "Yes"]]
    *_, folder = run_stages(task, write_csv(tmp_path / "a.csv", ["person", "cheated"], names))
    assert not any(b"SECRET" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    twice = write_csv(tmp_path / "b.csv", ["person", "cheated"], [names[0], names[0]])
    with pytest.raises(InputDataError, match="1 of 2 rows repeat a person"):
        stages.randomize(task, twice, tmp_path / "reports.parquet")
    assert not (tmp_path / "reports.parquet").exists()
