"""People needed for intervals of a wanted width, and the randomizer that needs the fewest people.

With a variance v per report, intervals of half-width w at a level with normal quantile z take n = z^2 v / w^2 people. A
larger local loss needs fewer people, who lose more in a uniform shuffle: both because each report says more, and
because it hides among fewer. So there is one largest local loss that keeps a central target, and it is found by
bisection; what is returned has been accounted for once more.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shuffledp.accounting import account, epsilon_of
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.estimates import normal_half_width
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.text import in_digits
from shuffledp.core.validate import invalid, open_probability, positive
from shuffledp.planning.calibrate import MOST_USERS, Family, Search
from shuffledp.planning.mechanism_choice import expected_error, sample_size
from shuffledp.shufflers import UniformShuffleModel

LEAST_EPSILON0, LARGEST_EPSILON0 = 1e-4, 10.0  # a report of a larger loss hides next to nothing
_FIRST_GUESS = 2.0  # of epsilon0
_TOLERANCE = 0.01  # relative, of epsilon0: people change by about twice that


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleNeeded(Described):
    """Number of people that one randomizer needs for a half-width, and the guarantee for these people.

    Args:
        kind: of the randomizer.
        epsilon0: its local loss, in nats.
        num_users: people, for an estimate about these people themselves.
        num_sampled: people, if they are a random sample of a large population, about which the estimate is.
        at: the answers that errors are stated for.
        half_width: of the intervals of these people, at most the one wanted.
        level: of the intervals.
        epsilon: central loss of ``num_users`` people, from above.
        delta: its remainder.
        theorem: by which it holds.
        report_bits: size of what one person sends; None where that differs.
    """

    kind: str
    epsilon0: float
    num_users: int
    num_sampled: int
    at: str
    half_width: float
    level: float
    epsilon: float
    delta: float
    theorem: str
    report_bits: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePlan(Described):
    """Plan of the people that each randomizer of a question needs, the fewest people first.

    Args:
        half_width: of intervals, as wanted.
        target_epsilon: the central loss that is acceptable; None if none was asked for.
        options: one or more.
    """

    half_width: float
    target_epsilon: float | None
    options: tuple[PeopleNeeded, ...]


def people_for(
    local: LocalModel, *, half_width: float, delta: float, level: float = 0.95, least: int = 1
) -> PeopleNeeded:
    """Fewest people for intervals of a half-width, and the guarantee of a shuffle among these people.

    Args:
        local: model of a randomizer of categories, numbers or vectors.
        half_width: of the intervals, above 0, in the units of the estimate: 0.02 is two points of a share.
        delta: of the central guarantee, strictly between 0 and 1.
        level: coverage of the intervals, strictly between 0 and 1.
        least: the fewest people that are allowed, such as a smallest batch.

    Raises:
        InvalidParameterError: if an argument is out of range, or ten billion people are too few.
        UnsupportedModelError: if no error of the randomizer is known.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> found = people_for(KaryRandomizedResponse(epsilon0=1, domain_size=2).model, half_width=0.02, delta=1e-6)
        >>> found.num_users, found.num_sampled
        (8842, 11243)
    """
    open_probability(delta=delta, level=level)
    positive(half_width=half_width)
    z = normal_half_width(level)
    of_these, of_all = (
        max(sample_size(local, standard_error=half_width / z, of_sample=of_sample), least)
        for of_sample in (False, True)
    )
    if of_all > MOST_USERS:
        raise invalid(
            f"so large that {MOST_USERS:,} people are enough at epsilon0={local.epsilon0:g}", half_width=half_width
        )
    statement = account(ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=of_these)), delta=delta)
    error = expected_error(local, of_these)
    return PeopleNeeded(
        kind=local.kind,
        epsilon0=local.epsilon0,
        num_users=of_these,
        num_sampled=of_all,
        at=error.at,
        half_width=z * error.standard_error,
        level=level,
        epsilon=epsilon_of(statement.guarantee),
        delta=delta,
        theorem=statement.basis.theorem,
        report_bits=local.report_bits,
    )


def fewest_people(
    families: Mapping[str, Family],
    *,
    half_width: float,
    target_epsilon: float,
    delta: float,
    level: float = 0.95,
    least: int = 1,
) -> tuple[PeopleNeeded, ...]:
    """Fewest people for each randomizer, at the best local loss that a central loss allows.

    The fewest people first.

    Args:
        families: by its name, each from a local loss to the model of a randomizer.
        half_width: as for `people_for`.
        target_epsilon: the central loss that is acceptable, in nats, above 0.
        delta: as for `people_for`.
        level: as for `people_for`.
        least: as for `people_for`.

    Raises:
        InvalidParameterError: if an argument is out of range, or no randomizer meets both targets.
        UnsupportedModelError: if no error of a randomizer is known.

    Example:
        >>> from shuffledp.randomizers import model_of_kind
        >>> coin = {"k-rr": lambda epsilon0: model_of_kind("k-rr", epsilon0=epsilon0, domain_size=2)}
        >>> found = fewest_people(coin, half_width=0.02, target_epsilon=0.5, delta=1e-6)[0]
        >>> found.num_users < 1000, found.epsilon <= 0.5, found.half_width <= 0.02
        (True, True, True)
    """
    positive(target_epsilon=target_epsilon)
    wanted = {"half_width": half_width, "delta": delta, "level": level, "least": least}
    found = (_largest_loss(family, target_epsilon, wanted) for family in families.values())
    kept = [each for each in found if each is not None]
    if not kept:
        raise invalid(
            f"reachable with half_width={half_width:g} by {MOST_USERS:,} people or fewer",
            target_epsilon=target_epsilon,
        )
    return tuple(sorted(kept, key=lambda each: (each.num_users, float(f"{each.half_width:.6g}"), each.kind)))


def _largest_loss(family: Family, target: float, wanted: Mapping[str, Any]) -> PeopleNeeded | None:
    """People needed at nearly the largest local loss within the target epsilon; None if not found."""

    def excess(epsilon0: float) -> float:
        try:
            return math.log(people_for(family(epsilon0), **wanted).epsilon / target)
        except InvalidParameterError:  # too many people near 0, or no randomizer of this kind has such a loss
            return -math.inf if epsilon0 < 1 else math.inf

    search = Search(
        measure=excess,
        easiest=LEAST_EPSILON0,
        hardest=LARGEST_EPSILON0,
        stride=0.5,
        is_whole=False,
        tolerance=_TOLERANCE,
    )
    solved = search.solve(max(_FIRST_GUESS, target))
    if solved is None:
        return None
    for candidate in (solved, 0.999 * solved, 0.99 * solved):  # rounding may cross a step of the bounds
        epsilon0 = float(in_digits(candidate, "at least", digits=3))
        with suppress(InvalidParameterError):
            found = people_for(family(epsilon0), **wanted)
            if found.epsilon <= target:
                return found
    return None
