"""Server of the planner's page and questions, on this machine alone: I/O around `shuffledp.planner.answers`.

The address is on the loopback interface and has a random token in it. A request must name this host and come from this
page: so no other page in the same browser, and no foreign host name that points here, can ask anything.
"""

import asyncio
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.planner.answering_process import AnsweringProcess
from shuffledp.planner.answers import answer, refusal, too_late, warm_up

Question = Mapping[str, Any]
Ask = Callable[[Question], Awaitable[Mapping[str, Any]]]

SECONDS = 5.0  # longest time for an answer
LONGER = 4  # times as long for a question asked again after a timeout
_MOST_LATE = 1000  # most late questions that are remembered
MOST_BYTES = 4096  # of a question
MOST_WAITING = 32  # questions for each process
_HOST = "127.0.0.1"
_FILES = {"": "planner.html", "planner.css": "planner.css", "planner.js": "planner.js", "drawing.js": "drawing.js"}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def serve(*, port: int = 0, ready: Callable[[str], None]) -> None:
    """Serve the page until the process is asked to end.

    Args:
        port: port on the loopback interface; 0 takes any free port.
        ready: called once, with the address of the page.

    Raises:
        InvalidParameterError: if the port is not free.
    """
    try:
        if not 0 <= port < 1 << 16:
            raise OSError
        listening = socket.create_server((_HOST, port))
    except OSError:
        raise InvalidParameterError(f"port must be free, and from 0 to 65535; got port={port}.") from None
    token, port = secrets.token_urlsafe(24), listening.getsockname()[1]
    process = AnsweringProcess(answer, warm_up=warm_up)

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            process.close()  # so that waiting requests get a refusal and are not broken off
            await super().shutdown(sockets)

    app = planner_app(asking(process), token=token, port=port)
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=64,
    )
    with listening, closing(process):
        ready(f"http://{_HOST}:{port}/{token}/")
        Server(config).run(sockets=[listening])


def asking(process: AnsweringProcess) -> Ask:
    """Asynchronous function that passes a question to the process, and turns errors into answers.

    A thread of its own waits for the process, so that requests are served meanwhile. A question that took too long has
    more time when it is asked again.
    """
    waiting, thread, late = 0, ThreadPoolExecutor(1), set[str]()

    async def ask(question: Question) -> Mapping[str, Any]:
        nonlocal waiting
        key = json.dumps(question, sort_keys=True)
        seconds = SECONDS * (LONGER if key in late else 1)
        if waiting >= MOST_WAITING:
            return refusal(f"more than {MOST_WAITING} questions wait; ask again when they are answered.")
        waiting += 1
        try:
            answered = asyncio.get_running_loop().run_in_executor(thread, process.ask, question, seconds)
            found: Mapping[str, Any] = await answered
        except TimeoutError:
            if len(late) >= _MOST_LATE:
                late.clear()
            late.add(key)
            return too_late(question, seconds)
        except LocalProtocolError as error:
            return refusal(str(error))
        else:
            return found
        finally:
            waiting -= 1

    return ask


def planner_app(
    ask: Ask,
    *,
    token: str,
    port: int,
) -> Starlette:
    """Web application: the page at ``/TOKEN/`` and its questions at ``/TOKEN/ask``.

    Guarantees:
        1. A request for another host, or from the page of another origin, is refused before it is looked at.
        2. Without the token nothing is found, and nothing tells one wrong address from another.
        3. A question is a JSON object of at most 4 KiB; nothing else is read.
    """

    async def asked(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return PlainTextResponse("Too long", 413)
        try:
            question = json.loads(body)
        except (ValueError, RecursionError):
            question = None
        if not isinstance(question, dict):
            return JSONResponse(refusal("the question must be a JSON object."), 400)
        return JSONResponse(dict(await ask(question)))

    pages = [Route(f"/{token}/{path}", _file(name)) for path, name in _FILES.items()]
    guard = Middleware(_Guard, token=token, hosts=frozenset({f"{_HOST}:{port}", f"localhost:{port}"}))
    routes = [*pages, Route(f"/{token}/ask", asked, methods=["POST"])]
    return Starlette(routes=routes, middleware=[guard])


def _file(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def content(_: Request) -> Response:
        found = files("shuffledp.planner").joinpath("page", name).read_bytes()
        return Response(found, media_type=_TYPES[name.rpartition(".")[2]])

    return content


class _Guard:
    """Middleware that refuses every request except requests from the page itself."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: frozenset[str]) -> None:
        self._app, self._token, self._hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        answering = self._refusal(scope) or self._app
        await answering(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host, token = headers.get("host", ""), scope["path"].split("/")[1]
        if host not in self._hosts:
            return PlainTextResponse("Not this host", 421)
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return PlainTextResponse("Not from there", 403)
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return PlainTextResponse("Not found", 404)
        return None
