"""Accountant: the tightest theorem that applies to a protocol at a delta, and why others do not.

Three recipes. A number, from a public description alone:

    >>> import shuffledp as sdp
    >>> randomizer = sdp.KaryRandomizedResponse(epsilon0=2.0, domain_size=10)
    >>> statement = sdp.account(randomizer, num_users=10_000, delta=1e-6)
    >>> round(statement.guarantee.epsilon, 4), statement.basis.theorem
    (0.0798, 'blanket-two-level')

A calibration, the way back: the largest local loss with which a central one is met:

    >>> solved = sdp.calibrate.epsilon0(
    ...     target_epsilon=0.1, delta=1e-6, num_users=10_000, randomizer="k-rr", domain_size=10
    ... )
    >>> round(solved.value, 2), solved.statement.guarantee.epsilon <= 0.1
    (2.23, True)

A curve: the smallest delta that is proven at each epsilon:

    >>> found = [sdp.delta_at(randomizer, num_users=10_000, epsilon=epsilon) for epsilon in (0.05, 0.1, 0.2)]
    >>> [f"{statement.guarantee.delta:.1e}" for statement in found]
    ['1.0e-04', '1.8e-08', '3.9e-22']
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from shuffledp.accounting.lower_bounds import best_lower_bound, held_to_lower_bounds
from shuffledp.accounting.theorem import Theorem, fake_senders, inside_unit
from shuffledp.accounting.theorems import SHARP_THEOREMS, THEOREMS
from shuffledp.accounting.theorems.swap_bounds import CLOSE
from shuffledp.core.caching import remembered
from shuffledp.core.channels import Channel
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.flow import Randomizer
from shuffledp.core.guarantees import CentralDP, DifferentialPrivacy, Guarantee
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Basis, Hypothesis, Kind, Status, Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits
from shuffledp.core.validate import instance_of, integer_at_least, invalid, nonnegative, open_probability, positive
from shuffledp.protocols.family import families

Protocol = ProtocolModel | LocalModel | Randomizer | Channel | None  # full or short forms, listed in `account`

_MOST_REMEMBERED = 64  # protocols
_UNIFORM = "uniform-shuffle"  # hypothesis shared by all theorems about uniform shuffles


def account(
    model: Protocol = None,
    *,
    delta: float,
    epsilon0: float | None = None,
    num_users: int | None = None,
    releases: int = 1,
    honest_fraction: float = 1.0,
    published_only: bool = False,
    sharp: bool = False,
) -> PrivacyStatement:
    """Statement with the tightest proven upper bound on the privacy loss of everything released.

    Where no amplification theorem applies, or none does better, the answer is the local guarantee, and the statement's
    remarks say which theorem fails by which hypothesis.

    The last statements are remembered: a loop over one protocol accounts for it once.

    Args:
        model: the protocol's public description, read from JSON or taken from ``Pipeline.model``; or in short a
            randomizer, its model or its matrix (`Channel`), whose reports ``num_users`` people shuffle uniformly; or
            nothing, for any randomizer of local loss ``epsilon0``.
        delta: the remainder, strictly between 0 and 1.
        epsilon0: local privacy loss in nats, above 0 and finite; only without a ``model``.
        num_users: people, 1 or more; only without a protocol.
        releases: how often the same people take part, 1 or more, each time with fresh randomness and a fresh shuffle;
            `compose_releases` takes protocols that differ.
        honest_fraction: share of the people counted, above 0 and at most 1; the others may collude with the analyst,
            or send anything, and hide nobody.
        published_only: whether to leave out what only this project has proven.
        sharp: whether to work out the bounds that take seconds too.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.
        ContradictionError: if a lower bound applies that is larger: one of the two theorems is false.

    Example:
        >>> statement = account(epsilon0=1.0, num_users=10_000, delta=1e-6)
        >>> statement.basis.theorem, round(statement.guarantee.epsilon, 5)
        ('strong-pair', 0.04321)
    """
    described = protocol_of(model, epsilon0=epsilon0, num_users=num_users)
    open_probability(delta=delta)
    integer_at_least(1, releases=releases)
    if releases > 1:
        from shuffledp.accounting.compose import compose_releases

        counted: dict[str, Any] = {"honest_fraction": honest_fraction, "published_only": published_only}
        return compose_releases(described, delta=delta, num_releases=releases, sharp=sharp, **counted)
    return _tightest(described, delta, honest_fraction, published_only, sharp)


def protocol_of(model: Protocol, *, epsilon0: float | None, num_users: int | None) -> ProtocolModel:
    """Full protocol model from a full or a short description.

    Raises:
        InvalidParameterError: if ``epsilon0`` or ``num_users`` is missing or too much, or the model is something else.
    """
    local = model.model if isinstance(model, Randomizer) else model
    beside = "without a model"
    if isinstance(local, Channel):
        of_matrix: Any = LocalModel.members()["channel"]
        local = of_matrix(matrix=local)
    if local is not None:
        instance_of((ProtocolModel, LocalModel, Randomizer, Channel), model=local)
        beside = f"beside a {'protocol' if isinstance(local, ProtocolModel) else 'randomizer'}"
    for name, value, wanted in (
        ("epsilon0", epsilon0, local is None),
        ("num_users", num_users, not isinstance(local, ProtocolModel)),
    ):
        if (value is not None) is not wanted:
            raise invalid(f"{'given' if wanted else 'left out'} {beside}", **{name: value})
    if isinstance(local, ProtocolModel):
        return local
    of_loss: Any = LocalModel.members()["ldp"]
    uniform: Any = ShuffleModel.members()["uniform"]
    local = of_loss(epsilon0=epsilon0) if local is None else local
    return ProtocolModel(local=local, shuffle=uniform(num_users=num_users))


@remembered(_MOST_REMEMBERED)
def _tightest(
    model: ProtocolModel, delta: float, honest_fraction: float, published_only: bool, sharp: bool
) -> PrivacyStatement:
    counted = counting_honest(model, honest_fraction)
    applying = upper_bounds(counted, delta, published_only, sharp)
    explained = {each: each.explained(counted, delta=delta) for each in applying if not each.is_costly}
    known = min((epsilon_of(guarantee) for guarantee, _ in explained.values()), default=math.inf)
    for each in applying:
        if each.is_costly and each.may_gain(counted, delta=delta, known=known):
            explained[each] = each.explained(counted, delta=delta)
    found = {theorem: guarantee for theorem, (guarantee, _) in explained.items()}
    best = min(found, key=lambda theorem: _preference(found[theorem], counted))
    if epsilon_of(found[best]) == math.inf:
        raise UnsupportedModelError(
            f"no theorem promises anything about {model.local.kind!r} reports at delta={delta:g}: reports that some "
            "answers never lead to come with a probability above it."
        )
    statement = best.stating(counted, found[best], delta=delta)
    held_to_lower_bounds(statement, counted, epsilon=epsilon_of(found[best]), delta=delta)
    statement = statement.remarking(*_who_is_counted(model, counted))
    statement = statement.remarking(*counted.shuffle.mixing)
    statement = statement.remarking(*(remark for _, remarks in explained.values() for remark in remarks))
    statement = statement.remarking(*_large_delta(statement, model.num_users))
    return statement.remarking(*(_why_no_amplification(counted, delta, found) if best.id == "local-dp" else ()))


def delta_at(
    model: Protocol = None,
    *,
    epsilon: float,
    epsilon0: float | None = None,
    num_users: int | None = None,
    honest_fraction: float = 1.0,
    published_only: bool = False,
    sharp: bool = False,
) -> PrivacyStatement:
    """Statement with the smallest delta that some theorem proves at a given epsilon.

    Where no theorem says anything at this epsilon, that delta is 1, which promises nothing.

    Args:
        model: the protocol, in full or in short, as for `account`.
        epsilon: central privacy loss in nats, 0 or more.
        epsilon0: as for `account`.
        num_users: as for `account`.
        honest_fraction: as for `account`.
        published_only: as for `account`.
        sharp: as for `account`.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.
        ContradictionError: if a lower bound applies that is larger: one of the two theorems is false.
    """
    model = protocol_of(model, epsilon0=epsilon0, num_users=num_users)
    nonnegative(epsilon=epsilon)
    counted = counting_honest(model, honest_fraction)
    theorems = reversed(_candidates(published_only, sharp))
    found = {theorem.delta_at(counted, epsilon=epsilon): theorem for theorem in theorems}
    for delta in sorted(found):
        if found[delta].applies(counted, delta=inside_unit(delta)):
            guarantee = CentralDP(epsilon=epsilon, delta=delta)
            statement = found[delta].stating(counted, guarantee, delta=delta)
            held_to_lower_bounds(statement, counted, epsilon=epsilon, delta=delta)
            return statement.remarking(*_who_is_counted(model, counted))
    raise nothing_known(counted, f"epsilon={epsilon:g}", delta=inside_unit(min(found)))


def account_all(model: ProtocolModel, *, delta: float, sharp: bool = True) -> tuple[PrivacyStatement, ...]:
    """All statements about one release, the headline first.

    The upper bound of `account`, also by theorems that take seconds unless ``sharp`` is False; then the largest lower
    bound if one applies (what no theorem can beat), then what families of protocols state in words of their own, such
    as about the order inside groups, then the local guarantee of one person.
    """
    of_families = (each.beside.statement(model) for each in families() if each.beside.statement is not None)
    found = (account(model, delta=delta, sharp=sharp), best_lower_bound(model, delta), *of_families)
    return (*(statement for statement in found if statement is not None), local_statement(model))


def may_be_sharper(model: ProtocolModel, *, delta: float) -> bool:
    """Whether slower theorems, which take seconds, could prove a noticeably smaller epsilon."""
    known = epsilon_of(account(model, delta=delta).guarantee)
    hidden = replace(model, shuffle=model.shuffle.worst_off)
    costly = (each for each in SHARP_THEOREMS if each.is_costly and each.applies(hidden, delta=delta))
    return any(each.may_gain(hidden, delta=delta, known=known) for each in costly)


def why_not_sharper(model: ProtocolModel, *, delta: float) -> str:
    """Reason why slow theorems cannot sharpen the bound; "" if a slow theorem may sharpen it.

    Slow theorems take seconds. It is the hypothesis that fails for the first slow theorem, which is about any
    randomizer; "" too if no bound is loose.
    """
    hidden = replace(model, shuffle=model.shuffle.worst_off)
    costly = (each.hypotheses(hidden, delta=delta) for each in SHARP_THEOREMS if each.is_costly)
    failing = [[each.text for each in hypotheses if not each.holds] for hypotheses in costly]
    known, best = account(model, delta=delta), best_lower_bound(hidden, delta)
    is_close = best is not None and epsilon_of(known.guarantee) <= CLOSE * epsilon_of(best.guarantee)
    if not all(failing) or is_close or known.kind is Kind.EXACT:
        return ""
    return failing[0][0]


def upper_bounds(
    model: ProtocolModel, delta: float, published_only: bool = False, sharp: bool = False
) -> list[Theorem]:
    """Theorems with an upper bound for this model and delta, without superseded theorems.

    Raises:
        UnsupportedModelError: if there is none.
    """
    applying = [theorem for theorem in _candidates(published_only, sharp) if theorem.applies(model, delta=delta)]
    if not applying:
        raise nothing_known(model, f"delta={delta:g}", delta=delta)
    superseded = {name for theorem in applying for name in theorem.supersedes}
    return [theorem for theorem in applying if theorem.id not in superseded]


def _candidates(published_only: bool, sharp: bool) -> list[Theorem]:
    return [
        theorem
        for theorem in (SHARP_THEOREMS if sharp else THEOREMS)
        if theorem.kind.promises and not (published_only and theorem.status is Status.OWN_PROOF)
    ]


def epsilon_of(guarantee: Guarantee) -> float:
    """Epsilon of a guarantee; infinity for a guarantee without an epsilon."""
    return guarantee.epsilon if isinstance(guarantee, DifferentialPrivacy) else math.inf


def _preference(guarantee: Guarantee, model: ProtocolModel) -> tuple[float, float]:
    """Sort key that puts the best guarantee first: the smallest epsilon, then the smallest delta.

    A gain on epsilon0 below one millionth is not worth a remainder.
    """
    epsilon, epsilon0 = epsilon_of(guarantee), model.local.epsilon0
    return (epsilon0 if epsilon0 * (1 - 1e-6) <= epsilon <= epsilon0 else epsilon, getattr(guarantee, "delta", 0.0))


def counting_honest(model: ProtocolModel, fraction: float) -> ProtocolModel:
    """Protocol that counts only the honest share of the people, rounded down.

    What the others send is independent of the honest people's answers: it can be given to the analyst beside the
    shuffle.

    Raises:
        InvalidParameterError: if the fraction is not above 0 and at most 1, or nobody is left.
    """
    positive(honest_fraction=fraction)
    if fraction > 1:
        raise invalid("at most 1", honest_fraction=fraction)
    if fraction == 1:
        return model
    people = model.shuffle.num_honest
    users = math.floor(people * Fraction(repr(float(fraction))))  # exact decimals: 0.29 of 100 people is 29
    if users < 1:
        raise invalid(f"so large that one of {people} people is honest", honest_fraction=fraction)
    return replace(model, shuffle=model.shuffle.counting(users))


def _who_is_counted(model: ProtocolModel, counted: ProtocolModel) -> tuple[str, ...]:
    if counted.shuffle.num_honest == model.num_senders:
        return ()
    return (
        f"Of {model.num_senders} people {counted.shuffle.num_honest} are counted as honest; "
        "nothing is promised to the others.",
    )


def nothing_known(model: ProtocolModel, where: str, *, delta: float) -> UnsupportedModelError:
    """Error that no theorem applies at ``where``, with a hypothesis that fails at this delta.

    The hypothesis is of the first theorem about protocols like this one.
    """
    reasons = _failing(model, delta, (each for each in THEOREMS if each.kind.promises and each.concerns(model)))[:1]
    return UnsupportedModelError(
        f"no theorem covers {model.local.kind!r} reports through a shuffle of kind {model.shuffle.kind!r} at {where}: "
        f"{''.join(f'{reason}. ' for reason in reasons)}This is not known to be private, nor known not to be."
    )


def local_statement(model: ProtocolModel) -> PrivacyStatement:
    """Statement of the local guarantee for everything that one person sends.

    It is computed from the randomizer's own parameters.
    """
    return PrivacyStatement(
        guarantee=model.local.guarantee,
        kind=Kind.UPPER_BOUND if model.local.is_idealized else Kind.EXACT,
        basis=Basis(
            theorem="local-randomizer",
            citation=f"largest likelihood ratio of the {model.local.kind} randomizer",
            hypotheses=fake_senders(model, shuffled=False),
        ),
        trust=(Trust.OWN_DEVICE,),
        remarks=model.local.remarks,
    )


def _large_delta(statement: PrivacyStatement, num_users: int) -> tuple[str, ...]:
    """Warning about a delta above 1/n, which permits publishing one person's answer outright."""
    delta = getattr(statement.guarantee, "delta", 0.0)
    if delta * num_users <= 1:
        return ()
    return (
        f"Beware: a remainder of {in_digits(delta, 'at most')} is more than one in the number of people ({num_users}), "
        "which would even permit publishing one person's answer outright; choose a far smaller delta.",
    )


def _why_no_amplification(model: ProtocolModel, delta: float, found: Mapping[Theorem, Guarantee]) -> tuple[str, ...]:
    """Reasons why no theorem proves amplification: failed hypotheses, or results of epsilon0 or more."""
    if model.num_users == 1:
        return ("There is no amplification by shuffling: a single report has no others to hide among.",)
    obstacle = model.shuffle.obstacle(model.local.epsilon0)
    if obstacle is not None:
        return (obstacle,)
    others = [each for each in THEOREMS if each.id != "local-dp" and each.kind.promises and each.concerns(model)]
    reasons = _failing(model, delta, others) + [
        f"{theorem.id} gives no less: {in_digits(epsilon_of(found[theorem]), 'at most')}"
        for theorem in others
        if theorem in found
    ]
    listed = ", and ".join(part for part in ("; ".join(reasons[:-1]), *reasons[-1:]) if part)
    return (f"No amplification by shuffling is stated: {listed}.",) if listed else ()


def _failing(model: ProtocolModel, delta: float, theorems: Iterable[Theorem]) -> list[str]:
    """Theorems that do not apply, grouped by the hypothesis that fails."""
    reasons: dict[Hypothesis, list[str]] = {}
    for theorem in theorems:
        failing = [each for each in theorem.hypotheses(model, delta=delta) if not each.holds]
        for hypothesis in sorted(failing, key=lambda each: each.name != _UNIFORM)[:1]:
            reasons.setdefault(hypothesis, []).append(theorem.id)
    return [_does_not_apply(model, hypothesis, names) for hypothesis, names in reasons.items()]


def _does_not_apply(model: ProtocolModel, failing: Hypothesis, names: list[str]) -> str:
    if failing.name == _UNIFORM:
        return f"theorems about uniform shuffles do not apply to a shuffle of kind {model.shuffle.kind!r}"
    if len(names) == 1:
        return f"{names[0]} {failing.text}"
    return f"{', '.join(names[:-1])} and {names[-1]} need {failing.requirement}; got {failing.value}"
