"""Losses of the order over several releases: added up by group size, before the worst group is taken.

For each group the reversal is the worst exchange in every release, so that the pairs of laws of independent releases
multiply. Groups of about one size are bounded by one law in each release, and the products of these bound all of them.
To take the worst group of each release first would be true as well, and say far less.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shuffledp.accounting.privacy_losses import loss_laws, loss_sum
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.order_laws import OrderLaw
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Floats
from shuffledp.protocols.d_sigma.laws.loss_profiles import GaussianProfile, Profile, ResponseProfile
from shuffledp.protocols.d_sigma.shufflers.group_profiles import profile_of
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler

_LEFT_OUT = 1e-4  # share of delta: the probability of losses that are taken for infinite


def with_order_laws(statements: Sequence[PrivacyStatement], laws: Sequence[OrderLaw]) -> tuple[PrivacyStatement, ...]:
    """Statements of a release, with laws by group size added to the shuffle's promise about the order.

    A promise by randomizing alone, and one that is withdrawn, stay as they are.
    """
    return tuple(_with_laws(each, tuple(laws)) for each in statements)


def _with_laws(statement: PrivacyStatement, laws: tuple[OrderLaw, ...]) -> PrivacyStatement:
    claim, theorem = statement.guarantee, statement.basis.theorem
    if not isinstance(claim, DSigmaPrivacy) or claim.is_trivial or theorem == "d-sigma-local" or not laws:
        return statement
    return replace(statement, guarantee=replace(claim, by_size=laws))


def laws_of(shuffler: object) -> tuple[OrderLaw, ...]:
    """Laws by group size of a shuffler near an order that has groups; empty for other shufflers."""
    has_groups = isinstance(shuffler, SlotShuffler) and getattr(shuffler, "groups", None) is not None
    return shuffler.order_laws() if has_groups and isinstance(shuffler, SlotShuffler) else ()


def orders_added_up(claims: Sequence[DSigmaPrivacy], *, delta: float) -> tuple[tuple[int, int, float], ...]:
    """Upper bounds on alpha, at ``delta``, of several releases together about equal groups, by group size.

    Empty where no laws are known, or where those of two releases are about groups of different sizes.

    A release without laws counts for every group as a response of its alpha; what its own remainder hides comes on top
    of ``delta``.

    Args:
        claims: of each release, about the same groups.
        delta: of all together, strictly between 0 and 1.

    Returns:
        People in the smallest and the largest group of about one size, and the alpha of these groups, at most; small
        groups first.
    """
    known = [claim.by_size for claim in claims if claim.by_size]
    if not known or len({tuple(law.groups for law in laws) for laws in known}) > 1:
        return ()
    others: list[Profile] = [ResponseProfile(claim.alpha) for claim in claims if not claim.by_size and claim.alpha > 0]
    return tuple(
        (laws[0].smallest, laws[0].largest, _together(_profiles(laws) + others, delta))
        for laws in zip(*known, strict=True)
    )


def _profiles(laws: Sequence[OrderLaw]) -> list[Profile]:
    """Loss profiles of one group's releases: one for each distinct law, and one for all Gaussian noise."""
    mu = math.hypot(*(law.numbers[0] for law in laws if law.law == "gaussian"))
    counts = Counter(law for law in laws if law.law != "gaussian")
    rest = [profile_of(law, releases=count) for law, count in counts.items()]
    return [each for each in (*([GaussianProfile(mu)] if mu else []), *rest) if each.pure > 0]


def _together(profiles: Sequence[Profile], delta: float) -> float:
    """Upper bound on alpha, at ``delta``, of independent releases with these loss profiles together."""
    if not profiles:
        return 0.0
    if len(profiles) == 1:
        return profiles[0].alpha(delta)
    basic = math.fsum(each.alpha(delta / len(profiles)) for each in profiles)
    pure = math.fsum(each.pure for each in profiles)
    limit = min(basic, pure) * (1 + 1e-12)
    curves, left_out = [_Curve(each) for each in profiles], _LEFT_OUT * delta / len(profiles)
    found = loss_laws(curves, [None] * len(curves), left_out)
    if found is None:
        return limit
    laws, step = found
    return min(limit, loss_sum(laws, step=step, repeats=1, delta=delta).epsilon(delta, limit=limit))


@dataclass(frozen=True)
class _Curve:
    """Delta curve of a loss profile, which holds for both directions of the profile's pair of laws.

    Reversing a reversed group restores it, so that the two laws change places.
    """

    profile: Profile

    def curve(self, model: Any, *, epsilons: Floats) -> Floats:
        del model
        return self.profile.curve(np.asarray(epsilons, dtype=np.float64))

    def delta_at(self, model: Any, *, epsilon: float) -> float:
        del model
        return self.profile.delta(epsilon)

    def epsilon(self, model: Any, *, delta: float) -> float:
        del model
        return self.profile.alpha(delta)
