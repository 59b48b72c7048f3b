"""Split and mix: a number becomes shares modulo q, and each share goes through its own shuffle."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.sum_models import LARGEST_WRAP_PROBABILITY, LaplaceShareModel
from shuffledp.core.validate import invalid
from shuffledp.protocols.shares.randomizers import polya
from shuffledp.protocols.shares.randomizers.hosts import HostedShareModel, Hosts, additive_shares
from shuffledp.randomizers.families import Columns, RangeRandomizer
from shuffledp.randomizers.inputs import as_simplex_vectors, as_vectors, check_integer_columns, check_range
from shuffledp.randomizers.sampling.coins import round_to_grid
from shuffledp.randomness.sources import RandomSource

_NOTED_WRAP_PROBABILITY = 1e-9
_LEAST_EPSILON, _LARGEST_EPSILON = 1e-6, 100.0
_LARGEST_MODULUS = 2**52  # so that the sum of all shares of one value fits into 63 bits
_MOST_SHARES, _MOST_STEPS = 2**10, 2**31
_LARGEST_DIMENSION = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAndMixModel(HostedShareModel, LaplaceShareModel):
    """Public description of the split-and-mix randomizer.

    Args:
        num_users: people that are planned for, n; fewer may come.
        epsilon: loss of the noise of ``noise_users`` people over all coordinates together, in nats, when one person is
            replaced; from 1e-6 to 100.
        lower: least value (of each coordinate); 0 if ``l1_bounded``.
        upper: largest value; of the sum of all coordinates, if ``l1_bounded``.
        dimension: coordinates of a vector, 1 for numbers; up to 2^20.
        l1_bounded: whether vectors have coordinates of 0 or more that add up to ``upper`` at most.
        integer: whether values are integers that lie on the grid, so that nothing is rounded; then both ends of the
            range are integers and its width divides ``precision``.
        num_shares: messages that each coordinate is split into, m; from 2 to 1024.
        precision: steps of the grid between ``lower`` and ``upper``, p; from 1 to 2^31.
        modulus: what shares are added by, q; above num_users * precision, and at most 2^52. It need not be prime.
        noise_users: how many people's noise adds up to one discrete Laplace; from 1 to ``num_users``.
        hosts: of the shuffles, whose number divides ``num_shares``.

    Noise must have a rate of 2^-30 or more for each step.
    """

    kind: ClassVar[str] = "split-and-mix"
    num_users: int
    epsilon: float
    lower: float
    upper: float
    dimension: int = 1
    l1_bounded: bool = False
    integer: bool = False
    num_shares: int
    precision: int
    modulus: int
    noise_users: int
    hosts: Hosts = field(default_factory=Hosts)

    def __post_init__(self) -> None:
        check_range(self.lower, self.upper)
        validate.positive(epsilon=self.epsilon)
        if not _LEAST_EPSILON <= self.epsilon <= _LARGEST_EPSILON:
            raise invalid(f"from {_LEAST_EPSILON:g} to {_LARGEST_EPSILON:g}", epsilon=self.epsilon)
        for name in ("epsilon", "lower", "upper"):
            object.__setattr__(self, name, float(getattr(self, name)))
        validate.instance_of(bool, l1_bounded=self.l1_bounded, integer=self.integer)
        self._check_counts()
        if self.l1_bounded and self.lower != 0:
            raise invalid("0 if l1_bounded", lower=self.lower)
        if self.integer:
            _check_integer_grid(self.lower, self.upper, self.precision)
        if self.rate < polya.LEAST_RATE:
            raise invalid("2**-30 or more for each step: lower the precision or the dimension", rate=float(self.rate))

    def _check_counts(self) -> None:
        limits = {
            "num_users": (1, _LARGEST_MODULUS),
            "dimension": (1, _LARGEST_DIMENSION),
            "num_shares": (2, _MOST_SHARES),
            "precision": (1, _MOST_STEPS),
            "modulus": (2, _LARGEST_MODULUS),
            "noise_users": (1, self.num_users),
        }
        for name, (least, largest) in limits.items():
            value = getattr(self, name)
            validate.integer_at_least(least, **{name: value})
            if value > largest:
                raise invalid(f"at most {largest}", **{name: value})
            object.__setattr__(self, name, int(value))
        if self.modulus <= self.num_users * self.precision:
            raise invalid(f"above num_users * precision = {self.num_users * self.precision}", modulus=self.modulus)
        self._check_hosts()

    @property
    def num_messages(self) -> int:  # type: ignore[override]  # a plain attribute of the base, computed here
        """Number of messages of each person: ``num_shares`` for each coordinate."""
        return self.num_shares * self.dimension

    @property
    def rate(self) -> Fraction:
        """Privacy loss for each grid step of one coordinate under ideal noise, rounded down."""
        coordinates = min(self.dimension, 2) if self.l1_bounded else self.dimension
        if self.integer or not self.l1_bounded or self.dimension <= 2:
            return polya.rate_of_steps(self.epsilon, coordinates * self.precision)
        return polya.rate_of_distance(self.epsilon, 2 * self.precision)

    @property
    def report_bits(self) -> int:
        """Size of one message in bits: the bits of a residue.

        The round is known from the shuffle that carries it.
        """
        return (self.modulus - 1).bit_length()

    @property
    def sampler_error(self) -> float:
        """Total variation between one person's sampled noise in one coordinate and a Polya share."""
        return polya.SAMPLER_ERROR

    @property
    def step(self) -> float:
        """Grid step in units of the values."""
        return (self.upper - self.lower) / self.precision

    @property
    def noise_variance(self) -> float:
        """Variance of the noise in each coordinate of the sum of all planned people, in squared units."""
        return self.noise_of(self.num_users)

    @property
    def wrap_probability(self) -> float:
        """Upper bound on the chance that noise moves a coordinate's sum out of the decoding window."""
        limit = (self.modulus - self.num_users * self.precision - 1) // 2
        return min(1.0, self.dimension * polya.tail_bound(float(self.rate), self.num_users / self.noise_users, limit))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warning that sums may wrap around the modulus."""
        return self.warnings

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warning about the chance that a sum wraps around, where it matters."""
        chance = self.wrap_probability
        if chance <= _NOTED_WRAP_PROBABILITY:
            return ()
        return (
            f"With a probability of up to {chance:.2g} the noise is so large that it wraps around the modulus, and a "
            "sum is decoded as a quite different one; more people or a larger epsilon make it rarer.",
        )

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the integer columns ``residue`` (below the modulus) and ``round`` (below ``num_rounds``)."""
        check_integer_columns(columns, "residue", "round")
        for name, limit in (("residue", self.modulus), ("round", self.num_rounds)):
            column = columns[name]
            if len(column) and not (column.min() >= 0 and column.max() < limit):
                raise InvalidParameterError(f"{name} must be in range({limit}) in every report; got one beyond.")

    def decode(self, residues: tuple[int, ...], people: int) -> NDArray[np.float64]:
        """Decoded sums in units of the values: each residue as a number in the window around possible sums.

        The window reaches as far below 0 as above people * precision: up to (q + people * precision) / 2, which is
        3 n p / 2 if all people come and q = 2 n p.
        """
        largest = (self.modulus + people * self.precision) // 2
        steps = [residue if residue <= largest else residue - self.modulus for residue in residues]
        width = Fraction(self.upper) - Fraction(self.lower)
        return np.array([float(people * Fraction(self.lower) + width * step / self.precision) for step in steps])

    def sum_variance(self, people: int) -> float:
        """Variance of these people's noise, plus a quarter of a squared step for each rounded value."""
        return self.noise_of(people) + self.step**2 * self._rounding(people)

    def noise_of(self, people: int) -> float:
        """Exact variance of these people's noise in each coordinate of the sum, in squared units."""
        return self.step**2 * polya.noise_variance(float(self.rate), people / self.noise_users)

    def sum_margin(self, people: int, level: float) -> float:
        """Half-width of the interval at this level, from the law of the noise and the largest rounding error.

        The rounding error counts as a normal number.
        """
        rate, rounding = float(self.rate), self._rounding(people)
        return self.step * polya.central_interval(rate, people / self.noise_users, rounding, level)

    def _rounding(self, people: int) -> float:
        return 0.0 if self.integer else people / 4


def _check_integer_grid(lower: float, upper: float, precision: int) -> None:
    if not (lower.is_integer() and upper.is_integer() and upper - lower <= _MOST_STEPS):
        raise InvalidParameterError(
            f"lower and upper must be integers at most 2**31 apart if integer; got {lower=}, {upper=}."
        )
    if precision % int(upper - lower):
        raise invalid(f"a multiple of the width {int(upper - lower)} of the range if integer", precision=precision)


class SplitAndMix(RangeRandomizer):
    """Randomizer for sums and means with a trusted curator's accuracy, from messages not linked to people.

    A value is placed on a grid of ``precision`` steps, rounded up or down so that it is right on average. The person
    adds a small share of noise (`polya_noise`), and splits the result into ``num_shares`` numbers that are uniform
    modulo ``modulus`` and add up to it. Share r goes through shuffle r. The analyst learns the sum of all, with
    discrete Laplace noise, and hardly more. A value (a number or a vector) makes ``num_messages`` reports with the
    columns ``residue`` and ``round``: share s of coordinate c is in round c * num_shares + s, unless hosts pour several
    shares into one buffer, which is then their round.

    **Before the shuffles there is no privacy at all**: an observer of all messages of one person adds them up.

    With noise of the rate a for each step, the loss is d p a at most in d coordinates of the whole range, and
    2 p (e^a - 1) with ``l1_bounded``, or 2 p a for integers; docs/randomizers.md says why.

    Guarantees:
        1. Added up, the noise of any ``noise_users`` people is discrete Laplace, whose loss over all coordinates is
           ``epsilon`` at most, if one person is replaced; up to ``model.sampler_error`` for each person.
        2. Any ``num_shares`` - 1 shares of a value are uniform and independent of it.
        3. Sums are unbiased, unless the noise wraps around the modulus, as far as float64 holds a value's place in the
           range (to 2^-51 of it).
        4. With ``integer`` nothing is rounded.

    Args:
        num_users, epsilon, lower, upper, dimension, l1_bounded, integer: as of `SplitAndMixModel`; all are public.
        num_shares: messages for each coordinate; `calibrate.split_and_mix` finds how many are needed.
        precision: steps of the grid; None is the square root of ``num_users``, rounded up, or the width of the range
            for integers.
        modulus: None is 2 * num_users * precision.
        noise_users: people whose noise suffices, such as the honest ones who come; None is all.
        hosts: of the shuffles (`Hosts`); None is one trusted host with a shuffle for each message.
        clip: move values outside the range to its nearer end, instead of refusing them; see `clip_to_range`. Vectors
            that are too long are shortened, if ``l1_bounded``.

    Raises:
        InvalidParameterError: for parameters outside these ranges, or if the sum wraps around the modulus with a
            chance above 5%, which happens if epsilon * num_users is below 8 or so.

    References:
        Ghazi, Kumar, Manurangsi, Nelson, Zhou 2023, Section 3 and Algorithm 1; Balle, Bell, Gascon, Nissim 2020; Ishai,
        Kushilevitz, Ostrovsky, Sahai 2006.

    Example:
        >>> randomizer = SplitAndMix(num_users=1000, epsilon=1.0, lower=0, upper=100, num_shares=8)
        >>> randomizer.precision, randomizer.modulus, randomizer.num_messages
        (32, 64000, 8)
        >>> reports = randomizer.randomize([25.0, 99.5])
        >>> reports["round"].tolist() == 2 * list(range(8))
        True
    """

    model_type: ClassVar[type[Any]] = SplitAndMixModel
    section: ClassVar[str] = "protocol"
    shown: ClassVar[tuple[str, ...]] = ("num_users", "epsilon", "lower", "upper", "num_shares", "precision", "modulus")
    best_for: ClassVar[str] = "sums with the error of a trusted curator"
    model: SplitAndMixModel

    def __init__(
        self,
        *,
        num_users: int,
        epsilon: float,
        lower: float,
        upper: float,
        num_shares: int,
        dimension: int = 1,
        l1_bounded: bool = False,
        integer: bool = False,
        precision: int | None = None,
        modulus: int | None = None,
        noise_users: int | None = None,
        hosts: Hosts | None = None,
        clip: bool = False,
    ) -> None:
        validate.integer_at_least(1, num_users=num_users)
        check_range(lower, upper)
        if precision is None:
            precision = math.ceil(upper - lower) if integer else math.isqrt(int(num_users) - 1) + 1
        validate.integer_at_least(1, precision=precision)
        self.model = SplitAndMixModel(
            num_users=num_users,
            epsilon=epsilon,
            lower=lower,
            upper=upper,
            dimension=dimension,
            l1_bounded=l1_bounded,
            integer=integer,
            num_shares=num_shares,
            precision=precision,
            modulus=2 * int(num_users) * int(precision) if modulus is None else modulus,
            noise_users=num_users if noise_users is None else noise_users,
            hosts=Hosts() if hosts is None else hosts,
        )
        self.clip = clip
        chance = self.model.wrap_probability
        if chance > LARGEST_WRAP_PROBABILITY:
            raise InvalidParameterError(
                "epsilon * num_users must be larger, 8 or so, or noise drowns the sum of so few people: with a "
                f"probability of {chance:.2g} it would be read as a quite different number, where "
                f"{LARGEST_WRAP_PROBABILITY:g} is the most that is taken; got epsilon={epsilon!r} with "
                f"num_users={num_users!r}. Use more people or a larger epsilon"
                f"{'' if modulus is None else ', or a larger modulus'}."
            )

    @property
    def num_messages(self) -> int:
        """Number of messages of each person."""
        return self.model.num_messages

    @property
    def modulus(self) -> int:
        """Modulus of the shares' sums."""
        return self.model.modulus

    @property
    def precision(self) -> int:
        """Number of grid steps between the ends of the range."""
        return self.model.precision

    def _randomized(self, numbers: NDArray[np.float64], source: RandomSource) -> Columns:
        model = self.model
        people = len(numbers) // model.dimension
        if people > model.num_users:
            raise InvalidParameterError(f"values must be of at most num_users={model.num_users}; got {people}.")
        secrets = self._steps(numbers, source)
        secrets += polya.polya_noise(model.rate, model.noise_users, len(secrets), source=source)
        residues = additive_shares(secrets, model.modulus, model.num_shares, source)
        secrets.fill(0)
        of_one = np.arange(model.num_rounds, dtype=np.min_scalar_type(model.num_rounds - 1))
        rounds = np.tile(np.repeat(of_one, model.messages_per_round), people)
        return {"residue": residues, "round": rounds}

    def _steps(self, numbers: NDArray[np.float64], source: RandomSource) -> NDArray[np.int64]:
        """Grid steps of the numbers: exact for whole numbers, else rounded at random."""
        model = self.model
        if model.integer:
            return (numbers - model.lower).astype(np.int64) * (model.precision // int(model.upper - model.lower))
        return round_to_grid(numbers, lower=model.lower, upper=model.upper, num_steps=model.precision, source=source)

    def _numbers(self, values: ArrayLike) -> NDArray[np.float64]:
        """New array of numbers in the range; coordinates of one vector are consecutive."""
        model = self.model
        if model.dimension == 1:
            numbers = super()._numbers(values)
        elif model.l1_bounded:
            integer, upper = model.integer, model.upper
            numbers = as_simplex_vectors(values, model.dimension, upper=upper, integer=integer, clip=self.clip).ravel()
        else:
            lower, upper = model.lower, model.upper
            numbers = as_vectors(values, model.dimension, lower=lower, upper=upper, clip=self.clip).ravel()
        if model.integer and (numbers != np.rint(numbers)).any():
            others = np.flatnonzero(numbers != np.rint(numbers)) // model.dimension
            raise InvalidParameterError(
                f"values must be integers; {len(np.unique(others))} are not, first values[{others[0]}]."
            )
        return numbers
