"""Sums of vectors of bounded length: shares modulo q of rounded vectors with discrete Gaussian noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.sum_models import GaussianShareModel
from shuffledp.core.validate import invalid
from shuffledp.protocols.shares.randomizers.discrete_gaussian import (
    LARGEST_VARIANCE,
    LEAST_VARIANCE,
    discrete_gaussian,
    sampler_error,
)
from shuffledp.protocols.shares.randomizers.hosts import HostedShareModel, Hosts
from shuffledp.protocols.shares.randomizers.vector_rounding import rounded_in_pairs, scale_of
from shuffledp.randomizers.families import Mechanism
from shuffledp.randomizers.inputs import as_rows
from shuffledp.randomness.sources import RandomSource, resolve_source, uniform_integers

SEALED_BYTES = 64  # that sealing adds to each message
_WINDOW = 20  # roots of the variance of the noise for which the modulus has room
_LARGEST_MODULUS = 2**52
_LARGEST_NORM = 1e100
_TOLERANCE = 1e-9  # relative excess of a length over its bound that is accepted
_LIMITS = {"num_users": 10**9, "dimension": 2**20, "num_shares": 2**10, "block": 2**10, "releases": 10**6}


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSumModel(HostedShareModel, GaussianShareModel):
    """Public description of the vector-sum randomizer.

    Args:
        num_users: people that are planned for, n; fewer may come.
        largest_norm: bound on the Euclidean length of a vector, in units of the values; from 1e-100 to 1e100.
        dimension: coordinates, d; from 2 to 2^20.
        largest_square: bound on the squared length of a rounded vector, in squared grid steps, B^2; above d/4 + 4.
        share_variance: parameter of one person's noise in one coordinate, in squared steps; from 1 to 4096.
        noise_users: how many people's noise is counted on; from 1 to ``num_users``.
        num_shares: messages that each block of coordinates is split into, m; from 2 to 1024.
        modulus: what shares are added by, q; so large that no honest sum wraps around but by noise beyond 20 of its
            standard deviations, and at most 2^52.
        block: coordinates that are moved together, b; up to 1024.
        releases: sums, one after another, that one guarantee is about.
        hosts: of the shuffles, whose number divides ``num_shares``.
    """

    kind: ClassVar[str] = "vector-sum"
    num_users: int
    largest_norm: float
    dimension: int
    largest_square: int
    share_variance: float
    noise_users: int
    num_shares: int
    modulus: int
    block: int = 1
    releases: int = 1
    hosts: Hosts = field(default_factory=Hosts)

    def __post_init__(self) -> None:
        check_norm(self.largest_norm)
        for name in ("largest_norm", "share_variance"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not LEAST_VARIANCE <= self.share_variance <= LARGEST_VARIANCE:
            raise invalid(f"from {LEAST_VARIANCE:g} to {LARGEST_VARIANCE:g}", share_variance=self.share_variance)
        limits = {**_LIMITS, "noise_users": self.num_users, "largest_square": 2**40, "modulus": _LARGEST_MODULUS}
        for name, largest in limits.items():
            value = getattr(self, name)
            validate.integer_at_least(2 if name in ("dimension", "num_shares", "modulus") else 1, **{name: value})
            if value > largest:
                raise invalid(f"at most {largest}", **{name: value})
            object.__setattr__(self, name, int(value))
        self._check_hosts()
        if self.largest_square < self.dimension / 4 + 4:
            raise invalid(
                f"{self.dimension / 4 + 4:g} or more, or rounding hides it", largest_square=self.largest_square
            )
        if self.modulus < (least := least_modulus(self.num_users, self.scale, self.share_variance)):
            raise invalid(f"{least} or more, so that no sum wraps around", modulus=self.modulus)

    @property
    def lower(self) -> float:  # type: ignore[override]
        """Least value of a coordinate."""
        return -self.largest_norm

    @property
    def upper(self) -> float:  # type: ignore[override]
        """Largest value of a coordinate."""
        return self.largest_norm

    @property
    def scale(self) -> float:
        """Length in grid steps of a vector of the largest norm."""
        return scale_of(self.largest_square, self.dimension)

    @property
    def step(self) -> float:
        """Grid step in units of the values."""
        return self.largest_norm / self.scale

    @property
    def num_messages(self) -> int:  # type: ignore[override]  # a plain attribute of the base, computed here
        """Number of messages of each person: ``num_shares`` for each block."""
        return self.num_shares * self.num_blocks

    @property
    def sensitivities(self) -> tuple[float, float]:
        """Sensitivities in l1 and l2 norm of all ``releases`` together, if vectors are replaced by their opposites."""
        moved = 2 * self.largest_norm
        return self.releases * moved * math.sqrt(self.dimension), math.sqrt(self.releases) * moved

    @property
    def report_bits(self) -> int:
        """Size of one message in bits: the residues of a block."""
        return self.block * (self.modulus - 1).bit_length()

    @property
    def sent_bytes(self) -> tuple[int, int]:
        """Bytes of one person's residues, and of the person's sealed messages."""
        bare = self.num_messages * self.report_bits / 8
        return math.ceil(bare), math.ceil(bare + self.num_messages * SEALED_BYTES)

    @property
    def sampler_error(self) -> float:
        """Total variation between one person's drawn noise in one coordinate and the discrete Gaussian law."""
        return sampler_error(self.share_variance)

    @property
    def wrap_probability(self) -> float:
        """Chance that noise moves a coordinate's sum beyond 20 standard deviations, by its subgaussian tail."""
        return min(1.0, self.dimension * 2 * math.exp(-(_WINDOW**2) / 2) * (1 + 1e-9))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remark on the number of releases that the guarantee covers; none for a single release."""
        if self.releases == 1:
            return ()
        return (
            f"This is about {self.releases:,} sums together, one after another, each chosen after the last were seen.",
        )

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the integer columns: ``residue`` below the modulus (2-d for blocks), ``round`` below ``num_rounds``."""
        wide = 2 if self.block > 1 else 1
        fits = tuple(columns) == ("residue", "round") and all(each.dtype.kind in "iu" for each in columns.values())
        if not fits or columns["residue"].ndim != wide or columns["round"].ndim != 1:
            raise InvalidParameterError(f"columns must be integers 'residue' ({wide}-d) and 'round' (1-d).")
        if wide == 2 and columns["residue"].shape[1] != self.block:
            raise InvalidParameterError(f"residue must have block={self.block} integers in every report.")
        for name, limit in (("residue", self.modulus), ("round", self.num_rounds)):
            column = columns[name]
            if column.size and not (column.min() >= 0 and column.max() < limit):
                raise InvalidParameterError(f"{name} must be in range({limit}) in every report; got one beyond.")

    def decode(self, residues: tuple[int, ...], people: int) -> NDArray[np.float64]:
        """Sums in units of the values; residues above half of the modulus mean negative numbers."""
        del people
        centered = [each if 2 * each <= self.modulus else each - self.modulus for each in residues]
        return np.array(centered, dtype=np.float64) * self.step

    def sum_variance(self, people: int) -> float:
        """Variance of these people's noise plus the largest variance of rounding, 1/4 squared step for each person."""
        return self.step**2 * people * (self.share_variance + 0.25)

    def sum_margin(self, people: int, level: float) -> float:
        """Half-width of the interval of each coordinate by the normal law."""
        return NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(self.sum_variance(people))


def check_norm(largest_norm: float) -> None:
    """Refuse bounds on lengths if their squares, or the squares of grid steps, overflow or underflow."""
    validate.positive(largest_norm=largest_norm)
    if not 1 / _LARGEST_NORM <= largest_norm <= _LARGEST_NORM:
        raise invalid(f"from {1 / _LARGEST_NORM:g} to {_LARGEST_NORM:g}", largest_norm=largest_norm)


def least_modulus(num_users: int, scale: float, share_variance: float) -> int:
    """Least modulus with room for sums of ``num_users`` vectors and 20 standard deviations of noise."""
    return 2 * math.ceil(num_users * math.ceil(scale) + _WINDOW * math.sqrt(num_users * share_variance)) + 1


class VectorSum(Mechanism):
    """Randomizer for sums and means of bounded vectors, with little more than a trusted curator's Gaussian noise.

    A vector is scaled to grid steps and rounded without bias, so that its length is below a bound for sure
    (`rounded_in_pairs`). Each coordinate gets a discrete Gaussian share of noise, and is split into ``num_shares``
    numbers that are uniform modulo ``modulus`` and add up to it. Share r of coordinate c goes through shuffle
    c * num_shares + r, unless hosts pour several shares into one buffer: **every coordinate is shuffled by itself**.
    (Whole packets of residues, moved as units, are not private.) With ``block`` b, b coordinates are moved together,
    which takes fewer and longer messages: reports have the columns ``residue``, of b integers, and ``round``.

    **Before the shuffles there is no privacy at all**, and whoever lies moves the sum by anything.

    Guarantees:
        1. Whatever is answered, the squared length of what is split is at most ``model.largest_square``: integers that
           are compared, no floats.
        2. Sums are unbiased for the vectors that were kept or shortened, up to the rounding of floats.
        3. Noise of a person is discrete Gaussian up to ``model.sampler_error`` in each coordinate.

    Args:
        model: `VectorSumModel`, as `calibrate.vector_sum` finds it.
        clip: shorten vectors that are too long, instead of refusing them.

    Raises:
        InvalidParameterError: for another model.

    References:
        docs/proofs.md, "Sums of vectors"; Kairouz, Liu, Steinke 2021 (sums of discrete Gaussian noise).

    Example:
        >>> from shuffledp.planning import calibrate
        >>> settings = {"epsilon": 1.0, "delta": 1e-6, "largest_norm": 1.0, "dimension": 4}
        >>> randomizer = calibrate.vector_sum(num_users=2000, **settings)
        >>> reports = randomizer.randomize([[0.5, 0.5, 0.5, 0.5], [0.0, -1.0, 0.0, 0.0]])
        >>> len(reports) == 2 * randomizer.num_messages
        True
    """

    model_type: ClassVar[type[Any]] = VectorSumModel
    answers: ClassVar[str] = "vector"
    section: ClassVar[str] = "protocol"
    shown: ClassVar[tuple[str, ...]] = ("num_users", "largest_norm", "dimension", "num_shares", "block", "releases")
    best_for: ClassVar[str] = "sums of vectors, such as steps of learning"
    model: VectorSumModel
    clip: bool

    def __init__(self, model: VectorSumModel, *, clip: bool = False) -> None:
        validate.instance_of(VectorSumModel, model=model)
        self.model = model
        self.clip = clip

    @classmethod
    def from_model(cls, model: Any, *, clip: bool = False) -> Self:
        """Randomizer with the parameters of a model."""
        return cls(model, clip=clip)

    @property
    def num_messages(self) -> int:
        """Number of messages of each person."""
        return self.model.num_messages

    def randomize(self, values: ArrayLike, *, source: RandomSource | None = None) -> Reports:
        """Reports of shares of vectors, person after person and block after block.

        Shares of one block are next to each other.

        Memory grows with the number of vectors: give a part of them at a time where there are many.

        Args:
            values: vectors, shape (n, dimension), of a length of at most ``largest_norm``.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if a vector has another number of coordinates, is not finite, or is too long; the
                message gives places only.
        """
        source, model = resolve_source(source), self.model
        vectors = as_bounded_vectors(values, model.dimension, norm=model.largest_norm, clip=self.clip)
        if len(vectors) > model.num_users:
            raise InvalidParameterError(f"values must be of at most num_users={model.num_users}; got {len(vectors)}.")
        vectors *= model.scale / model.largest_norm
        secrets = np.zeros((len(vectors), model.num_blocks * model.block), dtype=np.int64)
        secrets[:, : model.dimension] = rounded_in_pairs(vectors, square=model.largest_square, source=source)
        noise = discrete_gaussian(model.share_variance, vectors.size, source=source)
        secrets[:, : model.dimension] += noise.reshape(vectors.shape)
        residues = _shares(secrets, model, source)
        for secret in (vectors, noise, secrets):
            secret.fill(0)
        of_one = np.arange(model.num_rounds, dtype=np.min_scalar_type(model.num_rounds - 1))
        rounds = np.tile(np.repeat(of_one, model.messages_per_round), len(vectors))
        return self._reports({"residue": residues, "round": rounds}, source)


def _shares(secrets: NDArray[np.int64], model: VectorSumModel, source: RandomSource) -> NDArray[np.unsignedinteger]:
    """Uniform residues that sum to each secret, in rows (person, block, share); the last share fixes the sum."""
    modulus, shares, block = model.modulus, model.num_shares, model.block
    blocks = secrets.reshape(-1, block)
    residues = np.empty((len(blocks), shares, block), dtype=np.min_scalar_type(modulus - 1))
    rest = blocks.copy()
    for share in range(shares - 1):
        free = uniform_integers(modulus, rest.size, source=source).reshape(rest.shape)
        residues[:, share] = free
        rest -= free
    residues[:, -1] = rest % modulus
    rest.fill(0)
    return residues.reshape(-1) if block == 1 else residues.reshape(-1, block)


def as_bounded_vectors(values: ArrayLike, dimension: int, *, norm: float, clip: bool) -> NDArray[np.float64]:
    """New array of vectors of length at most ``norm``; longer vectors are shortened if ``clip``, else refused."""
    vectors = as_rows(values, dimension)
    finite, long = np.isfinite(vectors).all(axis=1), lengths_of(vectors) > norm
    refused = ~finite if clip else ~finite | (lengths_of(vectors) > norm * (1 + _TOLERANCE))
    if refused.any():
        raise InvalidParameterError(
            f"values must be vectors of {dimension} finite numbers and of a length of at most {norm:g}; "
            f"{np.count_nonzero(refused)} are not, first values[{np.argmax(refused)}]. To shorten long ones, use "
            "clip=True."
        )
    largest = np.abs(vectors[long]).max(axis=1, initial=0.0)[:, np.newaxis]
    directions = vectors[long] / largest  # whose squares do not overflow
    vectors[long] = directions * (norm / np.sqrt((directions**2).sum(axis=1)))[:, np.newaxis]
    return vectors


def lengths_of(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Euclidean lengths, infinite where squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))
