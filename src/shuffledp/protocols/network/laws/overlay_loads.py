"""Loads of walks on overlays: reports that people hold and pass on, traffic on links, and exposure.

Before round i everybody's report is where the digits drawn so far are those of a uniform person, and the others still
its sender's: in the cell (q, s) of drawn digits q and others s there are W(q) V(s) / n reports on average, for the
W(q) people whose addresses begin with q and the V(s) whose addresses end with s. After a whole cycle everybody holds
one, and the next begins as the first did. With dropout all of this is of the reports that are left.
"""

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.protocols.network.people.overlays import Overlay, OverlayRound, rounds_of

_ROUND_UP = 1 + 1e-9
_EXPOSURE_UP = 1 + 1e-12
_MOST_SLOTS = 60  # of which the chances of more are looked at: 1 / 61! is below 1e-83


def loads_held(overlay: Overlay, num_rounds: int) -> Floats:
    """Expected number of reports that each person holds after these rounds without losses; shape (people,)."""
    validate.integer_at_least(0, num_rounds=num_rounds)
    if num_rounds % overlay.num_rounds == 0:
        return np.ones(overlay.num_users)
    return _of_people(overlay, _load(OverlayRound(overlay, num_rounds % overlay.num_rounds)))


def loads_passed(overlay: Overlay, num_rounds: int, *, dropout: float = 0.0) -> Floats:
    """Expected number of reports that each person passes on to another in all rounds; shape (people,)."""
    validate.integer_at_least(0, num_rounds=num_rounds)
    found = np.zeros(overlay.num_cells)
    for done, each in enumerate(rounds_of(overlay, num_rounds)):
        found += (1 - dropout) ** (done + 1) * _load(each) * _leaving(each)
    return _of_people(overlay, found)


def leaving_chances(overlay: Overlay) -> tuple[float, ...]:
    """Largest chance that a report leaves its holder, by round.

    It is 1 - 1/m in groups of m, if no addresses are shared.
    """
    return tuple(float(_leaving(each).max()) for each in rounds_of(overlay, overlay.num_rounds))


def average_exposure(
    *, num_users: int, num_rounds: int, num_colluding: int, leaving: Sequence[float] | None = None
) -> float:
    """Upper bound on the chance that a colluder ever holds a report, averaged over sets of colluders.

    If any m of the other n - 1 people are equally likely to be the colluders, a walk of t rounds, which meets t other
    people at most, avoids them with a probability of at least the product of 1 - m / (n - 1 - i) over i < t. With
    independent chances of leaving its holder it meets as many as rounds in which it leaves. It is an average: for a
    person with a colluding neighbor it is far larger.

    Args:
        num_users: people in the graph, 2 or more.
        num_rounds: 0 or more.
        num_colluding: below ``num_users``.
        leaving: for each round the chance that a report leaves its holder, at most, whatever came before; None is 1.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """
    validate.integer_at_least(2, num_users=num_users)
    validate.integer_at_least(0, num_rounds=num_rounds, num_colluding=num_colluding)
    if num_colluding >= num_users:
        raise validate.invalid(f"below num_users={num_users}", num_colluding=num_colluding)
    met = min(num_rounds, num_users - 1 - num_colluding)
    if not num_colluding or met < num_rounds:
        return 1.0 if num_colluding else 0.0
    others = num_users - 1 - np.arange(met, dtype=np.float64)
    avoided = np.cumsum(np.log1p(-num_colluding / others))
    if leaving is None:
        return min(-math.expm1(float(avoided[-1]) if met else 0.0) * _EXPOSURE_UP, 1.0)
    times = np.ones(1)  # the chances that it leaves so often
    for chance in leaving:
        times = np.convolve(times, [1 - chance, chance])
    seen = -np.expm1(np.concatenate([[0.0], avoided]))
    return min(float(times @ seen) * _EXPOSURE_UP, 1.0)


def _of_people(overlay: Overlay, of_cells: Floats) -> Floats:
    """Numbers by person from numbers by cell."""
    return of_cells[overlay.cells]


def _load(each: OverlayRound) -> Floats:
    """Expected number of reports at a person of each cell before this round of the first cycle."""
    grid = each.grid
    prefixes, suffixes = grid.sum(axis=(1, 2), dtype=np.int64), grid.sum(axis=0, dtype=np.int64)
    held: Floats = (prefixes[:, None, None] / each.num_users) * suffixes / grid
    return held.ravel()


def _leaving(each: OverlayRound) -> Floats:
    """Chance that a person of each cell passes a report on to another in this round; shape (cells,)."""
    grid = each.grid
    drawn = grid.sum(axis=2, dtype=np.int64)
    staying = (drawn / drawn.sum(axis=1, keepdims=True))[:, :, None] / grid
    leaving: Floats = (1 - staying).ravel()
    return leaving


def surplus_of_round(each: OverlayRound, slots: int) -> float:
    """Upper bound on the chance that a link of an overlay is overfull in this round.

    It is the sum over links of mu^b / b! with b = slots + 1.

    Everybody holds one report when the cycle begins (`link_slots`). For a link from a cell c = (q, x, s) to
    c' = (q, d, s) it is mu = V(x s) W(q d) / (n N(c) N(c')), with N people in a cell; so the sum over links is one over
    pairs of cells, a product for each q and s, less the links to oneself. Above 60 slots it is the one for 60.
    """
    more = min(slots, _MOST_SLOTS) + 1
    if each.num_users == each.overlay.num_cells:
        return each.num_users * (each.size - 1) * math.pow(each.size, -more) / math.factorial(more) * _ROUND_UP
    grid = each.grid
    halved = np.where(grid == 2, 0.5 ** (more - 1), 1.0)
    sent = ((grid.sum(axis=0, dtype=np.int64) * (each.below / each.num_users)) ** more) * halved
    drawn = ((grid.sum(axis=2, keepdims=True, dtype=np.float64) / each.below) ** more) * halved
    to_oneself = sent * drawn / grid
    links = (sent.sum(axis=1) * drawn.sum(axis=1)).sum() - to_oneself.sum()
    return max(0.0, float(links)) / math.factorial(more) * _ROUND_UP
