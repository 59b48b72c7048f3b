"""Charts as SVG: inside a page, and as a file by itself."""

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from shuffledp.core import validate
from shuffledp.core.text import printable
from shuffledp.documents.charts.chart import Chart
from shuffledp.documents.charts.house_style import LIGHT, NARROW, TEXT, WIDE, house_style
from shuffledp.documents.rendering import figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_SVG = "http://www.w3.org/2000/svg"
_EDGE = 14  # pixels around a chart in a file


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
        """SVG file of the chart on white, with its title, and a ``mark`` that must not get lost."""
        title = f"{heading}: {self.chart.title[:1].lower()}{self.chart.title[1:]}" if heading else self.chart.title
        return _framed(self.wide, title, mark)


def draw(chart: Chart) -> Drawn:
    """A chart drawn twice: once for each width."""
    with house_style():
        figure = figure_of(chart, WIDE)
        options = {"format": "svg", "transparent": True, "metadata": {"Date": None}}
        wide, narrow = (_saved(each, **options) for each in (figure, figure_of(chart, NARROW)))
    return Drawn(chart=chart, wide=wide, narrow=narrow, figure=figure)


def _framed(document: bytes, title: str, mark: str | None) -> bytes:
    """SVG document on white, with a title and an optional mark above it."""
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
