"""Results of settings tried on a pilot: success of attacks beside learning errors, and the best settings."""

import math
from dataclasses import dataclass

from shuffledp.core.described import Described
from shuffledp.protocols.d_sigma.attacks.pilot_attacks import Guessed

NONE, UNIFORM = "no shuffle", "uniform shuffle"
MALLOWS, SPENDING, LAPLACE, GAUSSIAN = "mallows", "mallows, with delta", "noisy-sort, laplace", "noisy-sort, gaussian"
EVEN = "noisy-sort, laplace, even gaps"
_NOISE = 0.003  # of rho, guesses and lambda: settings that differ by less are alike
_ALIKE = 0.1  # of a whole way from no shuffle to a uniform one: of settings as near, the better promise is taken
_WEIGHT = 3.0  # of hiding beside showing, or the other way round, in what is not balanced


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Described):
    """Setting of a shuffle: mechanism, loss inside groups, and radius (or number of neighbors) of the groups.

    Args:
        mechanism: one of "no shuffle", "uniform shuffle", "mallows", "mallows, with delta", "noisy-sort, laplace",
            "noisy-sort, gaussian"; or, in a search, "noisy-sort, laplace, even gaps".
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
class SettingGuarantees(Described):
    """Guarantees of a setting for its people, with the success of the naming attack beside them.

    None of them depends on an answer.

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
class SettingResults(Described):
    """Results of one setting on a pilot.

    Args:
        setting: it.
        displacement: how many ranks a report moves on average.
        rho: share of people whose answer a vote guesses right nearly always.
        rho_error: standard error of it over permutations; None where it is exact.
        learned: lambda of a box filter: the error of laws by place; 1 is as bad as calling all answers equally likely.
        learned_error: its standard error over reports and shuffles drawn anew, of these people.
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
    learned_error: float
    guessed: Guessed
    protected: SettingGuarantees
    boosted: float | None = None
    dominated: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether the setting is a shuffle near an order."""
        return self.setting.alpha is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration(Described):
    """All settings tried on a pilot, with up to three recommended settings.

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
    tried: tuple[SettingResults, ...]
    picks: dict[str, int]
    overlapping: bool

    @property
    def none(self) -> SettingResults:
        """The result without a shuffle."""
        return self.tried[0]

    @property
    def uniform(self) -> SettingResults:
        """Result of a uniform shuffle, the level of chance."""
        return self.tried[1]

    @property
    def learned_error(self) -> float:
        """Standard error of the learning error lambda, estimated from all settings together.

        The error of each setting alone is known from few draws.
        """
        ours = [each.learned_error**2 for each in self.tried if each.is_ours]
        return math.sqrt(math.fsum(ours) / max(len(ours), 1))

    @property
    def is_undecided(self) -> bool:
        """Whether the learning errors of the settings lie within twice their standard error of each other."""
        ours = [each.learned for each in self.tried if each.is_ours]
        return len(ours) > 1 and max(ours) - min(ours) < 2 * self.learned_error

    def found_out(self, one: SettingResults) -> float:
        """Success of attacks, used to compare settings: rho, or the best attack's share of right guesses."""
        return one.rho if self.by_rho else one.guessed.best


def is_dominated(one: SettingResults, among: Exploration) -> bool:
    """Whether another setting is as good at hiding and learning, up to noise, and clearly better at one."""
    hidden, moved = among.found_out(one), max(_NOISE, among.learned_error)

    def beats(other: SettingResults) -> bool:
        finds = among.found_out(other)
        better = finds < hidden - 2 * _NOISE or other.learned < one.learned - 2 * moved
        return finds <= hidden + _NOISE and other.learned <= one.learned + _NOISE and better

    return any(beats(other) for other in among.tried if other is not one)


def _hides_more(one: SettingResults, middle: SettingResults, among: Exploration) -> bool:
    """Whether setting ``one`` hides people more than ``middle``, with promises at least as strong."""
    ours, theirs = one.protected, middle.protected
    promised = ours.named_most <= theirs.named_most and ours.named_median <= theirs.named_median
    return promised and among.found_out(one) < among.found_out(middle) - 2 * _NOISE


def picks_of(among: Exploration) -> dict[str, int]:
    """Indices of up to three undominated settings by name: balanced, hiding more, and showing more."""
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
    hiding = [n for n in left if _hides_more(among.tried[n], middle, among)]
    showing = [n for n in left if among.tried[n].learned < middle.learned - 2 * max(_NOISE, among.learned_error)]
    for name, weight, numbers in (("hides more", _WEIGHT, hiding), ("shows more", 1 / _WEIGHT, showing)):
        if numbers:
            found[name] = best(weight, numbers)
    return found
