"""The words that statements are made of: kinds, who has checked a proof, whose change counts, trust, withdrawals."""

from enum import StrEnum

__all__ = ["Kind", "Status", "Trust", "Unit", "Withdrawal"]


class Kind(StrEnum):
    """How the guarantee relates to the truth."""

    EXACT = "exact"
    UPPER_BOUND = "upper-bound"
    LOWER_BOUND = "lower-bound"
    ESTIMATE = "estimate"

    @property
    def relation(self) -> str:
        """The kind as it is read before a number."""
        return {"exact": "exactly", "upper-bound": "at most", "lower-bound": "at least", "estimate": "about"}[
            self.value
        ]

    @property
    def promises(self) -> bool:
        """True if people may rely on it: the truth is no worse than the number."""
        return self in (Kind.EXACT, Kind.UPPER_BOUND)


class Status(StrEnum):
    """Who has checked the proof."""

    PUBLISHED = "published"
    OWN_PROOF = "own-proof"


class Unit(StrEnum):
    """Whose change the guarantee speaks about."""

    REPORT = "one-report"
    USER = "one-user"


class Trust(StrEnum):
    """What must hold in the world, and no computation can check, for the statement to be worth anything."""

    OWN_DEVICE = "own-device"
    SHUFFLER = "shuffler"
    NO_COLLUSION = "no-collusion"
    RELAYS = "relays"
    UNOBSERVED = "unobserved"
    HONEST_USERS = "honest-users"
    EVERYBODY = "everybody"
    OPERATOR = "operator"

    @property
    def text(self) -> str:
        """The requirement in words."""
        return _TRUST_IN_WORDS[self]


_TRUST_IN_WORDS = {
    Trust.OWN_DEVICE: "each person's own device randomizes the answer as stated, with good randomness",
    Trust.SHUFFLER: "the shuffler shuffles as stated and keeps no record of who sent what",
    Trust.NO_COLLUSION: "the analyst does not work together with the shuffler",
    Trust.RELAYS: "whoever passes reports on does so as agreed, in every round, and tells nobody what came from whom",
    Trust.UNOBSERVED: "nobody watches who sends messages to whom",
    Trust.HONEST_USERS: "everybody counted in the batch really randomized; colluding people must be subtracted",
    Trust.EVERYBODY: "everybody counted really randomized, is online in every round, and works with nobody",
    Trust.OPERATOR: "whoever ran all the steps in one place saw the raw answers, and keeps them to themselves",
}


class Withdrawal(StrEnum):
    """Why a statement no longer promises anything."""

    SEEDED = "seeded"

    @property
    def text(self) -> str:
        """The reason in words."""
        return _WITHDRAWAL_IN_WORDS[self]


_WITHDRAWAL_IN_WORDS = {
    Withdrawal.SEEDED: "the randomness came from a seed, and anyone who knows the seed can undo it",
}
