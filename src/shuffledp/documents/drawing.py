"""The house style of all charts, and their two forms: in a page, and as an SVG file.

Nothing here touches matplotlib's global state: the style is a context, and figures are made without pyplot.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from shuffledp.core import validate
from shuffledp.core.text import printable
from shuffledp.documents.document import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDE, NARROW, TEXT = 816, 344, 12  # pixels, at the size the page shows them

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

_SVG = "http://www.w3.org/2000/svg"
_POINTS_PER_INCH = 72
_EDGE = 14  # pixels around a chart in a file
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
}


def new_figure(
    width: int, height: int, *, left: float, right: float, top: float, bottom: float
) -> "tuple[Figure, Axes]":
    """A figure of this size in pixels, with one pair of axes inside these margins."""
    figure, (axes,) = new_figures(1, width, height, left=left, right=right, top=top, bottom=bottom)
    return figure, axes


def new_figures(
    number: int, width: int, height: int, *, left: float, right: float, top: float, bottom: float
) -> "tuple[Figure, list[Axes]]":
    """A figure with several pairs of axes below each other, each inside margins in an area of this many pixels."""
    from matplotlib.figure import Figure

    whole = number * height
    figure = Figure(figsize=(width / _POINTS_PER_INCH, whole / _POINTS_PER_INCH), dpi=_POINTS_PER_INCH)
    return figure, [
        figure.add_axes(
            (
                left / width,
                ((number - 1 - place) * height + bottom) / whole,
                (width - left - right) / width,
                (height - top - bottom) / whole,
            )
        )
        for place in range(number)
    ]


def text_width(text: str, size: float = TEXT) -> float:
    """Upper bound on the width of a line of text, in pixels."""
    return sum(size if ord(character) > 0x2E7F else 0.62 * size for character in text)


def annotate(axes: "Axes", text: str, place: tuple[float, float], offset: tuple[float, float], **style: Any) -> None:
    """Put a text at an offset in pixels from a place, inside the axes or not."""
    placed: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False, "va": "center"} | style
    axes.annotate(text, place, xytext=offset, **placed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A drawn chart: SVG documents for wide and for narrow screens, and the wide figure for files."""

    chart: Chart
    wide: bytes
    narrow: bytes
    figure: "Figure"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.chart.title!r})"

    def inline(self) -> str:
        """Two SVG elements in the page's own text style and colors."""
        both = (("wide", self.wide), ("narrow", self.narrow))
        return "\n".join(_embeddable(document, self.chart, variant) for variant, document in both)

    def _repr_svg_(self) -> str:
        """The picture for a notebook, on white, under its own title."""
        return self.as_file().decode()

    def save(self, path: str | Path) -> None:
        """Write the picture, on white, as an SVG file.

        Raises:
            InvalidParameterError: if the name does not end in .svg.
        """
        validate.one_of((".svg",), ending=Path(path).suffix.lower())
        Path(path).write_bytes(self.as_file())

    def as_file(self, *, heading: str = "", mark: str | None = None) -> bytes:
        """SVG file of the chart on white, with its source and any mark: words that must not get lost."""
        title = f"{heading}: {self.chart.title[:1].lower()}{self.chart.title[1:]}" if heading else self.chart.title
        return _framed(self.wide, title, mark)


def draw(chart: Chart) -> Drawn:
    """A chart drawn twice: once for each width."""
    with _style({"svg.fonttype": "none"}):
        figure = chart.draw(WIDE)
        options = {"format": "svg", "transparent": True, "metadata": {"Date": None}}
        wide, narrow = (_saved(each, **options) for each in (figure, chart.draw(NARROW)))
    return Drawn(chart=chart, wide=wide, narrow=narrow, figure=figure)


def _framed(document: bytes, title: str, mark: str | None) -> bytes:
    """An SVG document on white with a title, and any mark, above it."""
    for prefix, name in (("", _SVG), ("xlink", "http://www.w3.org/1999/xlink")):
        ElementTree.register_namespace(prefix, name)
    root = ElementTree.fromstring(document)  # noqa: S314 (what matplotlib has just written)
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    above = _EDGE * (4.2 if mark else 2.6)
    box = (left - _EDGE, top - above, width + 2 * _EDGE, height + above + _EDGE)
    root.attrib |= {
        "viewBox": " ".join(f"{each:g}" for each in box),
        "width": f"{box[2]:g}",
        "height": f"{box[3]:g}",
        "style": "max-width: 100%; height: auto",  # a notebook may have less room
    }
    x, y, right, bottom = (f"{each:g}" for each in box)
    paper = {"x": x, "y": y, "width": right, "height": bottom, "style": f"fill: {LIGHT['paper']}"}
    root.insert(0, ElementTree.Element(f"{{{_SVG}}}rect", paper))
    for text, line, color in ((title, 1.0, LIGHT["ink"]), (mark, 2.6, LIGHT["vermilion"])):
        if text:
            style = f"font: 700 {TEXT}px 'DejaVu Sans', sans-serif; fill: {color}"
            label = ElementTree.SubElement(
                root, f"{{{_SVG}}}text", {"x": f"{left:g}", "y": f"{top - line * _EDGE:g}", "style": style}
            )
            label.text = printable(text)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ElementTree.tostring(root, encoding='unicode')}\n".encode()


@contextmanager
def _style(extra: dict[str, Any]) -> Iterator[None]:
    """Matplotlib's defaults with our style on top, whatever the user's settings are, which come back at the end."""
    import warnings

    from matplotlib import style

    with style.context(["default", _STYLE | extra]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _saved(figure: "Figure", **options: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, **options)
    return buffer.getvalue()


def _embeddable(document: bytes, chart: Chart, variant: str) -> str:
    """An SVG document as an element for a page.

    No namespaces, metadata or styles of its own; unique ids; the page's font; its colors as CSS variables.
    """
    root = ElementTree.fromstring(document)  # noqa: S314 (what matplotlib has just written)
    prefix = f"{chart.name}-{variant}"
    used = set(re.findall(r"#([\w.-]+)", document.decode()))
    for element in root.iter():
        for child in [each for each in element if _local(each.tag) in {"metadata", "style"}]:
            element.remove(child)
        element.tag = _local(element.tag)
        for key, value in list(element.attrib.items()):
            del element.attrib[key]
            if key == "id":
                if value in used:
                    element.set("id", f"{prefix}-{value}")
            else:
                element.set(_local(key), _rewritten(value, prefix) if _local(key) != "d" else value)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {"class": variant, "role": "img", "aria-labelledby": f"{prefix}-title {prefix}-desc"}
    for place, (tag, text) in enumerate((("title", chart.title), ("desc", chart.description))):
        label = ElementTree.Element(tag, {"id": f"{prefix}-{tag}"})
        label.text = printable(text)
        root.insert(place, label)
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _rewritten(value: str, prefix: str) -> str:
    """An attribute rewritten with the page's colors, font and ids."""

    def font(found: re.Match[str]) -> str:
        return f"font-size: {found[2]}{'; font-weight: 700' * bool(re.search('bold|[6-9]00', found[1]))}"

    value = re.sub(r"font: ((?:[\w.]+ )*?)([\d.]+px) [^;]*", font, value)
    value = re.sub(r"^#(?=\D)|(?<=url\()#", f"#{prefix}-", value)
    for name, color in LIGHT.items():
        value = value.replace(color, f"var(--{name})")
    return value
