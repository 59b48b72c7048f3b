"""How well somebody can tell which slots hold given people's reports: Meehan et al. 2022, Theorem 4.2, refined."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import _validate
from shuffledp._described import Described
from shuffledp._numerals import in_digits
from shuffledp.accounting.numerics import rounded_up
from shuffledp.accounting.premises import common_randomizer, not_adaptive, oblivious, one_message_each, pure_local
from shuffledp.errors import HypothesisError, InvalidParameterError, UnsupportedModelError
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis, Trust

__all__ = ["ReidentificationBound", "reidentification_bound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReidentificationBound(Described):
    """What limits the odds of naming the slots that hold given people's reports.

    Args:
        num_targets: k, how many people are looked for; the attacker names k slots and wins if they hold their reports.
        group_size: r, the people of the group that hides them; 0 if other people's swap costs were used instead.
        epsilon0: local loss.
        from_values: 2 k epsilon0: what the values of the reports give away, at most.
        from_order: what the places of the reports give away: alpha; for one person the swap costs, at most.
        remainder: delta of the shuffle's guarantee.
        odds: of winning to losing, at most; whatever is known beforehand about everybody's answers.
        hypotheses: what this rests on, evaluated.
        num_colluding: people who may tell the attacker their reports, wherever they are; no target is one.
        trust: what must hold in the world besides.
    """

    num_targets: int
    group_size: int
    epsilon0: float
    from_values: float
    from_order: float
    remainder: float
    odds: float
    hypotheses: tuple[Hypothesis, ...] = ()
    num_colluding: int = 0
    trust: tuple[Trust, ...] = ()

    @property
    def success(self) -> float:
        """The probability of winning, at most; on average over what is released if there is a remainder."""
        share = self.odds / (1 + self.odds) if self.odds < math.inf else 1.0
        return min(1.0, rounded_up(share + (1 - share) * self.remainder))

    @property
    def dominates(self) -> str:
        """Which share is the larger one: "values" or "order", or "neither"."""
        if self.from_values == self.from_order:
            return "neither"
        return "values" if self.from_values > self.from_order else "order"

    def __str__(self) -> str:
        people = "one person's report" if self.num_targets == 1 else f"the reports of {self.num_targets} given people"
        shares = (
            f"The values of reports account for {in_digits(self.from_values, 'at most')} of the exponent "
            f"(2 k epsilon0), and their places for {in_digits(self.from_order, 'at most')}"
        )
        larger = {"values": "the values dominate", "order": "the order dominates", "neither": "neither dominates"}
        average = ", on average over releases" if self.remainder else ""
        told = f" and the reports of {self.num_colluding:,} other people" if self.num_colluding else ""
        return (
            f"Whoever knows everything but the randomness{told} names the slots of {people} correctly with a "
            f"probability of at most {in_digits(self.success, 'at most')}{average}. {shares}: {larger[self.dominates]}."
        )


def reidentification_bound(
    model: ProtocolModel, *, group_size: int | None = None, num_targets: int = 1, swap_costs: ArrayLike | None = None
) -> ReidentificationBound:
    """At which odds an attacker names the slots that hold given people's reports.

    Exchanging the reports of k people with those of k others, disjoint from them, changes the probability of what is
    seen by at most exp(2 k epsilon0) for the values and exp(cost) for the order; in the exchanged world the attacker,
    who names the same slots, loses. With a group of r there are floor((r - k) / k) such sets, each at a cost of alpha
    at most (Theorem 4.2). For one person every other person counts, each at the cost of exchanging just the two.
    Colluding people, whose reports the attacker knows, hide nobody: as many are left out of the group, or of the others
    those whom it costs least to exchange with.

    Args:
        model: the protocol's public description.
        group_size: r, at least ``num_targets``: people of the group; None is the largest group.
        num_targets: k, people of that group who are looked for.
        swap_costs: for one person, what it costs to exchange that person with each other one, as a shuffler's
            ``swap_costs(person)`` tells; the entry of 0 for the person is one of them. In place of ``group_size``.

    Raises:
        HypothesisError: unless one common pure randomizer sends one report each, and the permutation is drawn without
            looking at the reports: the theorem is false for other shufflers that are d_sigma private.
        UnsupportedModelError: if the shuffle says nothing about groups and no swap costs are given.
        InvalidParameterError: if an argument is out of range.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Theorem 4.2; the
        hypotheses and the refinement are our own (docs/errata.md).
    """
    _validate.instance_of(ProtocolModel, model=model)
    _validate.integer_at_least(1, num_targets=num_targets)
    hypotheses = _hypotheses(model)
    failing = "; ".join(hypothesis.text for hypothesis in hypotheses if not hypothesis.holds)
    if failing:
        raise HypothesisError(f"reidentification {failing}.")
    epsilon0, colluding = model.local.epsilon0, model.num_users - model.shuffle.num_honest
    values = 2 * num_targets * epsilon0
    if swap_costs is not None:
        costs = _checked_costs(swap_costs, num_targets, group_size)
        costs = np.sort(costs)[colluding:]
        hiding, order, size, remainder = math.fsum(np.exp(-costs).tolist()), float(costs.min(initial=math.inf)), 0, 0.0
    else:
        claim = model.shuffle.d_sigma
        if claim is None:
            raise UnsupportedModelError(f"nothing is known about groups in a {model.shuffle.kind!r} shuffle.")
        size = _checked_size(model, group_size, num_targets)
        order, remainder = claim.alpha, claim.delta
        hiding = max(size - num_targets - colluding, 0) // num_targets * math.exp(-order)
    return ReidentificationBound(
        num_targets=int(num_targets),
        group_size=size,
        epsilon0=epsilon0,
        from_values=values,
        from_order=order,
        remainder=remainder,
        odds=rounded_up(math.exp(values) / hiding) if hiding > 0 and values < 700 else math.inf,
        hypotheses=hypotheses,
        num_colluding=colluding,
        trust=(Trust.OWN_DEVICE, *model.shuffle.trust),
    )


def _hypotheses(model: ProtocolModel) -> tuple[Hypothesis, ...]:
    return (oblivious(model), common_randomizer(model), not_adaptive(model), one_message_each(model), pure_local(model))


def _checked_costs(
    swap_costs: ArrayLike, num_targets: int, group_size: int | None
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    costs = np.asarray(swap_costs, dtype=np.float64)
    if num_targets != 1 or group_size is not None:
        raise InvalidParameterError("swap_costs must be given for one target, and without group_size.")
    if costs.ndim != 1 or not (costs >= 0).all() or not (costs == 0).any():
        raise InvalidParameterError("swap_costs must be numbers of 0 or more, one of them the person's own 0.")
    return np.delete(costs, int(np.argmin(costs)))


def _checked_size(model: ProtocolModel, group_size: int | None, num_targets: int) -> int:
    largest = model.shuffle.largest_group
    size = largest if group_size is None else group_size
    _validate.integer_at_least(1, group_size=size)
    if not num_targets <= size <= largest:
        raise _validate.invalid(f"from num_targets={num_targets} to the largest group, {largest}", group_size=size)
    return int(size)
