"""Walks of which it is known who is online, in fractions, from the rules as they are told: no code of the library."""

import itertools
from fractions import Fraction

import numpy as np

from soundness.exact_walks import neighbors_of


def every_schedule(people, rounds):
    """Who is online in each round, in every way; shape (schedules, rounds, people)."""
    flags = itertools.product((True, False), repeat=people * rounds)
    return np.array(list(flags)).reshape(-1, rounds, people)


def along_edges(name, online):
    """One round on a graph, row j from j: a report stays if its holder, or who is drawn as ever, is offline."""
    beside = neighbors_of(name)
    rows = [[Fraction(0)] * len(beside) for _ in beside]
    for here, drawn in enumerate(beside):
        for there in drawn:
            rows[here][there if online[here] and online[there] else here] += Fraction(1, len(drawn))
    return rows


def addresses_of(people, sizes):
    """For each person an address; those who are too many share one, the prefixes in turn, then their last digits."""
    found = [list(each) for each in itertools.product(*(range(size) for size in sizes))]
    prefixes = [list(each) for each in itertools.product(*(range(size) for size in sizes[:-1]))]
    for surplus in range(people - len(found)):
        prefix = surplus % len(prefixes)
        last = (prefix + surplus // len(prefixes)) % sizes[-1]
        found.append([*prefixes[prefix], last])
    return [tuple(each) for each in sorted(found)]


def within_groups(people, sizes, place, online, rule):
    """One round on an overlay, row j from j: the digit at this place anew, and one of the people there."""
    addresses = addresses_of(people, sizes)
    rows = [[Fraction(0)] * people for _ in range(people)]
    for here, address in enumerate(addresses):
        usual = [Fraction(0)] * people
        alike = [each for each in addresses if each[:place] == address[:place]]
        for there, other in enumerate(addresses):
            if other[:place] == address[:place] and other[place + 1 :] == address[place + 1 :]:
                with_digit = sum(each[place] == other[place] for each in alike)
                usual[there] = Fraction(with_digit, len(alike) * addresses.count(other))
        assert sum(usual) == 1
        if not online[here]:
            rows[here][here] = Fraction(1)
        elif rule == "stay":
            for there, chance in enumerate(usual):
                rows[here][there if online[there] else here] += chance
        else:
            met = [chance if online[there] else Fraction(0) for there, chance in enumerate(usual)]
            rows[here] = [chance / sum(met) for chance in met]
    return rows


def product_of(rounds):
    """The laws after these rounds, row j that of j's report, as floats."""
    size = len(rounds[0])
    laws = [[Fraction(int(here == there)) for there in range(size)] for here in range(size)]
    for step in rounds:
        laws = [[sum(row[k] * step[k][there] for k in range(size)) for there in range(size)] for row in laws]
    return np.array([[float(chance) for chance in row] for row in laws])


def laws_given(way, online, rule="stay"):
    """The laws given a schedule: of a graph by its name, or of an overlay by its people and sizes."""
    if isinstance(way, str):
        return product_of([along_edges(way, each) for each in online])
    people, sizes = way
    return product_of(
        [within_groups(people, sizes, number % len(sizes), each, rule) for number, each in enumerate(online)]
    )
