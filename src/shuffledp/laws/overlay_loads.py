"""Loads of walks on overlays: reports held and passed on, and what links must carry so that traffic tells nothing.

Before round i everybody's report is where the digits drawn so far are those of a uniform person, and the others still
its sender's: in the cell (q, s) of drawn digits q and others s there are W(q) V(s) / n reports on average, for the
W(q) people whose addresses begin with q and the V(s) whose addresses end with s. After a whole cycle everybody holds
one, and the next begins as the first did. With dropout all of this is of the reports that are left.

**Slots.** If in each round everybody sends an envelope of B_i slots to each contact, whatever they hold, traffic tells
nothing, unless some link has more than B_i reports to carry. The reports on a link (u, w) in round i are a sum of
independent indicators with mean mu, so that there are more than B with chance mu^(B+1) / (B+1)! at most: the sum over
sets of B + 1 reports of the chance that all are there. In the first round everybody holds one report, and B_1 = 1 is
enough (docs/network-shuffling.md, "Which overlay?").
"""

import itertools
import math

import numpy as np

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.people.graphs.overlays import Overlay, OverlayRound, rounds_of

_ROUND_UP = 1 + 1e-9


def loads_held(overlay: Overlay, num_rounds: int) -> Floats:
    """Expected number of reports that each person holds after so many rounds, if none are lost; shape (people,)."""
    validate.integer_at_least(0, num_rounds=num_rounds)
    if num_rounds % overlay.num_rounds == 0:
        return np.ones(overlay.num_users)
    return _of_people(overlay, _load(OverlayRound(overlay, num_rounds % overlay.num_rounds)))


def loads_passed(overlay: Overlay, num_rounds: int, *, dropout: float = 0.0) -> Floats:
    """Expected number of reports that each person passes on in all, one that they keep not counted; shape (people,)."""
    validate.integer_at_least(0, num_rounds=num_rounds)
    found = np.zeros(overlay.num_cells)
    for done, each in enumerate(rounds_of(overlay, num_rounds)):
        found += (1 - dropout) ** (done + 1) * _load(each) * _leaving(each)
    return _of_people(overlay, found)


def leaving_chances(overlay: Overlay) -> tuple[float, ...]:
    """For each round the largest chance that a report leaves its holder: 1 - 1/m_i if no addresses are shared."""
    return tuple(float(_leaving(each).max()) for each in rounds_of(overlay, overlay.num_rounds))


def slots_needed(overlay: Overlay, *, overflow: float) -> tuple[int, ...]:
    """The number of slots of an envelope in each round, so that more are needed anywhere with this chance at most.

    Args:
        overlay: on which everybody is online, and nothing is lost.
        overflow: strictly between 0 and 1; all rounds but the first get equal parts of it.
    """
    validate.open_probability(overflow=overflow)
    part = overflow / max(overlay.num_rounds - 1, 1)
    return (1, *(_enough(each, part) for each in rounds_of(overlay, overlay.num_rounds)[1:]))


def _enough(each: OverlayRound, part: float) -> int:
    """The fewest slots of this round, sought around those that would do if nobody shared an address."""
    links = each.num_users * (each.size - 1)

    def alike(slots: int) -> float:
        return links * math.exp(-(slots + 1) * math.log(each.size) - math.lgamma(slots + 2)) * _ROUND_UP

    found = next(slots for slots in itertools.count(1) if alike(slots) <= part)
    if each.num_users == each.overlay.num_cells:
        return found
    while _overflow(each, found) > part:
        found += 1
    while found > 1 and _overflow(each, found - 1) <= part:
        found -= 1
    return found


def slots_sent(overlay: Overlay, slots: tuple[int, ...]) -> int:
    """Slots that a person sends in all rounds together, to all contacts, for whoever sends most."""
    found = np.zeros(overlay.num_cells, dtype=np.int64)
    for each, number in zip(rounds_of(overlay, overlay.num_rounds), slots, strict=True):
        found += number * each.num_contacts
    return int(found.max())


def _of_people(overlay: Overlay, of_cells: Floats) -> Floats:
    """Numbers of cells as those of the people in them."""
    return of_cells[overlay.cells]


def _load(each: OverlayRound) -> Floats:
    """Reports that a person of each cell is expected to hold before this round of the first cycle; shape (cells,)."""
    grid = each.grid
    prefixes, suffixes = grid.sum(axis=(1, 2), dtype=np.int64), grid.sum(axis=0, dtype=np.int64)
    held: Floats = (prefixes[:, None, None] / each.num_users) * suffixes / grid
    return held.ravel()


def _leaving(each: OverlayRound) -> Floats:
    """The chance that a report is passed on in this round by a person of each cell, and not kept; shape (cells,)."""
    grid = each.grid
    drawn = grid.sum(axis=2, dtype=np.int64)
    staying = (drawn / drawn.sum(axis=1, keepdims=True))[:, :, None] / grid
    leaving: Floats = (1 - staying).ravel()
    return leaving


def _overflow(each: OverlayRound, slots: int) -> float:
    """The sum over links of mu^b / b! with b = slots + 1, from above: that some link of this round has more to carry.

    For a link from a cell c = (q, x, s) to c' = (q, d, s) it is mu = V(x s) W(q d) / (n N(c) N(c')), with N people in a
    cell; so the sum over links is one over pairs of cells, a product for each q and s, less the links to oneself.
    """
    grid, more = each.grid, slots + 1
    halved = np.where(grid == 2, 0.5**slots, 1.0)
    sent = ((grid.sum(axis=0, dtype=np.int64) / each.num_users) ** more) * halved
    drawn = (grid.sum(axis=2, keepdims=True, dtype=np.float64) ** more) * halved
    to_oneself = sent * drawn / grid
    links = (sent.sum(axis=1) * drawn.sum(axis=1)).sum() - to_oneself.sum()
    return max(0.0, float(links)) / math.factorial(more) * _ROUND_UP
