"""Options of a new collection: its parties, its dates, and the way from devices to the shuffler."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.options import whole
from shuffledp.cli.send_command import Certificates, read_analyst_keys
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.parties.organizer.registration import Mixes
    from shuffledp.parties.wire.published_keys import PublishedKey
    from shuffledp.survey import Service


class TransportName(StrEnum):
    """Transport of reports from devices to the shuffler, by its name on the command line."""

    DIRECT = "direct"
    TOKEN = "token"  # noqa: S105  the name of a transport
    OBLIVIOUS = "oblivious"


Transport = Annotated[
    TransportName,
    typer.Option(
        help="token: each invited person answers once, by a token of the issuer. oblivious: through a relay, so that "
        "the shuffler does not see who sends; also with an issuer."
    ),
]
Relay = Annotated[
    list[str] | None,
    typer.Option(metavar="URL", help="Where reports are sent to instead; it passes them on. Twice: either will do."),
]
GatewayKeyFile = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, help="The shuffler's public key file for a relay.")
]
Issuer = Annotated[str | None, typer.Option(metavar="URL", help="Who gives a token to each invited person.")]
IssuerKeyFile = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, help="The issuer's public key file.")
]
Name = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of this party, as you claim it; its address is always shown too."),
]
ReadyMade = Annotated[
    bool, typer.Option("--ready-made", help="The issuer makes the tokens, and can then tell whose is which.")
]
Every = Annotated[int | None, whole("Send a batch on whenever there are so many reports, and not only at the close.")]
DirectoryFile = Annotated[
    Path | None, typer.Option(metavar="DIRECTORY", readable=False, help="Of a walk: the members, who pass reports on.")
]
Web = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Write the page, too, on which people answer; where it will be, or `mix`: the mix serves it.",
    ),
]
Result = Annotated[str | None, typer.Option(metavar="URL", help="Where the release will be, for those who answer.")]
Analyzer = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where the shuffler sends what it has mixed; left out, the analyst fetches it."),
]
FetchWithin = Annotated[
    int | None,
    whole("Without --analyzer: days after the close until batches that nobody fetched are destroyed; 30 if left out."),
]
ForShow = Annotated[
    bool, typer.Option("--demonstration", help="For show: answers may be made up, and all that comes of it says so.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameOptions:
    """Options of the names of parties, in the order of `PartyNames`."""

    shuffler_name: Name = None
    analyzer_name: Name = None
    relay_name: Name = None
    issuer_name: Name = None
    page_name: Name = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageOptions:
    """Options of the way from devices to the shuffler: a relay, tokens of an issuer, or neither."""

    transport: Transport = TransportName.DIRECT
    relay: Relay = None
    gateway_key: GatewayKeyFile = None
    issuer: Issuer = None
    issuer_key: IssuerKeyFile = None
    ready_made: ReadyMade = False

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of a new collection that these options set."""
        return {
            "transport": self.transport.value,
            **relays_of(self.relay),
            "gateway": None if self.gateway_key is None else published_key(self.gateway_key),
            "issuer": None
            if self.issuer is None or self.issuer_key is None
            else service_of(self.issuer, self.issuer_key),
            "ready_made": self.ready_made,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MixOptions:
    """Options of the mixes that receive a collection's answers: addresses, codes, key and certificates."""

    mix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="The mix takes the answers in, from people anywhere; several share each to a sum.",
        ),
    ] = None
    code: Annotated[
        list[str] | None,
        typer.Option(help="What the mix's operator gave you, where it asks for a code; of several in their order."),
    ] = None
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="Your own private key, where the mix's operator listed it."),
    ] = None
    ca: Certificates = None

    @contextmanager
    def reached(self) -> "Iterator[Mixes]":
        """Context with a connection to the mixes, which have been asked for their terms."""
        from shuffledp.parties.organizer.mix_client import MixClient
        from shuffledp.parties.organizer.registration import Mixes
        from shuffledp.parties.service.client import new_client
        from shuffledp.survey.addresses import check_address

        mixes, codes = self.mix or [], self.code or []
        if len(codes) > 1 and len(codes) != len(mixes):
            raise InvalidParameterError(f"--code must be given once for each mix, or once; got {len(codes)} codes.")
        for each in mixes:
            check_address(mix=each)
        own = None if self.key is None else read_analyst_keys([self.key])[0]
        shown = codes if len(codes) > 1 else (codes or [""]) * len(mixes)
        with new_client(certificates=self.ca) as client:
            pairs = zip(mixes, shown, strict=True)
            yield Mixes.reached([MixClient(url, client, code=code, key=own) for url, code in pairs])


def relays_of(urls: list[str] | None) -> dict[str, str | None]:
    """Fields of a collection for the relays that were named, two at most."""
    if len(urls or ()) > 2:
        raise InvalidParameterError(f"--relay must be given twice at most; got {len(urls or ())} addresses.")
    return dict(zip(("relay", "second_relay"), [*(urls or ()), None, None], strict=False))


def service_of(url: str, key: Path) -> "Service":
    """A party at an address, with its key from a public file."""
    from shuffledp.survey import Service

    published = published_key(key)
    return Service(url=url, key=replace(published, request_key=None) if url else published)


def published_key(key: Path) -> "PublishedKey":
    """A party's key from its public file."""
    from shuffledp.files.key_files import read_public

    return read_public(key)
