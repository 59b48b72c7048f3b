"""The privacy statement, first on the page: how much, what that means, whom one must trust, and why it holds."""

import math
from dataclasses import dataclass
from decimal import Decimal

from shuffledp._numerals import factor_in_digits, in_digits, shown_relation
from shuffledp.guarantees import CentralDP, DifferentialPrivacy, Guarantee, LocalDP
from shuffledp.report.parts import Section
from shuffledp.report.words import count, percent
from shuffledp.statements import Kind, PrivacyStatement, Status
from shuffledp.tasks import JointOutcome, Outcome

__all__ = ["statement_section"]

_TITLES = {
    Kind.EXACT: "Exact value",
    Kind.UPPER_BOUND: "Upper bound",
    Kind.LOWER_BOUND: "Lower bound",
    Kind.ESTIMATE: "Estimate",
}
_MEANINGS = {
    Kind.EXACT: "A promise, and no stronger one is possible: the loss is this, up to the digits shown.",
    Kind.UPPER_BOUND: "A promise: the loss is this small or smaller.",
    Kind.LOWER_BOUND: "Not a promise. On some data the loss is at least this, so nothing smaller can be promised.",
    Kind.ESTIMATE: "Not a promise: an estimate of the loss.",
}
_LEAST_WRITTEN_OUT = 1e-9
_ABOUT = {CentralDP.type: "everything that is released", LocalDP.type: "one person's report by itself"}
_ABOUT_SEVERAL = {LocalDP.type: "all reports of one person together"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The guarantee as a game of guessing which of two answers a person gave, with even chances before.

    Args:
        share: the largest chance of being right, from 0.5 to 1.
    """

    share: float

    @classmethod
    def under(cls, guarantee: DifferentialPrivacy) -> "Guess":
        """At most (exp(epsilon) + delta) / (exp(epsilon) + 1), however much else the guesser knows."""
        inverse = math.exp(-guarantee.epsilon)
        return cls(share=min((1 + guarantee.delta * inverse) / (1 + inverse), 1.0))

    @property
    def text(self) -> str:
        """The chance in percent, rounded up."""
        return percent(self.share, "at most")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The numbers of a differential privacy guarantee, as they are shown large."""

    epsilon: str
    epsilon_relation: str
    factor: str
    factor_relation: str
    delta: str
    allowance: str

    @classmethod
    def of(cls, guarantee: Guarantee, relation: str) -> "Loss | None":
        """None for a guarantee that promises nothing, or one that is not a matter of epsilon."""
        if not isinstance(guarantee, DifferentialPrivacy) or guarantee.is_trivial:
            return None
        delta, epsilon = guarantee.delta, in_digits(guarantee.epsilon, relation)
        return cls(
            epsilon=epsilon,
            epsilon_relation=shown_relation(guarantee.epsilon, epsilon, relation),
            factor=factor_in_digits(guarantee.epsilon, relation),
            factor_relation="about" if relation == "exactly" else relation,
            delta=_written_out(delta, relation),
            allowance=f"one in {count(round(1 / delta))}" if delta else "",
        )


def _written_out(delta: float, relation: str) -> str:
    """A remainder without powers of ten, unless it is tiny."""
    return f"{Decimal(in_digits(delta, relation)):f}" if delta >= _LEAST_WRITTEN_OUT else f"{delta:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A statement with everything that the template says about it."""

    statement: PrivacyStatement

    @property
    def kind(self) -> str:
        """The kind as a heading."""
        return _TITLES[self.statement.kind]

    @property
    def meaning(self) -> str:
        """What the kind means for the reader."""
        return _MEANINGS[self.statement.kind]

    @property
    def about(self) -> str:
        """What the statement speaks about."""
        kind = self.statement.guarantee.type
        return (_ABOUT | _ABOUT_SEVERAL if self.statement.basis.parts else _ABOUT).get(kind, kind)

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        return self.statement.guarantee.text(self.statement.kind.relation)

    @property
    def weakness(self) -> str:
        """That the promise is a weak one, if it is."""
        return self.statement.guarantee.weakness if self.statement.kind.promises else ""

    @property
    def compared(self) -> str | None:
        """Which two inputs are compared, where the guarantee is about two inputs."""
        guarantee = self.statement.guarantee
        return guarantee.neighbors.text if isinstance(guarantee, DifferentialPrivacy) else None

    @property
    def loss(self) -> Loss | None:
        """The numbers, unless nothing is stated."""
        return Loss.of(self.statement.guarantee, self.statement.kind.relation)

    @property
    def guess(self) -> Guess | None:
        """The game, for promises in terms of epsilon."""
        guarantee = self.statement.guarantee
        if self.loss is None or not self.statement.kind.promises or not isinstance(guarantee, DifferentialPrivacy):
            return None
        return Guess.under(guarantee)

    @property
    def claimed(self) -> str | None:
        """After a withdrawal, what would have been stated."""
        claimed = self.statement.claimed
        return claimed.text(self.statement.kind.relation) if claimed is not None else None

    @property
    def proof(self) -> str:
        """Who has checked the proof."""
        return "proven in this project" if self.statement.basis.status is Status.OWN_PROOF else "published"


def statement_section(outcome: Outcome | JointOutcome) -> Section:
    """The headline large, and the other statements below it, smaller and marked by their kinds."""
    first, *others = (Shown(statement=statement) for statement in outcome.statements)
    title = "Nothing is promised" if first.statement.guarantee.is_trivial else "What is promised"
    return Section(name="statement", title=title, context={"first": first, "others": others})
