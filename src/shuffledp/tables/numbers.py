"""From a column of numbers to float64, counting what is no number or lies outside the range and never showing it."""

from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.errors import InputDataError
from shuffledp.tables.places import SEARCHABLE, Places, is_number, is_text, type_name
from shuffledp.tasks import Missing, NumberSection, SplitAndMixSection, Task

__all__ = ["NumberReader", "numerals"]

# What a text must look like to be read as a number; "inf" does not. "nan" is a missing answer, as NaN is.
_NUMERAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NAN = r"^\s*[+-]?(?i:nan)\s*$"


class NumberReader:
    """Reads answers that are numbers in a range.

    Guarantees:
        1. No message holds an answer: only counts and row numbers.
        2. What is no finite number is never read as one, and a number outside the range is moved to its nearer end only
           if the task says so: else `finish` refuses the whole input.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._section = cast("NumberSection | SplitAndMixSection", task.randomizer)
        self._unreadable, self._outside, self._broken, self._missing = Places(), Places(), Places(), Places()
        self.received = 0

    @property
    def clipped(self) -> int:
        """How many answers have been moved to an end of the range so far; unprotected, so not for publication."""
        return self._outside.count if self._section.clips else 0

    def read(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The numbers that are kept, clipped if the task says so, and for each row of the batch whether it is kept."""
        lower, upper = self._section.lower, self._section.upper
        numbers, missing = self._parse(column)
        unreadable = ~np.isfinite(numbers) & ~missing
        outside = ((numbers < lower) | (numbers > upper)) & ~unreadable & ~missing
        self._unreadable.add(unreadable, self.received)
        self._outside.add(outside, self.received)
        self._missing.add(missing, self.received)
        kept = ~(unreadable | missing)
        if self._section.integer:
            broken = kept & (numbers != np.rint(numbers))
            self._broken.add(broken, self.received)
            kept &= ~broken
        self.received += len(column)
        if not self._section.clips:
            kept &= ~outside
        return np.clip(numbers[kept], lower, upper), kept

    def finish(self) -> None:
        """Refuse the input if any row had a problem.

        Raises:
            InputDataError: for answers that are no finite numbers (or no whole ones, where the task wants these), for
                numbers outside the range unless the task clips them, and for missing answers where the task refuses
                them.
        """
        name, lower, upper = self._task.value, self._section.lower, self._section.upper
        if self._unreadable.count:
            raise InputDataError(
                f"column {name!r} must hold finite numbers; {self._unreadable.count} of {self.received} answers are "
                f"something else: {self._unreadable}."
            )
        if self._broken.count:
            raise InputDataError(
                f"column {name!r} must hold whole numbers; {self._broken.count} of {self.received} answers are others: "
                f"{self._broken}."
            )
        if self._outside.count and not self._section.clips:
            raise InputDataError(
                f"column {name!r} must hold numbers from {lower!r} to {upper!r}; {self._outside.count} of "
                f"{self.received} are outside: {self._outside}. To move them to the nearer end, write "
                f'out_of_range = "clip" in the task\'s {self._section.title}.'
            )
        if self._missing.count and self._task.missing is Missing.REFUSE:
            raise InputDataError(
                f"column {name!r} must hold an answer in every row; {self._missing.count} of {self.received} are "
                f'missing: {self._missing}. To go on without them, write missing = "drop" in the task.'
            )

    def _parse(self, column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Numbers (NaN where there is none) and the mask of missing answers."""
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        column = column.cast(SEARCHABLE.get(column.type, column.type))
        missing = np.asarray(column.is_null(nan_is_null=True))
        if is_text(column.type):
            missing |= np.asarray(pc.is_in(column, pa.array(self._task.missing_values, column.type)))
            missing |= np.asarray(pc.match_substring_regex(column, _NAN).fill_null(False))
            column = numerals(column)
        elif not (is_number(column.type) or pa.types.is_decimal(column.type) or pa.types.is_null(column.type)):
            raise InputDataError(
                f"column {self._task.value!r} must hold numbers; its type is {type_name(column.type)}."
            )
        numbers = pc.cast(column, pa.float64(), safe=False)
        return numbers.fill_null(np.nan).to_numpy(zero_copy_only=False), missing


def numerals(texts: pa.Array) -> pa.Array:
    """The texts that a number can be read from, trimmed; null in place of all others, which nothing may quote."""
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.match_substring_regex(trimmed, _NUMERAL), pc.utf8_ltrim(trimmed, "+"), None)
