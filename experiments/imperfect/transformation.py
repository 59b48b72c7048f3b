"""Fig. 1 of the paper: the transformation T_A of Lemma 4.8, as a construction that is checked by enumeration.

Let pi map a set S of s items to itself, and let A be k <= s items outside S. T_A(pi) gives the places of A to the first
k items of S, in order, and theirs to A: k exchanges. So Pr[T_A(pi)] >= exp(-k gamma) Pr[pi]. Which items outside S lie
in places of S tells A, and exchanging them once more tells pi: all images differ. Hence, summing over A and pi,

    Pr[pi(S) = S] <= exp(k gamma) / C(n - s, k).

The lemma states exp(2 s gamma), its proof has exp(s gamma), and k <= s exchanges suffice; there are C(n - s, k) images,
where Lemma 4.9 prints C(n, k). The sharp lemma of this project, 1 / Z, has all k at once, and S's items free.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from experiments.showing import COLORS, new_chart, progress
from shuffledp.laws import imperfection as exact_imperfection
from shuffledp.laws import mallows_law

Row = dict[str, Any]
KEY = ("people", "size of S", "size of A", "imperfection")


def transformed(permutation: Sequence[int], kept: Sequence[int], chosen: Sequence[int]) -> tuple[int, ...]:
    """T_A(pi): the items ``chosen`` (A, outside ``kept``) exchange places with the first ones of ``kept`` (S).

    Args:
        permutation: pi, the place of each item.
        kept: S, ascending.
        chosen: A, ascending, no more than S has.
    """
    places = list(permutation)
    for item, other in zip(chosen, kept, strict=False):
        places[item], places[other] = places[other], places[item]
    return tuple(places)


def compute(settings: Row) -> list[Row]:
    """For every n, s and k: what the lemma claims, counted over all permutations, and bounds beside the truth."""
    cases = [
        (people, size, count)
        for people in settings["people"]
        for size in range(1, people)
        for count in range(1, min(size, people - size) + 1)
    ]
    return [_case(*case, gamma) for case in progress(cases, "transformation") for gamma in settings["imperfections"]]


def _case(people: int, size: int, count: int, gamma: float) -> Row:
    law = mallows_law(people, gamma, distance="cayley")
    kept, outside = range(size), range(size, people)
    fixing = [each for each in law if set(each[:size]) == set(kept)]
    sets = list(itertools.combinations(outside, count))
    images = [transformed(each, kept, chosen) for each in fixing for chosen in sets]
    least = min(float(law[transformed(each, kept, chosen)]) / float(law[each]) for each in fixing for chosen in sets)
    sharp = sum(
        math.comb(size, j) * math.comb(people - size, j) * math.exp(-gamma * j)
        for j in range(min(size, people - size) + 1)
    )
    return {
        "people": people,
        "size of S": size,
        "size of A": count,
        "imperfection": round(exact_imperfection(law), 9),
        "images of one permutation": len(sets),
        "all differ": len(set(images)) == len(images) == len(fixing) * math.comb(people - size, count),
        "least ratio": least,
        "promised ratio": math.exp(-gamma * count),
        "chance that S is kept": float(sum(law[each] for each in fixing)),
        "sharp bound": 1 / sharp,
        "bound by T_A": min(1.0, math.exp(gamma * count) / math.comb(people - size, count)),
    }


def draw(rows: list[Row]) -> Any:  # noqa: ARG001 (an example, for which nothing is computed)
    """One permutation of eight items that keeps S = {0, 1, 2, 3}, and its image for A = {5, 7}."""
    kept, chosen, before = (0, 1, 2, 3), (5, 7), (2, 0, 3, 1, 6, 4, 7, 5)
    figure, panels = new_chart(2, width=4.0, height=3.0)
    titles = ("pi keeps S", "T_A(pi) does not: A and two of S changed places")
    for axes, title, order in zip(panels, titles, (before, transformed(before, kept, chosen)), strict=True):
        axes.grid(False)
        axes.axis("off")
        axes.set_title(title, fontsize=10)
        axes.axvspan(-0.5, 3.5, color="#e8eef4", zorder=0)
        for item, place in enumerate(order):
            color = COLORS[1] if item in chosen else COLORS[0] if item in kept else "#8b949e"
            moved = place != before[item]
            axes.plot([item, place], [1, 0], color=color, linewidth=2.4 if moved else 1.2)
            axes.text(item, 1.08, str(item), ha="center", color=color, weight="bold" if item in chosen else "normal")
            axes.text(place, -0.08, str(place), ha="center", va="top", color="#1b1f24")
        axes.text(-0.8, 1.08, "item", ha="right")
        axes.text(-0.8, -0.08, "place", ha="right", va="top")
        axes.text(1.5, -0.33, "S", ha="center", va="top", color="#56606b")
        axes.set(xlim=(-1.8, 7.8), ylim=(-0.5, 1.3))
    return figure
