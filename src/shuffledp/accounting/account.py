"""The accountant: for a protocol and a delta, the tightest theorem that applies, and why the others do not."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from shuffledp._numerals import in_digits
from shuffledp._validate import instance_of, invalid, nonnegative, open_probability, positive
from shuffledp.accounting.network_risks import average_exposure
from shuffledp.accounting.theorem import Theorem, inside_unit
from shuffledp.accounting.theorems import THEOREMS
from shuffledp.accounting.theorems.d_sigma import d_sigma_statement
from shuffledp.accounting.walks import walks_of
from shuffledp.errors import UnsupportedModelError
from shuffledp.guarantees import CentralDP, DifferentialPrivacy, Guarantee
from shuffledp.models import LabelMeaning, ProtocolModel
from shuffledp.statements import Basis, Hypothesis, Kind, PrivacyStatement, Status, Trust

__all__ = [
    "account",
    "account_all",
    "best_lower_bound",
    "counting_honest",
    "delta_at",
    "epsilon_of",
    "nothing_known",
    "upper_bounds",
]

_UNIFORM = "uniform-shuffle"  # the hypothesis that the theorems about uniform shuffles share


def account(
    model: ProtocolModel, *, delta: float, honest_fraction: float = 1.0, published_only: bool = False
) -> PrivacyStatement:
    """The tightest statement about everything released that some theorem proves: an upper bound.

    Where no amplification theorem applies, or none does better, the answer is the local guarantee, and the statement's
    remarks say which theorem fails by which hypothesis.

    Args:
        model: the protocol's public description, read from JSON or taken from ``Pipeline.model``.
        delta: the remainder, strictly between 0 and 1.
        honest_fraction: share of the people counted, above 0 and at most 1; the others may collude with the analyst,
            or send anything, and hide nobody.
        published_only: whether to leave out what only this project has proven.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.

    Example:
        >>> from shuffledp.randomizers import LdpModel
        >>> from shuffledp.shufflers import UniformShuffleModel
        >>> model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=10_000))
        >>> statement = account(model, delta=1e-6)
        >>> statement.basis.theorem, round(statement.guarantee.epsilon, 5)
        ('strong-pair', 0.04321)
    """
    instance_of(ProtocolModel, model=model)
    open_probability(delta=delta)
    counted = counting_honest(model, honest_fraction)
    applying = upper_bounds(counted, delta, published_only)
    explained = {theorem: theorem.explained(counted, delta=delta) for theorem in applying}
    found = {theorem: guarantee for theorem, (guarantee, _) in explained.items()}
    best = min(found, key=lambda theorem: _worth(found[theorem], counted))
    if epsilon_of(found[best]) == math.inf:
        raise UnsupportedModelError(
            f"no theorem promises anything about {model.local.kind!r} reports at delta={delta:g}: reports that some "
            "answers never lead to come with a probability above it."
        )
    statement = best.stating(counted, found[best], delta=delta).remarking(*_who_is_counted(model, counted))
    statement = statement.remarking(*_who_is_mixed(counted), *_who_relays(counted))
    statement = statement.remarking(*(remark for _, remarks in explained.values() for remark in remarks))
    statement = statement.remarking(*_large_delta(statement, model.num_users))
    return statement.remarking(*(_why_no_amplification(counted, delta, found) if best.id == "local-dp" else ()))


def delta_at(
    model: ProtocolModel, *, epsilon: float, honest_fraction: float = 1.0, published_only: bool = False
) -> PrivacyStatement:
    """The tightest statement at an epsilon: the smallest delta that some theorem proves.

    Where no theorem says anything at this epsilon, that delta is 1, which promises nothing.

    Args:
        model: the protocol's public description.
        epsilon: central privacy loss in nats, 0 or more.
        honest_fraction: as for `account`.
        published_only: as for `account`.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.
    """
    instance_of(ProtocolModel, model=model)
    nonnegative(epsilon=epsilon)
    counted = counting_honest(model, honest_fraction)
    theorems = reversed(_candidates(published_only))
    found = {theorem.delta_at(counted, epsilon=epsilon): theorem for theorem in theorems}
    for delta in sorted(found):
        if found[delta].applies(counted, delta=inside_unit(delta)):
            guarantee = CentralDP(epsilon=epsilon, delta=delta)
            statement = found[delta].stating(counted, guarantee, delta=delta)
            return statement.remarking(*_who_is_counted(model, counted))
    raise nothing_known(counted, f"epsilon={epsilon:g}", delta=inside_unit(min(found)))


def account_all(model: ProtocolModel, *, delta: float) -> tuple[PrivacyStatement, ...]:
    """Every statement that belongs beside a release, headline first.

    Returns:
        The upper bound of `account`, then the largest lower bound if one applies (what no theorem can beat), then what
        is guaranteed about the order inside groups, for a shuffle that is about groups, then the local guarantee of
        what one person sends.
    """
    found = (account(model, delta=delta), best_lower_bound(model, delta), d_sigma_statement(model))
    return (*(statement for statement in found if statement is not None), _local_statement(model))


def upper_bounds(model: ProtocolModel, delta: float, published_only: bool = False) -> list[Theorem]:
    """The theorems that promise something about this model at this delta, less those that another one supersedes.

    Raises:
        UnsupportedModelError: if there is none.
    """
    applying = [theorem for theorem in _candidates(published_only) if theorem.applies(model, delta=delta)]
    if not applying:
        raise nothing_known(model, f"delta={delta:g}", delta=delta)
    superseded = {name for theorem in applying for name in theorem.supersedes}
    return [theorem for theorem in applying if theorem.id not in superseded]


def best_lower_bound(model: ProtocolModel, delta: float) -> PrivacyStatement | None:
    """The statement of the largest epsilon that cannot be beaten at this delta; None where no theorem tells one."""
    theorems = [each for each in THEOREMS if each.kind is Kind.LOWER_BOUND and each.applies(model, delta=delta)]
    found = {theorem: theorem.epsilon(model, delta=delta) for theorem in theorems}
    if not found:
        return None
    best = max(found, key=lambda theorem: found[theorem])
    return best.stating(model, CentralDP(epsilon=found[best], delta=delta), delta=delta)


def _candidates(published_only: bool) -> list[Theorem]:
    return [
        theorem
        for theorem in THEOREMS
        if theorem.kind.promises and not (published_only and theorem.status is Status.OWN_PROOF)
    ]


def epsilon_of(guarantee: Guarantee) -> float:
    """Epsilon, or infinity for a guarantee of another type."""
    return guarantee.epsilon if isinstance(guarantee, DifferentialPrivacy) else math.inf


def _worth(guarantee: Guarantee, model: ProtocolModel) -> tuple[float, float]:
    """What the smaller of is the better: epsilon; a gain of less than a millionth is not worth a remainder."""
    epsilon, epsilon0 = epsilon_of(guarantee), model.local.epsilon0
    return (epsilon0 if epsilon0 * (1 - 1e-6) <= epsilon <= epsilon0 else epsilon, getattr(guarantee, "delta", 0.0))


def counting_honest(model: ProtocolModel, fraction: float) -> ProtocolModel:
    """The protocol of this share of its people, rounded down.

    What the others send is independent of the honest people's answers, so it can be given to the analyst beside the
    shuffle of the honest reports.

    Raises:
        InvalidParameterError: if the fraction is not above 0 and at most 1, or nobody is left.
    """
    positive(honest_fraction=fraction)
    if fraction > 1:
        raise invalid("at most 1", honest_fraction=fraction)
    if fraction == 1:
        return model
    users = math.floor(model.num_users * Fraction(repr(float(fraction))))  # 0.29 of 100 is meant as it is written
    if users < 1:
        raise invalid(f"so large that one of {model.num_users} people is honest", honest_fraction=fraction)
    return replace(model, shuffle=model.shuffle.counting(users))


def _who_is_counted(model: ProtocolModel, counted: ProtocolModel) -> tuple[str, ...]:
    if counted.shuffle.num_honest == model.num_users:
        return ()
    return (
        f"Of {model.num_users} people {counted.shuffle.num_honest} are counted as honest; "
        "nothing is promised to the others.",
    )


def _who_is_mixed(model: ProtocolModel) -> tuple[str, ...]:
    """Where slots are kept, that people are mixed with neighbors only, and how many are not mixed at all."""
    alone, people, windows = model.shuffle.num_alone, model.num_users, model.shuffle.swap_windows()
    if model.shuffle.labels is not LabelMeaning.SLOT or alone == people:
        return ()
    if windows and all(max(each.sizes) == people and max(each.costs) == 0 for each in windows):
        return ("Everybody is mixed with everybody: this is the uniform shuffle.",)
    if not alone:
        return ("Everybody is mixed with neighbors only.",)
    are = "person is" if alone == 1 else "people are"
    return (
        f"{alone:,} of {people:,} {are} alone: their reports are not shuffled at all. The others are mixed with "
        "neighbors only.",
    )


def nothing_known(model: ProtocolModel, where: str, *, delta: float) -> UnsupportedModelError:
    """The error where no theorem says anything at this delta, with what fails for the first one about such reports."""
    reasons = _failing(model, delta, (each for each in THEOREMS if each.kind.promises and each.concerns(model)))[:1]
    return UnsupportedModelError(
        f"no theorem covers {model.local.kind!r} reports through a shuffle of kind {model.shuffle.kind!r} at {where}: "
        f"{''.join(f'{reason}. ' for reason in reasons)}This is not known to be private, nor known not to be."
    )


def _local_statement(model: ProtocolModel) -> PrivacyStatement:
    """What all that one person sends guarantees by itself, computed from the randomizer's own parameters."""
    return PrivacyStatement(
        guarantee=model.local.guarantee,
        kind=Kind.UPPER_BOUND if model.local.is_idealized else Kind.EXACT,
        basis=Basis(
            theorem="local-randomizer", citation=f"largest likelihood ratio of the {model.local.kind} randomizer"
        ),
        trust=(Trust.OWN_DEVICE,),
        remarks=model.local.remarks,
    )


def _large_delta(statement: PrivacyStatement, num_users: int) -> tuple[str, ...]:
    """A delta above one in n permits publishing one person's answer outright: say so."""
    delta = getattr(statement.guarantee, "delta", 0.0)
    if delta * num_users <= 1:
        return ()
    return (
        f"Beware: a remainder of {in_digits(delta, 'at most')} is more than one in the number of people ({num_users}), "
        "which would even permit publishing one person's answer outright; choose a far smaller delta.",
    )


def _who_relays(model: ProtocolModel) -> tuple[str, ...]:
    """How likely it is that a colluding relay ever holds a report, where some collude: a risk, and no promise."""
    walks = walks_of(model)
    if walks is None or not 0 < walks.num_colluding < walks.num_users:
        return ()
    exposure = average_exposure(
        num_users=walks.num_users, num_rounds=walks.num_rounds, num_colluding=walks.num_colluding
    )
    return (
        f"If any {walks.num_colluding} of {walks.num_users} people are equally likely to collude, the chance that "
        f"somebody's report is ever in their hands is at most {in_digits(exposure, 'at most')}; this is an average, "
        "and it is close to 1 for whoever has colluding neighbors only.",
    )


def _why_no_amplification(model: ProtocolModel, delta: float, found: Mapping[Theorem, Guarantee]) -> tuple[str, ...]:
    """Of the theorems that could have amplified: which hypothesis fails for which, or that one gives no less."""
    if model.num_users == 1:
        return ("There is no amplification by shuffling: a single report has no others to hide among.",)
    nobody = model.shuffle.num_alone == model.num_users
    if nobody or (not model.shuffle.is_uniform and model.shuffle.trust == ()):
        return ("Nothing is shuffled, so there is no amplification: only the local guarantee remains.",)
    cost, _ = model.shuffle.exchange_privacy or (0.0, 0.0)
    if cost > 0 and cost >= model.local.epsilon0:
        name = "epsilon1" if model.shuffle.imperfection is None else "gamma"
        return (
            f"This shuffle buys nothing: its {name} = {in_digits(cost, 'exactly')} is no less than epsilon0 = "
            f"{in_digits(model.local.epsilon0, 'exactly')}, the most that one report by itself tells.",
        )
    others = [each for each in THEOREMS if each.id != "local-dp" and each.kind.promises and each.concerns(model)]
    reasons = _failing(model, delta, others) + [
        f"{theorem.id} gives no less: {in_digits(epsilon_of(found[theorem]), 'at most')}"
        for theorem in others
        if theorem in found
    ]
    listed = ", and ".join(part for part in ("; ".join(reasons[:-1]), *reasons[-1:]) if part)
    return (f"No amplification by shuffling is stated: {listed}.",) if listed else ()


def _failing(model: ProtocolModel, delta: float, theorems: Iterable[Theorem]) -> list[str]:
    """The theorems that do not apply, those together that fail by the same hypothesis."""
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
