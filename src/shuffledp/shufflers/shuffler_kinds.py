"""Registry of shufflers: the built-in kinds, one line each, and kinds that families of protocols add.

The table ``[shuffler]`` of a task file and the table of the documentation are generated from it: the keyword arguments
of a shuffler are the keys of the file. A module that is added to this package is made known here, once, and that of a
family in the family's doors; a shuffler is imported when a task names it.
"""

from shuffledp import shufflers
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.protocols.family import NamedShuffle, ShufflerKind, families


def _uniform(num_users: int) -> ShuffleModel:
    return shufflers.UniformShuffleModel(num_users=num_users)


def _none(num_users: int) -> ShuffleModel:
    return shufflers.IdentityShuffleModel(num_users=num_users)


KINDS: dict[str, ShufflerKind] = {
    "uniform": ShufflerKind(
        lambda: shufflers.UniformShuffler,
        best_for="the most privacy, where a shuffler is trusted: every order is equally likely",
        described={"uniform": NamedShuffle(_uniform)},
    ),
    "none": ShufflerKind(
        lambda: shufflers.IdentityShuffler,
        keeps_public=True,
        best_for="for comparison: every report stays its sender's, and statements promise epsilon0",
        described={"none": NamedShuffle(_none)},
    ),
}
for _family in families():
    KINDS.update(_family.shufflers)


def described_shuffles() -> dict[str, NamedShuffle]:
    """Shuffle models that need no task, by the names that ``--shuffler`` accepts."""
    return {name: each for kind in KINDS.values() for name, each in kind.described.items()}
