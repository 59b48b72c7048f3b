"""Inspection of a stranger's collection file in a separate process, with limits of time and memory.

The page of the collection is made anew, by this software: only if it is the same to the byte, it is ever served.
"""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, replace

from shuffledp.core.errors import InvalidParameterError, ShuffleDPError
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.planner.answering_process import AnsweringProcess
from shuffledp.survey import Collection
from shuffledp.survey.collection import CONTEXT

SECONDS = 20.0
_MOST_MEMORY = 6 << 30  # bytes of address space, of which most is never touched


@dataclass(frozen=True, slots=True)
class InspectedPage:
    """Findings about a page's file.

    Args:
        is_collection: whether it is a collection that is as this software writes it.
        page: page made anew, if it is the collection's to the byte; empty if the collection has none, or another.
        promised: what is promised to those who answer, sentence by sentence.
    """

    is_collection: bool = False
    page: bytes = b""
    promised: tuple[str, ...] = ()


class PageInspector:
    """Inspector of files, one after the other, in a process that starts with the first file."""

    def __init__(self) -> None:
        self._process: AnsweringProcess | None = None

    def inspect(self, content: bytes) -> InspectedPage:
        """Findings about a file; empty if the inspection takes too much time or memory.

        Call it from a thread: it waits.
        """
        if self._process is None:
            self._process = AnsweringProcess(inspected, warm_up=_limited)
        try:
            found: InspectedPage = self._process.ask(content, SECONDS)
        except (TimeoutError, ShuffleDPError):
            return InspectedPage()
        return found

    def close(self) -> None:
        """End the process in which files are inspected."""
        if self._process is not None:
            self._process.close()


def collection_in(content: bytes) -> Collection:
    """Collection in the bytes of its file.

    Raises:
        InvalidParameterError: for anything else.
    """
    with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError, ArithmeticError, OverflowError):
        found = Collection.from_dict(json.loads(content))
        if found.canonical == content and (found.page is None or found.page.sha256):
            return found
    raise InvalidParameterError("a collection must be as `shuffledp` wrote it, to the byte; it is something else.")


def id_of(content: bytes) -> bytes:
    """Id of the collection whose file has this content."""
    return hashlib.sha256(CONTEXT + content).digest()


def inspected(content: bytes) -> InspectedPage:
    """Findings about a file, computed in the process of an `PageInspector`."""
    try:
        collection = collection_in(content)
        told = tuple(each.sentence_of(each.guarantee) for each in collection.promised() if each.kind.promises)
        if collection.page is None:
            return InspectedPage(is_collection=True, promised=told)
        anew, page = with_page(replace(collection, page=None), collection.page.url)
    except ShuffleDPError:
        return InspectedPage()
    return InspectedPage(is_collection=True, page=page if anew == collection else b"", promised=told)


def _limited() -> None:
    """Limit the memory of this process, where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
