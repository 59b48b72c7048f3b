"""The accountant: for a protocol and a delta, the tightest theorem that applies, and why the others do not."""

from shuffledp._numerals import in_digits
from shuffledp._validate import instance_of, open_probability
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems import THEOREMS
from shuffledp.errors import UnsupportedModelError
from shuffledp.models import ProtocolModel
from shuffledp.statements import Basis, Kind, PrivacyStatement, Trust

__all__ = ["account", "account_all"]


def account(model: ProtocolModel, *, delta: float) -> PrivacyStatement:
    """The tightest statement about everything released that some theorem proves: an upper bound.

    Where no amplification theorem applies, or none does better, the answer is the local guarantee, and the statement's
    remarks say which theorem fails by which hypothesis.

    Args:
        model: the protocol's public description, read from JSON or taken from ``Pipeline.model``.
        delta: the remainder, strictly between 0 and 1.

    Raises:
        InvalidParameterError: if ``delta`` is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.

    Example:
        >>> from shuffledp.randomizers import KaryRandomizedResponseModel
        >>> from shuffledp.shufflers import UniformShuffleModel
        >>> local = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=10)
        >>> model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=10_000))
        >>> statement = account(model, delta=1e-6)
        >>> statement.basis.theorem, round(statement.guarantee.epsilon, 5)
        ('fmt23-closed', 0.18001)
    """
    instance_of(ProtocolModel, model=model)
    open_probability(delta=delta)
    upper = [theorem for theorem in THEOREMS if theorem.kind.promises]
    applicable = [theorem for theorem in upper if _applies(theorem, model, delta)]
    if not applicable:
        raise UnsupportedModelError(
            f"no theorem covers {model.local.kind!r} reports through a {model.shuffle.kind!r} shuffle at "
            f"delta={delta:g}: this is not known to be private, nor known not to be."
        )
    best = min(applicable, key=lambda theorem: theorem.epsilon(model, delta=delta))
    statement = best.state(model, delta=delta)
    statement = statement.remarking(*_large_delta(statement, model.num_users))
    if best.id != "local-dp":
        return statement
    return statement.remarking(*_why_no_amplification(upper, model, delta))


def account_all(model: ProtocolModel, *, delta: float) -> tuple[PrivacyStatement, ...]:
    """Every statement that belongs beside a release, headline first.

    Returns:
        The upper bound of `account`, then each lower bound that applies (what no theorem can beat), then the exact
        local guarantee of what one person sends.
    """
    upper = account(model, delta=delta)
    lower = [
        theorem.state(model, delta=delta)
        for theorem in THEOREMS
        if theorem.kind is Kind.LOWER_BOUND and _applies(theorem, model, delta)
    ]
    return (upper, *lower, _local_statement(model))


def _applies(theorem: Theorem, model: ProtocolModel, delta: float) -> bool:
    return all(hypothesis.holds for hypothesis in theorem.hypotheses(model, delta=delta))


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


def _why_no_amplification(upper: list[Theorem], model: ProtocolModel, delta: float) -> tuple[str, ...]:
    """For each theorem that could have amplified: the hypothesis that fails, or that it gives no less than epsilon0."""
    if not model.shuffle.is_uniform and model.shuffle.trust == ():
        return ("Nothing is shuffled, so there is no amplification: only the local guarantee remains.",)
    reasons = []
    for theorem in upper:
        if theorem.id == "local-dp":
            continue
        failing = [each.text for each in theorem.hypotheses(model, delta=delta) if not each.holds]
        epsilon = theorem.epsilon(model, delta=delta) if not failing else 0.0
        reasons.append(
            f"{theorem.id} {failing[0]}" if failing else f"{theorem.id} gives no less: {in_digits(epsilon, 'at most')}"
        )
    return (f"No amplification by shuffling is stated: {'; '.join(reasons)}.",) if reasons else ()
