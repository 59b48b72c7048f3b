"""A view in parts is read on one machine as one in a file, and refused if a part is another one, or is not there."""

import json

import pyarrow.parquet as pq
import pytest

from distributed.tables import done_here, job_on, key_file, task_with, write_table
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.distributed import engine
from shuffledp.files import stages
from shuffledp.files.reading import ProgressListener


@pytest.fixture
def released(tmp_path):
    """The outcome of a job by its kernels alone, and the folder of its view."""
    place, view = tmp_path / "out", tmp_path / "out" / "release.parquet"
    view.mkdir(parents=True)
    column = task_with().column
    with key_file(tmp_path) as key:
        job = job_on(tmp_path, task_with(), write_table(tmp_path / "answers"), key)
        facts, parts = done_here(job)
        for part in parts:
            (job.folder / part.name).rename(view / part.name)
    return engine._released(column, facts, parts, place, seeded=False, watch=ProgressListener()), view


def again(view, tmp_path):
    folder = tmp_path / "again"
    folder.mkdir()
    return stages.analyze(task_with(), view, folder).column


def test_one_machine_analyzes_a_view_in_parts(released, tmp_path):
    outcome, view = released
    found = again(view, tmp_path)
    assert found.release.to_dict()["estimates"] == outcome.release.to_dict()["estimates"]
    assert [each.to_dict() for each in found.statements] == [each.to_dict() for each in outcome.statements]
    assert found.flow == outcome.flow
    assert len(pq.read_table(view)) == 300  # as any reader of Parquet takes the folder


def test_a_part_that_is_another_one_is_refused(released, tmp_path):
    _, view = released
    pq.write_table(pq.read_table(view / "part-00001.parquet"), view / "part-00001.parquet", compression="none")
    with pytest.raises(InputDataError, match=r"part-00001\.parquet must be the part that .*_parts\.json lists"):
        again(view, tmp_path)


def test_a_part_that_is_not_there_is_refused(released, tmp_path):
    _, view = released
    (view / "part-00002.parquet").unlink()
    with pytest.raises(InvalidParameterError, match="there is no such file"):
        again(view, tmp_path)


@pytest.mark.parametrize(
    "change",
    [lambda said: said.update(parts=[]), lambda said: said["parts"][0].update(name="../x"), lambda said: said.clear()],
)
def test_what_says_too_little_or_names_other_folders_is_refused(released, tmp_path, change):
    _, view = released
    said = json.loads((view / "_parts.json").read_text())
    change(said)
    (view / "_parts.json").write_text(json.dumps(said))
    with pytest.raises(InputDataError, match=r"a folder of parts with its _parts\.json"):
        again(view, tmp_path)


def test_a_list_of_fewer_parts_is_no_whole_view(released, tmp_path):
    _, view = released
    said = json.loads((view / "_parts.json").read_text())
    said["parts"].pop()
    (view / "_parts.json").write_text(json.dumps(said))
    with pytest.raises(InputDataError, match="another number of reports than it holds"):
        again(view, tmp_path)
