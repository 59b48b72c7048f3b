"""The stages of a task on an engine: those of one machine, whose files they take and give; each refusal by name."""

import json
from collections import Counter
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from cli.running import refused, shuffledp, stub_pages, without_operator, write_task
from distributed.tables import job_on, key_file, task_with, write_table
from shuffledp.core.errors import BatchTooSmallError, InputDataError
from shuffledp.demo import write_survey
from shuffledp.distributed import analyze_on, kernels, randomize_on, run_on, shares, shuffle_on
from shuffledp.distributed.job_key import source_of
from shuffledp.distributed.kernels import ShareFacts
from shuffledp.distributed.shares import divide
from shuffledp.files import is_stage, stages
from shuffledp.files.parts_folder import PartsFolder
from shuffledp.files.table_files import table_files
from shuffledp.randomness.replayable import SeededSource
from shuffledp.survey import Task

pytestmark = pytest.mark.xdist_group("spark")  # one process, and one session, for all of them


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(shares, "_ROWS_OF_SHARE", 60)  # rows: 50 in a row group, so two of them in a share
    return write_table(tmp_path / "answers")


def values(folder) -> list[str]:
    return pq.read_table(folder)["value"].to_pylist()


def new(path):
    path.mkdir()
    return path


def randomized(session, table, place, task=None, **options):
    return randomize_on(session, task or task_with(), table_files([table]), new(place / "reports"), **options)


# ---- as one machine --------------------------------------------------------------------------------------------------


def test_stage_by_stage_is_the_whole_run_word_for_word(session, table, tmp_path):
    task, reports, view = task_with(people={"expected": 400}), tmp_path / "reports", tmp_path / "view"
    whole = run_on(session, task, table_files([table]), new(tmp_path / "whole"), seed=7, parts=3)
    first = randomized(session, table, tmp_path, task, seed=7)
    second = shuffle_on(session, task, reports, new(view), seed=7, parts=3)
    found = analyze_on(session, task, view, new(tmp_path / "out"))
    assert first.column.num_reports == second.column.num_reports == 300
    assert [path.name for path in sorted(view.iterdir())] == [
        "_parts.json",
        *(f"part-0000{n}.parquet" for n in range(3)),
    ]
    made = {name.partition("/")[2]: sha for name, sha in second.column.files.items() if "part-" in name}
    assert {f"release.parquet/{name}": sha for name, sha in made.items()}.items() <= whole.column.files.items()
    assert found.column.release.to_dict()["estimates"] == whole.column.release.to_dict()["estimates"]
    assert found.seeded
    mine = [without_operator(each.to_dict()) for each in whole.statements]
    assert [each.to_dict() for each in found.statements] == mine
    assert found.column.flow == whole.column.flow
    assert Counter(values(tmp_path / "out" / "release.parquet")) == Counter(values(view))
    assert values(tmp_path / "out" / "release.parquet") != values(view)  # in a fresh order: the key is another one


def test_one_machine_takes_what_the_engine_wrote_and_the_engine_what_one_machine_wrote(session, table, tmp_path):
    task = task_with()
    randomized(session, table, tmp_path)
    stages.shuffle(task, tmp_path / "reports", tmp_path / "view.parquet", source=SeededSource(3))
    found = analyze_on(session, task, tmp_path / "view.parquet", new(tmp_path / "out"))
    assert Counter(values(tmp_path / "view.parquet")) == Counter(values(tmp_path / "reports"))
    again = stages.analyze(task, tmp_path / "out" / "release.parquet", new(tmp_path / "again"))
    assert found.column.release.to_dict()["estimates"] == again.column.release.to_dict()["estimates"]
    assert [each.to_dict() for each in found.statements] == [each.to_dict() for each in again.statements]
    stages.randomize(task, table_files([table]), tmp_path / "one.parquet")
    shuffle_on(session, task, tmp_path / "one.parquet", new(tmp_path / "parts"), parts=2)
    assert Counter(values(tmp_path / "parts")) == Counter(values(tmp_path / "one.parquet"))


def test_the_commands_print_and_write_what_those_of_one_machine_do(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stub_pages(monkeypatch)
    write_survey(tmp_path, people=2000)
    on = ("--engine", "spark", "--seed", 3)
    printed = shuffledp("randomize", "task.toml", "--input", "survey.csv", "--output", "reports", *on)
    assert printed.err == ""
    assert printed.out == "2,000 reports randomized: reports. SEEDED: for experiments only; no privacy is promised.\n"
    one = shuffledp("shuffle", "task.toml", "--input", "reports", "--output", "one", "--seed", 3)
    printed = shuffledp("shuffle", "task.toml", "--input", "reports", "--output", "view", *on)
    assert printed.out == one.out.replace("one.", "view.", 1)
    assert shuffledp("shuffle", "task.toml", "--input", "reports", "--output", "view", *on, "--force").code == 0
    for name, further in (("first", ("--engine", "spark")), ("second", ())):
        assert shuffledp("analyze", "task.toml", "--input", "view", "--output", name, *further).code == 0
    first, second = (json.loads((tmp_path / name / "statement.json").read_text()) for name in ("first", "second"))
    assert first.pop("files").keys() != second.pop("files").keys()
    assert first == second
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_several_columns_are_each_in_folders_of_parts(session, table, tmp_path):
    mean = {"kind": "one-bit-mean", "epsilon0": 1.0, "lower": 0.0, "upper": 300.0}
    blocks = [
        {"column": "answer", "randomizer": task_with().to_dict()["randomizer"]},
        {"column": "number", "randomizer": mean},
    ]
    task = Task.from_dict({"name": "survey", "value": blocks, "release": {"delta": 1e-6}})
    randomized(session, table, tmp_path, task)
    shuffle_on(session, task, tmp_path / "reports", new(tmp_path / "views"))
    found = analyze_on(session, task, tmp_path / "views", new(tmp_path / "out"))
    again = stages.analyze(task, tmp_path / "views", new(tmp_path / "again"))
    assert found.to_dict()["statements"] == again.to_dict()["statements"]
    for name, column in found.columns.items():
        assert column.release.to_dict()["estimates"] == again.columns[name].release.to_dict()["estimates"]
    assert is_stage(tmp_path / "reports")
    assert is_stage(tmp_path / "views")
    (tmp_path / "views" / "answer.parquet" / "thesis.tex").touch()
    assert not is_stage(tmp_path / "views")


# ---- what parts say --------------------------------------------------------------------------------------------------


def test_reports_are_in_the_order_of_the_people_with_the_words_of_their_share(tmp_path, table):
    with key_file(tmp_path, 7) as key:
        job = job_on(tmp_path, task_with(), table, key, stage="randomize")
        for share in range(3):
            part, facts = kernels.keep(job, share)
            assert isinstance(facts, ShareFacts)
            one = tmp_path / f"one{share}.parquet"
            stages.randomize(
                task_with(), table / f"p{share}.parquet", one, source=source_of(key, 0, "randomize", share)
            )
            assert values(job.folder / part.name) == values(one)
            assert part.num_reports == facts.num_reports == 100


def test_a_share_without_rows_leaves_no_part(tmp_path, table):
    pq.write_table(pq.read_table(table / "p1.parquet").slice(0, 0), table / "p1.parquet")
    with key_file(tmp_path) as key:
        job = job_on(tmp_path, task_with(), table, key, stage="randomize")
        made = [each for share in range(len(job.shares)) for each in kernels.keep(job, share)]
    assert sum(each.num_reports for each in made if isinstance(each, ShareFacts)) == 200
    assert len(list(job.folder.iterdir())) == 2


def shares_task(**changes):
    protocol = {"kind": "split-and-mix", "epsilon": 20.0, "lower": 0, "upper": 300}
    written = {"name": "sums", "value": "number", "protocol": protocol, "release": {"delta": 1e-6}}
    return Task.from_dict({**written, "people": {"expected": 300}, **changes})


def test_reports_that_hide_nothing_are_for_their_owner_alone_and_in_their_rounds(session, table, tmp_path):
    task, place = shares_task(), tmp_path / "reports"
    found = randomized(session, table, tmp_path, task)
    assert found.column.is_secret
    parts = sorted(place.glob("part-*"))
    assert {part.stat().st_mode & 0o777 for part in parts} == {0o600}
    shuffle_on(session, task, place, new(tmp_path / "view"))
    found = analyze_on(session, task, tmp_path / "view", new(tmp_path / "out")).column.release.estimate
    assert abs(found.estimate[0] - 149.5) <= 8 * found.standard_error[0]
    turned = pq.read_table(parts[1]).slice(1)
    pq.write_table(turned, tmp_path / "turned.parquet")
    with key_file(tmp_path) as key:
        job = job_on(tmp_path, task, table, key, stage="shuffle")
        job = replace(job, given=PartsFolder.read(place).facts, shares=divide(tmp_path / "turned.parquet", ())[0])
        with pytest.raises(InputDataError, match=r"turned\.parquet must hold the reports of one person after another"):
            list(kernels.scatter(job, 0))


# ---- refused ---------------------------------------------------------------------------------------------------------


def test_a_part_that_is_another_one_than_its_list_says_is_refused(session, table, tmp_path):
    randomized(session, table, tmp_path)
    part = tmp_path / "reports" / "part-00001.parquet"
    pq.write_table(pq.read_table(part), part, compression="none")
    with pytest.raises(InputDataError, match=r"part-00001\.parquet must be the part that .*_parts\.json lists"):
        shuffle_on(session, task_with(), tmp_path / "reports", new(tmp_path / "view"))
    assert list((tmp_path / "view").iterdir()) == []


def test_reports_of_another_task_and_too_few_are_refused_before_spark_has_work(table, tmp_path):
    stages.randomize(task_with(), table_files([table]), tmp_path / "reports")
    with pytest.raises(InputDataError, match="must belong to the task"):
        shuffle_on(None, task_with(name="other"), tmp_path / "reports", new(tmp_path / "view"))
    few = task_with(release={"delta": 1e-6, "minimum_batch": 301})
    stages.randomize(few, table_files([table]), tmp_path / "few")
    with pytest.raises(BatchTooSmallError, match="got 300"):
        shuffle_on(None, few, tmp_path / "few", new(tmp_path / "none"))


def test_people_who_answer_twice_are_refused_by_the_stage_that_sees_them(session, table, tmp_path):
    again = pq.read_table(table / "p2.parquet").set_column(1, "number", [list(range(95, 195))])
    pq.write_table(again, table / "p2.parquet", row_group_size=50)
    with pytest.raises(InputDataError, match="100 of 300 rows repeat a person"):
        randomized(session, table, tmp_path, task_with(people={"id": "number"}))


@pytest.mark.parametrize("command", ["run", "randomize", "shuffle", "analyze"])
def test_an_output_that_exists_is_refused_before_spark_is_started(table, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shuffledp.distributed.session_at", None)
    write_task(tmp_path)
    new(tmp_path / "out")
    (tmp_path / "out" / "thesis.tex").touch()
    line = refused(2, command, "task.toml", "--input", "answers", "--output", "out", "--engine", "spark")
    assert "output must be a folder that does not exist yet" in line
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]
