"""How large the central loss is, from both sides: what is promised, and what no theorem can promise less than."""

from dataclasses import dataclass

from shuffledp._numerals import in_digits
from shuffledp._validate import instance_of, open_probability
from shuffledp.accounting.account import account, best_lower_bound, counting_honest, epsilon_of
from shuffledp.models import ProtocolModel
from shuffledp.statements import Basis

__all__ = ["Bracket", "bracket"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """The central epsilon at one delta lies between these two.

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
        return (
            f"epsilon lies between {in_digits(self.lower, 'at least')}{below} and "
            f"{in_digits(self.upper, 'at most')} ({self.upper_basis.theorem})"
        )


def bracket(
    model: ProtocolModel, *, delta: float, honest_fraction: float = 1.0, published_only: bool = False
) -> Bracket:
    """The tightest upper bound on the central epsilon and the largest lower bound, each with its basis.

    For `shuffledp.randomizers.LdpModel`, a class of randomizers, the lower bound is what the worst of them loses at
    least: no theorem about the whole class can promise less.

    Args:
        model: the protocol's public description.
        delta: the remainder, strictly between 0 and 1.
        honest_fraction: as for `shuffledp.account`.
        published_only: as for `shuffledp.account`.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.

    Example:
        >>> from shuffledp.randomizers import LdpModel
        >>> from shuffledp.shufflers import UniformShuffleModel
        >>> model = ProtocolModel(local=LdpModel(epsilon0=0.5), shuffle=UniformShuffleModel(num_users=10_000))
        >>> found = bracket(model, delta=1e-6)
        >>> round(found.lower, 5), round(found.upper, 5)
        (0.01618, 0.01812)
        >>> print(found)
        epsilon lies between 0.01618 (ldp-witness) and 0.01812 (strong-pair)
    """
    instance_of(ProtocolModel, model=model)
    open_probability(delta=delta)
    counted = counting_honest(model, honest_fraction)
    upper = account(counted, delta=delta, published_only=published_only)
    lower = best_lower_bound(counted, delta)
    epsilons = [epsilon_of(statement.guarantee) for statement in (lower, upper) if statement]
    if lower is None or epsilons[0] == 0:
        return Bracket(lower=0.0, upper=epsilons[-1], lower_basis=None, upper_basis=upper.basis)
    return Bracket(lower=epsilons[0], upper=epsilons[1], lower_basis=lower.basis, upper_basis=upper.basis)
