"""What whoever runs a stage may see while it works: how far it is, and what no output may tell."""

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

__all__ = ["Watch", "counted"]

Part = TypeVar("Part", bound=Sized)


class Watch:
    """Is told what happens while a stage works; this one does nothing with it."""

    def progress(self, step: str, done: int, total: int | None) -> None:
        """So many rows or reports are done, of so many in all if that is known."""

    def clipped(self, column: str, count: int, received: int, clipping: str) -> None:
        """So many answers of a column were outside the range; ``clipping`` says in a sentence what became of them.

        The number depends on people's answers and is protected by nothing: it is for the operator's eyes only.
        """


def counted(parts: Iterable[Part], watch: Watch, step: str, total: int | None = None) -> Iterator[Part]:
    """The same parts, telling after each how many rows are done."""
    done = 0
    for part in parts:
        yield part
        done += len(part)
        watch.progress(step, done, total)
