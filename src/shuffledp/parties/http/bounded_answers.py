"""Answers that are read whole within a time and a length: a lying host may send a byte a second, or without end.

The limits of httpx are about each read alone. A request therefore runs in a thread of its own; a thread that still
waits for a lying host ends with the program.
"""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread

import httpx

_SECONDS = 60.0  # for a whole answer
_LEAST_PACE = 16 << 10  # bytes a second at which a slow line sends a request
_LONGEST = 16 << 20  # bytes of an answer


def whole_answer(client: httpx.Client, request: httpx.Request) -> httpx.Response:
    """Status and content of the answer to one request.

    Raises:
        httpx.TransportError: if no whole answer of at most 16 MiB comes within a minute, and the time in which a slow
            line sends the request.
    """
    found: Future[httpx.Response] = Future()
    Thread(target=_settle, args=(found, lambda: _received(client, request)), daemon=True).start()
    try:
        return found.result(_SECONDS + len(request.content) / _LEAST_PACE)
    except TimeoutError:
        raise httpx.ReadTimeout("the answer must end in time.", request=request) from None


def _settle(found: "Future[httpx.Response]", received: Callable[[], httpx.Response]) -> None:
    """Give a future the outcome of a call."""
    try:
        found.set_result(received())
    except BaseException as error:  # raised again where the result is read
        found.set_exception(error)


def _received(client: httpx.Client, request: httpx.Request) -> httpx.Response:
    """Answer with its content, which is read only as far as it may be long."""
    content = bytearray()
    answer = client.send(request, stream=True)
    try:
        for part in answer.iter_bytes():
            content += part
            if len(content) > _LONGEST:
                raise httpx.RemoteProtocolError("the answer must be of 16 MiB or less.", request=request)
    finally:
        answer.close()
    return httpx.Response(answer.status_code, content=bytes(content), request=request)
