"""Matrices of randomizers and tables of gains from CSV files: public, so that errors may show what they hold."""

import csv
import io
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.channels import Channel
from shuffledp.core.errors import InputDataError, InvalidParameterError

_LONGEST_FRACTION = 100  # characters
_TOLERANCE = 1e-9
_LARGEST_FILE = 1 << 26


def read_channel(path: Path) -> Channel:
    """A randomizer as a table of probabilities: a row for each input, a column for each output, and no header.

    Entries are decimal numbers or fractions such as ``1/3``, separated by commas. Blank lines are skipped.

    Raises:
        InvalidParameterError: if there is no such file, or it may not be read.
        InputDataError: if it is empty or too large, rows are not of one length, an entry is not a number from 0 to 1,
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
    """What each guess (row) is worth for each value (column); the file is as for `read_channel`, with any numbers."""
    lines = _lines(path, "gain")
    if not lines:
        raise InputDataError(f"{path} must have a row for each guess; got none.")
    return np.array(_numbers(path, lines))


def _lines(path: Path, what: str) -> list[tuple[int, list[str]]]:
    """The rows that are not blank, all of one length, with their numbers."""
    try:
        lines = [(number, row) for number, row in enumerate(csv.reader(io.StringIO(_text(path, what))), 1) if any(row)]
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
        if path.stat().st_size > _LARGEST_FILE:
            raise InputDataError(f"{path} must be at most 64 MiB; got {path.stat().st_size} bytes.")
        return path.read_text(encoding="utf-8-sig")
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
