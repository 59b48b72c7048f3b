"""Entries of d_sigma-private shuffling in the kernel's registries."""

from collections.abc import Sequence
from functools import partial

from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.protocols import d_sigma
from shuffledp.protocols.family import Family, FirstTask, FurtherStatements, NamedShuffle, ShufflerKind, TaskPart

_DISTANCES = {
    "mallows": "kendall",
    "mallows-kendall": "kendall",
    "mallows-hamming": "hamming",
    "mallows-cayley": "cayley",
}

_RELEASED = "  # a column that is released beside the answers\n"
_RELEASED_TOO = "  # columns that are released beside the answers\n"
_SHUFFLED = """
[shuffler]
kind = "auto"
alpha = 4.0  # the loss of the order inside a group
"""
_IN_GROUPS = f"""
[groups]
column = $by  # who answered what is hidden among everybody with the same entry
# columns = [$by]  # in place of column, for numbers such as ages: among everybody
# radius = 2  # who is so near
{_SHUFFLED}"""
_BY_PLACE = f"""
[groups]
columns = $by
metric = "haversine"  # degrees, and distances in kilometers
radius = 10.0  # who answered what is hidden among everybody so near
{_SHUFFLED}"""


def _in_one_block(num_users: int, concentration: float, *, distance: str) -> ShuffleModel:
    """Mallows shuffle of all people in one block."""
    import numpy as np

    everybody = d_sigma.Groups.from_labels(np.zeros(num_users, dtype=np.int64))
    return d_sigma.MallowsShuffler(
        groups=everybody, concentration=concentration, distance=distance, per_block=False
    ).model(num_users)


def _about_order(model: ProtocolModel) -> PrivacyStatement | None:
    return d_sigma.d_sigma_statement(model)


def _order_of_reports(local: PrivacyStatement, *, groups_digest: str, largest_group: int) -> PrivacyStatement | None:
    return d_sigma.d_sigma_of_reports(local, groups_digest=groups_digest, largest_group=largest_group)


def _orders_together(claims: Sequence[DSigmaPrivacy], *, delta: float) -> tuple[tuple[int, int, float], ...]:
    return d_sigma.orders_added_up(claims, delta=delta)


FAMILY = Family(
    "d_sigma",
    shufflers={
        "mallows": ShufflerKind(
            lambda: d_sigma.MallowsShuffler,
            "groups",
            True,
            lambda: d_sigma.MallowsShuffler.check,
            section=lambda: d_sigma.GroupedSection,
            best_for="hiding who said what inside every group, while reports stay near their senders",
            described={
                name: NamedShuffle(partial(_in_one_block, distance=distance), "concentration")
                for name, distance in _DISTANCES.items()
            },
        ),
        "noisy-sort": ShufflerKind(
            lambda: d_sigma.NoisySortShuffler,
            "groups",
            True,
            lambda: d_sigma.NoisySortShuffler.check,
            without=("positions", "scale"),
            section=lambda: d_sigma.GroupedSection,
            best_for="the same by sorting positions plus noise, where groups vary in size",
        ),
    },
    task=TaskPart(
        ("groups",),
        lambda section, keys: d_sigma.in_groups(section, **keys),
        first={
            "groups": FirstTask("A survey in groups", ("region",), f"public = [$by]{_RELEASED}", _IN_GROUPS),
            "places": FirstTask("A survey by place", ("lat", "lon"), f"public = $by{_RELEASED_TOO}", _BY_PLACE),
        },
    ),
    choices={
        "auto": ShufflerKind(
            lambda: d_sigma.least_displaced,
            "groups",
            True,
            lambda: d_sigma.check_choice,
            section=lambda: d_sigma.GroupedSection,
        ),
    },
    games=lambda: (d_sigma.OrderGame,),
    beside=FurtherStatements(_about_order, _order_of_reports, _orders_together),
    files=lambda: d_sigma.GroupFiles,
    document=lambda: d_sigma.GroupsDocument,
)
