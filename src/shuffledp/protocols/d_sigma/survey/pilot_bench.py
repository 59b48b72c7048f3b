"""Bench of a pilot: attacks, learners and guarantees, prepared once for many shuffles."""

import importlib.util
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from shuffledp.accounting.theorems.reductions import uniform_epsilons
from shuffledp.core.flow import Reports, Shuffler, View
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.d_sigma.analyzers.box_filter import BoxFilter, sums_in_groups
from shuffledp.protocols.d_sigma.analyzers.learned_laws import BoostedRegions, learnability_error
from shuffledp.protocols.d_sigma.attacks.nearest_match import nearest_match_success
from shuffledp.protocols.d_sigma.attacks.pilot_attacks import PilotAttacks
from shuffledp.protocols.d_sigma.attacks.side_information import similar_people
from shuffledp.protocols.d_sigma.planning.person_guarantees import central_epsilons_by_rank, naming_chances_by_rank
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.survey.groups import Grouping
from shuffledp.protocols.d_sigma.survey.pilot import Pilot, section_of, stretches
from shuffledp.protocols.d_sigma.survey.pilot_results import (
    EVEN,
    MALLOWS,
    NONE,
    SPENDING,
    UNIFORM,
    Setting,
    SettingGuarantees,
    SettingResults,
)
from shuffledp.randomness.replayable import SeededSource
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.survey.columns import Column

_DRAWS = 6
_VIEWS = 2
_TREES, _FOLDS = 40, 2
_LOOKED_AT = 25


class PreparedPilot:
    """Pilot with all facts that are equal for all settings."""

    def __init__(self, column: Column, pilot: Pilot) -> None:
        _, groups = section_of(column)
        self.pilot, self.delta = pilot, column.release.delta
        self.randomizer = column.randomizer.randomizer()
        local: Any = self.randomizer.model
        self.local, self.epsilon0 = local, float(local.epsilon0)
        self.keep, self.lie = float(local.p), float(local.q)
        self.source = SeededSource(0)
        features, near = pilot.features(groups), pilot.grouping.groups
        privileged = None if features is None else features[:, 0].astype(np.float64)
        self.neighbors = similar_people(near, count=_LOOKED_AT, privileged=privileged)
        channel = np.asarray(local.channel().matrix, dtype=np.float64)
        self.attacks = PilotAttacks(pilot.answers, channel, self.neighbors, features)
        held = np.eye(local.domain_size)[pilot.answers]
        self.truth = sums_in_groups(held, near) / near.sizes[near.own][:, None]
        self.filter = BoxFilter(near)
        uniform = ProtocolModel(local=local, shuffle=UniformShuffler().model(pilot.answers.size))
        self.uniform = cache(lambda size: next(iter(uniform_epsilons(uniform, size, self.delta)), math.inf))
        self.can_boost = importlib.util.find_spec("sklearn") is not None

    def _reports(self, number: int) -> Reports:
        return self.randomizer.randomize(self.pilot.answers, source=self.source.substream("reports", number))

    def _randomize(self) -> Callable[[Integers], Integers]:
        """Function that draws all people's reports, with another seed at each call."""
        numbers = iter(range(10**9))
        return lambda answers: (
            self.randomizer.randomize(answers, source=self.source.substream("runs", next(numbers)))
            .columns["value"]
            .astype(np.int64)
        )

    def ends(self, name: str, shuffler: Shuffler) -> SettingResults:
        """Results of one end of the frontier: no shuffle, or a uniform shuffle."""
        people = self.pilot.answers.size
        if name == NONE:
            rho, near = self.attacks.rho(np.arange(people), self._randomize()), self._own_slot()
            alone = SettingGuarantees(
                named_most=1.0,
                named_median=1.0,
                named_by_attack=self.keep,
                central_most=self.epsilon0,
                central_median=self.epsilon0,
            )
        else:
            draw = np.random.Generator(self.source.substream("uniform").bit_generator)  # type: ignore[arg-type]
            rho = self.attacks.chance_level(self._randomize(), lambda: draw.permutation(people))
            near, central = None, min(self.epsilon0, self.uniform(people))
            odds = math.exp(2 * self.epsilon0) / (people - 1)
            alone = SettingGuarantees(
                named_most=odds / (1 + odds),
                named_median=odds / (1 + odds),
                named_by_attack=float((1 - (1 - self.lie) ** people) / (people * self.lie)) * self.keep,
                central_most=central,
                central_median=central,
            )
        learned, error, view = self._learned(shuffler)
        return SettingResults(
            setting=Setting(mechanism=name),
            displacement=0.0 if name == NONE else (people**2 - 1) / (3 * people),
            rho=rho,
            rho_error=None,
            learned=learned,
            learned_error=error,
            guessed=self.attacks.guessed(view, near, np.zeros(people, dtype=np.int64) if name == UNIFORM else None),
            protected=alone,
        )

    def near(self, setting: Setting, grouping: Grouping, order: Integers) -> SettingResults:
        """Results of a shuffle near an order."""
        shuffler = shuffler_of(setting, grouping, order)
        prepared, people = shuffler.prepare(), order.size
        drawn = [shuffler.draw_ranks(source=SeededSource(number)) for number in range(_DRAWS)]
        moved = float(np.mean([np.abs(ranks - np.arange(people)).mean() for ranks in drawn]))
        stars = [_star(order, ranks) for ranks in drawn]
        rhos = [self.attacks.rho(star, self._randomize()) for star in stars]
        learned, error, view = self._learned(shuffler)
        named = naming_chances_by_rank(shuffler, self.epsilon0)
        central = central_epsilons_by_rank(shuffler, self.uniform, self.epsilon0)
        found = [nearest_match_success(ranks, prepared.starts, self.keep, self.lie).mean() for ranks in drawn]
        return SettingResults(
            setting=setting,
            displacement=moved,
            rho=float(np.mean(rhos)),
            rho_error=float(np.std(rhos, ddof=1) / math.sqrt(len(rhos))),
            learned=learned,
            learned_error=error,
            guessed=self.attacks.guessed(
                view, self._placement(stars), stretches(order, prepared.starts, max(_LOOKED_AT, 2 * moved))
            ),
            protected=SettingGuarantees(
                named_most=float(named.max()),
                named_median=float(np.median(named)),
                named_by_attack=float(np.mean(found)),
                central_most=float(central.max()),
                central_median=float(np.median(central)),
            ),
        )

    def _own_slot(self) -> Floats:
        found: Floats = (self.neighbors == np.arange(len(self.neighbors))[:, None]).astype(np.float64)
        return found

    def _placement(self, stars: list[Integers]) -> Floats:
        """Share of simulated shuffles in which each slot looked at held the person's own report."""
        people, there = np.arange(len(self.neighbors))[:, None], self.neighbors >= 0
        found = np.zeros(self.neighbors.shape)
        for star in stars:
            found += (star[self.neighbors] == people) & there
        return found / len(stars)

    def _learned(self, shuffler: Shuffler) -> tuple[float, float, View]:
        """Learning error lambda of the box filter, its standard error over views, and the last view."""
        views = [self._view(shuffler, number) for number in range(_VIEWS)]
        errors = [learnability_error(self.filter.laws(view), self.truth) for view in views]
        return float(np.mean(errors)), float(np.std(errors, ddof=1) / math.sqrt(_VIEWS)), views[-1]

    def _view(self, shuffler: Shuffler, number: int) -> View:
        return shuffler.shuffle(self._reports(number), source=self.source.substream("views", number))

    def boosted(
        self, tried: SettingResults, groupings: dict[float | None, Grouping], orders: dict[float | None, Integers]
    ) -> SettingResults:
        """Result with the learning error lambda of gradient boosting added.

        Only for both ends and undominated settings.
        """
        setting = tried.setting
        if not self.can_boost or (tried.dominated and tried.is_ours):
            return tried
        shuffler: Shuffler = IdentityShuffler() if setting.mechanism == NONE else UniformShuffler()
        if tried.is_ours:
            shuffler = shuffler_of(setting, groupings[setting.reach], orders[setting.reach])
        groups, points = self.pilot.grouping.groups, self.pilot.points
        learner = BoostedRegions(points, num_trees=_TREES, num_folds=_FOLDS)
        laws = learner.laws(self._view(shuffler, _VIEWS - 1), at=points[groups.first_people])[groups.sites]
        return replace(tried, boosted=learnability_error(laws, self.truth))


def _star(order: Integers, ranks: Integers) -> Integers:
    """Sender of the report in each slot, from a permutation of ranks."""
    star = np.empty(order.size, dtype=np.int64)
    star[order] = order[ranks]
    return star


def shuffler_of(setting: Setting, grouping: Grouping, order: Integers) -> SlotShuffler:
    """The shuffler of a setting."""
    alpha = float(setting.alpha or 0)
    if setting.mechanism in {MALLOWS, SPENDING}:
        return MallowsShuffler(groups=grouping.groups, alpha=alpha, delta=setting.delta or None, order=order)
    noise: dict[str, Any] = {"noise": "gaussian", "delta": setting.delta} if setting.delta else {}
    if setting.mechanism == EVEN:
        noise = {"spacing": "uniform"}
    return NoisySortShuffler(groups=grouping.groups, alpha=alpha, order=order, **noise)
