"""A process that answers, and is ended when an answer takes too long."""

import os
import threading
import time

import pytest

from shuffledp.core.errors import LocalProtocolError
from shuffledp.planner.answering_process import AnsweringProcess


def test_what_takes_too_long_is_broken_off_and_the_next_question_is_answered():
    process = AnsweringProcess(time.sleep)
    try:
        assert process.ask(0, 60) is None
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            process.ask(600, 0.5)
        assert time.monotonic() - start < 60
        assert process.ask(0, 60) is None
    finally:
        process.close()


def test_a_failure_is_told_by_its_type_and_a_dead_process_is_replaced():
    process = AnsweringProcess(os._exit)
    try:
        with pytest.raises(LocalProtocolError, match=r"no answer must fail; .*: TypeError"):
            process.ask("no number", 60)
        with pytest.raises(TimeoutError):
            process.ask(3, 60)
        with pytest.raises(LocalProtocolError):
            process.ask("again", 60)
    finally:
        process.close()


def test_closing_ends_an_answer_that_is_being_worked_out():
    process = AnsweringProcess(time.sleep)
    found = []

    def ask():
        try:
            process.ask(600, 600)
        except TimeoutError:
            found.append("no answer")

    asking = threading.Thread(target=ask)
    asking.start()
    process.close()
    asking.join(60)
    assert found == ["no answer"]
    with pytest.raises(LocalProtocolError, match="before `close`"):
        process.ask(0, 60)


def test_a_process_that_takes_the_place_of_another_warms_up_before_its_time_counts():
    process = AnsweringProcess(_answer, warm_up=_slow_start)
    try:
        assert process.ask(0, 0.4) == "warm"
        with pytest.raises(TimeoutError):
            process.ask(600, 0.01)
        assert process.ask(0, 0.4) == "warm"
    finally:
        process.close()


def _slow_start():
    time.sleep(0.6)
    os.environ["WARM"] = "warm"


def _answer(seconds):
    time.sleep(seconds)
    return os.environ.get("WARM", "cold")
