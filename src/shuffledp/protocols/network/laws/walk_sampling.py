"""Walk sampling: random walks of all reports along a graph at once."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Integers
from shuffledp.protocols.network.laws.churn_schedules import ONLINE
from shuffledp.protocols.network.laws.churned_rounds import ChurnedRound
from shuffledp.protocols.network.laws.link_slots import checked_slots, overfull, waiting
from shuffledp.protocols.network.laws.walk_distributions import Round, Ways, graphs_of_rounds, people_of
from shuffledp.protocols.network.people.overlays import OverlayRound
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource, bernoulli, high_product, resolve_source

Positions = NDArray[np.int32]
Words = NDArray[np.uint64]

LOST = -1
_CHUNK = 2**15  # words made at a time: they stay in the cache


class Walks(NamedTuple):
    """Positions of reports after their walks, and the number of messages that each person passed on.

    Args:
        positions: who holds each report, shape (reports,); -1 if it is lost.
        messages: number of reports that each person has passed on, shape (people,).
        waited: how often a report had to wait for a slot.
    """

    positions: Positions
    messages: Integers
    waited: int = 0

    def __repr__(self) -> str:
        return f"Walks({self.positions.size} reports, {self.messages.size} people; where reports are is not shown)"


def sample_walks(
    graph: Ways,
    num_rounds: int,
    *,
    starts: ArrayLike | None = None,
    laziness: float = 0.0,
    dropout: float = 0.0,
    slots: Sequence[int] = (),
    source: RandomSource | None = None,
) -> Walks:
    """Random walks of many reports at once.

    In each round a report is lost with chance ``dropout``, else stays with chance ``laziness``, else goes to a neighbor
    of its holder. Who has no neighbor keeps reports. On an overlay it goes where one more digit leads to; if that is
    its holder, it stays. With a schedule of who is online, it stays if its holder is offline, and its rule says what
    becomes of it if whoever is drawn is. With ``slots``, no more reports than these go along one link: of more, those
    who wait with their holder are chosen uniformly.

    Guarantees:
        1. Neighbors are chosen exactly uniformly, by multiplying and rejecting integers, and the chances are integers
           out of 2^64, at most 2^-53 away from the floats given.
        2. Without ``slots``, walks are independent of each other, given the schedule if there is one.
        3. With ``source=None`` the words are those of `shuffledp.randomness.sources.SecureSource`.

    Args:
        graph: one graph, or one for each round; or an overlay, or one round of it; or any of them with a schedule of
            who is online.
        num_rounds: 0 or more; with a schedule at most its own.
        starts: who holds each report at first; None is one report for each person.
        laziness: from 0 to 1.
        dropout: from 0 to 1.
        slots: slots of a link in each round, 1 or more; empty for unlimited links.
        source: None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> from shuffledp.people.graphs import Graph
        >>> ring = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
        >>> walks = sample_walks(ring, 3)
        >>> (walks.positions % 2).tolist(), int(walks.messages.sum())
        ([1, 0, 1, 0], 12)
    """
    validate.probability(laziness=laziness, dropout=dropout)
    graphs, source = graphs_of_rounds(graph, num_rounds), resolve_source(source)
    people = people_of(graph)
    positions = _checked_starts(starts, people)
    messages = np.zeros(people, dtype=np.int64)
    limits, waited = checked_slots(slots, len(graphs)) if slots else (None,) * len(graphs), 0
    for each, limit in zip(graphs, limits, strict=True):
        if dropout:
            positions[bernoulli(_threshold(dropout), positions.size, source=source)] = LOST
        resting = positions < 0
        if laziness:
            resting |= bernoulli(_threshold(laziness), positions.size, source=source)
        before = None if limit is None else positions.copy()
        if isinstance(each, ChurnedRound):
            _pass_on_online(each, positions, messages, np.flatnonzero(~resting & each.online[positions]), source)
        else:
            _pass_on(each, positions, messages, np.flatnonzero(~resting) if resting.any() else None, source)
        if before is not None and limit is not None:
            waited += _let_wait(before, positions, messages, limit, source)
    return Walks(positions, messages, waited)


def _let_wait(before: Positions, positions: Positions, messages: Integers, slots: int, source: RandomSource) -> int:
    """Undo uniformly chosen moves beyond the slots of a link; return the number of undone moves."""
    moved = np.flatnonzero(positions != before)
    links = before[moved].astype(np.int64) * messages.size + positions[moved]
    if not overfull(links, slots):
        return 0
    back = moved[waiting(links, random_permutation(moved.size, source=source), slots)]
    positions[back] = before[back]
    np.subtract.at(messages, before[back], 1)
    return int(back.size)


def _checked_starts(starts: ArrayLike | None, people: int) -> Positions:
    if starts is None:
        return np.arange(people, dtype=np.int32)
    given = np.asarray(starts)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InvalidParameterError(f"starts must be integers in one dimension; got shape {given.shape}.")
    if given.size and not (given.min() >= 0 and given.max() < people):
        raise InvalidParameterError(f"starts must be in range({people}).")
    return given.astype(np.int32)


def _threshold(chance: float) -> int:
    return round(chance * 2**64)


def _pass_on_online(
    each: ChurnedRound,
    positions: Positions,
    messages: Integers,
    walking: NDArray[np.intp],
    source: RandomSource,
) -> None:
    """Move the reports of people online by one step, by the rule for absent recipients."""
    not_yet = np.zeros_like(messages)
    while walking.size:
        before = positions[walking]
        drawn = before.copy()
        _pass_on(each.walked, drawn, not_yet, None, source)
        met = each.online[drawn]
        positions[walking[met]] = drawn[met]
        np.add.at(messages, before[met & (drawn != before)], 1)
        walking = walking[~met] if each.rule == ONLINE else walking[:0]


def _pass_on(
    graph: Round, positions: Positions, messages: Integers, walking: NDArray[np.intp] | None, source: RandomSource
) -> None:
    """Move the given reports (all if None) by one step; a new word is drawn for each rejected random word."""
    moving = positions if walking is None else positions[walking]
    words = np.empty(min(moving.size, _CHUNK), dtype=np.uint64)
    kernel = _kernel_of(graph)
    for first in range(0, moving.size, _CHUNK):
        part = moving[first : first + _CHUNK]
        source.fill(words[: part.size])
        rejected = kernel(part, words[: part.size], messages)
        while rejected.size:
            again = part[rejected]
            source.fill(words[: again.size])
            still = kernel(again, words[: again.size], messages)
            part[rejected] = again
            rejected = rejected[still]
    words.fill(0)
    if walking is not None:
        positions[walking] = moving


def _kernel_of(graph: Round) -> "_Kernel":
    """Function that moves reports in a round by random words, and returns a mask of the rejected reports."""
    if isinstance(graph, OverlayRound):
        return partial(_draw_digits, graph)
    starts, neighbors = graph.starts, graph.neighbors
    return lambda positions, words, messages: _step(positions, words, starts, neighbors, messages)


def _draw_digits(each: OverlayRound, positions: Positions, words: Words, messages: Integers) -> Integers:
    """Draw a digit and a recipient for each report by its word; return a mask of rejected reports.

    A uniform person among those of the prefix has a digit with the chance that it is to be drawn with. Of a word w and
    2 W(prefix), the upper half of the product is twice that person's place, plus the coin for two who share a cell.
    """
    cells, starts, below = each.overlay.cells, each.overlay.starts, each.below
    here = cells[positions]
    prefix = here - here % (each.size * below)
    first = starts[prefix]
    choices = (2 * (starts[prefix + each.size * below] - first)).astype(np.uint64)
    chosen = high_product(words, cast(Any, choices)).astype(np.int64)
    moving = words * choices >= (np.uint64(0) - choices) % choices
    digit = cells[first + chosen // 2] // below % each.size
    cell = prefix + digit * below + here % below
    found = starts[cell] + chosen % 2 * (starts[cell + 1] - starts[cell] - 1)
    left = moving & (found != positions)
    np.add.at(messages, positions[left], 1)
    positions[left] = found[left]
    return np.flatnonzero(~moving)


def _step(positions: Positions, words: Words, starts: Integers, neighbors: Positions, messages: Integers) -> Integers:
    """Move each report to a neighbor by its random word; return a mask of rejected reports.

    Rejected reports stay in place.

    Of a word w and a degree d, the upper half of w * d is the neighbor; it is rejected if the lower half is below
    2^64 mod d (Lemire 2019).
    """
    first = starts[positions]
    degrees = (starts[positions + 1] - first).astype(np.uint64)
    chosen = high_product(words, cast(Any, degrees)).astype(np.int64)
    rejected = words * degrees < (np.uint64(0) - degrees) % np.maximum(degrees, np.uint64(1))
    moving = (degrees > 0) & ~rejected
    np.add.at(messages, positions[moving], 1)
    positions[moving] = neighbors[(first + chosen)[moving]]
    return np.flatnonzero(rejected)


_Kernel = Callable[[Positions, Words, Integers], Integers]
