"""Calibration: the largest local loss, the fewest people, messages or slots for a wanted guarantee.

Every answer has been accounted for once more: it is a parameter at which the accountant's own statement meets the
target, found by at most some twenty calls of it, and that statement is returned with it. Bounds that take seconds are
left out: a release at the answer may state less. Families of protocols add calibrations of their own parameters, which
are found here under their names too: their door is ``calibrations``.
"""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shuffledp.accounting import Examination, account, epsilon_of, examine
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits
from shuffledp.core.validate import integer_at_least, invalid, open_probability, positive
from shuffledp.protocols.family import families
from shuffledp.randomizers import model_of_kind
from shuffledp.shufflers import UniformShuffleModel

MOST_USERS = 10**10  # more than the people on Earth
LARGEST_EPSILON0 = 100.0  # a report of such a loss hides nothing
_TOLERANCE = 1e-5  # relative: how far the solved epsilon0 may be below the largest
_MOST_EVALUATIONS = 60  # never needed: about 10 are
_MARGIN = 0.1

Family = Callable[[float], LocalModel]


def __getattr__(name: str) -> Any:
    """Calibration of a parameter that one family of protocols has, such as a number of messages."""
    found = next((family.calibrations[name] for family in families() if name in family.calibrations), None)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Solved parameter, with the guarantee of the resulting protocol.

    Args:
        solved: which parameter was solved for: "epsilon0" or "num_users".
        value: its solved value.
        target_epsilon: what was asked for; the statement's epsilon is at most this.
        found: the bracket around the loss of the protocol with the solved parameter.
        num_evaluations: how many times the accountant was asked.
        seconds: how long it took.
    """

    solved: str
    value: int | float
    target_epsilon: float
    found: Examination
    num_evaluations: int
    seconds: float

    @property
    def model(self) -> ProtocolModel:
        """Protocol with the solved parameter."""
        return self.found.model

    @property
    def statement(self) -> PrivacyStatement:
        """Statement about the protocol with the solved parameter."""
        return self.found.upper

    def to_dict(self) -> dict[str, Any]:
        """Object that ``shuffledp calibrate --json`` prints (``calibration`` in docs/schema.json)."""
        return self.found.to_dict() | {
            "solved": self.solved,
            "value": self.value,
            "target_epsilon": self.target_epsilon,
            "num_evaluations": self.num_evaluations,
            "seconds": self.seconds,
        }


def epsilon0(
    *,
    target_epsilon: float,
    delta: float,
    num_users: int,
    randomizer: str | Family = "ldp",
    honest_fraction: float = 1.0,
    published_only: bool = False,
    **parameters: Any,
) -> Calibration:
    """Largest local loss that still leads to a wanted guarantee after a uniform shuffle.

    Guarantees:
        1. The statement returned is the accountant's for the solved model, and its epsilon is at most the target.
        2. Beyond a part in a hundred thousand above the solved value the accountant states more than the target (or the
           randomizer cannot be made), unless the value is `LARGEST_EPSILON0`.

    Args:
        target_epsilon: central privacy loss wanted, in nats, above 0.
        delta: the remainder, strictly between 0 and 1.
        num_users: how many people take part, 1 or more.
        randomizer: a kind such as "ldp" or "k-rr", or a function from epsilon0 to the model of a randomizer.
        honest_fraction: share of the people counted, as for `account`.
        published_only: leave out theorems that only this project proves, as for `account`.
        parameters: what the kind needs besides epsilon0, such as ``domain_size``.

    Raises:
        InvalidParameterError: if a parameter is out of range, or the randomizer cannot be made at a local loss as
            small as the target, where no shuffling is needed.

    Example:
        >>> answer = epsilon0(target_epsilon=0.5, delta=1e-6, num_users=10_000)
        >>> answer.value > 1, answer.statement.guarantee.epsilon <= 0.5
        (True, True)
    """
    positive(target_epsilon=target_epsilon)
    integer_at_least(1, num_users=num_users)
    accountant = _Accountant(target_epsilon, delta, honest_fraction, published_only)
    family = _family(randomizer, parameters)
    least = min(float(target_epsilon), LARGEST_EPSILON0)
    family(least)  # raises the error about bad parameters

    def measure(value: float) -> float:
        try:
            local = family(value)
        except InvalidParameterError:
            return math.inf  # no randomizer of this kind has such a loss
        return accountant.excess(_protocol(local, num_users))

    guess = _typical_epsilon0(target_epsilon, delta, honest_fraction * num_users)
    search = Search(
        measure=measure, easiest=least, hardest=LARGEST_EPSILON0, stride=2 / max(guess, 1.0), is_whole=False
    )
    value = search.solve(guess)
    if value is None:
        raise InvalidParameterError(
            f"target_epsilon must be met by a report of that loss by itself, and is not at epsilon0={least:g}: nothing "
            f"is known for num_users={num_users}, delta={delta:g}; got target_epsilon={target_epsilon!r}."
        )
    return accountant.answer("epsilon0", value, _protocol(family(value), num_users), search.num_evaluations)


def num_users(
    *,
    target_epsilon: float,
    delta: float,
    epsilon0: float,
    randomizer: str | Family = "ldp",
    honest_fraction: float = 1.0,
    published_only: bool = False,
    **parameters: Any,
) -> Calibration:
    """Fewest people whose uniformly shuffled reports lead to a wanted guarantee.

    A bound need not fall strictly from each number of people to the next (lattices of counts move it up and down by
    less than a part in a thousand), so somewhat smaller numbers may also do; one person less than the answer does not.

    Guarantees:
        1. The statement returned is the accountant's for the solved number, and its epsilon is at most the target.
        2. With one person less, what the accountant states exceeds the target.

    The arguments are those of `epsilon0`, the local privacy loss ``epsilon0`` (in nats, above the target) in place of
    the number of people. The answer counts all people, of whom ``honest_fraction`` are as for `account`.

    Raises:
        InvalidParameterError: if a parameter is out of range, one report by itself meets the target, or ten billion
            people do not reach it.

    Example:
        >>> answer = num_users(target_epsilon=0.5, delta=1e-6, epsilon0=1.0)
        >>> answer.statement.guarantee.epsilon <= 0.5
        True
    """
    positive(target_epsilon=target_epsilon, epsilon0=epsilon0)
    accountant = _Accountant(target_epsilon, delta, honest_fraction, published_only)
    local = _family(randomizer, parameters)(epsilon0)
    fewest = math.ceil(1 / honest_fraction) + 1  # one honest person has no shuffle to hide in
    if accountant.excess(_protocol(local, fewest - 1)) <= 0:
        raise invalid(
            f"below the local loss of {local.epsilon0:.6g}, as one report by itself is that private and no shuffling "
            "is needed",
            target_epsilon=target_epsilon,
        )
    search = Search(
        measure=lambda value: accountant.excess(_protocol(local, int(value))),
        easiest=MOST_USERS,
        hardest=fewest - 1,
        stride=2.2,
        is_whole=True,
    )
    value = search.solve(_typical_users(target_epsilon, delta, local.epsilon0) / honest_fraction)
    if value is None:
        stated = accountant.epsilon(_protocol(local, MOST_USERS))
        raise invalid(
            f"at least {in_digits(stated, 'at most')}, which is what {MOST_USERS:,} people are known to give",
            target_epsilon=target_epsilon,
        )
    return accountant.answer("num_users", int(value), _protocol(local, int(value)), search.num_evaluations + 1)


def _family(randomizer: str | Family, parameters: dict[str, Any]) -> Family:
    """Function from a local loss to a model of a randomizer."""
    if isinstance(randomizer, str):
        kind = randomizer
        return lambda value: model_of_kind(kind, epsilon0=value, **parameters)
    if not callable(randomizer):
        raise invalid("the name of a kind or a function of epsilon0", randomizer=randomizer)
    if parameters:
        raise invalid("given only with the name of a kind", parameters=", ".join(parameters))
    return randomizer


def _protocol(local: LocalModel, users: int) -> ProtocolModel:
    return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))


def _typical_epsilon0(target: float, delta: float, users: float) -> float:
    """First guess of epsilon0, from the limit of many people.

    The central loss then depends on sigma / sqrt(n) alone, with sigma^2 = 2 (E-1)^2 / (E+1) and E = exp(epsilon0).
    """
    square = target**2 * users / (2 * -math.log(delta))
    return math.log1p(square / 4 + math.sqrt(square**2 / 16 + square))


def _typical_users(target: float, delta: float, loss: float) -> float:
    """First guess of the number of people, by the limit of many people."""
    square = max(target, 1e-100) ** 2  # a target of 1e-300 would underflow to 0
    return 4 * -math.log(delta) * math.exp(min(loss, LARGEST_EPSILON0)) * math.tanh(loss / 2) ** 2 / square


@dataclass(frozen=True, slots=True)
class _Accountant:
    """Accountant with all arguments except the protocol."""

    target: float
    delta: float
    honest_fraction: float
    published_only: bool
    start: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        open_probability(delta=self.delta)
        positive(honest_fraction=self.honest_fraction)

    def statement(self, model: ProtocolModel) -> PrivacyStatement:
        return account(
            model, delta=self.delta, honest_fraction=self.honest_fraction, published_only=self.published_only
        )

    def epsilon(self, model: ProtocolModel) -> float:
        return epsilon_of(self.statement(model).guarantee)

    def excess(self, model: ProtocolModel) -> float:
        """Logarithm of the stated epsilon over the target, at most 0 where the target is met.

        It is above 0 wherever the target is missed, however little.
        """
        stated = self.epsilon(model)
        if stated > self.target:
            return max(math.log(stated / self.target), sys.float_info.min)
        return math.log(stated / self.target) if stated > 0 else -math.inf

    def answer(self, solved: str, value: float, model: ProtocolModel, num_evaluations: int) -> Calibration:
        """Calibration with the solved value, accounted for once more."""
        found = examine(
            model, delta=self.delta, honest_fraction=self.honest_fraction, published_only=self.published_only
        )
        return Calibration(
            solved=solved,
            value=value,
            target_epsilon=self.target,
            found=found,
            num_evaluations=num_evaluations + 1,
            seconds=time.perf_counter() - self.start,
        )


@dataclass(slots=True)
class Search:
    """Search of a range for the value with a measure of at most 0 nearest to the ``hardest`` end.

    Every evaluation shrinks the bracket (met, missed]. The next value is where the chord through both ends crosses 0,
    moved by a margin towards the farther end, so that the ends close in alternately; after a step that gained less than
    half, the middle is taken. ``stride`` is about how much the logarithm of the value changes with the measure, and
    ``tolerance`` how near the ends of a bracket of fractions come, as the logarithm of their ratio.
    """

    measure: Callable[[float], float]
    easiest: float
    hardest: float
    stride: float
    is_whole: bool
    tolerance: float = _TOLERANCE
    num_evaluations: int = 0
    met: tuple[float, float] | None = None
    missed: tuple[float, float] | None = None
    width: float = math.inf  # of the bracket before the last step, as a ratio's logarithm

    def solve(self, guess: float) -> float | None:
        """Hardest value found with a measure of at most 0; None if even ``easiest`` has a larger measure."""
        self._enclose(min(max(guess, min(self.easiest, self.hardest)), max(self.easiest, self.hardest)))
        while self.met and self.missed and not self._done(self.met[0], self.missed[0]):
            self._evaluate(self._next(self.met, self.missed))
            if self.num_evaluations >= _MOST_EVALUATIONS:
                break
        return self.met[0] if self.met else None

    def _enclose(self, guess: float) -> None:
        """Walk in growing steps from a guess until the measure has both signs, or an end is reached."""
        value, step = guess, 0.0
        while not (self.met and self.missed):
            excess = self._evaluate(value)
            goal = self.easiest if excess > 0 else self.hardest
            if value == goal:
                return
            step = max(2 * step, 0.02 + self.stride * min(abs(excess), 1.0))
            low, high = sorted((value, goal))
            value *= math.exp(step if goal > value else -step)
            value = min(max(math.floor(value) if self.is_whole else value, low), high)

    def _evaluate(self, value: float) -> float:
        value = float(round(value)) if self.is_whole else value
        excess = self.measure(value)
        self.num_evaluations += 1
        if excess > 0:
            self.missed = (value, excess)
        else:
            self.met = (value, excess)
        return excess

    def _done(self, met: float, missed: float) -> bool:
        return abs(met - missed) <= 1 if self.is_whole else abs(math.log(missed / met)) <= self.tolerance

    def _next(self, met: tuple[float, float], missed: tuple[float, float]) -> float:
        """Next value, strictly inside the bracket, by the rule of the class."""
        here, there = math.log(met[0]), math.log(missed[0])
        is_slow, self.width = abs(here - there) > self.width / 2, abs(here - there)
        if is_slow or math.isinf(missed[1]) or math.isinf(met[1]):
            value = math.exp((here + there) / 2)
        else:
            root = here + (there - here) * -met[1] / (missed[1] - met[1])
            near, far = sorted((here, there), key=lambda end: abs(end - root))
            margin = max(_MARGIN * abs(root - near), _TOLERANCE / 3)
            value = math.exp(root + math.copysign(min(margin, abs(far - root) / 2), far - root))
        low, high = sorted((met[0], missed[0]))
        return min(max(value, low + 1), high - 1) if self.is_whole else value
