"""Bounds on the position laws of all reports: likeness, concentration, reports held, and dummies.

Of a few people all distributions are worked out. Of more, `walk_likeness` knows the largest quotient u of a probability
by the stationary one, and at most what square d^2 it deviates from 1 by, on average. With Q the sum of the k largest
stationary probabilities, a report is at any k places with a chance of at most min(1, u Q, Q + d root(Q (1 - Q))).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_distributions import (
    Graphs,
    graphs_of_rounds,
    people_of,
    position_distributions,
)
from shuffledp.protocols.network.laws.walk_likeness import MOST_STEPS, Likeness, likeness, likeness_of, one_law
from shuffledp.protocols.network.laws.walk_loads import (
    DummyCount,
    Shortfalls,
    chances_of_few,
    expected_held,
    shortfalls,
    surely_below,
)
from shuffledp.protocols.network.people.overlays import Overlay, check_cycles

_FEW = 2000  # people whose laws are all worked out, and compared unless they are nearly alike: 32 MB
_SLACK = 1e-15  # of a probability, relative: what rounding may add in one round, for each neighbor
_CLASS = 1.01  # ratio of the largest and the smallest probability of one class
_NEGLIGIBLE = 1e-5  # of 1 / people: smaller probabilities are rounded up to this
_MOST_HELD = 12  # reports of others: how likely it is that so few are held is said for fewer than that
_ROUND_UP = 1 + 1e-8


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionBounds:
    """Bounds on the position law of every report after its walk; each computed at first use.

    The fields are the arguments of `position_bounds`, which makes it.
    """

    graph: Graphs | Overlay
    num_rounds: int
    laziness: float
    dropout: float
    submissions: int
    most_steps: int

    @cached_property
    def likeness(self) -> Likeness:
        """Likeness of the position laws, if no report is lost.

        On an overlay the laws are equal.
        """
        if isinstance(self.graph, Overlay):
            return one_law()
        if not self._few:
            return likeness(self.graph, self.num_rounds, self.laziness, most_steps=self.most_steps)
        laws = np.concatenate(list(self._laws))
        return likeness_of(laws, slack=self._slack)

    @cached_property
    def ranked(self) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """Descending probabilities and counts of places, as a law that majorizes every person's position law.

        The sum of the k largest of anybody's probabilities is at most the sum of the k first, for all k.
        """
        if isinstance(self.graph, Overlay):
            return (min(1.0, math.nextafter(self._survival / self._people, 1.0)),), (self._people,)
        largest = self._largest * self._survival
        # The most concentrated distribution of this total with no rank above a given one.
        most = largest * (1 + self._slack)
        left = self._survival * (1 + self._slack) - np.concatenate([[0.0], np.cumsum(most)[:-1]])
        kept = np.minimum(most, np.maximum(0.0, left))
        return _classes(kept[kept > 0], self._people)

    @cached_property
    def few_held(self) -> tuple[float, ...]:
        """Mean over places of the chance that at most k other reports end there, for k = 0, 1, ....

        Upper bounds for any person left out; only bounds below 1 are kept, so that there may be none.
        """
        without = (1 - self.ranked[0][0]) / _ROUND_UP  # that the report of the one who is left out is elsewhere
        chances = self._few_counted() if self._few else self._few_by_squares()
        return tuple(chance / without for chance in chances if chance < without)

    @cached_property
    def dummy_count(self) -> DummyCount:
        """Mean and error of the number of dummies, for people with fewer than ``submissions`` reports."""
        return DummyCount(
            graph=self.graph,
            num_rounds=self.num_rounds,
            laziness=self.laziness,
            dropout=self.dropout,
            submissions=self.submissions,
            counted=self._shortfalls() if self._few else None,
        )

    @property
    def dummies(self) -> float:
        """Expected number of dummies."""
        return self.dummy_count.mean

    @property
    def dummies_error(self) -> float:
        """Standard deviation of the number of dummies around `dummies`."""
        return self.dummy_count.error

    @property
    def _people(self) -> int:
        return people_of(self.graph)

    @property
    def _survival(self) -> float:
        return float((1 - self.dropout) ** self.num_rounds)

    @property
    def _graphs(self) -> tuple[Graph, ...]:
        """Graph of each round; none for an overlay."""
        return () if isinstance(self.graph, Overlay) else graphs_of_rounds(self.graph, self.num_rounds)

    @property
    def _few(self) -> bool:
        """Whether the laws of all people are computed."""
        steps = sum(each.neighbors.size + self._people for each in self._graphs)
        some = self._people <= _FEW and self._people * steps <= self.most_steps
        return some and not isinstance(self.graph, Overlay)

    @property
    def _slack(self) -> float:
        most = max((int(each.degrees.max(initial=1)) for each in self._graphs), default=1)
        return _SLACK * (1 + self.num_rounds) * max(1, most)

    @property
    def _last_law(self) -> Floats:
        """Stationary law of the last round."""
        return self._graphs[-1].stationary if self._graphs else np.full(self._people, 1 / self._people)

    @property
    def _laws(self) -> Iterator[Floats]:
        """Position laws of all starts in blocks, if no report is lost."""
        return (laws for _, laws in position_distributions(self.graph, self.num_rounds, laziness=self.laziness))

    @property
    def _load(self) -> Floats:
        return expected_held(self.graph, self.num_rounds, laziness=self.laziness, dropout=self.dropout)

    @property
    def _largest(self) -> Floats:
        """Descending numbers whose first k add up to at least the k largest chances of any person's law."""
        if self._few:
            return np.asarray(np.max([np.sort(laws, axis=1)[:, ::-1].max(axis=0) for laws in self._laws], axis=0))
        found = self.likeness
        if math.isinf(found.largest) or not self.num_rounds:
            return np.asarray(np.eye(1, self._people)[0])
        most = np.minimum(np.cumsum(np.sort(self._last_law)[::-1]), 1.0)
        spread = float(found.deviations.max()) * np.sqrt(most * (1 - most))
        together = np.minimum(np.minimum(most * found.largest, most + spread), 1.0)
        steps = np.diff(together, prepend=0.0) + _SLACK
        return np.asarray(np.maximum.accumulate(steps[::-1])[::-1])

    def _few_counted(self) -> Floats:
        held = np.zeros((_MOST_HELD, self._people))
        held[0] = 1.0
        for laws in self._laws:
            _count(held, laws * self._survival)
        return np.asarray(np.cumsum(held, axis=0).mean(axis=1))

    def _few_by_squares(self) -> Floats:
        """Upper bounds for `few_held`: binomial chances, plus a bound on the distance of the true law."""
        deviations, load = self.likeness.deviations, self._load
        squares = float((deviations**2).sum()) * (self._people if deviations.size == 1 else 1)
        if math.isinf(squares):
            return np.ones(1)
        return chances_of_few(load, self._last_law, squares * self._survival**2, most=_MOST_HELD)

    def _shortfalls(self) -> Shortfalls:
        load, squares = self._load, np.zeros(self._people)
        few = np.flatnonzero(~surely_below(load, self.submissions))
        short = np.zeros((self.submissions, few.size))
        short[0] = 1.0
        for laws in self._laws:
            squares += ((laws * self._survival) ** 2).sum(axis=0)
            _count(short, laws[:, few] * self._survival)
        return shortfalls(self.submissions, load, squares, few, short)


def position_bounds(
    graph: Graphs | Overlay,
    num_rounds: int,
    *,
    laziness: float = 0.0,
    dropout: float = 0.0,
    submissions: int = 1,
    most_steps: int = MOST_STEPS,
) -> PositionBounds:
    """Bounds on every person's position after a walk.

    Args:
        graph: one graph, or one for each round; or an overlay.
        num_rounds: 0 or more; of an overlay whole cycles, one or more, after which positions are exactly uniform.
        laziness: as `position_distribution` takes it.
        dropout: likewise. Concentration and dummies are those of what is not lost; likeness is that of what arrives.
        submissions: number of reports that everybody is to hold; dummies make up for missing ones.
        most_steps: people * rounds * (people + 2 edges) up to which the distribution of every start is computed. Above
            it, bounds come from the spectral gap (trivial ones for several graphs). Of more than 2000 people, the
            number of dummies comes from a binomial law, once walks have mixed, or before from simulated walks, with
            their error in ``dummies_error``.

    References:
        Liew et al. 2022, whose equation (7) fails on irregular graphs. In its place, with the gap "alpha":
        The distance of P_j(i) from pi_i is at most (1 - alpha)^t sqrt(pi_i / pi_j), as for every reversible walk.

    Example:
        >>> triangle = Graph.from_edges([(0, 1), (1, 2), (2, 0)])
        >>> found = position_bounds(triangle, 3)
        >>> round(found.likeness.mean_overlap, 6), found.ranked[1], round(found.dummies, 6)
        (0.666667, (2, 1), 0.878906)
    """
    validate.integer_at_least(1, submissions=submissions)
    validate.probability(laziness=laziness, dropout=dropout)
    if isinstance(graph, Overlay):
        check_cycles(num_rounds, laziness, graph.num_rounds)
    graphs_of_rounds(graph, num_rounds)
    return PositionBounds(
        graph=graph,
        num_rounds=num_rounds,
        laziness=laziness,
        dropout=dropout,
        submissions=submissions,
        most_steps=most_steps,
    )


def _count(held: Floats, laws: Floats) -> None:
    """Add independent reports, one by one, to the laws of the number of reports held at each place."""
    for law in laws:
        stay = 1 - law
        more = held[:-1] * law
        held *= stay
        held[1:] += more


def _classes(descending: Floats, people: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Classes of nearly equal probabilities: the largest probability of each class, and its size."""
    if not descending.size:  # all is lost
        return (0.0,), (people,)
    values: list[float] = []
    counts: list[int] = []
    least = _NEGLIGIBLE / people
    for value in np.maximum(descending, min(least, descending[0])).tolist():
        if values and value * _CLASS >= values[-1]:
            counts[-1] += 1
        else:
            values.append(min(1.0, value))
            counts.append(1)
    return tuple(values), tuple(counts)
