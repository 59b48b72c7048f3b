"""Facts about the mixing of given groups: their sizes, and how far a shuffle displaces reports."""

from dataclasses import dataclass

from shuffledp.core.described import Described


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSizes(Described):
    """Sizes of given groups, and the sensitivity of their reference order.

    Args:
        num_users: people.
        num_groups: different groups.
        smallest: people in the smallest of the people's own groups.
        median: people in the group of half of the people, or fewer.
        largest: people in the largest group.
        num_blocks: stretches of the reference order that do not mix with others.
        largest_block: people in the largest of them.
        num_alone: people who are the only ones in their block: their reports are not shuffled.
        sensitivity: the exact sensitivity of the reference order.
        sensitivity_distance: of which distance of orders: that of a Mallows shuffle, else Kendall's.
    """

    num_users: int
    num_groups: int
    smallest: int
    median: int
    largest: int
    num_blocks: int
    largest_block: int
    num_alone: int
    sensitivity: int
    sensitivity_distance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Displacements(GroupSizes):
    """Displacements of reports by a shuffle near an order, and the shuffle's loss.

    Args:
        kind: of the shuffle; for an automatic choice, the one chosen.
        alpha: the loss of the order inside a group.
        delta: the remainder that goes with it.
        displacement: mean distance in ranks between a slot and the report in it.
        displacement_90: so far or nearer are nine of ten reports.
        displacement_uniform: the mean for a uniform shuffle of everybody.
        distance: the median distance between the slot's place and that of the report in it, in the unit of the
            groups' radius; None for groups without coordinates.
        distance_90: so near are nine of ten reports.
    """

    kind: str
    alpha: float
    delta: float
    displacement: float
    displacement_90: float
    displacement_uniform: float
    distance: float | None
    distance_90: float | None
