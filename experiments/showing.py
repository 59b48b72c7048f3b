"""Progress on the terminal, tables in Markdown, files of rows, and charts with lines."""

import csv
import io
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colors, which color-blind people can tell apart.
COLORS = ("#0072b2", "#bf5000", "#00795a", "#7b4fa3", "#8a6100", "#1b1f24")
MARKERS = "osD^vP"
STYLE: dict[Any, Any] = {  # matplotlib's own type is of its version's keys
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": "#56606b",
    "grid.color": "#d9dde1",
    "grid.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "shuffledp",
}

_MOST_DIGITS = 30

Item = TypeVar("Item")
Row = dict[str, Any]


def progress(items: Sequence[Item], name: str) -> Iterator[Item]:
    """The items; how many are done stands on the terminal, or on at most ten lines if there is none."""
    shown, count = sys.stderr.isatty(), len(items)
    for done, item in enumerate(items):
        if shown:
            sys.stderr.write(f"\r{name}: {done} of {count}  ")
            sys.stderr.flush()
        yield item
        if not shown and 10 * (done + 1) // count > 10 * done // count:
            print(f"{name}: {done + 1} of {count}", file=sys.stderr, flush=True)
    if shown:
        sys.stderr.write(f"\r{name}: {count} of {count}  \n")


def as_csv(rows: Sequence[Row]) -> str:
    """Rows of one shape; nothing is an empty cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: as_cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def from_csv(text: str) -> list[Row]:
    """The rows that `as_csv` wrote: numbers where there are numbers, but for strings of many digits."""
    return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(io.StringIO(text))]


def _value(cell: str) -> Any:
    if cell in {"", "True", "False"}:
        return {"": None, "True": True, "False": False}[cell]
    if len(cell) > _MOST_DIGITS:
        return cell
    try:
        return float(cell) if set(cell) & set(".en") else int(cell)
    except ValueError:
        return cell


def as_markdown(rows: Sequence[Row]) -> str:
    """Rows as a table in Markdown."""
    lines: list[list[object]] = [
        list(rows[0]),
        ["---"] * len(rows[0]),
        *([as_cell(value) for value in row.values()] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def as_cell(value: object) -> object:
    """What stands in a file: a number has six digits, and nothing is an empty cell."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value


def new_chart(
    panels: int, *, width: float = 4.2, height: float = 3.6, columns: int | None = None
) -> "tuple[Figure, list[Axes]]":
    """Panels in rows of ``columns``, or all beside each other, without matplotlib's global state."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = panels if columns is None else columns
    lines = -(-panels // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
        axes = [figure.add_subplot(lines, columns, place + 1) for place in range(panels)]
    engine = figure.get_layout_engine()
    if lines > 1 and isinstance(engine, ConstrainedLayoutEngine):
        engine.set(w_pad=0.08, h_pad=0.08)
    for each in axes:
        each.grid(True)
    return figure, axes


def lettered(axes: "Axes", place: int, title: str) -> None:
    """A title after the letter of a panel."""
    axes.set_title(f"({chr(ord('a') + place)}) {title}", loc="left", fontsize=10)


def legend_in(empty: "Axes", drawn: "Axes", note: str = "") -> None:
    """A panel that holds nothing but the names of the lines of another, and a note."""
    empty.set_axis_off()
    handles, labels = drawn.get_legend_handles_labels()
    empty.legend(handles, labels, loc="upper left", frameon=False, title=note, alignment="left")


def limits(row: Row, error: str, count: str | None = None) -> float:
    """Half a 95 % interval: by Student's t if a column says how many repetitions there were, else two errors."""
    if row[error] is None:
        return 0.0
    if count is None:
        return 2.0 * float(row[error])
    from scipy.stats import t

    return float(t.ppf(0.975, row[count] - 1)) * float(row[error])


def series(
    axes: "Axes",
    rows: Iterable[Row],
    x: str,
    y: str,
    *,
    error: str | None = None,
    count: str | None = None,
    **style: Any,
) -> None:
    """One line, with `limits` to both sides if there is an error; cells without a number are left out."""
    kept = [row for row in rows if row[y] is not None and not math.isnan(row[y])]
    places, values = [row[x] for row in kept], [row[y] for row in kept]
    spread = [limits(row, error, count) for row in kept] if error else None
    axes.errorbar(places, values, yerr=spread, **{"linewidth": 1.6, "markersize": 4.5, "capsize": 2.5} | style)


def as_svg(figure: "Figure") -> bytes:
    """A file that is the same for the same figure."""
    from matplotlib import rc_context

    out = io.BytesIO()
    with rc_context(STYLE):
        figure.savefig(out, format="svg", facecolor="#ffffff", metadata={"Date": None})
    return out.getvalue()
