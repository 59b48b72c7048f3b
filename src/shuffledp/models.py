"""Public descriptions of mechanisms: what two parties agree on, and all that accounting reads.

A model holds no data and draws nothing. A new mechanism is a new subclass with a ``kind`` of its own.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp._described import Described
from shuffledp.channels import Channel
from shuffledp.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.guarantees import LocalDP
from shuffledp.report_laws import PersonalLosses, TwoLevelLaw
from shuffledp.shuffle_models import (
    ColludingShuffleModel,
    DummyReports,
    LabelMeaning,
    PositionLaw,
    ShuffleModel,
    SwapWindows,
)

__all__ = [
    "LARGEST_WRAP_PROBABILITY",
    "ColludingShuffleModel",
    "DummyReports",
    "FrequencyModel",
    "LabelMeaning",
    "LocalModel",
    "MeanModel",
    "PersonalLosses",
    "PositionLaw",
    "ProtocolModel",
    "ShuffleModel",
    "SumModel",
    "SwapWindows",
    "TwoLevelLaw",
]

LARGEST_WRAP_PROBABILITY = 0.05  # of a sum modulo q: above it, it may well be decoded as a quite different one


class LocalModel(Described):
    """What is public about a local randomizer.

    Subclasses are frozen dataclasses of solved parameters. ``epsilon0`` is computed from the parameters actually used,
    never from those asked for.
    """

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    kind: ClassVar[str]
    num_messages: int = 1  # reports that each user sends; a field where it is a parameter

    @property
    @abstractmethod
    def guarantee(self) -> LocalDP:
        """What all that one user sends guarantees by itself; epsilon infinite if it guarantees nothing."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before such reports are collected, or their estimate is believed; empty if there is nothing."""
        return ()

    @property
    def epsilon0(self) -> float:
        """Local privacy loss of all that one user sends, in nats."""
        return self.guarantee.epsilon

    @property
    def report_bits(self) -> int | None:
        """Size of one report in bits; None where reports are not all of one size."""
        return None

    @property
    def is_idealized(self) -> bool:
        """True if `guarantee` is a bound for real numbers, which the randomizer's arithmetic only comes close to.

        Else it is the exact value, for the integers that the randomizer decides by.
        """
        return False

    @property
    def is_common(self) -> bool:
        """True if all users apply the same randomizer, so that a report alone does not tell whose it is."""
        return True

    @property
    def is_adaptive(self) -> bool:
        """True if a report may depend on the reports before it and on its place after the shuffle."""
        return False

    @property
    def total_variation(self) -> float | None:
        """A bound on the total variation distance between the laws of what any two inputs send; None if unknown."""
        return None

    @property
    def two_level(self) -> TwoLevelLaw | None:
        """The geometry of reports whose density takes two values, with their ratio exp(epsilon0); None for others."""
        return None

    @property
    def personal_losses(self) -> PersonalLosses | None:
        """The losses of k-ary randomized response where people choose their own; None for other randomizers."""
        return None

    @property
    def laplace_steps(self) -> float | None:
        """Steps of the grid that the inputs lie on, if reports are inputs plus discrete Laplace noise.

        The noise has the loss epsilon0 over the whole range. Infinity for real numbers; None for other randomizers.
        """
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What every statement about this randomizer must add, such as where its arithmetic departs from the law."""
        return ()

    def randomizer(self) -> Any:
        """The `shuffledp.flow.Randomizer` that this model describes: its reports have the law of all others.

        Raises:
            UnsupportedModelError: if a description is all there is, as of a law given for accounting.
        """
        raise UnsupportedModelError(f"{self.kind!r} is a description from which no reports can be made.")

    @property
    def dummy_value(self) -> int | None:
        """The value that dummies are made of where none is named; None for a uniform one of those that average out.

        Raises:
            UnsupportedModelError: if there is neither.
        """
        return 0

    def named(self, dummies: DummyReports | None) -> DummyReports | None:
        """These dummies among reports of this model, with the value that they are made of."""
        if dummies is None or not dummies.own:
            return dummies
        return replace(dummies, own=False, value=self.dummy_value if dummies.value is None else dummies.value)

    def num_users_of(self, num_reports: int) -> int:
        """People who sent so many reports, if none are missing and none were added: ``num_messages`` reports each.

        Raises:
            InvalidParameterError: if the reports cannot be shared out so.
        """
        num_users, left = divmod(num_reports, self.num_messages)
        if left:
            raise InvalidParameterError(
                f"reports must be num_messages={self.num_messages} per user; got {num_reports} reports."
            )
        return num_users

    @abstractmethod
    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Raise `InvalidParameterError` unless these columns can be reports of this model (never showing a value)."""

    def rounds(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.integer] | None:  # noqa: ARG002
        """The round, from 0 on, that each report says it is for; None where reports do not say it."""
        return None

    def channel(self, *, exact: bool = False) -> Channel | None:  # noqa: ARG002
        """The randomizer as an explicit matrix, of fractions if ``exact``; None where it would be too large."""
        return None

    def log_likelihood(
        self,
        columns: Mapping[str, NDArray[Any]],  # noqa: ARG002
        value: Any,  # noqa: ARG002
    ) -> NDArray[np.float64] | None:
        """Log of the chance of each report if it was made from ``value``, up to a term that depends on the report only.

        Differences between two values are the log-likelihood ratios that attacks decide by.

        Returns:
            Shape (reports,), one number for each row; None for a randomizer whose law is not written out.
        """
        return None

    def sufficient_channel(self) -> Channel | None:
        """A matrix that tells as much about the input as a report does; None where there is none, or it is too large.

        It may have one output for all those whose probabilities are in the same proportion for all inputs.
        """
        return self.channel()


class FrequencyModel(LocalModel):
    """A randomizer whose reports each *support* some of the values ("pure" protocols, Wang et al. 2017).

    A report supports its own user's value with probability ``p`` and any other given value with probability ``q``.
    """

    __slots__ = ()
    domain_size: int

    @property
    @abstractmethod
    def p(self) -> float:
        """Probability that a report supports the value it was made from."""

    @property
    @abstractmethod
    def q(self) -> float:
        """Probability that a report supports one given other value."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Size of one report in bits."""

    @property
    def variance_per_report(self) -> float:
        """Variance of the estimated frequency of a value that nobody holds, times the number of reports.

        It is q (1 - q) / (p - q)^2 (Wang, Blocki, Li, Jha 2017, Theorem 2).
        """
        return self.q * (1 - self.q) / (self.p - self.q) ** 2

    def noise_variance(self, frequency: float) -> float:
        """Variance that randomizing adds to the estimated frequency of a value, times the number of reports.

        Args:
            frequency: the share of people who hold the value, from 0 to 1.
        """
        p, q = self.p, self.q
        return (frequency * p * (1 - p) + (1 - frequency) * q * (1 - q)) / (p - q) ** 2

    @abstractmethod
    def supports(self, columns: Mapping[str, NDArray[Any]], value: int) -> NDArray[np.bool_]:
        """Which reports support this value; shape (n,)."""

    def log_likelihood(self, columns: Mapping[str, NDArray[Any]], value: Any) -> NDArray[np.float64] | None:
        """``epsilon0`` where the report supports the value, else 0.

        That holds for every pure protocol whose reports are exp(epsilon0) times as likely from a value that they
        support as from one that they do not; a model of another kind overrides it.
        """
        return np.where(self.supports(columns, value), self.epsilon0, 0.0)

    @abstractmethod
    def support_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """How many reports support each value; shape (domain_size,)."""


class MeanModel(LocalModel):
    """A randomizer of bounded numbers, or of vectors, whose reports average out to what they were made from.

    A report decodes to a *contribution*: its expectation is the value that the report was made from. The variance that
    randomizing adds to it is a quadratic function of that value, in each coordinate. So what counts for a whole batch
    is its mean and its spread (the variance of the people's values): on average a report of the batch carries the
    variance ``noise_variance(mean) + noise_curvature * spread``, or less where a subclass says that this is a bound.
    """

    __slots__ = ()
    lower: float
    upper: float
    dimension: int  # 1 for numbers

    @property
    def dummy_value(self) -> int | None:
        """The least whole number of 0 or more in the range; None for vectors, which are then of uniform directions."""
        if self.dimension > 1:
            return None
        least = max(math.ceil(self.lower), 0)
        if least > self.upper:
            raise UnsupportedModelError(
                f"dummies need a whole number of 0 or more to be made of; {self.kind!r} takes numbers from "
                f"{self.lower:g} to {self.upper:g}."
            )
        return least

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Size of one report in bits."""

    @abstractmethod
    def contributions(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """What each report adds to the sum, in the units of the values; shape (n,), or (n, dimension) for vectors."""

    @abstractmethod
    def noise_variance(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance that randomizing adds to each coordinate of a report, if all values equal ``mean``.

        Args:
            mean: one number per coordinate, shape (dimension,), such as an estimate; it is clipped to the range.

        Returns:
            Shape (dimension,), above 0, in squared units of the values.
        """

    def noise_covariance(self, second_moment: NDArray[np.float64]) -> NDArray[np.float64] | None:  # noqa: ARG002
        """Covariance that randomizing adds to a contribution; None where it is not known.

        Args:
            second_moment: the average of x x' over the people's vectors x, shape (dimension, dimension).

        Returns:
            Shape (dimension, dimension).
        """
        return None

    @property
    @abstractmethod
    def noise_curvature(self) -> float:
        """How much the noise variance grows with the spread of the values, -1 or more.

        At -1 the reports tell nothing about the spread: what it adds to their variance, the noise lacks.
        """


class SumModel(LocalModel):
    """A randomizer whose reports are shares of numbers modulo q: only their sum over everybody means anything.

    Each person sends ``num_shares`` messages for each coordinate, one a round: share s of coordinate c goes in round
    c * num_shares + s. All residues of a coordinate, added up modulo q, tell the noisy sum.
    """

    __slots__ = ()
    num_users: int  # planned; fewer may come
    epsilon: float  # loss of the noise of ``noise_users`` people, in all coordinates together
    dimension: int  # coordinates, 1 for numbers
    l1_bounded: bool  # whether coordinates are 0 or more and have a bounded sum
    num_shares: int
    precision: int  # steps of the grid, by as many of which a coordinate can change
    modulus: int
    noise_users: int  # whose noise adds up to one discrete Laplace

    def rounds(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.integer]:
        """The column ``round``."""
        return columns["round"]

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """Loss of that noise for one step of one coordinate."""

    @property
    @abstractmethod
    def sampler_error(self) -> float:
        """Total variation between one person's noise in one coordinate as it is drawn and as it should be."""

    @property
    @abstractmethod
    def wrap_probability(self) -> float:
        """At most so likely a coordinate's noise is so large that the sum is decoded as a quite different one."""

    @abstractmethod
    def decode(self, residues: tuple[int, ...], people: int) -> NDArray[np.float64]:
        """The sums of the values of the people who came, from the sum of all their shares modulo q; shape (dimension,).

        Args:
            residues: for each coordinate, the sum of its shares modulo q.
            people: how many came, at most ``num_users``.
        """

    @abstractmethod
    def sum_variance(self, people: int) -> float:
        """Variance of each coordinate of a sum over so many people, in squared units; an upper bound for rounding."""

    @abstractmethod
    def sum_margin(self, people: int, level: float) -> float:
        """Half the width of an interval around each coordinate of a sum over so many people, in units of the values.

        Args:
            people: how many came.
            level: coverage, strictly between 0 and 1; it is reached by the law of the noise, which is not normal.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolModel(Described):
    """A local randomizer and a shuffler, together: enough to account for the whole protocol without any data.

    Args:
        local: the randomizer's model.
        shuffle: the shuffler's model.
    """

    local: LocalModel
    shuffle: ShuffleModel

    @property
    def num_users(self) -> int:
        """Users in the batch."""
        return self.shuffle.num_users
