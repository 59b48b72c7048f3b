"""Terms of a statement: kind, basis with evaluated hypotheses, unit, trust and withdrawal."""

from dataclasses import dataclass
from enum import StrEnum

from shuffledp._version import __version__
from shuffledp.core.described import Described


class Kind(StrEnum):
    """Relation of the stated number to the truth."""

    EXACT = "exact"
    UPPER_BOUND = "upper-bound"
    LOWER_BOUND = "lower-bound"
    ESTIMATE = "estimate"

    @property
    def relation(self) -> str:
        """Words before the number, such as "at most"."""
        return {"exact": "exactly", "upper-bound": "at most", "lower-bound": "at least", "estimate": "about"}[
            self.value
        ]

    @property
    def promises(self) -> bool:
        """True if people may rely on the number: the truth is no worse."""
        return self in (Kind.EXACT, Kind.UPPER_BOUND)


class Status(StrEnum):
    """Review status of a proof: published, or this project's own."""

    PUBLISHED = "published"
    OWN_PROOF = "own-proof"


class Unit(StrEnum):
    """Unit of privacy, which changes between neighbors: one report, or all reports of one user."""

    REPORT = "one-report"
    USER = "one-user"


class Trust(StrEnum):
    """Trust assumption about the world, which no computation can check; dangers are listed first."""

    ALL_SHARES = "all-shares"
    SHARES_APART = "shares-apart"
    HOSTS_APART = "hosts-apart"
    ALL_BITS = "all-bits"
    NOT_TOGETHER = "not-together"
    FIRST_ROUND = "first-round"
    LOCAL_NETWORK = "local-network"
    PAGE_AT_SHUFFLER = "page-at-shuffler"
    PAGE = "page"
    ONE_ANSWER = "one-answer"
    BLANKET = "blanket"
    OWN_DEVICE = "own-device"
    SHUFFLER = "shuffler"
    RELAY_APART = "relay-apart"
    ISSUER = "issuer"
    READY_MADE_TOKENS = "ready-made-tokens"
    ISSUER_AT_SHUFFLER = "issuer-at-shuffler"
    NO_COLLUSION = "no-collusion"
    ENOUGH_HOSTS = "enough-hosts"
    RELAYS = "relays"
    HONEST_RELAYS = "honest-relays"
    LAYERS = "layers"
    UNOBSERVED = "unobserved"
    HONEST_USERS = "honest-users"
    EVERYBODY = "everybody"
    EVERYBODY_COUNTED = "everybody-counted"
    TIME_OF_ANSWER = "time-of-answer"
    OPERATOR = "operator"

    @property
    def text(self) -> str:
        """Trust requirement in words."""
        return _TRUST_IN_WORDS[self]

    @property
    def text_beside_fakes(self) -> str:
        """Requirement in words, for a text that has already mentioned fake senders."""
        return self.text.replace("everybody counted", "everybody else", 1)

    @property
    def name_of_trusted(self) -> str:
        """Trusted party or thing, in a word or two."""
        return _TRUSTED[self]

    @property
    def is_danger(self) -> bool:
        """True where a broken assumption lets one party, or anyone at all, read an answer."""
        return self in _DANGERS


_DANGERS = {
    *(Trust.ALL_SHARES, Trust.SHARES_APART, Trust.FIRST_ROUND, Trust.LOCAL_NETWORK, Trust.PAGE_AT_SHUFFLER),
    *(Trust.HOSTS_APART, Trust.ALL_BITS, Trust.NOT_TOGETHER, Trust.PAGE, Trust.ONE_ANSWER, Trust.BLANKET),
}
_TRUST_IN_WORDS = {
    Trust.ALL_SHARES: "nobody but the shuffler has all messages of one person, for whoever has them reads the answer; "
    "and no device lies, for a single one moves the mean by any amount",
    Trust.SHARES_APART: "nobody has all messages of one person, for whoever has them reads the answer, as an operator "
    "does who plays all hosts; and no device lies, for a single one moves the mean by any amount",
    Trust.HOSTS_APART: "no more hosts work with the analyst than the plan counts on, for beyond that nothing is left "
    "of what is promised, and all of them together read each answer, as whoever makes up the messages of all others "
    "reads one person's in the sum",
    Trust.ALL_BITS: "nobody but the shuffler has all messages of one person, for whoever has them counts the ones and "
    "all but reads the answer",
    Trust.NOT_TOGETHER: "the shuffler and the analyst never work together, for then nothing is left: together they "
    "read everybody's answer, as whoever makes up the messages of all others reads one person's in the sum",
    Trust.FIRST_ROUND: "whoever receives a report in the first round tells nobody, though they know whose it is",
    Trust.LOCAL_NETWORK: "whoever can change what the local network carries, such as the owner of the router, leaves "
    "the page as it is; and whoever is on the network tells nobody which randomized answer came from which phone",
    Trust.PAGE_AT_SHUFFLER: "the shuffler, which serves the page too, serves this one and no other: by another one, "
    "which sends answers as they are, it could read them alone",
    Trust.PAGE: "whoever serves the page serves this one and no other, which could send answers as they are",
    Trust.BLANKET: "other people's devices really send the messages that hide one's own, all but the fake senders "
    "counted, and nobody can tell which messages are of one person: without them an answer is hardly hidden",
    Trust.OWN_DEVICE: "each person's own device randomizes the answer as stated, with good randomness",
    Trust.SHUFFLER: "the shuffler shuffles as stated and keeps no record of who sent what",
    Trust.RELAY_APART: "the relay tells nobody who sent what: without it, even a shuffler that keeps records cannot "
    "name senders",
    Trust.ISSUER: "those who are invited are real people, none of them the analyst, and the issuer gives one token to "
    "each of them and to nobody else, but for the fake senders that are counted",
    Trust.READY_MADE_TOKENS: "the issuer made each person's token, would know it again, and tells nobody whose it is",
    Trust.ISSUER_AT_SHUFFLER: "the shuffler, which gives the tokens too, tells nobody which report came by which "
    "invitation",
    Trust.NO_COLLUSION: "the analyst does not work together with the shuffler",
    Trust.ENOUGH_HOSTS: "the hosts of the shuffles, but for as many as are counted as colluding, shuffle as stated, "
    "keep no record of who sent what, and work neither with each other nor with the analyst",
    Trust.RELAYS: "whoever passes reports on does so as agreed, in every round, and tells nobody what came from whom",
    Trust.HONEST_RELAYS: "everybody but the colluding people counted really randomized, is online in every round, "
    "passes reports on as agreed and tells nobody what came from whom; and those people, too, pass on all they get",
    Trust.LAYERS: "whoever passes a report on takes a layer of encryption off that nobody else can, refuses what came "
    "before, and sends all of a round at once, in one size and in an order of chance",
    Trust.UNOBSERVED: "nobody watches who sends messages to whom",
    Trust.HONEST_USERS: "everybody counted in the batch really randomized; colluding people must be subtracted",
    Trust.EVERYBODY: "everybody counted really randomized, is online in every round, and works with nobody",
    Trust.EVERYBODY_COUNTED: "everybody counted really randomized, and works with nobody, online or not",
    Trust.ONE_ANSWER: "nobody sends more reports than one, but for the fake senders that are counted: no one checks it",
    Trust.TIME_OF_ANSWER: "when somebody answers, and so in which batch, does not depend on the answer",
    Trust.OPERATOR: "whoever ran the steps of several parties in one place saw the raw answers or, where devices "
    "randomized them, could see who sent which report, and keeps that to themselves",
}

_TRUSTED = {
    Trust.ALL_SHARES: "messages only at the shuffler",
    Trust.SHARES_APART: "messages of a person never in one place",
    Trust.HOSTS_APART: "no more hosts together than planned",
    Trust.ALL_BITS: "bits only at the shuffler",
    Trust.NOT_TOGETHER: "shuffler and analyst apart",
    Trust.FIRST_ROUND: "first receivers",
    Trust.LOCAL_NETWORK: "everybody on the local network",
    Trust.PAGE_AT_SHUFFLER: "shuffler (also of the page)",
    Trust.PAGE: "whoever serves the page",
    Trust.BLANKET: "other people's messages",
    Trust.OWN_DEVICE: "devices",
    Trust.SHUFFLER: "shuffler",
    Trust.RELAY_APART: "relay apart",
    Trust.ISSUER: "issuer and whoever invites",
    Trust.READY_MADE_TOKENS: "issuer, who can name people",
    Trust.ISSUER_AT_SHUFFLER: "shuffler (also of tokens)",
    Trust.ENOUGH_HOSTS: "enough of the hosts",
    Trust.NO_COLLUSION: "no collusion",
    Trust.RELAYS: "everybody on the way",
    Trust.HONEST_RELAYS: "all but the colluders counted",
    Trust.LAYERS: "layers of encryption",
    Trust.UNOBSERVED: "no observer",
    Trust.HONEST_USERS: "everybody counted",
    Trust.EVERYBODY: "everybody counted in every round",
    Trust.ONE_ANSWER: "one report each",
    Trust.EVERYBODY_COUNTED: "everybody counted",
    Trust.TIME_OF_ANSWER: "the time of an answer",
    Trust.OPERATOR: "operator",
}


def trust_in_hosts(trust: tuple[Trust, ...]) -> tuple[Trust, ...]:
    """Trust assumptions, with enough hosts in the shuffler's place if shares must be kept apart."""
    if Trust.SHARES_APART not in trust:
        return trust
    others = (each for each in trust if each not in (Trust.SHUFFLER, Trust.NO_COLLUSION))
    return (*others, Trust.ENOUGH_HOSTS)


@dataclass(frozen=True, slots=True)
class Party(Described):
    """Party by name, the "shuffler" or the "analyst", with an identification such as an address."""

    role: str
    name: str


class Withdrawal(StrEnum):
    """Reason why a statement promises nothing any more."""

    SEEDED = "seeded"

    @property
    def text(self) -> str:
        """Reason for the withdrawal in words."""
        return _WITHDRAWAL_IN_WORDS[self]


_WITHDRAWAL_IN_WORDS = {Withdrawal.SEEDED: "the randomness came from a seed, and anyone who knows the seed can undo it"}


ASSUMED = "assumed"
FAKE_SENDERS = "fake-senders"  # the hypothesis that no more than a given number of them are


@dataclass(frozen=True, slots=True)
class Hypothesis(Described):
    """Evaluated hypothesis of a theorem: "small-epsilon0" requires "epsilon0 <= 1.41", and has "epsilon0=2"."""

    name: str
    requirement: str
    value: str
    holds: bool

    @property
    def is_assumed(self) -> bool:
        """Whether the hypothesis is an assumption about the world, which no computation can check."""
        return self.value == ASSUMED

    @property
    def text(self) -> str:
        """Requirement of the hypothesis, with the value that meets or fails this requirement."""
        if self.holds:
            return f"{self.requirement}: {self.value}"
        return f"needs {self.requirement}; got {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis(Described):
    """Basis of a statement: theorem, source, evaluated hypotheses, and the version of the code.

    Args:
        theorem: identifier in the registry, such as "fmt23-closed".
        citation: where it is proven, with the theorem's number.
        hypotheses: all hypotheses, each with its value; a statement that promises has none that fails.
        status: published, or proven in this project.
        library_version: the version that made the statement.
    """

    theorem: str
    citation: str
    hypotheses: tuple[Hypothesis, ...] = ()
    status: Status = Status.PUBLISHED
    library_version: str = __version__
