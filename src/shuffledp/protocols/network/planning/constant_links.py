"""Plan of links with one envelope of fixed slots each round, whose traffic reveals nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.validate import invalid
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.link_slots import check_numbers_of_slots, slots_needed, slots_sent
from shuffledp.protocols.network.laws.walk import SURPLUS
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_constant_pattern import surplus_charge

SURPLUS_SHARE = 0.01  # of delta: target for the chance that some link has too few slots
MOST_SURPLUS = 0.1  # of delta: the largest such chance a gate admits, because people who are offline change loads


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantLinks:
    """Rule for the slots of links, for any number of rounds.

    Args:
        slots: of an envelope in the first round, the second and so on; the last number is that of all further rounds.
            None is as many as it takes, as `slots` finds them.
        overflow: the chance, at most, that some link has too few, where they are to be found; above 0 and below 1.
        surplus: what becomes of reports beyond the slots, as for `shuffledp.RandomWalkShuffler`.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """

    slots: tuple[int, ...] | None = None
    overflow: float = 1e-8
    surplus: str = SURPLUS[0]

    def __post_init__(self) -> None:
        validate.open_probability(overflow=self.overflow)
        validate.one_of(SURPLUS, surplus=self.surplus)
        if self.slots is not None:
            check_first_slots(self.slots)

    def of(self, graph: Graph | Overlay | Sequence[Graph], num_rounds: int, laziness: float) -> tuple[int, ...]:
        """Slots of each of ``num_rounds`` rounds."""
        if self.slots is None:
            return slots_needed(graph, num_rounds, overflow=self.overflow, laziness=laziness)
        return of_rounds(self.slots, num_rounds)

    def cut(
        self, graph: Graph | Overlay | Sequence[Graph], planned: int, laziness: float, num_rounds: int
    ) -> dict[str, Any]:
        """Slots and surplus rule of the first ``num_rounds`` of the planned rounds, as arguments of a shuffler."""
        return {"slots": self.of(graph, planned, laziness)[:num_rounds], "surplus": self.surplus}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksPlan(Described):
    """Cost of links with slots, and the chance that some link has too few slots.

    Args:
        slots_per_link: of an envelope in each round.
        slots: those that a person sends in all rounds together, on all links; of whoever sends most.
        slots_mean: the same on average over people.
        surplus: what becomes of reports beyond them: "waits" or "aborts".
        overflow: the chance, at most, that there are any.
        charge: what delta counts for that at the epsilon of the plan.
    """

    slots_per_link: tuple[int, ...]
    slots: int
    slots_mean: float
    surplus: str
    overflow: float
    charge: float


def slots(
    graph: Graph | Overlay | Sequence[Graph],
    num_rounds: int,
    *,
    delta: float,
    laziness: float = 0.0,
    share: float = SURPLUS_SHARE,
) -> tuple[int, ...]:
    """Fewest slots in each round that keep the chance of a surplus at most ``share`` times delta.

    The chance that some link ever has more reports to carry is at most ``share`` times delta, by the loads of all
    links; rounds get equal parts of it. With epsilon up to about 1, delta then counts two hundredths for it at most.

    Args:
        graph: one graph, or one for each round, or an overlay.
        num_rounds: 0 or more.
        delta: the remainder, strictly between 0 and 1.
        laziness: the chance that a report stays where it is for a round; 0 on an overlay.
        share: above 0 and at most 1.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> slots(Overlay(10_000, (10, 10, 10, 10)), 4, delta=1e-6)
        (1, 8, 8, 8)
    """
    validate.open_probability(delta=delta)
    validate.positive(share=share)
    validate.probability(share=share)
    return slots_needed(graph, num_rounds, overflow=share * delta, laziness=laziness)


def plan_links(shuffler: RandomWalkShuffler, local: LocalModel, epsilon: float) -> LinksPlan | None:
    """Cost of a shuffler's slots at this epsilon; None without slots."""
    if shuffler.slots is None:
        return None
    sent = slots_sent(shuffler.graph, shuffler.slots)
    model = ProtocolModel(local=local, shuffle=shuffler.model(shuffler.num_users))
    return LinksPlan(
        slots_per_link=tuple(shuffler.slots),
        slots=int(sent.max()),
        slots_mean=float(sent.mean()),
        surplus=shuffler.surplus,
        overflow=shuffler.overflow,
        charge=surplus_charge(model, epsilon),
    )


def check_gate(shuffler: RandomWalkShuffler) -> None:
    """Refuse slots so few that a gate stays shut even if all people are online.

    Raises:
        InvalidParameterError: if they are.
    """
    gate = None if shuffler.schedule is not None else shuffler.gate
    if gate is not None and shuffler.overflow > gate.overflow:
        raise invalid(
            f"enough to keep the chance of a surplus at or below {gate.overflow:.3g}, as the gate requires; these give "
            f"{shuffler.overflow:.3g}",
            slots=list(shuffler.slots or ()),
        )


def of_rounds(first: Sequence[int], num_rounds: int) -> tuple[int, ...]:
    """Slots of each round: the numbers in ``first``, then copies of the last of these."""
    return (*first, *(first[-1],) * num_rounds)[:num_rounds]


def check_first_slots(first: Sequence[int]) -> None:
    """Refuse invalid numbers of slots."""
    if not first:
        raise validate.invalid("one number or more", slots=[])
    check_numbers_of_slots(first)
