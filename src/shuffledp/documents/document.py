"""A whole document with all its words: a promise, and sections of blocks.

A document opens with its promise in four parts (headline, meaning, trust, grounds), and goes on in sections.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum, auto
from typing import TYPE_CHECKING, Any

from shuffledp.documents.blocks import MUST_KNOW, TERMINAL, Block, Medium, Pairs, Picture, Text, told

if TYPE_CHECKING:
    from shuffledp.documents.charts.chart import Chart

COMPARED = "differences"  # anchor of the section on what a task compares


class Place(IntEnum):
    """Places of sections on a page, in order: results, meaning, details, origin."""

    RESULTS = auto()
    DETAILS = auto()
    ORIGIN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Promise of a document in parts that each medium arranges; the numbers always come first.

    Then whom one must trust; why it holds, and what else is known. ``facts`` are the numbers for one line.
    """

    title: str
    facts: tuple[str, ...] = ()
    headline: tuple[Block, ...]
    meaning: tuple[Block, ...] = ()
    trust: tuple[Block, ...] = ()
    grounds: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a document, after the promise; ``titled`` lists the media that show its heading."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    titled: Medium = Medium.PAGE
    place: Place = Place.DETAILS


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole document about one result.

    Args:
        title: the name of the task, or what the result is; "" for a result without one.
        digest: of the task, or "".
        kicker: a few words above the title of a page.
        summary: a line below it, with the private ``values`` at its end.
        byline: when it was released, and by whom, or "".
        withdrawn: why nothing is promised, or None.
        demonstration: that its answers may be made up, in words, or "".
        promise: what is promised; None for a result that promises nothing.
        results: the main ones, which a page shows beside the promise.
        quote: both in one sentence, or "".
        sections: the rest.
    """

    title: str = ""
    digest: str = ""
    kicker: str = ""
    summary: str = ""
    values: tuple[str, ...] = ()
    byline: str = ""
    withdrawn: str | None = None
    demonstration: str = ""
    promise: Promise | None = None
    results: tuple[Block, ...] = ()
    quote: str = ""
    sections: tuple[Section, ...] = ()

    def followed_by(self, *sections: Section) -> "Document":
        """This document with more sections."""
        return replace(self, sections=(*self.sections, *sections))

    def blocks(self) -> Iterator[Block]:
        """All blocks from top to bottom, nested ones included."""
        own = self.promise
        parts = [own.headline, own.meaning, own.trust, own.grounds] if own is not None else []
        for part in [*parts, *(section.blocks for section in self.sections)]:
            yield from _unfolded(part)

    @property
    def dangers(self) -> tuple[Text, ...]:
        """Warnings for readers of a terminal; empty if there are none."""
        found = (block for block in self.blocks() if isinstance(block, Text) and block.role in MUST_KNOW)
        return tuple(dict.fromkeys(block for block in found if TERMINAL in block.on))

    @property
    def charts(self) -> "tuple[Chart, ...]":
        """The pictures that are written as files."""
        return tuple(block.chart for block in self.blocks() if isinstance(block, Picture) and block.has_files)


def _unfolded(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        yield block
        yield from _unfolded(block.inside)


def text_document(value: object) -> Document:
    """A document of the paragraphs that a value prints."""
    return Document(sections=(Section(anchor="text", title="", blocks=told(*str(value).split("\n\n"))),))


def facts_document(value: Any) -> Document:
    """A document of a value's own facts, under the name of its class."""
    pairs = Pairs(tuple(value.facts.items()))
    return Document(title=type(value).__name__, sections=(Section(anchor="facts", title="", blocks=(pairs,)),))
