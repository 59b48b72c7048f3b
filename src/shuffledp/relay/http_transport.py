"""Letters over HTTP, by way of a post office."""

import asyncio
import secrets
import ssl
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import httpx

from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError
from shuffledp.relay.mailboxes import Posted
from shuffledp.relay.post_office import signed_letters
from shuffledp.relay.post_office_app import LETTERS_TYPE, NAMES, NOT_YET
from shuffledp.relay.recorded import members_in
from shuffledp.relay.rounds import Letters
from shuffledp.relay.terms import RelayTerms
from shuffledp.service.certificates import trusted
from shuffledp.service.client import FIRST_WAIT, LONGEST_WAIT, TRY_AGAIN, reason_of
from shuffledp.wire.keys import in_text

_SECONDS = httpx.Timeout(60.0)


def new_async_client(*, certificates: Path | None = None, connections: int = 2) -> httpx.AsyncClient:
    """A client that goes where it is told and nowhere else; ``certificates`` may name a file of trusted ones."""
    return httpx.AsyncClient(
        verify=usual_certificates() if certificates is None else trusted(certificates, name="--ca"),
        follow_redirects=False,
        timeout=_SECONDS,
        trust_env=False,
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        headers={"User-Agent": "shuffledp"},
    )


@cache
def usual_certificates() -> ssl.SSLContext:
    """The certificates that are trusted if nothing is said, read once: processes that are forked share them."""
    return httpx.create_ssl_context(trust_env=False)


class HttpTransport:
    """`shuffledp.relay.member.Transport` by a post office.

    Members of one process may share one: then each stage is waited for once.

    Args:
        terms: of the relay.
        client: made by `new_async_client`.
        sign: signs what a member sends, by the member's key; by place in the directory where several share it. None
            sends nothing.
        patience: seconds for which a post office that does not answer is asked again.
        patience_of_stage: seconds for which a stage may take.
    """

    def __init__(
        self,
        terms: RelayTerms,
        client: httpx.AsyncClient,
        sign: Callable[[int, bytes], bytes] | None,
        *,
        patience: float,
        patience_of_stage: float = float("inf"),
    ) -> None:
        self._terms, self._client, self._sign = terms, client, sign
        self._patience, self._of_stage = patience, patience_of_stage
        self._url = f"{terms.collection.shuffler.url}/collections/{in_text(terms.collection_id)}/stages"
        self._records: dict[int, asyncio.Task[bytes]] = {}

    async def post(self, stage: int, person: int, letters: Letters) -> None:
        """As `Transport.post`."""
        sign = self._sign
        if sign is None:
            raise LocalProtocolError("letters must be sent by a member, whose key signs them; there is none.")
        body = signed_letters(self._terms, lambda said: sign(person, said), Posted(stage, person, letters))
        await self._asked("POST", f"{stage}/letters/{person}", body, also=httpx.codes.GONE)

    async def record(self, stage: int) -> bytes:
        """As `Transport.record`."""
        waiting = self._records.get(stage)
        if waiting is None or (waiting.done() and (waiting.cancelled() or waiting.exception() is not None)):
            waiting = self._records[stage] = asyncio.create_task(self._record(stage))
        return await asyncio.shield(waiting)

    async def fetch(self, stage: int, recipient: int) -> tuple[bytes, Letters]:
        """As `Transport.fetch`."""
        record = await self.record(stage)
        answer = await self._asked("GET", f"{stage}/mail/{NAMES.get(recipient, recipient)}")
        return record, self._split(stage, recipient, record, answer.content)

    async def _record(self, stage: int) -> bytes:
        until = time.monotonic() + self._of_stage
        while (answer := await self._asked("GET", f"{stage}/record", also=NOT_YET)).status_code == NOT_YET:
            if time.monotonic() > until:
                raise RemoteProtocolError(f"stage {stage} must end in time; it has not. Start again to wait on.")
        return answer.content

    def _split(self, stage: int, recipient: int, record: bytes, mail: bytes) -> Letters:
        """The letters by sender: those of everybody who was there, in their order, all of one length."""
        there = set(members_in(record, self._terms.num_users)) if len(record) * 8 >= self._terms.num_users else set()
        senders = [each for each in self._terms.senders(recipient, stage) if each in there]
        length = self._terms.letters(senders[0], stage)[recipient] if senders else 0
        if len(mail) != length * len(senders):
            raise RemoteProtocolError(
                f"the post office must hand out {len(senders)} letters of {length} bytes in stage {stage}; got "
                f"{len(mail)} bytes."
            )
        return {each: mail[place * length : (place + 1) * length] for place, each in enumerate(senders)}

    async def _asked(self, method: str, path: str, body: bytes = b"", *, also: int = httpx.codes.OK) -> httpx.Response:
        """The answer to a request, asked for again with growing pauses while there is none.

        Raises:
            RemoteProtocolError: if there is none in time, or it is a refusal; with the reason that it gives.
        """
        until, wait = time.monotonic() + self._patience, FIRST_WAIT
        headers = {"Content-Type": LETTERS_TYPE} if body else {}
        while True:
            reason = "no answer"
            try:
                answer = await self._client.request(
                    method, f"{self._url}/{path}", content=body or None, headers=headers
                )
                if answer.status_code in (httpx.codes.OK, also):
                    return answer
                reason = reason_of(answer)
                if answer.status_code not in TRY_AGAIN:
                    break
            except httpx.TransportError as error:
                if "CERTIFICATE" in str(error):
                    reason = "its certificate is not trusted here"
                    break
            if time.monotonic() + wait > until:
                break
            await asyncio.sleep(wait * (0.5 + secrets.randbelow(1000) / 1000))
            wait = min(2 * wait, LONGEST_WAIT)
        raise RemoteProtocolError(
            f"the post office, {self._terms.collection.shuffler.url}, must answer; got: {reason}. What is held is "
            "kept: start again to go on."
        )
