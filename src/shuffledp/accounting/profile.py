"""A delta curve as a discrete pair of laws that dominates: all that Renyi privacy and composition need.

Let H(g) = delta(log g) bound the hockey-stick divergence of every pair of neighboring laws in both directions, for each
ratio g >= 1. The profile of a pair is convex, and so is the largest one of several pairs, such as all ordered pairs of
inputs of a lopsided randomizer: no one pair need be the worst at every ratio. A curve above it need not be convex, but
the lower convex hull of its points is above every convex function that they are above. So the chords of that hull are
above H; and chords are the profile of a pair of laws P, Q with finitely many likelihood ratios, whose masses are the
changes of slope (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, "Connect the dots"). By the symmetry of the two
directions Q gives the ratio 1/g the mass that P gives g.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.theorem import Theorem
from shuffledp.models import ProtocolModel

__all__ = ["Profile", "profile_at"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """A symmetric pair of laws P, Q by its positive losses log(P/Q).

    Args:
        losses: above 0, ascending; shape (losses,).
        masses: the probability of each under Q, 0 or more; under P it is exp(loss) times as large.
        infinite: the probability under P of what Q never shows.
    """

    losses: Floats
    masses: Floats
    infinite: float


def profile_at(theorem: Theorem, model: ProtocolModel, *, losses: Floats) -> Profile:
    """The dominating pair with these losses, from the theorem's curve.

    Args:
        theorem: one that promises.
        model: a protocol that it applies to.
        losses: above 0, ascending.
    """
    epsilons = np.concatenate([[0.0], losses])
    deltas = np.minimum.accumulate(theorem.curve(model, epsilons=epsilons))
    growths = np.expm1(epsilons)
    kept = _lower_hull(growths, deltas)
    slopes = np.append(np.diff(deltas[kept]) / np.diff(growths[kept]), 0.0)
    # The first vertex is ratio 1, whose mass is whatever is left.
    return Profile(losses=epsilons[kept][1:], masses=np.maximum(np.diff(slopes), 0.0), infinite=float(deltas[-1]))


def _lower_hull(x: Floats, y: Floats) -> NDArray[np.intp]:
    """The vertices of the lower convex hull: a convex curve below all the points is below it too."""
    kept: list[int] = []
    for place in range(len(x)):
        while len(kept) > 1:
            before, last = kept[-2], kept[-1]
            rise, run = y[last] - y[before], x[last] - x[before]
            if rise * (x[place] - x[before]) < (y[place] - y[before]) * run:
                break
            kept.pop()
        kept.append(place)
    return np.array(kept, dtype=np.intp)
