"""Dummy reports of walks: they fill the places of missing reports, and look like reports."""

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Randomizer, Reports
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.protocols.network.laws.walk_distributions import people_of
from shuffledp.protocols.network.laws.walk_positions import PositionBounds
from shuffledp.randomness.sources import RandomSource

DummyMaker = Callable[[int, RandomSource], Reports]


def check_dummies(protocol: str, maker: "Randomizer | DummyMaker | None", value: int | None) -> None:
    """Refuse dummies for protocol "all", makers that cannot make one, and a value outside their randomizer's range."""
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
    """Expected dummies after walks with these bounds, and the share of people whose own reports are handed in.

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
    """Dummies for reports of this model, each a fresh randomization of a value or else of the model's own choice.

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
    """Refuse a value that the dummies' randomizer does not take, or None where its model has no default."""
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
    """Uniform random unit vectors, which average out."""
    generator = np.random.Generator(cast("np.random.BitGenerator", source.bit_generator))
    vectors = generator.normal(size=(count, dimension))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])
