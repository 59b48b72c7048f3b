"""Several files as one table: which they are, what is refused of them by name, and their rows in order."""

import resource
import traceback

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import refused, shuffledp, stub_pages, write_answers, write_task
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files.table_files import read_table, table_files

ANSWER = "SECRET-ANSWER-42"


@pytest.fixture
def table(tmp_path):
    """Makes the files of a folder, from texts and tables by name."""
    folder = tmp_path / "answers"
    folder.mkdir()

    def make(**files):
        for name, content in files.items():
            path = folder / name.replace("__", ".")
            if isinstance(content, pa.Table):
                pq.write_table(content, path)
            else:
                path.write_text(content)
        return folder

    return make


def rows(answers, **options) -> list:
    return [value for batch in read_table(answers, ["a"], **options) for value in batch.column("a").to_pylist()]


def refusal(*paths, error=InputDataError) -> str:
    with pytest.raises(error) as caught:
        rows(table_files(paths))
    assert caught.value.__context__ is None
    assert ANSWER not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_the_rows_of_a_folder_come_in_the_order_of_the_names(table):
    folder = table(p2__csv="b,a\n1,z\n", p10__csv="a,b\nx,1\ny,1\n", _SUCCESS="", __p3__crc="no table")
    assert rows(table_files([folder])) == ["x", "y", "z"]
    assert rows(table_files([folder / "p2.csv", folder / "p10.csv"])) == ["x", "y", "z"]


def test_parquet_may_be_dictionaries_in_one_file_and_tells_how_many_rows_there_are(table):
    plain = pa.table({"a": ["x", "y"]})
    folder = table(p1__parquet=plain, p2__parquet=pa.table({"a": plain.column("a").dictionary_encode()}))
    told = []
    assert rows(table_files([folder]), progress=lambda *done: told.append(done)) == ["x", "y"] * 2
    assert told == [(2, 4), (4, 4)]


def test_a_folder_of_one_file_is_that_file(table):
    folder = table(p1__csv="a\nx\n")
    assert table_files([folder]) == folder / "p1.csv"


def test_some_files_may_have_no_rows_but_not_all(table):
    folder = table(p1__csv="a,b\n", p2__csv="a,b\nx,1\n")
    assert rows(table_files([folder])) == ["x"]
    (folder / "p2.csv").write_text("a,b\n")
    assert refusal(folder) == "the input of 2 files is empty: it has no rows."


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ({"p2__csv": f"a\n{ANSWER}\n"}, "p1.csv is, both being of one table; its columns are others."),
        ({"p2__csv": f"a,c\n{ANSWER},1\n"}, "its columns are others."),
        ({"p2__csv": f"{ANSWER},1\n"}, "p2.csv must have each column that the task names once"),
        ({"p2__csv": ""}, "p2.csv is empty."),
        ({"p2__parquet": pa.table({"a": ["x"], "b": ["1"]})}, "it is Parquet, not CSV."),
    ],
)
def test_a_file_that_is_not_as_the_first_is_refused_by_name(table, second, problem):
    assert problem in refusal(table(p1__csv="a,b\nx,1\n", **second))


def test_a_column_of_another_type_is_refused_by_name(table):
    folder = table(p1__parquet=pa.table({"a": ["1"]}), p2__parquet=pa.table({"a": [1]}))
    message = refusal(folder)
    assert "p2.parquet must be as " in message
    assert "the type of column 'a' is int64, not string." in message


def test_folders_that_hold_no_table_are_refused(table):
    folder = table()
    assert "holds a file or more" in refusal(folder, error=InvalidParameterError)
    (folder / "day=1").mkdir()
    said = "it holds the folder 'day=1'; name each such folder by itself to take them all"
    assert said in refusal(folder, error=InvalidParameterError)


def test_no_file_counts_twice_by_whatever_name(table):
    folder = table(p1__csv="a\nx\n")
    (folder.parent / "other.csv").symlink_to(folder / "p1.csv")
    for other in (folder / "p1.csv", folder.parent / "other.csv"):
        assert "files that are all different" in refusal(folder, other, error=InvalidParameterError)


def test_a_file_that_is_not_there_is_refused(table):
    folder = table(p1__csv="a\nx\n")
    assert "there is no such file" in refusal(folder, folder / "p2.csv", error=InvalidParameterError)


def test_damage_found_while_reading_ahead_is_told_without_what_is_there(table):
    folder = table(p1__csv="a,b\nx,1\n", p2__csv=f"a,b\nx,1\n{ANSWER},1,2\n")
    assert "p2.csv cannot be read: row 2 " in refusal(folder)


def test_there_may_be_more_files_than_a_process_may_have_open(table):
    folder = table(**{f"p{n:03d}__parquet": pa.table({"a": [str(n)]}) for n in range(120)})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    try:
        assert len(rows(table_files([folder]))) == 120
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# ---- the commands ---------------------------------------------------------------------------------------------------


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A folder with a task and a table of two files."""
    monkeypatch.chdir(tmp_path)
    stub_pages(monkeypatch)
    write_task(tmp_path)
    (tmp_path / "answers").mkdir()
    for name in ("b.csv", "a.csv"):
        write_answers(tmp_path / "answers", ["No", "Yes"] * 50, name)
    return tmp_path


def test_a_folder_or_its_files_are_released_as_one_table(parts):
    whole = shuffledp("run", "task.toml", "--input", "answers", "--output", "out", "--seed", 1, "--json").json
    files = ("--input", "answers/b.csv", "--input", "answers/a.csv")
    again = shuffledp("run", "task.toml", *files, "--output", "again", "--seed", 1, "--json").json
    assert whole["flow"]["received"] == 200
    assert again == whole
    assert shuffledp("randomize", "task.toml", *files, "--output", "reports", "--json").json["num_reports"] == 200


def test_a_wrong_answer_is_told_by_its_row_in_all_files(parts):
    write_answers(parts / "answers", ["No", ANSWER], "b.csv")
    message = refused(3, "run", "task.toml", "--input", "answers", "--output", "out")
    assert "1 of 102 answers are something else: row 102 (counted from 1" in message
    assert ANSWER not in message


def test_standard_input_stands_alone(parts):
    refusal = refused(2, "run", "task.toml", "--input", "-", "--input", "answers", "--output", "out")
    assert refusal == "shuffledp: --input must be - alone, or files alone; got both.\n"


def test_no_output_lies_among_the_input(parts):
    message = refused(2, "randomize", "task.toml", "--input", "answers", "--output", "answers/reports.parquet")
    assert "output must be outside the folder of input" in message
    assert sorted(each.name for each in (parts / "answers").iterdir()) == ["a.csv", "b.csv"]


def test_a_part_that_could_not_be_written_is_told_and_leaves_nothing(parts, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "SECRET")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    message = refused(2, "randomize", "task.toml", "--input", "answers", "--output", "reports.parquet")
    assert "No space left on device" in message
    assert sorted(each.name for each in parts.iterdir()) == ["answers", "task.toml"]
