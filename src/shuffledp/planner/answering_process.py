"""Process that answers questions in turn, and is killed when an answer takes too long."""

import multiprocessing
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from shuffledp.core.errors import LocalProtocolError

_LONGEST_START = 60.0  # seconds enough for a process to import its code, on any machine


class AnsweringProcess:
    """Separate process for answers, so that slow answers can be stopped; any thread may ask.

    Args:
        answer: function from a question to its answer, importable by its name.
        warm_up: function that a process calls before its first answer, also importable; None for no call.
    """

    def __init__(self, answer: Callable[[Any], Any], *, warm_up: Callable[[], None] | None = None) -> None:
        self._answer, self._warm_up = answer, warm_up
        self._one_at_a_time, self._ready, self._closed = threading.Lock(), False, False
        self._start()

    def ask(self, question: Any, seconds: float) -> Any:
        """Answer to a question, after all earlier questions.

        Args:
            question: argument of the function.
            seconds: longest time for the answer; the start and warm-up of a process do not count.

        Raises:
            TimeoutError: if the answer is late, or the process ended; the next question gets a new process.
            LocalProtocolError: if the answer failed, with the type of the error; or after `close`.
        """
        with self._one_at_a_time:
            if self._closed:
                raise LocalProtocolError("questions must come before `close`; got one after it.")
            try:
                if not self._ready:
                    self._ready = self._receive(_LONGEST_START)
                self._connection.send(question)
                failure, found = self._receive(seconds)
            except (EOFError, OSError):
                self._end()
                if not self._closed:
                    self._start()
                raise TimeoutError from None
        if failure:
            raise LocalProtocolError(f"no answer must fail; this is a bug, please report it: {failure}.")
        return found

    def close(self) -> None:
        """Kill the process; waiting questions get no answer."""
        self._closed = True
        self._end()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_answer_all, args=(self._answer, self._warm_up, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._ready = False

    def _receive(self, seconds: float) -> Any:
        if not self._connection.poll(seconds):
            raise TimeoutError
        return self._connection.recv()

    def _end(self) -> None:
        self._process.kill()
        self._process.join()


def _answer_all(answer: Callable[[Any], Any], warm_up: Callable[[], None] | None, connection: Connection) -> None:
    """Loop of the process: warm up, report readiness, and answer until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends it
    if warm_up is not None:
        warm_up()
    connection.send(True)
    while True:
        try:
            question = connection.recv()
        except EOFError:
            return
        found: tuple[str | None, Any]
        try:
            found = None, answer(question)
        except Exception as error:
            found = type(error).__name__, None
        connection.send(found)
