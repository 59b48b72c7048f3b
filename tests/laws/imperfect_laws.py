"""Laws of imperfect shuffles that are as imperfect as they may be, written out for a handful of people."""

import itertools
import math

from shuffledp.laws import mallows_law


def normalized(weights):
    total = sum(weights.values())
    return {each: weight / total for each, weight in weights.items()}


def preserving_law(num_items, members, gamma):
    """Pr[pi] ~ exp(-gamma * how many members go elsewhere): the likeliest of all to keep the members together."""
    places = range(num_items)
    return normalized(
        {
            each: math.exp(-gamma * len({each[member] for member in members} - set(members)))
            for each in itertools.permutations(places)
        }
    )


def position_biased_law(num_items, gamma):
    """Pr[pi] ~ exp(-gamma * the place of item 0, as a share of the way): that item tends to come first."""
    return normalized(
        {each: math.exp(-gamma * each.index(0) / (num_items - 1)) for each in itertools.permutations(range(num_items))}
    )


def imperfect_laws(num_items, gamma):
    """A law of each sort, all of imperfection gamma."""
    return {
        "cayley": mallows_law(num_items, gamma, distance="cayley"),
        "preserving one": preserving_law(num_items, [0], gamma),
        "preserving two": preserving_law(num_items, [0, 1], gamma),
        "position": position_biased_law(num_items, gamma),
    }


def preserved(law, members):
    """The probability that the members stay among themselves."""
    return sum(chance for each, chance in law.items() if {each[member] for member in members} == set(members))


def sharp_sum(num_items, num_members, gamma):
    """Z of the sharp lemma: the sum over j of C(s, j) C(n - s, j) exp(-gamma j)."""
    others = num_items - num_members
    return sum(math.comb(num_members, j) * math.comb(others, j) * math.exp(-gamma * j) for j in range(num_members + 1))
