"""k-ary randomized response in which people choose their own local loss."""

from typing import ClassVar

from shuffledp.accounting.evaluators.personalized import PersonalBlanket, personal_blanket
from shuffledp.accounting.numerics import SMALLEST
from shuffledp.accounting.premises import not_adaptive, one_message_each, uniform_shuffle
from shuffledp.accounting.theorem import Theorem
from shuffledp.models import PersonalLosses, ProtocolModel
from shuffledp.statements import Hypothesis, Status

__all__ = ["BlanketPersonalized"]

_OUTSIDE = 1e-7  # of delta
_MOST_LOSSES = 50


class BlanketPersonalized(Theorem):
    """The privacy blanket for people with losses of their own: what holds for whoever has the least protection.

    Person i sends a uniform value with chance k / (exp(epsilon_i) + k - 1); those who do hide the victim, and their
    number is a sum of independent binary variables (`shuffledp.accounting.evaluators.personalized`). Theorems about a
    common randomizer do not apply here. `shuffledp.accounting.personalized` tells each person's own loss.
    """

    id: ClassVar[str] = "blanket-personalized"
    citation: ClassVar[str] = (
        "Balle et al. 2019, blanket lemma (arXiv 1903.02837), for k-ary response of different losses"
    )
    status: ClassVar[Status] = Status.OWN_PROOF

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """k-ary response with a public histogram of losses, uniformly shuffled, of people who are all in it."""
        del delta
        shape = (uniform_shuffle(model), one_message_each(model), not_adaptive(model))
        return (*shape, _personal(model), _all_described(model))

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The largest epsilon of all people."""
        worst = 0.0
        for place in range(len(_people(model).epsilons))[::-1]:
            if self._blanket(model, place, _OUTSIDE * delta).delta(worst) > delta:
                worst = max(worst, self.epsilon_of(model, place, delta=delta))
        return worst

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The largest delta of all people."""
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
        """The epsilon of the people who have one of the losses, no more than that loss itself.

        Args:
            model: one that the theorem applies to.
            place: of the loss among the different ones, from 0.
            delta: strictly between 0 and 1.
        """
        return self._blanket(model, place, _OUTSIDE * delta).epsilon(delta)

    def _blanket(self, model: ProtocolModel, place: int, outside: float) -> PersonalBlanket:
        least = max(outside, SMALLEST)
        return personal_blanket(_people(model), victim=place, users=model.num_users, outside=least)


def _people(model: ProtocolModel) -> PersonalLosses:
    return model.local.personal_losses or PersonalLosses(domain_size=2, epsilons=(), counts=())


def _personal(model: ProtocolModel) -> Hypothesis:
    losses = len(_people(model).epsilons)
    return Hypothesis(
        name="personal-losses",
        requirement=f"k-ary response with a public histogram of 1 to {_MOST_LOSSES} different losses",
        value=f"{model.local.kind!r} reports of {losses} losses",
        holds=1 <= losses <= _MOST_LOSSES,
    )


def _all_described(model: ProtocolModel) -> Hypothesis:
    described = sum(_people(model).counts)
    return Hypothesis(
        name="all-described",
        requirement=f"no more people than the {described} whose losses are known",
        value=f"num_users={model.num_users}",
        holds=model.num_users <= described,
    )
