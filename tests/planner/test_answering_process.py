"""A process that answers, and is ended when an answer takes too long."""

import os
import threading
import time

import pytest

from shuffledp.core.errors import LocalProtocolError
from shuffledp.planner.answering_process import AnsweringProcess


def test_what_takes_too_long_is_broken_off_and_the_next_question_is_answered():
    process = AnsweringProcess(time.sleep, seconds=0.5)
    try:
        assert process.ask(0) is None
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            process.ask(600)
        assert time.monotonic() - start < 60
        assert process.ask(0) is None
    finally:
        process.close()


def test_a_failure_is_told_by_its_type_and_a_dead_process_is_replaced():
    process = AnsweringProcess(os._exit, seconds=60)
    try:
        with pytest.raises(LocalProtocolError, match=r"no answer must fail; .*: TypeError"):
            process.ask("no number")
        with pytest.raises(TimeoutError):
            process.ask(3)
        with pytest.raises(LocalProtocolError):
            process.ask("again")
    finally:
        process.close()


def test_closing_ends_an_answer_that_is_being_worked_out():
    process = AnsweringProcess(time.sleep, seconds=600)
    found = []

    def ask():
        try:
            process.ask(600)
        except TimeoutError:
            found.append("no answer")

    asking = threading.Thread(target=ask)
    asking.start()
    process.close()
    asking.join(60)
    assert found == ["no answer"]
    with pytest.raises(LocalProtocolError, match="before `close`"):
        process.ask(0)
