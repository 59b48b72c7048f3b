"""Fig. 1 of the paper: the transformation T_A of Lemma 4.8, that of Lemma 4.9, and what they prove, by enumeration.

An order is the list of the items in places 1 to n. It keeps S, the first s items, if they lie in the first s places.

Lemma 4.8 takes a set A of s of *all* places. The items of places 1 to s go to the places of A, in order; those which
they supplant go, in order, to the places from 1 to s that are not in A. All images differ, so that

    Pr[S is kept] <= exp(d gamma) / C(n, s),

if d exchanges lead from any order to each of its images. The statement has d = 2s and its proof d = s. T_A itself takes
more than s exchanges at times. But to exchange the places of A behind the first s with those of the first s that are
not in A, one by one, takes s exchanges at most, and maps the orders that keep S one to one to those with S in A: d = s
is true of the bound.

Lemma 4.9 takes k <= s items outside S, and exchanges them with the first k of S: k exchanges, and C(n - s, k) images.
The sharp lemma of this project, 1 / Z, has all k at once, and S's items free.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from experiments.showing import COLORS, new_chart, progress, series
from shuffledp.laws import imperfection as exact_imperfection
from shuffledp.laws import mallows_law

Row = dict[str, Any]
KEY = ("people", "size of S", "imperfection")
DRAWN_ORDER, DRAWN_SET = (2, 4, 3, 1, 7, 5, 8, 6, 9), (2, 3, 6, 8)  # as the paper draws it, with s = 4
BOUNDS = {
    "chance that S is kept": ("-o", "Mallows, by Cayley's distance"),
    "sharp bound": ("--D", "sharp bound"),
    "Lemma 4.8, s exchanges": (":s", "Lemma 4.8, as its proof has it"),
    "Lemma 4.8 as printed": ("-s", "Lemma 4.8 as printed"),
    "Lemma 4.9, best k": ("-^", "Lemma 4.9, best k, put right"),
}


def transformed(order: Sequence[int], size: int, chosen: Sequence[int]) -> tuple[int, ...]:
    """T_A of Lemma 4.8: items of the first places go to the places of A, and make room for what lay there.

    Args:
        order: the items of places 1 to n.
        size: s.
        chosen: A, ascending, s of the places.
    """
    image = list(order)
    supplanted = [order[place - 1] for place in chosen if place > size]
    left = [place for place in range(1, size + 1) if place not in chosen]
    for place, item in [*zip(chosen, order[:size], strict=True), *zip(left, supplanted, strict=True)]:
        image[place - 1] = item
    return tuple(image)


def exchanged(order: Sequence[int], chosen: Sequence[int]) -> tuple[int, ...]:
    """The transformation of Lemma 4.9: the items of k places outside S exchange places with those of the first k.

    Args:
        order: the items of places 1 to n.
        chosen: A, ascending, k of the places behind the first s.
    """
    image = list(order)
    for first, place in enumerate(chosen):
        image[first], image[place - 1] = image[place - 1], image[first]
    return tuple(image)


def exchanges(order: Sequence[int], other: Sequence[int]) -> int:
    """The least number of exchanges of two items that lead from one order to another."""
    follows, seen, cycles = dict(zip(order, other, strict=True)), set[int](), 0
    for item in order:
        cycles += item not in seen
        while item not in seen:
            seen.add(item)
            item = follows[item]  # noqa: PLW2901
    return len(order) - cycles


def compute(settings: Row) -> list[Row]:
    """For every n and s: what the lemmas claim, counted over all orders, and bounds beside the truth."""
    cases = [(people, size) for people in settings["people"] for size in range(1, people)]
    return [_case(*case, gamma) for case in progress(cases, "transformation") for gamma in settings["imperfections"]]


def _case(people: int, size: int, gamma: float) -> Row:
    law = {tuple(item + 1 for item in order): float(chance) for order, chance in _law(people, gamma).items()}
    keeping = [order for order in law if max(order[:size]) == size]
    sets = list(itertools.combinations(range(1, people + 1), size))
    pairs = [(order, transformed(order, size, chosen)) for order in keeping for chosen in sets]
    images = [image for _, image in pairs]
    best = min(range(1, min(size, people - size) + 1), key=lambda k: _lemma_9(people, size, k, gamma))
    sharp = sum(
        math.comb(size, j) * math.comb(people - size, j) * math.exp(-gamma * j)
        for j in range(min(size, people - size) + 1)
    )
    return {
        "people": people,
        "size of S": size,
        "imperfection": gamma,
        "exact imperfection": exact_imperfection(_law(people, gamma)),
        "images of one order": len(sets),
        "images are all orders, each once": sorted(images) == sorted(law),
        "images that keep S": sum(image == order for order, image in pairs) / len(keeping),
        "most places changed": max(sum(a != b for a, b in zip(*pair, strict=True)) for pair in pairs),
        "most exchanges": max(exchanges(*pair) for pair in pairs),
        "least ratio": min(law[image] / law[order] for order, image in pairs),
        "ratio of the proof": math.exp(-gamma * size),
        "ratio of the statement": math.exp(-2 * gamma * size),
        "chance that S is kept": sum(law[order] for order in keeping),
        "sharp bound": 1 / sharp,
        "Lemma 4.8, s exchanges": min(1.0, math.exp(size * gamma) / len(sets)),
        "Lemma 4.8 as printed": min(1.0, math.exp(2 * size * gamma) / len(sets)),
        "Lemma 4.9, best k": _lemma_9(people, size, best, gamma),
        "best k": best,
    }


def _law(people: int, gamma: float) -> Any:
    return mallows_law(people, gamma, distance="cayley")


def _lemma_9(people: int, size: int, count: int, gamma: float) -> float:
    """The bound that follows from k exchanges; the paper prints C(n, k) for C(n - s, k) sets."""
    return min(1.0, math.exp(count * gamma) / math.comb(people - size, count))


def draw(rows: list[Row]) -> Any:
    """The paper's example to the left; to the right bounds beside the truth, for the most people there are."""
    figure, (left, right) = new_chart(2, width=4.8, height=3.9)
    _draw_example(left)
    people, gamma = max(row["people"] for row in rows), min(row["imperfection"] for row in rows)
    here = [row for row in rows if (row["people"], row["imperfection"]) == (people, gamma)]
    for place, (column, (form, label)) in enumerate(BOUNDS.items()):
        series(right, here, "size of S", column, fmt=form, color=COLORS[place], label=label, mfc="none")
    right.set(yscale="log", xlabel="size of S", xticks=[row["size of S"] for row in here])
    right.set_title(f"chance that S is kept, {people} people, γ = {gamma:g}", fontsize=10)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_example(axes: Any) -> None:
    size, image = len(DRAWN_SET), transformed(DRAWN_ORDER, len(DRAWN_SET), DRAWN_SET)
    axes.grid(False)
    axes.axis("off")
    axes.set_title("T_A of Lemma 4.8, as the paper draws it: n = 9, s = 4", fontsize=10)
    axes.axvspan(0.5, size + 0.5, color="#e8eef4", zorder=0)
    for place, item in enumerate(DRAWN_ORDER, 1):
        goal, kept = image.index(item) + 1, item <= size
        color = COLORS[0] if kept else COLORS[1] if goal != place else "#8b949e"
        axes.plot([place, goal], [0.86, 0.14], color=color, linewidth=2.2 if kept or goal != place else 1.0)
        for x, y in ((place, 1), (goal, 0)):
            box = {"boxstyle": "circle,pad=0.3", "facecolor": "#ffffff", "edgecolor": color}
            axes.text(x, y, str(item), ha="center", va="center", color=color, bbox=box)
    for place in range(1, len(DRAWN_ORDER) + 1):
        weight = "bold" if place in DRAWN_SET else "normal"
        axes.text(place, -0.26, str(place), ha="center", va="center", fontsize=8, weight=weight)
    axes.text(5, -0.44, "places; A = {2, 3, 6, 8} is bold, the first four are shaded", ha="center", fontsize=8)
    axes.set(xlim=(0.2, len(DRAWN_ORDER) + 0.8), ylim=(-0.5, 1.3))
