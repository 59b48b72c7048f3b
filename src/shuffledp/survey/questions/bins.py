"""Question for a number that each device puts into a bin: a histogram with quantiles is estimated."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from shuffledp.analyzers import HistogramAnalyzer
from shuffledp.analyzers.histograms import QUARTILES
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text import edge_names
from shuffledp.core.validate import levels_of_quantiles
from shuffledp.randomizers import Bins
from shuffledp.survey.questions.number import CLIPPING, RANGE
from shuffledp.survey.questions.question import AnswerColumns, CategoryQuestion, RangeKeys, Read
from shuffledp.survey.questions.single_choice import TEMPLATE
from shuffledp.survey.section import OutOfRange

_WAYS = ("lower", "upper", "bins"), ("edges",)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberInBins(RangeKeys, CategoryQuestion):
    """Number in one of several bins, of equal width from ``lower`` to ``upper`` or between ``edges``."""

    answers: ClassVar[str] = "bin"
    template: ClassVar[str] = f"{TEMPLATE}{RANGE}bins = 10  # each answer becomes the bin that it falls in\n{CLIPPING}"
    init_kind: ClassVar[str] = "histogram"
    init_title: ClassVar[str] = "A histogram"
    fits_many_numbers: ClassVar[bool] = True
    may_follow: ClassVar[bool] = True
    epsilon0: float
    lower: float | None = None
    upper: float | None = None
    bins: int | None = None
    edges: tuple[float, ...] | None = None
    quantiles: tuple[float, ...] = QUARTILES
    out_of_range: OutOfRange = OutOfRange.REFUSE
    missing_category: bool = False
    follow_up: bool = False

    def __post_init__(self) -> None:
        given = tuple(name for way in _WAYS for name in way if getattr(self, name) is not None)
        if given not in _WAYS:
            raise InvalidParameterError(
                f"bins must be given by lower, upper and bins, their number, or by edges alone; got {', '.join(given)}."
            )
        levels_of_quantiles(self.quantiles)
        self.divided()
        self.require_known_sums()

    def to_dict(self) -> dict[str, Any]:
        """Keys of the question's table; of the keys that define the bins, only those that are given."""
        table = super(NumberInBins, self).to_dict()
        return {key: value for key, value in table.items() if value is not None}

    def divided(self) -> Bins:
        """The bins of the range."""
        if self.edges is not None:
            return Bins(self.edges, self.clips)
        if self.lower is None or self.upper is None or self.bins is None:
            raise InvalidParameterError("bins must be given by lower, upper and bins, or by edges alone; got neither.")
        return Bins.equal(lower=self.lower, upper=self.upper, number=self.bins, clip=self.clips)

    def read(self, answers: AnswerColumns) -> Read:
        """Bin numbers of the answers."""
        numbers, wrong, missing = answers.in_range(0, self.ends, clip=self.clips, whole=False, title=self.title)
        return self.divided().of(np.where(wrong | missing, self.ends[0], numbers)), wrong, missing

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> HistogramAnalyzer:
        """The histogram analyzer, with quantiles."""
        del columns
        return HistogramAnalyzer(edges=self.divided().edges, quantiles=self.quantiles, level=level)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bins, each made of both ends of a bin."""
        return self.divided().names

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of the range."""
        edges = self.divided().edges
        return edges[0], edges[-1]

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Field for a number in the range, which the page turns into the number of a bin."""
        (field,) = super(NumberInBins, self).page_fields(columns)
        return [{**field, "edges": list(self.divided().edges)}]

    def page_names(self, words: Any) -> list[str]:
        """Names of the bins in the page's words."""
        edges = [words.written(each) for each in edge_names(self.divided().edges)]
        named = [words.told("bin", lower=lower, upper=upper) for lower, upper in pairwise(edges)]
        return [*named, *super(NumberInBins, self).page_names(words)[len(named) :]]
