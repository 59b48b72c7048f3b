"""Files of columns: CSV and Parquet as people write them, and as they are when something went wrong."""

import gzip
import os
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files import reading
from shuffledp.files.reading import CsvInMemory, guarded, read_batches

ANSWER = "SECRET-ANSWER-42"


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def csv_file(tmp_path):
    return lambda content, name="answers.csv": write(tmp_path / name, content)


def column(path, name="a", **options) -> list:
    return [value for batch in read_batches(path, [name], **options) for value in batch.column(name).to_pylist()]


def refusal(path, columns=("a",), error=InputDataError, **options) -> str:
    with pytest.raises(error) as caught:
        list(read_batches(path, list(columns), **options))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None, "an error that may quote a row is still attached"
    assert ANSWER not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


# ---- CSV ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\nx,1\ny,2\n", ["x", "y"]),
        ("a,b\r\nx,1\r\ny,2\r\n", ["x", "y"]),
        ("a,b\nx,1\ny,2", ["x", "y"]),
        ("\ufeffa,b\nx,1\n", ["x"]),
        ("b,a\n1,x\n2,y\n", ["x", "y"]),
        ('"a","b"\n"x, z","1"\n', ["x, z"]),
        ('a,b\n"say ""x""",1\n', ['say "x"']),
        ('a,b\n"two\nlines",1\ny,2\n', ["two\nlines", "y"]),
        ("a,b\n,1\nx,2\n", [None, "x"]),
        ('a,b\n"",1\nx,2\n', [None, "x"]),
        ("a,b\nx,1\n\n\ny,2\n\n", ["x", "y"]),
        ("\n\na,b\nx,1\n", ["x"]),
        ("a\nx\n\ny\n", ["x", None, "y"]),
        ("a,b\nNA,1\nnan,2\nNULL,3\n1.50,4\n", ["NA", "nan", "NULL", "1.50"]),
        ("a,b\n x ,1\n", [" x "]),
        ("a,b\n\u4e0d,1\n", ["\u4e0d"]),
        ('"two\nlines",a\n1,x\n', ["x"]),
        ("b;a\n1;x\n2;y, z\n", ["x", "y, z"]),
        ('\ufeff"a";b\r\n"x; y";1,5\r\n', ["x; y"]),
        ("b,c;a\n1,5;x\n", ["x"]),
        ("a,b;c\nx,1;2\n", ["x"]),
    ],
)
def test_csv_is_read_as_it_is_written(csv_file, content, expected):
    assert column(csv_file(content)) == expected


def test_compressed_csv_is_read(csv_file):
    content = gzip.compress(b"a,b\nx,1\n") + gzip.compress(b"y,2\n")
    assert column(csv_file(content, "answers.csv.gz")) == ["x", "y"]


@pytest.mark.parametrize("size", range(16, 40))
def test_blocks_may_end_anywhere(csv_file, monkeypatch, size):
    monkeypatch.setattr(reading, "_BYTES_AT_A_TIME", size)
    rows = [f"v{i}" if i % 3 else f"two\nlines {i}" for i in range(30)]
    path = csv_file("a,b\n" + "".join(f'"{row}",{i}\n' for i, row in enumerate(rows)))
    assert column(path) == rows
    assert len(list(read_batches(path, ["a"]))) > 3


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_batch_of_the_shortest_rows_is_bounded_too(csv_file, monkeypatch, line_end):
    monkeypatch.setattr(reading, "_ROWS_AT_A_TIME", 50)
    rows = ["x", "longer than the others", None, None, "y"] * 200
    path = csv_file("a\n" + "".join(f"{row or ''}{line_end}" for row in rows))
    batches = [batch.num_rows for batch in read_batches(path, ["a"])]
    assert max(batches) <= 51  # with the end of a row that began in the batch before
    assert column(path) == rows


def test_progress_is_told_after_each_batch(csv_file, monkeypatch):
    monkeypatch.setattr(reading, "_BYTES_AT_A_TIME", 16)
    told = []
    rows = column(csv_file("a,b\n" + "x,1\n" * 20), progress=lambda done, total: told.append((done, total)))
    assert len(rows) == 20
    assert told == sorted(told)
    assert told[-1] == (20, None)
    assert len(told) > 3


def test_an_empty_file_and_one_without_rows_are_refused(csv_file):
    assert "is empty" in refusal(csv_file(""))
    assert "is empty" in refusal(csv_file("\n\n"))
    assert "is empty: it has no rows" in refusal(csv_file("a,b\n"))
    assert "is empty" in refusal(csv_file("a,b"))
    assert "is empty" in refusal(csv_file(b"", "answers.parquet"))
    assert "is empty" in refusal(csv_file(gzip.compress(b""), "answers.csv.gz"))


@pytest.mark.parametrize(
    "content",
    ["b,c\n1,2\n", f"{ANSWER},x\n{ANSWER},y\n", "b;c\nx;1\n", f"# {ANSWER}\na,b\nx,1\n", "A,b\nx,1\n"],
)
def test_an_absent_column_is_named_and_the_columns_that_are_there_are_not(csv_file, content):
    text = refusal(csv_file(content))
    assert "(its first line must name the columns, separated by commas, semicolons or tabs); it lacks 'a'." in text
    assert text.endswith("not shown here, since they may be answers.")
    assert "'b'" not in text


def test_all_absent_columns_are_named_at_once_even_those_that_need_not_be_read(csv_file):
    path = csv_file("a,b\nx,1\n")
    assert "it lacks 'c', 'd'. Its columns are 'a', 'b'." in refusal(path, ["c"], present=["a", "d"])
    assert "it lacks 'c', 'd'. Its columns are 'a', 'b'." in refusal(path, ["c", "d"], present=["d", "a"])


def test_a_column_that_is_only_to_be_present_is_not_read(csv_file):
    batches = list(read_batches(csv_file("a,b\nx,1\n"), ["a"], present=["b"]))
    assert [batch.schema.names for batch in batches] == [["a"]]


def test_a_repeated_column_is_refused_only_if_the_task_names_it(csv_file):
    assert refusal(csv_file(f"a,b,a\n{ANSWER},1,2\n")).endswith("it has several of 'a'.")
    assert column(csv_file("a,b,b\nx,1,2\n")) == ["x"]


@pytest.mark.parametrize("lines", [1, 1000])
@pytest.mark.parametrize(("row", "fields"), [(ANSWER, 1), (f"{ANSWER},1,2", 3), (f'"{ANSWER}', 1)])
def test_a_row_with_other_fields_than_the_header_is_named_and_not_shown(csv_file, monkeypatch, lines, row, fields):
    monkeypatch.setattr(reading, "_BYTES_AT_A_TIME", 512)
    text = refusal(csv_file("a,b\n" + f"{ANSWER},1\n" * lines + row + "\n"))
    where = f"row {lines + 1} (counted from 1, without the header)"
    assert text.endswith(f"cannot be read: {where} has {fields} fields instead of 2.")


def test_a_quotation_mark_that_is_never_closed_is_refused(csv_file):
    assert "a quotation mark in it is never closed" in refusal(csv_file(f'a,b\nx,"1\n{ANSWER},2\n{ANSWER},3\n'))
    assert "a quotation mark in it is never closed" in refusal(csv_file(f'a\nx\n"{ANSWER}\ny\n'))


def test_a_field_longer_than_a_block_is_refused(csv_file, monkeypatch):
    monkeypatch.setattr(reading, "_BYTES_AT_A_TIME", 64)
    assert "cannot be read" in refusal(csv_file(f'a,b\nx,1\n"{ANSWER * 100}",2\n'))


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n" + ANSWER.encode() + b"\xff,1\n",
        b"\xff\xfe" + f"a,b\n{ANSWER},1\n".encode("utf-16-le"),
        f"a,b\nM\u00fcller {ANSWER},1\n".encode("latin-1"),
        b"a\xe9,a\n1,x\n",
    ],
)
def test_bytes_that_are_not_utf8_are_refused(csv_file, content):
    assert "cannot be read: it holds bytes that are not UTF-8 text; save it as CSV in UTF-8" in refusal(
        csv_file(content)
    )


@pytest.mark.parametrize("name", ["UTF-16LE", "UTF-16BE"])
@pytest.mark.parametrize("first", ["a,b\n", "\na;b\r\n"])
def test_utf16_without_a_mark_is_told_as_utf16(csv_file, name, first):
    text = refusal(csv_file(f"{first}{ANSWER},1\n".encode(name)))
    assert "its first line holds zero bytes, as text in UTF-16 does; save it as CSV in UTF-8" in text
    assert text.endswith(f"by iconv -f {name} -t UTF-8.")


def test_a_zero_byte_in_any_name_of_a_column_is_refused(csv_file):
    assert "its first line holds zero bytes" in refusal(csv_file(f"a,b\0c\n{ANSWER},1\n"))


@pytest.mark.parametrize("name", ["answers.csv", "answers.txt"])
def test_a_compressed_file_that_is_not_called_so_is_told_as_compressed(csv_file, name):
    content = gzip.compress(f"a,b\n{ANSWER},1\n".encode())
    words = "it is compressed by gzip; decompress it, or give it a name that ends in .gz."
    assert refusal(csv_file(content, name)).endswith(words)
    assert refusal(CsvInMemory(content)).endswith(words)


@pytest.mark.parametrize("line", ["sep=;\r\n", "\ufeffsep=,\n", "SEP=\t\n", '"sep=;"\n', "sep=|\n"])
def test_the_line_in_which_excel_is_told_the_separator_is_pointed_out(csv_file, line):
    text = refusal(csv_file(f"{line}a;b\n{ANSWER};1\n"))
    assert text.endswith("its first line is the 'sep=' of Excel, and not the names of the columns; delete that line.")


def test_damaged_compressed_files_are_refused(csv_file):
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i * i, i) for i in range(10_000)))
    for content in (whole[:-9], whole[: len(whole) // 2], whole[:15], b"a,b\nx,1\n", whole[:100] + whole[120:]):
        assert "cannot be read" in refusal(csv_file(content, "answers.csv.gz"))


@pytest.mark.parametrize(
    "content",
    [b"\x00" * 100, os.urandom(1000), b"a" * 3_000_000, b"PK\x03\x04" + b"\x00" * 60],
    ids=["zeros", "random", "letters", "zip"],
)
def test_what_is_no_table_at_all_is_refused(csv_file, content):
    refusal(csv_file(content))


# ---- Parquet --------------------------------------------------------------------------------------------------------


@pytest.fixture
def parquet_file(tmp_path):
    def write_table(table, name="answers.parquet", **options):
        pq.write_table(table, tmp_path / name, **options)
        return tmp_path / name

    return write_table


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_parquet_is_read_in_row_order_over_row_groups_and_batches(parquet_file, monkeypatch, kind):
    monkeypatch.setattr(reading, "_ROWS_AT_A_TIME", 7)
    rows = [f"v{i % 13}" if i % 5 else None for i in range(100)]
    told = []
    path = parquet_file(pa.table({"b": range(100), "a": pa.array(rows).cast(kind)}), row_group_size=30)
    assert column(path, progress=lambda done, total: told.append((done, total))) == rows
    assert column(path, encoded=["a"]) == rows
    assert told[-1] == (100, 100)
    assert max(batch.num_rows for batch in read_batches(path, ["a"])) == 7


def test_parquet_is_known_by_its_beginning_whatever_its_name(parquet_file):
    assert column(parquet_file(pa.table({"a": [1, 2]}), "answers.data")) == [1, 2]
    assert column(parquet_file(pa.table({"a": [1, 2]}), "answers.csv")) == [1, 2]


def test_what_pandas_and_polars_write_is_read(tmp_path):
    frame = {"a": ["x", None, "y"], "n": [1.0, None, 2.0], "t": [True, False, True]}
    pd.DataFrame(frame).to_parquet(tmp_path / "pandas.parquet")
    pl.DataFrame(frame).write_parquet(tmp_path / "polars.parquet")
    for name in ("pandas.parquet", "polars.parquet"):
        for key, values in frame.items():
            read = [None if value != value else value for value in column(tmp_path / name, key)]  # noqa: PLR0124
            assert read == values


def test_names_of_columns_may_have_dots_and_be_prefixes_of_each_other(parquet_file):
    path = parquet_file(pa.table({"a.b": [1], "a": [2], "a.b.c": [3]}))
    assert [column(path, name) for name in ("a", "a.b", "a.b.c")] == [[2], [1], [3]]


def test_absent_and_repeated_columns_of_parquet_are_refused(parquet_file):
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert refusal(parquet_file(twice)).endswith("it has several of 'a'.")
    text = refusal(parquet_file(pa.table({"b": [1]})), present=["c"])
    assert text.endswith("must have each column that the task names once; it lacks 'a', 'c'. Its columns are 'b'.")


def test_parquet_without_rows_is_refused(parquet_file):
    assert "is empty: it has no rows" in refusal(parquet_file(pa.table({"a": pa.array([], pa.string())})))


def secret_table(rows=2000):
    return pa.table({"a": [f"{ANSWER} {i % 50}" for i in range(rows)], "b": np.arange(rows)})


@pytest.mark.parametrize("compression", ["snappy", "none", "zstd"])
def test_a_truncated_parquet_file_is_refused_wherever_it_is_cut(parquet_file, compression):
    path = parquet_file(secret_table(), compression=compression)
    whole = path.read_bytes()
    for length in [1, 3, 4, 5, 8, 11, 12, *range(50, len(whole), len(whole) // 25), len(whole) - 4, len(whole) - 1]:
        text = refusal(write(path, whole[:length]))
        assert "it is not a whole Parquet file (truncated or damaged)" in text, length


@pytest.mark.parametrize("compression", ["snappy", "none"])
def test_bytes_changed_anywhere_in_a_parquet_file_never_show_what_it_holds(parquet_file, compression):
    path = parquet_file(secret_table(), compression=compression)
    whole = path.read_bytes()
    refused = []
    for start in range(4, len(whole) - 8, max(1, len(whole) // 150)):
        write(path, whole[:start] + bytes(byte ^ 0xA5 for byte in whole[start : start + 8]) + whole[start + 8 :])
        try:
            for batch in read_batches(path, ["a"]):
                guarded(path, batch.column("a").to_pylist)
        except InputDataError as error:
            refused.append(error)
    assert len(refused) >= 10
    for error in refused:
        assert ANSWER not in "".join(traceback.format_exception(error))
        assert error.__context__ is None


# ---- files that are none --------------------------------------------------------------------------------------------


def test_a_folder_an_absent_file_and_an_impossible_name_are_refused(tmp_path):
    for path, problem in (
        (tmp_path, "it is not a file"),
        (tmp_path / "absent.csv", "there is no such file"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        text = refusal(path, error=InvalidParameterError)
        assert text.startswith("input must be a file that can be read; got input=")
        assert text.endswith(f": {problem}.")


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "it is not a file" in refusal(tmp_path / "pipe", error=InvalidParameterError)


# ---- errors of others -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (pa.ArrowInvalid(f"CSV parse error: Row #3: Expected 2 columns, got 9: {ANSWER}"), "row 2"),
        (pa.ArrowInvalid(ANSWER), "damaged"),
        (OSError(f"Parquet magic bytes: {ANSWER}"), "not a whole Parquet file"),
        (KeyError(ANSWER), "damaged"),
        (UnicodeDecodeError("utf-8", ANSWER.encode(), 0, 1, ANSWER), "not UTF-8"),
        (MemoryError(ANSWER), "more memory"),
        (pa.ArrowMemoryError(ANSWER), "more memory"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_whatever_a_reader_raises_its_text_is_not_passed_on(tmp_path, error, reason):
    def step():
        raise error

    with pytest.raises(InputDataError) as caught:
        guarded(tmp_path, step)
    assert reason in str(caught.value)
    assert ANSWER not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_our_own_errors_pass_as_they_are(tmp_path):
    own = InputDataError("row 7")

    def step():
        raise own

    with pytest.raises(InputDataError) as caught:
        guarded(tmp_path, step)
    assert caught.value is own
