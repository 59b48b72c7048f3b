"""Sections to one self-contained HTML file."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from shuffledp._version import __version__
from shuffledp.report.drawing import DARK, LIGHT, draw_inline
from shuffledp.report.parts import Section
from shuffledp.report.words import count
from shuffledp.tasks.section import ungarbled

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render_page"]


def render_page(
    sections: Iterable[Section],
    *,
    name: str,
    kicker: str,
    summary: str,
    values: Sequence[str] = (),
    withdrawn: str | None = None,
    has_files: bool = True,
) -> bytes:
    """The HTML of a page, which loads nothing from anywhere and needs no JavaScript.

    Args:
        sections: in order.
        name: the heading.
        kicker: a few words above it.
        summary: a line below it.
        values: the private columns, at the end of that line.
        withdrawn: why nothing is promised, or None.
        has_files: whether the charts are written as files too.
    """
    environment = _environment()
    rendered = [
        {
            "anchor": section.anchor or section.name,
            "title": section.title,
            "html": _rendered(environment, section, has_files=has_files),
        }
        for section in sections
    ]
    page = environment.get_template("page.html.j2").render(
        name=name,
        kicker=kicker,
        summary=summary,
        values=values,
        withdrawn=withdrawn,
        sections=rendered,
        light=LIGHT,
        dark=DARK,
        version=__version__,
    )
    return ungarbled(page).encode("utf-8")  # names of columns may hold what turns text around


def _rendered(environment: "Environment", section: Section, *, has_files: bool) -> Any:
    from markupsafe import Markup

    charts = {
        chart.name: {"chart": chart, "svg": Markup(draw_inline(chart)), "has_files": has_files}  # noqa: S704
        for chart in section.charts
    }
    html = environment.get_template(f"sections/{section.name}.html.j2").render(charts=charts, **section.context)
    return Markup(html)  # noqa: S704 (rendered by a template that escapes)


def _environment() -> "Environment":
    """Templates of this package, escaping everything, and failing where a name is missing."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("shuffledp.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["count"] = count
    return environment
