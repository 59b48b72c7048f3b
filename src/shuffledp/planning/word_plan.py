"""Plan of open answers: words to expect, power of fake senders, and leakage of one report."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from shuffledp.accounting import account, epsilon_of
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.validate import instance_of
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.planning.word_discovery import fakes_to_plant, least_share
from shuffledp.randomizers import MaskedPrefixModel

_OTHER_LOSSES = (-2.0, -1.0, 0.0, 1.0, 2.0)  # from the task's own local loss
_BITS_BESIDE = 4  # numbers of bits tried to both sides of the task's own
_MOST_PEOPLE = 10**10
_WORTH_SAYING = 0.97  # of the share that the task's own chunks find


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsAtLoss(Described):
    """Words that are found at a local loss.

    Args:
        epsilon0: the local loss, in nats.
        epsilon: central loss, from above.
        prefix_bits: bits of a chunk that are taken there.
        share: least share of people whose word is found with 95%; None where not even everybody's is.
    """

    epsilon0: float
    epsilon: float
    prefix_bits: int
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPlan(FamilyPlan):
    """Plan of open answers.

    Args:
        alpha: chance of any false word, at most.
        share: least share of people whose word is found with 95%; None where not even everybody's is.
        people: how many people that are, if so.
        fakes: fake senders who plant a word, if they share the levels out.
        first_bits: bits that a report of the first level is about.
        first_letters: letters of the text that are in them, whole or in part.
        told: chance that a report by itself holds these bits as they are.
        better_bits: number of bits of a chunk with which fewer people are enough at the same central loss; None if none
            is.
        better_epsilon0: the local loss with them.
        losses: other local losses, ascending.
        enough: people with whom some word would be found, where share is None and ten billion are enough.
    """

    key: ClassVar[str] = "words"
    alpha: float
    share: float | None
    people: int | None
    fakes: int | None
    first_bits: int
    first_letters: float
    told: float
    better_bits: int | None
    better_epsilon0: float | None
    losses: tuple[WordsAtLoss, ...]
    enough: int | None = None

    def warnings_for(self, models: Sequence[ProtocolModel]) -> tuple[str, ...]:
        """Warning that no word could be found; empty otherwise."""
        if self.share is not None:
            return ()
        people = max(model.num_senders for model in models)
        remedy = "" if self.enough is None else f" With {self.enough:,} people a word of all of them would be."
        return (
            f"No word would be found with 95% among {people:,} people, not even one that all of them wrote.{remedy}",
        )


def plan_words(
    protocol: ProtocolModel, *, delta: float, alpha: float, symbol_bits: int, alone: bool = False
) -> WordPlan:
    """Plan of open answers for a protocol.

    Args:
        protocol: with masked prefixes.
        delta: of the central losses.
        alpha: as for `find_chance`.
        symbol_bits: bits of a letter.
        alone: whether other losses and other chunks are left out.
    """
    model, people = _prefixes(protocol.local), protocol.num_senders
    share = least_share(model, people, alpha=alpha)
    better = None if alone else _better(model, people, share, alpha)
    losses = [model.epsilon0 + more for more in _OTHER_LOSSES if model.epsilon0 + more > 0 and not alone]
    others = [_at_loss(protocol, epsilon0, delta, alpha) for epsilon0 in losses]
    return WordPlan(
        alpha=alpha,
        share=share,
        people=None if share is None else math.ceil(share * people),
        fakes=None if share is None else fakes_to_plant(model, people, share, alpha=alpha),
        first_bits=model.prefix_bits,
        first_letters=model.prefix_bits / symbol_bits,
        told=model.first_chunk_told,
        better_bits=None if better is None else better.prefix_bits,
        better_epsilon0=None if better is None else better.epsilon0,
        losses=tuple(sorted(filter(None, others), key=lambda each: each.epsilon0)),
        enough=None if share is not None else _enough(model, people, alpha),
    )


def _prefixes(local: LocalModel) -> MaskedPrefixModel:
    """Model of masked prefixes; any other model is refused."""
    instance_of(MaskedPrefixModel, local=local)
    return cast(MaskedPrefixModel, local)


def _at_loss(protocol: ProtocolModel, epsilon0: float, delta: float, alpha: float) -> WordsAtLoss | None:
    """Words found at another local loss, with the chunks that suit this loss."""
    bits = _prefixes(protocol.local).num_bits
    try:
        local = MaskedPrefixModel.from_epsilon0(epsilon0=epsilon0, num_bits=bits)
    except InvalidParameterError:
        return None
    central = account(replace(protocol, local=local), delta=delta)
    return WordsAtLoss(
        epsilon0=local.epsilon0,
        epsilon=epsilon_of(central.guarantee),
        prefix_bits=local.prefix_bits,
        share=least_share(local, protocol.num_senders, alpha=alpha),
    )


def _better(model: MaskedPrefixModel, people: int, share: float | None, alpha: float) -> MaskedPrefixModel | None:
    """Model with other chunks that finds a clearly smaller share at about this central loss; else None.

    In the limit of many people the central loss follows from (E - 1)^2 / (E + g - 1), E = exp(epsilon0).
    """
    best, found = None, math.inf if share is None else _WORTH_SAYING * share
    growth = math.expm1(model.epsilon0)
    same = growth**2 / (growth + model.hash_range)
    for bits in range(max(model.prefix_bits - _BITS_BESIDE, 1), model.prefix_bits + _BITS_BESIDE + 1):
        grown = (same + math.sqrt(same**2 + 4 * same * 2**bits)) / 2
        try:
            other = MaskedPrefixModel.from_epsilon0(
                epsilon0=math.log1p(grown), num_bits=model.num_bits, prefix_bits=bits
            )
        except InvalidParameterError:
            continue
        least = None if bits == model.prefix_bits else least_share(other, people, alpha=alpha)
        if least is not None and least < found:
            best, found = other, least
    return best


def _enough(model: MaskedPrefixModel, people: int, alpha: float) -> int | None:
    """Number of people at which a word that all of them write is found; None if above ten billion.

    The number is found to 1 %.
    """
    low, high = people, people
    while least_share(model, high, alpha=alpha) is None:
        low, high = high, 2 * high
        if high > _MOST_PEOPLE:
            return None
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if least_share(model, middle, alpha=alpha) is None else (low, middle)
    return high
