"""Upper bounds on central losses under k-ary randomized response with personal local losses.

Each local loss has a central loss of its own, bounded from above.

The bound E[F(M + 1)] of docs/theorems.md ("People with losses of their own"): F does not grow with the number M of
uniform reports, so every count may be moved down: sums of binomial laws on a lattice, and F at the low ends of blocks.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from shuffledp.accounting.evaluators.binomial import binomial_lattice
from shuffledp.accounting.evaluators.inversion import mean_positive_part
from shuffledp.accounting.numerics import SMALLEST, gaussian_epsilon, smallest_below
from shuffledp.accounting.theorem import Theorem, not_adaptive, one_message_each, uniform_shuffle, users_within
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.report_laws import PersonalLosses
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import instance_of, open_probability

_ROUNDING = 2.0**-53
_MOST_POINTS = 2000  # of the lattice, for the loss with the widest law
_COARSE, _FINE = (6, 3), (28, 4)  # blocks in the likely part, and on either side of it
_UNLIKELY = 1e-7  # counts farther out on either side go into a few blocks
_OUTSIDE = 1e-7  # of delta
_MOST_LOSSES = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PersonalBlanket:
    """Blanket of uniform reports on k values that hides a victim of loss ``epsilon0``.

    Their number is random. The least number of reports to hide among, the victim's included, is ``first``; ``law`` has
    the probabilities of it and of those at each further ``step``, from above, and ``outside`` is more than the
    probability of all others.
    """

    epsilon0: float
    domain_size: int
    first: int
    step: int
    law: Floats
    outside: float

    def delta(self, epsilon: float, *, blocks: tuple[int, int] = _FINE) -> float:
        """Delta at an epsilon, rounded up; 0 from the victim's own loss on."""
        if epsilon >= self.epsilon0:
            return 0.0
        starts = _starts(self.law, *blocks)
        sums = [self._among(epsilon, self.first + self.step * int(start)) for start in starts]
        found = float(np.add.reduceat(self.law, starts) @ np.array(sums))
        return min(found * (1 + 1e-12) + self.outside + SMALLEST, 1.0)

    def epsilon(self, delta: float) -> float:
        """Least epsilon at this delta, rounded up."""
        ratio, size = math.exp(self.epsilon0), self.domain_size
        fisher = 2 * size * (ratio - 1) ** 2 / (ratio + size - 1) ** 2
        mean = self.first + self.step * float(self.law @ np.arange(len(self.law))) / float(self.law.sum())
        guess = gaussian_epsilon(math.sqrt(fisher / mean), delta)
        for blocks, tolerance in ((_COARSE, 1e-3), (_FINE, 3e-5)):
            curve = partial(self.delta, blocks=blocks)
            guess = smallest_below(curve, level=delta, limit=self.epsilon0, guess=guess, tolerance=tolerance)
        return guess

    def _among(self, epsilon: float, reports: int) -> float:
        """Upper bound on the victim's delta at an epsilon, given the number of reports to hide among.

        It is F of the module docstring.
        """
        size, odds, factor = self.domain_size, math.exp(-self.epsilon0), math.exp(epsilon)
        scale = size / (1 + (size - 1) * odds)
        growth = math.expm1(epsilon)
        values = scale * np.array([-math.expm1(epsilon - self.epsilon0), odds - factor, -growth * odds])
        errors = 8 * _ROUNDING * (1 + self.epsilon0) * scale * np.array([1.0, 1 + factor, growth * odds])
        masses = np.array([1.0, 1.0, size - 2.0]) / size
        return mean_positive_part(values, masses, reports, errors=errors, tolerance=math.inf)[1]


def personal_blanket(people: PersonalLosses, *, victim: int, users: int, outside: float) -> PersonalBlanket:
    """Blanket that hides a victim; ``victim`` is the index of the victim's local loss.

    It comes from the ``users`` participants who hide the victim least. About ``outside`` may be left out of the law.
    """
    counts = list(people.counts)
    counts[victim] -= 1
    left = users - 1
    for place in reversed(range(len(counts))):  # a larger loss hides less
        counts[place] = min(counts[place], left)
        left -= counts[place]
    size = people.domain_size
    chances = [size * odds / (1 + (size - 1) * odds) for odds in (math.exp(-epsilon) for epsilon in people.epsilons)]
    reach = math.sqrt(2 * math.log(2 / outside))
    widest = max(reach * math.sqrt(count * chance) for count, chance in zip(counts, chances, strict=True))
    step = max(math.ceil(2 * widest / _MOST_POINTS), 1)
    first, law = 1, np.ones(1)  # the victim's own report
    for count, chance in zip(counts, chances, strict=True):
        low, masses = binomial_lattice(count, chance, outside=outside, step=step)
        first, law = first + low, np.convolve(law, masses) * (1 + 1e-12)
    return PersonalBlanket(
        epsilon0=people.epsilons[victim],
        domain_size=size,
        first=first,
        step=step,
        law=law,
        outside=len(counts) * outside,
    )


def _starts(law: Floats, likely: int, others: int) -> Integers:
    """Starts of blocks of the law, most of them in its likely part."""
    reached = np.searchsorted(np.cumsum(law), [_UNLIKELY, 1 - _UNLIKELY])
    left, right = int(reached[0]), min(int(reached[1]), len(law) - 1)
    parts = [np.linspace(0, left, others), np.linspace(left, right, likely), np.linspace(right, len(law) - 1, others)]
    return np.unique(np.floor(np.concatenate(parts))).astype(np.int64)


def _people(model: ProtocolModel) -> PersonalLosses:
    return model.local.personal_losses or PersonalLosses(domain_size=2, epsilons=(), counts=())


def _personal(model: ProtocolModel) -> Hypothesis:
    losses = len(_people(model).epsilons)
    requirement = f"k-ary response with a public histogram of 1 to {_MOST_LOSSES} different losses"
    value = f"{model.local.kind!r} reports of {losses} losses"
    return Hypothesis("personal-losses", requirement, value, 1 <= losses <= _MOST_LOSSES)


def _all_described(model: ProtocolModel) -> Hypothesis:
    described = sum(_people(model).counts)
    return users_within(
        "all-described", model, f"no more people than the {described} whose losses are known", 0, described
    )


class BlanketPersonalized(Theorem):
    """Privacy blanket for people with different local losses: the guarantee of the least protected person.

    Theorems about a common randomizer do not apply here. `shuffledp.accounting.personalized` tells each person's loss.
    """

    id = "blanket-personalized"
    citation = "Balle et al. 2019, blanket lemma (arXiv 1903.02837), for k-ary response of different losses"
    status = Status.OWN_PROOF
    premises = (uniform_shuffle, one_message_each, not_adaptive, _personal, _all_described)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Largest epsilon over all people."""
        worst = 0.0
        for place in range(len(_people(model).epsilons))[::-1]:
            if self._blanket(model, place, _OUTSIDE * delta).delta(worst) > delta:
                worst = max(worst, self.epsilon_of(model, place, delta=delta))
        return worst

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Largest delta over all people."""
        if not self.applies(model, delta=0.5):
            return 1.0
        worst = 0.0
        for place in range(len(_people(model).epsilons)):
            rough = self._blanket(model, place, SMALLEST).delta(epsilon)
            if rough > worst:
                fine = self._blanket(model, place, max(_OUTSIDE * rough, SMALLEST)).delta(epsilon)
                worst = max(worst, min(rough, fine))
        return worst

    def epsilon_of(self, model: ProtocolModel, place: int, *, delta: float) -> float:
        """Epsilon of the people with one of the local losses; at most that local loss."""
        return self._blanket(model, place, _OUTSIDE * delta).epsilon(delta)

    def _blanket(self, model: ProtocolModel, place: int, outside: float) -> PersonalBlanket:
        least = max(outside, SMALLEST)
        return personal_blanket(_people(model), victim=place, users=model.num_users, outside=least)


def personalized(model: ProtocolModel, *, delta: float) -> dict[float, PrivacyStatement]:
    """Statements with upper bounds for the people of each local loss, after a uniform shuffle.

    A person who adds more noise is protected better after the shuffle too, and everybody's noise protects everybody.

    Args:
        model: a protocol of `shuffledp.randomizers.PersonalizedResponseModel`.
        delta: the remainder, strictly between 0 and 1.

    Raises:
        HypothesisError: if the theorem ``blanket-personalized`` does not apply to the model.
        InvalidParameterError: if a parameter is out of range.

    Example:
        >>> from shuffledp.randomizers import PersonalizedResponseModel
        >>> from shuffledp.shufflers import UniformShuffleModel
        >>> local = PersonalizedResponseModel(domain_size=4, epsilons=(0.5, 2.0), counts=(500, 500))
        >>> model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=1000))
        >>> {loss: round(found.guarantee.epsilon, 3) for loss, found in personalized(model, delta=1e-6).items()}
        {0.5: 0.055, 2.0: 0.271}
    """
    instance_of(ProtocolModel, model=model)
    open_probability(delta=delta)
    theorem, people = BlanketPersonalized(), model.local.personal_losses
    theorem.require(model, delta=delta)
    losses = () if people is None else people.epsilons
    found = {loss: theorem.epsilon_of(model, place, delta=delta) for place, loss in enumerate(losses)}
    return {
        loss: theorem.stating(model, CentralDP(epsilon=epsilon, delta=delta), delta=delta).remarking(
            f"It is about the people whose local loss is {loss:g}."
        )
        for loss, epsilon in found.items()
    }
