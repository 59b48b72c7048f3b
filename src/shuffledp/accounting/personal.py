"""Each person's own central loss, where people choose their own local one."""

from shuffledp._validate import instance_of, open_probability
from shuffledp.accounting.theorems.personalized import BlanketPersonalized
from shuffledp.guarantees import CentralDP
from shuffledp.models import ProtocolModel
from shuffledp.statements import PrivacyStatement

__all__ = ["personalized"]


def personalized(model: ProtocolModel, *, delta: float) -> dict[float, PrivacyStatement]:
    """What a uniform shuffle gives to the people of each local loss: an upper bound for each.

    A person who adds more noise is protected better after the shuffle too, and everybody's noise protects everybody.

    Args:
        model: a protocol of `shuffledp.randomizers.PersonalizedResponseModel`.
        delta: the remainder, strictly between 0 and 1.

    Returns:
        A statement for each different local loss, of the people who have it.

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
