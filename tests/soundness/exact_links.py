"""Walks of a few people on links that carry so many reports a round, by enumeration: where all of them end, jointly.

No formula or sampler of the library is used here. A matrix has in row u the chances of where u passes a report on to,
u included; a report that goes to its holder uses no link.
"""

import itertools
from collections import Counter, defaultdict
from math import comb, prod

import numpy as np

from soundness.exact_walks import fillings


def joint_law(matrices, slots):
    """Law of (places of all reports, whether some link ever had more to carry) if those beyond the slots wait."""
    people = len(matrices[0])
    law = {(tuple(range(people)), False): 1.0}
    for matrix, most in zip(matrices, slots, strict=True):
        after = defaultdict(float)
        for (places, full), chance in law.items():
            options = [[(goal, step) for goal, step in enumerate(matrix[place]) if step] for place in places]
            for chosen in itertools.product(*options):
                goals, step = [goal for goal, _ in chosen], prod(each for _, each in chosen)
                for ends, share in taken_back(places, goals, most):
                    after[ends, full or ends != tuple(goals)] += chance * step * share
        law = dict(after)
    return law


def taken_back(places, goals, most):
    """Where reports end that want to go somewhere, and the chance of that: of those on one link a uniform few wait."""
    links = defaultdict(list)
    for report, link in enumerate(zip(places, goals, strict=True)):
        links[link].append(report)
    crowded = [(one, reports) for (one, other), reports in links.items() if one != other and len(reports) > most]
    for waiting in itertools.product(*(itertools.combinations(each, len(each) - most) for _, each in crowded)):
        ends = list(goals)
        for (holder, _), some in zip(crowded, waiting, strict=True):
            for report in some:
                ends[report] = holder
        yield tuple(ends), 1 / prod(comb(len(each), most) for _, each in crowded)


def overflowing(law):
    """The chance that some link ever had more to carry."""
    return sum(chance for (_, full), chance in law.items() if full)


def law_of_places(law, *, aborts=False):
    """The law of places alone; if walks that overflow are aborted, what is left of it."""
    found = Counter()
    for (places, full), chance in law.items():
        found[places] += 0.0 if aborts and full else chance
    return found


class Fillings:
    """What lies where in the end: for each way in which all reports may be placed and all bits they may have.

    Args:
        places_law: the chance of each tuple of places of all reports; less than 1 in all if walks may be aborted.
        people: how many there are.
        last: who hands in; None is everybody. What others hold is not seen.
    """

    def __init__(self, places_law, people, last=None):
        places = np.array(list(places_law))
        self.chances = np.array(list(places_law.values()))
        self.bits = np.array(list(itertools.product((0, 1), repeat=people)))
        known = fillings(people, people).reshape(-1, 2 * people) @ (people + 1) ** np.arange(2 * people)
        cells = 2 * places[:, None, :] + self.bits  # of each report: its place and its bit
        if last is not None:
            seen = np.array(last)[places][:, None, :] * (people + 1) ** cells
            found, self.index = np.unique(seen.sum(axis=2).ravel(), return_inverse=True)
            self.size = len(found)
            return
        codes = ((people + 1) ** cells).sum(axis=2).ravel()
        order = np.argsort(known)
        self.size, self.index = len(known), order[np.searchsorted(known, codes, sorter=order)]

    def law(self, channel, data):
        """Law over `fillings` if these are the people's answers."""
        weights = channel[np.array(data), self.bits].prod(axis=1)
        return np.bincount(self.index, weights=np.outer(self.chances, weights).ravel(), minlength=self.size)

    def delta(self, channel, data, victim, *, epsilons, kernel=None):
        """Delta of one data set against that in which the victim answers otherwise."""
        changed = [bit ^ (person == victim) for person, bit in enumerate(data)]
        one, other = (self.law(channel, each) for each in (data, changed))
        if kernel is not None:
            one, other = one @ kernel, other @ kernel
        return np.array([np.maximum(one - factor * other, 0).sum() for factor in np.exp(epsilons)])


# ---- traffic that is not hidden --------------------------------------------------------------------------------------


def laws_by_traffic(matrices):
    """For each traffic, that is how many messages go along which link in which round: the law of all places."""
    people = len(matrices[0])
    law = {((), tuple(range(people))): 1.0}
    for matrix in matrices:
        after = defaultdict(float)
        for (traffic, places), chance in law.items():
            options = [[(goal, step) for goal, step in enumerate(matrix[place]) if step] for place in places]
            for chosen in itertools.product(*options):
                goals = tuple(goal for goal, _ in chosen)
                sent = Counter(link for link in zip(places, goals, strict=True) if link[0] != link[1])
                seen = (*traffic, tuple(sorted(sent.items())))
                after[seen, goals] += chance * prod(step for _, step in chosen)
        law = dict(after)
    found = defaultdict(Counter)
    for (traffic, places), chance in law.items():
        found[traffic][places] += chance
    return found
