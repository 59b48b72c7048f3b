"""All sets: k-ary randomized response on the sets of options that a person may tick."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.channels import Channel
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.report_laws import TwoLevelLaw
from shuffledp.core.table import Floats
from shuffledp.core.tick_models import Supports, TicksModel
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import Columns
from shuffledp.randomizers.randomized_response import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.randomizers.tick_columns import kept_in_words
from shuffledp.randomizers.tick_lists import TickRandomizer, Ticks
from shuffledp.randomness.sources import RandomSource

MOST_SETS = 4096
_MOST_IN_CHANNEL = 256


class Support(NamedTuple):
    """Probabilities that a report holds an option inside the true set, and outside it.

    Or a pair of options.
    """

    p: float
    q: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AllSetsModel(TicksModel):
    """Public description of k-ary randomized response on the sets of at most ``at_most`` options.

    Args:
        num_options: number of options, 1 or more.
        at_most: ticks of a person that are kept; at most 4096 sets may follow.
        share: of the 2^64 words, those that lead to each other set, 1 or more.
    """

    kind: ClassVar[str] = "all-sets"
    num_options: int
    at_most: int
    share: int

    def __post_init__(self) -> None:
        self._check_options()
        if self.num_sets > MOST_SETS:
            raise invalid(
                f"so few that they have at most {MOST_SETS:,} sets of at_most={self.at_most} or fewer",
                num_options=self.num_options,
            )
        object.__setattr__(self, "share", self.response.share)  # which is refused where it is none

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, num_options: int, at_most: int) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``."""
        count = cls(num_options=num_options, at_most=at_most, share=1).num_sets
        response = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=count)
        return cls(num_options=num_options, at_most=at_most, share=response.share)

    @property
    def num_sets(self) -> int:
        """Number of possible sets, including the empty set."""
        return sum(comb(self.num_options, size) for size in range(self.at_most + 1))

    @property
    def response(self) -> KaryRandomizedResponseModel:
        """Randomized response over the numbers of the sets."""
        return KaryRandomizedResponseModel(domain_size=self.num_sets, share=self.share)

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee of the randomized response."""
        return self.response.guarantee

    @property
    def total_variation(self) -> float:
        """Total variation between the reports of two sets."""
        return self.response.total_variation

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law of the randomized response on sets."""
        return self.response.two_level

    @property
    def p(self) -> float:
        """Probability that the reported set holds a given option of the true set."""
        return self.supporting(1).p

    @property
    def q(self) -> float:
        """Probability that the reported set holds a given option outside the true set."""
        return self.supporting(1).q

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: the bits of a set's number."""
        return self.response.report_bits

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentence on the ticks that a device keeps."""
        return (kept_in_words(self),)

    def supporting(self, held: int) -> Support:
        """Probabilities that a report holds all ``held`` given options together.

        The first is for options that the true set holds together, the second for options that it does not.
        """
        with_them = sum(comb(self.num_options - held, size - held) for size in range(held, self.at_most + 1))
        other = self.response.q
        return Support(p=self.response.p + (with_them - 1) * other, q=with_them * other)

    def apart_covariance(self, first: Floats, second: float) -> Floats:
        """Covariance of the errors of two estimated shares, times the number of people.

        By the chances of sets that hold both options, and of sets that hold one.
        """
        (p, q), both = self.supporting(1), self.supporting(2).q
        return np.asarray((both - q * q - q * (p - q) * (first + second)) / (p - q) ** 2)

    def sets(self) -> NDArray[np.bool_]:
        """Sets as rows of ticks, in the order of their numbers.

        By size, then in the order of their options.
        """
        return _sets(self.num_options, self.at_most)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the one column ``value`` of integers in range(num_sets)."""
        self.response.check(columns)

    def set_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Number of reports of each possible set."""
        return self.response.support_counts(columns)

    def counted(self, columns: Mapping[str, NDArray[Any]]) -> Supports:
        """Number of reports whose set holds each option, and of all reports about the option.

        Every report is about every option.
        """
        counts = self.set_counts(columns)
        held = counts @ self.sets()
        return Supports(held.astype(np.int64), np.full(self.num_options, counts.sum(), dtype=np.int64))

    def channel(self, *, exact: bool = False) -> Channel | None:
        """Channel matrix of the response; None if there are many sets."""
        return None if self.num_sets > _MOST_IN_CHANNEL else self.response.channel(exact=exact)


@lru_cache(maxsize=8)
def _sets(num_options: int, at_most: int) -> NDArray[np.bool_]:
    rows = [chosen for size in range(at_most + 1) for chosen in combinations(range(num_options), size)]
    found = np.zeros((len(rows), num_options), dtype=np.bool_)
    for place, chosen in enumerate(rows):
        found[place, list(chosen)] = True
    found.setflags(write=False)
    return found


def _packed(ticks: Ticks) -> "np.ndarray[Any, np.dtype[np.bytes_]]":
    """Rows of ticks as byte strings of one length, for sorting and searching."""
    bits = np.ascontiguousarray(np.packbits(ticks, axis=1))
    return bits.view(f"S{bits.shape[1]}").ravel()


class AllSets(TickRandomizer):
    """All sets of at most ``at_most`` options as one question, answered by k-ary randomized response (k-RR).

    Shares of single options, of pairs and numbers of ticks all follow from the one report of each person.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private, exactly, also about all ticks together.
        2. Given the true set, all other sets are exactly equally likely.

    References:
        Kairouz, Bonawitz, Ramage 2016, Section 4.1 (k-RR).

    Example:
        >>> randomizer = AllSets(epsilon0=3.0, num_options=4, at_most=2)
        >>> randomizer.model.num_sets, len(randomizer.randomize([[1, 1, 0, 0], [0, 0, 0, 0]]))
        (11, 2)
    """

    model_type: ClassVar[type[Any]] = AllSetsModel
    file_form: ClassVar[str] = "category"
    best_for: ClassVar[str] = "which of a few options go together"
    model: AllSetsModel

    def _randomized(self, ticks: Ticks, source: RandomSource) -> Columns:
        known = _packed(self.model.sets())
        order = np.argsort(known)
        numbers = order[np.searchsorted(known[order], _packed(ticks))] if len(ticks) else np.zeros(0, dtype=np.int64)
        response: KaryRandomizedResponse = KaryRandomizedResponse.from_model(self.model.response)
        return response._randomized(numbers, source)
