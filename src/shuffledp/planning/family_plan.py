"""Plans that families of protocols add to a task's plan, with the groups, strata or graph of people."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from shuffledp.core.described import Described
from shuffledp.core.local_models import ProtocolModel


class Surroundings(Protocol):
    """Public structure of all people who take part: groups, strata or a graph."""

    @property
    def num_users(self) -> int:
        """Number of people."""


Around = Surroundings | tuple[Surroundings, ...]  # several are graphs, one for each round


def people_around(around: Around) -> int:
    """Number of people in a public structure, which is given as groups, strata or graphs."""
    return around[0].num_users if isinstance(around, tuple) else around.num_users


class FamilyPlan(Described):
    """Plan that a family of protocols adds to a larger plan, under a ``key`` of its JSON object."""

    __slots__ = ()
    key: ClassVar[str]

    def warnings_for(self, models: Sequence[ProtocolModel]) -> tuple[str, ...]:
        """Warnings to read before a collection with these protocols; empty if there are none."""
        del models
        return ()


def entry_of(plan: FamilyPlan | None) -> dict[str, Any]:
    """Entry of a family's plan in the JSON object of a larger plan; empty without a plan."""
    return {} if plan is None else {plan.key: plan.to_dict()}
