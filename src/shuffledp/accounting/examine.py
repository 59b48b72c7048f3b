"""Examination of a protocol at one delta: the bracket around its loss, and what each theorem says."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from shuffledp._version import __version__
from shuffledp.accounting.account import account, best_lower_bound, counting_honest, epsilon_of
from shuffledp.accounting.bounds import Limit, limit
from shuffledp.accounting.compose import compose_releases, renyi
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems import THEOREMS
from shuffledp.core.described import Described, encode
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.guarantees import RenyiDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind, Status
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.validate import integer_at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Described):
    """Finding of one theorem about a protocol.

    Args:
        theorem: its identifier.
        citation: where it is proven.
        kind: upper or lower bound.
        status: published, or proven in this project.
        epsilon: what it gives; None where it does not apply.
        reasons: the hypotheses that fail, with the values that fail them; none where it applies.
    """

    theorem: str
    citation: str
    kind: Kind
    status: Status
    epsilon: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Everything known about a protocol at one delta.

    Args:
        model: the protocol.
        counted: the protocol of its honest people alone, which the numbers are about.
        delta: the remainder.
        releases: how many releases the promise is about.
        upper: the tightest upper bound: the promise.
        lower: the largest lower bound, below which nothing can be promised; None if none applies.
        renyi: the divergences at the orders asked for; None if none were.
        theorems: what each theorem says about one release, if that was asked for.
        limit: where the loss of one release goes as people are added, if that was asked for and is known.
        seconds: how long it took.
    """

    model: ProtocolModel
    counted: ProtocolModel
    delta: float
    upper: PrivacyStatement
    lower: PrivacyStatement | None
    releases: int = 1
    renyi: PrivacyStatement | None = None
    theorems: tuple[Finding, ...] = ()
    limit: Limit | None = None
    seconds: float = 0.0

    @property
    def epsilon_upper(self) -> float:
        """Epsilon of the promise."""
        return epsilon_of(self.upper.guarantee)

    @property
    def epsilon_lower(self) -> float | None:
        """Epsilon of the lower bound."""
        return None if self.lower is None else epsilon_of(self.lower.guarantee)

    @property
    def slack(self) -> float | None:
        """Upper over lower: how many times the best possible epsilon the promise is, at most; None if not known.

        The lower bound is about one release, so nothing is known of several.
        """
        lower = self.epsilon_lower
        return self.epsilon_upper / lower if lower and self.releases == 1 else None

    @property
    def amplification(self) -> float:
        """What shuffling divides the local epsilon0 by, at least; 1 where it does nothing, infinity for no loss."""
        return self.model.local.epsilon0 / self.epsilon_upper if self.epsilon_upper else math.inf

    @property
    def statements(self) -> tuple[PrivacyStatement, ...]:
        """The upper bound, then the lower one, then that about Renyi privacy."""
        return tuple(statement for statement in (self.upper, self.lower, self.renyi) if statement is not None)

    def to_dict(self) -> dict[str, Any]:
        """The one object that ``shuffledp account --json`` prints (``accounting`` in docs/schema.json)."""
        return {
            "statements": [statement.to_dict() for statement in self.statements],
            "epsilon_upper": encode(self.epsilon_upper),
            "epsilon_lower": encode(self.epsilon_lower),
            "epsilon0": encode(self.model.local.epsilon0),
            "delta": self.delta,
            "num_users": self.model.num_users,
            "releases": self.releases,
            "theorem": self.upper.basis.theorem,
            "theorems": [finding.to_dict() for finding in self.theorems],
            "limit": None if self.limit is None else asdict(self.limit),
            "model": self.model.to_dict(),
            "library_version": __version__,
            "seconds": self.seconds,
        }


def examine(
    model: ProtocolModel,
    *,
    delta: float,
    releases: int = 1,
    orders: Sequence[float] = (),
    honest_fraction: float = 1.0,
    published_only: bool = False,
    with_theorems: bool = False,
) -> Examination:
    """The bracket around a protocol's loss, and what else is wanted to be known about it.

    Args:
        model: the protocol's public description.
        delta: the remainder, strictly between 0 and 1.
        releases: how often the same people take part, each time shuffled afresh.
        orders: of Renyi privacy, each above 1, ascending; none for no statement about it.
        honest_fraction: as for `shuffledp.account`.
        published_only: as for `shuffledp.account`.
        with_theorems: whether to list what each theorem says about one release, and the limit of many people.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.

    Example:
        >>> from shuffledp.randomizers import LdpModel
        >>> from shuffledp.shufflers import UniformShuffleModel
        >>> model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=10_000))
        >>> found = examine(model, delta=1e-6)
        >>> round(found.epsilon_upper, 5), found.slack < 1.25
        (0.04321, True)
    """
    start = time.perf_counter()
    options: dict[str, Any] = {"honest_fraction": honest_fraction, "published_only": published_only}
    integer_at_least(1, releases=releases)
    upper = _upper(model, delta, releases, options)
    counted = counting_honest(model, honest_fraction)
    divergence = _repeated(renyi(model, orders=orders, **options), releases) if orders else None
    return Examination(
        model=model,
        counted=counted,
        delta=delta,
        releases=releases,
        upper=upper,
        lower=_largest_lower(counted, delta, releases),
        renyi=divergence,
        theorems=findings(counted, delta=delta, published_only=published_only) if with_theorems else (),
        limit=limit(counted, delta=delta) if with_theorems else None,
        seconds=time.perf_counter() - start,
    )


def _upper(model: ProtocolModel, delta: float, releases: int, options: dict[str, Any]) -> PrivacyStatement:
    """The promise; where there is none, and one report by itself has none either, that is said too."""
    try:
        if releases == 1:
            return account(model, delta=delta, **options)
        return compose_releases(model, delta=delta, num_releases=releases, **options)
    except UnsupportedModelError as error:
        if math.isfinite(model.local.epsilon0):
            raise
        raise UnsupportedModelError(
            "one report by itself is not locally private (some output is impossible for one input and not for another: "
            f"epsilon0 is infinite), and {error}"
        ) from None


def findings(model: ProtocolModel, *, delta: float, published_only: bool = False) -> tuple[Finding, ...]:
    """What each theorem of the registry says about a protocol, in the registry's order."""
    return tuple(
        _finding(theorem, model, delta)
        for theorem in THEOREMS
        if not (published_only and theorem.kind.promises and theorem.status is Status.OWN_PROOF)
    )


def _finding(theorem: Theorem, model: ProtocolModel, delta: float) -> Finding:
    failing = tuple(each.text for each in theorem.hypotheses(model, delta=delta) if not each.holds)
    return Finding(
        theorem=theorem.id,
        citation=theorem.citation,
        kind=theorem.kind,
        status=theorem.status,
        epsilon=None if failing else epsilon_of(theorem.guarantee(model, delta=delta)),
        reasons=failing,
    )


def _largest_lower(model: ProtocolModel, delta: float, releases: int) -> PrivacyStatement | None:
    """The largest lower bound for one release: several show at least as much."""
    statement = best_lower_bound(model, delta)
    if statement is None or epsilon_of(statement.guarantee) == 0:
        return None
    several = f"This is about one release; all {releases} together show at least as much."
    return statement.remarking(several) if releases > 1 else statement


def _repeated(statement: PrivacyStatement, releases: int) -> PrivacyStatement:
    """Renyi divergences add up over releases, order by order (Mironov 2017, Proposition 1)."""
    once = statement.guarantee
    if releases == 1 or not isinstance(once, RenyiDP):
        return statement
    total = replace(once, epsilons=tuple(math.nextafter(epsilon * releases, math.inf) for epsilon in once.epsilons))
    return replace(statement, guarantee=total).remarking(f"The divergences of {releases} releases add up.")
