"""Parallel shuffling: each of a user's messages goes through a shuffle of its own, independent of all others."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from shuffledp import _validate
from shuffledp.models import LabelMeaning, ShuffleModel, SwapWindows
from shuffledp.statements import Trust

__all__ = ["ParallelShuffleModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelShuffleModel(ShuffleModel):
    """What is public about several independent rounds, each a shuffle of one message from everybody.

    Args:
        round: the shuffle of one round: a uniform or an imperfect one.
        num_rounds: 1 or more.
    """

    kind: ClassVar[str] = "parallel"
    round: ShuffleModel
    num_rounds: int = field()

    def __post_init__(self) -> None:
        _validate.integer_at_least(1, num_rounds=self.num_rounds)
        _validate.instance_of(ShuffleModel, round=self.round)
        if self.round.imperfection is None or self.round.num_rounds != 1:
            raise _validate.invalid("one shuffle whose imperfection is known", round=self.round.kind)

    @property
    def num_users(self) -> int:  # type: ignore[override]
        """Users in each round."""
        return self.round.num_users

    @property
    def labels(self) -> LabelMeaning:  # type: ignore[override]
        """The round, where the order in it tells nothing; else round and place."""
        return LabelMeaning.ROUND if self.round.is_uniform else LabelMeaning.POSITION

    @property
    def num_labels(self) -> int:
        """One for each round, or for each place in each."""
        return self.num_rounds * (1 if self.round.is_uniform else self.num_users)

    @property
    def is_uniform(self) -> bool:
        """True of a single uniform round: of several it is seen which one a message was in."""
        return self.num_rounds == 1 and self.round.is_uniform

    @property
    def imperfection(self) -> float | None:
        """That of one round."""
        return self.round.imperfection

    def swap_windows(self) -> tuple[SwapWindows, ...]:
        """Those of the round if there is one; several messages of one person are not covered by them."""
        return self.round.swap_windows() if self.num_rounds == 1 else ()

    @property
    def num_honest(self) -> int:
        """People counted as honest in each round."""
        return self.round.num_honest

    def counting(self, num_honest: int) -> Self:
        """The same rounds, of which so many people are counted."""
        return replace(self, round=self.round.counting(num_honest))

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Whom people must trust for one round, and that no one links the rounds."""
        return self.round.trust

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is assumed of each round, and that they are independent."""
        independent = (
            f"The {self.num_rounds} rounds are assumed to be shuffled independently of each other and of the answers.",
        )
        return (*self.round.remarks, *(independent if self.num_rounds > 1 else ()))
