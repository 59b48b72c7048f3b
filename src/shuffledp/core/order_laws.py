"""Laws of the privacy loss about the order inside groups, by group size.

They are numbers alone, and the laws of several releases add up.
"""

import math
from dataclasses import dataclass

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderLaw(Described):
    """Law that bounds one release's privacy loss about the order inside groups of similar size.

    Args:
        smallest: people in the smallest of these groups, 2 or more.
        largest: people in the largest.
        num_groups: how many groups they are.
        pure: the largest loss, infinity included.
        law: whose law bounds it: "laplace", "kendall" or "gaussian"; "" if the largest loss is all that is known.
        numbers: distances between members who change places, in units of Laplace noise; concentrations of Mallows'
            law; or the one mu of Gaussian noise.
        counts: how many pairs of members are each distance apart; or, of each concentration, the ranks from the first
            to the last member.

    Raises:
        InvalidParameterError: if a number is out of range, or there is not one count for each number.
    """

    smallest: int
    largest: int
    num_groups: int
    pure: float
    law: str = ""
    numbers: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_groups=self.num_groups)
        validate.integer_at_least(2, smallest=self.smallest)
        validate.integer_at_least(self.smallest, largest=self.largest)
        validate.one_of(("", "laplace", "kendall", "gaussian"), law=self.law)
        validate.nonnegative(pure=self.pure)
        for number, count in zip(self.numbers, self.counts, strict=False):
            validate.nonnegative(numbers=number)
            validate.integer_at_least(1, counts=count)
        if len(self.numbers) != len(self.counts) or not all(map(math.isfinite, self.numbers)):
            raise InvalidParameterError("numbers must be finite, with one of counts for each.")

    @property
    def groups(self) -> tuple[int, int, int]:
        """Smallest size, largest size and number of the groups that the law covers."""
        return self.smallest, self.largest, self.num_groups
