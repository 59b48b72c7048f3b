"""Counted bits: a number becomes bits and fair coins, and only the number of ones is used."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.sum_models import BitSumModel
from shuffledp.core.text import in_digits
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import Columns, RangeRandomizer
from shuffledp.randomizers.inputs import check_integer_columns, check_range
from shuffledp.randomizers.sampling.coins import BATCH, round_to_grid
from shuffledp.randomness.sources import RandomSource

MOST_MESSAGES = 4096
_MOST_USERS = 10**9
_WORD_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedBitsModel(BitSumModel):
    """Public description of the counted-bits randomizer.

    Args:
        num_users: people that are planned for, n; fewer may come.
        lower: least value.
        upper: largest value.
        value_bits: bits of an answer, r; from 1.
        coins: fair coins beside them, s; from 1. All messages are 4,096 at most.
        noise_users: people whose coins suffice for what was planned; from 1 to ``num_users``.
    """

    kind: ClassVar[str] = "counted-bits"
    report_bits: ClassVar[int] = 1
    dimension = 1
    num_users: int
    lower: float
    upper: float
    value_bits: int
    coins: int
    noise_users: int

    def __post_init__(self) -> None:
        check_range(self.lower, self.upper)
        for name in ("lower", "upper"):
            object.__setattr__(self, name, float(getattr(self, name)))
        limits = {
            "num_users": _MOST_USERS,
            "value_bits": MOST_MESSAGES,
            "coins": MOST_MESSAGES,
            "noise_users": self.num_users,
        }
        for name, largest in limits.items():
            value = getattr(self, name)
            validate.integer_at_least(1, **{name: value})
            if value > largest:
                raise invalid(f"at most {largest}", **{name: value})
            object.__setattr__(self, name, int(value))
        if self.num_messages > MOST_MESSAGES:
            raise invalid(f"at most {MOST_MESSAGES} with value_bits={self.value_bits}", coins=self.coins)

    @property
    def num_messages(self) -> int:  # type: ignore[override]  # a plain attribute of the base, computed here
        """Number of messages of each person: the bits of the answer, and the coins."""
        return self.value_bits + self.coins

    @property
    def messages_per_round(self) -> int:  # type: ignore[override]
        """Number of messages of each person in the single buffer: all of them."""
        return self.num_messages

    @property
    def guarantee(self) -> LocalDP:
        """Trivial local guarantee: one person's messages before the shuffle reveal the number of ones."""
        return LocalDP(epsilon=math.inf)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remark on the largest change of the sum by one liar."""
        moved = in_digits(self.largest_shift, "at most")
        return (
            f"Whoever lies, and sends any bits, moves the sum by at most {moved} (the mean by that over the number of "
            f"people), if nobody may send more than {self.num_messages} messages.",
        )

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check that the integer column ``bit`` holds zeros and ones."""
        check_integer_columns(columns, "bit")
        bits = columns["bit"]
        if len(bits) and not (bits.min() >= 0 and bits.max() <= 1):
            raise InvalidParameterError("bit must be 0 or 1 in every report; got another one.")


class CountedBits(RangeRandomizer):
    """Randomizer for sums and means from counted bits: fair coins give privacy, and liars do little harm.

    The range is cut into ``value_bits`` steps, r of them. A number is rounded up or down to u whole steps, so that it
    is right on average, and the person sends u ones, r - u zeros and ``coins`` fair coins, each a message of its own,
    through *one* shuffle of all messages of all people. The number of ones is the sum in steps plus a binomial number.
    An answer makes ``num_messages`` reports with the column ``bit``: first the ones, then the zeros, then the coins.

    **Before the shuffle there is no privacy at all**: an observer of all messages of one person counts the ones. And
    bits of different places through shuffles of their own would tell how many people have u ones or more.

    Guarantees:
        1. The number of ones of all people tells what a binomial number of fair coins, ``coins`` of each honest person,
           tells when its mean is shifted by at most ``value_bits``: the exact curve of the theorem "counted-bits".
        2. Sums are unbiased, as far as float64 holds a value's place in the range (to 2^-51 of it).
        3. A person who sends any ``num_messages`` bits moves the sum by at most ``model.largest_shift``.

    Args:
        num_users, lower, upper, value_bits, coins: as of `CountedBitsModel`; all are public.
        noise_users: people whose coins suffice, such as the honest ones who come; None is all.
        clip: move values outside the range to its nearer end, instead of refusing them.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        docs/theorems.md, "Counted bits"; the first such protocols are of Cheu, Smith, Ullman, Zeber, Zhilyaev 2019.

    Example:
        >>> randomizer = CountedBits(num_users=1000, lower=0, upper=100, value_bits=4, coins=2)
        >>> reports = randomizer.randomize([25.0, 100.0])
        >>> reports["bit"].reshape(2, 6)[:, :4].tolist()
        [[1, 0, 0, 0], [1, 1, 1, 1]]
    """

    model_type: ClassVar[type[Any]] = CountedBitsModel
    section: ClassVar[str] = "protocol"
    shown: ClassVar[tuple[str, ...]] = ("num_users", "lower", "upper", "value_bits", "coins")
    best_for: ClassVar[str] = "sums that few liars cannot spoil"
    model: CountedBitsModel

    def __init__(
        self,
        *,
        num_users: int,
        lower: float,
        upper: float,
        value_bits: int,
        coins: int,
        noise_users: int | None = None,
        clip: bool = False,
    ) -> None:
        self.model = CountedBitsModel(
            num_users=num_users,
            lower=lower,
            upper=upper,
            value_bits=value_bits,
            coins=coins,
            noise_users=num_users if noise_users is None else noise_users,
        )
        self.clip = clip

    @property
    def num_messages(self) -> int:
        """Number of messages of each person."""
        return self.model.num_messages

    def _randomized(self, numbers: NDArray[np.float64], source: RandomSource) -> Columns:
        model = self.model
        if len(numbers) > model.num_users:
            raise InvalidParameterError(f"values must be of at most num_users={model.num_users}; got {len(numbers)}.")
        ends = {"lower": model.lower, "upper": model.upper}
        steps = round_to_grid(numbers, **ends, num_steps=model.value_bits, source=source)
        bits = np.empty((len(numbers), model.num_messages), dtype=np.uint8)
        places = np.arange(model.value_bits)
        rows = max(1, BATCH // model.num_messages)
        for start in range(0, len(numbers), rows):
            batch = bits[start : start + rows]
            np.less(places, steps[start : start + rows, np.newaxis], out=batch[:, : model.value_bits].view(np.bool_))
            batch[:, model.value_bits :] = _coins(len(batch) * model.coins, source).reshape(len(batch), -1)
        steps.fill(0)
        return {"bit": bits.reshape(-1)}


def _coins(count: int, source: RandomSource) -> NDArray[np.uint8]:
    """Fair coins: the bits of random words."""
    words = source.words(-(-count // (8 * _WORD_BYTES)))
    coins = np.unpackbits(words.view(np.uint8), count=count)
    words.fill(0)
    return coins
