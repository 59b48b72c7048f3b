"""The web page on which people answer a collection, as the collection names it."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from shuffledp.core.described import Described
from shuffledp.survey.addresses import check_address
from shuffledp.survey.section import require_sha256

_USUAL = {"http": 80, "https": 443}  # ports that browsers leave out


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage(Described):
    """The page on which people answer in a browser, with its address and digest.

    The page holds the collection with an empty digest in the place of its own, which no file can hold; the link that
    people are invited by ends in it, so that the browser completes the collection.

    Args:
        url: where it is served: https, or http on the machine itself; http also in a local network, where the
            collection is `local`.
        sha256: of the page, which is one file, in hexadecimal digits; "" as the page itself has it.
    """

    title: ClassVar[str] = "the page"
    url: str
    sha256: str

    def __post_init__(self) -> None:
        check_address(True, url=self.url)
        if self.sha256:
            require_sha256(sha256=self.sha256)

    @staticmethod
    def beside(collection_file: Path) -> Path:
        """Path of the page's file, beside the collection file."""
        return collection_file.with_suffix(".html")

    @property
    def link(self) -> str:
        """The link that invites people to answer."""
        return f"{self.url}#page={self.sha256}"

    @property
    def words(self) -> str:
        """The page in words: its address, and its digest where known."""
        return f"{self.url}, SHA-256 {self.sha256}" if self.sha256 else self.url

    @property
    def origin(self) -> str:
        """Scheme, host and port of the page, as browsers send them to the shuffler (RFC 6454)."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        shown = f"[{ip_address(host).compressed}]" if ":" in host else host
        port = "" if parts.port in (None, _USUAL[parts.scheme]) else f":{parts.port}"
        return f"{parts.scheme}://{shown}{port}"
