"""Attack by traffic: an observer counts the messages on all links, and follows one person's report.

Messages are sealed anew whenever they are passed on, so that a watcher counts them and recognizes none. Of the reports
that somebody holds any may be the one that is followed: it goes along a link with the share of them that do. From
traffic that is not hidden that is the exact law of where it is. If nobody is ever with it at one place it is named.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.likelihood_scores import DIGITS, NeighboringInputs, seen_in
from shuffledp.core import validate
from shuffledp.core.flow import Shuffler, View
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.network.attacks.walk_games import WalkGame, trace_walks
from shuffledp.protocols.network.laws.walk_distributions import graphs_of_rounds, transitions
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.randomness.sources import RandomSource, resolve_source


class LinkCounts(NamedTuple):
    """Traffic of one round: the links in use and their message counts, all of shape (links,)."""

    senders: Integers
    receivers: Integers
    messages: Integers


def traffic_of(shuffler: RandomWalkShuffler, trace: Integers) -> tuple[LinkCounts, ...]:
    """Traffic of walks: visible links and message counts of each round.

    Args:
        shuffler: whose walks; with slots every link carries as many in a round, whatever walks along it.
        trace: places of each report before the first and after every round, as `trace_walks` draws them.
    """
    if shuffler.slots is not None:
        return _envelopes(shuffler)
    return tuple(_messages(before, after, shuffler.num_users) for before, after in pairwise(trace))


def _messages(before: Integers, after: Integers, people: int) -> LinkCounts:
    moved = (before != after) & (before >= 0) & (after >= 0)
    links, messages = np.unique(before[moved] * people + after[moved], return_counts=True)
    return LinkCounts(links // people, links % people, messages)


def _envelopes(shuffler: RandomWalkShuffler) -> tuple[LinkCounts, ...]:
    """Traffic on links with slots, known from public graphs without any walk."""
    found = []
    rounds = graphs_of_rounds(shuffler.graph, shuffler.num_rounds)
    for matrix, slots in zip(transitions(rounds), shuffler.slots or (), strict=True):
        links = matrix.tocoo()
        apart = links.row != links.col
        found.append(LinkCounts(links.col[apart], links.row[apart], np.full(np.count_nonzero(apart), slots)))
    return tuple(found)


class ReportPlaces(NamedTuple):
    """Law of one person's report given traffic: chance of each place, and number of reports held there."""

    chances: Floats
    held: Floats

    @property
    def is_named(self) -> bool:
        """Whether the report's place is certain, and no other report is there."""
        place = int(self.chances.argmax())
        return bool(self.chances[place] == 1 and self.held[place] == 1)


def follow(traffic: Sequence[LinkCounts], num_users: int, person: int) -> ReportPlaces:
    """Law of one person's report, followed through the traffic; each person begins with one report.

    What is sent beyond what somebody can hold is taken for as many reports: that is how an envelope looks.
    """
    chances, held = np.zeros(num_users), np.ones(num_users)
    chances[person] = 1.0
    for senders, receivers, messages in traffic:
        sent = np.bincount(senders, weights=messages, minlength=num_users)
        staying = np.maximum(held - sent, 0.0)
        share = chances / np.maximum(sent + staying, 1.0)
        chances = share * staying
        np.add.at(chances, receivers, share[senders] * messages)
        held = staying + np.bincount(receivers, weights=messages, minlength=num_users)
    return ReportPlaces(chances, held)


def naming_rate(
    shuffler: RandomWalkShuffler, *, person: int = 0, runs: int = 1000, source: RandomSource | None = None
) -> float:
    """Share of runs in which traffic names one person's report, which never shared a place with another.

    Where everybody passes on to everybody, oneself included, it is (1 - 1/n)^(t (n - 1)) on average.

    Args:
        shuffler: whose walks.
        person: whose report is followed.
        runs: 1 or more.
        source: None is the cryptographic source.

    Example:
        >>> from shuffledp import Overlay
        >>> naming_rate(RandomWalkShuffler(graph=Overlay(4, (2, 2)), num_rounds=2, slots=(1, 3)), runs=50)
        0.0
    """
    validate.integer_at_least(1, runs=runs)
    validate.integer_at_least(0, person=person)
    if person >= shuffler.num_users:
        raise validate.invalid(f"below the number of people, {shuffler.num_users}", person=person)
    source, followed = resolve_source(source), _follower(shuffler, person)
    return sum(followed(trace_walks(shuffler, source=source)).is_named for _ in range(runs)) / runs


def _follower(shuffler: RandomWalkShuffler, person: int) -> Callable[[Integers], ReportPlaces]:
    """Function from a trace of walks to the law of the followed report.

    It is constant if traffic does not depend on the trace.
    """
    if shuffler.slots is None:
        return lambda trace: follow(traffic_of(shuffler, trace), shuffler.num_users, person)
    always = follow(_envelopes(shuffler), shuffler.num_users, person)
    return lambda _: always


class TrafficGame(WalkGame):
    """Game about walks on watched links: the adversary sees views and message counts of links."""

    name = "traffic"
    scores = (*WalkGame.scores, "traffic")

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:
        """Whether links have slots where reports walk; see `Game.suits`."""
        return super().suits(shuffler, model) and cast(RandomWalkShuffler, shuffler).slots is not None

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """Scores of independent runs; see `Game.play`."""
        randomizer, shuffler = self.pipeline.randomizer, self.shuffler
        answers, read = inputs.answers(which, self.num_users), self.reading(inputs)
        follower = _follower(shuffler, inputs.person)
        found = np.empty((runs, len(self.scores)))
        for row in found:
            reports = randomizer.randomize(answers, source=self.source)
            trace = trace_walks(shuffler, source=self.source)
            view = shuffler.hand_in(reports, trace[-1], source=self.source)
            row[:] = *read([view])[0], _by_traffic(view, follower(trace), randomizer.model, inputs)
            self.tick(1)
        return found


def _by_traffic(view: View, followed: ReportPlaces, model: LocalModel, inputs: NeighboringInputs) -> float:
    """Log-likelihood ratio of a view, given the law of the followed report; 0 for an empty view."""
    _, seen = seen_in([view], model, inputs)
    if seen is None:
        return 0.0
    handed_in = np.bincount(seen.labels, minlength=followed.chances.size)
    each = followed.chances / np.maximum(np.maximum(handed_in, followed.held), 1.0)
    left = max(0.0, 1.0 - float(each @ handed_in))
    one, other = (
        np.log(left + float(each[seen.labels] @ np.exp(answer - seen.others))) for answer in (seen.first, seen.second)
    )
    return round(float(one - other), DIGITS)
