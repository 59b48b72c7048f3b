"""The ``[groups]`` section: groups of people, made from public information alone."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text import count_of
from shuffledp.core.validate import invalid
from shuffledp.survey.section import Section, digest_of_files, require_sha256, some_text

if TYPE_CHECKING:
    from shuffledp.protocols.d_sigma.people.assignment import Groups

_WAYS = ("columns", "column", "graph", "lists")
_KEYS = {  # by way: the keys that go with it, and the keys of which exactly one must be given
    "columns": (("metric",), ("radius", "neighbors")),
    "column": ((), ()),
    "graph": (("sha256",), ("hops", "neighbors")),
    "lists": (("sha256",), ()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsSection(Section):
    """Table ``[groups]``: groups of people, which may overlap, made in exactly one of four ways."""

    title: ClassVar[str] = "[groups]"
    columns: tuple[str, ...] = ()
    metric: str | None = None
    radius: float | None = None
    neighbors: int | None = None
    column: str | None = None
    graph: str | None = None
    hops: int | None = None
    lists: str | None = None
    sha256: str | None = None

    def __post_init__(self) -> None:
        given = [name for name in _WAYS if getattr(self, name)]
        if len(given) != 1:
            raise InvalidParameterError(
                f"[groups] must have exactly one of {', '.join(_WAYS)}; got {' and '.join(given) or 'none'}."
            )
        self._check_keys(given[0])
        for column in self.public_columns:
            some_text(columns=column)
        if len(set(self.columns)) != len(self.columns):
            raise invalid("different columns", columns=", ".join(self.columns))
        if self.metric is not None:
            from shuffledp.protocols.d_sigma.people.public_points import METRICS

            validate.one_of(METRICS, metric=self.metric)
        if self.metric == "haversine" and len(self.columns) != 2:
            raise invalid("two, latitude and longitude, for metric = 'haversine'", columns=", ".join(self.columns))
        if self.radius is not None:
            validate.nonnegative(radius=self.radius)
        if self.neighbors is not None:
            validate.integer_at_least(1, neighbors=self.neighbors)
        if self.hops is not None:
            validate.integer_at_least(0, hops=self.hops)
        require_sha256(sha256=self.sha256)

    def _check_keys(self, way: str) -> None:
        """Refuse keys that do not fit the way of making groups.

        A radius or size that is missing or given twice is refused too.
        """
        others, reaches = _KEYS[way]
        for key in ("metric", "radius", "neighbors", "hops", "sha256"):
            if getattr(self, key) is not None and key not in (*others, *reaches):
                raise InvalidParameterError(
                    f"[groups] must be without {key} where groups are made from {way}; got {key} = "
                    f"{getattr(self, key)!r}."
                )
        chosen = [key for key in reaches if getattr(self, key) is not None]
        if reaches and len(chosen) != 1:
            raise InvalidParameterError(
                f"[groups] must have exactly one of {' and '.join(reaches)} beside {way}; "
                f"got {' and '.join(chosen) or 'none'}."
            )

    @property
    def way(self) -> str:
        """Key that defines the groups: "columns", "column", "graph" or "lists"."""
        return next(name for name in _WAYS if getattr(self, name))

    @property
    def public_columns(self) -> tuple[str, ...]:
        """The columns of the input that groups are made from."""
        return self.columns if self.column is None else (self.column,)

    @property
    def file(self) -> str | None:
        """File that groups are made from, with rows of the input as nodes; None without a file."""
        return self.graph or self.lists

    def pinned(self, folder: Path) -> "GroupsSection":
        """Section with the digest of its file, see `digest_of_files`; unchanged without a file."""
        if self.file is None:
            return self
        return replace(self, sha256=digest_of_files(folder, [self.file], self.sha256, key=f"{self.title} {self.way}"))

    @property
    def words(self) -> str:
        """Words for the other people of a person's group."""
        named = " and ".join(self.columns)
        if self.way == "column":
            return f"everybody with the same {self.column}"
        if self.way == "lists":
            return f"those who are listed with them in {self.lists}"
        if self.way == "graph" and self.hops is not None:
            return f"everybody at most {count_of(self.hops, 'edge')} away in {self.graph}"
        if self.way == "graph":
            ties = f"the {self.neighbors} people with the strongest ties to them in {self.graph}"
            return f"{ties}, and all whose tie is as strong"
        if self.radius is not None:
            return f"everybody within {self.radius:g}{self.unit} of them by {named}"
        return f"the {self.neighbors} people nearest to them by {named}, and all who are as near as the last of these"

    @property
    def unit(self) -> str:
        """Unit after a radius: kilometers on the globe, else the columns' own unit."""
        return " km" if self.metric == "haversine" else ""

    @property
    def unit_of_distances(self) -> str:
        """Unit after a distance between people: kilometers, else the names of the columns."""
        return self.unit or f" ({', '.join(self.columns)})"


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of the people of one input, with the people's coordinates and households where known.

    Args:
        groups: the groups.
        coordinates: shape (people, columns), or None.
        labels: label of each person's group where groups are labels, shape (people,); else None.
        households: people who live together, as rows of the input; None where that is not known.
    """

    groups: "Groups"
    coordinates: NDArray[np.float64] | None = None
    labels: NDArray[Any] | None = None
    households: tuple[NDArray[np.int64], ...] | None = None

    @property
    def num_users(self) -> int:
        """Number of people in the input."""
        return self.groups.num_users

    @property
    def overlapping(self) -> bool:
        """Whether a person is in several groups."""
        return int(self.groups.sizes.sum()) > self.num_users

    def order(self, method: str) -> NDArray[np.int64]:
        """The reference order by a method of `shuffledp.protocols.d_sigma.reference_order`."""
        from shuffledp.protocols.d_sigma.people.orders import reference_order

        return reference_order(self.groups, coordinates=self.coordinates, method=method)
