"""A guarantee with everything that a reader needs in order to believe it: how strong, by which theorem, trusting whom.

Code may only weaken a statement: post-process, compose, mix, convert, trust more, withdraw. A stronger one needs a
theorem.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from shuffledp._described import Described
from shuffledp._validate import invalid
from shuffledp._version import __version__
from shuffledp.errors import IncomparableError
from shuffledp.guarantees import CentralDP, Guarantee, LocalDP

__all__ = [
    "Basis",
    "Hypothesis",
    "Kind",
    "PrivacyStatement",
    "Statements",
    "Status",
    "Trust",
    "Unit",
    "Withdrawal",
    "compose",
    "mix",
]


class Kind(StrEnum):
    """How the guarantee relates to the truth."""

    EXACT = "exact"
    UPPER_BOUND = "upper-bound"
    LOWER_BOUND = "lower-bound"
    ESTIMATE = "estimate"

    @property
    def relation(self) -> str:
        """The kind as it is read before a number."""
        return {"exact": "exactly", "upper-bound": "at most", "lower-bound": "at least", "estimate": "about"}[
            self.value
        ]

    @property
    def promises(self) -> bool:
        """True if people may rely on it: the truth is no worse than the number."""
        return self in (Kind.EXACT, Kind.UPPER_BOUND)


class Status(StrEnum):
    """Who has checked the proof."""

    PUBLISHED = "published"
    OWN_PROOF = "own-proof"


class Unit(StrEnum):
    """Whose change the guarantee speaks about."""

    REPORT = "one-report"
    USER = "one-user"


class Trust(StrEnum):
    """What must hold in the world, and no computation can check, for the statement to be worth anything."""

    OWN_DEVICE = "own-device"
    SHUFFLER = "shuffler"
    NO_COLLUSION = "no-collusion"
    HONEST_USERS = "honest-users"
    OPERATOR = "operator"

    @property
    def text(self) -> str:
        """The requirement in words."""
        return _TRUST_IN_WORDS[self]


_TRUST_IN_WORDS = {
    Trust.OWN_DEVICE: "each person's own device randomizes the answer as stated, with good randomness",
    Trust.SHUFFLER: "the shuffler shuffles as stated and keeps no record of who sent what",
    Trust.NO_COLLUSION: "the analyst does not work together with the shuffler",
    Trust.HONEST_USERS: "everybody counted in the batch really randomized; colluding people must be subtracted",
    Trust.OPERATOR: "whoever ran all the steps in one place saw the raw answers, and keeps them to themselves",
}


class Withdrawal(StrEnum):
    """Why a statement no longer promises anything."""

    SEEDED = "seeded"

    @property
    def text(self) -> str:
        """The reason in words."""
        return _WITHDRAWAL_IN_WORDS[self]


_WITHDRAWAL_IN_WORDS = {
    Withdrawal.SEEDED: "the randomness came from a seed, and anyone who knows the seed can undo it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis(Described):
    """One hypothesis of a theorem, evaluated.

    Args:
        name: a short identifier, such as "small-epsilon0".
        requirement: the condition with its threshold filled in, such as "epsilon0 <= 1.41".
        value: what was found, such as "epsilon0=2".
        holds: whether the condition is met.
    """

    name: str
    requirement: str
    value: str
    holds: bool

    @property
    def text(self) -> str:
        """The condition and the value that it met, or did not meet."""
        if self.holds:
            return f"{self.requirement}: {self.value}"
        return f"needs {self.requirement}; got {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis(Described):
    """Why a statement holds: theorem, source, evaluated hypotheses, and the version of the code that evaluated them.

    Args:
        theorem: identifier in the registry, such as "fmt23-closed".
        citation: where it is proven, with the theorem's number.
        hypotheses: all hypotheses, each with its value; a statement that promises has none that fails.
        status: published, or proven in this project.
        parts: the bases that were put together, for a composition or a mixture.
        library_version: the version that made the statement.
    """

    theorem: str
    citation: str
    hypotheses: tuple[Hypothesis, ...] = ()
    status: Status = Status.PUBLISHED
    parts: tuple["Basis", ...] = ()
    library_version: str = __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyStatement(Described):
    """A privacy guarantee as a value that travels with the result.

    ``print(statement)`` is a paragraph that may be quoted; ``to_dict()`` is the schema of ``docs/schema.json``.

    Guarantees:
        1. A statement that promises (exact or upper bound) has no hypothesis that fails.
        2. Every operation weakens: the result is implied by what went in.
        3. Statements of different kinds, types or deltas are never ordered; the attempt raises.

    Args:
        guarantee: what is claimed.
        kind: exact, upper bound, lower bound or estimate.
        basis: why.
        trust: what must hold in the world.
        unit: one report or one user.
        remarks: what a reader should know besides, such as why no amplification is stated.
        withdrawn: why the statement promises nothing, or None.
        claimed: after a withdrawal, the guarantee that would have been stated without it.

    Raises:
        InvalidParameterError: if a promising statement has a hypothesis that does not hold, if one that is withdrawn
            promises something, if another one has ``claimed``, or for unknown trust.
    """

    guarantee: Guarantee
    kind: Kind
    basis: Basis
    trust: tuple[Trust, ...] = ()
    unit: Unit = Unit.USER
    remarks: tuple[str, ...] = ()
    withdrawn: Withdrawal | None = None
    claimed: Guarantee | None = None

    def __post_init__(self) -> None:
        ordered = tuple(member for member in Trust if member in self.trust)
        if set(self.trust) != set(ordered):
            raise invalid("members of Trust", trust=self.trust)
        object.__setattr__(self, "trust", ordered)
        failing = [hypothesis.text for hypothesis in self.basis.hypotheses if not hypothesis.holds]
        if self.kind.promises and failing:
            raise invalid("hypotheses that all hold in a statement that promises", failing=failing)
        if self.withdrawn is None and self.claimed is not None:
            raise invalid("None in a statement that is not withdrawn", claimed=self.claimed)
        if self.withdrawn is not None and not self.guarantee.is_trivial:
            raise invalid("nothing in a statement that is withdrawn", guarantee=self.guarantee)

    def __str__(self) -> str:
        if self.withdrawn is not None:
            would = f" Without that: {self.claimed.text(self.kind.relation)}" if self.claimed else ""
            return f"WITHDRAWN: nothing is promised, because {self.withdrawn.text}.{would}"
        needs = "; ".join(member.text for member in self.trust)
        own = ", proven in this project" if self.basis.status is Status.OWN_PROOF else ""
        unit = "" if self.unit is Unit.USER else "This is per report: somebody who sends several must add them up. "
        sentences = [
            self.guarantee.text(self.kind.relation),
            self.guarantee.weakness if self.kind.promises else "",
            f"{unit}{_KIND_IN_WORDS[self.kind]} by {self.basis.theorem} ({self.basis.citation}){own}.",
            f"It holds as long as {needs}." if needs else "",
            *self.remarks,
        ]
        return " ".join(sentence for sentence in sentences if sentence)

    def explain(self) -> str:
        """The paragraph of ``print``, and below it every hypothesis with the value that it met, or did not meet."""
        return "\n".join([str(self), *(f"  {hypothesis.text}" for hypothesis in self.basis.hypotheses)])

    def __lt__(self, other: "PrivacyStatement") -> bool:
        return self._epsilon_beside(other) < other._epsilon_beside(self)

    def __le__(self, other: "PrivacyStatement") -> bool:
        return self._epsilon_beside(other) <= other._epsilon_beside(self)

    def _epsilon_beside(self, other: "PrivacyStatement") -> float:
        """Epsilon of this statement, if the two may be compared by epsilon alone."""
        if not isinstance(other, PrivacyStatement):
            raise IncomparableError(f"a statement can only be compared with a statement; got {type(other).__name__}.")
        mine, theirs = self.guarantee, other.guarantee
        if not isinstance(mine, LocalDP | CentralDP) or not isinstance(theirs, LocalDP | CentralDP):
            raise IncomparableError(f"{mine.type} and {theirs.type} are not ordered by epsilon.")
        for what, left, right in (
            ("kind", self.kind, other.kind),
            ("guarantee type", mine.type, theirs.type),
            ("delta", mine.delta, theirs.delta),
            ("unit", self.unit, other.unit),
            ("neighbors", mine.neighbors, theirs.neighbors),
        ):
            if left != right:
                raise IncomparableError(f"statements must agree in {what} to be compared; got {left} and {right}.")
        return mine.epsilon

    def weaken(self, guarantee: Guarantee) -> "PrivacyStatement":
        """The same statement with a guarantee that this one implies.

        Raises:
            IncomparableError: if it is not implied, or if this is a lower bound or an estimate.
        """
        if not self.kind.promises or not self.guarantee.implies(guarantee):
            raise IncomparableError(
                f"a statement must imply what it is weakened to; {self.guarantee!r} does not imply {guarantee!r}."
            )
        return replace(self, guarantee=guarantee, kind=Kind.UPPER_BOUND)

    def post_process(self) -> "PrivacyStatement":
        """The statement for anything computed from the result alone: no worse, but no longer exact."""
        return self.weaken(self.guarantee)

    def trusting(self, *trust: Trust) -> "PrivacyStatement":
        """The same statement that needs more to hold in the world."""
        return replace(self, trust=(*self.trust, *trust))

    def remarking(self, *remarks: str) -> "PrivacyStatement":
        """The same statement with more for the reader to know."""
        return replace(self, remarks=(*self.remarks, *remarks))

    def withdraw(self, reason: Withdrawal) -> "PrivacyStatement":
        """The statement promising nothing: its guarantee becomes trivial; what it claimed is kept apart."""
        if self.withdrawn is not None:
            return self
        return replace(self, guarantee=self.guarantee.nothing(), withdrawn=reason, claimed=self.guarantee)

    def to_central(self) -> "PrivacyStatement":
        """A local statement about a person's report, read as one about everything released.

        Whatever is computed from reports that are each (epsilon, delta)-indistinguishable is so too (post-processing).

        Raises:
            IncomparableError: if it is not local, or a lower bound or an estimate, which what follows may fall below.
        """
        if not self.kind.promises:
            raise IncomparableError(f"only exact values and upper bounds convert to central-dp; got {self.kind}.")
        claimed = None if self.claimed is None else _central(self.claimed)
        return replace(self, guarantee=_central(self.guarantee), kind=Kind.UPPER_BOUND, claimed=claimed)


class Statements(tuple[PrivacyStatement, ...]):
    """Several statements about one release, headline first; a tuple that prints as paragraphs."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n\n".join(str(statement) for statement in self)

    __repr__ = __str__


_KIND_IN_WORDS = {
    Kind.EXACT: "This is the exact value,",
    Kind.UPPER_BOUND: "This is an upper bound (the truth is this good or better),",
    Kind.LOWER_BOUND: "This is a lower bound (nothing better can be promised), not a promise,",
    Kind.ESTIMATE: "This is an estimate, not a promise,",
}


def _central(local: Guarantee) -> CentralDP:
    if not isinstance(local, LocalDP):
        raise IncomparableError(f"only a local-dp statement converts to central-dp; got {local.type}.")
    return CentralDP(epsilon=local.epsilon, delta=local.delta, neighbors=local.neighbors)


def compose(statements: Sequence[PrivacyStatement]) -> PrivacyStatement:
    """The statement for publishing all of several results about the same people (basic composition).

    Args:
        statements: one or more, all promising (exact or upper bounds), of one guarantee type.

    Raises:
        IncomparableError: for lower bounds, estimates, or guarantees of different types.
        InvalidParameterError: for an empty sequence.
    """
    first, *rest = _promising(statements)
    if not rest:
        return first
    guarantee = _claim(first)
    for statement in rest:
        guarantee = guarantee.compose(_claim(statement))
    citation = "basic composition; Dwork and Roth 2014, Theorem 3.16"
    return _combined(statements, guarantee, theorem="basic-composition", citation=citation)


def mix(first: PrivacyStatement, second: PrivacyStatement, *, weight: float) -> PrivacyStatement:
    """The statement for a mechanism that is ``first`` with probability ``weight`` and else ``second``.

    The choice must be made independently of the data.

    Raises:
        IncomparableError: for lower bounds, estimates, or guarantees of different types.
        InvalidParameterError: if ``weight`` is outside [0, 1].
    """
    left, right = _promising([first, second])
    guarantee = _claim(left).mix(_claim(right), weight)
    return _combined([left, right], guarantee, theorem="mixture", citation="convexity of the hockey-stick divergence")


def _claim(statement: PrivacyStatement) -> Guarantee:
    """What is claimed, or would have been without a withdrawal, which is made up for in the end."""
    return statement.claimed or statement.guarantee


def _promising(statements: Sequence[PrivacyStatement]) -> Sequence[PrivacyStatement]:
    if not statements:
        raise invalid("one statement or more", num_statements=0)
    for statement in statements:
        if not statement.kind.promises:
            raise IncomparableError(f"only exact values and upper bounds can be put together; got {statement.kind}.")
    return statements


def _combined(
    statements: Sequence[PrivacyStatement], guarantee: Guarantee, *, theorem: str, citation: str
) -> PrivacyStatement:
    parts = tuple(statement.basis for statement in statements)
    own = any(part.status is Status.OWN_PROOF for part in parts)
    withdrawn = next((statement.withdrawn for statement in statements if statement.withdrawn), None)
    # Whoever changes all that a user sent changes one report too, but not the other way round.
    per_report = any(statement.unit is Unit.REPORT for statement in statements)
    combined = PrivacyStatement(
        guarantee=guarantee,
        kind=Kind.UPPER_BOUND,
        basis=Basis(
            theorem=theorem, citation=citation, status=Status.OWN_PROOF if own else Status.PUBLISHED, parts=parts
        ),
        trust=tuple(trust for statement in statements for trust in statement.trust),
        unit=Unit.REPORT if per_report else Unit.USER,
        remarks=tuple(dict.fromkeys(remark for statement in statements for remark in statement.remarks)),
    )
    return combined if withdrawn is None else combined.withdraw(withdrawn)
