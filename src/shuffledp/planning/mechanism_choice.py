"""Choice of a randomizer by its expected error, and the sample size for a wanted error."""

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.accounting.account import account
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel, ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.tick_models import TicksModel
from shuffledp.randomizers.families import RangeModel

_TICKED = 0.1  # share of the people who tick an option, for which errors are expected


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedError(Described):
    """Expected errors of an estimate, before there is any data.

    Args:
        at: what the people are supposed to answer, which the errors depend on.
        standard_error: of what randomizing adds, for the people in the batch.
        sampling_error: the further error if they are a random sample of a large population.
    """

    at: str
    standard_error: float
    sampling_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Described):
    """Randomizer to choose from, with its error and its guarantees.

    Args:
        kind: as in the task file.
        chosen: whether it is the one that others are compared with.
        report_bits: size of what one person sends, in bits; None where that differs from person to person.
        error: how far estimates will be off.
        local: what all that one person sends guarantees by itself.
        central: what is guaranteed about everything released; None where no theorem says anything.
        theorem: by which theorem it is; None where there is none.
    """

    kind: str
    chosen: bool
    report_bits: int | None
    error: ExpectedError
    local: Guarantee
    central: Guarantee | None
    theorem: str | None


def expected_error(model: LocalModel, num_users: int) -> ExpectedError:
    """Expected errors of an estimate from this number of reports, all of which arrive.

    They are those of a category that as many people hold as any other; of an option that one in ten ticks; of the mean
    of numbers that lie evenly in their range; or of a coordinate of the mean of vectors in all directions.

    Args:
        model: of a randomizer of categories, ticks, numbers or vectors.
        num_users: people, 1 or more.

    Raises:
        UnsupportedModelError: for the model of another randomizer.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> expected_error(KaryRandomizedResponse(epsilon0=1.0, domain_size=4).model, 10_000).at
        'a frequency of 1/4'
    """
    validate.integer_at_least(1, num_users=num_users)
    at, noise, spread = _variances(model)
    return ExpectedError(
        at=at, standard_error=math.sqrt(noise / num_users), sampling_error=math.sqrt(spread / num_users)
    )


def sample_size(model: LocalModel, *, standard_error: float, of_sample: bool = False) -> int:
    """Fewest people whose reports lead to an expected standard error.

    Args:
        model: of a randomizer of categories, ticks, numbers or vectors.
        standard_error: the largest that is acceptable, above 0, in the units of the estimate.
        of_sample: whether the people are a random sample of a large population, about which the estimate is.

    Raises:
        UnsupportedModelError: for the model of another randomizer.

    Example:
        >>> from shuffledp import OneBitMean
        >>> sample_size(OneBitMean(epsilon0=1.0, lower=0, upper=1).model, standard_error=0.01)
        10874
    """
    validate.positive(standard_error=standard_error)
    _, noise, spread = _variances(model)
    return max(1, math.ceil((noise + spread * of_sample) / standard_error**2))


def _variances(model: LocalModel) -> tuple[str, float, float]:
    """Kind of answers, variance of a report from randomizing, and variance of the answers themselves."""
    if isinstance(model, FrequencyModel):
        share = 1 / model.domain_size
        return f"a frequency of 1/{model.domain_size}", model.noise_variance(share), share * (1 - share)
    if isinstance(model, TicksModel):
        return f"an option that {_TICKED:.0%} tick", model.noise_variance(_TICKED), _TICKED * (1 - _TICKED)
    if not isinstance(model, MeanModel):
        raise UnsupportedModelError(
            f"expected errors are known of randomizers of categories, ticks, numbers and vectors; got {model.kind!r}."
        )
    if isinstance(model, RangeModel):
        at, spread = (
            f"values spread evenly from {model.lower:g} to {model.upper:g}",
            (model.upper - model.lower) ** 2 / 12,
        )
    else:
        at, spread = "each coordinate of unit vectors in all directions", 1 / model.dimension
    middle = np.full(model.dimension, (model.lower + model.upper) / 2)
    return at, float(model.noise_variance(middle)[0]) + model.noise_curvature * spread, spread


def compare_randomizers(models: Iterable[LocalModel], shuffle: ShuffleModel, *, delta: float) -> tuple[Option, ...]:
    """Randomizers ranked by their expected error through one shuffle, the smallest first.

    Args:
        models: of randomizers of the same answers, such as `shuffledp.randomizers.model_of_kind` makes.
        shuffle: of the people who are planned for.
        delta: of the central guarantee.

    Raises:
        UnsupportedModelError: for a model of which no errors are known.

    Example:
        >>> from shuffledp import UniformShuffler
        >>> from shuffledp.randomizers import model_of_kind
        >>> kinds = ("k-rr", "oue", "subset")
        >>> models = [model_of_kind(kind, epsilon0=1.0, domain_size=100) for kind in kinds]
        >>> [each.kind for each in compare_randomizers(models, UniformShuffler().model(10_000), delta=1e-6)]
        ['subset', 'oue', 'k-rr']
    """
    options = [
        option_of(
            model.kind,
            ProtocolModel(local=model, shuffle=shuffle),
            expected_error(model, shuffle.num_users),
            delta=delta,
            chosen=False,
        )
        for model in models
    ]
    return ranked(options)


def best_randomizer(models: Iterable[LocalModel], shuffle: ShuffleModel) -> LocalModel:
    """Model with the least expected error; the smallest reports decide between equal errors.

    The arguments are those of `compare_randomizers`.

    Raises:
        InvalidParameterError: if there is no model.
        UnsupportedModelError: for a model of which no errors are known.

    Example:
        >>> from shuffledp import UniformShuffler
        >>> from shuffledp.randomizers import model_of_kind
        >>> models = [model_of_kind(kind, epsilon0=4.0, domain_size=3) for kind in ("k-rr", "oue")]
        >>> best_randomizer(models, UniformShuffler().model(10_000)).kind
        'k-rr'
    """
    models = tuple(models)
    if not models:
        raise validate.invalid("one or more", models=[])
    found = [error_through(expected_error(model, shuffle.num_users), shuffle).standard_error for model in models]
    keys = [_key(error, model.report_bits, model.kind) for error, model in zip(found, models, strict=True)]
    return models[keys.index(min(keys))]


def option_of(
    kind: str,
    model: ProtocolModel,
    error: ExpectedError,
    *,
    delta: float,
    chosen: bool,
    unit: float = 1.0,
    stated: PrivacyStatement | None = None,
) -> Option:
    """Option for one randomizer, with its error through the shuffle in the given ``unit``.

    The given ``error`` is for reports that all arrive. ``stated`` is what is stated of everything released, if that is
    known already.
    """
    if stated is None:
        with suppress(UnsupportedModelError):
            stated = account(model, delta=delta)
    bits, error = model.local.report_bits, error_through(error, model.shuffle)
    if unit != 1:
        error = replace(error, standard_error=error.standard_error * unit, sampling_error=error.sampling_error * unit)
    return Option(
        kind=kind,
        chosen=chosen,
        report_bits=None if bits is None else bits * model.local.num_messages,
        error=error,
        local=model.local.guarantee,
        central=None if stated is None else stated.guarantee,
        theorem=None if stated is None else stated.basis.theorem,
    )


def ranked(options: Iterable[Option]) -> tuple[Option, ...]:
    """Options by ascending error, then by ascending report size."""
    return tuple(sorted(options, key=lambda each: _key(each.error.standard_error, each.report_bits, each.kind)))


def _key(error: float, bits: int | None, kind: str) -> tuple[float, float, str]:
    """Sort key in which errors are equal if they differ by less than one part in a million."""
    return float(f"{error:.6g}"), math.inf if bits is None else bits, kind


def error_through(error: ExpectedError, shuffle: ShuffleModel) -> ExpectedError:
    """Error of reports through a shuffle, which may lose some, add dummies, or show people's weights."""
    if shuffle.design_effect != 1:
        root = math.sqrt(shuffle.design_effect)
        return replace(error, standard_error=error.standard_error * root, sampling_error=error.sampling_error * root)
    fraction, arriving = (shuffle.dummies.fraction if shuffle.dummies else 0.0), shuffle.arrival_share
    if arriving in (0.0, 1.0) and not fraction:
        return error
    lost = error.sampling_error**2 * (1 / arriving - 1)  # variance by the lost reports: the rest are a sample
    noise = error.standard_error / math.sqrt(arriving * (1 - fraction))
    return replace(error, standard_error=math.hypot(noise, math.sqrt(lost)))
