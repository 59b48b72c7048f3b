"""A histogram with its quantiles: bars with intervals in the order of the bins, and sentences."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from shuffledp.analyzers import Histogram
from shuffledp.core.text import edge_names
from shuffledp.documents.blocks import PAGE, TERMINAL, Block, Role, Text, told
from shuffledp.documents.charts.chart import Axis, Chart, Columns, Line, Panel, Spans
from shuffledp.documents.words import MINUS, Scale, listed, shortened

_MOST_BINS = 20  # on a terminal
_LONGEST_NAME = 30
_COMMON = {0.25: "a quarter", 0.5: "half", 0.75: "three quarters"}


def histogram_on_page(estimate: Histogram) -> Iterator[Block]:
    """The quantiles in words, placed before the picture."""
    quantiles = quantiles_in_words(estimate)
    if quantiles:
        yield Text(quantiles, Role.LEAD, on=PAGE)
        yield Text(
            f"In brackets: {estimate.level * 100:.4g}% intervals. They are made of whole bins, and never finer than "
            "these: how numbers lie inside a bin is not known.",
            on=PAGE,
        )


def histogram_on_terminal(estimate: Histogram, scale: Scale) -> Iterator[Block]:
    """The quantiles, and the share of each bin between its edges, unless there are too many bins."""
    yield from told(quantiles_in_words(estimate, plain=True), on=TERMINAL)
    bins = len(estimate.edges) - 1
    if bins > _MOST_BINS:
        yield Text(f"Histogram of {bins} bins: on the page and in estimates.csv", on=TERMINAL)
        return
    scale = replace(scale, decimals=max(scale.decimals - 1, min(scale.decimals, 1)))  # one decimal less, for brevity
    margin = max(np.max(estimate.upper - estimate.nearest), np.max(estimate.nearest - estimate.lower))
    shares = [f"[{scale.plain(each, unit=False)}]" for each in estimate.estimate]
    between = " ".join(
        text for pair in zip_longest(edge_names(estimate.edges), shares[:bins], fillvalue="") for text in pair
    )
    others = zip(estimate.target[bins:], shares[bins:], strict=True)
    rest = "".join(f"; {name} {share}" for name, share in others)
    head = f"In % between edges (+-{scale.plain(margin, unit=False)}, {estimate.level:.0%} intervals)"
    yield Text(f"{head}: {between.strip()}{rest}", on=TERMINAL)


def quantiles_in_words(estimate: Histogram, *, plain: bool = False) -> str:
    """Quantiles in a sentence, such as "Of the people, half are below 34 (30 to 40)."; "" without quantiles."""
    rows = quantile_rows(estimate)
    if not rows:
        return ""
    parts = [
        f"{share}{'' if place else ' are'} below {value} ({ends})" for place, (share, value, ends) in enumerate(rows)
    ]
    whose = "people who answered" if len(estimate.target) >= len(estimate.edges) else "people"
    said = f"Of the {whose}, {listed(parts)}."
    return said if plain else said.replace("-", MINUS)


def quantile_rows(estimate: Histogram) -> list[tuple[str, str, str]]:
    """Rows of quantiles: the share below, the value, and its interval."""
    found = estimate.quantiles
    if found is None:
        return []
    numbers = zip(found.target, found.estimate, found.lower, found.upper, strict=True)
    return [
        (_share_below(target), Scale.of(found).plain(middle), f"{low + 0.0:,.15g} to {high + 0.0:,.15g}")
        for target, middle, low, high in numbers
    ]


def histogram_chart(estimate: Histogram, scale: Scale, column: str, *, name: str) -> Chart:
    """A bar for each bin, with its interval, and a line at each quantile."""
    widths = np.diff(estimate.edges)
    even = bool(np.allclose(widths, widths[0]))
    caption = f"Bars: estimates. Lines: {estimate.level * 100:.4g}% intervals."
    if not even:
        caption += " Bins are not of one width: the area of a bar is its share."
    if estimate.quantiles is not None:
        caption += f" Dashed: where {listed([_share_below(each) for each in estimate.quantiles.target])} are below."
    largest = int(np.argmax(estimate.estimate[: len(widths)]))
    return Chart(
        name=name,
        title=f"Histogram of {shortened(column, _LONGEST_NAME)}",
        description=(
            f"A bar with an interval for each of {len(widths)} bins; the numbers are in the table below. The largest "
            f"is {estimate.target[largest]} with {scale.text(estimate.estimate[largest])}."
        ),
        caption=caption,
        panels=(_panel(estimate, scale, shortened(column, _LONGEST_NAME), even),),
    )


def _share_below(target: str) -> str:
    """Share below a quantile, in words."""
    return _COMMON.get(float(target), f"{100 * float(target):.4g}%")


def _panel(estimate: Histogram, scale: Scale, column: str, even: bool) -> Panel:
    """A column with its interval for each bin, and a dashed line at each quantile."""
    edges = np.array(estimate.edges)
    widths, bins = np.diff(edges), len(edges) - 1
    per = scale.factor / (np.ones(bins) if even else widths)
    center, low, high = (per * each[:bins] for each in (estimate.estimate, estimate.lower, estimate.upper))
    ends, middles = (edges[0], edges[-1]), (edges[:-1] + edges[1:]) / 2
    least, most = min(0.0, low.min(), center.min()) * 1.05, max(high.max(), center.max()) * 1.05
    quantiles = () if estimate.quantiles is None else estimate.quantiles.estimate
    label = column if even else f"{column} (height: share for each unit of it)"
    return Panel(
        x=Axis(label=label, ends=ends, ticks=(10, 5), has_grid=False),
        y=Axis(ends=(least, most), unit=scale.unit, ticks=(6, 6)),
        marks=(
            Columns(edges=edges, heights=center),
            Spans(at=middles, low=low, high=high, upright=True, share=1 / 12),
            Line(x=ends, y=(0, 0), color="soft", width=1),
            *(Line(x=(each, each), y=(least, most), color="vermilion", dash="dashed") for each in quantiles),
        ),
    )
