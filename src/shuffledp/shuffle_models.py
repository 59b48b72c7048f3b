"""Public descriptions of shufflers: what is known of a shuffle for a known number of users."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Self, cast

from shuffledp import _validate
from shuffledp._described import Described
from shuffledp.guarantees import DSigmaPrivacy
from shuffledp.statements import Trust

__all__ = ["ColludingShuffleModel", "DummyReports", "LabelMeaning", "PositionLaw", "ShuffleModel", "SwapWindows"]


class LabelMeaning(StrEnum):
    """What the label beside a report in a view says.

    ``POSITION`` is the place of a report in the order in which an imperfect shuffle puts out its reports, which tells
    something about its sender; no two reports have the same. After several rounds, each of a shuffle of its own, it is
    ``round * num_users + place``. ``ROUND`` is for rounds whose order tells nothing.
    """

    NONE = "none"
    SLOT = "slot"
    SUBMITTER = "submitter"
    ROUND = "round"
    POSITION = "position"


@dataclass(frozen=True, slots=True, kw_only=True)
class DummyReports(Described):
    """Reports in a view that belong to nobody and cannot be told apart from the others.

    Args:
        fraction: expected share of the view's reports, 0 or more and below 1.
        standard_error: standard deviation of that share.
        value: the value that each dummy is a fresh randomization of; None if dummies average out to nothing.
        own: whether dummies come from the very randomizer that the other reports come from, whatever it is. A value of
            None is then the one that its model names, `shuffledp.models.LocalModel.dummy_value`.

    Raises:
        InvalidParameterError: for parameters outside these ranges.
    """

    fraction: float
    standard_error: float = 0.0
    value: int | None = None
    own: bool = False

    def __post_init__(self) -> None:
        _validate.probability(fraction=self.fraction, standard_error=self.standard_error)
        if self.fraction == 1:
            raise _validate.invalid("below 1, so that somebody's report is left", fraction=self.fraction)
        if self.value is not None:
            _validate.integer_at_least(0, value=self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapWindows(Described):
    """Among whom a shuffle mixes one person, and at what cost.

    Args:
        sizes: how many people a window around that person holds, that person included; from 1 on.
        costs: for each window the c with which exchanging two of its people changes the probability of every
            permutation by at most a factor exp(c); 0 or more.
        people: how many people these windows are about: all of them are mixed at least so well.
    """

    sizes: tuple[int, ...]
    costs: tuple[float, ...]
    people: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionLaw(Described):
    """Where one person's report is, as far as can be told without looking into reports.

    Args:
        weights: different probabilities of places.
        counts: how many places have each; all together have probability 1.
        whose: whose report it is, in words.
    """

    weights: tuple[float, ...]
    counts: tuple[int, ...]
    whose: str = "anybody"


class ShuffleModel(Described):
    """What is public about a shuffler for a known number of users."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    kind: ClassVar[str]
    labels: ClassVar[LabelMeaning]
    num_users: int
    num_alone: int = 0  # people whose reports are not shuffled with anybody's; a field where there may be some
    largest_group: int = 0  # people in the largest of the groups that `d_sigma` is about
    num_rounds: int = 1  # shuffles, independent of each other, one for each of a user's messages; a field where several
    arrival_share: float = 1.0  # expected share of people whose own reports are in the view, whoever they are

    @property
    def num_labels(self) -> int:
        """How many labels there are, used or not: one per user, unless they are labels of something else."""
        return self.num_users

    @property
    def keeps_places(self) -> bool:
        """True if the label of a report is its sender's number, or a slot that is near the sender's."""
        return self.labels is LabelMeaning.SLOT

    @property
    def is_oblivious(self) -> bool:
        """True if the permutation is drawn independently of the reports."""
        return True

    @property
    def is_uniform(self) -> bool:
        """True if every order of all the reports is equally likely and nothing else about origins is seen."""
        return False

    @property
    def imperfection(self) -> float | None:
        """The gamma that makes the shuffle gamma-imperfect: 0 for a uniform one, None where it is not known.

        For all permutations pi and pi' that are k exchanges of two items apart, Pr[pi] <= exp(k gamma) Pr[pi']. Of
        several rounds, it holds for each, or for all but one.
        """
        return 0.0 if self.is_uniform else None

    @property
    def exchange_privacy(self) -> tuple[float, float] | None:
        """(epsilon1, delta1): how well what is seen hides an exchange of two people's reports; None if not known.

        Whatever the reports, the exchange changes the probability of anything seen by a factor of at most
        exp(epsilon1), apart from delta1: (epsilon1, delta1)-differential obliviousness.
        """
        return None if self.imperfection is None or self.num_rounds > 1 else (self.imperfection, 0.0)

    @property
    def d_sigma(self) -> DSigmaPrivacy | None:
        """What the shuffle by itself guarantees about the order of reports inside groups; None where nothing is known.

        Distinct reports are the worst case, so that it holds whatever is in them.
        """
        return None

    def swap_windows(self) -> tuple[SwapWindows, ...]:
        """Windows of the people who are mixed least; everybody is mixed as well as somebody here. None if not known."""
        return ()

    def position_laws(self) -> tuple[PositionLaw, ...]:
        """Laws of places of which one is everybody's, or more concentrated than theirs; empty where none is known.

        They are exact given everything that is seen besides the reports: what is seen must not tell more on some days.
        """
        return (PositionLaw(weights=(1 / self.num_users,), counts=(self.num_users,)),) if self.is_uniform else ()

    def position_windows(self) -> tuple[SwapWindows, ...]:
        """As `swap_windows`, where exchanging two people in what is seen besides the reports costs so much."""
        return self.swap_windows() if self.is_oblivious and self.num_rounds == 1 else ()

    @property
    def num_honest(self) -> int:
        """People counted as honest, who hide each other."""
        return self.num_users

    def counting(self, num_honest: int) -> Self:
        """The shuffle of which only so many people are counted, where the others may tell what they know."""
        return cast(Self, cast(Any, replace)(self, num_users=num_honest))

    @property
    def dummies(self) -> DummyReports | None:
        """The dummy reports that an estimator must correct for, if there are any."""
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What every statement that relies on this shuffle must add, such as what is assumed of it and not measured."""
        return ()

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Whom people must trust for the shuffle to be what it says."""
        return (Trust.SHUFFLER, Trust.NO_COLLUSION, Trust.HONEST_USERS)


class ColludingShuffleModel(ShuffleModel):
    """A shuffle that says of how many of its people nothing is hidden, wherever they are.

    Args:
        num_colluding: people who may work together with the analyst, and hide nobody.
    """

    __slots__ = ()
    num_colluding: int

    @property
    def num_honest(self) -> int:
        """Users who do not collude."""
        return self.num_users - self.num_colluding

    def counting(self, num_honest: int) -> Self:
        """The same shuffle, of which so many people are counted: nobody knows where the others are."""
        return cast(Self, cast(Any, replace)(self, num_colluding=self.num_users - num_honest))

    def _check_colluding(self) -> None:
        _validate.integer_at_least(0, num_colluding=self.num_colluding)
        if self.num_colluding > self.num_users:
            raise _validate.invalid(f"at most num_users={self.num_users}", num_colluding=self.num_colluding)
