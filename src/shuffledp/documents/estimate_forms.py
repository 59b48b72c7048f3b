"""Forms in which estimates are shown: rows with a picture, a histogram, or a cross table.

A new kind of estimate is a form here and a line in ``FORMS``; whoever shows estimates asks their form.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from shuffledp.analyzers import CrossTable, Histogram
from shuffledp.core.estimates import Estimate
from shuffledp.core.local_models import LocalModel
from shuffledp.documents.blocks import Block
from shuffledp.documents.charts.chart import Chart
from shuffledp.documents.charts.estimate_charts import rows_chart
from shuffledp.documents.cross_table_document import cross_on_page, cross_on_terminal
from shuffledp.documents.histogram_document import (
    histogram_chart,
    histogram_on_page,
    histogram_on_terminal,
    quantile_rows,
)
from shuffledp.documents.words import Scale

if TYPE_CHECKING:
    from shuffledp.documents.charts.drawing import Drawn


@dataclass(frozen=True, slots=True)
class EstimateForm:
    """Form of an estimate whose rows are shown one by one, the largest first unless names have an order."""

    estimate: Any
    scale: Scale
    is_folded: ClassVar[bool] = False  # whether tables of all rows are folded, as something else shows them better

    def on_page(self) -> Iterable[Block]:
        """Blocks of a page before the picture."""
        return ()

    def on_terminal(self) -> Iterable[Block] | None:
        """Blocks for a terminal in place of rows; None where rows are shown."""
        return None

    def chart(self, column: str, *, name: str = "estimates", model: LocalModel | None = None) -> Chart | None:
        """Picture of a column's estimate from reports of ``model``; None for a form without a picture."""
        return rows_chart(self.estimate, self.scale, column, name=name, model=model)

    @property
    def quantiles(self) -> list[tuple[str, str, str]]:
        """Share below, value and interval of each quantile; empty without quantiles."""
        return []

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the crossed columns; empty without a cross table."""
        return ()


class HistogramForm(EstimateForm):
    """Form of a histogram: bars, and its quantiles in words."""

    is_folded: ClassVar[bool] = True

    def on_page(self) -> Iterable[Block]:
        """Quantiles in words."""
        return histogram_on_page(self.estimate)

    def on_terminal(self) -> Iterable[Block]:
        """Quantiles, and shares between edges."""
        return histogram_on_terminal(self.estimate, self.scale)

    def chart(self, column: str, *, name: str = "estimates", model: LocalModel | None = None) -> Chart:
        """Bars with a line at each quantile."""
        del model
        return histogram_chart(self.estimate, self.scale, column, name=name)

    @property
    def quantiles(self) -> list[tuple[str, str, str]]:
        """Share below, value and interval of each quantile."""
        return quantile_rows(self.estimate)


class CrossTableForm(EstimateForm):
    """Form of a cross table: rows by columns with margins."""

    is_folded: ClassVar[bool] = True

    def on_page(self) -> Iterable[Block]:
        """The cross table with shares in each row."""
        return cross_on_page(self.estimate, self.scale)

    def on_terminal(self) -> Iterable[Block] | None:
        """The cross table; None if it is too large for a terminal."""
        return cross_on_terminal(self.estimate, self.scale)

    def chart(self, column: str, *, name: str = "estimates", model: LocalModel | None = None) -> None:
        """None, since cross tables have no picture."""
        del column, name, model

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the two crossed columns."""
        names: tuple[str, ...] = self.estimate.columns
        return names


FORMS: Mapping[type[Estimate], type[EstimateForm]] = MappingProxyType(
    {Histogram: HistogramForm, CrossTable: CrossTableForm}
)


def form_of(estimate: Estimate, scale: Scale) -> EstimateForm:
    """Form of an estimate by its kind."""
    return FORMS.get(type(estimate), EstimateForm)(estimate, scale)


def picture_of(estimate: Estimate) -> "Drawn":
    """The picture of an estimate by itself."""
    from shuffledp.documents.charts.drawing import draw

    form = form_of(estimate, Scale.of(estimate))
    return draw(form.chart(estimate.statistic) or rows_chart(estimate, form.scale, estimate.statistic))
