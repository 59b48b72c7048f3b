"""Additive shares in shuffled rounds, by enumeration of all permutations and views: no formula of the library is used.

Views are enumerated round by round. Given the permutation of a round, an output v fits the users' shares v[p(i)]; the
laws of all users' partial sums are convolved over rounds, by characters of the group of residues.
"""

import math
from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Law = dict[tuple[int, ...], float]  # permutation -> probability


def cayley_distance(one, other):
    """Exchanges of two items that lead from one permutation to the other: items less cycles."""
    places = {image: item for item, image in enumerate(one)}
    step, seen, cycles = [places[image] for image in other], set(), 0
    for start in range(len(one)):
        cycles, item = cycles + (start not in seen), start
        while item not in seen:
            seen.add(item)
            item = step[item]
    return len(one) - cycles


def normalized(weights):
    total = math.fsum(weights.values())
    return {permutation: weight / total for permutation, weight in weights.items()}


def uniform(users):
    return normalized(dict.fromkeys(permutations(range(users)), 1.0))


def mallows_cayley(users, gamma):
    identity = tuple(range(users))
    return normalized({each: math.exp(-gamma * cayley_distance(identity, each)) for each in permutations(identity)})


def extremal(users, gamma, kept):
    """The shuffle that keeps the set of the first ``kept`` users where it is as often as one may."""
    return normalized(
        {
            each: math.exp(-gamma * sum(each[user] >= kept for user in range(kept)))
            for each in permutations(range(users))
        }
    )


def promised(law, gamma):
    """Whether a law keeps the promise of this imperfection; for laws of n <= 4, by comparing all pairs."""
    return all(
        law[one] <= law[other] * math.exp(gamma * cayley_distance(one, other)) * (1 + 1e-12)
        for one, other in product(law, repeat=2)
    )


def expected_power(laws, modulus):
    """E[q^(C-1)] over two independent draws of all rounds, for the components C of the graph of both."""
    users = len(next(iter(laws[0])))
    matchings = [_between(law) for law in laws]
    total = 0.0
    for first, chance in matchings[0].items():
        states = {tuple(range(users)): chance}
        back = {image: item for item, image in enumerate(first)}
        for law in matchings[1:]:
            after: dict[tuple[int, ...], float] = {}
            for blocks, weight in states.items():
                for matching, probability in law.items():
                    merged = _merged(blocks, [back[image] for image in matching])
                    after[merged] = after.get(merged, 0.0) + weight * probability
            states = after
        total += sum(weight * modulus ** (len(set(blocks)) - 1) for blocks, weight in states.items())
    return total


def _between(law):
    """The law of the matching from users of the first draw to those of the second who share a place."""
    out: dict[tuple[int, ...], float] = {}
    for (one, chance), (other, probability) in product(law.items(), repeat=2):
        back = {image: item for item, image in enumerate(other)}
        matching = tuple(back[image] for image in one)
        out[matching] = out.get(matching, 0.0) + chance * probability
    return out


def _merged(blocks, permutation):
    """Labels of blocks (the least member) after joining every item with its image."""
    labels = list(blocks)
    for item, image in enumerate(permutation):
        low, high = sorted((labels[item], labels[image]))
        labels = [low if label == high else label for label in labels]
    return tuple(labels)


class Rounds:
    """The exact laws of all views of rounds with these shuffles, for every vector of the users' residues."""

    def __init__(self, laws, modulus):
        self.users, self.modulus, self.laws = len(next(iter(laws[0]))), modulus, laws
        self.states = list(product(range(modulus), repeat=self.users))
        self.place = {state: place for place, state in enumerate(self.states)}
        grid = np.array(self.states)
        self.characters = np.exp(2j * np.pi * (grid @ grid.T) / modulus)

    def outputs(self, law):
        """For each output of a round, the law of who sent what, as characters; shape (outputs, characters)."""
        fits = np.zeros((len(self.states), len(self.states)))
        for place, output in enumerate(self.states):
            for permutation, chance in law.items():
                fits[place, self.place[tuple(output[image] for image in permutation)]] += chance
        return fits @ self.characters

    def views(self, residues_law):
        """The law of all rounds' outputs, in a fixed order, given the law of the residues, shape (states,)."""
        size = len(self.states)
        rows = (residues_law @ self.characters.conj())[None, :]
        for law in self.laws:
            rows = (rows[:, None, :] * self.outputs(law)[None, :, :]).reshape(-1, size)
        scale = self.modulus ** (self.users * (len(self.laws) - 1)) * size
        return rows.sum(axis=1).real / scale

    def certain(self, state):
        law = np.zeros(len(self.states))
        law[self.place[tuple(state)]] = 1.0
        return law

    def ideal(self, total):
        """Outputs that are uniform but for their total."""
        sums = np.zeros(1, dtype=np.int64)
        each = np.array([sum(state) for state in self.states])
        for _ in self.laws:
            sums = (sums[:, None] + each[None, :]).reshape(-1) % self.modulus
        fits = (sums == total % self.modulus).astype(np.float64)
        return fits / fits.sum()


def variation(one, other):
    return float(np.abs(one - other).sum()) / 2


def hockey_stick(one, other, epsilon):
    return float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())


def polya_modulo(users, rate, modulus, *, reach=4000):
    """One user's share of discrete Laplace noise with this rate, modulo q: a difference of two NegBin(1/users)."""
    odds, shape = math.exp(-rate), 1 / users
    chances = [(1 - odds) ** shape]
    for count in range(reach):
        chances.append(chances[-1] * odds * (count + shape) / (count + 1))
    folded = np.zeros(modulus)
    for count, chance in enumerate(chances):
        folded[count % modulus] += chance
    out = np.zeros(modulus)
    for one, other in product(range(modulus), repeat=2):
        out[(one - other) % modulus] += folded[one] * folded[other]
    return out


def noisy_law(rounds, inputs, noise):
    """The law of the residues when each user adds noise to an input."""
    return np.array(
        [
            math.prod(noise[(residue - value) % rounds.modulus] for residue, value in zip(state, inputs, strict=True))
            for state in rounds.states
        ]
    )


def kept_set_chance(law, users, size):
    """The largest chance, over sets of this size, that the set is kept."""
    return max(
        sum(chance for each, chance in law.items() if {each[item] for item in kept} == set(kept))
        for kept in combinations(range(users), size)
    )
