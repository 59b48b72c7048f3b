"""All that is known about a protocol at one delta: the bracket around its loss, and what each theorem says."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp._described import Described, encode
from shuffledp._version import __version__
from shuffledp.accounting.account import account, counting_honest
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems import THEOREMS
from shuffledp.guarantees import DifferentialPrivacy
from shuffledp.models import ProtocolModel
from shuffledp.statements import Kind, PrivacyStatement, Status

__all__ = ["Examination", "Finding", "examine", "findings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Described):
    """What one theorem says about a protocol.

    Args:
        theorem: its identifier.
        citation: where it is proven.
        kind: upper or lower bound.
        status: published, or proven in this project.
        epsilon: what it gives; None where it does not apply.
        reason: the hypotheses that fail, with the values that fail them; "" where it applies.
    """

    theorem: str
    citation: str
    kind: Kind
    status: Status
    epsilon: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What is known about a protocol.

    Args:
        model: the protocol.
        counted: the protocol of its honest people alone, which the numbers are about.
        delta: the remainder.
        upper: the tightest upper bound: the promise.
        lower: the largest lower bound, below which nothing can be promised; None if none applies.
        theorems: what each theorem says, if that was asked for.
        seconds: how long it took.
    """

    model: ProtocolModel
    counted: ProtocolModel
    delta: float
    upper: PrivacyStatement
    lower: PrivacyStatement | None
    theorems: tuple[Finding, ...] = ()
    seconds: float = 0.0

    @property
    def epsilon_upper(self) -> float:
        """Epsilon of the promise."""
        return _epsilon(self.upper)

    @property
    def epsilon_lower(self) -> float | None:
        """Epsilon of the lower bound."""
        return None if self.lower is None else _epsilon(self.lower)

    @property
    def slack(self) -> float | None:
        """Upper over lower: how many times the best possible epsilon the promise is, at most; None if not known."""
        lower = self.epsilon_lower
        return self.epsilon_upper / lower if lower else None

    @property
    def amplification(self) -> float:
        """What shuffling divides the local epsilon0 by, at least; 1 where it does nothing, infinity for no loss."""
        return self.model.local.epsilon0 / self.epsilon_upper if self.epsilon_upper else math.inf

    @property
    def statements(self) -> tuple[PrivacyStatement, ...]:
        """The upper bound, then the lower one."""
        return (self.upper,) if self.lower is None else (self.upper, self.lower)

    def to_dict(self) -> dict[str, Any]:
        """The one object that ``shuffledp account --json`` prints (``accounting`` in docs/schema.json)."""
        return {
            "statements": [statement.to_dict() for statement in self.statements],
            "epsilon_upper": encode(self.epsilon_upper),
            "epsilon_lower": encode(self.epsilon_lower),
            "epsilon0": encode(self.model.local.epsilon0),
            "delta": self.delta,
            "num_users": self.model.num_users,
            "theorem": self.upper.basis.theorem,
            "theorems": [finding.to_dict() for finding in self.theorems],
            "model": self.model.to_dict(),
            "library_version": __version__,
            "seconds": self.seconds,
        }


def examine(
    model: ProtocolModel,
    *,
    delta: float,
    honest_fraction: float = 1.0,
    published_only: bool = False,
    with_theorems: bool = False,
) -> Examination:
    """The bracket around a protocol's loss, and if wanted what each theorem says about it.

    Args:
        model: the protocol's public description.
        delta: the remainder, strictly between 0 and 1.
        honest_fraction: as for `account`.
        published_only: as for `account`.
        with_theorems: whether to list what each theorem says.

    Raises:
        InvalidParameterError, UnsupportedModelError: as `account`.
    """
    start = time.perf_counter()
    upper = account(model, delta=delta, honest_fraction=honest_fraction)
    counted = counting_honest(model, honest_fraction)
    lower = _largest_lower(counted, delta)
    found = findings(counted, delta=delta) if with_theorems else ()
    return Examination(
        model=model,
        counted=counted,
        delta=delta,
        upper=upper,
        lower=lower,
        theorems=found,
        seconds=time.perf_counter() - start,
    )


def findings(model: ProtocolModel, *, delta: float) -> tuple[Finding, ...]:
    """What each theorem of the registry says about a protocol, in the registry's order."""
    return tuple(_finding(theorem, model, delta) for theorem in THEOREMS)


def _finding(theorem: Theorem, model: ProtocolModel, delta: float) -> Finding:
    failing = [each.text for each in theorem.hypotheses(model, delta=delta) if not each.holds]
    return Finding(
        theorem=theorem.id,
        citation=theorem.citation,
        kind=theorem.kind,
        status=theorem.status,
        epsilon=None if failing else theorem.epsilon(model, delta=delta),
        reason="; ".join(failing),
    )


def _largest_lower(model: ProtocolModel, delta: float) -> PrivacyStatement | None:
    lower: Sequence[Theorem] = [
        theorem for theorem in THEOREMS if theorem.kind is Kind.LOWER_BOUND and theorem.applies(model, delta=delta)
    ]
    if not lower:
        return None
    best = max(lower, key=lambda theorem: theorem.epsilon(model, delta=delta))
    return best.state(model, delta=delta)


def _epsilon(statement: PrivacyStatement) -> float:
    guarantee = statement.guarantee
    return guarantee.epsilon if isinstance(guarantee, DifferentialPrivacy) else math.inf
