"""Descriptions of randomizers by the name of their kind, as command lines give them."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from shuffledp._validate import one_of, positive
from shuffledp.errors import InvalidParameterError
from shuffledp.models import LocalModel

__all__ = ["family_of", "kinds_of_loss", "model_of_kind", "parameters_of_kind"]


def kinds_of_loss() -> dict[str, Callable[..., LocalModel]]:
    """For each kind that is determined by its local loss, what makes its model: it takes ``epsilon0`` and more."""
    makers = {kind: getattr(member, "from_epsilon0", member) for kind, member in LocalModel.members().items()}
    return {kind: maker for kind, maker in makers.items() if "epsilon0" in inspect.signature(maker).parameters}


def parameters_of_kind(kind: str) -> dict[str, bool]:
    """The names of what a kind takes besides ``epsilon0``, and whether each must be given.

    Raises:
        InvalidParameterError: for an unknown kind, or one that its local loss does not determine.
    """
    makers = kinds_of_loss()
    one_of(makers, randomizer=kind)
    known = inspect.signature(makers[kind]).parameters.items()
    return {name: each.default is inspect.Parameter.empty for name, each in known if name != "epsilon0"}


def model_of_kind(kind: str, *, epsilon0: float, **parameters: Any) -> LocalModel:
    """The description of a randomizer of this kind and local loss.

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
    return kinds_of_loss()[kind](epsilon0=epsilon0, **parameters)


def family_of(model: LocalModel) -> Callable[[float], LocalModel] | None:
    """From a local loss to a model that differs from the given one in nothing else; None where there is no such family.

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
