"""Exact views of an analyst and colluders, by enumeration of all paths: no formula of the library is used here.

A report is followed link by link. Colluders see the links that they are at an end of, and tell them to the analyst, who
sees at the end who hands in what. What they see of one report is a few *tokens*, of which one has the report in it; of
all reports it is a multiset. Reports of colluders themselves tell nothing, as they know them.
"""

import itertools
from collections import defaultdict

import numpy as np

from soundness.exact_links import taken_back


def recognized(path, colluders):
    """Tokens without and with the report: a ciphertext that has been seen once is known wherever it is seen again."""
    seen = tuple(
        (done, start, end)
        for done, (start, end) in enumerate(itertools.pairwise(path))
        if start in colluders or end in colluders
    )
    return (), (seen, path[-1])


def layered(path, colluders):
    """The same of onions: a colluder knows what became of one in its hands, and nobody what an honest person does."""
    pieces, piece = [], []
    for done, (start, end) in enumerate(itertools.pairwise(path)):
        if start in colluders or end in colluders:
            piece.append((done, start, end))
        if end not in colluders and piece:
            pieces.append(tuple(piece))
            piece = []
    return tuple(pieces), (tuple(piece), path[-1])


def law_of_tokens(matrices, start, colluders, sees):
    """The law of what is seen of one report: a dictionary from tokens to chances."""
    paths = [((start,), 1.0)]
    for matrix in matrices:
        paths = [
            ((*path, int(after)), chance * matrix[path[-1], after])
            for path, chance in paths
            for after in np.flatnonzero(matrix[path[-1]])
        ]
    found = defaultdict(float)
    for path, chance in paths:
        found[sees(path, colluders)] += chance
    return dict(found)


def exact_deltas(matrices, colluders, victim, channel, epsilons, *, sees=recognized, data=None):
    """The largest delta of one honest person, over the answers of all others and both directions, at each epsilon.

    Args:
        matrices: the chances of each round, row by row.
        colluders: who they are.
        victim: whose answer changes.
        channel: rows are the laws of a report of a bit.
        epsilons: at which.
        sees: what colluders see of a path, `recognized` or `layered`.
        data: the only answers of the others that are looked at.
    """
    people = [each for each in range(len(matrices[0])) if each not in colluders]
    laws = {each: law_of_tokens(matrices, each, frozenset(colluders), sees) for each in people}
    names: dict[object, int] = {}
    laws = {each: _numbered(law, names) for each, law in laws.items()}
    others = [each for each in people if each != victim]
    worst = np.zeros(len(epsilons))
    for answers in itertools.product(range(2), repeat=len(others)) if data is None else [data]:
        begun = {(): 1.0}
        for person, answer in zip(others, answers, strict=True):
            begun = _joined(begun, laws[person], channel[answer])
        views = [_joined(begun, laws[victim], channel[answer]) for answer in range(2)]
        seen = sorted(set(views[0]) | set(views[1]))
        pair = np.array([[view.get(each, 0.0) for each in seen] for view in views])
        for one, other in (pair, pair[::-1]):
            found = np.maximum(one - np.exp(np.asarray(epsilons))[:, None] * other, 0).sum(axis=1)
            worst = np.maximum(worst, found)
    return worst


def _numbered(law, names):
    """Tokens by numbers: those without a report in a tuple, and the one with a report, twice apart for its bit."""

    def number(token):
        return names.setdefault(token, 2 * len(names))

    return [
        ((*(number(("piece", each)) for each in bare), number(("end", full))), chance)
        for (bare, full), chance in law.items()
    ]


def _joined(views, law, row):
    """The law of the multisets of tokens with one more report, whose bit has this law."""
    found = defaultdict(float)
    for view, chance in views.items():
        for tokens, share in law:
            for bit in range(2):
                more = (*view, *tokens[:-1], tokens[-1] + bit)
                found[tuple(sorted(more))] += chance * share * row[bit]
    return found


# ---- links that carry so many reports a round ------------------------------------------------------------------------


def joint_law_of_paths(matrices, slots):
    """Law of (paths of all reports, whether some link ever had more to carry) if those beyond the slots wait."""
    law = {(tuple((person,) for person in range(len(matrices[0]))), False): 1.0}
    for matrix, most in zip(matrices, slots, strict=True):
        after = defaultdict(float)
        for (paths, full), chance in law.items():
            places = tuple(path[-1] for path in paths)
            for goals in itertools.product(*(np.flatnonzero(matrix[place]).tolist() for place in places)):
                step = np.prod([matrix[place, goal] for place, goal in zip(places, goals, strict=True)])
                for ends, share in taken_back(places, goals, most):
                    walked = tuple((*path, end) for path, end in zip(paths, ends, strict=True))
                    after[walked, full or ends != goals] += chance * step * share
        law = dict(after)
    return law


def exact_deltas_of_paths(law, colluders, victim, channel, epsilons, *, sees, aborts=False):
    """As `exact_deltas`, of a joint law of paths; what becomes of colluders' own reports is seen too."""
    people = len(next(iter(law))[0])
    honest = [each for each in range(people) if each not in colluders]
    shown = defaultdict(float)
    for (paths, full), chance in law.items():
        if not (aborts and full):
            records = [sees(paths[each], colluders) for each in honest]
            shown[tuple(paths[each] for each in sorted(colluders)), tuple(records)] += chance
    worst = np.zeros(len(epsilons))
    for data in itertools.product(range(2), repeat=len(honest)):
        changed = [bit ^ (each == victim) for each, bit in zip(honest, data, strict=True)]
        views = [_seen(shown, channel[np.array(answers)]) for answers in (data, changed)]
        pair = np.array([[view.get(each, 0.0) for each in sorted(set(views[0]) | set(views[1]))] for view in views])
        worst = np.maximum(worst, np.maximum(pair[0] - np.exp(np.asarray(epsilons))[:, None] * pair[1], 0).sum(axis=1))
    return worst


def _seen(shown, rows):
    found = defaultdict(float)
    for (own, records), chance in shown.items():
        for bits in itertools.product(range(2), repeat=len(records)):
            bare = sorted(piece for pieces, _ in records for piece in pieces)
            full = sorted((*record[1], bit) for record, bit in zip(records, bits, strict=True))
            likely = np.prod([row[bit] for row, bit in zip(rows, bits, strict=True)])
            found[own, tuple(bare), tuple(full)] += chance * likely
    return found
