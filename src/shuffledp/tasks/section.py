"""What all tables of a task file have in common: errors that name the table, and checks of the text in it."""

import re
from collections.abc import Mapping
from typing import Any, Self

from shuffledp._described import Described
from shuffledp._validate import invalid
from shuffledp.errors import InvalidParameterError

__all__ = ["Section", "is_garbled", "one_line", "some_text", "ungarbled"]

_DIRECTIONS = "\u202a-\u202e\u2066-\u2069"  # they make text read as what it is not
_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff{_DIRECTIONS}]")
_UNSHOWABLE = re.compile(f"[\ud800-\udfff{_DIRECTIONS}]")  # surrogates, too, which no file can hold


class Section(Described):
    """A table of the task file; ``title`` is how the file writes it, such as ``[people]``."""

    __slots__ = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The section that ``to_dict`` wrote.

        Raises:
            InvalidParameterError: for an unknown, missing or wrong key; the message names the table and the key.
        """
        try:
            return super().from_dict(data)
        except InvalidParameterError as error:
            message = str(error)
        raise InvalidParameterError(message if message.startswith(cls.title) else f"{cls.title} {message}")


def some_text(**values: str) -> None:
    """Text that is not empty, that a file can hold, and that is read as it is written, such as the name of a column."""
    for name, text in values.items():
        if not text or _UNSHOWABLE.search(text):
            raise invalid("text that is not empty, without controls of its direction", **{name: text})


def one_line(**values: str) -> None:
    """Text that is not empty and has no control characters, of which some reverse text; they garble what shows it."""
    for name, text in values.items():
        if not text or is_garbled(text):
            raise invalid("text that is not empty, in one line and without control characters", **{name: text})


def is_garbled(text: str) -> bool:
    """Whether text has control characters, by which it could command the terminal that shows it."""
    return _CONTROLS.search(text) is not None


def ungarbled(text: str) -> str:
    """The same lines with a mark in the place of each control character."""
    return _CONTROLS.sub(lambda found: found[0] if found[0] in "\n\t" else "\N{REPLACEMENT CHARACTER}", text)
