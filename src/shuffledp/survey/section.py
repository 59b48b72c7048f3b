"""Base of a task file's tables: errors that name the table, checks of text, and shared values.

What each key of each table means, and which values are refused, is said in docs/task-file.md.
"""

import errno
import hashlib
import inspect
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, Self

from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text import is_misleading
from shuffledp.core.validate import invalid

_SHA256 = re.compile("[0-9a-f]{64}")
_LARGEST = 1 << 26  # bytes of a file that people write


class Section(Described):
    """A table of the task file; ``title`` is its header in the file, such as ``[people]``."""

    __slots__ = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The section written by ``to_dict``; errors name the table and the key."""
        try:
            return super().from_dict(data)
        except InvalidParameterError as error:
            message = str(error)
        raise InvalidParameterError(message if message.startswith(cls.title) else f"{cls.title} {message}")

    @classmethod
    def for_kind(cls, kind: str, further: Iterable[inspect.Parameter], **facts: Any) -> type[Self]:
        """Subclass of this section for one kind of a registry, with a key for each parameter in ``further``."""
        name = "".join(part.capitalize() for part in kind.split("-"))
        required = inspect.Parameter.empty
        keys = [(each, field() if each.default is required else field(default=each.default)) for each in further]
        made: type[Self] = make_dataclass(
            f"{name}Section",
            [(each.name, each.annotation, default) for each, default in keys],
            bases=(cls,),
            namespace={"__doc__": f"Keys of the kind {kind!r} in a task file.", **facts},
            frozen=True,
            slots=True,
            kw_only=True,
        )
        setattr(made, cls.tag_key, kind)  # set afterwards, so that the registry holds no second class
        return made


class OutOfRange(StrEnum):
    """Treatment of numbers outside the range."""

    REFUSE = "refuse"
    CLIP = "clip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Facts in other sections of a task that a protocol depends on; None for unknown people or gamma."""

    num_users: int | None
    imperfection: float | None
    delta: float
    shuffler: str
    minimum_batch: int = 1
    in_strata: bool = False


def named_jointly(title: str, data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Table in which two names under ``columns`` are joined into one name under ``key``."""
    if not isinstance(data, Mapping) or "columns" not in data:
        return data
    columns = data["columns"]
    if key in data:
        raise InvalidParameterError(f"{title} must have the key {key!r}, or 'columns' in its place; got both.")
    if not isinstance(columns, list | tuple) or len(columns) != 2 or not all(isinstance(each, str) for each in columns):
        found = ", ".join(map(repr, columns)) if isinstance(columns, list | tuple) else repr(columns)
        raise InvalidParameterError(
            f"{title} must have two columns whose answers are randomized jointly, or one as {key!r}; got "
            f"columns = [{found}]."
        )
    return {**data, key: joint_name(columns)}


def joint_name(columns: Sequence[str]) -> str:
    """The joint name of two columns."""
    return " and ".join(columns)


def as_columns(table: dict[str, Any], key: str) -> dict[str, Any]:
    """Table with either ``columns`` or ``key``, whichever is in use; the inverse of `named_jointly`."""
    left_out = key if table["columns"] else "columns"
    return {name: value for name, value in table.items() if name != left_out}


def some_text(**values: str) -> None:
    """Refuse text, such as a column's name, that is empty or has misleading control characters."""
    for name, text in values.items():
        if not text or is_misleading(text):
            raise invalid("text that is not empty, without controls of its direction", **{name: text})


def require_sha256(**values: str | None) -> None:
    """Refuse text that is not a SHA-256 digest; None is accepted."""
    for name, sha256 in values.items():
        if sha256 is not None and not _SHA256.fullmatch(sha256):
            raise invalid("a SHA-256, 64 hexadecimal digits in lower case", **{name: sha256})


def open_file(path: Path) -> IO[bytes]:
    """A file, opened for reading; a pipe, a device and a folder are refused with an `OSError`."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is not a regular file")
    return path.open("rb")


def read_whole(path: Path, *, most: int = _LARGEST) -> bytes:
    """Content of a file; an `OSError` is raised before reading if the file is above ``most`` bytes."""
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB")
        return file.read()


def tables_of(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        ValueError: if it is not TOML; the parser's words may quote it.
        RecursionError: if it is nested too deeply.
    """
    return tomllib.loads(text)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The tables of a TOML file; errors name ``what`` the file is, and quote nothing from it.

    Raises:
        InvalidParameterError: if the file is absent, no regular file, larger than 64 MiB, or not TOML.
    """
    try:
        text = read_whole(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidParameterError(f"{what} must be UTF-8 text; got {path}.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no path"
        raise InvalidParameterError(f"{what} must be readable; got {path}: {reason}.") from None
    try:
        return tables_of(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError too
        # Cut the parser's quotations: the file may hold answers, if the paths were mixed up.
        quoted = re.compile(r"""(['"]).{2,}\1""", re.DOTALL)
        reason = "nested too deeply" if isinstance(error, RecursionError) else quoted.sub("...", str(error))
        raise InvalidParameterError(f"{what} must be TOML; got {path}: {reason}.") from None


def digest_of_files(folder: Path, names: Sequence[str], given: str | None, *, key: str, other: str = "") -> str:
    """SHA-256 of the files named by a key of the task, which the task's own digest then covers.

    They lie in ``folder``, that of the task file, and must have the digest ``given``, if the task says it. Errors name
    the ``key``, and what ``other`` it may be: if a file cannot be read, or has another digest.
    """
    total = hashlib.sha256()
    for name in names:
        try:
            with open_file(folder / name) as file:
                while part := file.read(1 << 20):
                    total.update(part)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "no path"
        else:
            continue
        raise InvalidParameterError(
            f"{key} must be a file that can be read, beside the task file{other}; got {name!r}: {reason}."
        )
    found = total.hexdigest()
    if given not in (None, found):
        raise InvalidParameterError(
            f"{key} must be the file with the sha256 that the task gives; {', '.join(names)} has {found[:12]}..., not "
            f"{str(given)[:12]}..."
        )
    return found
