"""Upper and lower bounds on a protocol's central epsilon, with the finding of each theorem.

A finding is what the theorem gives, or the reason why it does not apply.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from shuffledp._version import __version__
from shuffledp.accounting.account import (
    Protocol,
    account,
    counting_honest,
    epsilon_of,
    protocol_of,
)
from shuffledp.accounting.compose import compose_releases
from shuffledp.accounting.lower_bounds import lower_bound_beside
from shuffledp.accounting.normal_limits import Limit, limit
from shuffledp.accounting.renyi_divergences import renyi
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems import SHARP_THEOREMS, THEOREMS
from shuffledp.core.described import Described, encode
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.guarantees import RenyiDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Basis, Kind, Status
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits
from shuffledp.core.upward_calls import Shown
from shuffledp.core.validate import integer_at_least, open_probability


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Bracket(Shown):
    """Upper and lower bound on the central epsilon at one delta.

    Args:
        lower: what the loss is at least, in nats; 0 where nothing is known.
        upper: what it is at most: the promise.
        lower_basis: why the lower one holds; None where nothing is known.
        upper_basis: why the upper one holds.
    """

    lower: float
    upper: float
    lower_basis: Basis | None
    upper_basis: Basis

    def __str__(self) -> str:
        below = f" ({self.lower_basis.theorem})" if self.lower_basis else ""
        above = f"{in_digits(self.upper, 'at most')} ({self.upper_basis.theorem})"
        return f"epsilon lies between {in_digits(self.lower, 'at least')}{below} and {above}"


def bracket(
    model: Protocol = None,
    *,
    delta: float,
    epsilon0: float | None = None,
    num_users: int | None = None,
    honest_fraction: float = 1.0,
    published_only: bool = False,
    sharp: bool = False,
) -> Bracket:
    """Tightest upper bound and largest lower bound on the central epsilon, with their theorems.

    For `shuffledp.randomizers.LdpModel`, a class of randomizers, the lower bound is what the worst of them loses at
    least: no theorem about the whole class can promise less.

    Args:
        model: the protocol, in full or in short; it and all else is as for `shuffledp.account`.
        delta: the remainder, strictly between 0 and 1.
        epsilon0: of any randomizer, without a ``model``.
        num_users: without a protocol.
        honest_fraction: share of the people counted.
        published_only: whether to leave out what only this project has proven.
        sharp: whether to work out the bounds that take seconds too.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.

    Example:
        >>> print(bracket(epsilon0=0.5, num_users=10_000, delta=1e-6))
        epsilon lies between 0.01618 (ldp-witness) and 0.01812 (strong-pair)
    """
    open_probability(delta=delta)
    counted = counting_honest(protocol_of(model, epsilon0=epsilon0, num_users=num_users), honest_fraction)
    upper = account(counted, delta=delta, published_only=published_only, sharp=sharp)
    lower, promised = lower_bound_beside(upper, counted, delta=delta), epsilon_of(upper.guarantee)
    if lower is None:
        return Bracket(lower=0.0, upper=promised, lower_basis=None, upper_basis=upper.basis)
    known = epsilon_of(lower.guarantee)
    return Bracket(lower=known, upper=promised, lower_basis=lower.basis, upper_basis=upper.basis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Described):
    """Result of one theorem about a protocol.

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
    """Bounds, findings of theorems and Renyi divergences of a protocol at one delta.

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
        """Epsilon of the upper bound."""
        return epsilon_of(self.upper.guarantee)

    @property
    def epsilon_lower(self) -> float | None:
        """Epsilon of the lower bound; None if no lower bound is known."""
        return None if self.lower is None else epsilon_of(self.lower.guarantee)

    @property
    def slack(self) -> float | None:
        """Ratio of the upper bound to the lower bound; None if unknown.

        It says how far the upper bound may be from the best. The lower bound is about one release, so nothing is known
        of several.
        """
        lower = self.epsilon_lower
        return self.epsilon_upper / lower if lower and self.releases == 1 else None

    @property
    def amplification(self) -> float:
        """Amplification factor: epsilon0 divided by the central epsilon; infinity if no privacy is lost.

        It is 1 without amplification.
        """
        return self.model.local.epsilon0 / self.epsilon_upper if self.epsilon_upper else math.inf

    @property
    def statements(self) -> tuple[PrivacyStatement, ...]:
        """Statements: the upper bound, the lower bound, and Renyi privacy, as far as they are known."""
        return tuple(statement for statement in (self.upper, self.lower, self.renyi) if statement is not None)

    def to_dict(self) -> dict[str, Any]:
        """Object that ``shuffledp account --json`` prints (``accounting`` in docs/schema.json)."""
        return {
            "statements": [statement.to_dict() for statement in self.statements],
            "epsilon_upper": encode(self.epsilon_upper),
            "epsilon_lower": encode(self.epsilon_lower),
            "epsilon0": encode(self.model.local.epsilon0),
            "delta": self.delta,
            "num_users": self.model.num_senders,
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
    sharp: bool = False,
    with_theorems: bool = False,
) -> Examination:
    """Examination of a protocol: bounds on the central epsilon and, on request, Renyi divergences.

    Args:
        model: the protocol's public description.
        delta: the remainder, strictly between 0 and 1.
        releases: how often the same people take part, each time shuffled afresh.
        orders: of Renyi privacy, each above 1, ascending; none for no statement about it.
        honest_fraction: as for `shuffledp.account`.
        published_only: as for `shuffledp.account`.
        sharp: as for `shuffledp.account`.
        with_theorems: whether to list what each theorem says about one release, and the limit of many people.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.

    Example:
        >>> found = examine(protocol_of(None, epsilon0=1.0, num_users=10_000), delta=1e-6)
        >>> round(found.epsilon_upper, 5), found.slack < 1.25
        (0.04321, True)
    """
    start = time.perf_counter()
    options: dict[str, Any] = {"honest_fraction": honest_fraction, "published_only": published_only}
    integer_at_least(1, releases=releases)
    upper, counted = _upper(model, delta, releases, options | {"sharp": sharp}), counting_honest(model, honest_fraction)
    return Examination(
        model=model,
        counted=counted,
        delta=delta,
        releases=releases,
        upper=upper,
        lower=lower_bound_beside(upper, counted, delta=delta, releases=releases),
        renyi=_repeated(renyi(model, orders=orders, **options), releases) if orders else None,
        theorems=findings(counted, delta=delta, published_only=published_only, sharp=sharp) if with_theorems else (),
        limit=limit(counted, delta=delta) if with_theorems else None,
        seconds=time.perf_counter() - start,
    )


def _upper(model: ProtocolModel, delta: float, releases: int, options: dict[str, Any]) -> PrivacyStatement:
    """Upper bound on the central epsilon, as a statement.

    An error also says if the local guarantee is infinite.
    """
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


def findings(
    model: ProtocolModel, *, delta: float, published_only: bool = False, sharp: bool = False
) -> tuple[Finding, ...]:
    """Findings about a protocol, one of each theorem, in the registry's order."""
    theorems = SHARP_THEOREMS if sharp else THEOREMS
    own = (published_only and each.kind.promises and each.status is Status.OWN_PROOF for each in theorems)
    return tuple(_finding(each, model, delta) for each, left_out in zip(theorems, own, strict=True) if not left_out)


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


def _repeated(statement: PrivacyStatement, releases: int) -> PrivacyStatement:
    """Renyi statement for several releases: the sum of the divergences of all releases, order by order.

    This is Proposition 1 of Mironov 2017.
    """
    once = statement.guarantee
    if releases == 1 or not isinstance(once, RenyiDP):
        return statement
    total = replace(once, epsilons=tuple(math.nextafter(epsilon * releases, math.inf) for epsilon in once.epsilons))
    return replace(statement, guarantee=total).remarking(f"The divergences of {releases} releases add up.")
