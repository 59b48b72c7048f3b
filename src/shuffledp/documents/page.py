"""A document as a page: one self-contained HTML file, and its charts as files beside it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shuffledp._version import __version__
from shuffledp.core.text import printable
from shuffledp.documents.document import PAGE, Beside, Block, Chart, Document, Fold, Picture, Promise, Section, Text
from shuffledp.documents.drawing import DARK, LIGHT, Drawn, draw
from shuffledp.documents.words import shortened

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_LONGEST_HEADING = 50
_MARKS = (b"<!DOCTYPE html>", b'id="audit-0"')


def write_page(
    document: Document, folder: Path, name: str, *, png: bool = False, figures: bool = True
) -> tuple[str, ...]:
    """Write the page of a document, and its charts as SVG files beside it; the name of the page is the first returned.

    The page names no person, no answer and no path; it loads nothing from anywhere and needs no JavaScript. The same
    document gives the same bytes. The folder is made if absent, and files of the same names are replaced. Without
    ``figures`` nothing is drawn.

    Guarantees:
        1. Text from the task is shown as text, whatever it contains.
        2. A withdrawn statement is marked as such on the page and on every chart.
    """
    if not figures:
        document = _without_pictures(document)
    endings = (".svg", ".png") if png else (".svg",)
    drawn: dict[str, Drawn] = {}
    files = {name: page_of(document, drawn=drawn, endings=endings)}
    heading = shortened(document.title, _LONGEST_HEADING)
    mark = "WITHDRAWN: nothing is promised" if document.withdrawn else None
    for chart in document.charts:
        for ending in endings:
            files[f"{chart.name}{ending}"] = drawn[chart.name].as_file(ending, heading=heading, mark=mark)
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        (folder / file).write_bytes(content)
    return tuple(files)


def _without_pictures(document: Document) -> Document:
    """The document without whatever is drawn, and without sections in which nothing is left."""
    sections = (replace(section, blocks=_undrawn(section.blocks)) for section in document.sections)
    return replace(document, sections=tuple(section for section in sections if section.blocks))


def _undrawn(blocks: Iterable[Block]) -> tuple[Block, ...]:
    kept = list[Block]()
    for block in blocks:
        if isinstance(block, Fold):
            kept.append(replace(block, blocks=_undrawn(block.blocks)))
        elif isinstance(block, Beside):
            kept.append(replace(block, groups=tuple(map(_undrawn, block.groups))))
        elif not isinstance(block, Picture):
            kept.append(block)
    return tuple(kept)


def page_of(document: Document, *, drawn: dict[str, Drawn] | None = None, endings: Iterable[str] = (".svg",)) -> bytes:
    """The HTML of a document.

    ``drawn`` takes up the drawings by the names of their charts, so that each is drawn once; ``endings`` are those of
    the files that the charts are written to besides.
    """
    drawings = {} if drawn is None else drawn
    environment = _environment(drawings, tuple(endings))
    sections = [*([_opening(document.promise)] if document.promise is not None else []), *document.sections]
    html = environment.get_template("page.html.j2").render(
        page=document,
        sections=[section for section in sections if any(PAGE in block.on for block in section.blocks)],
        light=LIGHT,
        dark=DARK,
        version=__version__,
    )
    return printable(html, lines=True).encode("utf-8")  # names of columns may hold what turns text around


def top_of(document: Document) -> str:
    """The top of a document for a notebook: the promise, without its pictures, and the sections; styles stay inside."""
    template = _environment({}, ()).get_template("notebook.html.j2")
    return printable(template.render(page=document, light=LIGHT, dark=DARK), lines=True)


def is_audit_page(file: Path) -> bool:
    """Whether a file is the page of an audit."""
    try:
        content = file.read_bytes() if file.is_file() else b""
    except OSError:
        return False
    return content.startswith(_MARKS[0]) and _MARKS[1] in content


def _opening(promise: Promise) -> Section:
    """The promise as the first section: meaning and trust beside each other."""
    sides: tuple[Block, ...] = (Beside((promise.meaning, promise.trust)),) if promise.trust else promise.meaning
    blocks = (*promise.headline, *sides, *promise.grounds)
    return Section(anchor="statement", title=promise.title, blocks=blocks)


def _environment(drawings: dict[str, Drawn], endings: tuple[str, ...]) -> "Environment":
    """Templates of this package, escaping everything, and failing where a name is missing."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def drawn(chart: Chart) -> Markup:
        drawings[chart.name] = draw(chart)
        return Markup(drawings[chart.name].inline())  # noqa: S704 (what matplotlib has written)

    environment = Environment(
        loader=PackageLoader("shuffledp.documents", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["files"] = lambda chart: " and ".join(f"{chart.name}{ending}" for ending in endings)
    environment.filters["drawn"] = drawn
    environment.filters["marked"] = _marked
    environment.tests["on_page"] = lambda medium: PAGE in medium
    return environment


def _marked(text: Text) -> "Markup":
    """The text with its pieces that stand out."""
    from markupsafe import Markup, escape

    marks: Mapping[str, str] = dict.fromkeys(text.code, "code") | dict.fromkeys(text.bold, "b")
    rest, html = text.text, Markup()
    while rest:
        found = [(place, piece) for piece in marks if (place := rest.find(piece)) >= 0]
        if not found:
            break
        place, piece = min(found)
        html += escape(rest[:place]) + Markup("<{0}>{1}</{0}>").format(marks[piece], piece)
        rest = rest[place + len(piece) :]
    return html + escape(rest)
