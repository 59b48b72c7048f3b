"""Exploration of settings on a pilot: what attacks find out against what can be learned, shuffle after shuffle."""

import importlib.util
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from shuffledp.accounting.theorems.reductions import uniform_epsilons
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.flow import Progress, Reports, Shuffler, View
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.d_sigma.analyzers.box_filter import BoxFilter, sums_in_groups
from shuffledp.protocols.d_sigma.analyzers.learned_laws import BoostedRegions, learnability_error
from shuffledp.protocols.d_sigma.attacks.nearest_match import nearest_match_success
from shuffledp.protocols.d_sigma.attacks.pilot_attacks import Guessed, PilotAttacks
from shuffledp.protocols.d_sigma.attacks.side_information import similar_people
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.survey.groups import Grouping
from shuffledp.protocols.d_sigma.survey.pilot import Pilot, require_enough, section_of, stretches
from shuffledp.protocols.d_sigma.theorems.each_person import central_each, named_each
from shuffledp.randomness.replayable import SeededSource
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.survey.columns import Column

NONE, UNIFORM = "no shuffle", "uniform shuffle"
MECHANISMS = ("mallows", "noisy-sort, laplace", "noisy-sort, gaussian")
_DRAWS = 6
_VIEWS = 2
_TREES, _FOLDS = 40, 2
_LOOKED_AT = 25
_ALPHAS = tuple(4.0**power for power in range(-1, 8))
_MOST_ALPHAS = 4
_LEAST_SHARE, _MOST_SHARE = 0.002, 0.5  # of all ranks that reports move about: other losses are not worth a look
_NOISE = 0.003  # of rho, guesses and lambda: settings that differ by less are alike
_ALIKE = 0.1  # of a whole way from no shuffle to a uniform one: of settings as near, the better promise is taken
_WEIGHT = 3.0  # of hiding beside showing, or the other way round, in what is not balanced
_TELLING = 0.05  # difference of rho between no shuffle and a uniform one from which on rho says something


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Described):
    """One shuffle: its mechanism, its loss inside groups, and the reach of the groups.

    Args:
        mechanism: one of "no shuffle", "uniform shuffle", "mallows", "noisy-sort, laplace", "noisy-sort, gaussian".
        alpha: loss of the order inside a group; None for the first two.
        delta: the remainder that goes with it.
        reach: radius or number of neighbors of the groups; None where groups have neither.
        largest: people in the largest group.
    """

    mechanism: str
    alpha: float | None = None
    delta: float = 0.0
    reach: float | None = None
    largest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected(Described):
    """Guarantees of a setting for its people, none of which depends on an answer, and the naming attack beside them.

    Args:
        named_most: largest chance with which anybody's report is named by who knows all answers: of the least hidden.
        named_median: that of half of the people, or less.
        named_by_attack: what the nearest slot with the right answer finds on average, if all others answer otherwise.
        central_most: central epsilon of the least hidden person.
        central_median: that of half of the people, or less.
    """

    named_most: float
    named_median: float
    named_by_attack: float
    central_most: float
    central_median: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(Described):
    """Results of one setting on a pilot.

    Args:
        setting: it.
        displacement: how many ranks a report moves on average.
        rho: share of people whose answer a vote guesses right nearly always.
        rho_error: standard error of it over permutations; None where it is exact.
        learned: lambda of a box filter: the error of laws by place; 1 is as bad as calling all answers equally likely.
        guessed: the best attack on answers.
        protected: the guarantees.
        boosted: lambda of gradient boosting; None for settings that others dominate, and without scikit-learn.
        dominated: whether another setting is at least as good at both rho and lambda, and better at one.
    """

    setting: Setting
    displacement: float
    rho: float
    rho_error: float | None
    learned: float
    guessed: Guessed
    protected: Protected
    boosted: float | None = None
    dominated: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether it is a shuffle near an order."""
        return self.setting.alpha is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration(Described):
    """All settings tried on a pilot, with the three that are worth a closer look.

    Args:
        num_users: people of the pilot.
        epsilon0: local loss of the task.
        made_up: whether the pilot's answers are made up.
        naive: share of right guesses by always saying the commonest answer.
        by_rho: whether settings are compared by rho; else by the best attack, since answers are so uneven that a
            uniform shuffle leaves as many people "vulnerable" as no shuffle does.
        tried: the settings, "no shuffle" and "uniform shuffle" first.
        picks: numbers of up to three of them by what speaks for them: "balanced", "hides more" and "shows more".
        overlapping: whether groups overlap: otherwise a shuffle inside each costs nothing, and alpha may be 0.
    """

    num_users: int
    epsilon0: float
    made_up: bool
    naive: float
    by_rho: bool
    tried: tuple[Tried, ...]
    picks: dict[str, int]
    overlapping: bool

    @property
    def none(self) -> Tried:
        """The result without a shuffle."""
        return self.tried[0]

    @property
    def uniform(self) -> Tried:
        """The result of a uniform shuffle, which is what chance leaves."""
        return self.tried[1]

    def found_out(self, one: Tried) -> float:
        """Measure of what attacks find out, by which settings are compared: rho, or the best attack's share."""
        return one.rho if self.by_rho else one.guessed.best


def explore(
    column: Column,
    pilot: Pilot,
    *,
    alphas: tuple[float, ...] = (),
    reaches: tuple[float, ...] = (),
    progress: Progress | None = None,
) -> Exploration:
    """Exploration of mechanisms, losses and reaches on a pilot.

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
    bench = _Bench(column, pilot)
    groupings = pilot.reaches(groups, reaches)
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
        overlapping=_overlap(pilot.grouping),
    )
    marked = replace(found, tried=tuple(replace(each, dominated=_is_dominated(each, found)) for each in tried))
    boosted = tuple(bench.boosted(each, groupings, orders) for each in marked.tried)
    return replace(marked, tried=boosted, picks=_picks(marked))


def _settings(
    groupings: dict[float | None, Grouping], own: float | None, alphas: tuple[float, ...], delta: float, people: int
) -> Iterator[Setting]:
    """Settings to try, by reach, loss and mechanism."""
    for reach, grouping in groupings.items():
        largest = int(grouping.groups.sizes.max())
        apart = not _overlap(grouping)  # then every loss leads to the same map, and none at all hides most
        for alpha in sorted(alphas or ({0.0} if apart else _worth_trying(largest, people, own))):
            for mechanism in MECHANISMS:
                remainder = delta if mechanism == MECHANISMS[2] else 0.0
                if alpha > 0 or mechanism == MECHANISMS[1]:
                    yield Setting(mechanism=mechanism, alpha=alpha, delta=remainder, reach=reach, largest=largest)


def _worth_trying(largest: int, people: int, own: float | None) -> set[float]:
    """The task's own loss, and others at which a sort moves reports by a share of all ranks that is worth a look."""
    moved = {alpha: largest**2 / (2 * alpha) / people for alpha in _ALPHAS}
    some = [alpha for alpha, share in moved.items() if _LEAST_SHARE <= share <= _MOST_SHARE]
    kept = [some[place] for place in np.unique(np.linspace(0, len(some) - 1, min(_MOST_ALPHAS, len(some))).astype(int))]
    given = {own} if own is not None and 0 < own < math.inf else set()
    return (given | set(kept)) or {4.0}


class _Bench:
    """The pilot with all that does not change from setting to setting."""

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
        """Draws of everybody's report, each from a seed of its own."""
        numbers = iter(range(10**9))
        return lambda answers: (
            self.randomizer.randomize(answers, source=self.source.substream("runs", next(numbers)))
            .columns["value"]
            .astype(np.int64)
        )

    def ends(self, name: str, shuffler: Shuffler) -> Tried:
        """Results of no shuffle, or of a uniform one: the ends of every frontier."""
        people = self.pilot.answers.size
        if name == NONE:
            rho, near = self.attacks.rho(np.arange(people), self._randomize()), self._own_slot()
            alone = Protected(
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
            alone = Protected(
                named_most=odds / (1 + odds),
                named_median=odds / (1 + odds),
                named_by_attack=float((1 - (1 - self.lie) ** people) / (people * self.lie)) * self.keep,
                central_most=central,
                central_median=central,
            )
        learned, view = self._learned(shuffler)
        return Tried(
            setting=Setting(mechanism=name),
            displacement=0.0 if name == NONE else (people**2 - 1) / (3 * people),
            rho=rho,
            rho_error=None,
            learned=learned,
            guessed=self.attacks.guessed(view, near, np.zeros(people, dtype=np.int64) if name == UNIFORM else None),
            protected=alone,
        )

    def near(self, setting: Setting, grouping: Grouping, order: Integers) -> Tried:
        """Results of a shuffle near an order."""
        shuffler = shuffler_of(setting, grouping, order)
        prepared, people = shuffler.prepare(), order.size
        drawn = [shuffler.draw_ranks(source=SeededSource(number)) for number in range(_DRAWS)]
        moved = float(np.mean([np.abs(ranks - np.arange(people)).mean() for ranks in drawn]))
        stars = [_star(order, ranks) for ranks in drawn]
        rhos = [self.attacks.rho(star, self._randomize()) for star in stars]
        learned, view = self._learned(shuffler)
        named = named_each(shuffler, self.epsilon0)
        central = central_each(shuffler, self.uniform, self.epsilon0)
        found = [nearest_match_success(ranks, prepared.starts, self.keep, self.lie).mean() for ranks in drawn]
        return Tried(
            setting=setting,
            displacement=moved,
            rho=float(np.mean(rhos)),
            rho_error=float(np.std(rhos, ddof=1) / math.sqrt(len(rhos))),
            learned=learned,
            guessed=self.attacks.guessed(
                view, self._placement(stars), stretches(order, prepared.starts, max(_LOOKED_AT, 2 * moved))
            ),
            protected=Protected(
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
        """How often the slots looked at held a person's own report, in draws that are the attacker's own."""
        people, there = np.arange(len(self.neighbors))[:, None], self.neighbors >= 0
        found = np.zeros(self.neighbors.shape)
        for star in stars:
            found += (star[self.neighbors] == people) & there
        return found / len(stars)

    def _learned(self, shuffler: Shuffler) -> tuple[float, View]:
        """Lambda of the box filter, and the last of the views behind it."""
        views = [self._view(shuffler, number) for number in range(_VIEWS)]
        errors = [learnability_error(self.filter.laws(view), self.truth) for view in views]
        return float(np.mean(errors)), views[-1]

    def _view(self, shuffler: Shuffler, number: int) -> View:
        return shuffler.shuffle(self._reports(number), source=self.source.substream("views", number))

    def boosted(
        self, tried: Tried, groupings: dict[float | None, Grouping], orders: dict[float | None, Integers]
    ) -> Tried:
        """The result with lambda of gradient boosting too, for the ends and for what nothing dominates."""
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
    """Person whose report lies in each slot, from a permutation of ranks."""
    star = np.empty(order.size, dtype=np.int64)
    star[order] = order[ranks]
    return star


def shuffler_of(setting: Setting, grouping: Grouping, order: Integers) -> SlotShuffler:
    """The shuffler of a setting."""
    alpha = float(setting.alpha or 0)
    if setting.mechanism == "mallows":
        return MallowsShuffler(groups=grouping.groups, alpha=alpha, order=order)
    noise: dict[str, Any] = {"noise": "gaussian", "delta": setting.delta} if setting.delta else {}
    return NoisySortShuffler(groups=grouping.groups, alpha=alpha, order=order, **noise)


def _overlap(grouping: Grouping) -> bool:
    """Whether somebody is in several groups."""
    return int(grouping.groups.sizes.sum()) > grouping.num_users


def _is_dominated(one: Tried, among: Exploration) -> bool:
    """Whether another setting hides and shows as much, up to noise, and one of the two clearly more."""
    hidden = among.found_out(one)

    def beats(other: Tried) -> bool:
        finds = among.found_out(other)
        better = finds < hidden - 2 * _NOISE or other.learned < one.learned - 2 * _NOISE
        return finds <= hidden + _NOISE and other.learned <= one.learned + _NOISE and better

    return any(beats(other) for other in among.tried if other is not one)


def _picks(among: Exploration) -> dict[str, int]:
    """Up to three settings that nothing dominates, by how much hiding counts beside showing."""
    none, uniform = among.none, among.uniform
    least = among.found_out(uniform)
    hidden, shown = max(among.found_out(none) - least, 1e-9), max(uniform.learned - none.learned, 1e-9)
    left = [number for number, each in enumerate(among.tried) if each.is_ours and not each.dominated]

    def best(weight: float, numbers: list[int]) -> int:
        def price(number: int) -> tuple[float, float]:
            each = among.tried[number]
            found = weight * (among.found_out(each) - least) / hidden + (each.learned - none.learned) / shown
            return round(found / _ALIKE), each.protected.named_most + each.protected.named_median

        return min(numbers, key=price)

    if not left:
        return {}
    found = {"balanced": best(1.0, left)}
    middle = among.tried[found["balanced"]]
    hiding = [n for n in left if among.found_out(among.tried[n]) < among.found_out(middle) - 2 * _NOISE]
    showing = [n for n in left if among.tried[n].learned < middle.learned - 2 * _NOISE]
    for name, weight, numbers in (("hides more", _WEIGHT, hiding), ("shows more", 1 / _WEIGHT, showing)):
        if numbers:
            found[name] = best(weight, numbers)
    return found
