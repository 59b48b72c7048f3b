"""Matrices of randomizers, and gain tables, from CSV files.

They are public, so errors may show their content.
"""

import csv
import io
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.channels import Channel
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.survey.section import read_whole

_LONGEST_FRACTION = 100  # characters
_TOLERANCE = 1e-9


def read_channel(path: Path) -> Channel:
    """Channel of a randomizer from a CSV table of probabilities: rows are inputs, columns outputs.

    There is no header. Entries are decimal numbers or fractions such as ``1/3``, separated by commas. Blank lines are
    skipped.

    Raises:
        InvalidParameterError: if there is no such file, it may not be read, or is larger than 64 MiB.
        InputDataError: if it is empty, rows are not of one length, an entry is not a number from 0 to 1,
            or a row does not sum to 1 (to 1e-9); the message names the line.
    """
    lines = _lines(path, "channel")
    if len(lines) < 2:
        raise InputDataError(f"{path} must have a row for each of two inputs or more; got {len(lines)} rows.")
    matrix = np.array(_numbers(path, lines))
    for (number, _), row in zip(lines, matrix, strict=True):
        if wrong := np.flatnonzero((row < 0) | (row > 1)).tolist():
            where = f"line {number}, entry {wrong[0] + 1}"
            raise InputDataError(f"{path} must hold probabilities from 0 to 1; {where} is none.")
        if abs(math.fsum(row) - 1) > _TOLERANCE:
            raise InputDataError(f"{path} must have rows that sum to 1; line {number} does not.")
    return Channel(matrix)


def read_gain(path: Path) -> NDArray[np.float64]:
    """Gain of each guess (row) for each value (column), from a CSV table without a header.

    The file is as in `read_channel`, with any numbers.
    """
    lines = _lines(path, "gain")
    if not lines:
        raise InputDataError(f"{path} must have a row for each guess; got none.")
    return np.array(_numbers(path, lines))


def _lines(path: Path, what: str) -> list[tuple[int, list[str]]]:
    """Nonblank rows with their line numbers, checked to have one length."""
    text = io.StringIO(_text(path, what), newline=None)
    try:
        lines = [(number, row) for number, row in enumerate(csv.reader(text), 1) if any(row)]
    except csv.Error:
        raise InputDataError(
            f"{path} must be CSV, with entries of at most {csv.field_size_limit()} characters."
        ) from None
    for number, row in lines:
        if len(row) != len(lines[0][1]):
            raise InputDataError(
                f"{path} must have rows of one length; got {len(row)} entries in line {number}, and "
                f"{len(lines[0][1])} before."
            )
    return lines


def _text(path: Path, what: str) -> str:
    try:
        return read_whole(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputDataError(f"{path} must be CSV, in UTF-8.") from None
    except OSError as error:
        raise InvalidParameterError(f"{what} must be a file that can be read; got {path}: {error.strerror}.") from None


def _numbers(path: Path, lines: list[tuple[int, list[str]]]) -> list[list[float]]:
    return [[_number(path, number, place, text) for place, text in enumerate(row, 1)] for number, row in lines]


def _number(path: Path, number: int, place: int, entry_text: str) -> float:
    text = entry_text.strip()
    try:
        entry = float(Fraction(text)) if "/" in text and len(text) <= _LONGEST_FRACTION else float(text)
        if not math.isfinite(entry):
            raise ValueError
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InputDataError(f"{path} must hold numbers; line {number}, entry {place} is none.") from None
    return entry
