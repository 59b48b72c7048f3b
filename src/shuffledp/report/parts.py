"""What a page is made of: sections, and the charts in them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Chart", "Section"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture that can be drawn at any width.

    Args:
        name: of its files, without the ending.
        title: what it shows, in a few words.
        description: what there is to see, for people who do not see it.
        caption: below it; what a reader needs in order to read it right.
        draw: from the width in pixels to the figure.
    """

    name: str
    title: str
    description: str
    caption: str
    draw: "Callable[[int], Figure]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of the page: a heading, a template of its own, and what that template may name.

    Args:
        name: of the template ``sections/<name>.html.j2``.
        title: the heading.
        context: what the template sees, besides ``charts``.
        charts: pictures; the template places them by their names.
        anchor: the section's place in the page; None if it is the name, which must then be there once.
    """

    name: str
    title: str
    context: Mapping[str, Any] = field(default_factory=dict)
    charts: tuple[Chart, ...] = ()
    anchor: str | None = None
