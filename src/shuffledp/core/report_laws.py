"""Laws of one report that a model may state: two levels of density, personal losses, joint support."""

from dataclasses import dataclass

import numpy as np

from shuffledp.core.table import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoLevelLaw:
    """Law of reports with two density values, whose ratio is exp(epsilon0).

    The density is high on the input's set.

    The density is relative to a public base law that does not depend on the input. All sets have one base probability,
    ``share``, to 12 digits. ``overlap`` is that of the intersection of two inputs' sets, the least one if pairs differ,
    or at most that one if ``is_overlap_bound``, and ``triple`` that of three of which any two have ``overlap``; None if
    there are no such inputs, or it is not known. ``union`` is that of all inputs' sets together, from above if
    ``is_union_bound``; None if it is not known.
    """

    share: float
    overlap: float
    triple: float | None = None
    union: float | None = None
    is_union_bound: bool = False
    is_overlap_bound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalLosses:
    """Personal losses of k-ary randomized response, ascending, with the number of people at each loss."""

    domain_size: int
    epsilons: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSupport:
    """Probability that a report supports two values at once, the same for every pair of values.

    Args:
        with_own: its sender's value and one given other.
        of_others: two given others.
    """

    with_own: float
    of_others: float

    def variance(self, weights: Floats, p: float, q: float) -> Floats:
        """Variance of the total weight of the values that one report supports, for each value of its sender.

        Given the value x, the variances of single supports are p (1 - p) for x and q (1 - q) else, and the covariances
        with_own - p q and of_others - q^2. With weights c that add up to s, their pairs without x add up to
        s^2 - |c|^2 - 2 c_x (s - c_x), in both orders.

        Args:
            weights: shape (..., k).
            p: probability that a report supports the value it was made from.
            q: probability that it supports another.

        Returns:
            Shape (..., k), by x.
        """
        squares, total = np.square(weights), weights.sum(axis=-1, keepdims=True)
        all_squares = squares.sum(axis=-1, keepdims=True)
        with_own = 2 * weights * (total - weights)
        apart = total**2 - all_squares - with_own
        single = q * (1 - q) * all_squares + (p * (1 - p) - q * (1 - q)) * squares
        found: Floats = single + (self.with_own - p * q) * with_own + (self.of_others - q**2) * apart
        return np.maximum(found, 0.0)
