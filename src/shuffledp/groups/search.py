"""Local search for an order of sites: subgradient steps on the exact sensitivity, with the best order kept."""

import numpy as np
from numpy.typing import NDArray

from shuffledp._kernels import compiled
from shuffledp.groups.assignment import Groups
from shuffledp.groups.layout import Layout, Scratch, middle, pieces, scratch

__all__ = ["improved"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_STEPS = 600
_SITE_MEMBERSHIPS = 3e8  # so many are looked at in all, at most
_FIRST_STEP, _SHRINK, _LAST_STEP = 0.05, 0.7, 0.5  # of the number of sites; after a stall; in ranks
_MOMENTUM = 0.9
_PATIENCE = 40
_HOT, _COLD = 0.1, 0.005  # how far below the largest sensitivity a group still counts, relative to it
_FAINT = 1e-6


def improved(groups: Groups, order: Integers) -> Integers:
    """The best order of sites that a local search from ``order`` meets, by exact Kendall sensitivity.

    The sites have scores, at first their places. A step moves them against the derivative of the groups' footrule
    values, averaged with weights that fall with the distance from the largest (more and more steeply), with momentum;
    the new order is that of the scores. After a number of steps without a better order the search goes back to the best
    one, with smaller steps. Nothing is drawn at random. At most 600 steps, or fewer where 3 * 10^8 memberships have
    been looked at; it ends early at g (g - 1) / 2 for the largest group, which no order can go below.
    """
    size = order.size
    layout = _site_layout(groups, order)
    room = scratch(layout)
    memberships = int(np.diff(groups.sets.runs, axis=1).sum())
    steps = int(min(_STEPS, _SITE_MEMBERSHIPS / memberships))
    largest = int(groups.sizes.max())
    least, best, best_order = largest * (largest - 1) // 2, None, order
    velocity, step, stalled = np.zeros(size), _FIRST_STEP * size, 0
    for number in range(steps):
        kendall, centre = _halves(layout, room)
        value = int(kendall.max())
        if best is None or value < best:
            best, best_order, stalled = value, order, 0
        else:
            stalled += 1
        if best == least or step < _LAST_STEP:
            break
        if stalled > _PATIENCE:
            order, velocity, step, stalled = best_order, np.zeros(size), _SHRINK * step, 0
        else:
            heat = _HOT * (_COLD / _HOT) ** (number / steps)
            velocity = _MOMENTUM * velocity - (1 - _MOMENTUM) * _slope(layout, kendall, centre, heat)
            scores = np.empty(size)
            scores[order] = np.arange(size)
            order = np.argsort(scores + step * velocity, kind="stable")
        layout = _site_layout(groups, order)
    return best_order


def _slope(layout: Layout, kendall: Integers, centre: Integers, heat: float) -> Floats:
    """The direction in which the softened largest sensitivity grows; its largest entry is 1 in size."""
    weights = np.exp((kendall / max(int(kendall.max()), 1) - 1.0) / heat)
    weights[weights < _FAINT] = 0.0
    pull = np.zeros(layout.atoms.size - 1)
    _pull_kernel(layout, centre, weights, pull)
    return pull / max(float(np.abs(pull).max()), 1e-300)


def _site_layout(groups: Groups, order: Integers) -> Layout:
    """As `shuffledp.groups.layout.lay`, for an order of the sites: each is one atom."""
    sizes = groups.site_sizes[order]
    ends = np.cumsum(sizes)
    start, stop = (np.empty(order.size, dtype=np.int32) for _ in range(2))
    start[order], stop[order] = ends - sizes, ends
    numbers = np.arange(order.size + 1)
    alone = numbers[:-1].astype(np.int32)
    return Layout(numbers, start, stop, alone, groups.sets.starts, groups.sets.runs, groups.sizes)


def _halves(layout: Layout, room: Scratch) -> tuple[Integers, Integers]:
    """Of every group its Kendall sensitivity, and the rank that parts its halves."""
    kendall, centre = (np.empty(layout.sizes.size, dtype=np.int64) for _ in range(2))
    _halve_kernel(layout, room, kendall, centre)
    return kendall, centre


def _halve(layout: Layout, room: Scratch, kendall: Integers, centre: Integers) -> None:
    for group in range(layout.sizes.size):
        g = layout.sizes[group]
        count = pieces(layout, group, room.lows, room.highs)
        _, _, centre[group], footrule = middle(room, count, g)
        kendall[group] = footrule - g // 2


def _pull(layout: Layout, centre: Integers, weights: Floats, pull: Floats) -> None:
    """Add to each site the derivative of the groups' weighted footrule values by the site's place, up to a factor.

    A site with m members of a group of g, with b others before it, changes the value by
    2 (min(b, g - b) - min(b + m, g - b - m)) per rank: by -2 m in the lower half and by 2 m in the upper one. Here it
    is divided by 2 m, since all its people move together.
    """
    for group in range(weights.size):
        weight, g = weights[group], layout.sizes[group]
        if weight == 0.0:
            continue
        for run in range(layout.set_starts[group], layout.set_starts[group + 1]):
            for site in range(layout.runs[run, 0], layout.runs[run, 1]):
                start, stop = layout.start[site], layout.stop[site]
                if stop <= centre[group]:
                    pull[site] -= weight
                elif start > centre[group]:
                    pull[site] += weight
                else:
                    before = g // 2 - (centre[group] - start)
                    through = before + stop - start
                    change = min(before, g - before) - min(through, g - through)
                    pull[site] += weight * change / (stop - start)


_halve_kernel = compiled(_halve, calls=(pieces, middle))
_pull_kernel = compiled(_pull)
