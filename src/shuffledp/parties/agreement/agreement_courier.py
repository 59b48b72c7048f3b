"""Courier of an agreement: the analyst carries each host's messages to the other hosts.

A courier can keep messages back, and forge none. It keeps nothing: after an interruption it asks again.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx

from shuffledp.core.errors import AgreementError, BatchTooSmallError, MalformedMessageError, RemoteProtocolError
from shuffledp.core.instants import instant
from shuffledp.parties.agreement.agreement_rules import Reason, Refusal, rules_of
from shuffledp.parties.agreement.agreement_steps import WAITED_FOR, AgreementState, Stage, step
from shuffledp.parties.http.pauses import Pauses
from shuffledp.parties.wire.agreement_messages import LONGEST_STANDING, Agreeing, Handed, Kind, Standing, decoded
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.parties.wire.organizer_requests import ORGANIZER_TYPE, OrganizerRequest, RequestKind
from shuffledp.survey import Collection

_STAGES = list(Stage)
_SECONDS = 60.0  # for a whole answer: a lying host could send a byte a minute for ever
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 15.0
_KINDS = (Kind.COMMITMENT, Kind.REVEAL, Kind.AGREEMENT)
_OVER = (Stage.AGREED, Stage.REFUSED)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HostStanding:
    """Standing of a host in an agreement, as reported by the host.

    Args:
        stage: its stage; None if it does not answer.
        waits_for: numbers of the hosts whose next message it lacks.
        refusal: why it will never release, if it says so.
    """

    stage: Stage | None = None
    waits_for: tuple[int, ...] = ()
    refusal: Refusal | None = None


class Courier:
    """Courier between the hosts of one collection.

    Args:
        collection: collection with several hosts.
        key: private key whose request key the collection names.
        client: HTTP client for the hosts.
    """

    def __init__(self, collection: Collection, key: AnalyzerKey, client: httpx.AsyncClient) -> None:
        self._collection, self._key, self._client = collection, key, client
        self._rules, self._held = rules_of(collection), AgreementState(me=None)
        self._ended = set[int]()  # hosts that have nothing more of the collection, and show no message again

    async def carry(
        self,
        *,
        once: bool = False,
        waiting: Callable[[Sequence[HostStanding]], None] = lambda _: None,
        close: bool = False,
    ) -> bool:
        """Carry messages until all hosts have agreed; with ``once``, until no host has a new message.

        Args:
            once: end in place of waiting for hosts that are not there, or still open.
            waiting: called with the standing of each host before each pause.
            close: whether hosts that still take shares are told to close, whenever they can be reached.

        Returns:
            Whether all hosts have agreed.

        Raises:
            AgreementError: if a host has lied, or did not come back in time.
            BatchTooSmallError: if the hosts have every share of too few people.
        """
        pauses, before = Pauses(_FIRST_PAUSE, _LONGEST_PAUSE), list[HostStanding]()
        while True:
            now = await self.round()
            if close:
                await at_once(self._close(host) for host, each in enumerate(now) if each.stage is Stage.OPEN)
            if all(each.stage is Stage.AGREED for each in now):
                return True
            late = self._late(before, now) if self._is_over() else []
            self._refuse(now, late)
            self._require_possible(now)
            if self._is_over():
                missing = f"{', '.join(late)} did not come back" if late else "not all did"
                raise AgreementError(
                    "all hosts must agree before what they have is destroyed; that time is over, and "
                    f"{missing}. Nothing was released."
                )
            if now != before:
                pauses.begin_anew()
                before = now
                continue
            if once:
                return False
            waiting(now)
            await asyncio.sleep(pauses.next())

    async def round(self) -> list[HostStanding]:
        """Standing of each host, after each host received the available messages that it waits for."""
        found = await self._ask_all()
        if all(each.stage in (None, *_OVER) for each in found):
            return found
        await self._collect()
        for host, standing in enumerate(found):
            kind = WAITED_FOR.get(standing.stage or Stage.OPEN, Kind.NONE)
            for other in standing.waits_for:
                message = self._held.messages.get((kind, other))
                if message is not None:
                    found[host] = await self._ask(host, message)
        return found

    async def _close(self, host: int) -> None:
        """Tell a host to close, which it may not hear: then it is told again in the next round."""
        body = CloseRequest.by(self._key, self._collection.id, datetime.now(UTC)).encode()
        url = f"{self._collection.hosts[host].url}{self._collection.path}/close"
        with suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(_SECONDS):
                await self._client.post(url, content=body, headers={"content-type": CLOSE_TYPE})

    async def _ask_all(self) -> list[HostStanding]:
        """Standing of each host; all hosts are asked at once, so that none waits for a slow host."""
        return await at_once(map(self._ask, self._rules.hosts))

    async def _collect(self) -> None:
        """Ask the hosts for unseen messages, kind by kind, up to the first incomplete kind."""
        for kind in _KINDS:
            for host in self._held.lacks(kind, self._rules):
                try:
                    message = await self._shown(host, kind)
                    if message is not None:
                        self._held, _ = await asyncio.to_thread(step, self._held, message, self._rules, None)
                except RemoteProtocolError as error:
                    url = self._collection.hosts[host].url
                    raise RemoteProtocolError(f"{url} must show a message of the agreement; {error}") from None
            if self._held.lacks(kind, self._rules) or self._held.refusal is not None:
                return

    async def _shown(self, host: int, kind: Kind) -> Agreeing | None:
        answer = await self._answer(host, Handed.of(wanted=kind))
        if answer is None or not answer.message:
            return None
        message = decoded(kind, answer.message)
        if message.host != host:
            raise RemoteProtocolError("a host must show its own message; it has shown another's.")
        return message

    async def _ask(self, host: int, message: Agreeing | None = None) -> HostStanding:
        """Standing of a host, after the host received a message if one is given."""
        answer = await self._answer(host, Handed.of(message))
        if answer is None:
            return HostStanding()
        stage = _STAGES[min(answer.stage, len(_STAGES) - 1)]
        named = answer.named if answer.named in self._rules.hosts else None
        known = answer.reason if answer.reason in list(Reason) else Reason.NONE
        refusal = Refusal(Reason(known), named) if stage is Stage.REFUSED else None
        return HostStanding(stage, tuple(each for each in answer.hosts if each in self._rules.hosts), refusal)

    async def _answer(self, host: int, handed: Handed) -> Standing | None:
        """Answer of a host; None if the host does not answer now.

        Raises:
            RemoteProtocolError: if it answers otherwise than the protocol says.
        """
        request = OrganizerRequest.by(
            self._key, RequestKind.AGREE, self._collection.id, datetime.now(UTC), content=handed.encode()
        )
        service = self._collection.hosts[host]
        try:
            async with (
                asyncio.timeout(_SECONDS),
                self._client.stream(
                    "POST",
                    f"{service.url}{self._collection.path}/{RequestKind.AGREE}",
                    content=request.encode(),
                    headers={"content-type": ORGANIZER_TYPE},
                    timeout=_SECONDS,
                ) as answer,
            ):
                content = await _content(answer)
        except (httpx.TransportError, TimeoutError):
            return None
        if answer.status_code == httpx.codes.GONE:  # it has handed everything over, or its operator has ended it
            self._ended.add(host)
            return Standing(_STAGES.index(Stage.AGREED), 0, len(self._rules.keys), b"", b"")
        if answer.is_server_error or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            return None
        if answer.status_code == httpx.codes.OK:
            try:
                return Standing.decode(content)
            except MalformedMessageError:
                pass
        raise RemoteProtocolError(
            f"{service.url} must answer as a host of the collection; it answers with status {answer.status_code}. Is "
            "its collection file the same, and the clock of this machine right to five minutes?"
        )

    def _require_possible(self, standings: Sequence[HostStanding]) -> None:
        """Refuse an agreement that waits for a host which has already ended.

        A host agrees with all other hosts before it hands its batch over.
        """
        waited_for = {host for each in standings if each.stage not in _OVER for host in each.waits_for}
        if ended := sorted(waited_for & self._ended):
            named = ", ".join(self._collection.hosts[host].url for host in ended)
            raise AgreementError(
                f"all hosts must agree before one of them ends; {named} has ended, perhaps by its operator, and others "
                "wait for what it will not say any more. Nothing was released."
            )

    def _is_over(self) -> bool:
        """Whether the time has come at which hosts destroy what they have."""
        return datetime.now(UTC) >= instant(fetch_by=self._collection.fetch_by or self._collection.closes)

    def _late(self, before: Sequence[HostStanding], now: Sequence[HostStanding]) -> list[str]:
        """Addresses of hosts that do not answer, or that others waited for before they destroyed what they had."""
        urls = [each.url for each in self._collection.hosts]
        if away := [url for url, each in zip(urls, now, strict=True) if each.stage is None]:
            return away
        if not any(each.stage in WAITED_FOR for each in before):
            return []
        return [url for url, each in zip(urls, before, strict=True) if each.stage in (None, Stage.OPEN)]

    def _refuse(self, standings: Sequence[HostStanding], late: Sequence[str]) -> None:
        """Raise the error of a failed agreement, from the courier's evidence or else the hosts' reasons."""
        urls = [each.url for each in self._collection.hosts]
        own = self._held.refusal
        if own is not None and own.reason is not Reason.TOO_FEW:
            raise AgreementError(f"{in_words(own, urls)} Nothing was released.")
        for url, each in zip(urls, standings, strict=True):
            in_time = not late or (each.refusal is not None and each.refusal.reason is not Reason.NONE)
            if each.refusal is not None and in_time:
                said = f"{url} releases nothing: {in_words(each.refusal, urls)} Nothing was released."
                few = each.refusal.reason in (Reason.NONE, Reason.TOO_FEW)
                raise BatchTooSmallError(said) if few else AgreementError(said)


async def at_once(several: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Results of coroutines run at the same time, in their order; if one fails, all others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in several]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _content(answer: httpx.Response) -> bytes:
    """Content of an answer, read up to the length of the longest standing.

    A host that lies may never end its answer.
    """
    content = bytearray()
    async for part in answer.aiter_bytes():
        content += part
        if len(content) > LONGEST_STANDING:
            break
    return bytes(content)


def in_words(refusal: Refusal, urls: Sequence[str]) -> str:
    """Text of a refusal, with the addresses of the hosts.

    Example:
        >>> in_words(Refusal(Reason.LIES, 1), ["https://a.example", "https://b.example"])[:33]
        'https://b.example has signed two '
    """
    named = "a host" if refusal.host is None else urls[refusal.host]
    return {
        Reason.NONE: "too few people answered there, or the time to fetch is over.",
        Reason.TOO_FEW: "all hosts must have every share of enough people, whose noise is needed; they have of fewer.",
        Reason.LIES: f"{named} has signed two things that contradict each other, which is a proof that it lies.",
    }[refusal.reason]
