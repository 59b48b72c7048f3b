"""Imperfect shufflers: every order of the reports is possible, and no exchange of two reports changes its chance much.

A shuffle is gamma-imperfect if for all permutations pi and pi' that are k exchanges of two items apart,
Pr[pi] <= exp(k gamma) Pr[pi']. At gamma = 0 it is the uniform shuffle.

References:
    Ghazi, Kumar, Manurangsi, Nelson, Zhou, "Differentially Private Aggregation via Imperfect Shuffling", 2023.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from shuffledp import _validate
from shuffledp.models import LabelMeaning, ShuffleModel, SwapWindows

__all__ = ["CONSTRUCTIONS", "ImperfectShuffleModel"]

CONSTRUCTIONS = ("cayley", "delay")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImperfectShuffleModel(ShuffleModel):
    """What is public about an imperfect shuffle.

    Args:
        num_users: users in the batch, 1 or more.
        imperfection: "gamma" in papers, 0 or more, finite.
        construction: how the order is drawn: "cayley", "delay", or "assumed" for a shuffler that somebody else runs
            and whose imperfection is their promise.
        num_colluding: people who may work together with the analyst, and hide nobody.
    """

    kind: ClassVar[str] = "imperfect"
    labels: ClassVar[LabelMeaning] = LabelMeaning.POSITION
    num_users: int
    imperfection: float = field()
    construction: str
    num_colluding: int = 0

    def __post_init__(self) -> None:
        _validate.integer_at_least(1, num_users=self.num_users)
        checked_imperfection(self.imperfection)
        _validate.one_of((*CONSTRUCTIONS, "assumed"), construction=self.construction)
        _validate.integer_at_least(0, num_colluding=self.num_colluding)
        if self.num_colluding > self.num_users:
            raise _validate.invalid(f"at most num_users={self.num_users}", num_colluding=self.num_colluding)

    @property
    def num_honest(self) -> int:
        """Users who do not collude."""
        return self.num_users - self.num_colluding

    def counting(self, num_honest: int) -> Self:
        """The same shuffle, of which so many people are counted.

        Given the places of the others' reports, the order of theirs is gamma-imperfect still.
        """
        return replace(self, num_colluding=self.num_users - num_honest)

    def swap_windows(self) -> tuple[SwapWindows, ...]:
        """One window of everybody honest: exchanging two people costs the imperfection, wherever they are."""
        size = max(1, self.num_honest)
        return (SwapWindows(sizes=(size,), costs=(self.imperfection,), people=self.num_users),)

    @property
    def remarks(self) -> tuple[str, ...]:
        """That the imperfection is assumed, and what remains if it is larger."""
        return (
            f"That the shuffle is no more imperfect than gamma = {self.imperfection:.6g} is a promise about the "
            "shuffler: nothing here measures it. If its true imperfection is a larger number, everything stated holds "
            "with that number in place of gamma, and what each report guarantees by itself holds in any case.",
        )


def checked_imperfection(imperfection: float) -> None:
    """Refuse what is no finite number of 0 or more."""
    _validate.nonnegative(imperfection=imperfection)
    if imperfection == float("inf"):
        raise _validate.invalid("finite: an infinite one promises nothing", imperfection=imperfection)
