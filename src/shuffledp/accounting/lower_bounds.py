"""Lower bounds on epsilon, and the check that no upper bound is below a lower bound.

A false theorem among those that promise would be the answer of `account` at once, since the smallest epsilon is
stated. So whatever is promised is held to every lower bound that applies. Solving a lower bound for epsilon takes some
thirty looks at its curve; the check takes one, at the point that is promised.
"""

import math

from shuffledp.accounting.theorem import Theorem, inside_unit
from shuffledp.accounting.theorems import THEOREMS
from shuffledp.core.caching import remembered
from shuffledp.core.errors import ContradictionError
from shuffledp.core.guarantees import CentralDP, DifferentialPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits

_MOST_REMEMBERED = 64  # protocols
_MOST_USERS = 10**15  # above it floats do not distinguish numbers of people, and curves are not compared
_ROUNDING = 1 + 1e-6  # factor by which both sides of an exact bound may differ, as they are solved to nine digits


def lower_bounds(model: ProtocolModel, delta: float) -> list[Theorem]:
    """Theorems with a lower bound for this model and delta."""
    return [each for each in THEOREMS if each.kind is Kind.LOWER_BOUND and each.applies(model, delta=delta)]


@remembered(_MOST_REMEMBERED)
def best_lower_bound(model: ProtocolModel, delta: float) -> PrivacyStatement | None:
    """Largest lower bound on epsilon at this delta, as a statement; None if no theorem gives one."""
    found = {theorem: theorem.epsilon(model, delta=delta) for theorem in lower_bounds(model, delta)}
    if not found:
        return None
    best = max(found, key=lambda theorem: found[theorem])
    return best.stating(model, CentralDP(epsilon=found[best], delta=delta), delta=delta)


def held_to_lower_bounds(
    promise: PrivacyStatement, model: ProtocolModel, *, epsilon: float, delta: float
) -> PrivacyStatement:
    """Statement of an upper bound, unchanged, after a check that no lower bound contradicts it.

    The check is made at its epsilon and delta; above 10^15 people none is made.

    Args:
        promise: what a theorem promises about the model.
        model: the protocol.
        epsilon: of the promise, in nats.
        delta: the remainder that the promise is about, from 0 to 1.

    Raises:
        ContradictionError: if one has.
    """
    if model.num_users > _MOST_USERS:
        return promise
    for theorem in lower_bounds(model, inside_unit(delta)):
        if theorem.delta_at(model, epsilon=epsilon * _ROUNDING) > delta * _ROUNDING:
            lost = theorem.delta_at(model, epsilon=epsilon)
            raise _contradiction(
                f"{promise.basis.theorem} promises a delta of at most {delta:g} at epsilon={epsilon:.6g}, where "
                f"{theorem.id} proves that it is at least {lost:.6g}"
            )
    return promise


def lower_bound_beside(
    upper: PrivacyStatement, model: ProtocolModel, *, delta: float, releases: int = 1
) -> PrivacyStatement | None:
    """Largest lower bound on one release's epsilon, as a statement; None if it is 0 or unknown.

    It holds for several releases too, which show at least as much.

    Args:
        upper: what is promised of all releases together.
        model: the protocol of one release.
        delta: the remainder of both.
        releases: how many there are, 1 or more.

    Raises:
        ContradictionError: if the lower bound is above what is promised.
    """
    lower = best_lower_bound(model, delta)
    promised, lost = (_epsilon(each) for each in (upper, lower))
    if lower is None or lost == 0:
        return None
    if lost > promised * _ROUNDING:
        raise _contradiction(
            f"{upper.basis.theorem} promises an epsilon of {in_digits(promised, 'at most')} at delta={delta:g}, where "
            f"{lower.basis.theorem} proves that it is at least {in_digits(lost, 'at least')}"
        )
    if releases == 1:
        return lower
    return lower.remarking(f"This is about one release; all {releases} together show at least as much.")


def _epsilon(statement: PrivacyStatement | None) -> float:
    guarantee = None if statement is None else statement.guarantee
    return guarantee.epsilon if isinstance(guarantee, DifferentialPrivacy) else math.inf


def _contradiction(what: str) -> ContradictionError:
    return ContradictionError(
        f"two theorems contradict each other: {what}. This is a bug of the library, or of a randomizer or shuffler "
        "whose description is wrong; nothing is stated. Please report it."
    )
