"""The matrix of a randomizer, and a gain, from a file."""

import numpy as np
import pytest

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files import read_channel, read_gain


def file(folder, text):
    path = folder / "matrix.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text", ["0.75,0.25\n0.25,0.75\n", "3/4,1/4\n1/4,3/4", '\ufeff 0.75 , 2.5e-1\r\n\r\n0.25,"0.75"\r\n']
)
def test_rows_are_inputs(tmp_path, text):
    assert np.array_equal(read_channel(file(tmp_path, text)).matrix, [[0.75, 0.25], [0.25, 0.75]])


def test_an_output_that_one_input_never_gives_is_allowed(tmp_path):
    assert read_channel(file(tmp_path, "1,0\n0.5,0.5\n")).epsilon() == np.inf


def test_thirds_sum_to_one(tmp_path):
    assert read_channel(file(tmp_path, "1/3,1/3,1/3\n0.2,0.2,0.6\n")).matrix.shape == (2, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a row for each of two inputs or more; got 0 rows"),
        ("0.5,0.5\n", "got 1 rows"),
        ("0.5,0.5\n0.5,0.4\n", "rows that sum to 1; line 2 does not"),
        ("0.5,0.5\n\n0.5,0.6\n", "line 3 does not"),
        ("0.5,0.5\n0.3,0.3,0.4\n", "rows of one length; got 3 entries in line 2, and 2 before"),
        ("a,b\n0.5,0.5\n", "must hold numbers; line 1, entry 1 is none"),
        ("0.5,\n0.5,0.5\n", "must hold numbers; line 1, entry 2 is none"),
        ("0.5,1/0\n0.5,0.5\n", "must hold numbers; line 1, entry 2 is none"),
        ("0.5,nan\n0.5,0.5\n", "must hold numbers; line 1, entry 2 is none"),
        ("1.5,-0.5\n0.5,0.5\n", "probabilities from 0 to 1; line 1, entry 1 is none"),
        ("0.5,0.5\n-0.1,1\n", "probabilities from 0 to 1; line 2, entry 1 is none"),
    ],
)
def test_what_is_no_channel_is_refused_with_its_place(tmp_path, text, message):
    with pytest.raises(InputDataError, match=message):
        read_channel(file(tmp_path, text))


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="channel must be a file that can be read"):
        read_channel(tmp_path / "none.csv")
    with pytest.raises(InvalidParameterError, match="channel must be a file that can be read"):
        read_channel(tmp_path)
    path = tmp_path / "matrix.csv"
    path.write_bytes(b"\xff\xfe0\x00")
    with pytest.raises(InputDataError, match="UTF-8"):
        read_channel(path)


def test_a_gain_holds_any_numbers_and_blank_lines_are_skipped(tmp_path):
    path = tmp_path / "gain.csv"
    path.write_text("1, -2\n\n1/2,3e2\n", encoding="utf-8")
    assert read_gain(path).tolist() == [[1.0, -2.0], [0.5, 300.0]]


@pytest.mark.parametrize("content", ["", "1,2\n3\n", "1,nan\n", "1,inf\n", "1,x\n", "1/0,1\n"])
def test_what_is_no_gain_is_refused(content, tmp_path):
    path = tmp_path / "gain.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputDataError, match=r"gain\.csv must (have|hold)"):
        read_gain(path)
