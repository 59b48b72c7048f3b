"""Walks of a task file on a graph: how many rounds are enough."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

from shuffledp._remembered import Remembered
from shuffledp.accounting import account, delta_at, epsilon_of
from shuffledp.errors import InvalidParameterError
from shuffledp.flow import Randomizer
from shuffledp.graphs import Graph, certain_gap
from shuffledp.graphs.parts import num_parts, parts_of, together
from shuffledp.models import LocalModel, ProtocolModel
from shuffledp.shufflers import RandomWalkShuffler, UniformShuffleModel
from shuffledp.tasks.network import AUTO, Graphs, NetworkSection, along
from shuffledp.tasks.network_parts import people_of, section_of_part, stays_on_sides

__all__ = [
    "MOST_ROUNDS",
    "MOST_SEARCHED",
    "Progress",
    "epsilon_of_uniform",
    "fewest_rounds",
    "first_tried",
    "model_of",
    "walking",
]

Progress = Callable[[int, int | None], None]

_NEAR_UNIFORM = 1.05  # times epsilon of the uniform shuffle: what "auto" asks for
MOST_ROUNDS = 1 << 14  # that are tried
MOST_SEARCHED = 8  # parts for each of which the fewest rounds are found
_GOLDEN = (3 - math.sqrt(5)) / 2
_ALL_LOST = 1e-3  # of the reports: with so few left, nobody hides as in a uniform shuffle of all
_FEWEST: Remembered[tuple[int | None]] = Remembered(2 * MOST_SEARCHED)
_DEAR = 10**9  # people * entries: from here on exact laws are worked out for less than ten rounds, if at all


def walking(
    section: NetworkSection, graphs: Graphs, randomizer: Randomizer, delta: float, *, progress: Progress | None = None
) -> RandomWalkShuffler:
    """The shuffler of a section on a graph, with its rounds found if they are "auto".

    Raises:
        InvalidParameterError: as `along`; or if no number of rounds is found that comes near a uniform shuffle.
    """
    if isinstance(section.rounds, int):
        return along(section, graphs, randomizer, section.rounds)
    people, epsilon0 = graphs[0].num_users, randomizer.model.epsilon0
    uniform = epsilon_of_uniform(randomizer.model, people, delta)
    if not _gains(uniform, epsilon0) and together(graphs).is_connected:
        raise InvalidParameterError(
            f"[shuffler] rounds must be a number here: even a uniform shuffle of {people} people gains next to nothing "
            f"at delta={delta:g}, so that 'auto' has nothing to come near; got rounds={AUTO!r}."
        )
    found = fewest_rounds(section, graphs, randomizer, delta, progress)
    if found is None:
        raise InvalidParameterError(
            f"[shuffler] rounds must be a number here: no number of rounds was found that comes within 5 % of a "
            f"uniform shuffle{_because(section, graphs)}; got rounds={AUTO!r}."
        )
    return along(section, graphs, randomizer, found)


def epsilon_of_uniform(local: LocalModel, num_users: int, delta: float) -> float:
    """What a uniform shuffle of so many people guarantees."""
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=num_users))
    return epsilon_of(account(model, delta=delta).guarantee)


def model_of(shuffler: RandomWalkShuffler, local: LocalModel) -> ProtocolModel:
    """The public description of the whole protocol."""
    return ProtocolModel(local=local, shuffle=shuffler.model(people_of(shuffler)))


@dataclass(frozen=True, slots=True)
class _Search:
    """For which walks the fewest rounds are sought."""

    section: NetworkSection
    graphs: Graphs
    randomizer: Randomizer
    delta: float
    progress: Progress | None

    @property
    def local(self) -> LocalModel:
        return self.randomizer.model


def fewest_rounds(
    section: NetworkSection, graphs: Graphs, randomizer: Randomizer, delta: float, progress: Progress | None
) -> int | None:
    """By doubling and narrowing down, as if more rounds were never worse, or if some get lost, not until most help.

    None if none that were tried are enough.

    Remembered for the same graphs: a plan asks for all parts together, and for each.
    """
    section = replace(section, rounds=AUTO)
    key = (section, randomizer.model, delta)
    found = _FEWEST.get(graphs, key)
    if found is None:
        found = _FEWEST.put(graphs, (_fewest(_Search(section, graphs, randomizer, delta, progress)),), key)
    return found[0]


def _fewest(search: _Search) -> int | None:
    section, graphs, local = search.section, search.graphs, search.local
    everything, uniform = together(graphs), epsilon_of_uniform(local, search.graphs[0].num_users, search.delta)
    if stays_on_sides(everything, section.laziness):
        return None
    if not everything.is_connected:
        return _enough_for_parts(search)
    if not _gains(uniform, local.epsilon0):
        return None
    return _narrowed(search, uniform, *_first_guess(search, uniform))


def _narrowed(search: _Search, uniform: float, low: int, rounds: int) -> int | None:
    """Double until it is enough, then narrow down; ``low`` is not known to be too few, but for 0."""
    found: dict[int, float] = {0: math.inf}

    def above(number: int) -> float:
        """The logarithm of how far epsilon is above what is enough, over how far that is above the uniform one."""
        if number not in found:
            found[number] = _excess(search, uniform, number)
            if search.progress is not None:
                search.progress(len(found) - 1, None)
        return found[number]

    before, limit = low, _last_tried(search, uniform)
    rounds = min(rounds, limit)
    while rounds and above(rounds) > 0:
        worse = above(rounds) > above(low)
        if search.section.dropouts and (worse or rounds == limit):
            return _past_the_least(above, *((before, low, rounds) if worse else (low, rounds, limit + 1)))
        if rounds == limit:
            return None
        before, low, rounds = low, rounds, min(2 * rounds, limit)
    if low and above(low) <= 0:
        low, rounds = 0, low
    return _between(above, low, rounds) if rounds else None


def _last_tried(search: _Search, uniform: float) -> int:
    """Up to how many rounds there is anything to look for.

    If nobody is offline and all hand in all that they hold, lost reports hide nobody: once a uniform shuffle of those
    that are left is not near enough, no further round is.
    """
    people, lost = search.graphs[0].num_users, search.section.dropouts
    if not lost:
        return MOST_ROUNDS

    def is_hopeless(number: int) -> bool:
        left = (1 - lost) ** number
        if left < _ALL_LOST or search.section.protocol != "all":
            return left < _ALL_LOST
        return epsilon_of_uniform(search.local, math.ceil(left * people), search.delta) > _NEAR_UNIFORM * uniform

    return bisect_left(range(1, MOST_ROUNDS + 1), True, key=is_hopeless)


def _past_the_least(above: Callable[[int], float], low: int, middle: int, high: int) -> int | None:
    """The fewest that are enough, where more rounds help up to some number, and lose more than they help from there on.

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
    """The fewest between one number that is not enough and one that is: by lines through both, or halves."""
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
    """Positive where so many rounds are not enough; about linear in them, as laws draw near exponentially."""
    model = model_of(along(search.section, search.graphs, search.randomizer, number), search.local)
    enough = uniform * _NEAR_UNIFORM
    lossless = not search.section.dropouts  # else it is asked of numbers that are not enough, too, which is better
    if search.section.protocol != "all" and lossless:  # whose epsilon takes longer than delta at one epsilon
        reached = delta_at(model, epsilon=enough).guarantee
        if getattr(reached, "delta", 1.0) > search.delta:
            return math.inf
    found = epsilon_of(account(model, delta=search.delta).guarantee)
    if found > enough and found >= search.local.epsilon0:
        return math.inf  # nothing is known, however near
    if found <= uniform:
        return -math.inf
    return math.log((found - uniform) / (enough - uniform)) if found != enough else 0.0


def _first_guess(search: _Search, uniform: float) -> tuple[int, int]:
    """One number of rounds that will hardly be enough, and one to begin with.

    Of many people nothing is known but by the gap, until positions are within four times (1 - gap)^t over the rarest
    place's chance of each other; so that is about as far as they may be apart.
    """
    graphs, section = search.graphs, search.section
    first = first_tried(graphs[0])
    if len(graphs) > 1 or first == 1 or section.protocol != "all" or section.dropouts:
        return 0, first
    gap = certain_gap(graphs[0], section.laziness)
    if not 0 < gap < 1:
        return 0, first
    apart = (_NEAR_UNIFORM - 1) * uniform * float(graphs[0].stationary.min())
    guess = math.log(4 / apart) / -math.log1p(-gap)
    if not 2 * first < guess <= MOST_ROUNDS / 1.1:
        return 0, first
    return int(0.9 * guess), math.ceil(1.02 * guess)


def _enough_for_parts(search: _Search) -> int | None:
    """Enough for each part that gains anything; None if there are too many parts, or none are found to be enough.

    Where reports get lost, what is the fewest for one part may be too many for another, whose people are fewer then.
    """
    if num_parts(together(search.graphs)) > MOST_SEARCHED:
        return None
    local, delta = search.local, search.delta
    most = 0
    gaining: list[tuple[_Search, float]] = []
    for part in parts_of(search.graphs):
        uniform = epsilon_of_uniform(local, part[0].num_users, delta)
        if not _gains(uniform, local.epsilon0):
            continue
        of_part = replace(search, section=section_of_part(search.section, part[0]), graphs=part)
        found = fewest_rounds(of_part.section, part, search.randomizer, delta, search.progress)
        if found is None:
            return None
        most = max(most, found)
        gaining.append((of_part, uniform))
    if search.section.dropouts and any(_excess(*each, most) > 0 for each in gaining):
        return None
    return most or None


def _gains(uniform: float, epsilon0: float) -> bool:
    """Whether a uniform shuffle leaves so much less that no shuffling is not near it."""
    return uniform * _NEAR_UNIFORM < epsilon0


def first_tried(graph: Graph) -> int:
    """From how many rounds on to look: of many people the first few take long, and are never enough."""
    each = graph.num_users * (graph.num_users + graph.neighbors.size)
    return 1 if each < _DEAR else 10 * _DEAR // each + 1


def _because(section: NetworkSection, graphs: Graphs) -> str:
    """Why no number of rounds is enough, as far as that is known."""
    everything = together(graphs)
    if stays_on_sides(everything, section.laziness):
        return (
            ", since the graph is bipartite and nobody is lazy: the number of rounds shows on which side a report "
            "began. With laziness = 0.1 the sides mix"
        )
    if num_parts(everything) > MOST_SEARCHED:
        return f"; in more than {MOST_SEARCHED} parts it is not looked for"
    if section.dropouts:
        each = "" if everything.is_connected else " of each part"
        return f"{each}; reports get lost on the way, and ever more of them in more rounds"
    return "" if everything.is_connected else ", since the graph is in parts that no report leaves"
