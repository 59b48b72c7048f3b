"""Split and mix: a number becomes shares modulo q, of which each goes through a shuffle of its own."""

import math
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp.errors import InvalidParameterError
from shuffledp.flow import Reports
from shuffledp.models import LARGEST_WRAP_PROBABILITY
from shuffledp.randomizers.bounded import BATCH, as_numbers, check_range, round_to_grid
from shuffledp.randomizers.polya import polya_noise
from shuffledp.randomizers.split_and_mix_model import SplitAndMixModel
from shuffledp.randomizers.vectors import as_simplex_vectors, as_vectors
from shuffledp.randomness import resolve_source, uniform_integers
from shuffledp.table import frozen

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["SplitAndMix", "SplitAndMixModel"]


class SplitAndMix:
    """Sums and means with the error of a trusted curator, from messages that nobody can tie to people.

    A value is placed on a grid of ``precision`` steps, rounded up or down so that it is right on average. The person
    adds a small share of noise (`polya_noise`), and splits the result into ``num_shares`` numbers that are uniform
    modulo ``modulus`` and add up to it. Share r goes through shuffle r. Then the analyst learns the sum of all, which
    carries discrete Laplace noise, and hardly more: how little more depends on the shuffles and ``num_shares``.

    **Before the shuffles there is no privacy at all**: whoever sees all messages of one person adds them up.

    Why the noise is right. In steps, let u and u' be two people's vectors, each coordinate rounded independently, and
    a the rate.

    * Coordinates in the whole range move by at most p steps each: the loss is d p a at most.
    * With ``l1_bounded``, the law of a coordinate at u is linear in u between integers, and neighboring values of the
      noise law differ by a factor e^a at most. So its log has a slope of (e^a - 1) at most, and the loss is at most
      (e^a - 1) L1(u - u') <= 2 p (e^a - 1). For integers it is 2 p a; for d <= 2 the first bound is no larger.

    Guarantees:
        1. Added up, the noise of any ``noise_users`` people is discrete Laplace, whose loss over all coordinates is
           ``epsilon`` at most, if one person is replaced; up to ``model.sampler_error`` for each person.
        2. Any ``num_shares`` - 1 shares of a value are uniform and independent of it.
        3. Sums are unbiased, unless the noise wraps around the modulus, as far as float64 holds a value's place in the
           range (to 2^-51 of it).
        4. With ``integer`` nothing is rounded.

    Args:
        num_users: people that are planned for; fewer may come. Public.
        epsilon: loss of the noise in nats, over all coordinates together.
        lower: least value; public.
        upper: largest value; public.
        num_shares: messages for each coordinate; `calibrate.split_and_mix` finds how many are needed.
        dimension: coordinates of a vector; 1 for numbers.
        l1_bounded: vectors have coordinates of 0 or more, which add up to ``upper`` at most.
        integer: values are integers; then nothing is rounded.
        precision: steps of the grid; None is the square root of ``num_users``, rounded up, or the width of the range
            for integers.
        modulus: None is 2 * num_users * precision.
        noise_users: people whose noise suffices, such as those who are honest and come; None is all.
        clip: move values outside the range to its nearer end, instead of refusing them; see `clip_to_range`. Vectors
            that are too long are shortened, if ``l1_bounded``.

    Raises:
        InvalidParameterError: for parameters outside these ranges, or if the sum would wrap around the modulus with a
            probability above 5 %, which happens if epsilon * num_users is below 8 or so.

    References:
        Ghazi, Kumar, Manurangsi, Nelson, Zhou 2023, Section 3 and Algorithm 1 (where sqrt(n), which need not be an
        integer, is the precision, and q is prime); Balle, Bell, Gascon, Nissim 2020; Ishai, Kushilevitz, Ostrovsky,
        Sahai 2006.

    Example:
        >>> randomizer = SplitAndMix(num_users=1000, epsilon=1.0, lower=0, upper=100, num_shares=8)
        >>> randomizer.precision, randomizer.modulus, randomizer.num_messages
        (32, 64000, 8)
        >>> reports = randomizer.randomize([25.0, 99.5])
        >>> reports["round"].tolist() == 2 * list(range(8))
        True
    """

    model: SplitAndMixModel
    clip: bool

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
        clip: bool = False,
    ) -> None:
        _validate.integer_at_least(1, num_users=num_users)
        check_range(lower, upper)
        if precision is None:
            precision = math.ceil(upper - lower) if integer else math.isqrt(int(num_users) - 1) + 1
        _validate.integer_at_least(1, precision=precision)
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
        )
        self.clip = clip
        chance = self.model.wrap_probability
        if chance > LARGEST_WRAP_PROBABILITY:
            raise InvalidParameterError(
                "epsilon * num_users must be so large that the sum wraps around the modulus with a probability of at "
                f"most {LARGEST_WRAP_PROBABILITY:g}; got epsilon={epsilon!r} with num_users={num_users!r}, which gives "
                f"{chance:.2g}. Use more people or a larger epsilon"
                f"{'' if modulus is None else ', or a larger modulus'}."
            )

    @classmethod
    def from_model(cls, model: SplitAndMixModel, *, clip: bool = False) -> Self:
        """The randomizer that a model describes.

        Raises:
            InvalidParameterError: for the model of another randomizer.
        """
        _validate.instance_of(SplitAndMixModel, model=model)
        randomizer = cls.__new__(cls)
        randomizer.model, randomizer.clip = model, clip
        return randomizer

    @property
    def num_messages(self) -> int:
        """Messages of each person."""
        return self.model.num_messages

    @property
    def modulus(self) -> int:
        """What shares are added by."""
        return self.model.modulus

    @property
    def precision(self) -> int:
        """Steps of the grid between the ends of the range."""
        return self.model.precision

    def __repr__(self) -> str:
        names = ("num_users", "epsilon", "lower", "upper", "num_shares", "precision", "modulus")
        parameters = "".join(f"{name}={getattr(self.model, name)!r}, " for name in names)
        return f"SplitAndMix({parameters}clip={self.clip})"

    def randomize(self, values: ArrayLike, *, source: "RandomSource | None" = None) -> Reports:
        """``num_messages`` reports per value, those of one person after each other.

        Args:
            values: numbers from ``lower`` to ``upper``, shape (n,), or vectors of such, shape (n, dimension).
            source: randomness; None is the cryptographic source.

        Returns:
            Reports with the columns ``residue`` and ``round``, in the smallest unsigned dtypes, of shape
            (n * num_messages,): share s of coordinate c is in round c * num_shares + s.

        Raises:
            InvalidParameterError: if a value is not a finite number in the range (or an integer in it), or people are
                more than planned; the message gives places only.
        """
        source, model = resolve_source(source), self.model
        numbers = self._numbers(values)
        people = len(numbers) // model.dimension
        if people > model.num_users:
            raise InvalidParameterError(f"values must be those of at most num_users={model.num_users}; got {people}.")
        secrets = self._steps(numbers, source)
        secrets += polya_noise(model.rate, model.noise_users, len(secrets), source=source)
        residues = _shares(secrets, model, source)
        secrets.fill(0)
        rounds = np.tile(np.arange(model.num_messages, dtype=np.min_scalar_type(model.num_messages - 1)), people)
        columns = {"residue": frozen(residues), "round": frozen(rounds)}
        return Reports(columns, model, seeded=source.reproducible)

    def _steps(self, numbers: NDArray[np.float64], source: "RandomSource") -> NDArray[np.int64]:
        """Places on the grid: exact ones of integers, which floats between 0 and 1 would not hold; others rounded."""
        model = self.model
        if model.integer:
            return (numbers - model.lower).astype(np.int64) * (model.precision // int(model.upper - model.lower))
        return round_to_grid(numbers, lower=model.lower, upper=model.upper, num_steps=model.precision, source=source)

    def _numbers(self, values: ArrayLike) -> NDArray[np.float64]:
        """A fresh column of numbers in the range; coordinates of one vector after each other."""
        model = self.model
        if model.l1_bounded and model.dimension > 1:
            vectors = as_simplex_vectors(
                values, model.dimension, upper=model.upper, integer=model.integer, clip=self.clip
            )
            numbers = vectors.reshape(-1)
        elif model.dimension > 1:
            vectors = as_vectors(values, model.dimension, lower=model.lower, upper=model.upper, clip=self.clip)
            numbers = vectors.reshape(-1)
        else:
            numbers = as_numbers(values, lower=model.lower, upper=model.upper, clip=self.clip)
        if model.integer and (numbers != np.rint(numbers)).any():
            others = np.flatnonzero(numbers != np.rint(numbers)) // model.dimension
            raise InvalidParameterError(
                f"values must be integers; {len(np.unique(others))} are not, first values[{others[0]}]."
            )
        return numbers


def _shares(secrets: NDArray[np.int64], model: SplitAndMixModel, source: "RandomSource") -> NDArray[np.unsignedinteger]:
    """Uniform residues that add up to each secret, those of one secret after each other; the last one fixes the sum."""
    modulus, num_shares = model.modulus, model.num_shares
    residues = np.empty((len(secrets), num_shares), dtype=np.min_scalar_type(modulus - 1))
    rows = max(1, BATCH // num_shares)
    for start in range(0, len(secrets), rows):
        batch = slice(start, start + rows)
        secret = secrets[batch]
        free = uniform_integers(modulus, secret.size * (num_shares - 1), source=source).reshape(secret.size, -1)
        residues[batch, :-1] = free
        residues[batch, -1] = (secret - free.sum(axis=1)) % modulus
        free.fill(0)
    return residues.reshape(-1)
