"""Least difference that a comparison finds with a given power, before there is any data."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from shuffledp.analyzers import FrequencyAnalyzer, FrequencySummary, within
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.tick_models import TicksModel

BASE, POWER = 0.3, 0.8  # share that the other one has, and chance of telling both apart
_STEPS = 60  # bisections


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastDifference(Described):
    """Least difference of two shares that a comparison finds with a given power.

    Args:
        between: what is compared, in words.
        difference: of the shares; None where not even the largest is found.
        base: the smaller share.
        power: chance that both are told apart.
        comparisons: that intervals hold for together.
        level: with which they do.
    """

    between: str
    difference: float | None
    base: float
    power: float
    comparisons: int
    level: float


def least_difference(
    model: FrequencyModel | TicksModel,
    people: tuple[int, int],
    *,
    base: float = BASE,
    power: float = POWER,
    comparisons: int = 1,
    level: float = 0.95,
) -> float | None:
    """Least difference D between the shares ``base`` and ``base`` + D of two groups, at this power.

    It solves D = (z(alpha / 2K) + z(1 - power)) sqrt(v(base) / n1 + v(base + D) / n2), for K comparisons, alpha = 1 -
    ``level``, and v the variance of a share for a population, times people.

    Args:
        model: of the reports of both groups.
        people: in each group, 1 or more.
        base: the smaller share, strictly between 0 and 1.
        power: strictly between 1/2 and 1.
        comparisons: how many intervals hold together, 1 or more.
        level: with which, strictly between 0 and 1.

    Returns:
        The difference, up to 1 - ``base``; None where even that is not found.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> model = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
        >>> round(least_difference(model, (3000, 3000)), 4)
        0.0773
    """
    for one in people:
        validate.integer_at_least(1, people=one)
    _check(base=base, power=power, comparisons=comparisons, level=level)
    first, second = people

    def variance(apart: float) -> float:
        return share_variance(model, base) / first + share_variance(model, base + apart) / second

    return _solved(variance, 1 - base, _quantiles(power, comparisons, level))


def least_difference_of_options(
    model: FrequencyModel | TicksModel,
    people: int,
    *,
    comparisons: int = 1,
    level: float = 0.95,
) -> float | None:
    """Least difference D between two options of one question that a test finds.

    Their shares are ``BASE`` + D/2 and ``BASE`` - D/2, and their errors go together as the randomizer makes them. Two
    categories, which are 1 together, have the base 1/2. Of ticks in columns it is about the people asked, of all others
    about a population. Arguments are as for `least_difference`.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> model = KaryRandomizedResponse(epsilon0=1.0, domain_size=4).model
        >>> round(least_difference_of_options(model, 3000), 3)
        0.124
    """
    validate.integer_at_least(1, people=people)
    _check(base=BASE, power=POWER, comparisons=comparisons, level=level)
    middle = 0.5 if isinstance(model, FrequencyModel) and model.domain_size == 2 else BASE

    def variance(apart: float) -> float:
        shares = middle + apart / 2, middle - apart / 2
        if isinstance(model, TicksModel):
            each = share_variance if model.share_asked < 1 else _noise
            return sum(each(model, share) for share in shares) / people
        return _of_categories(model, shares, people)

    return _solved(variance, 2 * min(middle, 1 - middle), _quantiles(POWER, comparisons, level))


def least_change(standard_error: float, *, level: float = 0.95) -> float:
    """Least difference from 0 that a test finds at a given standard error.

    It is found with the usual power, ``POWER``, at the confidence ``level``.

    Example:
        >>> round(least_change(0.01), 3)
        0.028
    """
    validate.positive(standard_error=standard_error)
    validate.open_probability(level=level)
    return _quantiles(POWER, 1, level) * standard_error


def share_variance(model: FrequencyModel | TicksModel, share: float) -> float:
    """Variance of a population's estimated share, times the number of sampled people."""
    return model.noise_variance(share) + share * (1 - share)


def _noise(model: FrequencyModel | TicksModel, share: float) -> float:
    return model.noise_variance(share)


def _of_categories(model: FrequencyModel, shares: tuple[float, float], people: int) -> float:
    """Variance of the difference between two categories' shares, for a population.

    All other categories have equal shares.
    """
    rest = np.full(model.domain_size - 2, (1 - sum(shares)) / max(model.domain_size - 2, 1))
    expected = people * (model.q + np.append(shares, rest) * (model.p - model.q))
    summary = FrequencySummary(model=model, counts=expected, num_reports=people)  # type: ignore[arg-type]  # on average
    asked, drawn = within(FrequencyAnalyzer().estimate(summary), ("0", "1")).variances()
    return float(asked[0]) + (0.0 if drawn is None else float(drawn[0]))


def _check(*, base: float, power: float, comparisons: int, level: float) -> None:
    validate.open_probability(base=base, level=level)
    validate.integer_at_least(1, comparisons=comparisons)
    if not 0.5 < power < 1:
        raise validate.invalid("a number strictly between 1/2 and 1", power=power)


def _quantiles(power: float, comparisons: int, level: float) -> float:
    """Sum of the normal quantiles of the two-sided test and of the power."""
    normal = NormalDist()
    return normal.inv_cdf(1 - (1 - level) / (2 * comparisons)) + normal.inv_cdf(power)


def _solved(variance: Callable[[float], float], largest: float, quantiles: float) -> float | None:
    """Least difference that is ``quantiles`` times its standard error; None if even ``largest`` is too small."""
    low, high = 0.0, largest
    if high < quantiles * math.sqrt(variance(high)):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if middle >= quantiles * math.sqrt(variance(middle)) else (middle, high)
    return high
