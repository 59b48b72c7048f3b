"""Registry of randomizers: the built-in kinds, one line each, and kinds that families of protocols add.

The table ``[randomizer]`` of a task file, the option ``--randomizer`` of the commands, the choices of a plan and the
table of the documentation are generated from it. A module that is added to this package is made known here, once, and
that of a family in the family's doors.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.core.validate import one_of, positive
from shuffledp.protocols.family import LazyMapping, families
from shuffledp.randomizers.all_sets import AllSets
from shuffledp.randomizers.blanketed_response import BlanketedResponse
from shuffledp.randomizers.descriptions import LaplaceModel, LdpModel
from shuffledp.randomizers.families import CategoryRandomizer, Mechanism
from shuffledp.randomizers.hadamard import HadamardResponse
from shuffledp.randomizers.laplace_mean import DiscreteLaplaceMean
from shuffledp.randomizers.local_hashing import OptimizedLocalHashing
from shuffledp.randomizers.masked_prefixes import MaskedPrefixes
from shuffledp.randomizers.one_bit_mean import OneBitMean
from shuffledp.randomizers.one_option import OneOption
from shuffledp.randomizers.priv_unit import PrivUnit
from shuffledp.randomizers.randomized_response import KaryRandomizedResponse
from shuffledp.randomizers.rounded_mean import RoundedMean
from shuffledp.randomizers.subset_selection import SubsetSelection
from shuffledp.randomizers.tick_columns import TickColumns
from shuffledp.randomizers.tick_lists import TickRandomizer
from shuffledp.randomizers.unary_encoding import OptimizedUnaryEncoding, SymmetricUnaryEncoding

_OF_THE_KERNEL: dict[str, type[Mechanism]] = {
    # categories
    "k-rr": KaryRandomizedResponse,
    "oue": OptimizedUnaryEncoding,
    "sue": SymmetricUnaryEncoding,
    "olh": OptimizedLocalHashing,
    "hadamard": HadamardResponse,
    "subset": SubsetSelection,
    "k-rr-blanket": BlanketedResponse,
    # numbers
    "laplace-mean": DiscreteLaplaceMean,
    "one-bit-mean": OneBitMean,
    "rounded-mean": RoundedMean,
    # vectors
    "priv-unit": PrivUnit,
    # texts
    "masked-prefix": MaskedPrefixes,
    # ticks on a list of options
    "columns": TickColumns,
    "one-option": OneOption,
    "all-sets": AllSets,
}


def _kinds() -> dict[str, type[Mechanism]]:
    return _OF_THE_KERNEL | {kind: find() for family in families() for kind, find in family.randomizers.items()}


KINDS = LazyMapping(_kinds)

# Laws that a local loss determines, for accounting alone: no device runs them.
DESCRIPTIONS: dict[str, type[LocalModel]] = {"ldp": LdpModel, "laplace": LaplaceModel}

_OF_THE_DEVICE = ("epsilon0", "clip")  # keyword arguments that are no parameters of a description


def mechanisms(section: str = "randomizer") -> dict[str, type[Mechanism]]:
    """Randomizers of one table of the task file (``[randomizer]`` or ``[protocol]``), sorted by kind."""
    return {kind: mechanism for kind, mechanism in sorted(KINDS.items()) if mechanism.section == section}


def kinds_of_loss() -> dict[str, type[Mechanism] | type[LocalModel]]:
    """Randomizers and descriptions made from ``epsilon0`` and further parameters, by kind, sorted."""
    makers: dict[str, type[Mechanism] | type[LocalModel]] = {**mechanisms(), **DESCRIPTIONS}
    return {kind: makers[kind] for kind in sorted(makers)}


def keywords_of(made: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Keyword arguments of a randomizer or a description.

    Categories appear as their number, ``domain_size``.
    """
    if isinstance(made, type) and issubclass(made, CategoryRandomizer | TickRandomizer):
        made = made.model_type.from_epsilon0
    return dict(inspect.signature(made).parameters)


def parameters_of_kind(kind: str) -> dict[str, bool]:
    """Names of a kind's parameters besides ``epsilon0``, with True for required parameters.

    Raises:
        InvalidParameterError: for an unknown kind, or one that its local loss does not determine.
    """
    makers = kinds_of_loss()
    one_of(makers, randomizer=kind)
    known = keywords_of(makers[kind]).items()
    return {name: each.default is inspect.Parameter.empty for name, each in known if name not in _OF_THE_DEVICE}


def model_of_kind(kind: str, *, epsilon0: float, **parameters: Any) -> LocalModel:
    """Description of a randomizer of this kind and local loss.

    Args:
        kind: such as "ldp" (any randomizer of this loss) or "k-rr".
        epsilon0: local privacy loss in nats, above 0 and finite.
        parameters: what else that kind needs, such as ``domain_size``.

    Raises:
        InvalidParameterError: for an unknown kind, for parameters that it lacks or does not have, and as the model
            itself does.

    Example:
        >>> model_of_kind("k-rr", epsilon0=1.0, domain_size=4).kind
        'k-rr'
    """
    positive(epsilon0=epsilon0)
    known = parameters_of_kind(kind)
    for name, required in known.items():
        if required and name not in parameters:
            raise InvalidParameterError(f"{name} must be given for randomizer {kind!r}; got {_listed(parameters)}.")
    for name, value in parameters.items():
        if name not in known:
            raise InvalidParameterError(
                f"{name} must be left out for randomizer {kind!r}, which takes {_listed(known)} besides epsilon0; "
                f"got {name}={value!r}."
            )
    maker: Callable[..., Any] = kinds_of_loss()[kind]
    made = maker(epsilon0=epsilon0, **parameters)
    model: LocalModel = made if isinstance(made, LocalModel) else made.model
    return model


def family_of(model: LocalModel) -> Callable[[float], LocalModel] | None:
    """Function from epsilon0 to the model with this local loss; None for kinds without such a function.

    All other parameters are those of the model.

    Example:
        >>> describe = family_of(model_of_kind("k-rr", epsilon0=1.0, domain_size=4))
        >>> describe(2.0) == model_of_kind("k-rr", epsilon0=2.0, domain_size=4)
        True
    """
    if model.kind not in kinds_of_loss():
        return None
    kept = {name: getattr(model, name) for name in parameters_of_kind(model.kind) if hasattr(model, name)}
    return lambda epsilon0: model_of_kind(model.kind, epsilon0=epsilon0, **kept)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
