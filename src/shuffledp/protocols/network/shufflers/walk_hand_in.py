"""Hand-in after a walk: the gate, the chosen reports, and dummies in place of missing reports."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Randomizer, Reports
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.core.table import Integers
from shuffledp.protocols.network.laws.churn_likeness import likeness_given, quick_overlap_given
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays
from shuffledp.protocols.network.laws.link_slots import surplus_chance
from shuffledp.protocols.network.laws.walk_distributions import people_of
from shuffledp.protocols.network.laws.walk_positions import PositionBounds
from shuffledp.protocols.network.laws.walk_sampling import LOST
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource

if TYPE_CHECKING:
    from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler

DummyMaker = Callable[[int, RandomSource], Reports]
_FEW = 200  # most people whose laws are all compared where each of them asks whether to hand in


def may_hand_in(shuffler: "RandomWalkShuffler", schedule: Schedule) -> bool:
    """Whether the gate allows the hand-in after this attendance; True without a gate.

    It goes by certain bounds on positions and slots, quick for many people: where it is open, the model of the
    shuffler with this schedule is not refused.
    """
    graph, gate, laziness = shuffler.graph, shuffler.gate, shuffler.laziness
    if gate is None:
        return True
    # After an overlay cycle without absence, all positions have one law, whatever follows.
    mixed = isinstance(graph, Overlay) and shuffler.num_rounds >= graph.num_rounds
    if schedule.offline or (isinstance(graph, Overlay) and not mixed):
        ways = ChurnedWays(graph, schedule)
        if shuffler.num_users > _FEW:
            overlap = quick_overlap_given(ways, laziness=laziness)
        else:
            overlap = likeness_given(ways, laziness=laziness).mean_overlap
        return gate.is_open(overlap=overlap, overflow=surplus_chance(ways, shuffler.slots or (), laziness=laziness))
    overlap = 1.0 if mixed else shuffler.bounds.likeness.mean_overlap
    return gate.is_open(overlap=overlap, overflow=shuffler.overflow)


def checked_holders(holders: ArrayLike, people: int, *, may_be_lost: bool) -> Integers:
    """Checked holders of the reports, one person of the graph for each report.

    Errors never show who holds a report.
    """
    validate.unmasked(holders=holders)
    given = np.asarray(holders)
    if given.shape != (people,):
        raise validate.invalid(f"one for each of {people} reports", shape_of_holders=given.shape)
    if not np.issubdtype(given.dtype, np.integer):
        raise InvalidParameterError(f"holders must be integers; got holders of type {given.dtype}.")
    lost = given == LOST
    if (((given < 0) & ~lost) | (given >= people)).any():
        raise InvalidParameterError(f"holders must be in range({people}), or {LOST} for a report that is lost.")
    if lost.any() and not may_be_lost:
        raise InvalidParameterError(
            f"holders must be people where dropout is 0, so that no report is lost; {lost.sum()} are {LOST}."
        )
    return given.astype(np.int64)


def chosen_to_hand_in(holders: Integers, people: int, most: int, source: RandomSource) -> tuple[Integers, Integers]:
    """Reports to hand in, at most ``most`` of each holder, and the holders of missing reports."""
    order = random_permutation(holders.size, source=source)
    order = order[holders[order] != LOST]
    order = order[np.argsort(holders[order], kind="stable")]
    held = np.bincount(holders[order], minlength=people)
    rank = np.arange(order.size) - np.repeat(np.cumsum(held) - held, held)
    gaps = np.repeat(np.arange(people), np.maximum(most - held, 0))
    return order[rank < most], gaps


# ---- dummies --------------------------------------------------------------------------------------------------------


def check_dummies(protocol: str, maker: "Randomizer | DummyMaker | None", value: int | None) -> None:
    """Refuse dummies for protocol "all", makers of the wrong type, and values out of range."""
    if protocol == "all" and maker is not None:
        raise InvalidParameterError(
            "dummies must be left out for protocol='all', which needs none; protocols 'single' and 'padded' do."
        )
    if value is not None:
        if protocol == "all":
            raise validate.invalid("left out for protocol='all', which needs no dummies", dummy_value=value)
        validate.integer_at_least(0, dummy_value=value)
    if maker is not None and (not callable(maker) or isinstance(maker, type)):
        validate.instance_of(Randomizer, dummies=maker)
    if isinstance(maker, Randomizer):
        _checked_value(value, maker.model)


def expected_dummies(
    bounds: PositionBounds, maker: "Randomizer | DummyMaker | None", value: int | None, *, overflow: float
) -> tuple[DummyReports, float]:
    """Expected share of dummies after walks, and share of people whose own report is handed in.

    ``overflow`` is the chance that links with slots change them.
    """
    people = people_of(bounds.graph)
    handed_in = people * bounds.submissions
    made_of = maker.model.dummy_value if value is None and isinstance(maker, Randomizer) else value
    added = DummyReports(
        fraction=bounds.dummies / handed_in,
        standard_error=min(1.0, bounds.dummies_error / handed_in + overflow),
        value=made_of,
        own=maker is None,
    )
    return added, min(1.0, (handed_in - bounds.dummies) / people)


def fresh_dummies(
    maker: "Randomizer | DummyMaker | None", value: int | None, count: int, model: LocalModel, source: RandomSource
) -> Reports:
    """Fresh dummies for reports of this model, randomized from a value or from the model's default.

    They are made by a randomizer, by a function of ``count`` and ``source``, or else by the randomizer of the reports.
    """
    if maker is None:
        _checked_value(value, model)
        maker = _own_randomizer(model)
    if not isinstance(maker, Randomizer):
        return _made(maker, count, source)
    maker = getattr(maker, "in_numbers", maker)
    dimension = getattr(maker.model, "dimension", 1)
    if dimension > 1:
        return maker.randomize(_directions(count, dimension, source), source=source)
    return maker.randomize(np.full(count, maker.model.dummy_value if value is None else value), source=source)


def _made(maker: DummyMaker, count: int, source: RandomSource) -> Reports:
    made = maker(count, source)
    if not isinstance(made, Reports):
        raise InvalidParameterError(f"dummies must give Reports; the function gave a {type(made).__name__}.")
    if len(made) != count:
        raise InvalidParameterError(
            f"dummies must give the requested number of reports; the function gave {len(made)}, not {count}."
        )
    return made


def _own_randomizer(model: LocalModel) -> Randomizer:
    try:
        return cast(Randomizer, model.randomizer())
    except UnsupportedModelError as error:
        advice = "Pass dummies=randomizer, that of the reports."
        raise UnsupportedModelError(f"dummies must be given: {error} {advice}") from None


def _checked_value(value: int | None, model: LocalModel) -> None:
    """Refuse a value that the dummies' randomizer rejects, or None without a default value."""
    if value is None:
        model.dummy_value  # noqa: B018  # raises
    elif isinstance(model, FrequencyModel) and value >= model.domain_size:
        allowed = f"an integer from 0 to {model.domain_size - 1}"
        raise validate.invalid(f"{allowed}, for dummies of {model.kind!r}", dummy_value=value)
    elif isinstance(model, MeanModel) and model.dimension > 1:
        raise validate.invalid("None for dummies that are vectors", dummy_value=value)
    elif isinstance(model, MeanModel) and not model.lower <= value <= model.upper:
        allowed = f"an integer from {model.lower:g} to {model.upper:g}"
        raise validate.invalid(f"{allowed}, for dummies of {model.kind!r}", dummy_value=value)


def _directions(count: int, dimension: int, source: RandomSource) -> NDArray[np.float64]:
    """Uniform random unit vectors, with a mean of 0."""
    generator = np.random.Generator(cast("np.random.BitGenerator", source.bit_generator))
    vectors = generator.normal(size=(count, dimension))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])
