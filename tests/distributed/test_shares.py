"""How a table is divided: every row in one share, in order, as whole row groups or whole files of CSV."""

import pyarrow.parquet as pq
import pytest

from distributed.tables import write_table
from shuffledp.core.errors import InputDataError
from shuffledp.distributed import shares
from shuffledp.distributed.shares import divide, read_share
from shuffledp.files.table_files import table_files


def numbers(divided) -> list[list[int]]:
    return [
        [value for batch in read_share(share, ["number"]) for value in batch.column("number").to_pylist()]
        for share in divided
    ]


@pytest.mark.parametrize(("rows", "sizes"), [(1, [25] * 12), (30, [50] * 6), (100, [100] * 3), (110, [125, 175])])
def test_shares_are_whole_row_groups_of_enough_rows_in_order(tmp_path, monkeypatch, rows, sizes):
    monkeypatch.setattr(shares, "_ROWS_OF_SHARE", rows)
    divided, count = divide(table_files([write_table(tmp_path / "answers", groups=4)]), ["number"])
    found = numbers(divided)
    assert [len(each) for each in found] == sizes
    assert [number for each in found for number in each] == list(range(300))
    assert count == 300


def test_a_share_says_from_which_row_of_which_file_on_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(shares, "_ROWS_OF_SHARE", 50)
    divided, _ = divide(write_table(tmp_path / "answers", files=1, groups=4) / "p0.parquet", ["number"])
    assert [str(share).partition("answers/")[2] for share in divided] == [
        "p0.parquet, and 1 more",
        "p0.parquet from row 51 on, and 1 more",
    ]


def test_files_of_csv_are_whole_and_hold_at_most_so_many_rows(tmp_path, monkeypatch):
    folder = tmp_path / "answers"
    folder.mkdir()
    for file in range(3):
        (folder / f"p{file}.csv").write_text("number\n" + "".join(f"{file * 10 + row}\n" for row in range(10)))
    monkeypatch.setattr(shares, "_BYTES_OF_SHARE", 27)
    divided, count = divide(table_files([folder]), ["number"])
    assert numbers(divided) == [[str(n) for n in range(10 * file, 10 * file + 10)] for file in range(3)]
    assert count >= 30


def test_a_file_of_other_columns_is_refused_by_name(tmp_path):
    folder = write_table(tmp_path / "answers")
    other = pq.read_table(folder / "p1.parquet").rename_columns(["answer", "count", "place", "weight"])
    pq.write_table(other, folder / "p1.parquet")
    with pytest.raises(InputDataError, match=r"p1\.parquet must be as .*p0\.parquet is"):
        divide(table_files([folder]), ["answer"])
