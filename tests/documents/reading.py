"""Reads a page as a browser would: elements, attributes, and the text that is not folded away."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "wbr", "link", "img", "input", "hr"}
SILENT = {"style", "script", "title", "desc"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    within: tuple[str, ...]
    text: str = ""


@dataclass
class Page(HTMLParser):
    elements: list[Element] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    unfolded: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []

    @classmethod
    def read(cls, html: str) -> "Page":
        page = cls()
        page.feed(html)
        page.close()
        page.errors += [f"<{element.tag}> is never closed" for element in page._open]
        return page

    def handle_starttag(self, tag, attrs):
        element = Element(tag, dict(attrs), tuple(each.tag for each in self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(Element(tag, dict(attrs), tuple(each.tag for each in self._open)))

    def handle_endtag(self, tag):
        if not self._open or self._open[-1].tag != tag:
            self.errors.append(f"</{tag}> closes {[each.tag for each in self._open[-2:]]}")
            return
        self._open.pop()

    def handle_data(self, data):
        for element in self._open:
            element.text += data
        tags = [element.tag for element in self._open]
        if not SILENT & set(tags):
            self.words.append(data)
            if "details" not in tags:
                self.unfolded.append(data)
            folded = "details" in tags and "summary" not in tags
            if not folded and not any(each.attributes.get("class") in {"narrow", "unseen"} for each in self._open):
                self.shown.append(data)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        return [each for each in self.elements if each.tag == tag and wanted.items() <= each.attributes.items()]

    @property
    def text(self) -> str:
        return _plain(self.words)

    @property
    def num_words(self) -> int:
        """The words that people can see on a wide screen before they unfold anything."""
        return len(_plain(self.shown).split())

    @property
    def text_unfolded(self) -> str:
        return _plain(self.unfolded)


def _plain(words: list[str]) -> str:
    return re.sub(r"\s+", " ", " ".join(words)).replace("\N{NO-BREAK SPACE}", " ")
