"""Descriptions of randomizers by the name of their kind, as command lines and files give them."""

import inspect
from collections.abc import Callable
from typing import Any

from shuffledp._validate import one_of
from shuffledp.errors import InvalidParameterError
from shuffledp.models import LocalModel

__all__ = ["kinds_of_loss", "model_of_kind"]


def kinds_of_loss() -> dict[str, Callable[..., LocalModel]]:
    """For each kind that is determined by its local loss, what makes its model: it takes ``epsilon0`` and more."""
    makers = {kind: getattr(member, "from_epsilon0", member) for kind, member in LocalModel.members().items()}
    return {kind: maker for kind, maker in makers.items() if "epsilon0" in inspect.signature(maker).parameters}


def model_of_kind(kind: str, *, epsilon0: float, **parameters: Any) -> LocalModel:
    """The description of a randomizer of this kind and local loss.

    Args:
        kind: such as "ldp" (any randomizer of this loss) or "k-rr".
        epsilon0: local privacy loss in nats.
        parameters: what else that kind needs, such as ``domain_size``.

    Raises:
        InvalidParameterError: for an unknown kind, for parameters that it lacks or does not have, and as the model
            itself does.

    Example:
        >>> model_of_kind("k-rr", epsilon0=1.0, domain_size=4).kind
        'k-rr'
    """
    makers = kinds_of_loss()
    one_of(makers, randomizer=kind)
    known = {name: each for name, each in inspect.signature(makers[kind]).parameters.items() if name != "epsilon0"}
    required = [name for name, each in known.items() if each.default is inspect.Parameter.empty]
    for name in required:
        if name not in parameters:
            raise InvalidParameterError(f"{name} must be given for randomizer {kind!r}; got {_listed(parameters)}.")
    for name in parameters:
        if name not in known:
            raise InvalidParameterError(
                f"{name} must be left out for randomizer {kind!r}, which takes {_listed(known)} besides epsilon0; "
                f"got {name}={parameters[name]!r}."
            )
    return makers[kind](epsilon0=epsilon0, **parameters)


def _listed(names: Any) -> str:
    return ", ".join(names) or "nothing"
