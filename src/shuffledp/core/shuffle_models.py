"""Public descriptions of shufflers, each for a known number of users."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Self, cast

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.statement_terms import Trust
from shuffledp.core.text import factor_in_digits, in_digits

NOTHING_SHUFFLED = "Nothing is shuffled, so there is no amplification: only the local guarantee remains."


class LabelMeaning(StrEnum):
    """Meaning of the label that is released with a report.

    ``POSITION`` is the place, ``round * num_users + place`` of several rounds, in the output order of an imperfect
    shuffle, which tells something about its sender. ``ROUND`` is for rounds whose order tells nothing, and ``STRATUM``
    for people with a public value in common who are shuffled with each other only.
    """

    NONE = "none"
    SLOT = "slot"
    SUBMITTER = "submitter"
    ROUND = "round"
    POSITION = "position"
    STRATUM = "stratum"

    @property
    def plural(self) -> str:
        """Plural of the label's name."""
        return "strata" if self is LabelMeaning.STRATUM else f"{self}s"

    @property
    def order_of_reports(self) -> str:
        """Words for the order of the released reports, by the meaning of their labels."""
        return {
            LabelMeaning.NONE: "in an order that tells nothing",
            LabelMeaning.SUBMITTER: "each beside whoever handed it in",
            LabelMeaning.POSITION: "in the order in which the shuffler put them out",
        }.get(self, f"each {'beside its place' if self is LabelMeaning.SLOT else f'marked with its {self}'}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DummyReports(Described):
    """Dummy reports of a view: they belong to no person and look like the other reports.

    Args:
        fraction: expected share of the view's reports, 0 or more and below 1.
        standard_error: standard deviation of that share.
        value: the value that each dummy is a fresh randomization of; None if dummies average out to nothing.
        own: whether dummies come from the other reports' randomizer; then None is its model's ``dummy_value``.

    Raises:
        InvalidParameterError: for parameters outside these ranges.
    """

    fraction: float
    standard_error: float = 0.0
    value: int | None = None
    own: bool = False

    def __post_init__(self) -> None:
        validate.probability(fraction=self.fraction, standard_error=self.standard_error)
        if self.fraction == 1:
            raise validate.invalid("below 1, so that one person's report is left", fraction=self.fraction)
        if self.value is not None:
            validate.integer_at_least(0, value=self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapWindows(Described):
    """Windows of people around one person, with the cost of exchanging two people of a window.

    A shuffle mixes the person among the people of a window, the person included. Within each window, of one of these
    ``sizes``, exchanging two people changes the probability of every permutation by at most a factor exp(c), c being
    its cost; this many ``people`` are mixed at least as well.
    """

    sizes: tuple[int, ...]
    costs: tuple[float, ...]
    people: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionLaw(Described):
    """Distribution of the position of one person's report, given everything except reports' contents.

    ``weights`` are the distinct probabilities of places, ``counts`` how many places have each, and ``whose`` is words.
    """

    weights: tuple[float, ...]
    counts: tuple[int, ...]
    whose: str = "anybody"


class ShuffleModel(Described):
    """Base of the public descriptions of shufflers, for a known number of users."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    kind: ClassVar[str]
    labels: ClassVar[LabelMeaning]
    num_users: int
    num_alone: int = 0  # people whose reports are not shuffled with anybody's; a field where there may be some
    largest_group: int = 0  # people in the largest of the groups that `d_sigma` is about
    num_rounds: int = 1  # shuffles, independent of each other, one for each of a user's messages; a field where several
    messages_per_round: int = 1  # of each user, in an order that is seen; a field where there may be several
    arrival_share: float = 1.0  # expected share of people whose own reports are in the view
    has_swap_costs: ClassVar[bool] = True  # whether theorems on costs of exchanging two people concern it
    design_effect: float = 1.0  # factor by which unequal weights of people multiply the variance of an estimate

    @property
    def num_labels(self) -> int:
        """Number of possible labels: one per user, unless labels have another meaning.

        Labels without reports count too.
        """
        return self.num_users

    def num_reports(self, num_messages: int) -> range:
        """Possible numbers of reports in the view, if each user sends ``num_messages`` reports."""
        sent = self.num_users * num_messages
        return range(sent, sent + 1)

    @property
    def keeps_places(self) -> bool:
        """True if a report's label is its sender's number, or a slot near this number."""
        return self.labels is LabelMeaning.SLOT

    @property
    def worst_off(self) -> "ShuffleModel":
        """Shuffle of the least hidden people alone; the whole shuffle if it has no parts."""
        return self

    @property
    def in_words(self) -> str:
        """Name of the shuffle with its article."""
        return f"{'an' if self.kind[0] in 'aeio' else 'a'} {self.kind} shuffle"

    @property
    def step(self) -> tuple[str, str]:
        """Name of the shuffling stage, and words for the way of shuffling."""
        return "Shuffled", f"by {self.in_words}"

    @property
    def passage(self) -> str:
        """Words for the path of the reports, such as "through uniform"."""
        return f"through {self.kind}"

    def released_in_words(self, released: int, senders: int) -> str:
        """Sentence on the number of released reports, or of released messages and their senders."""
        what = "reports" if released == senders else f"messages of {senders:,} people"
        return f"{released:,} {what} released."

    def beside_reports(self, columns: str) -> str:
        """Sentence on the data released with each report, including public ``columns``; "" for none."""
        if self.labels is LabelMeaning.NONE:
            return ""
        if self.labels is LabelMeaning.POSITION:
            return "The reports are released in the order in which the shuffler put them out."
        return f"Each report is released beside the number of its {self.labels}{columns and f' and {columns}'}."

    @property
    def leaking_order(self) -> str:
        """Sentence on the information in the order of released reports; "" if the order has none."""
        gamma = self.imperfection
        if self.labels is not LabelMeaning.POSITION or not gamma:
            return ""
        return (
            "The order of the released reports is not quite uniform: exchanging two people’s "
            f"reports changes the probability of an order by a factor of at most {factor_in_digits(gamma, 'at most')} "
            f"(gamma = {in_digits(gamma, 'at most')}). That is assumed of the shuffler, and not measured."
        )

    @property
    def is_oblivious(self) -> bool:
        """True if the permutation is drawn independently of the reports."""
        return True

    @property
    def is_uniform(self) -> bool:
        """True if all orders of all reports are equally likely and nothing else about origins is seen."""
        return False

    @property
    def imperfection(self) -> float | None:
        """Parameter gamma of a gamma-imperfect shuffle: 0 for a uniform shuffle, None if unknown.

        For all permutations pi and pi' that are k exchanges of two items apart, Pr[pi] <= exp(k gamma) Pr[pi']. Of
        several rounds, it holds for each, or for all but one; of several messages of each user, for all of them.
        """
        return 0.0 if self.is_uniform else None

    @property
    def exchange_privacy(self) -> tuple[float, float] | None:
        """(epsilon1, delta1)-differential obliviousness; None if not known.

        Exchanging two people's reports changes the probability of anything seen by a factor of at most exp(epsilon1),
        apart from delta1, whatever the reports.
        """
        several = self.num_rounds > 1 or self.messages_per_round > 1
        return None if self.imperfection is None or several else (self.imperfection, 0.0)

    @property
    def d_sigma(self) -> DSigmaPrivacy | None:
        """Guarantee of the shuffle alone about the order of reports inside groups; None where nothing is known.

        Distinct reports are the worst case, so that it holds whatever is in them.
        """
        return None

    def swap_windows(self) -> tuple[SwapWindows, ...]:
        """Windows of the people whom the shuffle mixes least; empty if unknown.

        Every person is mixed at least as well as in one of them.
        """
        return ()

    def position_laws(self) -> tuple[PositionLaw, ...]:
        """Distributions of positions: for each person, at least one majorizes the person's own.

        Empty if unknown. They are conditional on everything that is seen besides the reports.
        """
        return (PositionLaw(weights=(1 / self.num_users,), counts=(self.num_users,)),) if self.is_uniform else ()

    def position_windows(self) -> tuple[SwapWindows, ...]:
        """Windows of `swap_windows`, with costs that also cover everything seen besides the reports."""
        return self.swap_windows() if self.is_oblivious and self.num_rounds == 1 else ()

    @property
    def num_honest(self) -> int:
        """Number of people counted as honest, who hide each other."""
        return self.num_users

    @property
    def num_untrusted(self) -> int:
        """Number of users who are not counted as honest: they hide nobody, and may tell what they know."""
        return self.num_users - self.num_honest

    def counting(self, num_honest: int) -> Self:
        """Copy of this shuffle with only ``num_honest`` people counted as honest.

        The others may tell what they know.
        """
        return cast(Self, cast(Any, replace)(self, num_users=num_honest))

    def of_people(self, num_users: int) -> Self:
        """Copy of this shuffle for ``num_users`` people."""
        return cast(Self, cast(Any, replace)(self, num_users=num_users))

    def with_fakes(self, fakes: int) -> Self:
        """Copy of this shuffle in which ``fakes`` of the counted people are fake senders."""
        return self.counting(self.num_honest - fakes)

    @property
    def dummies(self) -> DummyReports | None:
        """Dummy reports that an estimator must correct for; None if there are none."""
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks for every statement about this shuffle, such as an assumption that is not measured."""
        return ()

    @property
    def mixing(self) -> tuple[str, ...]:
        """Remarks for central statements: who is mixed with whom, and risks outside epsilon."""
        return ()

    def obstacle(self, epsilon0: float) -> str | None:
        """Reason why the shuffle cannot amplify at this local loss, despite any theorem; None if it may."""
        if self.num_alone == self.num_users:
            return NOTHING_SHUFFLED
        cost, _ = self.exchange_privacy or (0.0, 0.0)
        if cost == 0 or cost < epsilon0:
            return None
        name = "epsilon1" if self.imperfection is None else "gamma"
        return (
            f"This shuffle buys nothing: its {name} = {in_digits(cost, 'exactly')} is no less than epsilon0 = "
            f"{in_digits(epsilon0, 'exactly')}, the most that one report by itself tells."
        )

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Trust assumptions of the shuffle."""
        return (Trust.SHUFFLER, Trust.NO_COLLUSION, Trust.HONEST_USERS)


class ColludingShuffleModel(ShuffleModel):
    """Base of shuffles with ``num_colluding`` people who may help the analyst and hide nobody else."""

    __slots__ = ()
    num_colluding: int

    @property
    def num_honest(self) -> int:
        """Number of users who do not collude."""
        return self.num_users - self.num_colluding

    def counting(self, num_honest: int) -> Self:
        """Copy of this shuffle in which all people except ``num_honest`` collude.

        A changed count drops the identities of the colluders.
        """
        return cast(Self, cast(Any, replace)(self, num_colluding=self.num_users - num_honest))

    def of_people(self, num_users: int) -> Self:
        """Copy of this shuffle for ``num_users`` people; colluders are kept, at most all people but one."""
        fewer = min(self.num_colluding, max(num_users - 1, 0))
        return cast(Self, cast(Any, replace)(self, num_users=num_users, num_colluding=fewer))

    def _check_colluding(self) -> None:
        validate.integer_at_least(0, num_colluding=self.num_colluding)
        if self.num_colluding > self.num_users:
            raise validate.invalid(f"at most num_users={self.num_users}", num_colluding=self.num_colluding)
