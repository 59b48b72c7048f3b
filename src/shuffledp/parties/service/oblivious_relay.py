"""Relay of Oblivious HTTP (RFC 9458): passes sealed requests on to configured gateways, and keeps nothing.

A relay sees who sends and when, and cannot read what. To the gateway each request comes from the relay: it gets the
body alone, and no field of the sender's, such as ``Origin``, ``Referer``, ``User-Agent`` or ``Cookie``. For example::

    listen = "127.0.0.1:8447"

    [targets]
    "/survey" = "https://shuffler.example.org/gateway"
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from shuffledp.core import validate
from shuffledp.core.validate import invalid
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.http_messages import Problem, Refused, application, whole_body
from shuffledp.parties.service.config import ListeningConfig
from shuffledp.parties.service.forwarder import party_client
from shuffledp.parties.service.run_services import endpoint_of, serve_until_asked
from shuffledp.parties.wire.oblivious_http import OHTTP_REQUEST, OHTTP_RESPONSE
from shuffledp.survey.addresses import check_address

_SECONDS = httpx.Timeout(30.0, connect=10.0)
_SECONDS_BETWEEN = 5.0  # for which the readiness of the gateways is repeated
_PROBLEM = "application/problem+json"
_HEARD = {"access-control-allow-origin": "*", "cache-control": "no-store"}  # by pages of any origin: all look alike
_ASKED_BEFORE = {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "content-type",
    "access-control-max-age": "86400",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayConfig(ListeningConfig):
    """Configuration of a relay.

    Args:
        targets: address of a gateway for each path of the relay.
        most_bytes: length limit of a request, and of an answer.
        gateway_certificates: file of trusted certificates of the gateways, in place of the system's.
    """

    targets: Mapping[str, str]
    most_bytes: int = 1 << 20
    gateway_certificates: str | None = None

    def __post_init__(self) -> None:
        super(RelayConfig, self).__post_init__()
        validate.integer_at_least(1, most_bytes=self.most_bytes)
        if not self.targets:
            raise invalid("one or more paths, each with the address of a gateway", targets={})
        for path, url in self.targets.items():
            if not path.startswith("/") or path in ("/healthz", "/readyz") or set(path) & set("?#{} "):
                raise invalid('paths such as "/survey", other than /healthz and /readyz', targets=path)
            if not isinstance(url, str) or urlsplit(url).path in ("", "/"):
                raise invalid("addresses of gateways, such as https://shuffler.example.org/gateway", targets=url)
            check_address(targets=url)


def relay_app(config: RelayConfig, client: httpx.AsyncClient, *, log: EventLog) -> Starlette:
    """Web application of a relay.

    Guarantees:
        1. Requests reach the targets of the configuration, and nothing else.
        2. A gateway gets the body of a request; of the rest it gets nothing that the sender chose.
        3. Nothing of a request is kept or logged; failures are counted by the minute.
    """
    client.headers.clear()  # of the HTTP library, with its name and version

    def passing(url: str) -> Callable[[Request], Response | object]:
        async def answer(request: Request) -> Response:
            if request.method == "OPTIONS":
                return Response(status_code=204, headers=_HEARD | _ASKED_BEFORE)
            try:
                body = await whole_body(
                    request.scope, request.receive, media_type=OHTTP_REQUEST, most=config.most_bytes
                )
                status, kind, content = await _passed_on(client, url, body, config.most_bytes)
            except (httpx.HTTPError, TimeoutError):
                log.later(Happened.DELIVERY_FAILED)
                return _heard(Problem.UNAVAILABLE)
            except Refused as refused:
                return _heard(refused.problem)
            return Response(content, status, _HEARD, media_type=kind)

        return answer

    gateways = _Gateways(client, set(config.targets.values()), log)

    async def ready(_: Request) -> Response:
        return PlainTextResponse("ok\n") if await gateways.are_ready() else Problem.UNAVAILABLE.response()

    routes = [Route(path, passing(url), methods=["POST", "OPTIONS"]) for path, url in config.targets.items()]
    return application([*routes, Route("/readyz", ready)], log=log, tries=())


def _heard(problem: Problem) -> Response:
    """Response that refuses a request, readable by pages of any origin."""
    response = problem.response()
    response.headers.update(_HEARD)
    return response


async def _passed_on(client: httpx.AsyncClient, url: str, body: bytes, most: int) -> tuple[int, str, bytes]:
    """Status, type and body of a gateway's answer; an impossible answer is an `httpx.HTTPError`."""
    content = bytearray()
    async with (
        asyncio.timeout(_SECONDS.read),
        client.stream("POST", url, content=body, headers={"content-type": OHTTP_REQUEST}, timeout=_SECONDS) as answer,
    ):
        kind = answer.headers.get("content-type", "")
        if kind != (OHTTP_RESPONSE if answer.status_code == httpx.codes.OK else _PROBLEM):
            raise httpx.RemoteProtocolError("a gateway must answer by a sealed response, or a problem; it did not.")
        async for part in answer.aiter_bytes():
            content += part
            if len(content) > most:
                raise httpx.RemoteProtocolError("a gateway must answer within the limit; it did not.")
    return answer.status_code, kind, bytes(content)


class _Gateways:
    """Gateways of a relay; their readiness is asked at most once in some seconds."""

    def __init__(self, client: httpx.AsyncClient, urls: set[str], log: EventLog) -> None:
        self._client, self._log = client, log
        self._asked = sorted({f"{url.rpartition('/')[0]}/readyz" for url in urls})
        self._one_at_a_time, self._found, self._until = asyncio.Lock(), False, -1.0

    async def are_ready(self) -> bool:
        """Whether all gateways answered well, now or some seconds ago."""
        async with self._one_at_a_time:
            if time.monotonic() >= self._until:
                self._found = all(await asyncio.gather(*(self._is_ready(url) for url in self._asked)))
                self._until = time.monotonic() + _SECONDS_BETWEEN
        return self._found

    async def _is_ready(self, url: str) -> bool:
        try:
            answer = await self._client.get(url, timeout=_SECONDS_BETWEEN)
        except httpx.HTTPError:
            self._log.at_first(Happened.DELIVERY_FAILED)
            return False
        return answer.status_code == httpx.codes.OK


async def run_oblivious_relay(config: RelayConfig, *, log: EventLog, ready: Callable[[str], None]) -> None:
    """Run a relay until the process is asked to end.

    Raises:
        InvalidParameterError: if its certificates cannot be read, or its address is in use.
    """
    async with party_client(config.gateway_certificates, name="gateway_certificates") as client:
        await serve_until_asked([endpoint_of(config, relay_app(config, client, log=log))], (), log, ready)
