"""Journal of a member: state written before letters are sent, so that a restart sends the same bytes.

After a restart a member sends the same bytes again. An attacker who got another envelope for the same
round would have two under one key, and a report that walks twice. The file holds secrets, and is for its owner alone;
data that is no longer needed is removed.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shuffledp.core.errors import LocalProtocolError
from shuffledp.parties.relay.attendance import Attendance
from shuffledp.parties.relay.links import LinkKeys
from shuffledp.parties.relay.rounds import Letters, MemberState, begin
from shuffledp.parties.relay.terms import RelayTerms
from shuffledp.parties.service.device_memory import state_written_to
from shuffledp.parties.store.private_files import write_private
from shuffledp.protocols.network.shufflers.relay_protocol import RelayState
from shuffledp.randomness.sources import RandomSource


class Journal:
    """Journal of one member in one relay.

    Args:
        terms: terms of the relay.
        person: the member's place.
        folder: folder of journals, made if it is not there; for its owner only.
        durable: whether the journal survives a loss of power, and not only a killed process.

    Raises:
        InvalidParameterError: if the folder cannot be written to.
        LocalProtocolError: if another process runs for the same member.
    """

    def __init__(self, terms: RelayTerms, person: int, folder: Path, *, durable: bool = True) -> None:
        self._terms, self._person, self._durable = terms, person, durable
        name = f"{terms.collection_id.hex()}-{person}"
        self._file, self._done, self._lock = (folder / f"{name}.{end}" for end in ("member", "done", "lock"))
        with state_written_to(folder):
            self._held = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        with suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(self._held)
                raise LocalProtocolError("a member must run in one process; another one is at work here.") from None

    @property
    def is_done(self) -> bool:
        """Whether the member's part has ended: reports handed in, or refused for good."""
        return self._done.exists()

    def read(self) -> MemberState | None:
        """State written last; None if the journal is empty.

        Raises:
            LocalProtocolError: if the state is damaged, or of another collection or member.
        """
        try:
            data = json.loads(self._file.read_bytes())
            is_ours = (data["collection"], data["person"]) == (self._terms.collection_id.hex(), self._person)
            state = _state(self._terms, data) if is_ours else None
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, LookupError, RecursionError):
            raise LocalProtocolError(f"a member's state must be as it was written; {self._file} is damaged.") from None
        if state is None:
            raise LocalProtocolError(f"a member's state must be of this collection; {self._file} is of another.")
        return state

    def write(self, state: MemberState) -> None:
        """Write the state to disk in place of the earlier state, before this returns."""
        write_private(self._file, json.dumps(_written(state)).encode(), durable=self._durable)

    def keep_letter(self, stage: int, sender: str, letter: bytes) -> Path:
        """Write an invalid letter to a file, without secrets that open other letters; return the path."""
        kept = self._file.with_name(f"{self._file.stem}.{stage}.letter")
        to = self._terms.directory.entries[self._person].name
        said = {"collection": self._terms.collection_id.hex(), "stage": stage, "from": sender, "to": to}
        write_private(kept, json.dumps(said | {"letter": letter.hex()}).encode(), durable=self._durable)
        return kept

    def end(self) -> None:
        """Delete all state except the fact that the member's part has ended."""
        self._done.touch(mode=0o600)
        self._file.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the journal for another process."""
        os.close(self._held)


def begun(
    journal: Journal,
    terms: RelayTerms,
    person: int,
    report: Callable[[], bytes],
    *,
    source: RandomSource | None = None,
) -> MemberState:
    """State in the journal, or a new first state, which is written down; arguments as in `begin`.

    The report is made once.

    Raises:
        LocalProtocolError: if the member's part has ended.
    """
    if journal.is_done:
        raise LocalProtocolError("this member has taken part in the collection already; it has ended here.")
    state = journal.read()
    if state is None:
        state = begin(terms, person, report(), source=source)
        journal.write(state)
    return state


def _written(state: MemberState) -> dict[str, Any]:
    walk = state.walk
    return {
        "collection": state.attendance.collection_id.hex(),
        "person": walk.person,
        "stage": state.stage,
        "letters": None if state.letters is None else _in_text(state.letters),
        "keys": state.keys.to_dict(),
        "records": [each.hex() for each in state.attendance.records],
        "round": walk.round,
        "held": [each.hex() for each in walk.held],
        "sent": [[to, [each.hex() for each in reports]] for to, reports in walk.sent],
        "is_walking": walk.is_walking,
        "is_done": walk.is_done,
        "refused": state.refused,
    }


def _state(terms: RelayTerms, data: Mapping[str, Any]) -> MemberState:
    person = data["person"]
    walk = RelayState(
        person=person,
        neighbors=tuple(terms.contacts(person, stage) for stage in range(1, terms.num_rounds + 1)),
        num_rounds=terms.num_rounds,
        slots=terms.slots,
        round=data["round"],
        held=tuple(map(bytes.fromhex, data["held"])),
        sent=tuple((to, tuple(map(bytes.fromhex, reports))) for to, reports in data["sent"]),
        is_walking=data["is_walking"],
        is_done=data["is_done"],
    )
    letters = data["letters"]
    return MemberState(
        walk=walk,
        keys=LinkKeys.from_dict(data["keys"]),
        attendance=Attendance(terms.collection_id, terms.num_users, tuple(map(bytes.fromhex, data["records"]))),
        stage=data["stage"],
        letters=None if letters is None else {int(to): bytes.fromhex(letter) for to, letter in letters.items()},
        refused=data["refused"],
    )


def _in_text(letters: Letters) -> dict[str, str]:
    return {str(to): letter.hex() for to, letter in letters.items()}
