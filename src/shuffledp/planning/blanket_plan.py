"""Plan of responses under a blanket of random messages: the messages needed at each loss.

It also tells where such responses beat other ways.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from shuffledp.accounting.account import account
from shuffledp.core.blanket_models import BlanketModel
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import DifferentialPrivacy
from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.validate import positive
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.planning.mechanism_choice import ExpectedError
from shuffledp.randomizers.blanketed_response import MOST_MESSAGES, BlanketedResponseModel

CAPS = (6.0, 8.0, 10.0, 12.0)  # local losses that are tried, of which a low one errs more
LOSSES = (0.25, 0.5, 1.0, 2.0)  # that a plan shows
_DIGITS = 1e-4  # relative, of numbers of messages
_WORTH = 0.65  # of the variance, from which on a blanket is named
_MANY = 10  # categories, from which on it is looked for
_FEW = 10.0  # messages of a person, at most, where it is named


@dataclass(frozen=True, slots=True, kw_only=True)
class BlanketOption(Described):
    """Response under a blanket of random messages, at one central loss.

    Args:
        epsilon: central loss, in nats.
        epsilon0: local loss, in nats.
        blanket_messages: of a person, on average.
        standard_error: of the share of a category that as many people hold as any other, from randomizing.
    """

    epsilon: float
    epsilon0: float
    blanket_messages: float
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BlanketPlan(FamilyPlan):
    """Plan of responses under a blanket, at several central losses.

    ``is_better`` if they beat the task's own way. All are at one remainder ``delta``.
    """

    key: ClassVar[str] = "blanket"
    delta: float
    options: tuple[BlanketOption, ...]
    is_better: bool

    def to_dict(self) -> dict[str, Any]:
        """Options in the order of their losses."""
        options = [each.to_dict() for each in self.options]
        return {"delta": self.delta, "options": options, "is_better": self.is_better}


def blanket_errors(model: BlanketModel, num_users: int) -> ExpectedError:
    """Expected errors of a category's share under a blanket, if all categories are equally common."""
    share = 1 / model.domain_size
    return ExpectedError(
        at=f"a frequency of 1/{model.domain_size}",
        standard_error=math.sqrt(model.noise_variance(share) / num_users),
        sampling_error=math.sqrt(share * (1 - share) / num_users),
    )


@lru_cache(maxsize=64)
def messages_for(
    protocol: ProtocolModel, epsilon0: float, domain_size: int, *, epsilon: float, delta: float
) -> BlanketedResponseModel | None:
    """Model with the fewest blanket messages whose central loss is at most ``epsilon``.

    Args:
        protocol: of the shuffle, with those who may be fake; its randomizer does not matter.
        epsilon0: local loss of the response.
        domain_size: number of categories.
        epsilon: central loss, above 0.
        delta: its remainder.

    Returns:
        The model; None where not even a thousand messages of each person are enough.

    Raises:
        InvalidParameterError: for a loss out of range.
    """
    positive(epsilon=epsilon)

    def made(messages: float) -> BlanketedResponseModel:
        return BlanketedResponseModel.from_epsilon0(
            epsilon0=epsilon0, domain_size=domain_size, blanket_messages=messages
        )

    def holds(messages: float) -> bool:
        model = ProtocolModel(local=made(messages), shuffle=protocol.shuffle, fakes=protocol.fakes)
        found = account(model, delta=delta).guarantee
        return isinstance(found, DifferentialPrivacy) and found.epsilon <= epsilon

    high = min(domain_size / protocol.shuffle.num_honest, MOST_MESSAGES)
    while not holds(high):
        if high >= MOST_MESSAGES:
            return None
        high = min(2 * high, MOST_MESSAGES)
    low = 0.0
    while high - low > _DIGITS * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return made(high)


def _option(protocol: ProtocolModel, epsilon0: float, size: int, epsilon: float, delta: float) -> BlanketOption | None:
    try:
        model = messages_for(protocol, epsilon0, size, epsilon=epsilon, delta=delta)
    except InvalidParameterError:
        return None  # a local loss that cannot be represented
    if model is None:
        return None
    error = blanket_errors(model, protocol.num_senders).standard_error
    return BlanketOption(
        epsilon=epsilon, epsilon0=model.epsilon0, blanket_messages=model.blanket_messages, standard_error=error
    )


def blanket_plan(protocol: ProtocolModel, delta: float) -> BlanketPlan | None:
    """Plan of the blanket messages needed at several losses; None for a protocol without a blanket."""
    local = protocol.local
    if not isinstance(local, BlanketModel):
        return None
    found = [_option(protocol, local.epsilon0, local.domain_size, epsilon, delta) for epsilon in LOSSES]
    return BlanketPlan(delta=delta, options=tuple(each for each in found if each is not None), is_better=False)


def better_blanket(protocol: ProtocolModel, delta: float, standard_error: float) -> BlanketPlan | None:
    """Response under a blanket with far smaller errors at the same central loss; None if not found.

    Far smaller than ``standard_error``. Of the local losses tried, the least with far less variance, and with few
    messages, is taken.
    """
    local, stated = protocol.local, account(protocol, delta=delta).guarantee
    if not isinstance(local, FrequencyModel) or not protocol.shuffle.is_uniform:
        return None
    if local.domain_size < _MANY or not isinstance(stated, DifferentialPrivacy) or not 0 < stated.epsilon < math.inf:
        return None
    for cap in CAPS:
        found = _option(protocol, cap, local.domain_size, stated.epsilon, delta)
        if found is None or found.blanket_messages > _FEW:
            continue
        if found.standard_error**2 <= _WORTH * standard_error**2:
            return BlanketPlan(delta=delta, options=(found,), is_better=True)
    return None
