"""Lists of invitations for an issuer: files, or folders to which files are added while the issuer runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.issuer.invitations import Invited
from shuffledp.parties.wire.keys import from_text

_ENDING = ".json"  # ending of lists in a folder
FileStates = tuple[tuple[str, int, int, int], ...]  # name, inode, length and time of each file


class Lists(NamedTuple):
    """Invitations to a collection: digests of all codes, and of the cancelled codes."""

    codes: frozenset[bytes] = frozenset()
    cancelled: frozenset[bytes] = frozenset()


def files_of(places: Iterable[str]) -> list[Path]:
    """Files of lists, named directly or by their folder.

    Raises:
        InvalidParameterError: if a folder cannot be read.
    """
    found: list[Path] = []
    for place in map(Path, places):
        try:
            inside = sorted(each for each in place.iterdir() if each.suffix == _ENDING) if place.is_dir() else [place]
        except OSError as error:
            raise InvalidParameterError(f"invited must be readable; got {place}: {error.strerror}.") from None
        found += inside
    return found


def state_of_lists(places: Iterable[str]) -> FileStates | None:
    """State of the files of all lists, to notice changes; None while a file is missing."""
    try:
        return tuple(
            (str(each), at.st_ino, at.st_size, at.st_mtime_ns) for each in files_of(places) if (at := each.stat())
        )
    except (OSError, InvalidParameterError):
        return None


def read_lists(places: Iterable[str]) -> dict[str, Lists]:
    """Lists of invitations by collection id; several lists of one collection are united.

    Raises:
        InvalidParameterError: if a file is unreadable, or no such list.
    """
    found: dict[str, Lists] = {}
    for each in map(Invited.read, files_of(places)):
        before = found.get(each.collection, Lists())
        codes, cancelled = (
            frozenset(from_text(code, name="codes") for code in several) for several in (each.codes, each.cancelled)
        )
        found[each.collection] = Lists(before.codes | codes, before.cancelled | cancelled)
    return found
