"""Words to expect of open answers: the least share that is found, and fake senders who plant words.

The thresholds are those of the search (`shuffledp.analyzers.prefix_search`). Levels are taken as independent, and words
as sharing no prefix, which errs towards larger shares; after the first level as many prefixes are taken to be alive as
can be held by that share of people.
"""

import math

import numpy as np

from shuffledp.analyzers.prefix_search import threshold
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.prefix_models import PrefixModel
from shuffledp.core.validate import integer_at_least, open_probability

_DIGITS = 1e-4  # relative, of a share that is solved for
_FOUND = 0.95
_LEAST_SHARE_OF_LIES = 1e-9


def planned_thresholds(model: PrefixModel, num_users: int, share: float, alpha: float) -> tuple[int, ...]:
    """Expected threshold of each level, if every kept prefix has at least this share of people."""
    size, levels = model.hash_range, model.num_levels
    reports = round(num_users * model.level_share)
    later = threshold(reports, size, size * max(1 / share, 1.0), alpha / levels)
    return (threshold(reports, size, size, alpha / levels), *[later] * (levels - 1))


def find_chance(model: PrefixModel, num_users: int, share: float, *, alpha: float) -> float:
    """Chance of finding a word of this share of people, if no other word has the same beginning.

    Levels are taken as independent. A share that others' words begin alike with is found at least as often.

    Args:
        model: of the reports.
        num_users: people, 1 or more.
        share: above 0, at most 1.
        alpha: as for `search`.

    Example:
        >>> from shuffledp.randomizers import MaskedPrefixModel
        >>> model = MaskedPrefixModel.from_epsilon0(epsilon0=6.623, num_bits=80)
        >>> round(find_chance(model, 10_000, 0.04, alpha=0.05), 3)
        0.895
    """
    from scipy.stats import binom

    holders = round(num_users * share)
    each, lie = model.level_share * model.p, model.level_share / model.hash_range
    others = np.arange(binom.isf(_LEAST_SHARE_OF_LIES, num_users - holders, lie) + 1)
    weights = binom.pmf(others, num_users - holders, lie)
    thresholds = planned_thresholds(model, num_users, share, alpha)
    found = {least: float(weights @ binom.sf(least - 1 - others, holders, each)) for least in set(thresholds)}
    return math.prod(found[least] for least in thresholds)


def least_share(model: PrefixModel, num_users: int, *, alpha: float, chance: float = _FOUND) -> float | None:
    """Least share of people whose word is found with this chance; None if no share suffices.

    Not even a word of all people is found then. The arguments are those of `find_chance`, with the ``chance`` strictly
    between 0 and 1.
    """
    integer_at_least(1, num_users=num_users)
    open_probability(alpha=alpha, chance=chance)
    if find_chance(model, num_users, 1.0, alpha=alpha) < chance:
        return None
    low, high = 0.0, 1.0
    while high - low > max(_DIGITS * high, 0.4 / num_users):
        middle = (low + high) / 2 if low else high / 2
        if find_chance(model, num_users, middle, alpha=alpha) >= chance:
            high = middle
        elif num_users * middle < 1:
            low = middle
            break
        else:
            low = middle
    return high


def fakes_to_plant(model: PrefixModel, num_users: int, share: float, *, alpha: float) -> int:
    """Number of fake senders who can plant a word together.

    They reach the threshold of every level. Each of them helps at one level only, and adds no noise.

    Raises:
        InvalidParameterError: if ``share`` is not above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise InvalidParameterError(f"share must be above 0 and at most 1; got share={share!r}.")
    return sum(planned_thresholds(model, num_users, share, alpha))


def word_errors(model: PrefixModel, num_users: int, share: float) -> tuple[float, float]:
    """Standard errors of a word's share: from randomizing and choice of reports, and from sampling."""
    p, q, estimating = model.p, model.q, (1 - model.num_levels * model.level_share) * num_users
    noise = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (estimating * (p - q) ** 2)
    spread = share * (1 - share)
    return math.sqrt(noise + spread * (1 / estimating - 1 / num_users)), math.sqrt(spread / num_users)
