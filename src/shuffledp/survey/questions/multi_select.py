"""Question with several answers: people tick all options that apply, up to a number, and shares are estimated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers.tick_shares import TickAnalyzer
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.estimates import NOT_ASKED
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.text import printable
from shuffledp.core.validate import invalid
from shuffledp.planning.tick_comparison import TickWays, compared_ways
from shuffledp.randomizers.tick_lists import check_options
from shuffledp.survey.questions.question import (
    MISSING_CATEGORY,
    AnswerColumns,
    Question,
    Read,
)
from shuffledp.survey.questions.report_forms import with_names, with_numbers
from shuffledp.survey.section import Circumstances, some_text

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS, ONE_OPTION, ALL_SETS = "columns", "one-option", "all-sets"  # the ways, kinds of randomizers
SEPARATOR = ";"
NONE_OF_THESE = "(none)"
_REPORTS_OF_OPTION = 20  # expected, of the fewest people: then hardly ever is nobody asked about an option


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiSelect(Question):
    """Choice of all options that apply; a device keeps at most ``at_most`` options.

    A person's ticks are one text (``"car;bus"``) or list in the private column, or truth values in ``option_columns``.
    """

    answers: ClassVar[str] = "multi-select"
    takes: ClassVar[str] = "multi-select"
    beside: ClassVar[tuple[str, ...]] = (
        "options",
        "at_most",
        "separator",
        "option_columns",
        "pairs",
        "local_at_most",
    )
    renamed: ClassVar[Mapping[str, str]] = {"num_options": "num_options"}
    controls: ClassVar[Mapping[str, tuple[float, float]]] = {"categories": (2, 500), "ticks": (1, 100)}
    head: ClassVar[str] = (
        'kind = "multi-select"  # people tick all that apply\n'
        "options = $options\n"
        "at_most = 2  # ticks of a person that the device keeps; fewer err less\n"
    )
    template: ClassVar[str] = (
        'kind = "columns"  # yes or no for each option by itself\n'
        "epsilon0 = 1.0  # of one message; all of a person lose up to min(2 at_most, options) times that\n"
    )
    init_kind: ClassVar[str] = "ticks"
    init_title: ClassVar[str] = "Ticks"
    keeps_missing: ClassVar[bool] = True
    may_follow: ClassVar[bool] = True
    epsilon0: float
    options: tuple[str, ...]
    at_most: int
    separator: str = SEPARATOR
    option_columns: tuple[str, ...] = ()
    pairs: bool = False
    local_at_most: float | None = None
    missing_category: bool = False
    follow_up: bool = False

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or self.separator.isspace() or self.separator.isalnum() or self.separator in "\"'":
            raise invalid("one character that is no letter, digit, blank or quotation mark", separator=self.separator)
        check_options(self.options, separator="" if self.option_columns else self.separator)
        if not self.options:
            raise invalid("one or more", options=list(self.options))
        if taken := {NONE_OF_THESE, MISSING_CATEGORY, NOT_ASKED} & set(self.options):
            raise invalid("none of the names that rows of a release have for no tick", options=sorted(taken))
        validate.integer_at_least(1, at_most=self.at_most)
        if self.at_most > len(self.options):
            raise invalid(f"at most {len(self.options)}, the number of options", at_most=self.at_most)
        for column in self.option_columns:
            some_text(option_columns=column)
        if self.option_columns and len(self.option_columns) != len(self.options):
            raise invalid(f"one for each of {len(self.options)} options", option_columns=list(self.option_columns))
        if self.pairs and self.kind != ALL_SETS:
            raise InvalidParameterError(
                f"pairs must be left out with kind={self.kind!r}: what one person says of two options is not sent "
                f"together, so that nobody can tell who ticked both. Use kind = {ALL_SETS!r}."
            )
        model = self.randomizer().model  # refused, before a collection, where it cannot be represented
        if self.local_at_most is not None and model.epsilon0 > self.local_at_most:
            beside = [repr(name) for name in self.targets[len(self.options) :]]
            counted = f" ({' and '.join(beside)} count as options)" if beside else ""
            raise InvalidParameterError(
                f"epsilon0 must be so small that all messages of a person lose at most "
                f"local_at_most={self.local_at_most:g} without the shuffle; they lose {model.epsilon0:.6g}, with "
                f"epsilon0={self.epsilon0:g} in each of at most {model.epsilon0 / self.epsilon0:.0f} that differ"
                f"{counted}."
            )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The section written by ``to_dict``; a missing ``kind`` is chosen by `usual_way`."""
        if isinstance(data, Mapping) and cls.tag_key not in data and "kind" not in data:
            data = {"kind": usual_way(data), **data}
        return super(MultiSelect, cls).from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """Keys of the table, without keys at their usual values."""
        table = super(MultiSelect, self).to_dict()
        usual = {"separator": SEPARATOR, "option_columns": [], "pairs": False, "local_at_most": None}
        return {key: value for key, value in table.items() if key not in usual or value != usual[key]}

    def within(self, circumstances: Circumstances) -> Self:
        """The section as part of a task; refused for a shuffle that may lose or add messages."""
        if circumstances.shuffler not in ("uniform", "none") or circumstances.in_strata:
            raise InvalidParameterError(
                f"[shuffler] kind must be 'uniform' or 'none', without by and weight, where people tick options; got "
                f"kind={circumstances.shuffler!r}{' with by or weight' * circumstances.in_strata}."
            )
        least = _REPORTS_OF_OPTION * (len(self.options) + 1)
        if self.kind == ONE_OPTION and circumstances.minimum_batch < least:
            raise InvalidParameterError(
                f"[release] minimum_batch must be at least {least} with kind = {ONE_OPTION!r}, so that somebody is "
                f"asked about each option; got minimum_batch={circumstances.minimum_batch}."
            )
        return self

    @property
    def num_options(self) -> int:
        """Number of options, including options for people who did not answer or were not asked."""
        return len(self.targets)

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the estimates: options, and entries for people who did not answer or were not asked."""
        return (*self.options, *[MISSING_CATEGORY] * self.missing_category, *[NOT_ASKED] * self.follow_up)

    @property
    def offered(self) -> tuple[str, ...]:
        """Options that can be ticked."""
        return self.options

    def gave(self, values: NDArray[Any], place: int) -> NDArray[np.bool_]:
        """Mask of the answers in which the option at a place is ticked."""
        return np.asarray(values[:, place], dtype=np.bool_)

    @property
    def read_from(self) -> tuple[str, ...]:
        """Columns of truth values, one for each option; empty where the private column holds lists."""
        return self.option_columns

    def require_columns(self, columns: Sequence[str]) -> None:
        """Refuse two columns that are randomized jointly."""
        if len(columns) != 1 and tuple(columns) != self.option_columns:
            raise InvalidParameterError(
                'columns must be left out where people tick options: write column = "...", and option_columns = '
                f"[...] if each option has a column of its own; got {', '.join(map(repr, columns))}."
            )

    def read(self, answers: AnswerColumns) -> Read:
        """Ticks as truth values, shape (rows, options), without the option for missing answers."""
        if not self.option_columns:
            return answers.tick_lists(0, self.options, self.separator)
        parts = [answers.tick_column(place, option) for place, option in enumerate(self.options)]
        ticks = np.stack([ticks for ticks, _, _ in parts], axis=1)
        wrong, missing = (np.logical_or.reduce([part[place] for part in parts]) for place in (1, 2))
        return ticks, wrong, missing

    def in_place_of_missing(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Ticks with one more option, ticked by exactly the people who did not answer."""
        return np.concatenate([values & ~missing[:, np.newaxis], missing[:, np.newaxis]], axis=1)

    def where_not_asked(self, values: NDArray[Any], asked: NDArray[np.bool_]) -> NDArray[Any]:
        """Ticks with one more option, ticked by exactly the people who were not asked."""
        return self.in_place_of_missing(values, ~asked)

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> TickAnalyzer:
        """The analyzer of the shares of ticks."""
        del columns
        return TickAnalyzer(level=level, pairs=self.pairs)

    def plan(self, protocol: ProtocolModel, *, delta: float, alone: bool) -> TickWays | None:
        """Comparison of all ways of asking, at the central loss of this question."""
        return None if alone else compared_ways(protocol, delta, self.local_at_most)

    def alternatives(self) -> dict[str, type[Question]]:
        """No other randomizers, since `plan` compares other ways of asking at the same central loss."""
        return {}

    def typed_answers(self, columns: Sequence[str]) -> tuple[tuple[object, ...], ...]:
        """Answers that can be typed: options joined by the separator, or yes and no for each column."""
        if self.option_columns:
            return (("yes", "no"),) * len(columns)
        return ((f"{self.separator} ".join(self.options),),)

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """One field with options to tick."""
        del columns
        return [{"ticks": [printable(each) for each in self.options], "at_most": self.at_most}]

    def page_names(self, words: Any) -> list[str]:
        """Options as the page shows them; non-answers are in the page's own ``words``."""
        return [*map(printable, self.options), *self.no_answers(words)]

    @classmethod
    def planned(cls, epsilon0: float, numbers: Mapping[str, float]) -> dict[str, Any]:
        """Keys of the table with the planner's number of invented options."""
        options = [f"option {place}" for place in range(1, int(numbers["categories"]) + 1)]
        return {"epsilon0": epsilon0, "options": options, "at_most": min(int(numbers["ticks"]), len(options))}

    def named(self, reports: "pa.Table") -> "pa.Table":
        """Reports as a file holds them: with the names of options, or of whole sets of options."""
        if self.kind == ALL_SETS:
            return with_names(reports, self.set_names)
        return with_names(reports, self.targets, column="option")

    def numbered(self, reports: "pa.Table") -> "pa.Table":
        """Reports with numbers in place of names, the inverse of `named`."""
        if self.kind == ALL_SETS:
            return with_numbers(reports, self.set_names)
        return with_numbers(reports, self.targets, column="option")

    @property
    def set_names(self) -> tuple[str, ...]:
        """Names of all sets: their options joined by the separator."""
        sets = cast(Any, self.randomizer().model).sets()
        names = np.array(self.targets, dtype=object)
        return tuple(f"{self.separator} ".join(names[row]) or NONE_OF_THESE for row in sets)

    @property
    def clipping(self) -> str:
        """A sentence about the ticks that are kept."""
        if self.at_most == len(self.options):
            return ""
        return f"Of more than {self.at_most} ticks of a person, {self.at_most} count, chosen at random."

    def with_missing_category(self) -> Self:
        """The section with one more option, the last, for people who did not answer."""
        return cast(Self, replace(cast(Any, self), missing_category=True))


def usual_way(data: Mapping[str, Any]) -> str:
    """Default kind of the question: all sets for pairs of options, otherwise columns or one option.

    One option is chosen if columns would lose more than ``local_at_most``.

    Example:
        >>> asked = {"options": ["a", "b", "c"], "at_most": 3, "epsilon0": 2.0}
        >>> usual_way(asked), usual_way({**asked, "local_at_most": 4.0}), usual_way({**asked, "pairs": True})
        ('columns', 'one-option', 'all-sets')
    """
    if data.get("pairs") is True:
        return ALL_SETS
    most, options, ticks, loss = (data.get(key) for key in ("local_at_most", "options", "at_most", "epsilon0"))
    known = isinstance(most, int | float) and isinstance(loss, int | float) and isinstance(ticks, int)
    if known and isinstance(options, list | tuple) and min(2 * cast(int, ticks), len(options)) * loss > most:  # type: ignore[operator]
        return ONE_OPTION
    return COLUMNS
