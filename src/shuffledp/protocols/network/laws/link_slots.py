"""Links with equal traffic in every round: slots that an envelope needs, and reports that wait.

In each round everybody sends one envelope of B_t slots on every link, whatever there is to send, so that traffic tells
nothing. Where more reports than that are to go along one link, some wait with their holder, chosen uniformly; or nobody
hands in anything.

The reports that walk along a link (u, w) in round t, if nothing waits, are a sum of independent indicators with mean
mu = held(u) M(u, w): the reports that u is expected to hold, times the chance that one goes to w. More than B come with
a chance of at most mu^(B+1) / (B+1)!: the sum over sets of B + 1 reports of the chance that all are there. So any link
in any round has too few slots with at most the sum of that over rounds and links. In the first round everybody holds
one report, and one slot is enough.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.network.laws.churned_rounds import ChurnedRound, ChurnedWays
from shuffledp.protocols.network.laws.overlay_loads import surplus_of_round
from shuffledp.protocols.network.laws.walk_distributions import (
    AnyRound,
    Graphs,
    graphs_of_rounds,
    one_round,
    people_of,
    transitions,
)
from shuffledp.protocols.network.people.overlays import Overlay, OverlayRound

MOST_SLOTS = 1_000_000  # of one envelope: hundreds of megabytes on each link in each round
_ROUND_UP = 1 + 1e-9
_NEVER = 1e-300


def waiting(links: Integers, order: Integers, slots: int) -> NDArray[np.bool_]:
    """Mask of the reports that wait for a slot on their link; shape (reports,).

    Of those that are to go along one link, the first ``slots`` in the order go. So with a uniform order those who wait
    are chosen uniformly.

    Args:
        links: for each report any number of the link that it is to go along; shape (reports,).
        order: a permutation of the places of the reports.
        slots: slots of each link, 1 or more.

    Example:
        >>> waiting(np.array([7, 5, 7, 7]), np.array([3, 1, 0, 2]), 2).tolist()
        [False, False, True, False]
    """
    along = order[np.argsort(links[order], kind="stable")]
    taken = links[along]
    begins = np.flatnonzero(np.concatenate([[True], taken[1:] != taken[:-1]])) if taken.size else taken
    rank = np.arange(taken.size) - np.repeat(begins, np.diff(np.append(begins, taken.size)))
    found = np.zeros(links.size, dtype=bool)
    found[along[rank >= slots]] = True
    return found


def overfull(links: Integers, slots: int) -> bool:
    """Whether a link has more reports than slots."""
    taken = np.sort(links)
    return bool((taken[slots:] == taken[: taken.size - slots]).any()) if taken.size > slots else False


def checked_slots(slots: Sequence[int], num_rounds: int) -> tuple[int, ...]:
    """Slots of each round as integers; refused unless each is at least 1."""
    validate.instance_of(Sequence, slots=slots)
    if len(slots) != num_rounds:
        raise InvalidParameterError(f"slots must be one number for each of {num_rounds} rounds; got {len(slots)}.")
    check_numbers_of_slots(slots)
    return tuple(int(each) for each in slots)


def check_numbers_of_slots(slots: Sequence[int]) -> None:
    """Refuse slots below 1, or above any number that people could send."""
    for each in slots:
        validate.integer_at_least(1, **{"each of slots": each})
        if each > MOST_SLOTS:
            raise validate.invalid(f"at most {MOST_SLOTS}", **{"each of slots": each})


def surplus_chance(graph: Graphs | Overlay | ChurnedWays, slots: Sequence[int], *, laziness: float = 0.0) -> float:
    """Upper bound, at most 1, on the chance that a link has too few slots in any round.

    Args:
        graph: one graph, or one for each round, or an overlay, on which nothing is lost; with a schedule of who is
            online, given which it is, or else everybody is.
        slots: slots of an envelope in each round; 1 or more.
        laziness: the chance that a report stays where it is for a round; 0 on an overlay.
    """
    return surplus_chances(graph, slots, laziness=laziness)[-1] if slots else 0.0


def surplus_chances(
    graph: Graphs | Overlay | ChurnedWays, slots: Sequence[int], *, laziness: float = 0.0
) -> tuple[float, ...]:
    """Upper bound on the chance of a surplus up to each round; arguments as in `surplus_chance`."""
    slots = checked_slots(slots, len(slots))
    later = zip(slots[1:], _later_rounds(graph, len(slots), laziness), strict=True)
    chances = [0.0, *(_chance(each, walking, number) for number, (each, walking) in later)]
    return tuple(min(1.0, each * _ROUND_UP) for each in itertools.accumulate(chances[: len(slots)]))


def slots_needed(
    graph: Graphs | Overlay, num_rounds: int, *, overflow: float, laziness: float = 0.0
) -> tuple[int, ...]:
    """Fewest slots in each round that keep `surplus_chance` at ``overflow`` or below.

    All rounds but the first get equal parts of it.

    Args:
        graph: as for `surplus_chance`.
        num_rounds: 0 or more.
        overflow: strictly between 0 and 1.
        laziness: as for `surplus_chance`.
    """
    validate.open_probability(overflow=overflow)
    validate.integer_at_least(0, num_rounds=num_rounds)
    part = overflow / max(num_rounds - 1, 1)
    found, of_digits = [1][:num_rounds], dict[int, int]()
    for each, held in _later_rounds(graph, num_rounds, laziness):
        if isinstance(each, OverlayRound):  # the same in each cycle
            enough = of_digits.get(each.place) or _enough(each, held, part, found[-1])
            of_digits[each.place] = enough
        else:
            enough = _enough(each, held, part, found[-1])
        found.append(enough)
    return tuple(found)


def slots_sent(graph: Graphs | Overlay, slots: Sequence[int]) -> Integers:
    """Number of slots that each person sends in all rounds, over all links; shape (people,)."""
    found = np.zeros(people_of(graph), dtype=np.int64)
    for each, number in zip(graphs_of_rounds(graph, len(slots)), slots, strict=True):
        contacts = each.num_contacts[each.overlay.cells] if isinstance(each, OverlayRound) else each.degrees
        found += number * contacts.astype(np.int64)
    return found


def _later_rounds(
    graph: Graphs | Overlay | ChurnedWays, num_rounds: int, laziness: float
) -> Iterator[tuple[AnyRound, Floats]]:
    """Rounds after the first, each with the expected number of walking reports by person.

    That number is constant on an overlay.
    """
    validate.probability(laziness=laziness)
    rounds = graphs_of_rounds(graph, num_rounds)
    held = np.ones(people_of(graph))
    if isinstance(graph, Overlay):
        if laziness:
            raise validate.invalid("0 on an overlay", laziness=laziness)
        yield from ((each, held) for each in rounds[1:])
        return
    for each, matrix in zip(rounds[1:], transitions(rounds[:-1]), strict=True):
        held = one_round(matrix, held, laziness)
        yield each, held * (1 - laziness)


def _chance(each: AnyRound, walking: Floats, slots: int) -> float:
    """Upper bound on the chance that a link has too few slots in this round."""
    if isinstance(each, OverlayRound):
        return surplus_of_round(each, slots)
    if isinstance(each, ChurnedRound):
        if isinstance(each.walked, OverlayRound):
            return each.surplus_of_groups(each.walked, walking, slots) * _ROUND_UP
        graph, links = each.walked, each.open_links(each.walked)
    else:
        graph, links = each, each.degrees
    degrees, more = np.maximum(graph.degrees, 1), slots + 1
    logs = more * np.log(np.maximum(walking / degrees, _NEVER)) - math.lgamma(more + 1)
    return float((np.exp(logs) * links)[links > 0].sum()) * _ROUND_UP


def _enough(each: AnyRound, walking: Floats, part: float, guess: int) -> int:
    """Fewest slots of one round with a small enough chance of a surplus, searched from ``guess``."""
    if _chance(each, walking, guess) > part:
        return next(more for more in itertools.count(guess + 1) if _chance(each, walking, more) <= part)
    while guess > 1 and _chance(each, walking, guess - 1) <= part:
        guess -= 1
    return guess
