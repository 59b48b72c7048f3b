"""One option: binary randomized response about a single option, drawn on each person's device."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.guarantees import LocalDP
from shuffledp.core.report_laws import TwoLevelLaw
from shuffledp.core.table import Floats
from shuffledp.core.tick_models import Supports, TicksModel
from shuffledp.randomizers.families import Columns
from shuffledp.randomizers.randomized_response import KaryRandomizedResponseModel
from shuffledp.randomizers.tick_columns import check_about_options, counted_about_options, kept_in_words
from shuffledp.randomizers.tick_lists import TickRandomizer, Ticks
from shuffledp.randomness.sources import RandomSource, bernoulli, uniform_integers


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOptionModel(TicksModel):
    """Public description of an answer about one option, which the device draws uniformly.

    ``share`` of the 2^64 words lead to a lie.

    Args:
        num_options: number of options, from 1 to 4096.
        at_most: ticks of a person that are kept.
        share: of the 2^64 words of the response, those that lead to a lie, 1 or more and below 2^63.
    """

    kind: ClassVar[str] = "one-option"
    num_options: int
    at_most: int
    share: int

    def __post_init__(self) -> None:
        self._check_options()
        object.__setattr__(self, "share", self._response.share)  # which is refused where it is none

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, num_options: int, at_most: int) -> Self:
        """Model whose message has the largest representable local loss of at most ``epsilon0``."""
        share = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=2).share
        return cls(num_options=num_options, at_most=at_most, share=share)

    @property
    def _response(self) -> KaryRandomizedResponseModel:
        return KaryRandomizedResponseModel(domain_size=2, share=self.share)

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee of the response; the drawn option does not depend on the answer."""
        return self._response.guarantee

    @property
    def p(self) -> float:
        """Probability that a message is true."""
        return self._response.p

    @property
    def q(self) -> float:
        """Probability that a message is a lie."""
        return self._response.q

    @property
    def share_asked(self) -> float:
        """Share of the people who are asked about an option: 1 / ``num_options``."""
        return 1 / self.num_options

    def apart_covariance(self, first: Floats, second: float) -> Floats:
        """Covariance of the errors of two estimated shares, times the number of people.

        It is the product of the shares: the people asked about one option are drawn without those asked about the
        other.
        """
        return np.asarray(first * second)

    @property
    def report_bits(self) -> int:
        """Size of one message in bits: the bits of an option's number and its answer."""
        return max((self.num_options - 1).bit_length(), 1) + 1

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law against the uniform law.

        The set of an answer is every option with its true answer. All people amplify, whichever options they drew: the
        blanket of a mixture is the mixture of blankets.
        """
        alike = self.num_options - self.most_differing
        return TwoLevelLaw(share=0.5, overlap=alike / (2 * self.num_options))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentence on the drawn option, and on the ticks that are kept."""
        return (
            f"Each person answers about one of {self.num_options} options, which the device draws after all are "
            f"answered; nobody else may know or choose it. {kept_in_words(self)}",
        )

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the columns: ``option`` is in range(num_options), and ``ticked`` is 0 or 1."""
        check_about_options(columns, self.num_options)

    def counted(self, columns: Mapping[str, NDArray[Any]]) -> Supports:
        """Number of messages that report a tick of each option, and of all messages about it."""
        return counted_about_options(columns, self.num_options)


class OneOption(TickRandomizer):
    """One option each: whether a random option was ticked, by binary randomized response.

    The option is drawn in private, uniformly. Reports have the columns ``option`` and ``ticked``. Shares are estimated
    from the people who were asked.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, whatever the options are.
        2. The option is uniform and independent of the ticks; a new one is drawn for every report.

    References:
        Warner 1965 (the response).

    Example:
        >>> randomizer = OneOption(epsilon0=4.0, num_options=20, at_most=20)
        >>> round(randomizer.model.epsilon0, 6), len(randomizer.randomize([[0] * 20, [1] * 20]))
        (4.0, 2)
    """

    model_type: ClassVar[type[Any]] = OneOptionModel
    file_form: ClassVar[str] = "columns"
    best_for: ClassVar[str] = "several answers of one person, under a small local loss"
    model: OneOptionModel

    def _randomized(self, ticks: Ticks, source: RandomSource) -> Columns:
        options = self.model.num_options
        drawn = uniform_integers(options, len(ticks), source=source)
        lies = bernoulli(self.model.share, len(ticks), source=source)
        ticked = ticks[np.arange(len(ticks)), drawn] ^ lies
        return {"option": drawn.astype(np.min_scalar_type(options - 1)), "ticked": ticked.astype(np.uint8)}
