"""The table ``[randomizer]`` for numbers that each device puts into bins: a histogram with quantiles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from shuffledp.analyzers import HistogramAnalyzer
from shuffledp.analyzers.histograms import QUARTILES
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import levels_of_quantiles
from shuffledp.randomizers import Bins
from shuffledp.survey.randomizer_section import FrequencySection, RandomizerSection, members_of
from shuffledp.survey.section import OutOfRange

_WAYS = ("lower", "upper", "bins"), ("edges",)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedSection(FrequencySection):
    """Family for numbers in bins: bins of equal width from ``lower`` to ``upper``, or bins between ``edges``."""

    answers: ClassVar[str] = "bin"
    integer: ClassVar[bool] = False
    epsilon0: float
    lower: float | None = None
    upper: float | None = None
    bins: int | None = None
    edges: tuple[float, ...] | None = None
    quantiles: tuple[float, ...] = QUARTILES
    out_of_range: OutOfRange = OutOfRange.REFUSE
    missing_category: bool = False

    def __post_init__(self) -> None:
        given = tuple(name for way in _WAYS for name in way if getattr(self, name) is not None)
        if given not in _WAYS:
            raise InvalidParameterError(
                f"bins must be given by lower, upper and bins, their number, or by edges alone; got {', '.join(given)}."
            )
        levels_of_quantiles(self.quantiles)
        self.divided()
        self.require_known_sums()

    @classmethod
    def is_meant(cls, table: Mapping[str, Any]) -> bool:
        """Whether a table ``[randomizer]`` has a key about bins."""
        return "bins" in table or "edges" in table

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """The sections of all randomizers of categories, by kind."""
        return members_of(cls, BinnedSection)

    def readers(self) -> dict[str, type[RandomizerSection]]:
        """The sections of all randomizers that read the same answers, by kind."""
        return dict(BinnedSection.members())

    def to_dict(self) -> dict[str, Any]:
        """The keys of the table; of the keys that define the bins, only those given."""
        table = super(BinnedSection, self).to_dict()
        return {key: value for key, value in table.items() if value is not None}

    def divided(self) -> Bins:
        """The bins of the range."""
        if self.edges is not None:
            return Bins(self.edges, self.clips)
        if self.lower is None or self.upper is None or self.bins is None:
            raise InvalidParameterError("bins must be given by lower, upper and bins, or by edges alone; got neither.")
        return Bins.equal(lower=self.lower, upper=self.upper, number=self.bins, clip=self.clips)

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> HistogramAnalyzer:
        """The histogram analyzer, with quantiles."""
        del columns
        return HistogramAnalyzer(edges=self.divided().edges, quantiles=self.quantiles, level=level)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bins: both ends of each."""
        return self.divided().names

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of the range."""
        edges = self.divided().edges
        return edges[0], edges[-1]

    @property
    def clips(self) -> bool:
        """Whether numbers outside the range belong to the bin at its nearer end."""
        return self.out_of_range is OutOfRange.CLIP

    @property
    def clipping(self) -> str:
        """A sentence about numbers outside the range."""
        lower, upper = self.ends
        return f"Answers outside {lower:g} to {upper:g} count as the nearer end." if self.clips else ""
