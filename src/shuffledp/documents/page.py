"""A document as a page: one self-contained HTML file, with its charts as files beside it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shuffledp.core.text import printable
from shuffledp.documents.blocks import PAGE, Block, Fold, Panels, Picture, Role, Tag, Text
from shuffledp.documents.document import Document, Place, Promise, Section
from shuffledp.documents.words import shortened

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from shuffledp.documents.charts.chart import Chart
    from shuffledp.documents.charts.drawing import Drawn

_LONGEST_HEADING = 50
_POWER = re.compile(r"\b\d[\d.]*e-\d+")
_MARK_OF_DEMONSTRATION = "DEMONSTRATION: made-up answers"


def write_page(document: Document, folder: Path, name: str, *, figures: bool = True) -> tuple[str, ...]:
    """Write a document's page and its charts as SVG files; returns their names, the page first.

    The page names no person, no answer and no path; it loads nothing from anywhere and needs no JavaScript. The same
    document gives the same bytes. The folder is made if absent, and files of the same names are replaced. Without
    ``figures`` nothing is drawn.

    Guarantees:
        1. Text from the task is shown as text, whatever it contains.
        2. A withdrawn statement is marked as such on the page and on every chart, and so is a demonstration.
    """
    if not figures:
        document = _without_pictures(document)
    drawn: dict[str, Drawn] = {}
    files = {name: page_of(document, drawn=drawn)}
    heading = shortened(document.title, _LONGEST_HEADING)
    mark = _MARK_OF_DEMONSTRATION if document.demonstration else None
    mark = "WITHDRAWN: nothing is promised" if document.withdrawn else mark
    for chart in document.charts:
        files[f"{chart.name}.svg"] = drawn[chart.name].as_file(heading=heading, mark=mark)
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (folder / file).write_bytes(content)
    return tuple(files)


def _without_pictures(document: Document) -> Document:
    """The document without charts, and without sections that would be empty."""
    sections = (replace(section, blocks=_undrawn(section.blocks)) for section in document.sections)
    return replace(document, sections=tuple(section for section in sections if section.blocks))


def _undrawn(blocks: Iterable[Block]) -> tuple[Block, ...]:
    kept = list[Block]()
    for block in blocks:
        if isinstance(block, Fold):
            kept.append(replace(block, blocks=_undrawn(block.blocks)))
        elif isinstance(block, Panels):
            kept.append(replace(block, groups=tuple(map(_undrawn, block.groups))))
        elif not isinstance(block, Picture):
            kept.append(block)
    return tuple(kept)


def page_of(document: Document, *, drawn: "dict[str, Drawn] | None" = None) -> bytes:
    """HTML of a document; drawings are added to ``drawn`` by name, so that each is drawn once."""
    drawings = {} if drawn is None else drawn
    environment = _environment(drawings)
    html = environment.get_template("page.html.j2").render(page=document, sections=_arranged(document))
    return printable(html, lines=True).encode("utf-8")  # names of columns may hold characters that reverse text


def top_of(document: Document) -> str:
    """HTML of the top of a document for a notebook, with styles that affect nothing else there."""
    template = _environment({}).get_template("notebook.html.j2")
    return printable(template.render(page=document, sections=_arranged(document)), lines=True)


def _arranged(document: Document) -> list[Section]:
    """Sections in the order of a page: promise and results, meaning, details, grounds, origin.

    Dangers stand beside the promise, and only there; a document without one keeps them in their places.
    """
    first, dangers = list[Section](), list[Text]()
    if document.promise is not None:
        dangers = [each for each in document.dangers if PAGE in each.on]
    further = {place: [each for each in document.sections if each.place is place] for place in Place}
    promise, why = document.promise, list[Section]()
    if promise is not None:
        first = [_opening(document, promise, dangers)]
        meaning = (Panels((promise.meaning, promise.trust)),) if _is_on_page(promise.meaning) else promise.trust
        further[Place.DETAILS].insert(0, Section(anchor="meaning", title="Meaning", blocks=meaning))
        why = [Section(anchor="grounds", title="Why it holds", blocks=promise.grounds)]
    later = [*further[Place.RESULTS], *further[Place.DETAILS], *why, *further[Place.ORIGIN]]
    said_once = (replace(each, blocks=tuple(block for block in each.blocks if block not in dangers)) for each in later)
    return [section for section in (*first, *said_once) if _is_on_page(section.blocks)]


def _opening(document: Document, promise: Promise, dangers: list[Text]) -> Section:
    """Opening section of a page: dangers, the results beside the promise, and a sentence to quote."""
    promised = tuple(block for block in promise.headline if block not in dangers)
    blocks: tuple[Block, ...] = (Panels((document.results, promised), "opening"),) if document.results else promised
    quote = (Text(document.quote, Role.QUOTE, tags=(Tag("To quote", "quiet"),)),) if document.quote else ()
    return Section(anchor="statement", title=promise.title, blocks=(*dangers, *blocks, *quote))


def _is_on_page(blocks: Iterable[Block]) -> bool:
    return any(PAGE in block.on for block in blocks)


def _environment(drawings: "dict[str, Drawn]") -> "Environment":
    """Templates of this package; they escape all values and fail on missing names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from shuffledp.documents.charts.house_style import DARK, LIGHT

    def drawn(chart: "Chart") -> Markup:
        from shuffledp.documents.charts.drawing import draw

        drawings[chart.name] = draw(chart)
        return Markup(drawings[chart.name].inline())  # noqa: S704 (matplotlib wrote it)

    environment = Environment(
        loader=PackageLoader("shuffledp.documents", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {"light": LIGHT, "dark": DARK}
    environment.filters["drawn"] = drawn
    environment.filters["marked"] = _marked
    environment.filters["unbroken"] = _unbroken
    environment.tests["on_page"] = lambda medium: PAGE in medium
    return environment


def _marked(text: Text) -> "Markup":
    """The text with its emphasized pieces marked up."""
    from markupsafe import Markup

    marks: Mapping[str, str] = dict.fromkeys(text.code, "code") | dict.fromkeys(text.bold, "b")
    rest, html = text.text, Markup()
    while rest:
        found = [(place, piece) for piece in marks if (place := rest.find(piece)) >= 0]
        if not found:
            break
        place, piece = min(found)
        html += _unbroken(rest[:place]) + Markup("<{0}>{1}</{0}>").format(marks[piece], piece)
        rest = rest[place + len(piece) :]
    return html + _unbroken(rest)


def _unbroken(text: str) -> "Markup":
    """The text, with no line break inside a number such as 1e-06."""
    from markupsafe import Markup, escape

    return Markup(_POWER.sub(r'<span class="nowrap">\g<0></span>', str(escape(text))))  # noqa: S704 (escaped before)
