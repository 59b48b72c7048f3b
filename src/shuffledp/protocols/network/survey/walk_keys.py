"""Keys of the table ``[shuffler]`` about the graph or overlay of walks, and the links."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid
from shuffledp.protocols import network
from shuffledp.protocols.network.laws.walk import SURPLUS
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.survey.section import Section, require_sha256, some_text

AUTO = "auto"
LINKS = ("naive", "constant")
_GENERATOR = re.compile(r"random-regular:([0-9]{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaySection(Section):
    """Table of an overlay: the sizes of its groups, or the largest number of contacts."""

    title: ClassVar[str] = "[shuffler] overlay"
    groups: tuple[int, ...] | None = None
    contacts: int | None = None

    def __post_init__(self) -> None:
        if (self.groups is None) == (self.contacts is None):
            given = "neither" if self.groups is None else "both"
            raise InvalidParameterError(
                f"{self.title} must have groups, as in {{groups = [100, 100]}}, or a largest number of contacts, as in "
                f"{{contacts = 40}}; got {given}."
            )
        if self.contacts is not None:
            validate.integer_at_least(1, contacts=self.contacts)
        for size in self.groups if self.groups is not None else (2,):
            validate.integer_at_least(2, **{"each of groups": size})
        if self.groups == ():
            raise invalid("one size or more", groups=[])

    def to_dict(self) -> dict[str, Any]:
        """Dictionary with the one key that is given."""
        return {key: value for key, value in super(OverlaySection, self).to_dict().items() if value is not None}

    def of(self, num_users: int) -> Overlay:
        """The overlay for this number of people; refused if there is none."""
        if self.groups is not None:
            return Overlay(num_users, self.groups)
        return Overlay.within(num_users, contacts=self.contacts or 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphKeys:
    """Keys on the graphs of walks, or on an overlay."""

    graph: str | tuple[str, ...] | None = None
    overlay: OverlaySection | None = None
    graph_seed: int | None = None
    sha256: str | None = None

    def check_graph(self) -> None:
        """Refuse a table with both or neither of graph and overlay, and keys that do not fit."""
        if (self.graph is None) == (self.overlay is None):
            given = "neither" if self.graph is None else "both"
            raise InvalidParameterError(
                "[shuffler] must have a graph that reports walk along, or an overlay, as in {contacts = 40}; got "
                f"{given}."
            )
        for name in self._names:
            some_text(graph=name)
        if self.graph == ():
            raise invalid("one file or more", graph=[])
        self._check_source()

    def _check_source(self) -> None:
        """Refuse seeds and digests that do not fit an overlay, a random graph or files."""
        if self.overlay is not None:
            for name in ("graph_seed", "sha256"):
                if getattr(self, name) is not None:
                    raise invalid("left out with an overlay", **{name: getattr(self, name)})
        elif self.degree is None:
            for name in self._names:
                if name.startswith("random-"):
                    raise invalid("the name of a file, or random-regular:DEGREE", graph=name)
            if self.graph_seed is not None:
                raise invalid("left out where the graph is in a file", graph_seed=self.graph_seed)
        elif self.degree == 0:
            raise invalid(
                "random-regular:DEGREE with a degree of 1 or more: else nobody has a neighbor", graph=self.graph
            )
        elif self.sha256 is not None:
            raise invalid("left out for a random graph, which is in no file", sha256=self.sha256)
        if self.graph_seed is not None:
            validate.integer_at_least(0, graph_seed=self.graph_seed)
        require_sha256(sha256=self.sha256)

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.graph,) if isinstance(self.graph, str) else self.graph or ()

    @property
    def degree(self) -> int | None:
        """Number of neighbors of each person in a random graph; None for an overlay or a graph in a file."""
        found = _GENERATOR.fullmatch(self.graph) if isinstance(self.graph, str) else None
        return int(found[1]) if found else None

    @property
    def is_drawn(self) -> bool:
        """Whether the graph is a random one."""
        return self.degree is not None

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the rounds' graphs; none for a random graph or an overlay."""
        return self._names if self.degree is None else ()


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkKeys:
    """Keys on links: constant or naive links, the number of slots, and the rule for a surplus."""

    links: str = LINKS[0]
    slots: str | tuple[int, ...] = AUTO
    surplus: str = SURPLUS[0]

    def check_links(self, dropouts: float) -> None:
        """Refuse slots without constant links, and dropouts with constant links.

        With constant links missing messages are seen.
        """
        validate.one_of(LINKS, links=self.links)
        validate.one_of(SURPLUS, surplus=self.surplus)
        if self.links == LINKS[0]:
            for name, default in (("slots", AUTO), ("surplus", SURPLUS[0])):
                if getattr(self, name) != default:
                    raise invalid('left out without links = "constant"', **{name: getattr(self, name)})
            return
        if dropouts:
            raise invalid("0 where links have slots: missing messages would be seen", dropouts=dropouts)
        if not isinstance(self.slots, str):
            network.check_first_slots(self.slots)
        elif self.slots != AUTO:
            raise invalid("'auto', or one number for each of the first rounds, as in [1, 8]", slots=self.slots)

    def constant_links(self, delta: float) -> "network.ConstantLinks | None":
        """Rule for the slots of links: "auto" makes a surplus rarer than a share of delta; None without slots."""
        if self.links == LINKS[0]:
            return None
        slots = None if isinstance(self.slots, str) else self.slots
        return network.ConstantLinks(slots=slots, overflow=network.SURPLUS_SHARE * delta, surplus=self.surplus)
