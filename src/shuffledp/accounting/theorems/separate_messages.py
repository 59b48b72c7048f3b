"""Separate messages of each person, one for each option: a product of pairs of laws.

Few of a person's messages can differ between two answers. The messages about one option are shuffled among themselves
(equivalently all messages together, since each says what it is about). Two answers differ in at most d options; the
messages about the others have one law in both worlds, and are independent of the rest. So what everybody sends is
dominated by the product of d pairs, each that of a shuffle of one message from everybody, and not of as many as there
are options (docs/proofs.md, "Ticks").
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from shuffledp.accounting.numerics import SMALLEST
from shuffledp.accounting.privacy_losses import loss_laws, loss_sum
from shuffledp.accounting.theorem import Theorem, common_randomizer, not_adaptive, uniform_shuffle
from shuffledp.accounting.theorems.binary_covers import BinaryCover
from shuffledp.accounting.theorems.two_levels import BinaryWorst
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats
from shuffledp.core.tick_models import TicksModel

_OF_ONE: tuple[Theorem, ...] = (BinaryWorst(), BinaryCover())  # of these one applies
_LEFT_OUT = 1e-4  # share of delta: the probability of losses that are taken for infinite
_NEAR = (0.5, 0.1, 1e-2, 1e-5, 1e-8, 1e-11)  # deltas near which the curve is tight


def apart(model: ProtocolModel) -> tuple[ProtocolModel, int] | None:
    """Protocol of one message per person, and the number of a person's messages that can differ.

    None for other protocols.
    """
    local = model.local
    if not isinstance(local, TicksModel) or local.separate is None:
        return None
    return ProtocolModel(local=local.separate, shuffle=model.shuffle, fakes=model.fakes), local.most_differing


def _separate_messages(model: ProtocolModel) -> Hypothesis:
    local = model.local
    value = f"{local.kind!r} reports"
    if isinstance(local, TicksModel) and local.separate is not None:
        value = (
            f"{local.num_options} messages, at most min(2 x {local.at_most}, {local.num_options}) = "
            f"{local.most_differing} of which differ"
        )
    return Hypothesis(
        name="separate-messages",
        requirement="independent messages that cannot be put together, one about each option",
        value=value,
        holds=apart(model) is not None,
    )


class SeparateMessages(Theorem):
    """Guarantee by a product of pairs, one for each message in which two answers can differ.

    Each pair by the tightest theorem for it.
    """

    id = "separate-messages"
    citation = "product of the pairs of the messages that differ: the others have one law whatever the answer"
    status = Status.OWN_PROOF
    is_vectorized = True
    premises = (uniform_shuffle, common_randomizer, not_adaptive, _separate_messages)

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether each person sends a message about each option."""
        return apart(model) is not None

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon of all messages that can differ, each counted as one release.

        It is at most the epsilon of all messages without a shuffle.
        """
        found = apart(model)
        return model.local.epsilon0 if found is None else min(_epsilon(*found, delta), model.local.epsilon0)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta of all messages that can differ, each counted as one release."""
        return float(self.curve(model, epsilons=np.array([epsilon]))[0])

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Least delta over several curves, each tight near one delta.

        Each is a bound at every epsilon.
        """
        found = apart(model)
        if found is None or not self.applies(model, delta=_NEAR[-1]):
            return np.ones(len(epsilons))
        curve = _curve(*found)
        deltas = np.array([curve(float(epsilon)) for epsilon in epsilons])
        return np.where(epsilons >= model.local.epsilon0, 0.0, deltas)


def _theorem(one: ProtocolModel, delta: float) -> Theorem | None:
    """Theorem about a protocol of one binary message per person; None if no theorem applies."""
    return next((each for each in _OF_ONE if each.applies(one, delta=delta)), None)


@lru_cache(maxsize=256)
def _epsilon(one: ProtocolModel, count: int, delta: float) -> float:
    left_out = max(_LEFT_OUT * delta / count, SMALLEST)
    theorem = _theorem(one, left_out)
    if theorem is None:
        return math.inf
    basic = math.nextafter(count * theorem.epsilon(one, delta=delta / count), math.inf)
    known = loss_laws([theorem], [one], left_out)
    if known is None or count == 1:
        return basic
    laws, step = known
    return loss_sum(laws, step=step, repeats=count, delta=delta).epsilon(delta, limit=basic)


@lru_cache(maxsize=64)
def _curve(one: ProtocolModel, count: int) -> Callable[[float], float]:
    left_out = max(_LEFT_OUT * min(_NEAR) / count, SMALLEST)
    theorem = _theorem(one, left_out)
    known = None if theorem is None else loss_laws([theorem], [one], left_out)
    if known is None:
        return lambda _: 1.0
    laws, step = known
    sums = [loss_sum(laws, step=step, repeats=count, delta=delta) for delta in _NEAR]
    return lambda epsilon: min(each.delta(epsilon) for each in sums)
