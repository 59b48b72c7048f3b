"""Lines of a privacy ledger: its terms first, then reservations, releases, and reservations that were taken back.

Each line is canonical JSON that names the SHA-256 of the line before it, so that no line can be changed or left out
unseen. Charges are whole numbers, so that their sums are exact.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from shuffledp.accounting.gaussian_charges import epsilon_of_charges, squares_within
from shuffledp.core import validate
from shuffledp.core.described import Described, canonical_json
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import instant
from shuffledp.core.validate import invalid, one_line
from shuffledp.survey.section import require_sha256

VERSION = 1
EVERYBODY = ""  # the population of an entry that counts for all declared populations
UNIT = 1 << 60  # charges are whole numbers of 2^-60
_SHARE_OF_REMAINDERS = 0.02  # of delta, kept for the remainders of all releases that are foreseen
_ROUNDED_UP = 64  # units by which the columns of one release may be rounded up
_MOST = 1 << 200  # a charge of a release that promises nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Described):
    """Charge of a release in units of 2^-60, rounded up: mu squared, and the remainder d."""

    squared: int = 0
    remainder: int = 0

    def __post_init__(self) -> None:
        validate.integer_at_least(0, squared=self.squared, remainder=self.remainder)

    @classmethod
    def of(cls, mu: float, remainder: float) -> Self:
        """Charge from mu (0 or more) and d; an infinite mu is charged more than any budget."""
        squared = _MOST if math.isinf(mu) else math.ceil(mu * mu * (1 + 1e-12) * UNIT)
        return cls(squared=squared, remainder=math.ceil(remainder * (1 + 1e-12) * UNIT))

    @property
    def promises_nothing(self) -> bool:
        """Whether the charge is of a release without a promise, which fits into no budget."""
        return self.squared >= _MOST

    def __add__(self, other: "Charge") -> "Charge":
        return Charge(squared=self.squared + other.squared, remainder=self.remainder + other.remainder)

    def times(self, count: int) -> "Charge":
        """Charge of ``count`` such releases."""
        return Charge(squared=self.squared * count, remainder=self.remainder * count)

    def less(self, part: "Charge") -> "Charge":
        """This charge minus the charge of a part."""
        return Charge(squared=self.squared - part.squared, remainder=self.remainder - part.remainder)

    def capped(self, most: "Charge") -> "Charge":
        """This charge if ``most`` is at least as large in both numbers, else ``most``."""
        if self.squared <= most.squared and self.remainder <= most.remainder:
            return self
        return most

    def fits(self, budget: "Charge") -> bool:
        """Whether the charge is within a budget."""
        return self.squared <= budget.squared and self.remainder <= budget.remainder

    def epsilon(self, delta: float) -> float:
        """Epsilon of the charge, at a delta that includes the remainders."""
        return epsilon_of_charges(self.squared / UNIT * (1 + 1e-12), self.remainder / UNIT, delta=delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTerms(Described):
    """Terms of a ledger, its first line: cap, delta, number of releases and populations.

    Args:
        cap: epsilon of all releases together, above 0.
        delta: of all releases together.
        releases: how many are foreseen, 1 or more; each may leave a part of delta.
        populations: names of disjoint populations, whose membership is public and fixed beforehand; a release about one
            of them costs the others nothing. Empty: all releases are about everybody.
        nonce: 16 random bytes in hexadecimal digits, by which the ledger is known.
        at: when it was made, in UTC.
        version: of the file.
    """

    title: ClassVar[str] = "the ledger"
    cap: float
    delta: float
    releases: int
    populations: tuple[str, ...] = ()
    nonce: str
    at: str
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise invalid(f"{VERSION}, the only version of a ledger that this library reads", version=self.version)
        validate.positive(cap=self.cap)
        validate.open_probability(delta=self.delta)
        validate.integer_at_least(1, releases=self.releases)
        instant(at=self.at)
        if len(self.nonce) != 32 or not set(self.nonce) <= set("0123456789abcdef"):
            raise InvalidParameterError("nonce must be 32 hexadecimal digits; it is not.")
        for each in self.populations:
            one_line(populations=each)
        if len(set(self.populations)) != len(self.populations) or EVERYBODY in self.populations:
            raise invalid("all different, and none empty", populations=", ".join(self.populations))

    @property
    def budget(self) -> Charge:
        """Budget that guarantees the cap: 1/50 of delta for remainders, the other 49/50 for squared losses."""
        remainders = self.delta * _SHARE_OF_REMAINDERS
        return Charge(
            squared=math.floor(squares_within(self.cap, remainders, delta=self.delta) * UNIT),
            remainder=math.floor(remainders * UNIT),
        )

    @property
    def remainder_each(self) -> float:
        """Largest remainder d of each foreseen release such that all releases fit; 0 if delta is too small."""
        return max(self.budget.remainder // self.releases - _ROUNDED_UP, 0) / UNIT * (1 - 1e-11)


class LedgerEvent(Described):
    """Base of a ledger's lines after its terms, each about the entry ``id`` and written at a time in UTC."""

    __slots__ = ()
    tag_key = "event"
    id: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved(LedgerEvent):
    """Reservation of one release, or of a plan with several releases, before anybody is asked.

    Args:
        id: of the entry; of a collection its id.
        name: of the task, with ``task_sha256``.
        people: fewest honest people that it is charged for.
        charge: of each release, at its worst.
        count: releases of the plan.
        population: whom it is about; empty for everybody.
        of_plan: entry of the declared plan that it uses up one release of; empty if it is of none.
        keeps: whether the charge stays as it is whatever is released: of a collection in batches, each about other
            people, and of a collection that somebody answers, in a ledger of their own.
        at: when, in UTC.
    """

    event = "reserve"
    id: str
    name: str
    task_sha256: str
    people: int
    charge: Charge
    count: int = 1
    population: str = EVERYBODY
    of_plan: str = ""
    keeps: bool = False
    at: str

    def __post_init__(self) -> None:
        one_line(id=self.id, name=self.name)
        require_sha256(task_sha256=self.task_sha256)
        validate.integer_at_least(1, count=self.count)
        validate.integer_at_least(0, people=self.people)


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(LedgerEvent):
    """Line on a release of a reservation, with the charge by the people who took part.

    Args:
        id: of the entry.
        statement_sha256: of its ``statement.json``.
        people: honest people that it counts.
        charge: at most what was reserved.
        order_groups: digest of the groups whose order it loses something of, with ``order_alpha``; or "".
        at: when, in UTC.
    """

    event = "release"
    id: str
    statement_sha256: str
    people: int
    charge: Charge
    order_groups: str = ""
    order_alpha: float = 0.0
    at: str

    def __post_init__(self) -> None:
        require_sha256(statement_sha256=self.statement_sha256)
        validate.nonnegative(order_alpha=self.order_alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voided(LedgerEvent):
    """Line that takes back the unused part of a reservation, with the reason in words.

    Nobody can have seen a report of that part.
    """

    event = "void"
    id: str
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class LedgerMark:
    """Place of a release in a ledger: the ledger's nonce, terms and head, and the release's entry.

    A release that carries it shows a reader later whether a ledger's file is an older copy, or another one.
    """

    nonce: str
    cap: float
    delta: float
    entry: str
    head: str

    def to_dict(self) -> dict[str, Any]:
        """Part of ``statement.json`` under ``ledger``."""
        return {
            "nonce": self.nonce,
            "cap": self.cap,
            "delta": self.delta,
            "entry": self.entry,
            "head": self.head,
        }

    @property
    def remark(self) -> str:
        """Remark of a statement on the joint loss of all releases of the ledger."""
        return (
            f"Entry {self.entry[:12]} of the privacy ledger {self.nonce[:12]}: all its releases about the same people "
            f"lose together at most epsilon = {self.cap:g} at delta = {self.delta:g}, however results of earlier ones "
            "decided on later ones."
        )


def line_of(event: LedgerEvent | LedgerTerms, previous: str) -> bytes:
    """Line of a ledger's file: canonical JSON that names the digest of the line before it."""
    return canonical_json(event.to_dict() | {"previous": previous}) + b"\n"


def digest_of(line: bytes) -> str:
    """SHA-256 of a line, by which the next line refers to it."""
    return hashlib.sha256(line).hexdigest()
