"""The collection file: a task with the parties, their keys and the dates, all fixed before anybody answers.

It is what people are invited to. Its digest is the collection's id, to which every report is bound: whoever changes
the question, a key or a date has made another collection, into which no report fits.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import instant, written
from shuffledp.core.statement_terms import Party, Trust
from shuffledp.core.validate import invalid
from shuffledp.survey.bound_directory import BoundDirectory
from shuffledp.survey.columns import Column
from shuffledp.survey.network_section import NetworkSection
from shuffledp.survey.section import read_whole
from shuffledp.survey.task import Task
from shuffledp.wire.keys import KeyState, PublishedKey, Role, from_text, in_text

if TYPE_CHECKING:
    from shuffledp.core.statements import PrivacyStatement

VERSION = 1
_CONTEXT = b"shuffledp collection v1"
_NONCE_BYTES = 16
_LARGEST = 1 << 22  # bytes of a file
_NO_SERVICE = {"none": "nothing would be shuffled", "network": "walks need the directory of those who pass reports on"}
_ADDRESS = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*")
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST_HOST = 253
_UNSAID = {
    "every": None,
    "tokens": None,
    "transport": "direct",
    "directory": None,
}  # not written where they have these values


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(Described):
    """One of the two parties, as devices and the other one find it.

    Args:
        url: where its service is: https, or http on the machine itself; without a path's last slash.
        key: the key that it uses, with the successors that may follow it.
    """

    title: ClassVar[str] = "a party"
    url: str
    key: PublishedKey

    def __post_init__(self) -> None:
        if not _ADDRESS.fullmatch(self.url):
            raise InvalidParameterError(
                "url must be an address such as https://shuffler.example.org, without names, passwords, '?', '#' or a "
                "'/' at the end; got another text."
            )
        if not _is_possible(self.url):
            raise InvalidParameterError("url must be of a host and a port that can be; got others.")
        parts = urlsplit(self.url)
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise invalid("an https address, unless it is on this machine", url=self.url)

    @property
    def is_local(self) -> bool:
        """Whether it is on the machine of whoever asks."""
        return _is_loopback(urlsplit(self.url).hostname)

    @property
    def words(self) -> str:
        """The party for people: its address and the fingerprint of its key."""
        return f"{self.url}, key {self.key.fingerprint}"


def _is_possible(url: str) -> bool:
    """Whether there can be such a host (RFC 1123, section 2.1) and port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if ":" in host or host.rpartition(".")[2].isdecimal():
            ip_address(host)
    except ValueError:
        return False
    return port != 0 and len(host) <= _LONGEST_HOST and (":" in host or bool(_HOST.fullmatch(host)))


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Described):
    """A collection over a network, as all its parties and everybody who answers know it.

    Guarantees:
        1. Two collections have different ids, also of the same task: each has a nonce.
        2. What all parties and devices must agree on is in it, keys included: nobody can be shown others.

    Args:
        task: what is asked, how it is randomized and shuffled, and what is released.
        nonce: 16 bytes in base64url, different in each collection.
        opens: when reports are taken in, as `shuffledp.core.instants` writes it.
        closes: from when on they are late.
        shuffler: who takes reports in and mixes them; or, with a directory, who carries what members pass on.
        analyzer: who opens and analyzes them.
        every: a batch leaves whenever there are so many reports, at least the task's ``minimum_batch``; None is one
            batch, at the close.
        tokens: reports that each invited person may send; None where nobody checks that.
        transport: how devices reach the shuffler: "direct".
        directory: of the members who pass reports on among themselves; None is a shuffler that mixes.
        version: of the protocol.

    Raises:
        InvalidParameterError: for a task that no service can run, keys of the wrong role, dates out of order, or an
            argument out of range.
    """

    title: ClassVar[str] = "the collection"
    task: Task
    nonce: str
    opens: str
    closes: str
    shuffler: Service
    analyzer: Service
    every: int | None = None
    tokens: int | None = None
    transport: str = "direct"
    directory: BoundDirectory | None = None
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise invalid(f"{VERSION}, the only one that this library speaks", version=self.version)
        validate.one_of(("direct",), transport=self.transport)
        if self.tokens is not None:
            raise invalid("absent: no service issues tokens yet", tokens=self.tokens)
        _require_service(self.task, relayed=self.directory is not None)
        if self.directory is not None:
            self.directory.check_fits(self.task)
        if len(from_text(self.nonce, name="nonce")) != _NONCE_BYTES:
            raise InvalidParameterError(f"nonce must be {_NONCE_BYTES} bytes in base64url; it is of another length.")
        if instant(closes=self.closes) <= instant(opens=self.opens):
            raise invalid(f"after opens={self.opens}", closes=self.closes)
        least = self.task.release.minimum_batch
        if self.every is not None and self.every < least:
            raise invalid(f"at least minimum_batch={least} of the task", every=self.every)
        if self.every is not None and self.directory is not None:
            raise invalid("absent where members pass reports on: all hand in together", every=self.every)
        if self.every is not None and self.task.shuffler.needs_groups:
            raise invalid("absent where reports stay near an order: it is that of everybody who came", every=self.every)
        for role, party in ((Role.SHUFFLER, self.shuffler), (Role.ANALYZER, self.analyzer)):
            if party.key.role is not role:
                raise invalid(f"the {role}'s", **{f"{role}_key": f"the {party.key.role}'s"})

    @classmethod
    def new(
        cls,
        task: Task,
        *,
        shuffler: Service,
        analyzer: Service,
        closes: str,
        now: datetime,
        opens: str | None = None,
        every: int | None = None,
        directory: BoundDirectory | None = None,
    ) -> Self:
        """A collection with a fresh nonce, which opens at once unless ``opens`` says when.

        Raises:
            InvalidParameterError: as the class does; for a closing date that is not after ``now``; or if a key expires
                before that date, and no successor is named.
        """
        if instant(closes=closes) <= now:
            raise invalid(f"after {written(now)}, the time now", closes=closes)
        for role, party in (("shuffler", shuffler), ("analyzer", analyzer)):
            if party.key.state(instant(closes=closes)) is KeyState.EXPIRED and not party.key.successors:
                raise InvalidParameterError(
                    f"the {role}'s key must be active until closes={closes}, or name a successor; it expires at "
                    f"{party.key.expires}."
                )
        return cls(
            task=task,
            nonce=in_text(secrets.token_bytes(_NONCE_BYTES)),
            opens=written(now) if opens is None else opens,
            closes=closes,
            shuffler=shuffler,
            analyzer=analyzer,
            every=every,
            directory=directory,
        )

    @property
    def canonical(self) -> bytes:
        """The file: JSON without spaces, keys in order, ASCII; what is as if it were not there is left out."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()

    @property
    def id(self) -> bytes:
        """32 bytes: SHA-256 of ``shuffledp collection v1`` and the canonical file."""
        return hashlib.sha256(_CONTEXT + self.canonical).digest()

    @property
    def path(self) -> str:
        """Where reports of this collection go, at the shuffler's address: the id in base64url."""
        return f"/collections/{in_text(self.id)}"

    @property
    def minimum(self) -> int:
        """Fewest reports of a batch."""
        return self.task.release.minimum_batch

    def promised(self) -> "tuple[PrivacyStatement, ...]":
        """What will be guaranteed of the smallest batch, of this collection alone; empty where people must be known.

        Where members pass reports on it is of all of them, none of whom is away. More reports than the smallest batch
        never hurt. Whether anybody answers twice is left to trust.
        """
        from shuffledp.survey.task_planning import plan

        if self.task.shuffler.needs_groups:
            return ()
        alone = replace(self.task.written, people=replace(self.task.people, earlier=()))
        parties: tuple[Party, ...] = (Party("shuffler", self.shuffler.url), Party("analyst", self.analyzer.url))
        bound, section = self.directory, self.task.shuffler
        if bound is not None and isinstance(section, NetworkSection):
            found = plan(Task(alone), graphs=bound.ways(section)).statements
            parties = parties[1:]
        else:
            found = plan(Task(alone), self.minimum).statements
        return tuple(each.trusting(Trust.ONE_ANSWER).naming(*parties) for each in found)

    def to_dict(self) -> dict[str, Any]:
        """All keys, less those that are as if they were not there."""
        written = super(Collection, self).to_dict() | {"task": self.task.to_dict()}
        return {key: value for key, value in written.items() if key not in _UNSAID or value != _UNSAID[key]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The collection that ``to_dict`` wrote; as the class, and for unknown or missing keys."""
        task = {"task": Task.from_dict(data["task"])} if isinstance(data, Mapping) and "task" in data else {}
        return super(Collection, cls).from_dict({**data, **task} if task else data)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The collection in a file.

        Raises:
            InvalidParameterError: if it cannot be read, is larger than 4 MiB, is no JSON, names a key twice, or is not
                what ``canonical`` writes: then somebody has changed it, and its id would be another.
        """
        try:
            content = read_whole(Path(path), most=_LARGEST).strip()
            found = cls.from_dict(json.loads(content))
        except OSError as error:
            raise InvalidParameterError(
                f"the collection file must be readable; got {path}: {error.strerror}."
            ) from None
        except (ValueError, RecursionError) as error:
            if isinstance(error, InvalidParameterError):
                raise
            raise InvalidParameterError(f"the collection file must be JSON; got {path}, which is not.") from None
        if found.canonical != content:
            raise InvalidParameterError(
                f"the collection file must be as `shuffledp collect new` wrote it, to the byte; got {path}, which says "
                "the same in another way."
            )
        return found


def _require_service(task: Task, *, relayed: bool) -> None:
    """Refuse by name what no service can run yet, or no device could follow."""
    shuffler, several = task.shuffler, [each for each in task.columns if _messages(each) > 1]
    known = shuffler.is_uniform or shuffler.needs_groups or shuffler.needs_strata or (relayed and shuffler.needs_graph)
    reasons = {
        f"[shuffler] of kind {shuffler.kind!r}": None if known else _NO_SERVICE.get(shuffler.kind, "no service has it"),
        "by or weight": "no service shuffles inside strata yet" if shuffler.needs_strata else None,
        "[protocol]": "split and mix has no service yet" if several else None,
        "file in [groups]": "devices do not know its rows" if task.groups and task.groups.file else None,
        "id in [people]": "a report that names a person hides nobody" if task.people.id else None,
    }
    for part, why in reasons.items():
        if why:
            raise InvalidParameterError(f"a task that is collected over a network must be without {part}: {why}.")


def _messages(column: Column) -> int:
    return column.randomizer.randomizer().model.num_messages
