"""Client of a post office: sends and fetches letters over one connection, one request at a time.

The standard library's client needs no event loop: a machine with a thousand member processes has room
for little more than their data.
"""

import http.client
import ssl
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError, UnreachableError
from shuffledp.parties.http.certificates import trusted
from shuffledp.parties.relay.attendance import is_in
from shuffledp.parties.relay.mailboxes import PostedLetters
from shuffledp.parties.relay.post_office import LONGEST_ANSWER, signed_letters
from shuffledp.parties.relay.post_office_app import LETTERS_TYPE, NOT_YET
from shuffledp.parties.relay.rounds import Letters
from shuffledp.parties.relay.terms import RECIPIENTS, RelayTerms
from shuffledp.parties.service.client import TRY_AGAIN, attempts, reason_of
from shuffledp.parties.wire.keys import in_text


class Connection(Protocol):
    """Connection to a service, which answers requests one at a time."""

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and content of the answer to a request.

        Raises:
            OSError: if no answer comes.
        """


class HttpConnection:
    """`Connection` to one service and no other address, kept open, and reopened after a break.

    Args:
        url: address of the service.
        certificates: file of trusted certificates, in place of the usual ones.
    """

    def __init__(self, url: str, *, certificates: Path | None = None) -> None:
        at = urlsplit(url)
        self._path = at.path
        self._http: http.client.HTTPConnection
        if at.scheme == "https":
            named = trusted(certificates, name="--ca")
            context = named if isinstance(named, ssl.SSLContext) else httpx.create_ssl_context(trust_env=False)
            self._http = http.client.HTTPSConnection(at.netloc, timeout=LONGEST_ANSWER, context=context)
        else:
            self._http = http.client.HTTPConnection(at.netloc, timeout=LONGEST_ANSWER)

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and content of the answer, as in `Connection.answer`."""
        headers = {"User-Agent": "shuffledp"} | ({"Content-Type": LETTERS_TYPE} if body else {})
        try:
            self._http.request(method, f"{self._path}/{path}", body or None, headers)
            found = self._http.getresponse()
            return found.status, found.read()
        except http.client.HTTPException as error:
            self._http.close()
            raise ConnectionError(str(error)) from None
        except OSError:
            self._http.close()
            raise

    def close(self) -> None:
        """Close the connection to the service."""
        self._http.close()


class PostOfficeClient:
    """Client of members at a post office; each request is repeated until an answer comes.

    Args:
        terms: terms of the relay.
        connection: connection to the post office; a separate one for every thread.
        sign: signature of a message by the member at a place in the directory; None
            for a client that posts no letters.
        patience: seconds for which requests without an answer are repeated.
        patience_of_stage: longest duration of a stage in seconds.
    """

    def __init__(
        self,
        terms: RelayTerms,
        connection: Connection,
        sign: Callable[[int, bytes], bytes] | None,
        *,
        patience: float,
        patience_of_stage: float = float("inf"),
    ) -> None:
        self._terms, self._connection, self._sign = terms, connection, sign
        self._patience, self._of_stage = patience, patience_of_stage
        self._stages = f"collections/{in_text(terms.collection_id)}/stages"

    def post(self, stage: int, person: int, letters: Letters) -> None:
        """Post letters as `shuffledp.parties.relay.member.Transport.post` demands."""
        sign = self._sign
        if sign is None:
            raise LocalProtocolError("letters must be sent by a member, whose key signs them; there is none.")
        body = signed_letters(self._terms, lambda said: sign(person, said), PostedLetters(stage, person, letters))
        self._answer_to("POST", f"{stage}/letters/{person}", body, also=HTTPStatus.GONE)

    def record(self, stage: int) -> bytes:
        """Attendance of a stage, as in `shuffledp.parties.relay.member.Transport.record`."""
        return self._ended(stage, f"{stage}/record")

    def fetch(self, stage: int, recipient: int) -> tuple[bytes, Letters]:
        """Attendance and mail of a stage from one answer, as in `shuffledp.parties.relay.member.Transport.fetch`."""
        found = self._ended(stage, f"{stage}/mail/{RECIPIENTS.get(recipient, recipient)}")
        size = -(-self._terms.num_users // 8)
        return found[:size], self._split(stage, recipient, found[:size], found[size:])

    def _ended(self, stage: int, path: str) -> bytes:
        """Answer to a request that waits for the end of a stage."""
        until = time.monotonic() + self._of_stage
        while True:
            status, content = self._answer_to("GET", path, also=NOT_YET)
            if status != NOT_YET:
                return content
            if time.monotonic() > until:
                raise RemoteProtocolError(
                    f"stage {stage} of {self._terms.hand_in_stage} must end in patience={self._of_stage:g} seconds: "
                    "letters of others are still waited for. Start again to wait on."
                )

    def _split(self, stage: int, recipient: int, record: bytes, mail: bytes) -> Letters:
        """Letters by sender, cut from the joined mail; only present members have a letter."""
        whole = len(record) * 8 >= self._terms.num_users
        several = self._terms.senders(recipient, stage) if whole else ()
        senders = [each for each in several if is_in(record, each)]
        length = self._terms.letters(senders[0], stage)[recipient] if senders else 0
        if len(mail) != length * len(senders):
            raise RemoteProtocolError(
                f"the post office must hand out {len(senders)} letters of {length} bytes in stage {stage}; got "
                f"{len(mail)} bytes."
            )
        return {each: mail[place * length : (place + 1) * length] for place, each in enumerate(senders)}

    def _answer_to(self, method: str, path: str, body: bytes = b"", *, also: int) -> tuple[int, bytes]:
        """Status and content of the answer to a request, repeated with growing pauses until an answer comes.

        Raises:
            UnreachableError: if no answer comes in time.
            RemoteProtocolError: if a refusal comes, whose reason the error names.
        """
        failed: type[RemoteProtocolError] = UnreachableError
        reason = ""
        for _ in attempts(self._patience):
            reason = "no answer"
            try:
                status, content = self._connection.answer(method, f"{self._stages}/{path}", body)
                if status in (HTTPStatus.OK, also):
                    return status, content
                reason = reason_of(httpx.Response(status, content=content))
                if status not in TRY_AGAIN:
                    failed = RemoteProtocolError
                    break
            except ssl.SSLCertVerificationError:
                reason, failed = "its certificate is not trusted here", RemoteProtocolError
                break
            except OSError:
                continue
        raise failed(
            f"the post office, {self._terms.collection.shuffler.url}, must answer; got: {reason}. What is held is "
            "kept: start again to go on."
        )
