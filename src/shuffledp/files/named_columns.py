"""Columns of a table by name: every column that a task names must exist once.

Errors suggest similar names.
"""

import difflib
import re
from collections.abc import Sequence

from shuffledp.core.errors import InputDataError, MissingColumnError
from shuffledp.core.text import plural

_MOST_SHOWN = 30  # columns in a message
_LONGEST_SHOWN = 60  # letters of a name
_LIKENESS = 0.75  # similarity above which one name may be a misspelling of the other
_SAME = 1.0  # similarity of equal names
_NUMBER = re.compile(r"\s*[+-]?[0-9.,]*[0-9][0-9.,]*\s*")


def check_columns(
    path: object, names: Sequence[str], wanted: Sequence[str], hint: str = "", *, sure: bool = True
) -> None:
    """Refuse absent and repeated columns; for an absent column the error lists similar and existing names.

    Args:
        path: the table, for the message.
        names: the names of its columns, in their order.
        wanted: what must be there, once each.
        hint: what a table of this format needs, after a blank.
        sure: whether names are names: the first line of a file may hold somebody's answers in their place. If not,
            they are listed only where one that is wanted is among them. Elsewhere none is named but one that differs
            from what is wanted by case, blanks and marks alone, in a line that looks like one of names.

    Raises:
        MissingColumnError: if a column is absent.
        InputDataError: if a column is there several times.
    """
    each = list(dict.fromkeys(wanted))  # one column may serve twice
    absent = [name for name in each if name not in names]
    for kind, problem, found in (
        (MissingColumnError, "it lacks", absent),
        (InputDataError, "it has several of", [name for name in each if names.count(name) > 1]),
    ):
        if found:
            others = _others(names, absent, each, sure=sure) if absent else ""
            raise kind(
                f"{path} must have each column that the task names once{hint}; {problem} "
                f"{', '.join(map(repr, found))}.{others}"
            )


def _others(names: Sequence[str], absent: Sequence[str], wanted: Sequence[str], *, sure: bool) -> str:
    """Sentences that list the existing columns and, for each absent name, the most similar column.

    Each sentence follows a blank.
    """
    is_known = sure or any(name in names for name in wanted)
    free = [name for name in names if name not in wanted]
    least = _LIKENESS if is_known else _SAME
    near = {name: _nearest(name, free, least) for name in absent} if is_known or _looks_like_names(names) else {}
    meant = [f"{other!r} in place of {name!r}" for name, other in near.items() if other is not None]
    said = f" Perhaps {', '.join(meant)} is meant." if meant else ""
    if is_known:
        more = f", ... ({len(names)} in all)" if len(names) > _MOST_SHOWN else ""
        return f"{said} Its columns are {', '.join(map(_shown, names[:_MOST_SHOWN]))}{more}."
    fields = f"{len(names)} {plural(len(names), 'field')}"
    return f"{said} Its first line has {fields}, not shown here, since they may be answers."


def _nearest(name: str, others: Sequence[str], least: float) -> str | None:
    """Most similar column name, ignoring case, blanks and marks; None if the similarity is below ``least``."""
    plain = {_plain(other): other for other in reversed(others)}
    found = difflib.get_close_matches(_plain(name), list(plain), n=1, cutoff=least)
    return plain[found[0]] if found and found[0] else None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold() or name.strip()


def _looks_like_names(names: Sequence[str]) -> bool:
    """Whether a line may be a header: all texts differ, and none is empty or a number."""
    return len(set(names)) == len(names) and all(name.strip() and not _NUMBER.fullmatch(name) for name in names)


def _shown(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}...")
