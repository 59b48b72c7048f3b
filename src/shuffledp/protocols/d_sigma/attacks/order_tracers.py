"""Audit of a loss profile by tracers: distinct reports tell a group in order from the group reversed.

That no outcome is more than exp(alpha) times as likely in another order cannot be audited from outside for large
groups: outcomes that lose so much hardly ever come. The whole profile can: whoever guesses which of the two orders was
sent is right with a chance of at most (1 + delta(0)) / 2, for the remainder delta(0) that the claimed mechanism has at
alpha = 0, and a shuffler with twice the loss shows more than that after a few hundred runs.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from shuffledp.attacks.findings import Success, Verdict, check_counting, counted
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Progress, Reports, Shuffler
from shuffledp.core.table import Floats, Integers
from shuffledp.core.text import in_digits
from shuffledp.protocols.d_sigma.laws.loss_profiles import GaussianProfile, LossProfile, Profile
from shuffledp.protocols.d_sigma.laws.mallows_profiles import kendall_profile
from shuffledp.protocols.d_sigma.laws.sort_profiles import laplace_profile
from shuffledp.protocols.d_sigma.people.layout import lay, ranks_of
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.randomness.sources import RandomSource, resolve_source

_POWER = 0.9
_BROKEN = 2.0  # times the claimed loss: a break that should be found
_FEWEST, _MOST = 400, 20_000  # guesses, where their number is not given
_MARGIN = 1.6  # of guesses above those that a shuffler which is broken in just this way needs
_ANYTHING = 0.9995  # a claimed chance above it lets anybody tell the order
_CANDIDATES = 8  # groups among which the one is chosen that tells a break soonest


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OrderTelling(Success):
    """Success rate of telling a group in order from the group reversed, compared with the claimed loss profile.

    Args:
        group_size: people in the group that was played.
        remainder: delta at alpha = 0 of the claimed mechanism, for this group: the most by which the two differ.
        guesses_needed: guesses after which a shuffler of twice the loss is refuted with probability 90%; of no loss,
            one that leaves the order as it is.
        pure: the claimed loss without a remainder; infinite if there is none.
        pure_seen: chance of an outcome that loses more than that, if the shuffler has twice the loss.
    """

    group_size: int
    remainder: float
    guesses_needed: int
    pure: float
    pure_seen: float

    @property
    def reason(self) -> str:
        """Reason why the profile was not audited; "" if it was."""
        if self.verdict is not Verdict.NOT_AUDITED:
            return ""
        if self.claimed > _ANYTHING:
            return "So large a loss lets anybody tell the order: no number of guesses could refute it."
        return f"No outcome of {self.trials:,} guesses could refute {in_digits(self.claimed, 'at most')}."

    @property
    def power(self) -> str:
        """Sentence on the number of guesses that finds a broken shuffler; "" for a refuted or trivial claim."""
        if self.verdict is Verdict.REFUTED or self.claimed > _ANYTHING:
            return ""
        broken = "with twice the loss" if self.pure else "that leaves the order as it is"
        return f"A shuffler {broken} would be found with {self.guesses_needed:,} guesses."

    @property
    def weak(self) -> bool:
        """Whether the claim is consistent with guesses that were too few to refute a broken shuffler."""
        return self.verdict is Verdict.CONSISTENT and self.trials < self.guesses_needed

    def __str__(self) -> str:
        limit = ""
        if self.pure and math.isfinite(self.pure):
            limit = (
                f" The pure loss by itself, {in_digits(self.pure, 'at most')}, is not put to the test: of a shuffler "
                f"with twice the loss, an outcome that shows it comes with a chance of {self.pure_seen:.1e}."
            )
        few = "".join(f" {each}" for each in ("These are too few." * self.weak, self.power or self.reason) if each)
        return (
            f"{self.verdict.upper()}: by the loss profile whoever guesses whether a group of {self.group_size:,} "
            "people was sent in order or reversed is right with a chance of at most "
            f"{in_digits(self.claimed, 'at most')}. Tracers told it in {self.measured}.{few}{limit}"
        )


def tell_orders(
    shuffler: Shuffler,
    *,
    claimed: SlotShuffler | None = None,
    trials: int | None = None,
    confidence: float = 0.99,
    source: RandomSource | None = None,
    progress: Progress | None = None,
) -> OrderTelling | None:
    """Audit of a shuffler's loss profile: tracers tell a group in order from the group reversed.

    In each run a fair coin says whether the group's reports, all different, are sent in order or reversed. The event by
    which it is told is fixed beforehand: after a Mallows shuffle, whether most pairs are in order; after a sort,
    whether the reports lie nearer to where they were sent from if they were in order. The group is one that would show
    twice the claimed loss soonest. It refutes the claimed profile, not every shuffle of this pure loss.

    Guarantees:
        1. A true claim is called consistent (or not audited) with probability ``confidence`` at least.

    Args:
        shuffler: what is played, through ``shuffle`` alone.
        claimed: the shuffler that it is claimed to be, of groups; None is the same.
        trials: guesses, 2 or more; None is as many as twice the loss needs, and more than half as many again.
        confidence: strictly between 0 and 1.
        source: of coins and of the shuffler; None is the cryptographic source.
        progress: told how many runs are done, and how many there are.

    Returns:
        What was found; None if each person is a group, nothing is shuffled, or no profile is known (other distances
        than Kendall's).

    Raises:
        InvalidParameterError: if an argument is out of range, or the view holds other reports than were sent.
    """
    claim: Any = shuffler if claimed is None else claimed
    validate.instance_of(SlotShuffler, claimed=claim)
    source = resolve_source(source)
    target = _soonest(claim)
    if target is None:
        return None
    ranks, profile, broken, size = target
    remainder = min(profile.delta(0.0), math.tanh(profile.pure / 2))
    needed = _guesses_needed(remainder, _told_if_broken(profile, broken), confidence)
    count = trials or max(_FEWEST, min(_MOST, math.ceil(_MARGIN * min(needed, _MOST))))
    chance = min((1 + remainder) / 2, 1.0)
    check_counting(chance, count, confidence)
    wins = 0
    for done, reverse in enumerate(_coins(source, count)):
        wins += _says_reversed(shuffler, claim, ranks, bool(reverse), source) == bool(reverse)
        if progress is not None:
            progress(done + 1, count)
    return OrderTelling(
        **counted(wins, count, claimed=chance, confidence=confidence),
        by_chance=0.5,
        seeded=source.reproducible,
        group_size=size,
        remainder=remainder,
        guesses_needed=min(needed, 10**12),
        pure=profile.pure,
        pure_seen=_beyond(broken, profile.pure),
    )


def guesses_to_tell(claimed: float, true: float, *, level: float, power: float = _POWER) -> int:
    """Number of guesses needed to refute a claimed total variation, by the normal approximation.

    Half of them are sent in order, half reversed. A limit errs with probability ``level`` at most.

    Example:
        >>> guesses_to_tell(0.2553193317846299, 0.4845717097235748, level=0.01) // 2  # groups of 20, Mallows, 4 and 8
        95
    """
    if true <= claimed:
        return 10**12
    reach = float(ndtri(1 - level) + ndtri(power))
    return math.ceil((1 - true**2) * reach**2 / (true - claimed) ** 2)


def _guesses_needed(claimed: float, true: float, confidence: float) -> int:
    """Number of guesses after which the exact two-sided limits refute the claim with probability 90%."""
    from scipy.stats import binom  # slow to import

    tail = (1 - confidence) / 2
    count = guesses_to_tell(claimed, true, level=tail)
    while count < _MOST:  # beyond it the normal approximation errs by less than a hundredth
        refuting = binom.isf(tail, count, min((1 + claimed) / 2, 1.0))
        if binom.sf(refuting, count, min((1 + true) / 2, 1.0)) >= _POWER:
            break
        count += 1 + count // 50
    return count


def _soonest(claim: SlotShuffler) -> tuple[Integers, Profile, Profile, int] | None:
    """Group whose guesses refute a broken shuffler soonest: ranks, claimed and broken profile, and size."""
    groups, prepared = getattr(claim, "groups", None), claim.prepare()
    if groups is None:
        raise InvalidParameterError("claimed must be a shuffler of groups.")
    numbers = np.flatnonzero(groups.sizes > 1)
    no_profile = isinstance(claim, MallowsShuffler) and claim.distance != "kendall"
    if not numbers.size or no_profile or math.isinf(prepared.model.alpha):
        return None
    numbers = numbers[np.argsort(groups.sizes[numbers], kind="stable")]
    numbers = numbers[np.unique(np.linspace(0, numbers.size - 1, _CANDIDATES).astype(np.int64))]
    layout, best, least = lay(groups, prepared.order), None, math.inf
    for number in numbers.tolist():
        ranks = ranks_of(layout, number)
        profile, broken = (_profile(claim, ranks, factor) for factor in (1.0, _BROKEN))
        remainder = min(profile.delta(0.0), math.tanh(profile.pure / 2))
        needed = guesses_to_tell(remainder, _told_if_broken(profile, broken), level=0.01)
        if needed < least:
            best, least = (ranks, profile, broken, int(ranks.size)), needed
    return best


def _profile(claim: SlotShuffler, ranks: Integers, factor: float) -> Profile:
    """Loss profile of one group, if the shuffler's loss is ``factor`` times the claimed loss."""
    prepared = claim.prepare()
    if isinstance(claim, MallowsShuffler):
        block = int(np.searchsorted(prepared.starts, ranks[0], side="right")) - 1
        theta = float(prepared.parameters[block]) * factor
        return kendall_profile(int(ranks[-1] - ranks[0]) + 1, theta)
    there = prepared.parameters[ranks] * factor
    moves = (there[::-1] - there)[: ranks.size // 2]
    if getattr(claim, "noise", "") == "gaussian":
        return GaussianProfile(math.sqrt(2 * float((moves**2).sum())))
    return laplace_profile(moves, steps=500)


def _told_if_broken(profile: Profile, broken: Profile) -> float:
    """Total variation of a broken shuffler, which has twice the claimed loss; 1 if the claimed loss is 0."""
    return broken.delta(0.0) if profile.pure else 1.0


def _beyond(profile: Profile, pure: float) -> float:
    """Chance of an outcome whose loss exceeds the claimed pure loss."""
    if not isinstance(profile, LossProfile) or profile.losses.size == 0:
        return 1.0
    return float(profile.chances[profile.losses > pure].sum()) + profile.remainder


def _coins(source: RandomSource, count: int) -> Integers:
    words = source.words(-(-count // 64))
    bits: Integers = np.unpackbits(words.view(np.uint8))[:count].astype(np.int64)
    return bits


def _says_reversed(
    shuffler: Shuffler, claim: SlotShuffler, ranks: Integers, reverse: bool, source: RandomSource
) -> bool:
    """Guess whether the group was reversed, from one view of distinct reports."""
    prepared = claim.prepare()
    people = prepared.order.size
    members, sent = prepared.order[ranks], np.arange(people)
    if reverse:
        sent[members] = members[::-1]
    model = KaryRandomizedResponse(epsilon0=1.0, domain_size=max(people, 2)).model
    view = shuffler.shuffle(Reports(model=model, columns={"value": sent}), source=source)
    if view.labels is None or len(view) != people:
        raise InvalidParameterError(f"the view must hold one report in each of {people} slots; got {len(view)}.")
    slot = np.full(people, -1)
    slot[np.asarray(view.reports.columns["value"], dtype=np.int64)] = view.labels
    if (slot < 0).any():
        raise InvalidParameterError("the view must hold every report that was sent; some are missing.")
    rank = np.empty(people, dtype=np.int64)
    rank[prepared.order] = np.arange(people)
    landed = rank[slot[members]]  # of the report that is the group's first, second and so on where they are in order
    return _score(claim, prepared.parameters, ranks, landed) < 0


def _score(claim: SlotShuffler, parameters: Floats, ranks: Integers, landed: Integers) -> float:
    """Evidence on the order in which a group was sent: above 0 in order, below 0 reversed.

    It depends on the claimed mechanism, not on the one that made the view.
    """
    if isinstance(claim, MallowsShuffler):
        inverted = int((landed[:, None] > landed[None, :])[np.triu_indices(ranks.size, 1)].sum())
        return ranks.size * (ranks.size - 1) / 4 - inverted
    power = 2 if getattr(claim, "noise", "") == "gaussian" else 1
    here, there = parameters[ranks], parameters[landed]
    return float((np.abs(there - here[::-1]) ** power - np.abs(there - here) ** power).sum())
