"""The exact loss of the data sets that an audit plays, by enumerating all views: no formula of the library is used.

One person answers one of two answers and all others the same third one. Whatever the shuffle, a view with a report in
every place then has the law sum_s Pr[the person's report is at s] R(y_s | answer) prod_{t != s} R(y_t | others).
"""

import itertools

import numpy as np

from shuffledp.attacks.likelihood_scores import worst_inputs
from shufflers.enumerated import law_of
from soundness.exact_deltas import hockey_stick
from soundness.exact_rounds import mallows_cayley

STEPS = 64  # of a bisection: epsilon to the last digit of a float


def place_law(law, person):
    """Where the report of a person ends: the chance of each place, from the law of {order: chance}."""
    chances = np.zeros(len(next(iter(law))))
    for order, chance in law.items():
        chances[order.index(person)] += chance
    return chances


def places_of(name, shuffler, people, person=0):
    """The same for a shuffler of the matrix; None where places are not enumerated, as of walks and delays."""
    if name == "none":
        return np.eye(people)[person]
    if name == "uniform":
        return np.full(people, 1 / people)
    if name == "strata":  # of the two people of the smaller one
        return np.repeat([1 / 2, 0], [2, people - 2])
    if name == "imperfect (Cayley)":
        return place_law(mallows_cayley(people, 0.5), person)
    return place_law(law_of(shuffler), person) if name in {"Mallows", "noisy sort"} else None


def row_of(model, answer):
    """The law of a report, from the channel, between two levels in proportion; None if there is no channel."""
    channel = model.channel()
    if channel is None:
        return None
    if not hasattr(model, "lower"):
        return channel.matrix[answer]
    level = (answer - model.lower) / (model.upper - model.lower) * (len(channel.matrix) - 1)
    below = min(int(level), len(channel.matrix) - 2)
    return channel.matrix[below] + (level - below) * (channel.matrix[below + 1] - channel.matrix[below])


def view_law(places, row, others):
    """Pr[view] for each view: what is at each place, flattened."""
    total = 0.0
    for place, chance in enumerate(places):
        law = np.array(chance)
        for other in range(len(places)):
            law = np.multiply.outer(law, row if other == place else others)
        total = total + law
    return total.ravel()


def loss_of(first, second, delta):
    """The least epsilon that two laws keep with this delta, in both directions."""
    low, high = 0.0, 20.0
    pairs = list(itertools.permutations((first, second)))
    for _ in range(STEPS):
        middle = (low + high) / 2
        above = max(hockey_stick(*pair, np.array([middle]))[0] for pair in pairs) > delta
        low, high = (middle, high) if above else (low, middle)
    return high


def exact_loss(name, randomizer, shuffler, people, delta):
    """The largest loss of the data sets that the audit plays; None where it is not enumerated."""
    places = places_of(name, shuffler, people)
    if places is None or row_of(randomizer.model, 0) is None:
        return None
    found = []
    for inputs in worst_inputs(randomizer.model):
        first, second, others = (
            row_of(randomizer.model, each) for each in (inputs.first, inputs.second, inputs.others)
        )
        if name == "none":  # others' reports tell nothing
            others = np.ones(1)
        laws = [row if name == "none" else view_law(places, row, others) for row in (first, second)]
        found.append(loss_of(*laws, delta))
    return max(found)
