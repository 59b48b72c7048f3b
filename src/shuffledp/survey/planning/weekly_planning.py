"""Plan of the same questions to the same people every week, with the joint loss of all weeks.

Devices randomize anew every week, and each week is shuffled by itself, so that the weeks are releases that compose
(`shuffledp.accounting.compose_releases`). Where answers do not change, a first week with the loss of all weeks tells
about as much as the mean of all weeks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from shuffledp._version import __version__
from shuffledp.accounting import compose_releases, epsilon_of
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits
from shuffledp.core.tick_models import TicksModel, of_one_message
from shuffledp.laws.gaussian_noise import gaussian_mu
from shuffledp.planning.calibrate import LARGEST_EPSILON0
from shuffledp.planning.mechanism_choice import ExpectedError, error_through
from shuffledp.survey.columns import Column
from shuffledp.survey.planning.task_planning import planned_people
from shuffledp.survey.questions.question import Question
from shuffledp.survey.task import Task

MOST_WEEKS = 1000
_NEAR, _NEAR_ONCE = 0.995, 0.97  # of the target: where the searches stop
_AIM = 0.4  # of the rest up to the target: how far below it they aim
_MOST_STEPS = 12
_LEAST_SLOPE = 0.3
_LARGEST_LOSS = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WeeklyErrors(Described):
    """Standard errors that randomizing adds to one private column, by how often people are asked.

    Args:
        value: name of the column.
        kind: of its randomizer.
        epsilon0: local loss of all that a person sends in one week, in nats.
        key_epsilon0: the key of the task that leads to it.
        of_message: local loss of one message, where a person sends several independent ones; None elsewhere.
        at: the answers that errors are stated for.
        of_week: of the estimate of one week.
        of_mean: of the mean of all weeks, which fresh noise averages out of.
        of_change: of the difference of two weeks, about the same people.
        sampling_error: the further error of a week if the people are a random sample of a large population; that of
            the mean is as large where answers do not change.
        once: of a single release with the whole loss; None where it is not asked for.
        once_epsilon0: its local loss.
    """

    value: str
    kind: str
    epsilon0: float
    key_epsilon0: float
    of_message: float | None
    at: str
    of_week: float
    of_mean: float
    of_change: float
    sampling_error: float
    once: float | None = None
    once_epsilon0: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WeeksPlan:
    """Plan of a task that the same people answer every week.

    Args:
        task: the task of one week, with the local losses that were solved for.
        num_weeks: how often it is answered.
        num_users: people, the same every week.
        target_epsilon: the central loss of all weeks that was asked for; None for the task's own local losses.
        statement: upper bound on what all weeks together lose.
        columns: errors of each private column.
    """

    task: Task
    num_weeks: int
    num_users: int
    target_epsilon: float | None
    statement: PrivacyStatement
    columns: tuple[WeeklyErrors, ...]

    @property
    def epsilon(self) -> float:
        """Upper bound on the central loss of all weeks together."""
        return epsilon_of(self.statement.guarantee)

    @property
    def sent(self) -> float:
        """Loss of everything that one person sends in all weeks, as if nothing were shuffled."""
        return self.num_weeks * math.fsum(each.epsilon0 for each in self.columns)

    def warnings(self, of: WeeklyErrors) -> tuple[str, ...]:
        """Warnings about one column, for example that no word could be found in any week.

        With a warning, the column's errors say nothing.
        """
        column = self.task.columns[self.columns.index(of)]
        model, delta = column.model(self.num_users), column.release.delta
        found = column.randomizer.plan(model, delta=delta, alone=True)
        return () if found is None else found.warnings_for([model])

    def to_dict(self) -> dict[str, Any]:
        """Object that ``shuffledp plan --weeks --json`` prints (``weeks_plan`` in docs/schema.json)."""
        return {
            "task": self.task.to_dict(),
            "task_sha256": self.task.sha256,
            "library_version": __version__,
            "num_weeks": self.num_weeks,
            "num_users": self.num_users,
            "target_epsilon": self.target_epsilon,
            "statements": [self.statement.to_dict()],
            "sent": self.sent,
            "columns": [column.to_dict() for column in self.columns],
        }


def plan_weeks(
    task: Task, num_users: int | None = None, *, num_weeks: int, target_epsilon: float | None = None
) -> WeeksPlan:
    """Plan of a task whose people are asked again every week, with fresh noise and a fresh shuffle.

    Args:
        task: of one week, shuffled uniformly; each of its private columns gets one and the same epsilon0.
        num_users: people, the same every week; None is what the task expects.
        num_weeks: how often they are asked, from 2 to 1,000.
        target_epsilon: the central loss of all weeks together, in nats, above 0; None keeps the task's own losses, and
            says what they come to.

    Raises:
        InvalidParameterError: if an argument is out of range, or for another task.
        BatchTooSmallError: if this number of people is below the task's smallest batch.

    Example:
        >>> task = Task.from_dict({
        ...     "name": "mood", "value": "well", "people": {"expected": 2000},
        ...     "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]},
        ...     "release": {"delta": 1e-6},
        ... })
        >>> found = plan_weeks(task, num_weeks=4, target_epsilon=0.5)
        >>> found.epsilon <= 0.5, 2.1 < found.columns[0].epsilon0 < 2.3
        (True, True)
    """
    num_users = planned_people(task, num_users)
    if not isinstance(num_weeks, int) or isinstance(num_weeks, bool) or not 2 <= num_weeks <= MOST_WEEKS:
        raise validate.invalid(f"a whole number from 2 to {MOST_WEEKS:,}", weeks=num_weeks)
    if target_epsilon is not None:
        validate.positive(epsilon=target_epsilon)
    _require_weekly(task)
    if num_users < task.release.minimum_batch:
        raise BatchTooSmallError(
            f"a release needs at least minimum_batch = {task.release.minimum_batch} people; planned for {num_users}. "
            "Nothing would be released."
        )
    own, once = task.columns, None
    if target_epsilon is not None:
        own = _solved(task.columns, num_users, num_weeks, target_epsilon, _NEAR)
        once = _solved(task.columns, num_users, 1, target_epsilon, _NEAR_ONCE)
    errors = tuple(
        _errors(column, num_users, num_weeks, None if once is None else once[place]) for place, column in enumerate(own)
    )
    return WeeksPlan(
        task=_with_columns(task, own),
        num_weeks=num_weeks,
        num_users=num_users,
        target_epsilon=target_epsilon,
        statement=_together(own, num_users, num_weeks),
        columns=errors,
    )


def _require_weekly(task: Task) -> None:
    """Refuse a task that cannot be planned for weeks, such as one without a uniform shuffle.

    Also refused is a task with earlier releases, since the weeks must compose as releases of this task alone.
    """
    if not task.shuffler.is_uniform or any(column.randomizer.key != Question.key for column in task.columns):
        raise InvalidParameterError(
            "the task must have a uniform shuffle of everybody and a randomizer in each column to be planned for "
            f"weeks; got [shuffler] kind={task.shuffler.kind!r}{', with by or weight' * task.shuffler.needs_strata}."
        )
    if task.people.earlier:
        raise InvalidParameterError(
            "[people] earlier must be left out where weeks are planned: all releases about these people are to be "
            "planned together, beforehand."
        )


def _models(columns: Sequence[Column], num_users: int) -> list[ProtocolModel]:
    return [column.model(num_users) for column in columns]


@lru_cache(maxsize=8)
def _together(columns: tuple[Column, ...], num_users: int, num_weeks: int) -> PrivacyStatement:
    """Upper bound on what all columns of all weeks lose together."""
    delta = columns[0].release.delta
    return compose_releases(_models(columns, num_users), delta=delta, num_releases=num_weeks)


def _with_loss(columns: Sequence[Column], epsilon0: float) -> tuple[Column, ...]:
    """The columns with this local loss in each."""
    return tuple(
        replace(column, randomizer=replace(cast(Any, column.randomizer), epsilon0=epsilon0)) for column in columns
    )


def _with_columns(task: Task, columns: Sequence[Column]) -> Task:
    """The task with the randomizers of these columns."""
    written: Any = task.written
    if not task.in_blocks:
        return Task(replace(written, randomizer=columns[0].randomizer))
    blocks = (replace(block, randomizer=own.randomizer) for block, own in zip(written.value, columns, strict=True))
    return Task(replace(written, value=tuple(blocks)))


def _solved(
    columns: Sequence[Column], num_users: int, num_weeks: int, target: float, near: float
) -> tuple[Column, ...]:
    """Columns with nearly the largest local loss at which all weeks together meet the target.

    The loss has four digits.

    The parameter mu of the Gaussian mechanism with the loss of all weeks is about proportional to that of the normal
    limit of one binary response, 2 sinh(epsilon0 / 2) / sqrt(n). Each step follows the line through the last two values
    of their logarithms, so that the accountant, which takes up to seconds, is asked three times or so.
    """
    delta, releases = columns[0].release.delta, num_weeks * len(columns)
    messages = num_weeks * sum(_differing(column) for column in columns)
    aim = math.log(gaussian_mu((1 - _AIM * (1 - near)) * target, delta))
    place, slope, last, met = aim - math.log(messages) / 2, 1.0, None, 0.0
    for _ in range(_MOST_STEPS):
        wished = 2 * math.asinh(math.sqrt(num_users) / 2 * math.exp(place))
        epsilon0 = float(in_digits(min(wished, LARGEST_EPSILON0), "at least"))
        stated = _loss(_with_loss(columns, epsilon0), num_users, num_weeks)
        if stated <= target:
            met = max(met, epsilon0)
            if stated >= near * target or epsilon0 == LARGEST_EPSILON0:
                break
        height = math.log(gaussian_mu(min(stated, _LARGEST_LOSS), delta)) if stated > 0 else -math.inf
        if last is not None and math.isfinite(height) and place != last[0]:
            slope = min(max((height - last[1]) / (place - last[0]), _LEAST_SLOPE), 1 / _LEAST_SLOPE)
        last = (place, height)
        place += (aim - max(height, aim - 1)) / slope
    if met:
        return _with_loss(columns, met)
    least = float(in_digits(min(target / releases, LARGEST_EPSILON0), "at least"))
    if least > 0 and _loss(_with_loss(columns, least), num_users, num_weeks) <= target:
        return _with_loss(columns, least)
    raise validate.invalid(
        f"reachable in {releases} releases by {num_users:,} people at delta={delta:g}", epsilon=target
    )


def _differing(column: Column) -> int:
    """Largest number of one person's messages in a week that can differ between two answers."""
    local = column.randomizer.randomizer().model
    return local.most_differing if isinstance(local, TicksModel) and local.separate is not None else 1


def _loss(columns: tuple[Column, ...], num_users: int, num_weeks: int) -> float:
    """Loss of all weeks together; infinity if unknown."""
    try:
        return epsilon_of(_together(columns, num_users, num_weeks).guarantee)
    except UnsupportedModelError:
        return math.inf


def _errors(column: Column, num_users: int, num_weeks: int, once: Column | None) -> WeeklyErrors:
    """Weekly errors of one column, and errors of ``once``, the column in a single release, if given."""
    week = _error(column, num_users)
    local = column.randomizer.randomizer().model
    return WeeklyErrors(
        value=column.label,
        kind=column.randomizer.kind,
        epsilon0=local.epsilon0,
        key_epsilon0=cast(Any, column.randomizer).epsilon0,
        of_message=of_one_message(local),
        at=week.at,
        of_week=week.standard_error,
        of_mean=week.standard_error / math.sqrt(num_weeks),
        of_change=week.standard_error * math.sqrt(2),
        sampling_error=week.sampling_error,
        once=None if once is None else _error(once, num_users).standard_error,
        once_epsilon0=None if once is None else once.randomizer.randomizer().model.epsilon0,
    )


def _error(column: Column, num_users: int) -> ExpectedError:
    model = column.model(num_users)
    return error_through(column.randomizer.expected_error(model.num_senders), model.shuffle)
