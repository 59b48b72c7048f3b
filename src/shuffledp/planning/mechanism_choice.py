"""Choice of mechanisms: randomizers by their expected error, and shufflers near a reference order by displacement."""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.account import account
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel, ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.randomizers.families import RangeModel
from shuffledp.randomness.replayable import SeededSource

if TYPE_CHECKING:
    from shuffledp.protocols.d_sigma.people.assignment import Groups
    from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler

_PLACES = 20_000  # places measured at least, in three draws or more
_MOST_REFINED = 1_000_000  # members of all groups: some seconds


# ---- randomizers


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

    They are those of a category that as many people hold as any other; of the mean of numbers that lie evenly in their
    range; or of a coordinate of the mean of vectors in all directions.

    Args:
        model: of a randomizer of categories, numbers or vectors.
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
        model: of a randomizer of categories, numbers or vectors.
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
    """Kind of answers, variance that randomizing adds to a report, and variance of the answers themselves."""
    if isinstance(model, FrequencyModel):
        share = 1 / model.domain_size
        return f"a frequency of 1/{model.domain_size}", model.noise_variance(share), share * (1 - share)
    if not isinstance(model, MeanModel):
        raise UnsupportedModelError(
            f"expected errors are known of randomizers of categories, numbers and vectors; got {model.kind!r}."
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
    """Model with the least expected error; among equal ones, the one with the smallest reports.

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
    """Option for one randomizer, with its error if all reports arrive, scaled to the ``unit`` of the others.

    ``stated`` is what is stated of everything released, if that is known already.
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
    """Options in order of error, smallest first; among equal ones in order of report size."""
    return tuple(sorted(options, key=lambda each: _key(each.error.standard_error, each.report_bits, each.kind)))


def _key(error: float, bits: int | None, kind: str) -> tuple[float, float, str]:
    """Sort key: errors that differ by less than one part in a million are equal."""
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


# ---- shufflers near a reference order


@dataclass(frozen=True, eq=False)
class LeastDisplacement:
    """Mechanism that moves reports least, with the displacements of all that were tried.

    Args:
        shuffler: it, prepared.
        displacements: for each mechanism that was tried, how many ranks a report moves on average.
        reason: why, in one sentence.
    """

    shuffler: "SlotShuffler"
    displacements: Mapping[str, float]
    reason: str


def least_displacement(
    groups: "Groups", alpha: float, delta: float | None = None, *, order: str | ArrayLike = "auto"
) -> LeastDisplacement:
    """Mechanism with the least mean displacement at a given loss: Mallows by blocks, or a noisy sort.

    Sorts are tried with adaptive spacing, and up to a million memberships with refined spacing too. It is displacement
    that is compared: a refined spacing can move reports less on the whole, and yet keep fewer in some of the groups.
    All is public: displacements are means over simulated draws with fixed seeds, so that everybody finds the same.

    Args:
        groups: the groups.
        alpha: loss of the order inside a group, 0 or more.
        delta: a remainder that is acceptable: then Gaussian noise is tried too, which has no pure loss; None if none.
        order: as for `shuffledp.MallowsShuffler`; found once for all.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> from shuffledp.protocols.d_sigma.people.assignment import Groups
        >>> found = least_displacement(Groups.from_radius(np.arange(300), 12), alpha=1.0)
        >>> list(found.displacements)
        ['mallows', 'noisy-sort, laplace', 'noisy-sort, laplace, refined']
    """
    from shuffledp.protocols.d_sigma.people.assignment import Groups
    from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
    from shuffledp.protocols.d_sigma.shufflers.reference_order import checked_order

    validate.instance_of(Groups, groups=groups)
    reference = checked_order(groups, order)
    candidates: dict[str, SlotShuffler] = {
        "mallows": MallowsShuffler(groups=groups, alpha=alpha, order=reference)
    } | _sorts(groups, alpha, delta, reference)
    found = {name: mean_displacement(each) for name, each in candidates.items()}
    best = min(found, key=lambda name: found[name])
    chosen = candidates[best]
    chosen.chosen_from = MappingProxyType(found)
    return LeastDisplacement(chosen, found, _why(best, found, groups))


def least_displaced(
    *, groups: "Groups", alpha: float, delta: float | None = None, order: str | ArrayLike = "auto"
) -> "SlotShuffler":
    """Shuffler of `least_displacement`."""
    return least_displacement(groups, alpha, delta, order=order).shuffler


def check_choice(*, alpha: float, delta: float | None) -> None:
    """Refuse parameters that are invalid for any groups."""
    validate.nonnegative(alpha=alpha)
    if delta is not None:
        validate.open_probability(delta=delta)


def _sorts(groups: "Groups", alpha: float, delta: float | None, order: NDArray[np.int64]) -> "dict[str, SlotShuffler]":
    """Sorts by name, those with simpler spacing first."""
    from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler

    noises: dict[str, float | None] = {"laplace": None} | ({} if delta is None else {"gaussian": delta})
    spacings = {"adaptive": ""} | ({"refined": ", refined"} if _can_refine(groups) else {})
    return {
        f"noisy-sort, {noise}{suffix}": NoisySortShuffler(
            groups=groups, alpha=alpha, noise=noise, delta=remainder, spacing=spacing, order=order
        )
        for spacing, suffix in spacings.items()
        for noise, remainder in noises.items()
    }


def _can_refine(groups: "Groups") -> bool:
    return groups.num_memberships <= _MOST_REFINED


def _why(best: str, found: Mapping[str, float], groups: "Groups") -> str:
    others = "; ".join(f"{name} {found[name]:.3g}" for name in found if name != best)
    untried = "" if _can_refine(groups) else " Refined spacing was not tried: the groups have too many members for it."
    return f"{best} moves a report by {found[best]:.3g} ranks on average, the least at this loss ({others}).{untried}"


def mean_displacement(shuffler: "SlotShuffler", *, seed: int = 0) -> float:
    """Mean number of ranks that a report moves, over simulated draws; the same for the same seed.

    Args:
        shuffler: it is prepared if it is not yet.
        seed: of the simulation.
    """
    people = shuffler.prepare().order.size
    draws = max(3, -(-_PLACES // people))
    ranks = np.arange(people)
    sources = (SeededSource(seed).substream("displacement", number) for number in range(draws))
    return float(np.mean([np.abs(shuffler.draw_ranks(source=source) - ranks).mean() for source in sources]))
