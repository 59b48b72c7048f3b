"""Groups whose radius or number of neighbors differs from the task's own."""

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.survey.groups import Grouping, GroupsSection

_FACTORS = (0.25, 0.5, 1.0, 2.0)


def groupings_around(
    section: GroupsSection, grouping: Grouping, wanted: tuple[float, ...] = ()
) -> dict[float | None, Grouping]:
    """Distinct groups by ascending radius or number of neighbors; by None if groups have neither.

    Args:
        section: the table ``[groups]`` of a task.
        grouping: the groups made by it, among what is returned.
        wanted: radii or numbers of neighbors; () is some around the task's own.

    Raises:
        InvalidParameterError: if some are wanted of groups that have neither.
    """
    key = "radius" if section.radius is not None else "neighbors" if section.neighbors is not None else ""
    points = grouping.coordinates
    if not key or points is None:
        if wanted:
            raise InvalidParameterError(
                f"--reach must be left out where groups are made from {section.way} without a radius or neighbors."
            )
        return {None: grouping}
    own = float(section.radius if section.radius is not None else section.neighbors or 1)
    others = sorted({*(wanted or (own * factor for factor in _FACTORS))} - {own})
    found: dict[float | None, Grouping] = {own: grouping}
    for given in others:
        value = given if key == "radius" else float(max(1, min(round(given), grouping.num_users - 1)))
        groups = _groups_at(key, value, section.metric or "euclidean", points)
        if all(groups.digest != other.groups.digest for other in found.values()):
            found[value] = Grouping(groups, points)
    return {value: found[value] for value in sorted(found, key=lambda each: each or 0.0)}


def _groups_at(key: str, value: float, metric: str, points: object) -> Groups:
    """Groups of all people, each made with the same radius or number of neighbors, ``value``."""
    if key == "neighbors":
        return Groups.from_neighbors(points, int(value), metric)  # type: ignore[arg-type]
    return Groups.from_radius(points, value, metric)  # type: ignore[arg-type]
