"""The ``[protocol]`` section, in place of ``[randomizer]``: one class per kind, whose fields are the keys.

A protocol is a randomizer whose parameters follow from the whole task: how many people are planned for, how good the
shuffler is, and which delta is stated. So it is complete only as a part of a task.
"""

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from shuffledp.accounting import account
from shuffledp.core import validate
from shuffledp.core.described import without_none
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Analyzer, Shuffler
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import LocalModel
from shuffledp.core.validate import invalid
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.planning.mechanism_choice import ExpectedError
from shuffledp.planning.trusted_curator import TrustedCurator, curator_beside
from shuffledp.protocols.shares.analyzers.sums import SumAnalyzer
from shuffledp.protocols.shares.randomizers.hosts import Hosts
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffler
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffler
from shuffledp.protocols.shares.survey.two_answers import with_ends
from shuffledp.randomizers.families import Mechanism
from shuffledp.survey.questions.question import MeanQuestion, Question
from shuffledp.survey.section import Circumstances
from shuffledp.survey.shuffler_section import PlainSection

if TYPE_CHECKING:
    from shuffledp.core.local_models import ProtocolModel


STATISTICS = ("mean", "sum")
HOST_KEYS: Mapping[str, Any] = {"buffers": "message", "hosts": 1, "colluding_hosts": 0}  # with their defaults

# Parameters of the calibration that are keys of other tables of the task file.
_ELSEWHERE = {"num_users": "expected of [people]", "imperfection": "that of [shuffler]", "delta": "that of [release]"}


class ProtocolSection(MeanQuestion):
    """Table ``[protocol]``: a protocol that splits answers into messages; ``kind`` names the subclass."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    title: ClassVar[str] = "[protocol]"
    key: ClassVar[str] = "protocol"
    needs_expected: ClassVar[bool] = True
    needs_apart: ClassVar[bool] = True
    sums: ClassVar[Callable[..., Analyzer[Any]]] = SumAnalyzer
    no_hosts: ClassVar[str] = ""  # why there cannot be several, in words
    epsilon: float
    statistic: str
    circumstances: Circumstances | None

    def __post_init__(self) -> None:
        validate.one_of(STATISTICS, statistic=self.statistic)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Section from a table, in which two categories mean a range from 0 to 1.

        Keys about hosts are refused with the reason where there can be none.
        """
        named = isinstance(data, Mapping) and cls.tag_key in data
        member = cast(type[ProtocolSection], cls._member(data[cls.tag_key]) if named else cls)
        for key in HOST_KEYS if member.no_hosts else ():
            if key in data:
                raise InvalidParameterError(
                    f"{cls.title} {key} must be left out of kind {member.kind!r}: {member.no_hosts}; got "
                    f"{key}={data[key]!r}."
                )
        return super().from_dict(with_ends(data))

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """Section classes by kind, sorted.

        No section is generated from a registry, since each is solved from a task.
        """
        return super(Question, cls).members()

    def within(self, circumstances: Circumstances) -> Self:
        """Section as part of a task; parameters that cannot be certified for the task are refused.

        So they are refused before a collection.
        """
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
        return _solved(self, self.circumstances)

    @abstractmethod
    def solved(self, *, num_users: int, imperfection: float, delta: float) -> Mechanism:
        """Randomizer with parameters solved from the section, the number of users, imperfection and delta."""

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> Analyzer[Any]:
        """Analyzer of the sum or mean."""
        del columns
        return self.sums(statistic=self.statistic, level=level)

    @property
    @abstractmethod
    def expected_values(self) -> str:
        """Assumption behind expected errors, in words."""

    @property
    @abstractmethod
    def expected_spread(self) -> float:
        """Variance of one value under the assumption of `expected_values`."""

    def expected_error(self, num_users: int) -> ExpectedError:
        """Expected errors, from the noise and the largest error that rounding can add for any values."""
        unit = self.unit_of(num_users)
        noise = math.sqrt(self.randomizer().model.sum_variance(num_users))
        return ExpectedError(
            at=self.expected_values,
            standard_error=noise * unit / num_users,
            sampling_error=math.sqrt(self.expected_spread / num_users) * unit,
        )

    def unit_of(self, num_users: int) -> float:
        """Factor from an average to the statistic: 1 for a mean, the number of people for a sum."""
        return float(num_users) if self.statistic == "sum" else 1.0

    @abstractmethod
    def plan(self, protocol: "ProtocolModel", *, delta: float, alone: bool) -> FamilyPlan:
        """The plan of a collection with this protocol."""

    def curator_beside(self, protocol: "ProtocolModel", stated: Guarantee) -> TrustedCurator | None:
        """Trusted curator with the ``stated`` epsilon and delta."""
        return curator_beside(protocol, stated, unit=self.unit_of(protocol.num_senders))

    def central_error(self, protocol: "ProtocolModel", delta: float) -> float:
        """Standard error of a trusted curator at the protocol's epsilon and delta.

        Infinity without a curator.
        """
        curator = self.curator_beside(protocol, account(protocol, delta=delta).guarantee)
        return math.inf if curator is None else curator.standard_error

    def local_errors(self, num_users: int) -> dict[str, float]:
        """Standard errors, by kind, of local randomizers with epsilon0 = epsilon."""
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
        """Keys of the table for a range, with enough noise even without the ``colluders``.

        The ``colluders`` are counted among all ``people``.
        """
        share = math.ceil(1e6 * numbers["colluders"] / numbers["people"]) / 1e6
        dropout = {"dropout_fraction": share} if share else {}
        return {"epsilon": epsilon0, "lower": numbers["lower"], "upper": numbers["upper"], **dropout}

    def shared(self) -> dict[str, Any]:
        """Keys for another randomizer: the range, and epsilon as its epsilon0."""
        return {"epsilon0": self.epsilon, **super().shared()}

    @property
    def least_people(self) -> int:
        """Fewest people whose noise is enough: the planned number minus the share that may stay away."""
        return int(self.randomizer().model.noise_users)

    @property
    def most_people(self) -> int:
        """Largest number of people in a release: the planned number."""
        return int(self.randomizer().model.num_users)


@lru_cache(maxsize=64)
def _solved(section: ProtocolSection, here: Circumstances) -> Mechanism:
    if here.num_users is None or here.imperfection is None:
        raise invalid("known", num_users=here.num_users, imperfection=here.imperfection)
    return section.solved(num_users=here.num_users, imperfection=here.imperfection, delta=here.delta)


class HostedPlan(FamilyPlan):
    """Plan of shares for hosts."""

    __slots__ = ()
    hosts: Hosts
    least_people: int

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of the fields, without ``hosts`` at its default."""
        table = super().to_dict()
        return without_none(table | {"hosts": None if self.hosts == Hosts() else table["hosts"]}, "hosts")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedSection(ProtocolSection):
    """Keys on the hosts of the shuffles, left out of the table at their defaults.

    Digests of older tasks stay the same in this way.
    """

    buffers: str = "message"
    hosts: int = 1
    colluding_hosts: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Keys of the table, without keys on hosts at their defaults."""
        table = super(HostedSection, self).to_dict()
        return {key: value for key, value in table.items() if key not in HOST_KEYS or value != HOST_KEYS[key]}

    @classmethod
    def planned(cls, epsilon0: float, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Keys of the table for a range, with the keys on hosts that differ from their defaults."""
        usual = {each.name: each.default for each in fields(HostedSection) if each.name in numbers}
        hosts = {name: numbers[name] for name, default in usual.items() if numbers[name] != default}
        return {**super(HostedSection, cls).planned(epsilon0, numbers), **hosts}

    def _check_hosts(self) -> None:
        """Refuse impossible hosts, with a message that names the table."""
        try:
            _ = self.spread
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{self.title} {error}") from None

    @property
    def spread(self) -> Hosts:
        """Hosts of the shuffles, in the form that the randomizer's model uses."""
        return Hosts(number=self.hosts, colluding=self.colluding_hosts, buffers=self.buffers)


class ImperfectSection(PlainSection):
    """Table ``[shuffler]`` of an imperfect shuffler, with a separate shuffle for each message of a person.

    Where hosts pour several messages into one buffer, that is the shuffle.
    """

    __slots__ = ()
    in_words: ClassVar[str] = "an imperfect shuffle"

    def in_rounds(self, shuffler: Shuffler, local: LocalModel) -> Shuffler:
        """Shuffler of these reports; if imperfect, with one round for each message of a person."""
        if local.num_messages == 1 or not isinstance(shuffler, ImperfectShuffler):
            return shuffler
        each = local.messages_per_round
        return ParallelShuffler(shuffler, local.num_messages // each, messages_per_round=each)
