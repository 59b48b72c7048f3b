"""Public descriptions of local randomizers, for accounting and for agreements between parties.

A model holds no data and draws nothing. A new mechanism is a new subclass with a ``kind`` of its own.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.channels import Channel
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.lone_reports import lone_warnings
from shuffledp.core.report_laws import JointSupport, PersonalLosses, TwoLevelLaw
from shuffledp.core.shuffle_models import DummyReports, ShuffleModel
from shuffledp.core.statement_terms import Trust
from shuffledp.core.validate import integer_at_least, invalid

LEAST_CURVATURE = -0.5  # reports that carry half of the values' spread tell it well enough


class LocalModel(Described):
    """Base of the public descriptions of local randomizers.

    Subclasses are frozen dataclasses of solved parameters. ``epsilon0`` is computed from the parameters actually used,
    never from those asked for.
    """

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    kind: ClassVar[str]
    mechanism: ClassVar[type[Any] | None] = None  # what runs on a device; a mechanism makes itself known here
    num_messages: int = 1  # reports that each user sends; a field where it is a parameter
    messages_per_round: int = 1  # of each user, next to each other among the user's messages
    num_hosts: int = 1  # shufflers, each with as many of a user's pools; a property where it is a parameter
    releases: int = 1  # one after another, that one guarantee is about; a field where it is a parameter
    is_all_or_nothing: ClassVar[bool] = False  # whether no estimate is left if one message of one user is lost

    @property
    def num_pools(self) -> int:
        """Number of shuffles for one user's messages: one for each round."""
        return self.num_messages // self.messages_per_round

    @property
    @abstractmethod
    def guarantee(self) -> LocalDP:
        """Guarantee of all messages of one user, without any shuffle; epsilon is infinite if there is none."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about collecting reports of this model, or about trusting estimates from the reports."""
        return lone_warnings(self)

    @property
    def swing(self) -> float | None:
        """Largest change of the estimated sum when one report is replaced by another.

        That is the estimate times the number of reports: for a share the number of people. None where it is not known.
        """
        return None

    @property
    def stray(self) -> float | None:
        """Largest shift of the estimated sum by one false report, from an honest answer's expected report."""
        return None

    @property
    def played_by_one(self) -> tuple[str, ...]:
        """Warnings for a run in which one operator plays parties that must be separate."""
        return ()

    @property
    def epsilon0(self) -> float:
        """Local privacy loss of all messages of one user, in nats."""
        return self.guarantee.epsilon

    @property
    def report_bits(self) -> int | None:
        """Size of one report in bits; None where reports differ in size."""
        return None

    @property
    def is_idealized(self) -> bool:
        """True if `guarantee` is for real numbers, which floats approximate; False if exact for integers."""
        return False

    @property
    def is_common(self) -> bool:
        """True if all users apply the same randomizer, so that a report alone does not identify its sender."""
        return True

    @property
    def is_adaptive(self) -> bool:
        """True if a report may depend on the reports before it and on its place after the shuffle."""
        return False

    @property
    def total_variation(self) -> float | None:
        """Bound on the total variation between the messages of any two inputs; None if unknown."""
        return None

    @property
    def two_level(self) -> TwoLevelLaw | None:
        """Law of reports whose density takes two values; None for other randomizers."""
        return None

    @property
    def personal_losses(self) -> PersonalLosses | None:
        """Personal losses, for k-ary randomized response with personal choice; None for other randomizers."""
        return None

    @property
    def laplace_steps(self) -> float | None:
        """Number of steps of the input grid under Laplace noise; None for other randomizers.

        Reports are inputs plus discrete Laplace noise. The noise has the loss epsilon0 over the whole range. Infinity
        stands for real numbers.
        """
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that every statement about this randomizer has, such as on inexact arithmetic."""
        return ()

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Trust assumptions besides trust in the device and in the shuffle."""
        return ()

    def randomizer(self) -> Any:
        """Runnable `shuffledp.core.flow.Randomizer` of this description.

        Raises:
            UnsupportedModelError: if a description is all there is, as of a law given for accounting.
        """
        if self.mechanism is None:
            raise UnsupportedModelError(f"{self.kind!r} is a description from which no reports can be made.")
        return self.mechanism.from_model(self)

    @property
    def dummy_value(self) -> int | None:
        """Default value of dummy reports; None where uniformly chosen values average out.

        Raises:
            UnsupportedModelError: if no dummies are possible.
        """
        return 0

    def named(self, dummies: DummyReports | None) -> DummyReports | None:
        """Dummy reports with this model's default value filled in; None without dummy reports."""
        if dummies is None or not dummies.own:
            return dummies
        return replace(dummies, own=False, value=self.dummy_value if dummies.value is None else dummies.value)

    def num_users_of(self, num_reports: int) -> int:
        """Number of users behind these reports, if each user sent exactly ``num_messages`` reports.

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
        """Raise `InvalidParameterError`, without values, unless the columns can be reports of this model."""

    def rounds(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.integer] | None:
        """Round of each report, from 0; None where reports have no round."""
        return None

    def channel(self, *, exact: bool = False) -> Channel | None:
        """Channel matrix of the randomizer, of fractions if ``exact``; None where it would be too large."""
        return None

    def log_likelihood(self, columns: Mapping[str, NDArray[Any]], value: Any) -> NDArray[np.float64] | None:
        """Log-likelihood of ``value`` for each report, up to a term that ignores ``value``; None if unknown."""
        return None

    def sufficient_channel(self) -> Channel | None:
        """Channel of a sufficient statistic of one report; None where it does not exist or is too large.

        Outputs whose probabilities are proportional for all inputs may be one.
        """
        return self.channel()


class FrequencyModel(LocalModel):
    """Randomizer whose reports each *support* some of the values ("pure" protocols, Wang et al. 2017).

    A report supports its own user's value with probability ``p`` and any other given value with probability ``q``.
    """

    __slots__ = ()
    domain_size: int

    @property
    @abstractmethod
    def p(self) -> float:
        """Probability that a report supports its sender's value."""

    @property
    @abstractmethod
    def q(self) -> float:
        """Probability that a report supports a particular value other than its sender's value."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Size of one report in bits."""

    @property
    def variance_per_report(self) -> float:
        """Variance of the estimated frequency of a value without holders, times the number of reports.

        It is q (1 - q) / (p - q)^2 (Wang, Blocki, Li, Jha 2017, Theorem 2).
        """
        return self.q * (1 - self.q) / (self.p - self.q) ** 2

    def most_supported(self, values: int) -> int:
        """Largest number of values that one report can support among ``values`` given values."""
        return min(values, self.domain_size)

    @property
    def most_changed(self) -> int:
        """Largest number of values that exactly one report of a pair of reports supports."""
        return self.domain_size

    @property
    def swing(self) -> float:
        """Largest change of one value's estimated count when one report is replaced by another."""
        return 1 / (self.p - self.q)

    @property
    def stray(self) -> float:
        """Largest shift of one value's estimated count by one false report, from an honest report's mean."""
        return max(1 - self.q, self.p) / (self.p - self.q)

    def swing_together(self, values: int) -> float:
        """Largest amount that one report adds to the estimated counts of ``values`` values together."""
        return (self.most_supported(values) - values * self.q) / (self.p - self.q)

    @property
    def swing_of_all(self) -> float:
        """Largest change of the vector of estimated counts when one report is replaced, in Euclidean norm."""
        return math.sqrt(self.most_changed) / (self.p - self.q)

    @property
    def joint_support(self) -> JointSupport | None:
        """Probability that a report supports two given values; None if it varies by value or is unknown."""
        return None

    def support_variance(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance of the total weight of the values that one report supports, for each value of its sender.

        Args:
            weights: shape (..., domain_size); so has the result.

        Raises:
            UnsupportedModelError: if it is not known how errors of different values go together.
        """
        if self.joint_support is None:
            raise UnsupportedModelError(
                f"sums of frequencies need a randomizer whose covariances between values are known, "
                f"such as 'k-rr', 'oue' or 'subset'; for {self.kind!r} they depend on the values."
            )
        return self.joint_support.variance(weights, self.p, self.q)

    def noise_variance(self, frequency: float) -> float:
        """Variance that randomizing adds to the estimate of this frequency, times the number of reports."""
        p, q = self.p, self.q
        return (frequency * p * (1 - p) + (1 - frequency) * q * (1 - q)) / (p - q) ** 2

    @abstractmethod
    def supports(self, columns: Mapping[str, NDArray[Any]], value: int) -> NDArray[np.bool_]:
        """Mask of the reports that support this value; shape (n,)."""

    def log_likelihood(self, columns: Mapping[str, NDArray[Any]], value: Any) -> NDArray[np.float64] | None:
        """Log-likelihood: ``epsilon0`` where the report supports the value, else 0."""
        return np.where(self.supports(columns, value), self.epsilon0, 0.0)

    @abstractmethod
    def support_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Number of reports that support each value; shape (domain_size,)."""


class MeanModel(LocalModel):
    """Randomizer with unbiased reports on bounded numbers or on vectors.

    A report decodes to a *contribution*, whose expectation is its value. The variance that randomizing adds is a
    quadratic function of that value, in each coordinate: on average over a batch ``noise_variance(mean) +
    noise_curvature * spread``, where ``spread`` is the variance of the values; a subclass may say that this is a bound.
    """

    __slots__ = ()
    lower: float
    upper: float
    dimension: int  # 1 for numbers

    @property
    def dummy_value(self) -> int | None:
        """Value of dummy reports: the smallest nonnegative whole number in the range; None for vectors."""
        if self.dimension > 1:
            return None
        least = max(math.ceil(self.lower), 0)
        if least > self.upper:
            raise UnsupportedModelError(
                f"dummies need a whole number of 0 or more as their value; {self.kind!r} takes numbers from "
                f"{self.lower:g} to {self.upper:g}."
            )
        return least

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Size of one report in bits."""

    @abstractmethod
    def contributions(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Contribution of each report to the sum, in the units of the values; shape (n,), or (n, dimension)."""

    @abstractmethod
    def noise_variance(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance that randomizing adds to each coordinate of a report, if all values equal ``mean``.

        Clipped to the range, it has one number per coordinate; so has the result, above 0, in squared units.
        """

    def noise_covariance(self, second_moment: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Covariance that randomizing adds to a contribution, shape (dimension, dimension); None where unknown.

        ``second_moment`` is the average of x x' over the people's vectors x.
        """
        return None

    @property
    @abstractmethod
    def noise_curvature(self) -> float:
        """Growth of the noise variance with the values' spread; at -1, the smallest, reports hide the spread."""

    @property
    def tells_spread(self) -> bool:
        """Whether the spread of the values can be estimated from the variance of the reports."""
        return self.noise_curvature >= LEAST_CURVATURE


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolModel(Described):
    """Local randomizer with a shuffler: the whole input of accounting, without any data.

    Args:
        local: the randomizer's model.
        shuffle: the shuffler's model; with fakes, of the honest people alone, or with colluders (see `with_fakes`).
        fakes: senders who may be fake, and hide nobody; 0 or more.
    """

    local: LocalModel
    shuffle: ShuffleModel
    fakes: int = 0

    def __post_init__(self) -> None:
        integer_at_least(0, fakes=self.fakes)

    @property
    def num_users(self) -> int:
        """Number of users in the batch; fake senders count only where the shuffle needs their places."""
        return self.shuffle.num_users

    @property
    def num_senders(self) -> int:
        """Number of senders, fake senders included."""
        return max(self.shuffle.num_users, self.shuffle.num_honest + self.fakes)

    def with_fakes(self, fakes: int, *, among_colluders: bool = False) -> Self:
        """Protocol with this number of fake senders, beside or among the colluders.

        The number can be set once.
        """
        most = self.shuffle.num_untrusted if among_colluders else self.shuffle.num_honest - 1
        if fakes > (most := 0 if self.fakes else most):
            raise invalid(f"at most {most} beside {self.fakes} already counted", fakes=fakes)
        shuffle = self.shuffle if among_colluders else self.shuffle.with_fakes(fakes)
        return replace(self, shuffle=shuffle, fakes=fakes) if fakes else self

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of the fields; ``fakes`` only where there are fake senders."""
        return {name: value for name, value in super(ProtocolModel, self).to_dict().items() if value != 0}
