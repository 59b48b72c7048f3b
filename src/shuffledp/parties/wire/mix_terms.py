"""Terms of a mix host, which it publishes: its keys, allowed registrants, and size limits of collections."""

from base64 import b32encode
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from shuffledp._version import __version__
from shuffledp.core import validate
from shuffledp.core.described import Described, without_none
from shuffledp.core.validate import invalid, one_line
from shuffledp.parties.wire.keys import Role, from_text
from shuffledp.parties.wire.published_keys import PublishedKey

MIX_TYPE = "application/json"
REGISTER = ("codes", "keys", "anybody")
PAGES = ("path", "origin")
COLLECTION_PAGES = "/c/"  # path of the answering pages, where all share one origin
MOST_TIMES_ABSENT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MixPolicy(Described):
    """Limits of one registrant at a mix host.

    Args:
        people: most answers that one collection takes.
        bytes: most bytes of all waiting answers of one collection.
        days: longest time from a registration to the close, and from the close to the day until which batches wait.
        collections: most collections of a registrant at a time.
        result_days: days for which a result is shown after the last day of fetching.
    """

    title: ClassVar[str] = "[policy]"
    people: int = 1000
    bytes: int = 1 << 24
    days: int = 31
    collections: int = 10
    result_days: int = 90

    def __post_init__(self) -> None:
        for name in ("people", "bytes", "days", "collections"):
            validate.integer_at_least(1, **{name: getattr(self, name)})
        validate.integer_at_least(0, result_days=self.result_days)

    @property
    def kept(self) -> int:
        """Greatest number of a registrant's collections on the disk: ten times the number that may be open."""
        return 10 * self.collections


@dataclass(frozen=True, slots=True, kw_only=True)
class MixTerms(Described):
    """Terms of a mix host, public at ``/mix``.

    Args:
        url: its address, which collections name as their shuffler's.
        shuffler: its key that signs batches.
        gateway: its key for relayed requests.
        register: who may register a collection: "codes", "keys" or "anybody".
        policy: limits of a registrant.
        pages: whether all answering pages share the mix's address ("path"), or each has a host name of its own
            ("origin").
        tokens: whether the mix also issues tokens by invitation.
        contact: how to reach its operator; None if nobody says.
        version: version of its software, which must make the same pages as the organizer's.
    """

    title: ClassVar[str] = "the terms of a mix"
    url: str
    shuffler: PublishedKey
    gateway: PublishedKey
    register: str
    policy: MixPolicy
    pages: str
    tokens: bool
    contact: str | None = None
    version: str = __version__

    def __post_init__(self) -> None:
        validate.one_of(REGISTER, register=self.register)
        validate.one_of(PAGES, pages=self.pages)
        for role, key in ((Role.SHUFFLER, self.shuffler), (Role.GATEWAY, self.gateway)):
            if key.role is not role:
                raise invalid(f"the {role}'s", **{f"{role}_key": f"the {key.role}'s"})
        one_line(version=self.version, contact=self.contact or "-")

    def to_dict(self) -> dict[str, Any]:
        """Fields of the JSON file; ``contact`` is left out if there is none."""
        return without_none(super(MixTerms, self).to_dict(), "contact")

    def page_url(self, nonce: str) -> str:
        """Address at which the mix serves the page of the collection with this nonce."""
        place = place_of(nonce)
        if self.pages == "path":
            return f"{self.url}{COLLECTION_PAGES}{place}"
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{place}.{parts.netloc}"


def place_of(nonce: str) -> str:
    """Name of a collection's page, fit for a host name: its nonce in base32.

    Example:
        >>> place_of("AAAAAAAAAAAAAAAAAAAAAA")
        'aaaaaaaaaaaaaaaaaaaaaaaaaa'
    """
    return b32encode(from_text(nonce, name="nonce")).decode().rstrip("=").lower()
