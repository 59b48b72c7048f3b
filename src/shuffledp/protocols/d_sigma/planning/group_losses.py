"""Losses of the order by group size, over one or more releases: pure, or smaller with a remainder."""

from dataclasses import dataclass

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedLoss(Described):
    """Losses of the order inside groups of about one size, over all releases together.

    Args:
        smallest: people in the smallest of these groups, 2 or more.
        largest: people in the largest.
        num_groups: how many groups they are.
        pure: the largest loss; infinite for Gaussian noise.
        alpha: the loss with the remainder ``delta``; at most ``pure``.
        delta: the remainder.
        num_releases: independent shuffles in which the same group may have exchanged its answers.
    """

    smallest: int
    largest: int
    num_groups: int
    pure: float
    alpha: float
    delta: float
    num_releases: int = 1


def losses_by_size(shuffler: SlotShuffler, *, delta: float, releases: int = 1) -> tuple[SizedLoss, ...]:
    """Losses of a shuffler's groups by their size, the smallest first.

    Empty if each person is a group.

    Each group's losses are added up over the releases exactly, and the worst group is taken last: large groups lose
    far less than the pure loss says, and less than its multiples.

    Args:
        shuffler: of groups.
        delta: remainder, strictly between 0 and 1.
        releases: independent shuffles of the same kind, 1 or more.

    Raises:
        InvalidParameterError: if an argument is out of range, or the shuffler is without groups.

    Example:
        >>> import numpy as np
        >>> from shuffledp import Groups, MallowsShuffler
        >>> shuffler = MallowsShuffler(groups=Groups.from_labels(np.arange(192) // 96), alpha=4.0)
        >>> [(each.largest, round(each.pure, 6), round(each.alpha, 3)) for each in losses_by_size(shuffler, delta=1e-6)]
        [(96, 4.0, 1.165)]
        >>> [round(each.alpha, 2) for each in losses_by_size(shuffler, delta=1e-6, releases=16)]
        [5.49]
    """
    validate.instance_of(SlotShuffler, shuffler=shuffler)
    validate.open_probability(delta=delta)
    return tuple(
        SizedLoss(
            smallest=each.smallest,
            largest=each.largest,
            num_groups=each.num_groups,
            pure=each.profile.pure,
            alpha=each.profile.alpha(delta),
            delta=float(delta),
            num_releases=int(releases),
        )
        for each in shuffler.profiles(releases=releases)
    )
