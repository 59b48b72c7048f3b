"""The matrix of a randomizer from a CSV file: public, so that errors may show what it holds."""

import csv
import io
import math
from fractions import Fraction
from pathlib import Path

import numpy as np

from shuffledp.channels import Channel
from shuffledp.errors import InputDataError, InvalidParameterError

__all__ = ["read_channel"]

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
    lines = _lines(path)
    if len(lines) < 2:
        raise InputDataError(f"{path} must have a row for each of two inputs or more; got {len(lines)} rows.")
    width = len(lines[0][1])
    for number, row in lines:
        if len(row) != width:
            raise InputDataError(
                f"{path} must have rows of one length; got {len(row)} entries in line {number}, and {width} before."
            )
    return Channel(np.array([_probabilities(path, number, row) for number, row in lines]))


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """The rows that are not blank, with their numbers."""
    try:
        return [(number, row) for number, row in enumerate(csv.reader(io.StringIO(_text(path))), 1) if any(row)]
    except csv.Error:
        raise InputDataError(
            f"{path} must be CSV, with entries of at most {csv.field_size_limit()} characters."
        ) from None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputDataError(f"{path} must be at most 64 MiB; got {path.stat().st_size} bytes.")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputDataError(f"{path} must be CSV, in UTF-8.") from None
    except OSError as error:
        raise InvalidParameterError(f"channel must be a file that can be read; got {path}: {error.strerror}.") from None


def _probabilities(path: Path, number: int, row: list[str]) -> list[float]:
    """A row of the matrix."""
    entries = [_probability(path, number, place, text.strip()) for place, text in enumerate(row, 1)]
    total = math.fsum(entries)
    if abs(total - 1) > _TOLERANCE:
        raise InputDataError(f"{path} must have rows that sum to 1; got {total:.10g} in line {number}.")
    return entries


def _probability(path: Path, number: int, place: int, text: str) -> float:
    try:
        entry = float(Fraction(text)) if "/" in text and len(text) <= _LONGEST_FRACTION else float(text)
        if not math.isfinite(entry):
            raise ValueError
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InputDataError(f"{path} must hold numbers; got {text!r} in line {number}, entry {place}.") from None
    if not 0 <= entry <= 1:
        raise InputDataError(f"{path} must hold probabilities from 0 to 1; got {text} in line {number}, entry {place}.")
    return entry
