"""Meehan et al. 2022, "Privacy Implications of Shuffling": what a shuffle hides about the order inside groups.

The theorems here are about orders of answers, not about one person's answer, so that they are not among the
accountant's candidates for the central guarantee.
"""

import math
from fractions import Fraction

from shuffledp._numerals import in_digits
from shuffledp._validate import integer_at_least
from shuffledp.accounting.premises import common_randomizer, not_adaptive, oblivious, one_message_each
from shuffledp.guarantees import DSigmaPrivacy, LocalDP
from shuffledp.models import ProtocolModel
from shuffledp.statements import Basis, Hypothesis, Kind, PrivacyStatement, Status, Trust, Unit

__all__ = ["d_sigma_of_local", "d_sigma_of_reports", "d_sigma_of_shuffle", "d_sigma_statement", "unneeded_shuffle"]

_ODDS = (
    "Read as odds: whatever somebody knew before, in any prior and however answers hang together, the odds between two "
    "ways of handing out the answers inside one group change by a factor of at most exp(alpha)"
)
_READING, _READING_OF_REPORTS = f"{_ODDS} (Theorem 4.1).", f"{_ODDS}."
_READING_WITH_REMAINDER = (
    "With a remainder there is no bound on odds after every single outcome: with probability up to delta they may "
    "change by more than exp(alpha)."
)


def d_sigma_statement(model: ProtocolModel) -> PrivacyStatement | None:
    """What is guaranteed about the order of answers inside the shuffle's groups: by the shuffle or by the randomizer.

    The smaller alpha of `d_sigma_of_shuffle` and `d_sigma_of_local`, the former where they are equal.

    Args:
        model: the protocol's public description.

    Returns:
        None for a shuffle that is not about groups, or if neither says anything.
    """
    found = [each for each in (d_sigma_of_shuffle(model), d_sigma_of_local(model)) if each is not None]
    return min(
        found, key=lambda statement: (_alpha(statement), statement.guarantee != found[0].guarantee), default=None
    )


def d_sigma_of_shuffle(model: ProtocolModel) -> PrivacyStatement | None:
    """The loss of the shuffle itself, whatever the reports; None if there is none, or a hypothesis fails."""
    guarantee = model.shuffle.d_sigma
    shape = (one_message_each(model), common_randomizer(model), not_adaptive(model), oblivious(model))
    if guarantee is None or not all(hypothesis.holds for hypothesis in shape):
        return None
    reading = _READING_WITH_REMAINDER if guarantee.delta else _READING
    return PrivacyStatement(
        guarantee=guarantee,
        kind=Kind.UPPER_BOUND,
        basis=Basis(
            theorem=f"d-sigma-{model.shuffle.kind}",
            citation="Meehan et al. 2022, Definition 4.3, with the exact loss of this mechanism",
            hypotheses=shape,
            status=Status.OWN_PROOF,
        ),
        trust=(Trust.OWN_DEVICE, *model.shuffle.trust),
        remarks=() if guarantee.is_trivial else (reading,),
    )


def d_sigma_of_local(model: ProtocolModel) -> PrivacyStatement | None:
    """What randomizing alone gives: a permutation of g people's answers changes g reports (Lemma 3.1 of the preprint).

    None for a shuffle that is not about groups or does not say how large they are, or for a randomizer without a pure
    guarantee.
    """
    about, local, group = model.shuffle.d_sigma, model.local.guarantee, model.shuffle.largest_group
    if about is None or group < 1 or local.delta > 0 or local.is_trivial:
        return None
    found = _group_privacy(local.epsilon, about.groups_digest, group)
    return found.remarking(*unneeded_shuffle(model), *model.local.remarks)


def d_sigma_of_reports(local: PrivacyStatement, *, groups_digest: str, largest_group: int) -> PrivacyStatement | None:
    """The same from a statement about all reports of one person, for any groups: Lemma 3.1 of the preprint.

    It asks nothing of the shuffle, nor of who else took part: of a group, at most so many people's reports change.

    Args:
        local: what the reports of one person guarantee by themselves.
        groups_digest: of the groups.
        largest_group: people in the largest of them, 1 or more.

    Returns:
        None if the statement promises no pure loss of one person.

    Raises:
        InvalidParameterError: if nobody is in the largest group.
    """
    integer_at_least(1, largest_group=largest_group)
    claim = local.claimed or local.guarantee
    if not isinstance(claim, LocalDP) or claim.delta > 0 or claim.is_trivial:
        return None
    if not local.kind.promises or local.unit is not Unit.USER:
        return None
    found = _group_privacy(claim.epsilon, groups_digest, largest_group).trusting(*local.trust)
    return found if local.withdrawn is None else found.withdraw(local.withdrawn)


def _group_privacy(epsilon: float, groups_digest: str, group: int) -> PrivacyStatement:
    """Each of the people of the largest group adds their loss; somebody alone has nobody to change with."""
    changed = group if group > 1 else 0
    pure = Hypothesis(
        name="pure-local-dp",
        requirement="a finite epsilon0 and local delta 0",
        value=f"epsilon0={epsilon:.6g}, largest group of {group}",
        holds=True,
    )
    alpha = epsilon * changed
    alpha = alpha if math.isinf(alpha) or Fraction(alpha) >= Fraction(epsilon) * changed else alpha * (1 + 2**-52)
    return PrivacyStatement(
        guarantee=DSigmaPrivacy(alpha=alpha, groups_digest=groups_digest),
        kind=Kind.UPPER_BOUND,
        basis=Basis(
            theorem="d-sigma-local",
            citation="Meehan et al. 2021, Lemma 3.1 (arXiv 2106.06603): group privacy of the local guarantee",
            hypotheses=(pure,),
        ),
        trust=(Trust.OWN_DEVICE,),
        remarks=(_READING_OF_REPORTS,),
    )


def unneeded_shuffle(model: ProtocolModel) -> tuple[str, ...]:
    """That randomizing alone hides the order inside groups better than the shuffle, where it does; else nothing."""
    own, local, group = model.shuffle.d_sigma, model.local.guarantee, model.shuffle.largest_group
    if own is None or local.delta > 0 or own.alpha <= local.epsilon * group:
        return ()
    alone, states = in_digits(local.epsilon * group, "at most"), in_digits(own.alpha, "at most")
    not_private = " By the shuffle itself this is not private." if own.is_trivial else ""
    return (
        "The shuffle adds nothing to what randomizing promises about the order inside groups: that is epsilon0 for "
        f"each of the {group:,} people of the largest, alpha = {alone}, and the shuffle's own alpha is "
        f"{'infinite' if own.is_trivial else states}.{not_private}",
    )


def _alpha(statement: PrivacyStatement) -> float:
    return statement.guarantee.alpha if isinstance(statement.guarantee, DSigmaPrivacy) else float("inf")
