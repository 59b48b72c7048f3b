"""The law of a prepared shuffler, through its own composition: every permutation of ranks is put in its mouth."""

import itertools
import math

import numpy as np

from shuffledp.laws import mallows_law, noisy_sort_law
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.randomizers import KaryRandomizedResponse


def saying(shuffler, ranks):
    """Make a shuffler draw this permutation of ranks next."""
    shuffler.rank_parts = lambda **_: iter([np.array(ranks, dtype=np.int64)])


def law_of_ranks(shuffler):
    """{w: probability}: the product of the laws of the blocks."""
    prepared = shuffler.prepare()
    bounds = list(itertools.pairwise(prepared.starts.tolist()))
    parts = []
    for block, (start, stop) in enumerate(bounds):
        if isinstance(shuffler, MallowsShuffler):
            theta = float(prepared.parameters[block])
            law = mallows_law(stop - start, theta, distance=shuffler.distance)
        else:
            law = noisy_sort_law(prepared.parameters[start:stop], noise=shuffler.noise)
        parts.append([(tuple(start + rank for rank in w), chance) for w, chance in law.items()])
    return {
        tuple(itertools.chain.from_iterable(w for w, _ in choice)): math.prod(chance for _, chance in choice)
        for choice in itertools.product(*parts)
    }


def law_of(shuffler):
    """{sigma*: probability}: what `draw` makes of each permutation of ranks."""
    law = {}
    for ranks, chance in law_of_ranks(shuffler).items():
        saying(shuffler, ranks)
        drawn = tuple(shuffler.draw().tolist())
        law[drawn] = law.get(drawn, 0.0) + chance
    del shuffler.rank_parts
    return law


def released(shuffler, ranks):
    """Whose report lies in each slot of the view, if the ranks are permuted so."""
    people = shuffler.prepare().order.size
    reports = KaryRandomizedResponse(epsilon0=30.0, domain_size=people + 2).randomize(range(people))
    saying(shuffler, ranks)
    view = shuffler.shuffle(reports)
    del shuffler.rank_parts
    return view.reports["value"].tolist()


def release_law(law, channel):
    """Pr[view | answers] of the slots' reports: rows and columns are data sets in lexicographic order."""
    people, (inputs, outputs) = len(next(iter(law))), channel.shape
    data = np.array(list(itertools.product(range(inputs), repeat=people)))
    seen = np.array(list(itertools.product(range(outputs), repeat=people)))
    independent = np.ones((len(data), len(seen)))
    for person in range(people):
        independent *= channel[data[:, person][:, None], seen[:, person][None]]
    codes = inputs ** np.arange(people)[::-1]
    total = np.zeros_like(independent)
    for permutation, chance in law.items():
        total += chance * independent[data[:, list(permutation)] @ codes]
    return data, total


def exchange_costs(law):
    """For each pair of ranks, by how much exchanging them changes the log of a probability, at most."""
    people = len(next(iter(law)))
    costs = np.zeros((people, people))
    for one, other in itertools.combinations(range(people), 2):
        exchanged = {one: other, other: one}
        for ranks, chance in law.items():
            swapped = tuple(exchanged.get(rank, rank) for rank in ranks)
            costs[one, other] = max(costs[one, other], abs(math.log(chance / law[swapped])))
    return costs + costs.T


def cheapest_windows(costs, block=None):
    """For each rank and each number of consecutive ranks around it, the dearest exchange in the cheapest window.

    Infinite where no window fits into the block; ``costs`` are for pairs of ranks.
    """
    people = len(costs)
    blocks = np.zeros(people) if block is None else np.asarray(block)
    found = np.full((people, people + 1), math.inf)
    for first, last in itertools.combinations_with_replacement(range(people), 2):
        if blocks[first] == blocks[last]:
            inside = slice(first, last + 1)
            size, cost = last - first + 1, costs[inside, inside].max()
            found[inside, size] = np.minimum(found[inside, size], cost)
    return found


def is_no_better(windows, cheapest):
    """Whether every window that somebody is told of can be had by a person, at that cost or less."""
    return all(
        cheapest[size:].min(initial=math.inf) <= cost for size, cost in zip(windows.sizes, windows.costs, strict=True)
    )
