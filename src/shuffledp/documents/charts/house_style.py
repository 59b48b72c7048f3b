"""The house style of all charts: colors, sizes, fonts, and positions of texts.

Nothing here touches matplotlib's global state: the style is a context.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDE, NARROW, TEXT, LABEL = 816, 344, 12, 11  # pixels, at the size the page shows them

# Okabe and Ito's colors, which color-blind people can tell apart; vermilion a little darker, so that text in it reads
# well on white. In the page each is a CSS variable of the same name, with its value for dark screens below.
LIGHT = {
    "ink": "#1b1f24",
    "soft": "#56606b",
    "line": "#d3d9df",
    "wash": "#f4f6f8",
    "paper": "#ffffff",
    "blue": "#0072b2",
    "vermilion": "#bf5000",
    "green": "#00795a",
}
DARK = {
    "ink": "#e8ebee",
    "soft": "#a6b0ba",
    "line": "#39414a",
    "wash": "#1b2127",
    "paper": "#12161a",
    "blue": "#56b4e9",
    "vermilion": "#f39149",
    "green": "#3ccfa3",
}

POINTS_PER_INCH = 72
_STYLE = {
    "font.family": "DejaVu Sans",  # part of matplotlib, so the layout is the same on every machine
    "font.size": TEXT,
    "text.color": LIGHT["ink"],
    "text.parse_math": False,  # a category may contain dollar signs
    "axes.edgecolor": LIGHT["line"],
    "axes.labelcolor": LIGHT["soft"],
    "axes.labelsize": TEXT,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LIGHT["line"],
    "grid.linewidth": 0.6,
    "xtick.color": LIGHT["line"],
    "xtick.labelcolor": LIGHT["soft"],
    "xtick.labelsize": TEXT,
    "ytick.color": LIGHT["line"],
    "ytick.labelcolor": LIGHT["soft"],
    "ytick.labelsize": TEXT,
    "lines.solid_capstyle": "round",
    "svg.hashsalt": "shuffledp",
    "svg.fonttype": "none",
}


def text_width(text: str, size: float = TEXT) -> float:
    """Upper bound on the width of a line of text, in pixels."""
    return sum(size if ord(character) > 0x2E7F else 0.62 * size for character in text)


def annotate(axes: "Axes", text: str, place: tuple[float, float], offset: tuple[float, float], **style: Any) -> None:
    """Put a text at an offset in pixels from a place, inside the axes or not."""
    placed: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False, "va": "center"} | style
    axes.annotate(text, place, xytext=offset, **placed)


@contextmanager
def house_style() -> Iterator[None]:
    """Context in which matplotlib draws in the house style; the user's settings are restored afterwards."""
    import warnings

    from matplotlib import style

    with style.context(["default", _STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield
