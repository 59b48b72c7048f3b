"""Ticks in a table: one column with lists of options, or one column of truth values per option."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.files.row_problems import ColumnPart, RowProblem, is_number, is_text, plain, searchable, type_name
from shuffledp.randomizers.inputs import listed
from shuffledp.survey.questions.question import Read

_TICKED, _NOT_TICKED = ("true", "yes", "1"), ("false", "no", "0", "")


class TickLists(ColumnPart):
    """Reader of lists of options: Arrow lists of texts, or texts with a separator between options.

    An empty text or list says "none of these", and so does an empty field of a CSV file; blanks around options, an
    option that is repeated, and a separator at the end do not matter.
    """

    def __init__(self, name: str, missing_values: tuple[str, ...], options: tuple[str, ...], separator: str) -> None:
        super().__init__(name, tuple(filter(None, missing_values)))
        self._options, self._separator = pa.array(options, pa.large_string()), separator
        self._unknown = RowProblem(
            f"hold only the task's options {listed(options)}, separated by {separator!r}", "rows hold something else"
        )

    def read(self, column: pa.Array, received: int, *, is_csv: bool) -> Read:
        """Ticks, shape (rows, options); the mask of wrong rows; and the mask of missing answers."""
        column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        kind = column.type
        missing = np.zeros(len(column), dtype=np.bool_)
        if pa.types.is_null(kind):
            missing |= not is_csv
            lists = pa.array([[]] * len(column), pa.large_list(pa.large_string()))
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            missing |= np.asarray(column.is_null())
            lists = self._lists(column)
        else:
            column = searchable(column)
            if not is_text(column.type):
                raise InputDataError(f"{self.name} must hold texts, or lists of texts; its type is {type_name(kind)}.")
            missing |= np.asarray(column.is_null()) & (not is_csv)
            missing |= np.asarray(pc.is_in(column, pa.array(self._missing_values, column.type)))
            lists = pc.split_pattern(column.fill_null(""), self._separator)
        ticks, wrong = self._ticks(lists, missing, may_be_empty=is_text(column.type))
        self._unknown.add(wrong, received)
        return ticks, wrong, missing

    def problems(self) -> tuple[RowProblem, ...]:
        """Rows with an entry that is no option."""
        return (self._unknown,)

    def _lists(self, column: pa.Array) -> pa.Array:
        kind = column.type.value_type
        if not (is_text(searchable(pa.array([], kind)).type) or pa.types.is_null(kind) or pa.types.is_dictionary(kind)):
            raise InputDataError(
                f"{self.name} must hold texts, or lists of texts; its type is {type_name(column.type)}."
            )
        return column.cast(pa.large_list(pa.large_string()))

    def _ticks(
        self, lists: pa.Array, missing: NDArray[np.bool_], *, may_be_empty: bool
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Ticks, and the mask of rows with an item that is no option.

        Between separators an item may be empty.
        """
        lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
        rows = np.repeat(np.arange(len(lists)), lengths)
        items = pc.utf8_trim_whitespace(lists.flatten()).cast(pa.large_string())
        codes = pc.index_in(items, self._options).fill_null(-1).to_numpy(zero_copy_only=False)
        unknown = codes < 0
        if may_be_empty:
            unknown &= ~np.asarray(pc.equal(items, "").fill_null(False))
        ticks = np.zeros((len(lists), len(self._options)), dtype=np.bool_)
        ticks[rows[codes >= 0], codes[codes >= 0]] = True
        wrong = np.zeros(len(lists), dtype=np.bool_)
        wrong[rows[unknown]] = True
        ticks[missing] = False
        return ticks, wrong & ~missing


class TickColumn(ColumnPart):
    """Reader of one option's own column: truth values, 0 and 1, or texts.

    A text says that the option is ticked if it is true, yes, 1 (in any case) or the option itself, and that it is not
    if it is false, no, 0 or empty; an empty field of a CSV file says the same.
    """

    def __init__(self, name: str, missing_values: tuple[str, ...], option: str) -> None:
        super().__init__(name, tuple(filter(None, missing_values)))
        self._ticked = pa.array([*_TICKED, option.casefold().strip()], pa.large_string())
        self._known = pa.array([*_TICKED, option.casefold().strip(), *_NOT_TICKED], pa.large_string())
        self._unknown = RowProblem("hold true or false, yes or no, 1 or 0, or nothing where an option is not ticked")

    def read(self, column: pa.Array, received: int, *, is_csv: bool) -> Read:
        """Mask of ticks, mask of wrong answers, and mask of missing answers."""
        column = plain(column)
        kind = column.type
        missing = np.asarray(column.is_null(nan_is_null=True)) & (not is_csv)
        if pa.types.is_null(kind):
            ticked = wrong = np.zeros(len(column), dtype=np.bool_)
        elif pa.types.is_boolean(kind):
            ticked = column.fill_null(False).to_numpy(zero_copy_only=False)
            wrong = np.zeros(len(column), dtype=np.bool_)
        elif is_number(kind):
            numbers = pc.cast(column, pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
            ticked, wrong = numbers == 1, (numbers != 0) & (numbers != 1) & ~missing
        elif is_text(kind):
            missing |= np.asarray(pc.is_in(column, pa.array(self._missing_values, kind)))
            texts = pc.utf8_lower(pc.utf8_trim_whitespace(column.fill_null(""))).cast(pa.large_string())
            ticked = np.asarray(pc.is_in(texts, self._ticked)) & ~missing
            wrong = ~np.asarray(pc.is_in(texts, self._known)) & ~missing
        else:
            raise InputDataError(f"{self.name} must hold true or false; its type is {type_name(kind)}.")
        self._unknown.add(wrong, received)
        return ticked & ~missing, wrong, missing

    def problems(self) -> tuple[RowProblem, ...]:
        """Rows with an entry that is no known spelling of "ticked" or "not ticked"."""
        return (self._unknown,)
