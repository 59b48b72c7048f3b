"""Tick columns: a yes or no about each option, by binary randomized response.

One message for each option; float-free.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.guarantees import LocalDP
from shuffledp.core.text import sum_rounded_up
from shuffledp.core.tick_models import Supports, TicksModel
from shuffledp.randomizers.families import Columns
from shuffledp.randomizers.inputs import check_categories, check_integer_columns
from shuffledp.randomizers.randomized_response import KaryRandomizedResponseModel
from shuffledp.randomizers.tick_lists import TickRandomizer, Ticks
from shuffledp.randomness.sources import RandomSource, word_batches

_COUNTED = 1 << 18  # messages at a time
_BATCH = 1 << 17  # messages handled at a time: their words stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class TickColumnsModel(TicksModel):
    """Public description of one message for each option.

    ``share`` of the 2^64 words turn a message into its opposite.

    Args:
        num_options: number of options, from 1 to 4096.
        at_most: ticks of a person that are kept.
        share: words that lead to a lie about an option, 1 or more and below 2^63.
    """

    kind: ClassVar[str] = "columns"
    num_options: int
    at_most: int
    share: int

    def __post_init__(self) -> None:
        self._check_options()
        object.__setattr__(self, "share", self.separate.share)  # which is refused where it is none

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, num_options: int, at_most: int) -> Self:
        """Model whose single messages have the largest representable local loss of at most ``epsilon0``."""
        share = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=2).share
        return cls(num_options=num_options, at_most=at_most, share=share)

    @property
    def num_messages(self) -> int:  # type: ignore[override]
        """Number of messages of a person: one for each option."""
        return self.num_options

    @property
    def separate(self) -> KaryRandomizedResponseModel:
        """Model of one message: binary randomized response."""
        return KaryRandomizedResponseModel(domain_size=2, share=self.share)

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee: one message's epsilon times the largest number of differing options.

        That is, of options in which two answers of one person may differ.
        """
        times = (Fraction(self.most_differing), Fraction(0))
        return LocalDP(epsilon=sum_rounded_up(self.separate.guarantee.epsilon, 0.0, shares=times))

    @property
    def total_variation(self) -> float:
        """Total variation between the messages of one person for two answers that differ most.

        Whoever tells them apart goes by the majority of the messages about the options that differ.
        """
        count = self.most_differing
        lies = np.arange((count + 1) // 2)  # so many or fewer are outvoted
        logs = [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in range(count + 1)]
        chances = np.exp(np.array(logs) + _logs(count, self.p, self.q))
        right = chances[lies].sum() + (chances[count // 2] / 2 if count % 2 == 0 else 0.0)
        return min(math.nextafter(float(2 * right - 1) * (1 + 1e-12), 1.0), 1.0)

    @property
    def p(self) -> float:
        """Probability that a message is true."""
        return self.separate.p

    @property
    def q(self) -> float:
        """Probability that a message is a lie."""
        return self.separate.q

    @property
    def report_bits(self) -> int:
        """Size of one message in bits: the bits of an option's number and its answer."""
        return max((self.num_options - 1).bit_length(), 1) + 1

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentence on the messages, and on the ticks that are kept."""
        return (
            f"Each person sends {self.num_options} messages, one about each option, whatever is ticked. "
            f"{kept_in_words(self)} No two messages can be put together: each is sealed and shuffled by itself.",
        )

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the columns: ``option`` is in range(num_options), and ``ticked`` is 0 or 1."""
        check_about_options(columns, self.num_options)

    def rounds(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.integer]:
        """Option that each message is about."""
        return columns["option"]

    def counted(self, columns: Mapping[str, NDArray[Any]]) -> Supports:
        """Number of messages that report a tick of each option, and of all messages about it."""
        return counted_about_options(columns, self.num_options)


def _logs(count: int, p: float, q: float) -> NDArray[np.float64]:
    """Log-probability of lies in a given set of messages, for each number of lies from 0 to ``count``."""
    lies = np.arange(count + 1)
    return np.asarray((count - lies) * math.log(p) + lies * math.log(q))


def kept_in_words(model: TicksModel) -> str:
    """Sentence on the number of ticks that a device keeps."""
    if model.at_most == model.num_options:
        return "Any number of options may be ticked."
    return (
        f"The device keeps at most {model.at_most} of the ticks, so that two answers differ in at most "
        f"{model.most_differing} options; nothing is promised to whoever sends more."
    )


def check_about_options(columns: Mapping[str, NDArray[Any]], num_options: int) -> None:
    """Refuse columns unless each message is about one option."""
    check_integer_columns(columns, "option", "ticked")
    check_categories(columns["option"], num_options, "options of reports")
    check_categories(columns["ticked"], 2, "reports")


def counted_about_options(columns: Mapping[str, NDArray[Any]], num_options: int) -> Supports:
    """Number of messages that report a tick of each option, and of all messages about it."""
    support, about = np.zeros(num_options, dtype=np.int64), np.zeros(num_options, dtype=np.int64)
    for start in range(
        0, len(columns["option"]), _COUNTED
    ):  # numpy counts in 8 bytes a message, which should stay near
        option, ticked = (columns[name][start : start + _COUNTED] for name in ("option", "ticked"))
        about += np.bincount(option, minlength=num_options)
        support += np.bincount(option[ticked == 1], minlength=num_options)
    return Supports(support, about)


class TickColumns(TickRandomizer):
    """Tick columns: binary randomized response (Warner's) of each option by itself.

    Reports have the columns ``option`` and ``ticked``; a person's are in the order of the options.

    Guarantees:
        1. Each message is (epsilon0, 0)-locally differentially private, exactly, and all messages of a person together
           lose at most as many times that as options in which two answers differ.
        2. Every person sends as many messages, of one form, whatever is ticked; they are independent given the ticks.

    References:
        Warner 1965 (one message).

    Example:
        >>> randomizer = TickColumns(epsilon0=2.0, options=["car", "bus", "bicycle"], at_most=2)
        >>> round(randomizer.model.epsilon0, 6), randomizer.model.num_messages
        (6.0, 3)
        >>> len(randomizer.randomize([["car"], [], ["bus", "bicycle"]]))
        9
    """

    model_type: ClassVar[type[Any]] = TickColumnsModel
    file_form: ClassVar[str] = "columns"
    best_for: ClassVar[str] = "several answers of one person, each option by itself"
    model: TickColumnsModel

    def _randomized(self, ticks: Ticks, source: RandomSource) -> Columns:
        options = self.model.num_options
        ticked = ticks.ravel().astype(np.uint8)
        for batch, words in word_batches(len(ticked), source, batch=_BATCH):
            ticked[batch] ^= words < np.uint64(self.model.share)
        numbers = np.arange(options, dtype=np.min_scalar_type(options - 1))
        return {"option": np.tile(numbers, len(ticks)), "ticked": ticked}
