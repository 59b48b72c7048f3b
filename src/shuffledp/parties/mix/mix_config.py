"""Configuration of a mix host: one TOML file; all else is in the folder of the mix's state.

For example::

    listen = "127.0.0.1:8443"
    state = "/var/lib/shuffledp-mix"
    url = "https://mix.example.org"

    [policy]
    people = 500
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid, one_line
from shuffledp.files.key_files import read_public
from shuffledp.parties.service.config import ServiceConfig, check_own
from shuffledp.parties.wire.keys import from_text
from shuffledp.parties.wire.mix_terms import PAGES, REGISTER, MixPolicy
from shuffledp.survey.addresses import LOCAL, check_address, host_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MixConfig(ServiceConfig):
    """Configuration of a mix host.

    Args:
        url: address by which everybody reaches it, https or on this machine alone, without a path.
        register: who may register collections: whoever has one of the "codes" that the operator hands out, one of the
            "keys" that it lists, or "anybody".
        registrants: files of the listed public keys, as `shuffledp keys new --role analyzer` writes them.
        policy: limits of each registrant.
        pages: "path", where all answering pages share the mix's address; or "origin", where each has a host name of
            its own below the mix's, for which the name server and the certificate must hold ``*.``.
        tokens: whether the mix issues tokens for collections by invitation.
        contact: how people reach the operator, on the mix's page.
        metrics: host and port of the counts, on this machine alone; None serves none.
    """

    title: ClassVar[str] = "the configuration"
    url: str
    register: str = "codes"
    registrants: tuple[str, ...] = ()
    policy: MixPolicy = field(default_factory=MixPolicy)
    pages: str = "path"
    tokens: bool = True
    contact: str | None = None
    metrics: str | None = None

    def __post_init__(self) -> None:
        super(MixConfig, self).__post_init__()
        check_address(url=self.url)
        if urlsplit(self.url).path:
            raise invalid("an address without a path", url=self.url)
        validate.one_of(REGISTER, register=self.register)
        validate.one_of(PAGES, pages=self.pages)
        host = host_of(self.url)
        if self.pages == "origin" and (host == LOCAL or ":" in host or host.rpartition(".")[2].isdigit()):
            raise invalid("path where the mix has no name below which each page can have one", pages=self.pages)
        if bool(self.registrants) != (self.register == "keys"):
            raise invalid("given for register = 'keys', and for no other", registrants=list(self.registrants))
        if self.contact is not None:
            one_line(contact=self.contact)
        check_own(self.metrics)

    def read_registrants(self) -> frozenset[bytes]:
        """Request keys of the listed registrants.

        Raises:
            InvalidParameterError: if a file holds no public key that signs requests.
        """
        return frozenset(_request_key(Path(file)) for file in self.registrants)


def _request_key(file: Path) -> bytes:
    found = read_public(file).request_key
    if found is None:
        raise InvalidParameterError(
            f"registrants must be public keys with a request_key, as `shuffledp keys new --role analyzer` writes them; "
            f"{file} has none."
        )
    return from_text(found, name="request_key")
