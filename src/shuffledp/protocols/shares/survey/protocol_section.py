"""The ``[protocol]`` section, in place of ``[randomizer]``: one class per kind, whose fields are the keys.

A protocol is a randomizer whose parameters follow from the whole task: how many people are planned for, how good the
shuffler is, and which delta is stated. So it is complete only as a part of a task.
"""

import math
import re
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.described import ELSEWHERE, without_none
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Shuffler
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import LocalModel
from shuffledp.core.validate import invalid
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.planning.mechanism_choice import ExpectedError
from shuffledp.planning.trusted_curator import TrustedCurator, trusted_curator
from shuffledp.protocols.shares.analyzers.sums import SumAnalyzer
from shuffledp.protocols.shares.planning.certified_messages import (
    SplitAndMixCertificate,
    split_and_mix,
    split_and_mix_certificate,
)
from shuffledp.protocols.shares.randomizers.hosts import Hosts
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffler
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffler
from shuffledp.protocols.shares.survey.two_answers import RangeOrTwoAnswers, with_ends
from shuffledp.randomizers.families import Mechanism
from shuffledp.randomizers.inputs import Category
from shuffledp.survey.questions.question import AnswerColumns, MeanQuestion, Question, Read
from shuffledp.survey.section import Circumstances, OutOfRange
from shuffledp.survey.shuffler_section import PlainSection

if TYPE_CHECKING:
    from shuffledp.core.local_models import ProtocolModel


STATISTICS = ("mean", "sum")
_TOLERANCE = 1e-9  # relative excess of a list's sum over its limit that is accepted, unless numbers are whole

# Parameters of the calibration that are keys of other tables of the task file.
_ELSEWHERE = {"num_users": "expected of [people]", "imperfection": "that of [shuffler]", "delta": "that of [release]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolPlan(FamilyPlan):
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

    def to_dict(self) -> dict[str, Any]:
        """All keys, but ``hosts`` at its default."""
        table = super(ProtocolPlan, self).to_dict()
        return without_none(table | {"hosts": None if self.hosts == Hosts() else table["hosts"]}, "hosts")


class ProtocolSection(MeanQuestion):
    """Choice of a protocol that splits answers into messages for several shuffles; ``kind`` names the subclass."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    title: ClassVar[str] = "[protocol]"
    key: ClassVar[str] = "protocol"
    needs_expected: ClassVar[bool] = True
    epsilon: float
    statistic: str
    circumstances: Circumstances | None

    def __post_init__(self) -> None:
        validate.one_of(STATISTICS, statistic=self.statistic)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The section written by ``to_dict``; two categories stand for a range from 0 to 1."""
        return super().from_dict(with_ends(data))

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """The sections of all kinds, sorted by kind; each is written by hand, and solved from the whole task."""
        return super(Question, cls).members()

    def within(self, circumstances: Circumstances) -> Self:
        """The section as part of a task; refuses, before a collection, parameters that cannot be certified there."""
        if circumstances.imperfection is None:
            raise InvalidParameterError(
                f"{self.title} kind {self.kind!r} must go with a shuffler that hides who sent what, and says how well: "
                f"kind 'uniform' or 'imperfect'; got kind {circumstances.shuffler!r}, which would let the analyst add "
                "up each person's messages."
            )
        placed = cast(Self, replace(cast(Any, self), circumstances=circumstances))
        if circumstances.num_users is not None:
            try:
                placed.randomizer()
            except InvalidParameterError as error:
                message = str(error)
            else:
                return placed
            found = [f"{name} is {place}" for name, place in _ELSEWHERE.items() if re.search(rf"\b{name}\b", message)]
            elsewhere = f" In the task file {', '.join(found)}." if found else ""
            raise InvalidParameterError(f"{self.title} {message}{elsewhere}")
        return placed

    def randomizer(self) -> Any:
        """The solved randomizer; refused without a planned number of people."""
        if self.circumstances is None or self.circumstances.num_users is None:
            raise InvalidParameterError(
                "[people] must say expected, the number of people planned for, in a task with a [protocol]: everybody "
                "adds a share of the noise that depends on it; got none."
            )
        return self.solved(self.circumstances)

    @abstractmethod
    def solved(self, here: Circumstances) -> Mechanism:
        """The randomizer whose parameters follow from the section and what it depends on."""

    def unit_of(self, num_users: int) -> float:
        """Factor from an average to the statistic: 1 for a mean, the number of people for a sum."""
        return float(num_users) if self.statistic == "sum" else 1.0

    @abstractmethod
    def plan(self, protocol: "ProtocolModel", *, delta: float, alone: bool) -> FamilyPlan:
        """The plan of a collection with this protocol."""

    def curator_beside(self, protocol: "ProtocolModel", stated: Guarantee) -> TrustedCurator:
        """A trusted curator with the epsilon and delta of the noise, which equal those ``stated``."""
        del stated
        return self.curator(protocol.num_senders)

    def curator(self, num_users: int) -> TrustedCurator:
        """A trusted curator who adds noise to the exact statistic, with the same epsilon and delta."""
        delta = 0.0 if self.circumstances is None else self.circumstances.delta
        loss, unit = {"epsilon": self.epsilon, "delta": delta}, self.unit_of(num_users)
        return trusted_curator(self.randomizer().model, num_users=num_users, unit=unit, **loss)

    def local_errors(self, num_users: int) -> dict[str, float]:
        """Standard errors, by kind, of randomizers that need no shuffler, with epsilon0 = epsilon."""
        found = {}
        for kind, member in self.alternatives().items():
            try:
                error = self.instead(member).expected_error(num_users)
            except InvalidParameterError:
                continue
            found[kind] = error.standard_error * self.unit_of(num_users)
        return found

    @classmethod
    def planned(cls, epsilon0: float, numbers: Mapping[str, float]) -> dict[str, Any]:
        """Keys of the table for a range; the noise does not count on the ``colluders`` among all ``people``."""
        share = math.ceil(1e6 * numbers["colluders"] / numbers["people"]) / 1e6
        dropout = {"dropout_fraction": share} if share else {}
        return {"epsilon": epsilon0, "lower": numbers["lower"], "upper": numbers["upper"], **dropout}

    def shared(self) -> dict[str, Any]:
        """Keys that another randomizer may take over: the range, and epsilon as its epsilon0."""
        return {"epsilon0": self.epsilon, **super().shared()}

    @property
    def least_people(self) -> int:
        """Fewest people whose noise suffices: those planned for, less the share that may stay away."""
        return int(self.randomizer().model.noise_users)

    @property
    def most_people(self) -> int:
        """Number of people planned for, which no release may exceed."""
        return int(self.randomizer().model.num_users)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedSection(ProtocolSection):
    """Keys on the hosts of the shuffles; keys at their default are left out of the table, for older digests' sake."""

    buffers: str = "message"
    hosts: int = 1
    colluding_hosts: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All keys, but those about hosts that are at their default."""
        defaults = {"buffers": "message", "hosts": 1, "colluding_hosts": 0}
        table = super(HostedSection, self).to_dict()
        return {key: value for key, value in table.items() if key not in defaults or value != defaults[key]}

    def _check_hosts(self) -> None:
        """Refuse hosts that cannot be; the message names the table."""
        try:
            _ = self.spread
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{self.title} {error}") from None

    @property
    def spread(self) -> Hosts:
        """The hosts, as the randomizer's model describes them."""
        return Hosts(number=self.hosts, colluding=self.colluding_hosts, buffers=self.buffers)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAndMixSection(RangeOrTwoAnswers, HostedSection):
    """Split and mix: sums and means with the error of a trusted curator; the task sets ``circumstances``."""

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
        """All keys, but those about hosts at their default, and the range of two answers."""
        return self.without_ends(super(SplitAndMixSection, self).to_dict())

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Field for a number or one of two answers; none for lists, which the page cannot ask for."""
        return super(SplitAndMixSection, self).page_fields(columns) if self.dimension == 1 else []

    def targets_of(self, column: str) -> tuple[str, ...]:
        """The column's name, with the answer that is counted, or each coordinate of a list in square brackets."""
        if self.dimension == 1:
            return super(SplitAndMixSection, self).targets_of(column)
        return MeanQuestion.targets_of(self, column)

    def solved(self, here: Circumstances) -> SplitAndMix:
        """The randomizer with the fewest messages that are certified."""
        return _solved(self, here)

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> SumAnalyzer:
        """The analyzer of the sum or the mean."""
        del columns
        return SumAnalyzer(statistic=self.statistic, level=level)

    def expected_error(self, num_users: int) -> ExpectedError:
        """Errors from the noise and the most that rounding can add, whatever the values are."""
        unit = self.unit_of(num_users)
        noise = math.sqrt(self.randomizer().model.sum_variance(num_users))
        return ExpectedError(
            at=self.expected_values,
            standard_error=noise * unit / num_users,
            sampling_error=math.sqrt(self.expected_spread / num_users) * unit,
        )

    def plan(self, protocol: "ProtocolModel", *, delta: float, alone: bool) -> ProtocolPlan:
        """The certificate for its shuffle, and its errors beside those of a curator and of local randomizers."""
        del delta, alone
        model, people = self.randomizer().model, protocol.num_senders
        return ProtocolPlan(
            certificate=split_and_mix_certificate(model, protocol.shuffle),
            least_people=self.least_people + protocol.fakes,
            wrap_probability=model.wrap_probability,
            noise_error=math.sqrt(model.noise_of(people)) * self.unit_of(people) / people,
            central_error=self.curator(people).standard_error,
            local_errors=self.local_errors(people),
            hosts=self.spread,
        )

    def alternatives(self) -> dict[str, type[Question]]:
        """Randomizers of numbers; none of lists."""
        return super(SplitAndMixSection, self).alternatives() if self.dimension == 1 else {}

    def read(self, answers: AnswerColumns) -> Read:
        """Numbers in the range; or lists of them, or of nonnegative ones with a bounded sum."""
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
        """Lists that fit, in words."""
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


@lru_cache(maxsize=64)
def _solved(section: SplitAndMixSection, here: Circumstances) -> SplitAndMix:
    if here.num_users is None or here.imperfection is None:
        raise invalid("known", num_users=here.num_users, imperfection=here.imperfection)
    with warnings.catch_warnings():  # plans and releases warn in their own way
        warnings.simplefilter("ignore")
        keys = ("epsilon", "lower", "upper", "dropout_fraction", "dimension", "l1_bounded", "integer", "precision")
        wanted: dict[str, Any] = {key: getattr(section, key) for key in keys}
        wanted |= {"num_users": here.num_users, "imperfection": here.imperfection, "delta": here.delta}
        return split_and_mix(**wanted, hosts=section.spread, clip=section.clips)


class ImperfectSection(PlainSection):
    """The table ``[shuffler]`` of an imperfect shuffler: each message of a person gets a shuffle of its own.

    Where hosts pour several messages into one buffer, that is the shuffle.
    """

    __slots__ = ()

    def in_rounds(self, shuffler: Shuffler, local: LocalModel) -> Shuffler:
        """The shuffler; for several messages of each person one shuffle for each round, where it is imperfect."""
        if local.num_messages == 1 or not isinstance(shuffler, ImperfectShuffler):
            return shuffler
        each = local.messages_per_round
        return ParallelShuffler(shuffler, local.num_messages // each, messages_per_round=each)
