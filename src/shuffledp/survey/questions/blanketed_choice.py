"""Question with one answer out of many, whose response hides among everybody's random messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from shuffledp.analyzers import BlanketAnalyzer
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import ProtocolModel
from shuffledp.planning.blanket_plan import BlanketPlan, blanket_errors, blanket_plan
from shuffledp.planning.mechanism_choice import ExpectedError
from shuffledp.planning.trusted_curator import TrustedCurator, curator_beside
from shuffledp.randomizers import BlanketedResponseModel
from shuffledp.survey.questions.question import Question
from shuffledp.survey.questions.report_forms import with_names, with_numbers
from shuffledp.survey.questions.single_choice import SingleChoice

if TYPE_CHECKING:
    import pyarrow as pa

RESPONSE, BLANKET = "k-rr", "blanket"  # how a task file names it: kind = "k-rr", blanket = true
EMPTY = "(no message)"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlanketedChoice(SingleChoice):
    """Choice of one of many categories, by k-RR hidden among uniformly random messages.

    Each person sends ``blanket_messages`` of them.
    """

    answers: ClassVar[str] = "blanketed"
    takes: ClassVar[str] = "blanketed"
    template: ClassVar[str] = ""
    num_lists: ClassVar[int] = 0
    init_kind: ClassVar[str] = ""
    init_title: ClassVar[str] = ""
    may_follow: ClassVar[bool] = False
    needs_uniform: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super(BlanketedChoice, self).__post_init__()
        if EMPTY in self.targets:
            raise InvalidParameterError(f"categories must not have {EMPTY!r}, the name of an empty message.")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The section written by ``to_dict``."""
        if isinstance(data, Mapping) and BLANKET in data:
            if data[BLANKET] is not True or data.get(cls.tag_key) != RESPONSE:
                raise InvalidParameterError(
                    f'[randomizer] blanket must be true, beside kind = "{RESPONSE}", or left out; got '
                    f"blanket={data[BLANKET]!r} beside kind={data.get(cls.tag_key)!r}."
                )
            kind = BlanketedResponseModel.kind
            data = {**{key: value for key, value in data.items() if key != BLANKET}, cls.tag_key: kind}
        return super(BlanketedChoice, cls).from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """All keys of the table, as a task file has them."""
        table = super(BlanketedChoice, self).to_dict()
        return {**table, self.tag_key: RESPONSE, BLANKET: True}

    def analyzer(self, *, level: float, columns: Sequence[str]) -> BlanketAnalyzer:  # type: ignore[override]
        """The analyzer of responses under a blanket."""
        del columns
        return BlanketAnalyzer(level=level)

    @property
    def model(self) -> BlanketedResponseModel:
        """The model of the randomizer."""
        return cast(BlanketedResponseModel, self.randomizer().model)

    def expected_error(self, num_users: int) -> ExpectedError:
        """Expected errors of a category's share, where all categories are equally common."""
        return blanket_errors(self.model, num_users)

    def curator_beside(self, protocol: ProtocolModel, stated: Guarantee) -> TrustedCurator | None:
        """A trusted curator of the shares of the categories."""
        return curator_beside(replace(protocol, local=self.model.response), stated)

    def plan(self, protocol: ProtocolModel, *, delta: float, alone: bool) -> BlanketPlan | None:
        """Plan of the blanket messages needed at several losses; None if ``alone``."""
        return None if alone else blanket_plan(protocol, delta)

    def alternatives(self) -> dict[str, type[Question]]:
        """No other randomizers, since none is comparable at the same local loss."""
        return {}

    @classmethod
    def planned(cls, epsilon0: float, numbers: Mapping[str, float]) -> dict[str, Any]:
        """Keys of the table with the planner's number of invented categories, and one message of each person."""
        return {**super(BlanketedChoice, cls).planned(epsilon0, numbers), "blanket_messages": 1.0}

    def named(self, reports: "pa.Table") -> "pa.Table":
        """Reports as a file holds them, with categories by name."""
        return with_names(reports, (*self.targets, EMPTY))

    def numbered(self, reports: "pa.Table") -> "pa.Table":
        """Reports with category numbers in place of names, the inverse of `named`."""
        return with_numbers(reports, (*self.targets, EMPTY))
