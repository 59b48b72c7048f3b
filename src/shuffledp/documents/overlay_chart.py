"""The picture of overlays: messages against epsilon, with the exposure to colluders as color."""

from functools import partial
from typing import TYPE_CHECKING, Any

from shuffledp.core.text import count_of, percent
from shuffledp.documents.document import Chart
from shuffledp.documents.drawing import LIGHT, NARROW, annotate, draw, new_figure
from shuffledp.documents.words import count, number
from shuffledp.planning import OverlayDesigns
from shuffledp.shufflers.walk_exposure import average_exposure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABEL = 11  # pixels
_ROOM = 1.7  # above and below what is drawn, as a factor
_COLORS = "viridis_r"  # darker where more is seen; told apart by color-blind people, and in gray


def designs_chart(found: OverlayDesigns) -> Chart:
    """Overlays as squares and rounds on a random graph as dots: messages sent, epsilon, and exposure to colluders."""
    chosen = found.chosen
    beside = "; dots: rounds on a random graph, to compare with" if found.random_graph else ""
    return Chart(
        name="overlays",
        title=f"Messages against epsilon, {count(found.num_users)} people",
        description=(
            f"Both axes are logarithmic. All overlays have epsilon = {number(found.epsilon, 'at most')}; the best has "
            f"{count_of(chosen.rounds, 'round')} and {chosen.messages:.1f} messages each."
        ),
        caption=(
            f"Squares: overlays, with their rounds{beside}. Dashed: a uniform shuffle. Dotted: no shuffling. Color: "
            f"the chance that any of the {percent(found.colluders)} who collude ever holds a report."
        ),
        draw=partial(_draw, found),
    )


def designs_figure(found: OverlayDesigns) -> bytes:
    """The picture as an SVG file."""
    return draw(designs_chart(found)).as_file()


def _draw(found: OverlayDesigns, width: int) -> "Figure":
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    narrow, walked = width <= NARROW, found.random_graph.by_rounds if found.random_graph else ()
    figure, axes = new_figure(width, 320 if narrow else 400, left=56, right=70 if narrow else 96, top=30, bottom=48)
    rounds = [each.rounds for each in walked]
    exposed = [_exposure(found, each) for each in rounds]
    seen = [*(each.exposure for each in found.designs), *exposed]
    colors: dict[str, Any] = {"cmap": _COLORS, "norm": LogNorm(min(seen) / 1.2, max(seen) * 1.2)}
    axes.set(xscale="log", yscale="log", xlim=(0.8, 1.4 * max([*rounds, *(each.messages for each in found.designs)])))
    axes.set_ylim(found.epsilon / _ROOM**2, found.epsilon0 * _ROOM)
    axes.grid(which="major")
    axes.tick_params(which="both", length=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("messages that each person passes on", labelpad=6)
    annotate(axes, "epsilon", (0, 1), (-6, 12), xycoords="axes fraction", ha="right", color=LIGHT["soft"])
    _lines(axes, found)
    if walked:
        epsilons = [each.epsilon for each in walked]
        axes.scatter(rounds, epsilons, c=exposed, s=36, zorder=3, edgecolors=LIGHT["paper"], **colors)
        place = next((each for each in walked if each.epsilon < 0.8 * found.epsilon0), walked[-1])
        text = "rounds on a\nrandom graph"
        annotate(axes, text, (place.rounds, place.epsilon), (10, 6), fontsize=_LABEL, ha="left", color=LIGHT["soft"])
    messages = [each.messages for each in found.designs]
    shown = axes.scatter(
        messages, [found.epsilon] * len(messages), c=seen[: len(messages)], s=90, marker="s", zorder=4, **colors
    )
    _name(axes, found, narrow=narrow)
    bar = figure.colorbar(shown, cax=axes.inset_axes((1.04, 0.0, 0.035, 1.0)))
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g}%"))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.ax.tick_params(which="both", length=0)
    bar.outline.set_visible(False)
    annotate(axes, "ever seen", (1.04, 1), (0, 12), xycoords="axes fraction", ha="left", color=LIGHT["soft"])
    return figure


def _exposure(found: OverlayDesigns, num_rounds: int) -> float:
    """Exposure of walks that move in every round."""
    return average_exposure(num_users=found.num_users, num_rounds=num_rounds, num_colluding=found.chosen.colluding)


def _lines(axes: "Axes", found: OverlayDesigns) -> None:
    """Draw reference lines for a uniform shuffle and for no shuffle."""
    edge: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "fontsize": _LABEL}
    axes.axhline(found.epsilon, color=LIGHT["green"], linewidth=1.5, linestyle=(0, (5, 3)))
    axes.axhline(found.epsilon0, color=LIGHT["vermilion"], linewidth=1.3, linestyle=":")
    uniform = f"uniform shuffle: {number(found.epsilon, 'at most')}"
    annotate(axes, uniform, (0, found.epsilon), (6, 16), color=LIGHT["green"], ha="left", **edge)
    none = f"no shuffling: {number(found.epsilon0)}"
    annotate(axes, none, (0, found.epsilon0), (6, 9), color=LIGHT["vermilion"], ha="left", **edge)


def _name(axes: "Axes", found: OverlayDesigns, *, narrow: bool) -> None:
    """Write numbers of rounds below the squares, the recommended one in bold."""
    for place, each in enumerate(found.designs):
        best = place == found.best
        if best or not narrow:
            text = f"best: {count_of(each.rounds, 'round')}" if best else count(each.rounds)
            style = {"fontweight": "bold", "color": LIGHT["blue"]} if best else {"color": LIGHT["ink"]}
            below = -30 if best else -14
            annotate(axes, text, (each.messages, found.epsilon), (0, below), fontsize=_LABEL, ha="center", **style)
