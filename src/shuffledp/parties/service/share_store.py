"""Store of a host of a sum: reports, their sets, and messages of the hosts' agreement.

Until the agreement a row for each person says which of the reports are hers, in the order of the random set ids. It is
deleted with the agreement; the set ids leave with no report.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from shuffledp.parties.agreement.agreement_rules import Reason, Refusal
from shuffledp.parties.agreement.agreement_steps import AgreementState
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.intake import Count, Row
from shuffledp.parties.service.report_store import ReportStore, Sign
from shuffledp.parties.wire.agreement_messages import NOBODY, SET_ID_BYTES, Kind, decoded, set_digest
from shuffledp.parties.wire.grammar import ID_BYTES, ReportError

_NO_EXTENSIONS = bytes(2)
_SETS = "CREATE TABLE IF NOT EXISTS sets(id BLOB PRIMARY KEY, digests BLOB) WITHOUT ROWID"
_AGREEMENT = (
    "CREATE TABLE IF NOT EXISTS agreement(kind INTEGER, host INTEGER, message BLOB, PRIMARY KEY(kind, host)) "
    "WITHOUT ROWID"
)


class ShareStore(ReportStore):
    """Store of one collection at one of its hosts; arguments and errors as of a `ReportStore`.

    Guarantees:
        1. A person's shares are stored once: the same set id with other shares is refused.
        2. A message of the agreement, once kept, is neither changed nor lost before the collection has ended.
        3. No batch holds a set id.
    """

    beside = (*ReportStore.beside, _SETS, _AGREEMENT)

    # ---- taking shares in -------------------------------------------------------------------------------------------

    def _doubtful(self, given: Sequence[Any]) -> set[int]:
        """Numbers of the submissions that may be stored already, also under their set id."""
        ids = [_set_id(rows) for rows, *_ in given]
        taken = self._found("SELECT id FROM sets WHERE id", ids)
        taken |= {each for each, count in Counter(ids).items() if count > 1}
        return super()._doubtful(given) | {number for number, each in enumerate(ids) if each in taken}

    def _insert(self, given: Sequence[Any]) -> int:
        """Store new rows and each submission's set; each known set lowers the returned number of new rows."""
        rows = sorted((_set_id(rows), b"".join(digests)) for rows, digests, _ in given)
        known = len(rows) - (self.run_many("INSERT OR IGNORE INTO sets VALUES(?, ?)", rows) if rows else 0)
        return super()._insert(given) - known

    def _admit(
        self, rows: Sequence[Row], digests: Sequence[bytes], token: bytes | None, *, is_full: bool
    ) -> ReportError | Count:
        """Outcome of one submission; refused if its set id is stored already with other shares."""
        found = self.rows("SELECT digests FROM sets WHERE id = ?", _set_id(rows))
        if found and found[0][0] != b"".join(digests):
            return ReportError.REPORT_REPLAYED
        return super()._admit(rows, digests, token, is_full=is_full)

    # ---- agreeing ---------------------------------------------------------------------------------------------------

    def sets(self, collection_id: bytes) -> list[bytes]:
        """Digests of the sets whose shares have come, ascending."""
        return sorted(set_digest(collection_id, each) for (each,) in self.rows("SELECT id FROM sets"))

    def held(self, me: int) -> AgreementState:
        """State of the host in the agreement, by the messages that it keeps."""
        rows = self.rows("SELECT kind, host, message FROM agreement WHERE kind > 0")
        messages = {(Kind(kind), host): decoded(Kind(kind), message) for kind, host, message in rows}
        refused = self.rows("SELECT host, message FROM agreement WHERE kind = 0")
        refusal = None
        if refused:
            ((named, reason),) = refused
            refusal = Refusal(Reason(reason[0]), None if named == NOBODY else named)
        return AgreementState(me=me, messages=messages, refusal=refusal)

    def hold(self, before: AgreementState, after: AgreementState) -> None:
        """Store the new messages of a state; they are on the disk when this returns."""
        with self.transaction():
            for (kind, host), message in after.messages.items():
                if (kind, host) not in before.messages:
                    self.run("INSERT INTO agreement VALUES(?, ?, ?)", int(kind), host, message.encode())
            if after.refusal is not None and before.refusal is None:
                named = NOBODY if after.refusal.host is None else after.refusal.host
                self.run("INSERT INTO agreement VALUES(0, ?, ?)", named, bytes([after.refusal.reason]))

    def keep(self, collection_id: bytes, complete: Collection[bytes]) -> None:
        """Destroy the shares of all incomplete sets; ``complete`` has the digests of the complete sets."""
        wanted, kept = frozenset(complete), 0
        with self.transaction():
            for set_id, digests in self.rows("SELECT id, digests FROM sets"):
                if set_digest(collection_id, set_id) in wanted:
                    kept += 1
                    continue
                for column, digest in self._columns_of(digests):
                    self.run("DELETE FROM reports WHERE column = ? AND digest = ?", column, digest)
                self.run("DELETE FROM sets WHERE id = ?", set_id)
        self.waiting = kept

    def _columns_of(self, digests: bytes) -> Iterator[tuple[int, bytes]]:
        """Pool and digest of each report of one person."""
        at = 0
        for column, messages in enumerate(self._messages):
            for _ in range(messages):
                yield column, digests[at : at + ID_BYTES]
                at += ID_BYTES

    def _report(self, column: int, digest: bytes) -> tuple[bytes, bytes]:
        """Extensions and ciphertext of a report as it leaves, without the extension of its set."""
        _, ciphertext = super()._report(column, digest)
        return _NO_EXTENSIONS, ciphertext

    # ---- the end ----------------------------------------------------------------------------------------------------

    def end(self, phase: Phase, sign: Sign) -> None:
        """End the collection as `ReportStore.end` does, and forget which shares belonged together."""
        self.run("DELETE FROM sets")
        super().end(phase, sign)

    def clean(self, phase: Phase) -> None:
        """Delete everything except the phase and the counts; the agreement is deleted too."""
        self.run("DELETE FROM agreement")
        super().clean(phase)


def _set_id(rows: Sequence[Row]) -> bytes:
    """Set id of a submission, from the end of its first report's only extension."""
    return rows[0].extensions[-SET_ID_BYTES:]
