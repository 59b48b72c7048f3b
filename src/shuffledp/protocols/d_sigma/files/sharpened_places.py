"""Sharpened estimates of a release: places are joined along the order until the blur can be undone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.d_sigma.analyzers.regional import RegionalSummary, estimates_of
from shuffledp.protocols.d_sigma.analyzers.sharpened_regions import GAUSSIAN, WIDTH, inverse_of, sharpened
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.survey.regional_result import Sharpened

_ALL_STAYS = 0.99  # share of each place's slots from which on nothing is blurred

Where = Mapping[str, Any]


def sharpened_places(
    summary: RegionalSummary,
    blur: Floats,
    region: NDArray[np.integer[Any]],
    where: Sequence[Where],
    shuffler: SlotShuffler,
    *,
    displacement: float,
    targets: Sequence[str],
    level: float,
) -> Sharpened:
    """Estimates for the people of wide cells, or the reason for their absence; empty without blur.

    Places that follow each other along the reference order are joined until each cell holds two mean displacements.

    Args:
        summary: of the places.
        blur: expected share of each place's slots that hold reports of each place, shape (places, places).
        region: the place of each slot, shape (people,); -1 of those in none, who are the last place then.
        where: a public description of each place; {} of those in none.
        shuffler: what shuffled.
        displacement: mean number of ranks that a report moves.
        targets: names of what is estimated.
        level: coverage of the intervals.
    """
    if not isinstance(shuffler, NoisySortShuffler):
        return Sharpened()
    if np.diag(blur).min() >= _ALL_STAYS or not (summary.weights > 0).all():
        return Sharpened()
    if shuffler.noise != "laplace":
        return Sharpened(obstacle=f"Nothing is sharpened: {GAUSSIAN} Laplace noise damps it far less.")
    region = np.where(region < 0, len(where) - 1, region)
    sizes = np.bincount(region, minlength=len(where))
    cell = _joined(_mean_ranks(region, shuffler.prepare().order, sizes), sizes, WIDTH * displacement)
    count = int(cell.max()) + 1
    if count < 2:
        return Sharpened(
            obstacle=(
                f"Nothing is sharpened: reports move {displacement:,.0f} ranks on average, and a cell would have to "
                f"hold twice as many people, of {region.size:,}."
            )
        )
    inside = np.eye(count)[cell]  # (places, cells)
    people = inside.T @ sizes
    try:
        inverse = inverse_of(inside.T @ (sizes[:, None] * blur) @ inside / people[:, None])
    except UnsupportedModelError as error:
        return Sharpened(obstacle=f"Nothing is sharpened: {error}")
    joined = replace(
        summary,
        **{name: inside.T @ getattr(summary, name) for name in ("weights", "squares", "sums", "second")},
    )
    total = joined.weights[:, None]
    seen, _, _ = estimates_of(joined.model, joined.sums / total, joined.second / total)
    named = tuple(
        _named([where[each] for each in np.flatnonzero(cell == one).tolist()], sizes[cell == one])
        for one in range(count)
    )
    found = sharpened(joined, inverse, named, level)
    return Sharpened(
        estimate=found.with_targets(tuple(targets[row % len(targets)] for row in range(seen.size))),
        displaced=seen.ravel(),
        people=people.astype(np.int64),
    )


def _mean_ranks(region: NDArray[np.integer[Any]], order: Integers, sizes: Integers) -> Floats:
    """Average rank of the slots of each place."""
    found: Floats = np.bincount(region[order], weights=np.arange(order.size), minlength=sizes.size) / sizes
    return found


def _joined(ranks: Floats, sizes: Integers, least: float) -> Integers:
    """Cell of each place; places are joined by rank until each cell holds enough people."""
    cell, number, held = np.zeros(sizes.size, dtype=np.int64), 0, 0
    for place in np.argsort(ranks, kind="stable").tolist():
        if held >= least:
            number, held = number + 1, 0
        cell[place] = number
        held += int(sizes[place])
    if held < least and number:
        cell[cell == number] = number - 1
    return cell


def _named(places: Sequence[Where], people: Integers) -> Where:
    """Description of a cell: its two ends along one coordinate, or its largest place and number of places."""
    kept = [{key: value for key, value in each.items() if key != "shuffled"} for each in places]
    largest = kept[int(np.argmax([count if each else 0 for each, count in zip(kept, people.tolist(), strict=True)]))]
    if len(kept) == 1:
        return largest or {"place": "elsewhere"}
    if len(largest) == 1 and isinstance(next(iter(largest.values())), float):
        (key,) = largest
        ends = [each[key] for each in kept if each]
        return {f"{key} from": min(ends), f"{key} to": max(ends)}
    return {**largest, "joined": f"{len(kept)} places"}
