"""The collection file: a task with the parties, their keys and the dates, all fixed before anybody answers.

It is what people are invited to. Its digest is the collection's id, to which every report is bound: whoever changes
the question, a key or a date has made another collection, into which no report fits.
"""

import hashlib
import json
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from shuffledp.core.described import Described, canonical_json
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.core.instants import instant, written
from shuffledp.core.statement_terms import Party, Trust
from shuffledp.core.validate import invalid
from shuffledp.parties.wire.keys import Role, from_text, in_text
from shuffledp.parties.wire.published_keys import KeyState, PublishedKey
from shuffledp.parties.wire.tokens import BLIND_RSA, TokenChallenge
from shuffledp.survey.addresses import check_address
from shuffledp.survey.bound_directory import BoundDirectory
from shuffledp.survey.data_flow import Provenance
from shuffledp.survey.parties import HOSTS, PartyNames, Service, check_parties, host_role
from shuffledp.survey.pools import Pool
from shuffledp.survey.section import read_whole
from shuffledp.survey.solved_models import solved_models, without_models
from shuffledp.survey.task import Task, require_service
from shuffledp.survey.trusted_parties import one_operator_of, trust_of
from shuffledp.survey.web_page import WebPage

if TYPE_CHECKING:
    from shuffledp.core.statements import PrivacyStatement

VERSION = 1
CONTEXT = b"shuffledp collection v1"
_NONCE_BYTES = 16
_LARGEST = 1 << 22  # bytes of a file
_UNSAID: dict[str, Any] = {  # defaults that the file leaves out
    **dict.fromkeys(("page", "every", "fetch_by", "relay", "second_relay", "gateway", "issuer", "directory", "result")),
    **dict.fromkeys(("ready_made", "demonstration", "local", "reminders"), False),
    "transport": "direct",
    "names": {},
    "further_shufflers": [],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Described):
    """A collection over a network, as known to its parties and to all people who answer.

    Guarantees:
        1. Two collections have different ids, also of the same task: each has a nonce.
        2. What all parties and devices must agree on is in it, keys included: nobody can be shown others.

    Args:
        task: what is asked, how it is randomized and shuffled, and what is released.
        nonce: 16 bytes in base64url, different in each collection.
        opens: when reports are taken in, as `shuffledp.core.instants` writes it.
        closes: from when on they are late.
        shuffler: who takes reports in and mixes them; or, with a directory, who carries what members pass on.
        analyzer: who opens and analyzes them; without an address it fetches them.
        page: where people answer in a browser; None where they have a program.
        every: a batch leaves whenever there are so many reports, at least the task's ``minimum_batch``; None is one
            batch, at the close.
        fetch_by: when batches that an analyzer without an address has not fetched are destroyed; after ``closes``.
        transport: how devices reach the shuffler: "direct"; "token", where each spends a token of the issuer; or
            "oblivious", through a relay that cannot read what it passes on, so that the shuffler does not see where
            it comes from.
        relay: address of the relay, of another host than the shuffler's; of an oblivious transport alone.
        second_relay: address of another relay of yet another host, where the first does not answer; either will do.
        gateway: the shuffler's key that requests are sealed to, with its successors; of an oblivious transport alone.
        issuer: who gives a token to each invited person, with a key for this collection alone; needed by the transport
            "token", and possible with "oblivious".
        ready_made: whether the issuer makes the tokens, and would know them again, in place of signing them blindly.
        directory: of the members who pass reports on among themselves; None is a shuffler that mixes.
        names: what whoever made the collection calls the parties; shown beside their addresses alone.
        result: address where the release will be; None where nobody has said it.
        demonstration: whether it is for show, so that its answers may be made up; then all that comes of it says so.
        local: whether one operator runs all of it inside a local network over plain http, for which browsers do not
            encrypt; then all that comes of it says so.
        reminders: whether the issuer tells the analyst, three times at most, which invitations gave no token yet.
        further_shufflers: the other hosts of a sum, after ``shuffler``, each of whom gets a share of every answer.
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
    page: WebPage | None = None
    every: int | None = None
    fetch_by: str | None = None
    transport: str = "direct"
    relay: str | None = None
    second_relay: str | None = None
    gateway: PublishedKey | None = None
    issuer: Service | None = None
    ready_made: bool = False
    directory: BoundDirectory | None = None
    names: PartyNames = field(default_factory=PartyNames)
    result: str | None = None
    demonstration: bool = False
    local: bool = False
    reminders: bool = False
    further_shufflers: tuple[Service, ...] = ()
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise invalid(f"{VERSION}, the only one that this library speaks", version=self.version)
        require_service(self.task, relayed=self.directory is not None)
        if self.directory is not None:
            self.directory.check_fits(self.task)
        if len(from_text(self.nonce, name="nonce")) != _NONCE_BYTES:
            raise InvalidParameterError(f"nonce must be {_NONCE_BYTES} bytes in base64url; it is of another length.")
        if instant(closes=self.closes) <= instant(opens=self.opens):
            raise invalid(f"after opens={self.opens}", closes=self.closes)
        least = self.task.release.minimum_batch
        if self.every is not None and self.every < least:
            raise invalid(f"at least minimum_batch={least} of the task", every=self.every)
        if self.every is not None and not all(pool.leaves_in_parts for pool in self.task.pools):
            raise invalid("absent with a [protocol] or a blanket: all messages leave in one batch", every=self.every)
        if self.every is not None and self.directory is not None:
            raise invalid("absent where members pass reports on: all hand in together", every=self.every)
        if self.every is not None and self.task.shuffler.needs_groups:
            raise invalid("absent with [groups], whose reference order covers all people who answer", every=self.every)
        for role, key in self.keys.items():
            if key.role is not role:
                raise invalid(f"the {role}'s", **{f"{role}_key": f"the {key.role}'s"})
        if self.result is not None:
            check_address(result=self.result)
        check_parties(self)

    @property
    def hosts(self) -> tuple[Service, ...]:
        """Shufflers of the collection, in their order: one, or the hosts of a sum."""
        return (self.shuffler, *self.further_shufflers)

    def pools_at(self, host: int) -> tuple[Pool, ...]:
        """Pools of one shuffler, by its number from 0, in the order of a person's messages."""
        return tuple(pool for pool in self.task.pools if pool.host == host)

    @property
    def keys(self) -> dict[Role, PublishedKey]:
        """The keys of all parties, by role."""
        issuer = None if self.issuer is None else self.issuer.key
        known = (self.shuffler.key, self.analyzer.key, self.gateway, issuer)
        roles = (Role.SHUFFLER, Role.ANALYZER, Role.GATEWAY, Role.ISSUER)
        return {role: key for role, key in zip(roles, known, strict=True) if key is not None}

    @property
    def challenge(self) -> TokenChallenge:
        """Challenge for the tokens of this collection at its first shuffler; errors as in `challenge_at`."""
        return self.challenge_at(0)

    def challenge_at(self, host: int) -> TokenChallenge:
        """Challenge for the tokens of this collection at a shuffler, by its number (RFC 9577, section 2.1).

        Raises:
            LocalProtocolError: if the collection has no tokens.
        """
        if self.issuer is None:
            raise LocalProtocolError("a collection must have an issuer to have tokens; this one has none.")
        issuer, origin = (urlsplit(each.url).netloc.encode() for each in (self.issuer, self.hosts[host]))
        return TokenChallenge(BLIND_RSA, issuer, self.id, origin)

    @property
    def is_oblivious(self) -> bool:
        """Whether reports and requests go through a relay."""
        return self.transport == "oblivious"

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
        **further: Any,
    ) -> Self:
        """A collection with a fresh nonce, open from ``opens`` or at once; ``further`` are other fields.

        Raises:
            InvalidParameterError: as the class does; for a closing date that is not after ``now``; if a key expires
                before that date, and no successor is named; or if the analyzer's does, whoever is named: by the key
                that a report is sealed to the analyst would tell late ones from early ones.
        """
        if instant(closes=closes) <= now:
            raise invalid(f"after {written(now)}, the time now", closes=closes)
        made = cls(
            task=task,
            nonce=in_text(secrets.token_bytes(_NONCE_BYTES)),
            opens=written(now) if opens is None else opens,
            closes=closes,
            shuffler=shuffler,
            analyzer=analyzer,
            **further,
        )
        for role, key in made.keys.items():
            if key.state(instant(closes=closes)) is not KeyState.EXPIRED:
                continue
            if role is Role.ANALYZER:
                raise InvalidParameterError(
                    f"the analyzer's key must be active until closes={closes}, since late reports could be told from "
                    f"early ones by another; it expires at {key.expires}. Give the file of the key that follows it."
                )
            if not key.successors:
                raise InvalidParameterError(
                    f"the {key.role}'s key must be active until closes={closes}, or name a successor; it expires at "
                    f"{key.expires}."
                )
        return made

    @property
    def canonical(self) -> bytes:
        """The file's bytes: ASCII JSON without spaces, keys in order; keys at their default are left out."""
        return canonical_json(self.to_dict())

    @property
    def id(self) -> bytes:
        """The id, 32 bytes: SHA-256 of ``shuffledp collection v1`` and the canonical file."""
        return hashlib.sha256(CONTEXT + self.canonical).digest()

    @property
    def path(self) -> str:
        """Path at the shuffler's address to which reports go: the id in base64url."""
        return f"/collections/{in_text(self.id)}"

    @property
    def minimum(self) -> int:
        """Fewest people whose reports are released together: the minimum batch, or more if the noise needs them."""
        needed = (column.randomizer.least_people for column in self.task.columns)
        return max(self.task.release.minimum_batch, max(needed) + self.task.people.fakes)

    @property
    def most(self) -> float:
        """Largest number of people who may answer, by the plans of all columns; infinity without a limit."""
        planned = (column.randomizer.most_people for column in self.task.columns)
        return min((float(people) for people in planned if people is not None), default=math.inf)

    def promised(self) -> "tuple[PrivacyStatement, ...]":
        """Guarantees of the smallest batch for this collection alone; empty if they depend on who takes part.

        Where members pass reports on it is of all of them, none of whom is away. More reports than the smallest batch
        never hurt.
        """
        from shuffledp.survey.planning.task_planning import plan

        if self.task.shuffler.needs_groups:
            return ()
        alone = replace(self.task.written, people=replace(self.task.people, earlier=()))
        if self.directory is not None:
            members = self.task.shuffler.of_people(self.directory.people)
            found = plan(Task(alone), graphs=members, alone=True).statements
        else:
            found = plan(Task(alone), self.minimum, alone=True).statements
        return tuple(each.trusting(*self.trust).naming(*self.parties(fingerprints=False)) for each in found)

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Trust that people need beyond trust in the shuffle, such as in the transport or the page."""
        return trust_of(self)

    @property
    def addresses(self) -> dict[str, str | None]:
        """The addresses of the parties, by role; None for a role that takes no part."""
        issuer = None if self.issuer is None else self.issuer.url
        page = None if self.page is None else self.page.url
        served = {"shuffler": self.shuffler.url, "analyzer": self.analyzer.url or None}
        second = {} if self.second_relay is None else {"second_relay": self.second_relay}
        further = {host_role(number): each.url for number, each in enumerate(self.further_shufflers, 1)}
        return {**served, "issuer": issuer, "page": page, "relay": self.relay, **second, **further}

    @property
    def relays(self) -> tuple[str, ...]:
        """Addresses of the relays, in the order in which devices try them; empty without a relay."""
        return tuple(filter(None, (self.relay, self.second_relay)))

    @property
    def one_operator(self) -> tuple[str, ...]:
        """Roles that seem to share an operator, since their parties have the same host."""
        return one_operator_of(self)

    def named(self, role: str, *, known_by: str = "") -> str:
        """A party in words: its name, if it has one, with its address or else with ``known_by``."""
        return self.names.beside(role, known_by or self.addresses[role] or self.analyzer.words)  # it may have none

    def parties(self, *, fingerprints: bool = True) -> tuple[Party, ...]:
        """Parties that people must trust: names, addresses and key fingerprints; for walks there is no shuffler."""
        served = {} if self.directory is not None or self.further_shufflers else {"shuffler": self.shuffler}
        served |= {"analyzer": self.analyzer} | ({} if self.issuer is None else {"issuer": self.issuer})
        known = {role: each.words if fingerprints or each.fetches else each.url for role, each in served.items()}
        if self.further_shufflers:
            known = {HOSTS: "; ".join(each.words if fingerprints else each.url for each in self.hosts)} | known
        known |= {"relay": " or ".join(self.relays)} if self.relays else {}
        known |= {} if self.page is None else {"page": self.page.words}
        told = {"analyzer": "analyst"}
        return tuple(Party(told.get(role, role), self.named(role, known_by=words)) for role, words in known.items())

    @property
    def provenance(self) -> Provenance:
        """Parties, trust and whether answers are made up, for the statements of its release."""
        return Provenance(parties=self.parties(), trust=self.trust, demonstration=self.demonstration)

    def to_dict(self) -> dict[str, Any]:
        """All keys of the file, except keys with their default value."""
        every = super(Collection, self).to_dict() | {"task": self.task.to_dict()} | solved_models(self.task)
        return {key: value for key, value in every.items() if key not in _UNSAID or value != _UNSAID[key]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The collection written by ``to_dict``; errors as in the class, and for unknown or missing keys."""
        if isinstance(data, Mapping) and "task" in data:
            task = Task.from_dict(data["task"])
            data = {**without_models(data, task), "task": task}
        return super(Collection, cls).from_dict(data)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The collection in a file.

        Raises:
            InvalidParameterError: if it cannot be read, is larger than 4 MiB, is no JSON, names a key twice, has a page
                without its digest, or is not what ``canonical`` writes: then somebody has changed it, and its id.
        """
        try:
            content = read_whole(Path(path), most=_LARGEST).strip()
            found = cls.from_dict(json.loads(content))
        except OSError as error:
            reason = f"the collection file must be readable; got {path}: {error.strerror}."
            raise InvalidParameterError(reason) from None
        except (ValueError, RecursionError) as error:
            if isinstance(error, InvalidParameterError):
                raise
            raise InvalidParameterError(f"the collection file must be JSON; got {path}, which is not.") from None
        if found.page is not None and not found.page.sha256:
            raise InvalidParameterError(f"the page of a collection must have its digest; got {path} without one.")
        if found.canonical != content:
            raise InvalidParameterError(
                f"the collection file must be as `shuffledp collect new` wrote it, to the byte; got {path}, whose "
                "content is the same in other bytes."
            )
        return found
