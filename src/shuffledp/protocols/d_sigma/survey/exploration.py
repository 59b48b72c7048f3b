"""Exploration of settings on a pilot: mechanisms, losses of the order, and radii (or sizes) of the groups."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shuffledp.core import validate
from shuffledp.core.flow import Progress
from shuffledp.laws import gaussian_mu
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.survey.groups import Grouping
from shuffledp.protocols.d_sigma.survey.pilot import Pilot, require_enough, section_of
from shuffledp.protocols.d_sigma.survey.pilot_bench import PreparedPilot
from shuffledp.protocols.d_sigma.survey.pilot_results import (
    GAUSSIAN,
    LAPLACE,
    MALLOWS,
    NONE,
    SPENDING,
    UNIFORM,
    Exploration,
    Setting,
    is_dominated,
    picks_of,
)
from shuffledp.protocols.d_sigma.survey.resized_groups import groupings_around
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.survey.columns import Column

MECHANISMS = (MALLOWS, SPENDING, LAPLACE, GAUSSIAN)
_ALPHAS = tuple(4.0**power for power in range(-1, 8))
_MOST_ALPHAS = 4
_LEAST_SHARE, _MOST_SHARE = 0.002, 0.5  # of all ranks that reports move about: other losses are not worth a look
_TELLING = 0.05  # difference of rho between no shuffle and a uniform one from which on rho says something


def explore(
    column: Column,
    pilot: Pilot,
    *,
    alphas: tuple[float, ...] = (),
    reaches: tuple[float, ...] = (),
    progress: Progress | None = None,
) -> Exploration:
    """Exploration of mechanisms, losses of the order, and radii (or sizes) of the groups, on a pilot.

    Everything drawn has fixed seeds. What is found about the pilot's answers carries no guarantee.

    Args:
        column: the task's only private column, with groups and answers by k-ary randomized response.
        pilot: its people.
        alphas: losses to try; () picks up to four for each reach, at which reports move, but not everywhere.
        reaches: radii or numbers of neighbors to try; () is some around the task's own.
        progress: told how many settings are done.

    Raises:
        InvalidParameterError: for another task, or a pilot of too few people.
    """
    require_enough(pilot.answers.size)
    for alpha in alphas:
        validate.nonnegative(alpha=alpha)
    for reach in reaches:
        validate.nonnegative(reach=reach)
    section, groups = section_of(column)
    bench = PreparedPilot(column, pilot)
    groupings = groupings_around(groups, pilot.grouping, reaches)
    delta = getattr(section, "delta", None) or column.release.delta
    settings = list(_settings(groupings, getattr(section, "alpha", None), alphas, delta, pilot.answers.size))
    tried = [bench.ends(NONE, IdentityShuffler()), bench.ends(UNIFORM, UniformShuffler())]
    orders = {
        reach: reference_order(each.groups, coordinates=each.coordinates, method=section.order)
        for reach, each in groupings.items()
    }
    for done, setting in enumerate(settings):
        if progress is not None:
            progress(done, len(settings))
        tried.append(bench.near(setting, groupings[setting.reach], orders[setting.reach]))
    if progress is not None:
        progress(len(settings), len(settings))
    found = Exploration(
        num_users=int(pilot.answers.size),
        epsilon0=bench.epsilon0,
        made_up=pilot.made_up,
        naive=bench.attacks.naive,
        by_rho=tried[0].rho - tried[1].rho > _TELLING,
        tried=tuple(tried),
        picks={},
        overlapping=pilot.grouping.overlapping,
    )
    marked = replace(found, tried=tuple(replace(each, dominated=is_dominated(each, found)) for each in tried))
    boosted = tuple(bench.boosted(each, groupings, orders) for each in marked.tried)
    return replace(marked, tried=boosted, picks=picks_of(marked))


def _settings(
    groupings: dict[float | None, Grouping], own: float | None, alphas: tuple[float, ...], delta: float, people: int
) -> Iterator[Setting]:
    """Settings to try, ordered by radius (or size) of the groups, then by loss, then by mechanism."""
    for reach, grouping in groupings.items():
        largest = int(grouping.groups.sizes.max())
        apart = not grouping.overlapping  # then every loss leads to the same map, and none at all hides most
        for alpha in sorted(alphas or ({0.0} if apart else _worth_trying(largest, people, own))):
            for mechanism in MECHANISMS:
                remainder = delta if mechanism in {SPENDING, GAUSSIAN} else 0.0
                if mechanism == MALLOWS or (  # at alpha 0 all are the same shuffle, and plans name this one too
                    alpha > 0 and not (mechanism == GAUSSIAN and _is_least_noise(alpha, delta))
                ):
                    yield Setting(mechanism=mechanism, alpha=alpha, delta=remainder, reach=reach, largest=largest)


def _worth_trying(largest: int, people: int, own: float | None) -> set[float]:
    """Values of alpha to try: the task's own, and others with a useful displacement of a sort."""
    moved = {alpha: largest**2 / (2 * alpha) / people for alpha in _ALPHAS}
    some = [alpha for alpha, share in moved.items() if _LEAST_SHARE <= share <= _MOST_SHARE]
    kept = [some[place] for place in np.unique(np.linspace(0, len(some) - 1, min(_MOST_ALPHAS, len(some))).astype(int))]
    given = {own} if own is not None and 0 < own < math.inf else set()
    return (given | set(kept)) or {4.0}


def _is_least_noise(alpha: float, delta: float) -> bool:
    """Whether the Gaussian noise is already the least, so that a larger alpha cannot reduce it."""
    return gaussian_mu(alpha / 2, delta) == gaussian_mu(2 * alpha, delta)
