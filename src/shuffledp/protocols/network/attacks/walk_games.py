"""Attacks on random walks: likelihood-ratio scores of bags and of sightings, and their games.

The attacker knows the graph, and so the exact law P(t) of where one person's report is handed in, and how many reports
of others to expect at each place. Colluders know besides who gave them which report in which round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.games import CentralGame, Scorer
from shuffledp.attacks.likelihood_scores import (
    DIGITS,
    SCORES,
    NeighboringInputs,
    ScoredViews,
    log_likelihood_of,
    log_sum_per_view,
    seen_in,
    view_scores,
)
from shuffledp.core.flow import Randomizer, Shuffler, View
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.table import Floats, Integers
from shuffledp.people.graphs import Graph, union
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays
from shuffledp.protocols.network.laws.walk_collusion import honest_people
from shuffledp.protocols.network.laws.walk_distributions import (
    Ways,
    graphs_of_rounds,
    one_round,
    position_distribution,
    position_distributions,
    transitions,
    unseen_probability,
)
from shuffledp.protocols.network.laws.walk_loads import expected_held
from shuffledp.protocols.network.laws.walk_sampling import LOST, sample_walks
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.shufflers.walk_checks import check_surplus
from shuffledp.randomness.sources import RandomSource

WALK_SCORES = ("bags", "bags-early")
LARGEST_SEARCH = 4096  # largest graph that is searched for the least hidden person
_NEVER = 1e-300


class WalkGame(CentralGame):
    """Game about walks: the adversary sees the reports and who handed them in.

    Played is the one whose report is hidden worst, on graphs that are searched, and the person whom the inputs name.
    """

    name = "network"
    scores = (*SCORES, *WALK_SCORES)

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:  # noqa: ARG003 (whatever walks)
        """Whether reports walk; see `Game.suits`."""
        return isinstance(shuffler, RandomWalkShuffler)

    @classmethod
    def parts_of(cls, shuffler: Shuffler) -> Sequence[int]:
        """Sizes of the parts of a graph between which no report moves.

        A claim may be that of the part that hides worst.
        """
        graphs = cast(RandomWalkShuffler, shuffler).graphs
        sizes: list[int] = np.bincount(union(graphs).components).tolist() if graphs else []
        return sizes

    @property
    def shuffler(self) -> RandomWalkShuffler:
        """Shuffler of the pipeline."""
        return cast(RandomWalkShuffler, self.pipeline.shuffler)

    def different(self, pairs: Sequence[NeighboringInputs]) -> Sequence[NeighboringInputs]:
        """Neighboring inputs, once for the pair's own person and once for the most exposed person.

        Once if these are the same; people who are known to collude are left out.
        """
        worst, named = most_exposed(self.shuffler), self.shuffler.colluders
        return [
            replace(pair, person=person)
            for pair in pairs
            for person in dict.fromkeys([pair.person or worst, worst])
            if person not in named
        ] or [replace(pair, person=worst) for pair in pairs]

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """Function from views to their scores; see `CentralGame.reading`."""
        model = self.pipeline.randomizer.model
        reader = WalkReader(self.shuffler, model, inputs)

        def read(views: Sequence[View]) -> NDArray[np.float64]:
            return np.column_stack([view_scores(views, model, inputs), reader.scores(views)])

        return read


class CollusionGame(WalkGame):
    """Game about walks with colluders near one person: the adversary also sees the reports that colluders passed on.

    Walks are drawn round by round, so that it is known who passed what on to whom; they end in the shuffler's own view.
    """

    name = "colluders"
    scores = (*WalkGame.scores, "sightings", "bags-and-sightings")

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:
        """Whether people collude where reports walk; see `Game.suits`."""
        return super().suits(shuffler, model) and cast(RandomWalkShuffler, shuffler).num_colluding > 0

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """Scores of independent runs; see `Game.play`."""
        randomizer, shuffler = self.pipeline.randomizer, self.shuffler
        answers, read = inputs.answers(which, self.num_users), self.reading(inputs)
        reader = (OnionReader if shuffler.onion else SightingReader)(shuffler, randomizer.model, inputs)
        bags = WalkGame.scores.index("bags")
        found = np.empty((runs, len(self.scores)))
        for row in found:
            reports = randomizer.randomize(answers, source=self.source)
            scheduled = shuffler.scheduled(source=self.source)
            trace = trace_walks(scheduled, source=self.source)
            view = scheduled.hand_in(reports, trace[-1], source=self.source)
            seen = read([view])[0]
            sighted = reader.score(reports.columns, trace)
            row[:] = *seen, sighted, seen[bags] + sighted
            self.tick(1)
        return found


@dataclass(frozen=True, slots=True)
class _PlaceChances:
    """Chance of one report at each place after some rounds, and the expected number of other reports there."""

    own: Floats
    others: Floats

    @property
    def lost(self) -> float:
        """Chance that the followed report is lost."""
        return max(0.0, 1 - float(self.own.sum()))


def _places(shuffler: RandomWalkShuffler, person: int, num_rounds: int) -> _PlaceChances:
    options = _chances(shuffler)
    graph = _first_rounds(shuffler, num_rounds)
    own = position_distribution(graph, person, num_rounds, **options)
    return _PlaceChances(own, np.maximum(expected_held(graph, num_rounds, **options) - own, 0.0))


def _chances(shuffler: RandomWalkShuffler) -> dict[str, float]:
    """Chances that a report stays (``laziness``, with unknown absences) or is lost (``dropout``) in a round."""
    resting = shuffler.resting if shuffler.schedule is None else shuffler.laziness
    return {"laziness": resting, "dropout": shuffler.dropout}


def _first_rounds(shuffler: RandomWalkShuffler, num_rounds: int) -> Ways:
    graph = shuffler.ways
    if isinstance(graph, Graph | Overlay | ChurnedWays):
        return graph
    return graph[:num_rounds] if num_rounds else graph[0]


def most_exposed(shuffler: RandomWalkShuffler) -> int:
    """Person whose report ends where the fewest other reports are expected.

    It is a person who is not known to collude; in large graphs the first such person.
    """
    options, rounds = _chances(shuffler), shuffler.num_rounds
    graph = _first_rounds(shuffler, rounds)
    held = expected_held(graph, rounds, **options)
    honest = honest_people(shuffler.colluders, held.size)
    if held.size > LARGEST_SEARCH:
        return int(honest[0])
    risks = [
        (laws**2 / np.maximum(held - laws, _NEVER)).sum(axis=1)
        for _, laws in position_distributions(graph, rounds, **options)
    ]
    return int(honest[np.argmax(np.concatenate(risks)[honest])])


class WalkReader:
    """Scorer of views of walks, for two data sets.

    "bags" is the log-likelihood ratio of everything that is seen, reports and who handed them in, if the numbers of
    other people's reports at different places are independent, which is close to the truth where there are many.
    "bags-early" is the same for reports that were handed in a round too early.
    """

    def __init__(self, shuffler: RandomWalkShuffler, model: LocalModel, inputs: NeighboringInputs) -> None:
        self._shuffler, self._model, self._inputs = shuffler, model, inputs
        last = shuffler.num_rounds
        self._places = [_places(shuffler, inputs.person, rounds) for rounds in (last, max(0, last - 1))]

    def scores(self, views: Sequence[View]) -> Floats:
        """Scores of views, shape (views, scores), in the order of ``WALK_SCORES``; 0 for an empty view."""
        found = np.zeros((len(views), len(WALK_SCORES)))
        filled, seen = seen_in(views, self._model, self._inputs)
        if seen is not None:
            found[filled] = np.column_stack([self._score(seen, places) for places in self._places])
        return np.round(found, DIGITS)

    def _score(self, seen: ScoredViews, places: _PlaceChances) -> Floats:
        weights, mixed = self._weights(seen, places)
        lost = _log(np.array(places.lost))
        one, other = (
            np.logaddexp(log_sum_per_view(weights + mixed(answer), seen.starts), lost)
            for answer in (seen.first, seen.second)
        )
        return np.asarray(one - other)

    def _weights(self, seen: ScoredViews, places: _PlaceChances) -> tuple[Floats, Any]:
        """Log-weight of each report as the person's, and a function to the reports' log-likelihood ratios."""
        own, others = places.own[seen.labels], places.others[seen.labels]
        if self._shuffler.protocol == "all":
            return _log(own) - _log(others), lambda answer: answer - seen.others
        most = self._shuffler.submissions or 1
        handed_in, dummies = (each[seen.labels] for each in _handing_in(places.others, most))
        usual = np.logaddexp(_log(dummies) + self._of_dummies(seen), _log(1 - dummies) + seen.others)

        def mixed(answer: Floats) -> Floats:
            return np.asarray(np.logaddexp(_log(handed_in) + answer, _log(1 - handed_in) + seen.others) - usual)

        return _log(own / most), mixed

    def _of_dummies(self, seen: ScoredViews) -> Floats:
        shuffler = self._shuffler
        if shuffler.dummies is not None and not isinstance(shuffler.dummies, Randomizer):
            return seen.others
        value = self._model.dummy_value if shuffler.dummy_value is None else shuffler.dummy_value
        return seen.others if value is None else log_likelihood_of(self._model, seen.columns, value)


def _handing_in(others: Floats, most: int) -> tuple[Floats, Floats]:
    """By place: chance to hand in the followed report if held there, else expected share of dummies.

    Of N others, Poisson distributed: E min(1, B / (1 + N)), where E 1 / (1 + N) = (1 - exp(-mean)) / mean; and
    E max(0, B - N) / B.
    """
    from scipy.stats import poisson  # slow to import

    few = np.arange(most)[:, None]
    chances = np.asarray(poisson.pmf(few, others), dtype=np.float64)
    mean = np.maximum(others, _NEVER)
    among_few: Floats = np.sum(chances / (1 + few), axis=0)
    beyond = -np.expm1(-mean) / mean - among_few
    handed_in = chances.sum(axis=0) + most * np.maximum(beyond, 0.0)
    return np.clip(handed_in, 0.0, 1.0), np.clip(((most - few) * chances).sum(axis=0) / most, 0.0, 1.0)


def _log(chances: Floats) -> Floats:
    return np.log(np.maximum(chances, _NEVER))


# ---- colluders -------------------------------------------------------------------------------------------------------


def colluders_beside(shuffler: RandomWalkShuffler, person: int) -> tuple[int, ...]:
    """Colluders near one person: the neighbors first, then other people in order; or the known colluders."""
    if shuffler.colluders:
        return tuple(shuffler.colluders)
    first = graphs_of_rounds(shuffler.graph, max(shuffler.num_rounds, 1))[0]
    beside = (first.neighbors_of(person) if isinstance(first, Graph) else first.contacts_of(person)).tolist()
    rest = [other for other in range(first.num_users) if other != person]
    return tuple(dict.fromkeys([*beside, *rest]))[: shuffler.num_colluding]


def trace_walks(shuffler: RandomWalkShuffler, *, source: RandomSource) -> Integers:
    """Places of each report after every round, from round 0 on; shape (rounds + 1, people), -1 if lost.

    Drawn round by round by the sampler that the shuffler itself draws from, which gives the same law, if nobody is
    offline or there is a schedule; and with the same error where a surplus aborts the walks.
    """
    people = shuffler.num_users
    trace = np.full((shuffler.num_rounds + 1, people), LOST, dtype=np.int64)
    trace[0] = np.arange(people)
    for number, graph in enumerate(graphs_of_rounds(shuffler.ways, shuffler.num_rounds)):
        alive = np.flatnonzero(trace[number] != LOST)
        walks = sample_walks(
            graph,
            1,
            starts=trace[number, alive],
            laziness=shuffler.laziness,
            dropout=shuffler.dropout,
            slots=() if shuffler.slots is None else shuffler.slots[number : number + 1],
            source=source,
        )
        check_surplus(walks, shuffler.surplus, shuffler.overflow)
        trace[number + 1, alive] = walks.positions
    return trace


class SightingReader:
    """Scorer of sightings: the first sender and round of each report at a colluder.

    They recognize a report that they have seen before. Who receives a report from its owner in the first round knows
    whose it is.
    """

    def __init__(self, shuffler: RandomWalkShuffler, model: LocalModel, inputs: NeighboringInputs) -> None:
        self.colluders = np.array(colluders_beside(shuffler, inputs.person), dtype=np.int64)
        self._model, self._inputs = model, inputs
        places = [_places(shuffler, inputs.person, rounds) for rounds in range(shuffler.num_rounds)]
        self._weights = np.array([_log(each.own) - _log(each.others) for each in places])
        graph, rounds = _first_rounds(shuffler, shuffler.num_rounds), shuffler.num_rounds
        unseen = unseen_probability(graph, self.colluders, rounds, laziness=_chances(shuffler)["laziness"])
        self._unseen = float(_log(unseen[inputs.person]))

    def score(self, columns: Mapping[str, NDArray[Any]], trace: Integers) -> float:
        """Log-likelihood ratio of the sightings and of the sighted reports; 0 without any sighting."""
        received = np.isin(trace[1:], self.colluders) & (trace[1:] != trace[:-1])
        reports = np.flatnonzero(received.any(axis=0))
        reports = reports[~np.isin(reports, self.colluders)]
        if not reports.size:
            return 0.0
        rounds = received[:, reports].argmax(axis=0)
        weights = self._weights[rounds, trace[rounds, reports]]
        shown = {name: column[reports] for name, column in columns.items()}
        inputs = self._inputs
        first, second, others = (
            log_likelihood_of(self._model, shown, answer) for answer in (inputs.first, inputs.second, inputs.others)
        )
        one, other = (
            np.logaddexp.reduce(np.append(weights + answer - others, self._unseen)) for answer in (first, second)
        )
        return round(float(one - other), DIGITS)


class OnionReader:
    """Scorer of the reports that colluders see inside layers of encryption.

    They follow each of them from one honest person to the next, and so know where the report of the person asked about
    was first when it had left their hands; in the end they read what is in their hands, and know which honest person it
    came from last. Of what honest people hand in it is known who did.
    """

    def __init__(self, shuffler: RandomWalkShuffler, model: LocalModel, inputs: NeighboringInputs) -> None:
        self.colluders = np.array(colluders_beside(shuffler, inputs.person), dtype=np.int64)
        self._model, self._inputs = model, inputs
        self._graphs = graphs_of_rounds(shuffler.graph, shuffler.num_rounds)
        self._honest = np.ones(shuffler.num_users)
        self._honest[self.colluders] = 0.0
        reports = self._honest.copy()
        reports[inputs.person] = 0.0
        self._others = _log(self._walked(reports, 0))
        self._own: dict[tuple[int, int], Floats] = {}

    def _walked(self, law: Floats, first: int) -> Floats:
        """Expected numbers of reports at each place, from round ``first`` on; shape (rounds + 1, people)."""
        found = np.zeros((len(self._graphs) + 1, law.size))
        found[first] = law
        for done, matrix in enumerate(transitions(self._graphs)):
            if done >= first:
                found[done + 1] = one_round(matrix, found[done], 0.0)
        return found

    def _own_from(self, rounds: int, place: int) -> Floats:
        """Log-chance of each place in each later round, for the followed report after its last sighting.

        It left the colluders at this round and place. After 0 rounds: it was not in their hands in the first.
        """
        if (rounds, place) not in self._own:
            law = np.zeros(self._honest.size)
            law[place] = 1.0
            begun = law if rounds else self._walked(law, 0)[1] * self._honest
            self._own[rounds, place] = _log(self._walked(begun, max(rounds, 1)))
        return self._own[rounds, place]

    def score(self, columns: Mapping[str, NDArray[Any]], trace: Integers) -> float:
        """Log-likelihood ratio of everything that colluders see, with numbers of other reports taken as independent."""
        seen, person, last = np.isin(trace, self.colluders), self._inputs.person, len(trace) - 1
        honest, reports = ~seen, np.flatnonzero(self._honest)
        shown = {name: column[reports] for name, column in columns.items()}
        first, second, others = (
            log_likelihood_of(self._model, shown, answer)
            for answer in (self._inputs.first, self._inputs.second, self._inputs.others)
        )
        if not honest[1:, person].any():  # colluders read the report and know its owner
            own = int(np.searchsorted(reports, person))
            return round(float(first[own] - second[own]), DIGITS)
        came = last - honest[::-1, reports].argmax(axis=0)  # the last round with an honest holder
        left = int(honest[1:, person].argmax()) + 1
        law = self._own_from(*((0, person) if left == 1 else (left, int(trace[left, person]))))
        weights = law[came, trace[came, reports]] - self._others[came, trace[came, reports]]
        one, other = (np.logaddexp.reduce(weights + answer - others) for answer in (first, second))
        return round(float(one - other), DIGITS)
