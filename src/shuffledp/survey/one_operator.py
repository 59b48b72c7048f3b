"""What separate parties are for, and what is left without them: one operator of several, or a demonstration."""

from collections.abc import Mapping, Sequence

from shuffledp.core.guarantees import LocalDP
from shuffledp.core.statements import PrivacyStatement
from shuffledp.survey.addresses import same_host

DEMONSTRATION = (
    "Demonstration: answers are made up, in whole or in part, and one operator may play all parties. It protects "
    "nobody, and says nothing about real people."
)
_ONE_OPERATOR = (
    "One operator runs several of the parties, as far as their addresses tell, and could see who sent which report."
)


def on_one_host(addresses: Mapping[str, str]) -> tuple[str, ...]:
    """The roles whose addresses have the host of another role, in their order.

    Example:
        >>> parties = {"shuffler": "https://a.example", "analyzer": "https://A.example:8444"}
        >>> on_one_host(parties | {"relay": "https://b.example"})
        ('shuffler', 'analyzer')
    """
    return tuple(
        role
        for role, url in addresses.items()
        if any(same_host(url, other) for beside, other in addresses.items() if beside != role)
    )


def said_of_one_operator(statements: Sequence[PrivacyStatement], who: str = _ONE_OPERATOR) -> str:
    """What one operator of several parties could do, and what is left to people whatever such a one does."""
    left = [each.sentence_of(each.guarantee) for each in statements if each.guarantee.type == LocalDP.type]
    return " ".join([who, *(f"Whatever operators do, the chance on each device leaves this: {each}" for each in left)])
