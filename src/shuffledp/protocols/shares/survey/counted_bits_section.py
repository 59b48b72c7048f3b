"""Counted bits in a task file: the table ``[protocol]`` of kind "counted-bits", and its plan."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shuffledp.core import validate
from shuffledp.core.described import ELSEWHERE
from shuffledp.core.flow import Analyzer
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.protocols.shares.analyzers.bit_counts import BitSumAnalyzer
from shuffledp.protocols.shares.planning.calibrated_bits import counted_bits
from shuffledp.protocols.shares.randomizers.counted_bits import CountedBits
from shuffledp.protocols.shares.survey.protocol_section import ProtocolSection
from shuffledp.protocols.shares.survey.two_answers import RangeOrTwoAnswers
from shuffledp.randomizers.families import Mechanism
from shuffledp.randomizers.inputs import Category
from shuffledp.survey.questions.question import AnswerColumns, Read
from shuffledp.survey.section import Circumstances, OutOfRange

if TYPE_CHECKING:
    from shuffledp.core.local_models import ProtocolModel


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedBitsPlan(FamilyPlan):
    """Plan of counted bits before a collection.

    Args:
        statistic: "sum" or "mean".
        value_bits: bits of an answer.
        coins: fair coins beside them.
        num_messages: bits that each person sends, one a message.
        imperfection: gamma of the one buffer.
        added_epsilon: what an imperfect buffer adds to epsilon.
        least_people: with fewer nothing is released, since their coins are too few.
        liars: people who may send anything.
        bias_of_one: most by which one of them moves the statistic, of as few people as may come.
        largest_bias: most by which all of them together move it.
        central_error: standard error of a trusted curator, who adds noise of the same epsilon and delta.
        local_errors: by kind, those of randomizers that need no shuffler at all, with epsilon0 = epsilon.
    """

    key: ClassVar[str] = "protocol"
    statistic: str
    value_bits: int
    coins: int
    num_messages: int
    imperfection: float
    added_epsilon: float
    least_people: int
    liars: int
    bias_of_one: float
    largest_bias: float
    central_error: float
    local_errors: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedBitsSection(RangeOrTwoAnswers, ProtocolSection):
    """Table ``[protocol]`` of counted bits: sums and means that few liars cannot spoil.

    The task sets ``circumstances``.
    """

    kind: ClassVar[str] = "counted-bits"
    mechanism: ClassVar[type[Mechanism]] = CountedBits
    answers: ClassVar[str] = "number"
    sums: ClassVar[Callable[..., Analyzer[Any]]] = BitSumAnalyzer
    no_hosts: ClassVar[str] = (
        "all bits of everybody go through one buffer, as what each of several hosts counts would tell more than the sum"
    )
    epsilon: float
    lower: float
    upper: float
    categories: tuple[Category, ...] | None = None
    statistic: str = "mean"
    error: float | None = None
    dropout_fraction: float = 0.0
    out_of_range: OutOfRange = OutOfRange.REFUSE
    circumstances: Circumstances | None = field(default=None, repr=False, metadata=ELSEWHERE)

    def __post_init__(self) -> None:
        super(CountedBitsSection, self).__post_init__()
        self.check_two()
        if self.error is not None:
            validate.positive(error=self.error)

    def to_dict(self) -> dict[str, Any]:
        """Keys of the table, without the range of two answers."""
        return self.without_ends(super(CountedBitsSection, self).to_dict())

    def solved(self, *, num_users: int, imperfection: float, delta: float) -> CountedBits:
        """Randomizer with the fewest bits and an error of at most ``error``."""
        error = self.error
        if error is not None and self.statistic == "sum":
            error /= num_users
        return counted_bits(
            num_users=num_users,
            epsilon=self.epsilon,
            delta=delta,
            lower=self.lower,
            upper=self.upper,
            error=error,
            imperfection=imperfection,
            dropout_fraction=self.dropout_fraction,
            clip=self.clips,
        )

    def read(self, answers: AnswerColumns) -> Read:
        """Column of numbers in the range, or of the numbers for the two answers."""
        return self.read_number(answers, whole=False, title=self.title)

    def plan(self, protocol: "ProtocolModel", *, delta: float, alone: bool) -> CountedBitsPlan:
        """Plan of counted bits: bits per person, influence of liars, and errors beside a curator's."""
        del alone
        model, people, gamma = self.randomizer().model, protocol.num_senders, protocol.shuffle.imperfection or 0.0
        fewest = self.least_people + protocol.fakes
        moved = model.largest_shift * self.unit_of(fewest) / fewest
        return CountedBitsPlan(
            statistic=self.statistic,
            value_bits=model.value_bits,
            coins=model.coins,
            num_messages=model.num_messages,
            imperfection=gamma,
            added_epsilon=model.value_bits * gamma,
            least_people=fewest,
            liars=protocol.fakes,
            bias_of_one=moved,
            largest_bias=protocol.fakes * moved,
            central_error=self.central_error(protocol, delta),
            local_errors=self.local_errors(people),
        )

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the estimates: a single one, for the sum or mean of all values."""
        return ("value",)
