"""The law of a prepared shuffler, through its own composition: every permutation of ranks is put in its mouth."""

import itertools
import math

import numpy as np

from shuffledp.laws import mallows_law, noisy_sort_law
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import MallowsShuffler


def saying(shuffler, ranks):
    """Make a shuffler draw this permutation of ranks next."""
    shuffler.draw_ranks = lambda **_: np.array(ranks, dtype=np.int64)


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
    del shuffler.draw_ranks
    return law


def released(shuffler, ranks):
    """Whose report lies in each slot of the view, if the ranks are permuted so."""
    people = shuffler.prepare().order.size
    reports = KaryRandomizedResponse(epsilon0=30.0, domain_size=people + 2).randomize(range(people))
    saying(shuffler, ranks)
    view = shuffler.shuffle(reports)
    del shuffler.draw_ranks
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
