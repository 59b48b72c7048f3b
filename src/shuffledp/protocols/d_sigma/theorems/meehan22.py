"""Meehan et al. 2022, "Privacy Implications of Shuffling": how a shuffle hides the order inside groups.

The theorems here are about orders of answers, not about one person's answer, so that they are not among the
accountant's candidates for the central guarantee.

Theorem 4.2, refined, says how well somebody can tell which slots hold given people's reports.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.accounting.numerics import rounded_up
from shuffledp.accounting.theorem import (
    common_randomizer,
    fake_senders,
    not_adaptive,
    oblivious,
    one_message_each,
    pure_local,
)
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import HypothesisError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.guarantees import DSigmaPrivacy, LocalDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Basis, Hypothesis, Kind, Status, Trust, Unit
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Floats
from shuffledp.core.text import in_digits
from shuffledp.core.validate import integer_at_least
from shuffledp.protocols.d_sigma.laws.naming_tails import naming_tail_of_alpha

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
    """Statement about the order of answers inside the shuffle's groups, by the shuffle or by the randomizer.

    The smaller alpha of `d_sigma_of_shuffle` and `d_sigma_of_local`, the former where they are equal. None for a
    shuffle that is not about groups, or if neither says anything.

    Args:
        model: the protocol's public description.
    """
    found = [each for each in (d_sigma_of_shuffle(model), d_sigma_of_local(model)) if each is not None]
    return min(found, key=_alpha, default=None)


def d_sigma_of_shuffle(model: ProtocolModel) -> PrivacyStatement | None:
    """Statement about the order by the shuffle alone; None without a guarantee, or if a hypothesis fails."""
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
            hypotheses=(*shape, *fake_senders(model)),
            status=Status.OWN_PROOF,
        ),
        trust=(Trust.OWN_DEVICE, *model.shuffle.trust),
        remarks=() if guarantee.is_trivial else (reading,),
    )


def d_sigma_of_local(model: ProtocolModel) -> PrivacyStatement | None:
    """Statement by randomizing alone: permuting g people's answers changes g reports (Lemma 3.1 of the preprint).

    None for a shuffle that is not about groups or does not say how large they are, or for a randomizer without a pure
    guarantee.
    """
    about, local, group = model.shuffle.d_sigma, model.local.guarantee, model.shuffle.largest_group
    if about is None or group < 1 or local.delta > 0 or local.is_trivial:
        return None
    found = _group_privacy(local.epsilon, about.groups_digest, group, fake_senders(model, shuffled=False))
    return found.remarking(*unneeded_shuffle(model), *model.local.remarks)


def d_sigma_of_reports(local: PrivacyStatement, *, groups_digest: str, largest_group: int) -> PrivacyStatement | None:
    """Group privacy from a statement about all reports of one person, for any groups (Lemma 3.1 of the preprint).

    It asks nothing of the shuffle, nor of who else took part: of a group, at most that many people's reports change.
    None if the statement promises no pure loss of one person.

    Args:
        local: what the reports of one person guarantee by themselves.
        groups_digest: of the groups.
        largest_group: people in the largest of them, 1 or more.

    Raises:
        InvalidParameterError: if nobody is in the largest group.
    """
    integer_at_least(1, largest_group=largest_group)
    claim = local.claimed or local.guarantee
    if not isinstance(claim, LocalDP) or claim.delta > 0 or claim.is_trivial:
        return None
    if not local.kind.promises or local.unit is not Unit.USER:
        return None
    found = _group_privacy(claim.epsilon, groups_digest, largest_group, local.assumed).trusting(*local.trust)
    return found if local.withdrawn is None else found.withdraw(local.withdrawn)


def _group_privacy(epsilon: float, groups_digest: str, group: int, assumed: tuple[Hypothesis, ...]) -> PrivacyStatement:
    """Statement of group privacy: the losses of the largest group add up; one person alone loses nothing."""
    changed = group if group > 1 else 0
    value = f"epsilon0={epsilon:.6g}, largest group of {group}"
    pure = Hypothesis("pure-local-dp", "a finite epsilon0 and local delta 0", value, True)
    alpha = epsilon * changed
    alpha = alpha if math.isinf(alpha) or Fraction(alpha) >= Fraction(epsilon) * changed else alpha * (1 + 2**-52)
    return PrivacyStatement(
        guarantee=DSigmaPrivacy(alpha=alpha, groups_digest=groups_digest),
        kind=Kind.UPPER_BOUND,
        basis=Basis(
            theorem="d-sigma-local",
            citation="Meehan et al. 2021, Lemma 3.1 (arXiv 2106.06603): group privacy of the local guarantee",
            hypotheses=(pure, *assumed),
        ),
        trust=(Trust.OWN_DEVICE,),
        remarks=(_READING_OF_REPORTS,),
    )


def unneeded_shuffle(model: ProtocolModel) -> tuple[str, ...]:
    """Remark that randomizing alone hides the order inside groups better than the shuffle; else empty."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReidentificationBound(Described):
    """Bound on the odds of naming the slots of given people's reports, with the parts of the bound.

    Args:
        num_targets: k, how many people are looked for; the attacker names k slots.
        at_least: how many of these slots must hold their reports for the attacker to win.
        group_size: r, the people of the group that hides them; 0 if other people's swap costs were used instead.
        epsilon0: local loss.
        from_values: 2 k epsilon0: what the values of the reports give away, at most.
        from_order: what the places of the reports give away: alpha; for one person the swap costs, at most.
        remainder: delta of the shuffle's guarantee.
        odds: of winning to losing, at most; whatever is known beforehand about everybody's answers.
        hypotheses: what this rests on, evaluated.
        num_colluding: people who may tell the attacker their reports, wherever they are; no target is one.
        trust: what must hold in the world besides.
    """

    num_targets: int
    group_size: int
    epsilon0: float
    from_values: float
    from_order: float
    remainder: float
    odds: float
    hypotheses: tuple[Hypothesis, ...] = ()
    num_colluding: int = 0
    trust: tuple[Trust, ...] = ()
    at_least: int = 0

    def __post_init__(self) -> None:
        if not self.at_least:
            object.__setattr__(self, "at_least", self.num_targets)

    @property
    def success(self) -> float:
        """Largest probability of naming enough slots; on average over possible views if there is a remainder."""
        share = self.odds / (1 + self.odds) if self.odds < math.inf else 1.0
        return min(1.0, rounded_up(share + (1 - share) * self.remainder))

    @property
    def dominates(self) -> str:
        """Part of the bound that is larger: "values", "order", or "neither"."""
        if self.from_values == self.from_order:
            return "neither"
        return "values" if self.from_values > self.from_order else "order"

    def __str__(self) -> str:
        people = "one person's report" if self.num_targets == 1 else f"the reports of {self.num_targets} given people"
        some = "" if self.at_least == self.num_targets else f"at least {self.at_least} of "
        shares = (
            f"The values of reports account for {in_digits(self.from_values, 'at most')} of the exponent "
            f"(2 k epsilon0), and their places for {in_digits(self.from_order, 'at most')}"
        )
        larger = {"values": "the values dominate", "order": "the order dominates", "neither": "neither dominates"}
        average = ", on average over releases" if self.remainder else ""
        told = f" and the reports of {self.num_colluding:,} other people" if self.num_colluding else ""
        return (
            f"Whoever knows everything but the randomness{told} names {some}the slots of {people} correctly with a "
            f"probability of at most {in_digits(self.success, 'at most')}{average}. {shares}: {larger[self.dominates]}."
        )


def reidentification_bound(
    model: ProtocolModel,
    *,
    group_size: int | None = None,
    num_targets: int = 1,
    at_least: int | None = None,
    swap_costs: ArrayLike | None = None,
) -> ReidentificationBound:
    """Bound on an attacker's odds of naming the slots that hold given people's reports (docs/theorems.md).

    Of k people in a group of r, the number of right slots is at most Fisher's noncentral hypergeometric law at 2
    epsilon0, with the odds of its tail multiplied by exp(alpha): every set of k people may stand in for the targets
    (Theorem 4.2 counts disjoint ones only). For one person every other person counts, each at the cost of exchanging
    just the two. Colluding people, whose reports the attacker knows, hide nobody.

    Args:
        model: the protocol's public description.
        group_size: r, at least ``num_targets``: people of the group; None is the largest group.
        num_targets: k, people of that group who are looked for.
        at_least: how many of the k named slots must be right, from 1 to k; None is all of them. More than half is
            k // 2 + 1.
        swap_costs: for one person, what it costs to exchange that person with each other one, as a shuffler's
            ``swap_costs(person)`` tells; the entry of 0 for the person is one of them. In place of ``group_size``.

    Raises:
        HypothesisError: unless one common pure randomizer sends one report each, and the permutation is drawn without
            looking at the reports: the theorem is false for other shufflers that are d_sigma private.
        UnsupportedModelError: if the shuffle says nothing about groups and no swap costs are given; or for several
            targets after a shuffle that has no pure loss.
        InvalidParameterError: if an argument is out of range.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Theorem 4.2; the
        hypotheses and the refinement are our own (docs/errata.md).
    """
    validate.instance_of(ProtocolModel, model=model)
    validate.integer_at_least(1, num_targets=num_targets)
    wins = num_targets if at_least is None else at_least
    validate.integer_at_least(1, at_least=wins)
    if wins > num_targets:
        raise validate.invalid(f"at most num_targets={num_targets}", at_least=at_least)
    reports = (common_randomizer(model), not_adaptive(model), one_message_each(model), pure_local(model))
    hypotheses = (oblivious(model), *reports)
    failing = "; ".join(hypothesis.text for hypothesis in hypotheses if not hypothesis.holds)
    if failing:
        raise HypothesisError(f"reidentification {failing}.")
    epsilon0, colluding = model.local.epsilon0, model.shuffle.num_untrusted
    values = 2 * num_targets * epsilon0
    if swap_costs is not None:
        costs = np.sort(_checked_costs(swap_costs, num_targets, group_size))[colluding:]
        hiding, order, size, remainder = math.fsum(np.exp(-costs).tolist()), float(costs.min(initial=math.inf)), 0, 0.0
        odds = rounded_up(math.exp(values) / hiding) if hiding > 0 and values < 700 else math.inf
    else:
        order, remainder = _loss_for(model, int(num_targets))
        size = _checked_size(model, group_size, num_targets)
        odds = _odds_in_group(size - colluding, int(num_targets), int(wins), epsilon0, order)
        if remainder and (pure := _pure_loss(model)) < math.inf:  # either holds: the smaller chance is stated
            other = _odds_in_group(size - colluding, 1, 1, epsilon0, pure)
            if other / (1 + other) < (odds + remainder) / (1 + odds):
                order, remainder, odds = pure, 0.0, other
    return ReidentificationBound(
        num_targets=int(num_targets),
        group_size=size,
        epsilon0=epsilon0,
        from_values=values,
        from_order=order,
        remainder=remainder,
        odds=odds,
        hypotheses=hypotheses,
        num_colluding=colluding,
        trust=(Trust.OWN_DEVICE, *model.shuffle.trust),
        at_least=int(wins),
    )


def _pure_loss(model: ProtocolModel) -> float:
    """Largest loss of the order inside a group without a remainder; infinite where none is known."""
    claim = model.shuffle.d_sigma
    known = math.inf if claim is None or claim.delta else claim.alpha
    return float(getattr(model.shuffle, "pure_loss", known))


def _loss_for(model: ProtocolModel, num_targets: int) -> tuple[float, float]:
    """Loss and remainder that bound the naming of slots of this many people.

    The remainder is 0 for several people.
    """
    claim = model.shuffle.d_sigma
    if claim is None:
        raise UnsupportedModelError(f"nothing is known about groups in a {model.shuffle.kind!r} shuffle.")
    if num_targets == 1 or not claim.delta:
        return claim.alpha, claim.delta
    if (pure := _pure_loss(model)) < math.inf:
        return pure, 0.0
    raise UnsupportedModelError(
        "how well several people are found together is not known after a shuffle whose loss of order is never without "
        f"a remainder, as with Gaussian noise; got num_targets={num_targets}. Ask for one person, or take Laplace "
        "noise or Mallows."
    )


def _odds_in_group(honest: int, targets: int, wins: int, epsilon0: float, alpha: float) -> float:
    """Odds of naming enough of the targets' slots in a group of ``honest`` people.

    The targets are among the honest people.
    """
    if honest <= targets or alpha == math.inf or 2 * targets * epsilon0 >= 700:
        return math.inf
    if targets == 1:
        return rounded_up(math.exp(2 * epsilon0) / ((honest - 1) * math.exp(-alpha)) if alpha < 700 else math.inf)
    chance = naming_tail_of_alpha(honest, targets, wins, epsilon0, alpha)
    return chance / (1 - chance) if chance < 1 else math.inf


def _checked_costs(swap_costs: ArrayLike, num_targets: int, group_size: int | None) -> Floats:
    costs = np.asarray(swap_costs, dtype=np.float64)
    if num_targets != 1 or group_size is not None:
        raise InvalidParameterError("swap_costs must be given for one target, and without group_size.")
    if costs.ndim != 1 or not (costs >= 0).all() or not (costs == 0).any():
        raise InvalidParameterError("swap_costs must be numbers of 0 or more, one of them the person's own 0.")
    return np.delete(costs, int(np.argmin(costs)))


def _checked_size(model: ProtocolModel, group_size: int | None, num_targets: int) -> int:
    largest = model.shuffle.largest_group
    size = largest if group_size is None else group_size
    validate.integer_at_least(1, group_size=size)
    if not num_targets <= size <= largest:
        raise validate.invalid(f"from num_targets={num_targets} to the largest group, {largest}", group_size=size)
    return int(size)
