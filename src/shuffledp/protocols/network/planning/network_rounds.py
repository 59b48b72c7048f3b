"""Rounds of a network shuffle: the fewest rounds along given graphs that hide enough."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.accounting import account, delta_at, epsilon_of
from shuffledp.core import validate
from shuffledp.core.caching import WeakCache
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Progress, Randomizer
from shuffledp.core.local_models import LocalModel, MeanModel, ProtocolModel
from shuffledp.people.graphs import Graph
from shuffledp.people.graphs.connected_parts import Graphs, parts_of, together
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.laws.walk import WalkRules
from shuffledp.protocols.network.laws.walk_collusion import worst_hiding
from shuffledp.protocols.network.laws.walk_distributions import people_of
from shuffledp.protocols.network.laws.walk_likeness import likely_rounds
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.planning.constant_links import ConstantLinks, check_gate
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_overlap import epsilon_of_one_law
from shuffledp.randomizers import PrivUnit
from shuffledp.shufflers import UniformShuffleModel

_NEAR_UNIFORM = 1.05  # times `nearest_epsilon`: an epsilon at most this is enough
MOST_ROUNDS = 1 << 14  # most rounds that are tried
MOST_SEARCHED = 8  # most parts for which the fewest rounds are searched
_GOLDEN = (3 - math.sqrt(5)) / 2
MOST_ONION_ROUNDS = 64  # most rounds of onions that are tried
_SPARED = 0.2  # share of delta for reports that colluders can follow to their end
_ALL_LOST = 1e-3  # of the reports: with fewer left, no report hides as in a uniform shuffle of all
_FEWEST: WeakCache[tuple[int | None]] = WeakCache(2 * MOST_SEARCHED)


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkShuffle(WalkRules):
    """Network shuffle of given reports along given graphs, for any number of rounds.

    The rules of the walk (protocol, submissions, laziness, dropout, offline, onion, gate) are those of
    `shuffledp.RandomWalkShuffler`.

    Args:
        graph: one graph, or those of the first round, the second and so on; after the last the first again; or an
            overlay.
        randomizer: of the reports; it makes the dummies too, where the protocol needs any.
        colluding: share of the people who may tell the analyst what passed through their hands, below 1.
        fakes: people besides them who may be fake, and tell as much; 0 or more.
        links: slots of links, so that traffic tells nothing; None if reports go one by one.

    Raises:
        InvalidParameterError: if the share is out of range, or the randomizer takes no whole number that dummies could
            be made of; and as the shuffler does, which `shuffler` makes.
    """

    graph: Graph | Overlay | Sequence[Graph]
    randomizer: Randomizer
    colluding: float = 0.0
    fakes: int = 0
    links: ConstantLinks | None = None

    def __post_init__(self) -> None:
        validate.probability(colluding=self.colluding)
        validate.integer_at_least(0, fakes=self.fakes)
        if not isinstance(self.graph, Overlay) and not self.graphs:
            raise validate.invalid("one graph or more", graph=[])
        self._dummies()

    @property
    def graphs(self) -> Graphs:
        """Graphs of the rounds in turn; none for an overlay."""
        graph = self.graph
        return () if isinstance(graph, Overlay) else (graph,) if isinstance(graph, Graph) else tuple(graph)

    @property
    def num_users(self) -> int:
        """Number of people who pass reports on."""
        return people_of(self.graph)

    @property
    def num_colluding(self) -> int:
        """Number of people who may reveal which reports they passed on, including fake people."""
        return min(math.ceil(self.colluding * self.num_users) + self.fakes, self.num_users)

    @property
    def local(self) -> LocalModel:
        """Model of the reports."""
        return self.randomizer.model

    def shuffler(
        self, num_rounds: int, schedule: Schedule | None = None, *, planned: int | None = None
    ) -> RandomWalkShuffler:
        """Shuffler for this number of rounds, with the given schedule of attendance or none.

        Its rounds are cut from the ``planned`` ones if a gate opened.

        Raises:
            InvalidParameterError: if somebody has no neighbor, or an argument is out of range; and as `check_gate`.
        """
        graphs, links = self.graphs, self.links
        cycle = tuple(graphs[place % len(graphs)] for place in range(num_rounds)) if graphs else ()
        found = RandomWalkShuffler(
            graph=cycle if cycle and len(graphs) > 1 else graphs[0] if graphs else self.graph,
            num_rounds=num_rounds,
            protocol=self.protocol,
            laziness=self.laziness,
            dropout=self.dropout,
            offline=self.offline,
            submissions=self.submissions,
            num_colluding=self.num_colluding,
            onion=self.onion,
            gate=self.gate,
            schedule=schedule,
            **self._dummies(),
            **({} if links is None else links.cut(self.graph, planned or num_rounds, self.laziness, num_rounds)),
        )
        check_gate(found)
        return found

    def _dummies(self) -> dict[str, Any]:
        """Options of a shuffler about dummies: randomizer and value, or a maker of random directions."""
        if self.protocol == "all":
            return {}
        model = self.local
        if isinstance(self.randomizer, PrivUnit):
            return {"dummies": self.randomizer, "dummy_value": None}
        if not isinstance(model, MeanModel):
            return {"dummies": self.randomizer, "dummy_value": 0}
        value = max(math.ceil(model.lower), 0)
        if value > model.upper:
            raise InvalidParameterError(
                f"protocol must be 'all' for answers from {model.lower:g} to {model.upper:g}: there is no whole number "
                f"of 0 or more among them that dummies could be made of; got protocol={self.protocol!r}."
            )
        return {"dummies": self.randomizer, "dummy_value": value}

    def on_part(self, graphs: Graphs) -> "NetworkShuffle":
        """Network shuffle in one part of the graph, with ``submissions`` at most the number of its people."""
        most = graphs[0].num_users
        return replace(
            self, graph=graphs, submissions=None if self.submissions is None else min(self.submissions, most)
        )

    @property
    def stays_on_sides(self) -> bool:
        """Whether the graph is two-sided and reports never rest, so that the final side reveals the first."""
        return together(self.graphs).is_bipartite and not self.laziness


def fewest_rounds(walk: NetworkShuffle, *, delta: float, progress: Progress | None = None) -> int | None:
    """Fewest rounds with an epsilon of at most 1.05 times the limit of the walks (`nearest_epsilon`).

    By ever larger steps and narrowing down, as if more rounds were never worse, or if some reports get lost, not until
    most help. Of a graph in parts, the fewest that are enough for each part that gains anything.

    Args:
        walk: the shuffle; nothing is enough where people are offline or collude, and behind a gate it is not known. Of
            an overlay it is one cycle anyway, or with reports in layers as many as keep colluders from nearly all of
            them. What slots of links cost is not looked at.
        delta: of the guarantee, strictly between 0 and 1.
        progress: told how many numbers of rounds have been accounted for.

    Returns:
        None if none that were tried are enough; `why_no_rounds` says why.

    Example:
        >>> from shuffledp import Graph, KaryRandomizedResponse
        >>> everybody = Graph.from_edges([(one, other) for one in range(20) for other in range(one)])
        >>> coin = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
        >>> fewest_rounds(NetworkShuffle(graph=everybody, randomizer=coin), delta=0.05)
        4
    """
    validate.open_probability(delta=delta)
    if isinstance(walk.graph, Overlay):
        return _past_colluders(walk, walk.graph, delta) if walk.onion and walk.num_colluding else walk.graph.num_rounds
    if walk.offline or walk.num_colluding or walk.gate is not None:
        return None
    settings = (walk.protocol, walk.submissions, walk.laziness, walk.dropout, walk.local, delta)
    walk = replace(walk, links=None)
    found = _FEWEST.get(walk.graphs, settings)  # a plan asks for all parts together, and for each
    if found is None:
        found = _FEWEST.put(walk.graphs, (_fewest(_Search(walk, delta, progress)),), settings)
    return found[0]


def _past_colluders(walk: NetworkShuffle, overlay: Overlay, delta: float) -> int | None:
    """Fewest rounds, in whole cycles, after which colluders add little to delta; None if none is found."""
    worth, cycle = math.tanh(walk.local.epsilon0 / 2), overlay.num_rounds  # that is the local delta at epsilon = 0
    tried = range(cycle, max(MOST_ONION_ROUNDS, cycle) + 1, cycle)
    alone = (worst_hiding(overlay, walk.num_colluding, each).alone for each in tried)
    return next((each for each, left in zip(tried, alone, strict=True) if left * worth <= _SPARED * delta), None)


def why_no_rounds(walk: NetworkShuffle, *, delta: float) -> str:
    """End of a sentence on the reason why `fewest_rounds` finds no number, as far as it is known."""
    if isinstance(walk.graph, Overlay):
        return (
            f"with {walk.num_colluding} people who may collude and groups of this size, too many reports "
            f"are seen after {MOST_ONION_ROUNDS} rounds; larger groups have more honest people"
        )
    everything = together(walk.graphs)
    for name, share in (("offline", walk.offline), ("colluding", walk.colluding), ("fakes", walk.fakes)):
        if share:
            return f"no number of rounds comes near the guarantee of a uniform shuffle where {name} is above 0"
    if not _gains(nearest_epsilon(walk.local, walk.num_users, delta), walk.local) and everything.is_connected:
        return (
            f"even a uniform shuffle of {walk.num_users} people gains next to nothing at delta={delta:g}, so that "
            "'auto' has nothing to come near"
        )
    return f"no number of rounds was found that comes within 5% of a uniform shuffle{_because(walk, everything)}"


def _because(walk: NetworkShuffle, everything: Graph) -> str:
    if walk.stays_on_sides:
        return (
            ", since the graph is bipartite and nobody is lazy: the number of rounds shows on which side a report "
            "began. With laziness = 0.1 the sides mix"
        )
    if everything.num_parts > MOST_SEARCHED:
        return f"; in more than {MOST_SEARCHED} parts it is not looked for"
    if walk.dropout:
        each = "" if everything.is_connected else " of each part"
        return f"{each}; reports get lost on the way, and ever more of them in more rounds"
    return "" if everything.is_connected else ", since the graph is in parts that no report leaves"


def epsilon_of_uniform(local: LocalModel, num_users: int, delta: float) -> float:
    """Epsilon of a uniform shuffle of this number of people."""
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=num_users))
    return epsilon_of(account(model, delta=delta).guarantee)


def nearest_epsilon(local: LocalModel, num_users: int, delta: float) -> float:
    """Limit of the walks' epsilon for many rounds: mostly `epsilon_of_uniform`.

    Only theorems that hold for walks too are used.
    """
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=num_users))
    return min(epsilon_of_one_law(model, num_users, delta), local.epsilon0)


def model_of(shuffler: RandomWalkShuffler, local: LocalModel) -> ProtocolModel:
    """Public description of the whole protocol."""
    return ProtocolModel(local=local, shuffle=shuffler.model(shuffler.num_users))


@dataclass(frozen=True, slots=True)
class _Search:
    """Search for the fewest rounds."""

    walk: NetworkShuffle
    delta: float
    progress: Progress | None


def _fewest(search: _Search) -> int | None:
    walk = search.walk
    if walk.stays_on_sides:
        return None
    if not together(walk.graphs).is_connected:
        return _enough_for_parts(search)
    uniform = nearest_epsilon(walk.local, walk.num_users, search.delta)
    if not _gains(uniform, walk.local):
        return None
    first = likely_rounds(
        walk.graphs, walk.laziness, enough=_NEAR_UNIFORM**-2
    )  # epsilon is about as the root of people
    return _narrowed(search, uniform, min(first, MOST_ROUNDS))


def _narrowed(search: _Search, uniform: float, rounds: int) -> int | None:
    """Fewest rounds, by growing steps until epsilon is small enough and then narrowing."""
    found: dict[int, float] = {0: math.inf}

    def above(number: int) -> float:
        """Value of `_excess` after this number of rounds, computed only once."""
        if number not in found:
            found[number] = _excess(search, uniform, number)
            if search.progress is not None:
                search.progress(len(found) - 1, None)
        return found[number]

    before, low, limit = 0, 0, _last_tried(search, uniform)
    first = rounds = min(rounds, limit)
    while rounds and above(rounds) > 0:
        worse = above(rounds) > above(low)
        if search.walk.dropout and (worse or rounds == limit):
            return _past_the_least(above, *((before, low, rounds) if worse else (low, rounds, limit + 1)))
        if rounds == limit:
            return None
        before, low, rounds = low, rounds, min(rounds + max(rounds - first, 1), limit)
    return _between(above, low, rounds) if rounds else None


def _last_tried(search: _Search, uniform: float) -> int:
    """Largest number of rounds that the search tries.

    If nobody is offline and all hand in all that they hold, lost reports hide nobody: once a uniform shuffle of those
    that are left is not near enough, no further round is but by losing the victim's report, too, which is no plan.
    """
    people, lost = search.walk.num_users, search.walk.dropout
    if not lost:
        return MOST_ROUNDS

    def is_hopeless(number: int) -> bool:
        left = (1 - lost) ** number
        if left < _ALL_LOST or search.walk.protocol != "all":
            return left < _ALL_LOST
        return nearest_epsilon(search.walk.local, math.ceil(left * people), search.delta) > _NEAR_UNIFORM * uniform

    return bisect_left(range(1, MOST_ROUNDS + 1), True, key=is_hopeless)


def _past_the_least(above: Callable[[int], float], low: int, middle: int, high: int) -> int | None:
    """Fewest rounds for walks whose epsilon falls first and rises later; None if none are enough.

    By golden section, until some are enough: found if the numbers before the best are ever better, and those after it
    ever worse, which is how it looks, but not proven; else there may be some where none are found. ``high`` may lie one
    beyond all that are tried.
    """
    while above(middle) > 0 and high - low > 2:
        if high - middle > middle - low:
            tried = middle + max(1, round((high - middle) * _GOLDEN))
            low, middle, high = (low, middle, tried) if above(tried) > above(middle) else (middle, tried, high)
        else:
            tried = middle - max(1, round((middle - low) * _GOLDEN))
            low, middle, high = (tried, middle, high) if above(tried) > above(middle) else (low, tried, middle)
    return _between(above, low, middle) if above(middle) <= 0 else None


def _between(above: Callable[[int], float], low: int, rounds: int) -> int:
    """Fewest rounds that are enough, more than ``low`` (too few) and at most ``rounds`` (enough).

    By secants, or by halves where secants are slow.
    """
    halve = False
    while rounds - low > 1:
        one, other = above(low), above(rounds)
        middle = (low + rounds) // 2
        if not halve and math.isfinite(one - other):
            middle = min(max(low + math.ceil((rounds - low) * one / (one - other)), low + 1), rounds - 1)
        before = rounds - low
        low, rounds = (low, middle) if above(middle) <= 0 else (middle, rounds)
        halve = not halve and 2 * (rounds - low) > before
    return rounds


def _excess(search: _Search, uniform: float, number: int) -> float:
    """Log-ratio of epsilon's excess over ``uniform`` to the allowed excess; above 0 if rounds are too few.

    It is about linear in the rounds, as laws converge exponentially.
    """
    walk, enough = search.walk, uniform * _NEAR_UNIFORM
    model = model_of(walk.shuffler(number), walk.local)
    lossless = not walk.dropout  # else it is asked of numbers that are not enough, too, which is better
    if walk.protocol != "all" and lossless:  # epsilon takes longer here than delta at one epsilon
        reached = delta_at(model, epsilon=enough).guarantee
        if getattr(reached, "delta", 1.0) > search.delta:
            return math.inf
    found = epsilon_of(account(model, delta=search.delta).guarantee)
    if found > enough and found >= walk.local.epsilon0:
        return math.inf  # nothing is known, however near
    if found <= uniform:
        return -math.inf
    return math.log((found - uniform) / (enough - uniform)) if found != enough else 0.0


def _enough_for_parts(search: _Search) -> int | None:
    """Rounds that are enough for every part that gains from shuffling; None if unknown or too many parts.

    Where reports get lost, what is the fewest for one part may be too many for another, whose people are fewer then.
    """
    walk, delta = search.walk, search.delta
    if together(walk.graphs).num_parts > MOST_SEARCHED:
        return None
    most = 0
    gaining: list[tuple[_Search, float]] = []
    for part in parts_of(walk.graphs):
        uniform = nearest_epsilon(walk.local, part[0].num_users, delta)
        if not _gains(uniform, walk.local):
            continue
        of_part = replace(search, walk=walk.on_part(part))
        found = fewest_rounds(of_part.walk, delta=delta, progress=search.progress)
        if found is None:
            return None
        most = max(most, found)
        gaining.append((of_part, uniform))
    if walk.dropout and any(_excess(*each, most) > 0 for each in gaining):
        return None
    return most or None


def _gains(uniform: float, local: LocalModel) -> bool:
    """Whether epsilon0 is far above the uniform epsilon, so that shuffling gains something."""
    return uniform * _NEAR_UNIFORM < local.epsilon0
