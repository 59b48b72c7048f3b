"""Transport of letters as files in a folder that all members share, such as a network drive.

A stage ends only when all letters are there, so no member counts as away: members wait, and give up after some time.
"""

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.parties.relay.attendance import record_of
from shuffledp.parties.relay.rounds import Letters
from shuffledp.parties.relay.terms import RECIPIENTS, RelayTerms

_PAUSE = 0.05  # seconds between two looks at the folder
_MOST_NAMED = 5  # missing members, named in an error


class FolderTransport:
    """`Transport` by files: ``STAGE/SENDER-RECIPIENT`` in a folder of the collection.

    Args:
        terms: terms of the relay.
        folder: folder shared by all members and the analyst.
        patience: seconds to wait for letters of other members.

    Raises:
        InvalidParameterError: if the folder does not exist.
    """

    def __init__(self, terms: RelayTerms, folder: Path, *, patience: float) -> None:
        if not folder.is_dir():
            raise InvalidParameterError(f"folder must be one that all members share; got folder={str(folder)!r}.")
        self._terms, self._patience = terms, patience
        self._folder = folder / terms.collection_id.hex()

    async def post(self, stage: int, person: int, letters: Letters) -> None:
        """Write letters to files, as `Transport.post` demands; an existing letter stays unchanged."""
        place = self._folder / str(stage)
        for recipient, letter in letters.items():
            file, partial = place / _name(person, recipient), place / f".{token_hex(8)}"
            try:
                place.mkdir(parents=True, exist_ok=True)
                if not file.exists():
                    partial.write_bytes(letter)
                    os.replace(partial, file)  # whole or not at all; some drives have no links
                is_ours = file.read_bytes() == letter
            except OSError as error:
                with suppress(OSError):
                    partial.unlink()
                raise RemoteProtocolError(
                    f"the shared folder must take a letter; it does not: {error.strerror}."
                ) from None
            if not is_ours:
                raise RemoteProtocolError(
                    f"a letter of stage {stage} must be sent once; another one of this member is in the folder. Start "
                    "again with the --state, and on the machine, with which it was sent."
                )

    async def record(self, stage: int) -> bytes:
        """Attendance of a stage, as in `Transport.record`: always all members, or an error after ``patience``."""
        until, everybody = time.monotonic() + self._patience, range(self._terms.num_users)
        waited_for = set(everybody)
        while waited_for:
            waited_for -= {each for each in waited_for if self._is_complete(stage, each)}
            if waited_for and time.monotonic() > until:
                raise RemoteProtocolError(
                    f"all members must have sent their letters of stage {stage}; {len(waited_for)} of "
                    f"{len(everybody)} have not{self._named(waited_for)}. Start again to wait on; nothing is lost."
                )
            if waited_for:
                await asyncio.sleep(_PAUSE)
        return record_of(everybody, self._terms.num_users)

    async def fetch(self, stage: int, recipient: int) -> tuple[bytes, Letters]:
        """Attendance of a stage and letters to a recipient, as in `Transport.fetch`."""
        record, place = await self.record(stage), self._folder / str(stage)
        senders = self._terms.senders(recipient, stage)
        return record, {each: (place / _name(each, recipient)).read_bytes() for each in senders}

    def _named(self, people: set[int]) -> str:
        """Names of the missing members, if they are few; otherwise empty."""
        names = [self._terms.directory.entries[each].name for each in sorted(people)]
        return f": {', '.join(names)}" if len(names) <= _MOST_NAMED else ""

    def _is_complete(self, stage: int, sender: int) -> bool:
        """Whether all letters of the sender are in the folder, at their full lengths."""
        place = self._folder / str(stage)
        try:
            return all(
                (place / _name(sender, to)).stat().st_size == length
                for to, length in self._terms.letters(sender, stage).items()
            )
        except OSError:
            return False


def _name(sender: int, recipient: int) -> str:
    return f"{sender}-{RECIPIENTS.get(recipient, recipient)}"
