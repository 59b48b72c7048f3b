"""Public descriptions of randomizers of ticks, which are options that a person chooses on a list.

Ticks are a row of truth values for each person, one for each option; few of a person are kept. A report may be about
one option, or about all.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.local_models import LocalModel
from shuffledp.core.table import Floats
from shuffledp.core.text import in_digits
from shuffledp.core.validate import invalid

MOST_OPTIONS = 4096


class Supports(NamedTuple):
    """Numbers of reports that support a tick of each option, and of all reports about the option.

    Both have shape (num_options,).
    """

    support: NDArray[np.int64]
    about: NDArray[np.int64]


class TicksModel(LocalModel):
    """Base of the descriptions of randomizers of ticks.

    A report about an option *supports* a tick with probability ``p`` where the person ticked it, and with ``q`` where
    not. Of more ticks than ``at_most`` so many are sent; which ones does not matter to privacy.
    """

    __slots__ = ()
    num_options: int
    at_most: int

    @property
    @abstractmethod
    def p(self) -> float:
        """Probability that a report about a ticked option supports the tick."""

    @property
    @abstractmethod
    def q(self) -> float:
        """Probability that a report about an unticked option supports a tick."""

    @property
    def share_asked(self) -> float:
        """Expected share of people who report about a given option; if below 1, these are a random sample."""
        return 1.0

    @property
    def swing(self) -> float | None:
        """Largest change of one option's estimated count when one person's messages are replaced.

        None where each person is asked about one option, as it is not known how many answer about each.
        """
        return None if self.share_asked < 1 else self.num_messages / (self.p - self.q)

    @property
    def most_differing(self) -> int:
        """Largest number of options in which two answers differ: min(2 at_most, num_options)."""
        return min(2 * self.at_most, self.num_options)

    @property
    def separate(self) -> LocalModel | None:
        """Model of one message, if a person sends an independent message for each option; else None."""
        return None

    @abstractmethod
    def counted(self, columns: Mapping[str, NDArray[Any]]) -> Supports:
        """Counts of reports about each option."""

    def noise_variance(self, share: float) -> float:
        """Variance that randomizing adds to the estimated share of an option, times the number of people."""
        p, q, asked = self.p, self.q, self.share_asked
        noise = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2
        return noise / asked + share * (1 - share) * (1 / asked - 1)

    def apart_covariance(self, first: Floats, second: float) -> Floats:
        """Covariance of the errors of two options' shares if nobody ticks both, times the number of people.

        Args:
            first: share of the one option, or of several by turns.
            second: share of the other option.
        """
        del second
        return np.zeros_like(first)

    def _check_options(self) -> None:
        """Check that the numbers of options and of ticks are possible."""
        validate.integer_at_least(1, num_options=self.num_options, at_most=self.at_most)
        if self.num_options > MOST_OPTIONS:
            raise invalid(f"at most {MOST_OPTIONS}", num_options=self.num_options)
        if self.at_most > self.num_options:
            raise invalid(f"at most num_options={self.num_options}", at_most=self.at_most)


def of_one_message(local: LocalModel) -> float | None:
    """Local loss of one message, if a person sends an independent message for each option; else None."""
    alone = local.separate if isinstance(local, TicksModel) else None
    return None if alone is None else alone.epsilon0


def loss_in_parts(local: LocalModel) -> str:
    """Local loss in words: of all messages of a person, and of one message if there are several."""
    one, total = of_one_message(local), in_digits(local.epsilon0, "exactly")
    if one is None or one == local.epsilon0:
        return f"epsilon0 = {total}"
    return f"epsilon0 = {in_digits(one, 'exactly')} of one message, {total} of all"
