"""The privacy statement, first on the page: how much, what that means, whom one must trust, and why it holds."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from shuffledp._numerals import factor_in_digits, in_digits, shown_relation
from shuffledp.guarantees import CentralDP, DifferentialPrivacy, DSigmaPrivacy, Guarantee, LocalDP
from shuffledp.report.parts import Section
from shuffledp.report.words import count, percent
from shuffledp.statements import Kind, PrivacyStatement
from shuffledp.tasks import JointOutcome, Outcome

__all__ = ["Guess", "statement_section"]

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
_MOST_OF_ALL = 10**15
_ABOUT = {
    CentralDP.type: "everything that is released",
    LocalDP.type: "one person's report by itself",
    DSigmaPrivacy.type: "who of a group gave which of its reports",
}
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
            allowance=_one_in(delta, relation),
        )


def _written_out(delta: float, relation: str) -> str:
    """A remainder without powers of ten, unless it is tiny."""
    return f"{Decimal(in_digits(delta, relation)):f}" if delta >= _LEAST_WRITTEN_OUT else in_digits(delta, relation)


def _one_in(delta: float, relation: str) -> str:
    """A remainder as a share of all, rounded as the relation says: a smaller number of all is a larger share."""
    if delta < 1 / _MOST_OF_ALL:
        return f"less than one in {count(_MOST_OF_ALL)}" if delta else ""
    every = 1 / Fraction(in_digits(delta, relation, digits=15).replace(",", ""))
    rounding = {"at most": math.floor, "at least": math.ceil}.get(relation, round)
    return f"one in {count(rounding(every))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A statement with everything that the template says about it.

    Args:
        statement: the statement.
        told: remarks that the page has made already.
    """

    statement: PrivacyStatement
    told: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """What else there is to know, as far as it is not said elsewhere."""
        return [remark for remark in self.statement.all_remarks if remark not in self.told]

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
        return (_ABOUT | _ABOUT_SEVERAL if self.statement.parts else _ABOUT).get(kind, kind)

    @property
    def parts(self) -> list[tuple[str, "Shown"]]:
        """What it was put together from, under the labels of these."""
        return [(leaf.label, Shown(statement=leaf.statement)) for leaf in self.statement.leaves()]

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        return self.statement.sentence_of(self.statement.guarantee)

    @property
    def weakness(self) -> str:
        """That the promise is a weak one, if it is."""
        return self.statement.guarantee.weakness if self.statement.kind.promises else ""

    @property
    def compared(self) -> str | None:
        """Which two inputs are compared, where the guarantee is about two inputs."""
        guarantee = self.statement.guarantee
        if not isinstance(guarantee, DifferentialPrivacy):
            return None
        return guarantee.neighbors.text_of_sum if self.parts else guarantee.neighbors.text

    @property
    def loss(self) -> Loss | None:
        """The numbers, unless nothing is stated."""
        return Loss.of(self.statement.guarantee, self.statement.kind.relation)

    @property
    def order(self) -> str | None:
        """The numbers of a guarantee about the order inside groups."""
        guarantee, relation = self.statement.guarantee, self.statement.kind.relation
        if not isinstance(guarantee, DSigmaPrivacy) or guarantee.is_trivial:
            return None
        remainder = f", delta {relation} {in_digits(guarantee.delta, relation)}" if guarantee.delta else ""
        factor = factor_in_digits(guarantee.alpha, relation)
        return f"alpha {relation} {in_digits(guarantee.alpha, relation)}, a factor of {relation} {factor}{remainder}"

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
        return self.statement.sentence_of(claimed) if claimed is not None else None


def statement_section(outcome: Outcome | JointOutcome) -> Section:
    """The headline large, and the other statements below it, smaller and marked by their kinds."""
    headline, *rest = outcome.statements
    first = Shown(statement=headline)
    others = [Shown(statement=statement, told=headline.all_remarks) for statement in rest]
    title = "Nothing is promised" if first.statement.guarantee.is_trivial else "What is promised"
    return Section(name="statement", title=title, context={"first": first, "others": others})
