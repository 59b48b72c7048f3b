"""Loss profiles of a shuffler's groups by size class, and noise scales that meet (alpha, delta)."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.order_laws import OrderLaw
from shuffledp.core.table import Floats, Integers
from shuffledp.laws import gaussian_mu
from shuffledp.laws.moments import kendall_inversions
from shuffledp.protocols.d_sigma.laws.loss_profiles import (
    ORDERS,
    GaussianProfile,
    LossProfile,
    Profile,
    SizedProfile,
    WorstProfile,
    size_classes,
    without_losses,
)
from shuffledp.protocols.d_sigma.laws.mallows_profiles import kendall_profile
from shuffledp.protocols.d_sigma.laws.sort_profiles import (
    dominating_distances,
    few_distances,
    laplace_profile,
)
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.layout import lay, ranks_of
from shuffledp.protocols.d_sigma.people.sensitivity import Windows, position_spreads, windows

_MOST_MEMBERSHIPS = 20_000_000  # whose moves are looked at one by one
_QUICK = 1500  # steps of the grid: of many groups at once, and while a scale is searched for
_CLOSE = 1e-5  # relative, of a scale
_ROUNDS = 40
_WIDTH_RATIO = 1.02  # windows are widened by up to as much where there are very many different ones
_MOST_WIDTHS = 64


def nothing_lost() -> LossProfile:
    """Loss profile of two equal laws: no loss at all."""
    return LossProfile(np.zeros(0), np.zeros(0), 0.0, 0.0, np.zeros(ORDERS.size))


def known_by_most(pure: float) -> LossProfile:
    """Loss profile known only by its largest loss.

    The Renyi divergence of order a is at most a * pure^2 / 2.
    """
    with np.errstate(over="ignore"):
        return without_losses(pure, np.minimum(pure, ORDERS * (pure * pure) / 2)) if pure else nothing_lost()


def laplace_profiles(
    groups: Groups, order: Integers, at: Floats, is_cut: NDArray[np.bool_], releases: int
) -> tuple[SizedProfile, ...]:
    """Loss profiles of a Laplace sort, one for each size class of groups.

    ``at`` are positions in units of the noise.

    A group that ``is_cut``, whose members stand in several blocks, may lose anything.
    """
    moves = moves_of(groups, order, at)
    return tuple(
        _sized(
            groups,
            numbers,
            known_by_most(math.inf)
            if is_cut[numbers].any()
            else laplace_profile(dominating_distances(map(moves, numbers.tolist())), releases=releases, steps=_QUICK),
        )
        for numbers in size_classes(groups.sizes)
    )


def laplace_laws(groups: Groups, order: Integers, at: Floats, is_cut: NDArray[np.bool_]) -> tuple[OrderLaw, ...]:
    """Laws by group size of one Laplace sort, each with a few distances; arguments as in `laplace_profiles`."""
    moves, found = moves_of(groups, order, at), list[OrderLaw]()
    for numbers in size_classes(groups.sizes):
        if is_cut[numbers].any():
            found.append(_law(groups, numbers, math.inf))
            continue
        distances, counts = few_distances(dominating_distances(map(moves, numbers.tolist())))
        pure = 2 * float(distances @ counts) * (1 + 1e-12)
        found.append(_law(groups, numbers, pure, "laplace", distances.tolist(), counts.tolist()))
    return tuple(found)


def gaussian_laws(groups: Groups, order: Integers, at: Floats, is_cut: NDArray[np.bool_]) -> tuple[OrderLaw, ...]:
    """Laws by group size of one Gaussian sort, see `laplace_profiles`."""
    squares, found = position_spreads(groups, order, at, power=2), list[OrderLaw]()
    for numbers in size_classes(groups.sizes):
        mu = math.sqrt(float(squares[numbers].max()))
        if is_cut[numbers].any():
            found.append(_law(groups, numbers, math.inf))
        else:
            found.append(_law(groups, numbers, math.inf if mu else 0.0, "gaussian", [mu], [1]))
    return tuple(found)


def mallows_laws(groups: Groups, order: Integers, thetas: Floats, distance: str) -> tuple[OrderLaw, ...]:
    """Laws by group size of one Mallows shuffle; ``thetas`` are the concentrations of the groups' blocks."""
    found = windows(groups, order)
    widths = found.last - found.first + 1
    with np.errstate(invalid="ignore"):
        pure = np.where(thetas > 0, thetas * found.sensitivities(distance), 0.0) * (1 + 1e-12)
    laws = list[OrderLaw]()
    for numbers in size_classes(groups.sizes):
        most = float(pure[numbers].max())
        if distance != "kendall" or math.isinf(most):
            laws.append(_law(groups, numbers, most))
            continue
        pairs = _worst_pairs(thetas[numbers], widths[numbers])
        laws.append(_law(groups, numbers, most, "kendall", *zip(*pairs, strict=True)))
    return tuple(laws)


def _law(
    groups: Groups,
    numbers: Integers,
    pure: float,
    law: str = "",
    *of: Sequence[float],
) -> OrderLaw:
    values, counts = of or ((), ())
    sizes = groups.sizes[numbers]
    return OrderLaw(
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        num_groups=numbers.size,
        pure=pure,
        law=law,
        numbers=tuple(values),
        counts=tuple(map(int, counts)),
    )


def profiles_of(laws: Sequence[OrderLaw], releases: int) -> tuple[SizedProfile, ...]:
    """Loss profiles by group size of this number of independent releases with these laws."""
    return tuple(
        SizedProfile(law.smallest, law.largest, law.num_groups, profile_of(law, releases=releases)) for law in laws
    )


def profile_of(law: OrderLaw, *, releases: int = 1) -> Profile:
    """Loss profile of ``releases`` independent releases with one law, for the worst group that it covers."""
    numbers, counts = np.array(law.numbers), np.array(law.counts, dtype=np.int64)
    if law.law == "gaussian":
        return GaussianProfile(math.sqrt(releases) * float(numbers[0]))
    if law.law == "laplace":
        return laplace_profile(np.repeat(numbers, counts), releases=releases, steps=_QUICK)
    whole = known_by_most(law.pure * releases)
    if law.law == "":
        return whole
    pairs = zip(law.counts, law.numbers, strict=True)
    profiles = [kendall_profile(width, theta, releases=releases) for width, theta in pairs]
    bounded = [each if each.pure <= whole.pure else _capped(each, whole) for each in profiles]
    return bounded[0] if len(bounded) == 1 else WorstProfile(tuple(bounded))


def _capped(profile: LossProfile, other: LossProfile) -> LossProfile:
    """Loss profile with the largest loss of ``other``, and the smaller of both profiles' divergences."""
    divergences = np.minimum(profile.divergences, other.divergences)
    return LossProfile(profile.losses, profile.chances, profile.remainder, other.pure, divergences)


def _worst_pairs(thetas: Floats, widths: Integers) -> list[tuple[float, int]]:
    """Pairs of concentration and window, without pairs that another pair matches or exceeds in both."""
    kept: list[tuple[float, int]] = []
    for theta, width in sorted(set(zip(thetas.tolist(), widths.tolist(), strict=True)), reverse=True):
        if not kept or width > kept[-1][1]:
            kept.append((theta, width))
    return kept


def _sized(groups: Groups, numbers: Integers, profile: Profile) -> SizedProfile:
    sizes = groups.sizes[numbers]
    return SizedProfile(int(sizes.min()), int(sizes.max()), numbers.size, profile)


def moves_of(groups: Groups, order: Integers, at: Floats) -> Callable[[int], Floats]:
    """Function that returns a reversed group's moves t_(g+1-i) - t_(i), lower half only, largest first.

    Where there are very many memberships, as many of the largest move as add up to all of them, which dominates.
    """
    if groups.num_memberships <= _MOST_MEMBERSHIPS:
        layout = lay(groups, order)

        def exact(number: int) -> Floats:
            there = at[ranks_of(layout, number)]
            half = there.size // 2
            return there[::-1][:half] - there[:half]

        return exact
    found, sums = windows(groups, order), position_spreads(groups, order, at) / 2
    largest = at[found.last] - at[found.first]

    def dominating(number: int) -> Floats:
        if not largest[number]:
            return np.zeros(0)
        whole, rest = divmod(float(sums[number]), float(largest[number]))
        return np.array([largest[number]] * int(whole) + [rest])

    return dominating


def laplace_scales(groups: Groups, order: Integers, alpha: float, delta: float) -> Floats:
    """Distance between neighboring ranks at which each group alone is within (alpha, delta); shape (groups,).

    Infinity for a group of one person.

    Groups of about one size are brought to one length (root of the sum of squared moves), and the profile that bounds
    them all tells by how much all of them may be stretched; a group whose pure loss allows more has more.
    """
    moves = moves_of(groups, order, np.arange(order.size, dtype=np.float64))
    scales = np.full(len(groups), math.inf)
    for numbers in size_classes(groups.sizes):
        distances = [moves(number) for number in numbers.tolist()]
        pure = np.array([alpha / (2 * math.fsum(each.tolist())) * (1 - 1e-9) for each in distances])
        units = np.array([1 / float(np.linalg.norm(each)) for each in distances])
        worst = dominating_distances(each * unit for each, unit in zip(distances, units, strict=True))
        found = _largest_scale(
            partial(_stretched, worst),
            alpha / (2 * float(worst.sum())) * (1 - 1e-9),
            0.9 * gaussian_mu(alpha, delta) / math.sqrt(2),
            (alpha, delta),
        )
        scales[numbers] = np.maximum(pure, found * units)
    return scales


def _stretched(distances: Floats, scale: float) -> LossProfile:
    return laplace_profile(distances * scale, steps=_QUICK)


def _largest_scale(
    profile: Callable[[float], Profile], known: float, guess: float, budget: tuple[float, float]
) -> float:
    """Largest scale, found by secants from a ``known`` one, whose loss profile is within (alpha, delta)."""
    alpha, delta = budget
    low, high, at = known, math.inf, max(guess, known * (1 + _CLOSE))
    for _ in range(_ROUNDS):
        loss = profile(at).alpha(delta)
        if loss <= alpha:
            low = at
        else:
            high = at
        if loss <= alpha <= loss * (1 + _CLOSE) or high <= low * (1 + _CLOSE):
            break
        wanted = at * (alpha / loss) * (1 - _CLOSE / 4) if loss > 0 else 2 * at
        middle = math.sqrt(low * high) if high < math.inf else 2 * at
        at = wanted if low < wanted < high else middle
    return low


class KendallScales:
    """Concentrations at which windows of Kendall-Mallows shuffles are within (alpha, delta).

    Each is searched for once.
    """

    def __init__(self, alpha: float, delta: float) -> None:
        self._budget = alpha, delta
        self._found: dict[int, float] = {}
        self._known: dict[
            int, tuple[float, float]
        ] = {}  # by width: allowed up to the first, refused from the second on

    def of_window(self, width: int) -> float:
        """Largest concentration found for a window of this width; infinity for one person."""
        if width < 2:
            return math.inf
        if width not in self._found:
            alpha, delta = self._budget
            pure = alpha / (width * (width - 1) / 2) * (1 - 1e-9)
            guess = 0.9 * gaussian_mu(alpha, delta) * 3 / width**1.5
            found = _largest_scale(partial(kendall_profile, width), pure, guess, self._budget)
            self._found[width], self._known[width] = found, (found, math.nextafter(found, math.inf))
        return self._found[width]

    def of_groups(self, widths: Integers, pure: Floats) -> float:
        """Largest concentration at which each group meets (alpha, delta), by its window's profile or its own pure loss.

        That is the least over widths of the larger of two: what the window allows, which falls with the width, and what
        the pure losses allow. From the width on at which these allow least, narrower windows either allow more or need
        not be looked at, so that few profiles are computed, and at most one concentration is searched for.
        """
        by_width = np.unique(widths)
        allowed = np.full(by_width.size, math.inf)
        np.minimum.at(allowed, np.searchsorted(by_width, widths), pure)
        left, better = 0, -1  # from ``left`` on the widths are open; of width ``better`` the window allows more
        while left < by_width.size:
            place = by_width.size - 1 - int(np.argmin(allowed[left:][::-1]))
            if not self._allows(int(by_width[place]), float(allowed[place])):
                break
            left, better = place + 1, place
        least = float(allowed[place]) if left < by_width.size else math.inf
        if better < 0 or (least < math.inf and self._allows(int(by_width[better]), least)):
            return least
        return max(self.of_window(int(by_width[better])), float(allowed[better]))

    def _allows(self, width: int, concentration: float) -> bool:
        """Whether the profile of a window of this width meets (alpha, delta) at this concentration.

        Asked of thousands of blocks, it is computed where it does not follow from what is known of the width.
        """
        low, high = self._known.get(width, (0.0, math.inf))
        if width < 2 or concentration <= low or concentration >= high:
            return width < 2 or concentration <= low
        allowed = self._computed(width, concentration)
        self._known[width] = (concentration, high) if allowed else (low, concentration)
        return allowed

    def _computed(self, width: int, concentration: float) -> bool:
        alpha, delta = self._budget
        most = concentration * (width * (width - 1) // 2)
        if most * (1 + 1e-14) <= alpha:
            return True
        mean = most - 2 * concentration * kendall_inversions(width, concentration)[0]
        if mean > mean_loss_within(alpha, delta, most) * (1 + 1e-9):
            return False
        return kendall_profile(width, concentration).alpha(delta) <= alpha


def mean_loss_within(alpha: float, delta: float, pure: float) -> float:
    """Largest mean loss of any mechanism that meets (alpha, delta) and never loses more than ``pure``.

    A loss is at most alpha and its excess, and this at most (pure - alpha) / (1 - exp(alpha - pure)) times
    1 - exp(-excess), whose mean is at most delta.
    """
    beyond = pure - alpha
    return alpha + delta * beyond / -math.expm1(-beyond) if beyond > 0 else pure


def block_concentrations(found: Windows, starts: Integers, alpha: float, delta: float) -> Floats:
    """Largest concentration of each block at which its groups are within (alpha, delta), for Kendall's distance."""
    widths = found.last - found.first + 1
    with np.errstate(divide="ignore"):
        pure = alpha / found.kendall * (1 - 1e-12)
    widths = _few(widths)
    scales = KendallScales(alpha, delta)
    block = np.searchsorted(starts, found.first, side="right") - 1
    by_block = np.argsort(block, kind="stable")
    ends = np.searchsorted(block[by_block], np.arange(starts.size))
    return np.array([scales.of_groups(widths[by_block[a:b]], pure[by_block[a:b]]) for a, b in pairwise(ends.tolist())])


def _few(widths: Integers) -> Integers:
    """Window widths, rounded up to few distinct ones if too many; wider windows allow less concentration."""
    if np.unique(widths).size <= _MOST_WIDTHS:
        return widths
    levels = np.ceil(np.log(np.maximum(widths, 2) / 2) / math.log(_WIDTH_RATIO))
    rounded = np.ceil(2 * _WIDTH_RATIO**levels).astype(np.int64)
    return np.where(widths < 2, widths, np.maximum(rounded, widths))
