"""Question for a number in a range, whose mean is estimated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.survey.questions.question import AnswerColumns, MeanQuestion, RangeKeys, Read
from shuffledp.survey.section import OutOfRange

CLIPPING = 'out_of_range = "clip"  # answers outside the range count as its nearer end\n'
RANGE = """\
lower = 0
upper = 100  # set both: the range of answers, fixed beforehand and not read from them; a narrow one errs less
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberInRange(RangeKeys, MeanQuestion):
    """Number from ``lower`` to ``upper``, whose mean is estimated."""

    answers: ClassVar[str] = "number"
    takes: ClassVar[str] = "number"
    renamed: ClassVar[Mapping[str, str]] = {"clip": "clips"}
    controls: ClassVar[Mapping[str, tuple[float, float]]] = {"lower": (-1e9, 1e9), "upper": (-1e9, 1e9)}
    template: ClassVar[str] = (
        'kind = "laplace-mean"  # the number, with noise; where people answer on a page "rounded-mean"\n'
        f"$epsilon0{RANGE}{CLIPPING}"
    )
    init_kind: ClassVar[str] = "mean"
    init_title: ClassVar[str] = "A mean"
    epsilon0: float
    lower: float
    upper: float
    out_of_range: OutOfRange = OutOfRange.REFUSE

    def __post_init__(self) -> None:
        self.randomizer()  # refuses, before a collection, keys that cannot be represented

    def read(self, answers: AnswerColumns) -> Read:
        """Answers as numbers in the range."""
        return answers.in_range(0, self.ends, clip=self.clips, whole=False, title=self.title)

    @property
    def targets(self) -> tuple[str, ...]:
        """Name of the only row."""
        return ("value",)
