"""Roles of parties in a kit: program, address, keys and configuration of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid
from shuffledp.survey.addresses import check_address
from shuffledp.survey.parties import on_one_host

MAINS = ("shuffler", "mix", "post-office")  # of which a kit has one: it takes reports in
SECOND_RELAY = "second-relay"  # folder of another relay, for where the first does not answer
BESIDE_MIX = (
    "relay",
    SECOND_RELAY,
    "page",
)  # a mix gives tokens itself, and an analyst of it needs no folder but the survey's
COLLECTION = "survey.collection"
PAGE = "survey.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """Role of a party in a kit.

    Args:
        name: of the role, as in the names of its files.
        work: what it is and does, in a line.
        runs: the command after ``shuffledp``; empty for a host of files.
        guide: page of the documentation.
        port: port on loopback, where a proxy finds the service.
        keys: roles of its keys, each in a file ``ROLE.key``.
        has_collection: whether its folder needs the collection file.
    """

    name: str
    work: str
    runs: str
    guide: str
    port: int
    keys: tuple[str, ...] = ()
    has_collection: bool = True

    @property
    def unit(self) -> str:
        """Name of the systemd unit of the role's service."""
        return f"shuffledp-{self.name}.service"

    def credential(self, key: str) -> str:
        """Path at which systemd makes a key available to the service."""
        return f"/run/credentials/{self.unit}/{key}.key"


ROLES: Mapping[str, Role] = {
    role.name: role
    for role in (
        Role(
            name="shuffler",
            work="The shuffler of collections: takes in encrypted reports, mixes them, hands them on, and forgets.",
            runs="serve shuffler",
            guide="shuffler",
            port=8443,
            keys=("shuffler",),
        ),
        Role(
            name="analyzer",
            work="The analyzer of collections: opens batches of reports, estimates, and writes the releases.",
            runs="serve analyzer",
            guide="analyzer",
            port=8444,
            keys=("analyzer",),
        ),
        Role(
            name="issuer",
            work="The issuer of tokens: signs one for each invitation, and does not see it.",
            runs="serve issuer",
            guide="issuer",
            port=8445,
            keys=("issuer",),
        ),
        Role(
            name="mix",
            work="A mix: shuffles for collections that others register. It makes its keys in the folder of its state.",
            runs="serve mix",
            guide="mix",
            port=8446,
            has_collection=False,
        ),
        Role(
            name="relay",
            work="The relay of a collection: passes on what it cannot read; the shuffler does not see who sends.",
            runs="serve relay",
            guide="relay-host",
            port=8447,
            has_collection=False,
        ),
        Role(
            name="post-office",
            work="The post office of a relay of members: takes their letters, and hands them out.",
            runs="relay serve",
            guide="post-office",
            port=8448,
        ),
        Role(
            name="page",
            work="The host of the page on which people answer.",
            runs="",
            guide="kit",
            port=0,
            has_collection=False,
        ),
    )
}


def role_of(name: str) -> Role:
    """Role of the party with a folder of this name."""
    return ROLES["relay" if name == SECOND_RELAY else name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parties:
    """Host names of a kit's parties by role, and of a second relay.

    An analyzer may have no host, and then fetches.

    Raises:
        InvalidParameterError: for an unknown role, no shuffler, a name that is no host, two parties on one host, a
            second relay alone, a post office without the analyzer's host, or others beside a mix than its relays and
            whoever serves pages.
    """

    hosts: Mapping[str, str]

    def __post_init__(self) -> None:
        for role, host in self.hosts.items():
            if role not in ROLES and role != SECOND_RELAY:
                raise invalid(f"one of {', '.join(ROLES)}", role=role)
            if not host and role == "analyzer":
                continue
            if "." not in host or "/" in host or ":" in host or host.rpartition(".")[2].isdigit():
                raise invalid("a host name with a dot, such as survey.example.org", **{role: host})
            check_address(**{role: f"https://{host}"})
        if not any(role in self.hosts for role in MAINS):
            raise InvalidParameterError(
                "a kit must have a shuffler, or a mix or a post office in its place; it has none of them."
            )
        if SECOND_RELAY in self.hosts and "relay" not in self.hosts:
            raise invalid("the second beside another", **{SECOND_RELAY: self.hosts[SECOND_RELAY]})
        if "post-office" in self.hosts and not self.hosts.get("analyzer"):
            raise InvalidParameterError(
                "a kit with a post office must have a host of the analyzer, whose address its collections name."
            )
        if "mix" in self.hosts and (others := set(self.hosts) - {"mix", *BESIDE_MIX}):
            raise InvalidParameterError(
                f"a kit with a mix must have no party besides but relays and page; got {' and '.join(sorted(others))}."
            )
        if shared := on_one_host({role: f"https://{host}" for role, host in self.hosts.items() if host}):
            raise InvalidParameterError(
                "parties must each have a host of their own, or they are one operator; "
                f"{' and '.join(shared)} share one."
            )

    @property
    def main(self) -> str:
        """Role of the party that takes reports in."""
        return next(role for role in MAINS if role in self.hosts)

    @property
    def relays(self) -> tuple[str, ...]:
        """Addresses of the relays, beginning with the first relay."""
        return tuple(f"{self.url(name)}/survey" for name in ("relay", SECOND_RELAY) if name in self.hosts)

    def seen_by(self, name: str) -> "Parties":
        """Parties as shown in the folder of one party; a second relay's folder shows no other relay."""
        if name != SECOND_RELAY:
            return self
        others = {role: host for role, host in self.hosts.items() if role != SECOND_RELAY}
        return Parties(hosts=others | {"relay": self.hosts[SECOND_RELAY]})

    def url(self, role: str) -> str:
        """Address of a party."""
        return f"https://{self.hosts[role]}"

    def keys(self, role: Role) -> tuple[str, ...]:
        """Roles of the keys that a party has; behind a relay, the shuffler also has a gateway key."""
        return (*role.keys, "gateway") if role.name == "shuffler" and "relay" in self.hosts else role.keys

    def config(self, role: Role) -> str:
        """Configuration of a party's service in TOML; empty for a party that runs no service."""
        if not role.runs or not self.hosts[role.name]:
            return ""
        listen = f'listen = "127.0.0.1:{role.port}"    # behind a proxy that speaks TLS\n'
        if role.name == "relay":
            return f'{listen}\n[targets]\n"/survey" = "{self.url(self.main)}/gateway"\n'
        if role.name == "mix":
            state = f'state = "/var/lib/shuffledp-{role.name}"\nurl = "{self.url(role.name)}"\n'
            return f'{listen}{state}metrics = "127.0.0.1:9101"   # for this machine alone\n\n[policy]\npeople = 500\n'
        keys = [role.credential(key) for key in self.keys(role)]
        lines = {
            "shuffler": [
                'metrics = "127.0.0.1:9101"   # for this machine alone',
                *(f'key = "{key}"' for key in keys[:1]),
            ]
            + [f'gateway_keys = ["{key}"]' for key in keys[1:]],
            "analyzer": [f'keys = ["{key}"]' for key in keys] + ['releases = "/var/lib/shuffledp-analyzer/releases"'],
            "issuer": [f'keys = ["{key}"]' for key in keys] + ['invited = ["invited.json"]'],
            "post-office": ['directories = ["members.directory"]', "patience = 60.0"],
        }[role.name]
        common = [f'state = "/var/lib/shuffledp-{role.name}"', f'collections = ["{COLLECTION}"]']
        return listen + "\n".join([*common, *lines, ""])
