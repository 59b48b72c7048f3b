"""Numbers in a column of a table; commas are decimal in the whole column, or nowhere in it.

The column is read batch after batch.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.files.row_problems import RowProblem, is_number, is_text, type_name

# Form of a text that is read as a number; "inf" is not.
_NUMERAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WITH_COMMA = r"^[+-]?([0-9]+,[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?$"
_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"  # 1,234 is 1234 to some, and 1.234 to others
_CSV, _COMMAS = b"shuffledp.csv", b"shuffledp.commas"  # marks of batches: of CSV, whose separator is not a comma


def of_csv(batch: pa.RecordBatch, *, commas: bool) -> pa.RecordBatch:
    """Batch marked as read from CSV, and as having perhaps decimal commas if ``commas``.

    Commas may be decimal where another mark separates the fields.
    """
    return batch.replace_schema_metadata({_CSV: b"yes", **({_COMMAS: b"may be decimal"} if commas else {})})


def is_of_csv(batch: pa.RecordBatch) -> bool:
    """Whether the batch comes from a CSV file, where empty fields are nulls."""
    return _CSV in (batch.schema.metadata or {})


def may_have_commas(batch: pa.RecordBatch) -> bool:
    """Whether a comma in a number of this batch may be a decimal comma."""
    return _COMMAS in (batch.schema.metadata or {})


class NumberColumn:
    """Reader of the numbers of a column as floats, batch after batch.

    Guarantees:
        1. A comma is a decimal point in all numbers of the column or in none: `finish` refuses a column that has
           decimal points too, and one in which all commas may be marks of thousands.
        2. No message holds a number of the column.

    Args:
        name: of the column in messages, such as "column 'age'".
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._points = RowProblem(
            "hold numbers with decimal commas, or with decimal points, but not both", "have points"
        )
        self._thousands = RowProblem(
            "hold numbers that are read in one way",
            "have a comma before exactly three digits",
            " If it is a mark of thousands, leave it out; if it is decimal, write a point.",
        )
        self._commas = 0
        self._unread = 0
        self._received = 0

    @property
    def commas(self) -> int:
        """Number of values with a decimal comma so far."""
        return self._commas

    @property
    def points(self) -> int:
        """Number of values with a decimal point so far, in batches where commas may be decimal."""
        return self._points.count

    @property
    def hint(self) -> str:
        """Sentence, after a blank, about commas that were not read; "" if there are none."""
        if not self._unread:
            return ""
        return (
            f" {self._unread} of them would be numbers with a decimal comma, which is read only in CSV whose fields "
            "are separated by semicolons or tabs: write points."
        )

    def read(self, column: pa.Array, *, commas: bool = False) -> NDArray[np.float64]:
        """Values of a column of numbers, or of texts that are numbers; NaN for all else.

        Args:
            column: of any numeric type, or text; any other is refused.
            commas: whether a comma may stand for a decimal point.
        """
        if is_text(column.type):
            column = self._numerals(pc.utf8_trim_whitespace(column), commas=commas)
        elif not (is_number(column.type) or pa.types.is_decimal(column.type) or pa.types.is_null(column.type)):
            raise InputDataError(f"{self._name} must hold numbers; its type is {type_name(column.type)}.")
        self._received += len(column)
        found: NDArray[np.float64] = (
            pc.cast(column, pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        )
        return found

    def _numerals(self, texts: pa.Array, *, commas: bool) -> pa.Array:
        decimal = pc.match_substring_regex(texts, _WITH_COMMA).fill_null(False)
        if not commas:
            self._unread += pc.sum(decimal).as_py() or 0
            return numerals(texts)
        self._commas += pc.sum(decimal).as_py() or 0
        for problem, marked in (
            (self._points, pc.and_(pc.match_substring(texts, "."), pc.match_substring_regex(texts, _NUMERAL))),
            (self._thousands, pc.match_substring_regex(texts, _THOUSANDS)),
        ):
            problem.add(np.asarray(marked.fill_null(False)), self._received)
        return numerals(pc.if_else(decimal, pc.replace_substring(texts, ",", "."), texts))

    def finish(self) -> None:
        """Refuse the column if its commas have two possible meanings."""
        if self._commas:
            self._points.require_none(self._name, self._received)
            if self._thousands.count == self._commas:
                self._thousands.require_none(self._name, self._received)


def require_one_mark(name: str, commas: int, points: int) -> None:
    """Refuse a table in which some parts have decimal commas and others have decimal points."""
    if commas and points:
        raise InputDataError(
            f"{name} must hold numbers with decimal commas, or with decimal points, but not both; {commas} have "
            f"commas, {points} have points."
        )


def numerals(texts: pa.Array) -> pa.Array:
    """Trimmed texts that can be read as numbers; null for all other texts.

    Errors can therefore quote no other text.
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.match_substring_regex(trimmed, _NUMERAL), pc.utf8_ltrim(trimmed, "+"), None)
