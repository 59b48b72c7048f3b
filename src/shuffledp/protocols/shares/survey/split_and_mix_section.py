"""Split and mix in a task file: the table ``[protocol]`` of kind "split-and-mix", and its plan."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.described import ELSEWHERE
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.validate import invalid
from shuffledp.planning.trusted_curator import TrustedCurator, trusted_curator
from shuffledp.protocols.shares.planning.certified_messages import (
    SplitAndMixCertificate,
    split_and_mix,
    split_and_mix_certificate,
)
from shuffledp.protocols.shares.randomizers.hosts import Hosts
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix
from shuffledp.protocols.shares.survey.protocol_section import HostedPlan, HostedSection
from shuffledp.protocols.shares.survey.two_answers import RangeOrTwoAnswers
from shuffledp.randomizers.families import Mechanism
from shuffledp.randomizers.inputs import Category
from shuffledp.survey.questions.question import AnswerColumns, MeanQuestion, Question, Read
from shuffledp.survey.section import Circumstances, OutOfRange

if TYPE_CHECKING:
    from shuffledp.core.local_models import ProtocolModel


_TOLERANCE = 1e-9  # relative excess of a list's sum over its limit that is accepted, unless numbers are whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolPlan(HostedPlan):
    """Plan of a protocol before a collection.

    Args:
        certificate: how many messages each person sends, what that makes certain, and what others would have said.
        least_people: with fewer nothing is released, since their noise is too little.
        wrap_probability: at most so likely a sum is decoded as a quite different one.
        noise_error: standard error of the noise alone, without the most that rounding can add.
        central_error: standard error of a trusted curator, who adds noise of the same epsilon and delta.
        local_errors: by kind, those of randomizers that need no shuffler at all, with epsilon0 = epsilon.
        hosts: of the shuffles; left out where there is one trusted host with a shuffle for each message.
    """

    key: ClassVar[str] = "protocol"
    certificate: SplitAndMixCertificate
    least_people: int
    wrap_probability: float
    noise_error: float
    central_error: float
    local_errors: dict[str, float]
    hosts: Hosts = field(default_factory=Hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAndMixSection(RangeOrTwoAnswers, HostedSection):
    """Table ``[protocol]`` of split and mix: sums and means with a trusted curator's error.

    The task sets ``circumstances``.
    """

    kind: ClassVar[str] = "split-and-mix"
    mechanism: ClassVar[type[Mechanism]] = SplitAndMix
    answers: ClassVar[str] = "number"
    epsilon: float
    lower: float
    upper: float
    statistic: str = "mean"
    categories: tuple[Category, ...] | None = None
    dimension: int = 1
    l1_bounded: bool = False
    integer: bool = False
    precision: int | None = None
    dropout_fraction: float = 0.0
    out_of_range: OutOfRange = OutOfRange.REFUSE
    circumstances: Circumstances | None = field(default=None, repr=False, metadata=ELSEWHERE)

    def __post_init__(self) -> None:
        super(SplitAndMixSection, self).__post_init__()
        validate.integer_at_least(1, dimension=self.dimension)
        self.check_two()
        if self.categories is not None:
            if self.dimension > 1:
                raise invalid("left out with two categories", dimension=self.dimension)
            object.__setattr__(self, "integer", True)
        self._check_hosts()

    def to_dict(self) -> dict[str, Any]:
        """Keys of the table, without keys on hosts at their defaults and the range of two answers."""
        return self.without_ends(super(SplitAndMixSection, self).to_dict())

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Form field for a number or one of two answers; none for lists.

        The page cannot ask for lists.
        """
        return super(SplitAndMixSection, self).page_fields(columns) if self.dimension == 1 else []

    def targets_of(self, column: str) -> tuple[str, ...]:
        """Names of the rows: the column, with the counted answer or a coordinate in brackets."""
        if self.dimension == 1:
            return super(SplitAndMixSection, self).targets_of(column)
        return MeanQuestion.targets_of(self, column)

    def solved(self, *, num_users: int, imperfection: float, delta: float) -> SplitAndMix:
        """Randomizer with the fewest certified messages."""
        keys = ("epsilon", "lower", "upper", "dropout_fraction", "dimension", "l1_bounded", "integer", "precision")
        wanted: dict[str, Any] = {key: getattr(self, key) for key in keys}
        wanted |= {"num_users": num_users, "imperfection": imperfection, "delta": delta}
        with warnings.catch_warnings():  # plans and releases warn in their own way
            warnings.simplefilter("ignore")
            return split_and_mix(**wanted, hosts=self.spread, clip=self.clips)

    def plan(self, protocol: "ProtocolModel", *, delta: float, alone: bool) -> ProtocolPlan:
        """Plan of split and mix: certificate, and errors beside a curator's and local randomizers'."""
        del alone
        model, people = self.randomizer().model, protocol.num_senders
        return ProtocolPlan(
            certificate=split_and_mix_certificate(model, protocol.shuffle),
            least_people=self.least_people + protocol.fakes,
            wrap_probability=model.wrap_probability,
            noise_error=math.sqrt(model.noise_of(people)) * self.unit_of(people) / people,
            central_error=self.central_error(protocol, delta),
            local_errors=self.local_errors(people),
            hosts=self.spread,
        )

    def curator_beside(self, protocol: "ProtocolModel", stated: Guarantee) -> TrustedCurator:
        """Trusted curator with the epsilon of the noise, nearly equal to the stated epsilon."""
        del stated
        people = protocol.num_senders
        delta = 0.0 if self.circumstances is None else self.circumstances.delta
        loss, unit = {"epsilon": self.epsilon, "delta": delta}, self.unit_of(people)
        return trusted_curator(self.randomizer().model, num_users=people, unit=unit, **loss)

    def alternatives(self) -> dict[str, type[Question]]:
        """Sections of other randomizers for numbers; none for lists."""
        return super(SplitAndMixSection, self).alternatives() if self.dimension == 1 else {}

    def read(self, answers: AnswerColumns) -> Read:
        """Column of numbers in the range, or of lists of such numbers.

        With ``l1_bounded`` the lists are of nonnegative numbers with a bounded sum.
        """
        if self.dimension == 1:
            return self.read_number(answers, whole=self.integer, title=self.title)

        def fits(vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
            fit = np.asarray(np.isfinite(vectors).all(axis=1))
            if self.integer:
                fit &= (vectors == np.rint(vectors)).all(axis=1)
            inside = np.asarray((vectors >= self.lower).all(axis=1))
            if self.l1_bounded:
                inside &= vectors.sum(axis=1) <= (self.upper if self.integer else self.upper * (1 + _TOLERANCE))
            else:
                inside &= (vectors <= self.upper).all(axis=1)
            if not self.clips:
                return fit & inside
            answers.clipped += int(np.count_nonzero(fit & ~inside))
            return fit

        return answers.lists(0, self.dimension, self._wanted, fits)

    @property
    def _wanted(self) -> str:
        """Words for the requirements on a list of numbers."""
        numbers = "whole numbers" if self.integer else "finite numbers"
        if self.clips:
            return numbers
        hint = f'(or write out_of_range = "clip" in the task\'s {self.title})'
        if self.l1_bounded:
            return f"{numbers} of 0 or more that add up to {self.upper!r} at most {hint}"
        return f"{numbers} from {self.lower!r} to {self.upper!r} {hint}"

    @property
    def clipping(self) -> str:
        """A sentence about values outside the range."""
        if self.clips and self.l1_bounded:
            return f"Lists that add up to more than {self.upper:g} are shortened, and numbers below 0 count as 0."
        return super(SplitAndMixSection, self).clipping

    @property
    def expected_values(self) -> str:
        """Assumption behind expected errors, in words: evenly spread values."""
        if self.dimension == 1:
            return super(SplitAndMixSection, self).expected_values
        if self.l1_bounded:
            return f"each coordinate of lists spread evenly over those that add up to {self.upper:g} at most"
        return f"each coordinate of lists of values spread evenly from {self.lower:g} to {self.upper:g}"

    @property
    def expected_spread(self) -> float:
        """Variance of the uniform law on the range, on the two answers, or on lists with a bounded sum."""
        if self.dimension == 1:
            return super(SplitAndMixSection, self).expected_spread
        others = self.dimension if self.l1_bounded else 1
        return (self.upper - self.lower) ** 2 * others / ((others + 1) ** 2 * (others + 2))

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the estimates: one row, or the number of each coordinate."""
        return ("value",) if self.dimension == 1 else tuple(str(coordinate) for coordinate in range(self.dimension))
