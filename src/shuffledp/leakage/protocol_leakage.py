"""Vulnerability of one person to the release of a protocol, for all randomizers and shufflers."""

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage.guess_scores import Scores, check_mixtures, check_views, checked_prior, decay, scores_of
from shuffledp.leakage.informed_adversary import (
    KNOWN,
    checked_others,
    pair_of,
    strong_vulnerability,
    worst_strong_vulnerability,
)
from shuffledp.leakage.max_load import expected_max_load
from shuffledp.leakage.nonuniform_shuffle import best_at, slots_of, worst_within
from shuffledp.leakage.uniform_shuffle import (
    ABOUT_THE_TARGET,
    INDEPENDENT,
    OBLIVIOUS,
    BestExcess,
    as_vulnerability,
    best_guess,
    check_people,
    largest,
    shuffled_vulnerability,
)
from shuffledp.leakage.vulnerability import Vulnerability
from shuffledp.randomness.sources import RandomSource

ADVERSARIES = ("uninformed", "strong")

_LARGEST_MATRIX = 20_000_000
_ONLY_ONE_REPORT = "Of this shuffle no more is known than what one's own report tells, so this is a bound{}."
_ONLY_EXCHANGES = (
    "Of this shuffle no more is known than what exchanging two people's reports costs, so this is a bound over all "
    "that cost as much{}."
)
_SURE = ", and the lower end is what is sure"


def target_vulnerability(
    model: ProtocolModel,
    *,
    prior: ArrayLike | None = None,
    gain: ArrayLike | None = None,
    adversary: str = "uninformed",
    others: ArrayLike | None = None,
    positions: ArrayLike | None = None,
    method: str = "auto",
    source: RandomSource | None = None,
) -> Vulnerability:
    """Expected gain of the best guess about one person from the release of the protocol.

    The uninformed adversary knows that everybody's value is drawn independently from the prior; people who correlate,
    such as households, leak more. The strong one knows everybody's value but the target's.

    Guarantees:
        1. Exact without a shuffle, for a uniform one, and where the law of the place of the target's report is known:
           Mallows shuffles by Hamming's and Cayley's distance, by Kendall's for the person at an end of a block (nobody
           else is worse off), and imperfect shuffles of the Mallows law.
        2. Of other shuffles an upper bound over all that their description allows: imperfect and noisy ones by what it
           costs to exchange two people, random walks given how many reports everybody hands in. Seeing the order of
           reports never tells more than knowing which report is the target's, which is what is left else. The lower end
           of the interval is what a uniform shuffle tells, where everybody's report comes out.
        3. What would take too long exactly is an upper bound, and `Vulnerability.note` says so.
        4. Where people are mixed differently, the value is for those who are mixed least; of strata, for the smallest.

    Args:
        model: the randomizer and the shuffler, with the number of users.
        prior: a probability for each value; None is uniform.
        gain: what each guess (row) is worth for each value (column); None is 1 for the right value and 0 otherwise.
        adversary: "uninformed" or "strong".
        others: for "strong", how many of the others hold each value; None is the worst case
            (`shuffledp.leakage.worst_strong_vulnerability`).
        positions: for "uninformed", the probabilities of all places of the target's report, 0 included, given
            everything that is seen besides the reports, in place of what the shuffler's description says.
        method: as for `shuffledp.leakage.shuffled_vulnerability`.
        source: randomness of "monte-carlo"; None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range, or the best guess is worth less than 0 after something
            that can be seen, or beforehand.
        UnsupportedModelError: if reports' law is not written out, or people send several or randomize differently.

    References:
        Jurado et al. 2023 for k-ary randomized response, uniform prior and shuffle; else docs/leakage.md.

    Example:
        >>> from shuffledp import KaryRandomizedResponse, ProtocolModel, UniformShuffler
        >>> local = KaryRandomizedResponse(epsilon0=1.0, domain_size=5).model
        >>> model = ProtocolModel(local=local, shuffle=UniformShuffler().model(1000))
        >>> found = target_vulnerability(model)
        >>> round(found.prior, 6), round(found.value, 6)
        (0.2, 0.20424)
    """
    validate.instance_of(ProtocolModel, model=model)
    validate.one_of(ADVERSARIES, adversary=adversary)
    if others is not None and adversary != "strong":
        raise InvalidParameterError("others must be left out unless adversary is 'strong'.")
    if positions is not None and adversary != "uninformed":
        raise InvalidParameterError("positions must be left out unless adversary is 'uninformed'.")
    check_supported(model)
    model = least_hidden(model)
    plain = adversary == "uninformed" and prior is None and gain is None and positions is None
    if plain and method in ("auto", "quick", "max-load"):
        wide = _wide_response(model)
        if wide is not None:
            return wide
    channel = channel_of(model.local)
    if adversary == "strong":
        return _strong(model.shuffle, channel, prior, gain, others, method=method, source=source)
    if positions is None:
        return seen_through(model.shuffle, channel, prior, gain, method=method, source=source)
    found, slots = scores_of(channel, prior, gain), slots_of(positions)
    _check_places(model.shuffle, len(np.asarray(positions)))
    check_mixtures(found, slots)
    best = best_at(found, slots, method=method, source=source)
    assumed = _hypotheses("the place has the given law")
    return as_vulnerability(found, best, hypotheses=assumed, decay="unknown", counts_right=gain is None)


def least_hidden(model: ProtocolModel) -> ProtocolModel:
    """Protocol of the least hidden people alone; the whole protocol if all are hidden alike.

    All other people's reports reveal nothing about the least hidden people.
    """
    least = model.shuffle.worst_off
    return model if least is model.shuffle else replace(model, shuffle=least)


def worst_exchange_vulnerability(
    model: ProtocolModel, *, prior: ArrayLike | None = None, gain: ArrayLike | None = None
) -> Vulnerability:
    """Largest vulnerability to an uninformed adversary, over all shuffles with this exchange cost.

    `target_vulnerability` is of the shuffler's own law of places where that is known, such as Cayley's for an
    imperfection. This is what is left if only the imperfection is promised.

    Guarantees:
        1. The largest over all laws of places that exchanges allow, for at most 300 people and two kinds of reports;
           else an upper bound of it, and always labeled as one, as not every law of places is that of some shuffle.

    The arguments are those of `target_vulnerability`, and so are the errors.

    Example:
        >>> from shuffledp import KaryRandomizedResponse, ProtocolModel
        >>> from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
        >>> local = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
        >>> model = ProtocolModel(local=local, shuffle=CayleyShuffler(imperfection=2.0).model(200))
        >>> round(target_vulnerability(model).value, 4), round(worst_exchange_vulnerability(model).value, 4)
        (0.5143, 0.5202)
    """
    validate.instance_of(ProtocolModel, model=model)
    check_supported(model)
    return _by_windows(model.shuffle, scores_of(channel_of(model.local), prior, gain), counts_right=gain is None)


def seen_through(
    shuffle: ShuffleModel,
    channel: Channel,
    prior: ArrayLike | None,
    gain: ArrayLike | None,
    *,
    method: str = "auto",
    source: RandomSource | None = None,
) -> Vulnerability:
    """Vulnerability to an uninformed adversary, of one person behind any channel and this shuffle."""
    if shuffle.is_uniform:
        return shuffled_vulnerability(prior, channel, gain, num_users=shuffle.num_users, method=method, source=source)
    return _by_places(shuffle, scores_of(channel, prior, gain), method, source, counts_right=gain is None)


def seen_alone(channel: Channel, prior: ArrayLike | None, gain: ArrayLike | None) -> Vulnerability:
    """Vulnerability of one person to an adversary who knows the sender of the report.

    It does not matter what else the adversary knows.
    """
    found = scores_of(channel, prior, gain)
    check_views(found.values.astype(np.float64))
    reason = "it is known which report is the target's"
    assumed = (ABOUT_THE_TARGET, reason)
    return as_vulnerability(found, _local(found), hypotheses=assumed, decay="none", counts_right=gain is None)


def _check_places(shuffle: ShuffleModel, places: int) -> None:
    """Check that there is one place for each person, unless the number of released reports is random."""
    uncertain = shuffle.arrival_share < 1 or shuffle.num_untrusted > 0
    if shuffle.dummies is None and (places > shuffle.num_users or (places < shuffle.num_users and not uncertain)):
        raise InvalidParameterError(
            f"positions must have one probability for each place, of which there are {shuffle.num_users}; got {places}."
        )


def check_supported(model: ProtocolModel) -> None:
    """Check that leakage is known: all people send one report by one randomizer."""
    local = model.local
    if not isinstance(local, LocalModel):
        raise InvalidParameterError(
            f"model.local must be the model of a randomizer, such as ChannelModel(matrix=channel.matrix) of a channel; "
            f"got {type(local).__name__}."
        )
    if local.num_messages != 1:
        raise UnsupportedModelError(
            f"leakage is known for one report per person; {local.kind!r} sends num_messages={local.num_messages}. Use "
            "the differential privacy that shuffledp.account states."
        )
    if not local.is_common or local.is_adaptive:
        raise UnsupportedModelError(
            f"leakage is known only if all people use one randomizer; {local.kind!r} reports do not say so."
        )


def channel_of(local: LocalModel) -> Channel:
    """Channel of the randomizer; refused if the channel is too large or unavailable as a table."""
    channel = None
    outputs = getattr(local, "domain_size", 0) if isinstance(local, FrequencyModel) else 0
    if outputs**2 <= _LARGEST_MATRIX:
        channel = local.sufficient_channel()
    if channel is None:
        raise UnsupportedModelError(
            f"leakage needs the randomizer as a table, and that of {local.kind!r} is too large or not written out. For "
            "k-ary randomized response with a uniform prior any number of values is feasible."
        )
    return channel


def _wide_response(model: ProtocolModel) -> Vulnerability | None:
    """Exact vulnerability for k-ary response, a uniform shuffle and a uniform prior; else None.

    It is q + (p - q) E[max load] / n, for any k of 3 or more.
    """
    local, shape = model.local, model.local.two_level
    if not isinstance(local, FrequencyModel) or shape is None or not model.shuffle.is_uniform:
        return None
    size = local.domain_size
    check_people(model.num_users)
    if shape.overlap or abs(shape.share * size - 1) > 1e-12 or size < 3:
        return None
    excess = (local.p - local.q) * (expected_max_load(model.num_users, size) / model.num_users - 1 / size)
    value = 1 / size + excess
    return Vulnerability(
        value=value, lower=value, upper=value, kind=Kind.EXACT, prior=1 / size, method="max-load",
        hypotheses=_hypotheses(OBLIVIOUS), decay="inverse-square-root", excess=excess,
    )  # fmt: skip


def _hypotheses(last: str) -> tuple[str, ...]:
    return (INDEPENDENT, ABOUT_THE_TARGET, last)


def _local(found: Scores) -> BestExcess:
    """Excess of the best guess if the sender of each report is known, the largest of any shuffle."""
    values, chances = found.values.astype(np.float64), found.chances.astype(np.float64)
    excess = float((values - values[found.best]).max(axis=0) @ chances)
    return BestExcess.exact(excess, "one report")


def _by_places(
    shuffle: ShuffleModel, found: Scores, method: str, source: RandomSource | None, *, counts_right: bool
) -> Vulnerability:
    """Vulnerability by the laws of places in the model, or by the cost of exchanges."""
    laws = shuffle.position_laws()
    if not laws:
        if method == "quick" and shuffle.position_windows():
            raise UnsupportedModelError(f"it takes too long for a shuffle of kind {shuffle.kind!r}.")
        return _by_windows(shuffle, found, counts_right=counts_right)
    for law in laws:
        check_mixtures(found, slots_of(law))
    each = [(best_at(found, slots_of(law), method=method, source=source), law) for law in laws]
    best, law = largest([found for found, _ in each]), max(each, key=lambda pair: pair[0].excess)[1]
    alone = law.counts == (1,)
    falls = "zero" if decay(found) == "zero" else "none" if alone else "unknown"
    assumed = _hypotheses(OBLIVIOUS)
    if law.whose != "anybody":
        assumed += (f"the person is {law.whose}",)
    return as_vulnerability(found, best, hypotheses=assumed, decay=falls, counts_right=counts_right)


def _by_windows(shuffle: ShuffleModel, found: Scores, *, counts_right: bool) -> Vulnerability:
    """Upper bound on the vulnerability of the least mixed people, by windows or by one report."""
    check_mixtures(found)
    local, windows = _local(found), shuffle.position_windows()
    worst, reason = local.excess, "as if it were known which report is the target's"
    if windows:
        upper = max(_least(found, each.sizes, each.costs, local.excess) for each in windows)
        if upper < worst:
            worst, reason = upper, "the worst law of places that the cost of exchanging two people allows"
    lower = _in_any_order(shuffle, found) if worst else 0.0
    note = _ONLY_EXCHANGES if worst < local.excess else _ONLY_ONE_REPORT
    best = BestExcess(
        excess=worst,
        lower=min(lower, worst),
        upper=worst,
        kind=Kind.UPPER_BOUND,
        method="exchanges" if windows else "one report",
        note=note.format(_SURE if lower else ""),
    )
    falls = "zero" if decay(found) == "zero" else "unknown"
    return as_vulnerability(found, best, hypotheses=_hypotheses(reason), decay=falls, counts_right=counts_right)


def shows_all(shuffle: ShuffleModel) -> bool:
    """Whether the released reports are exactly those of all people.

    Then an order of reports also shows their histogram.
    """
    return shuffle.arrival_share == 1 and shuffle.dummies is None


def _in_any_order(shuffle: ShuffleModel, found: Scores) -> float:
    """Lower bound on the excess of the best guess, from the histogram of all reports.

    Any order of the reports shows this histogram.
    """
    if not shows_all(shuffle):
        return 0.0
    return best_guess(found, ((1 / shuffle.num_users, shuffle.num_users),), method="quick").lower


def _least(found: Scores, sizes: tuple[int, ...], costs: tuple[float, ...], local: float) -> float:
    """Smallest upper bound on the excess, by the most promising windows around one person.

    Each bound is valid.
    """
    order = sorted(
        zip(sizes, costs, strict=True), key=lambda window: math.cosh(min(window[1], 700.0) / 2) / window[0] ** 0.5
    )
    return min([local, *(worst_within(found, size, cost) for size, cost in order[:3])])


def _strong(
    shuffle: ShuffleModel,
    channel: Channel,
    prior: ArrayLike | None,
    gain: ArrayLike | None,
    others: ArrayLike | None,
    **choices: Any,
) -> Vulnerability:
    """Vulnerability to the informed adversary, exact for a uniform shuffle or none, else bounded.

    The bound is that of one report.
    """
    people = shuffle.num_users - 1
    if others is not None and sum(known := checked_others(others, len(channel.inputs))) != people:
        raise InvalidParameterError(f"others must be {people} people; got {sum(known)}.")
    if shuffle.is_uniform and others is not None:
        return strong_vulnerability(prior, channel, gain, others=others, **choices)
    if shuffle.is_uniform:
        return worst_strong_vulnerability(prior, channel, gain, num_users=people + 1, **choices)
    found = scores_of(channel, prior, gain)
    alone = any(law.counts == (1,) for law in shuffle.position_laws())
    check_views(found.values) if alone else check_mixtures(found)
    best = _local(found)
    if not alone:
        lower = _sure_of_strong(shuffle, channel, prior, gain, others) if best.excess > 0 else 0.0
        lower = min(lower, best.excess)
        note = _ONLY_ONE_REPORT.format(_SURE if lower else "")
        best = replace(best, lower=lower, kind=Kind.UPPER_BOUND, note=note)
    reason = "it is known which report is the target's"
    hypotheses = (KNOWN, reason if alone else f"as if {reason}")
    falls = "none" if alone else "unknown"
    between = pair_of(checked_prior(prior, len(channel.inputs)).astype(np.float64))
    seen = as_vulnerability(found, best, hypotheses=hypotheses, decay=falls, counts_right=gain is None)
    return replace(seen, between=between)


def _sure_of_strong(
    shuffle: ShuffleModel, channel: Channel, prior: ArrayLike | None, gain: ArrayLike | None, others: ArrayLike | None
) -> float:
    """Lower bound on the excess for an adversary who knows the others' values.

    It is by the histogram, or by knowing less.
    """
    sure = 0.0
    if shows_all(shuffle):
        with suppress(UnsupportedModelError):
            if others is None:
                mixed = worst_strong_vulnerability(prior, channel, gain, num_users=shuffle.num_users, method="quick")
            else:
                mixed = strong_vulnerability(prior, channel, gain, others=others, method="quick")
            sure = mixed.lower - mixed.prior
    if others is None and shuffle.position_laws():
        # The worst values of the others hide no more than those the prior draws, and knowing them is no loss.
        less = seen_through(shuffle, channel, prior, gain, method="quick")
        sure = max(sure, less.lower - less.prior)
    return sure
