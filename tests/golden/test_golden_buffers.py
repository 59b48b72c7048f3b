"""Shares in buffers and at several hosts reproduce the project's reference values."""

import json
import math
from pathlib import Path

import pytest

from shuffledp.protocols.shares.theorems import share_mixing
from shuffledp.protocols.shares.theorems.buffer_weights import ways_to_hide
from shuffledp.protocols.shares.theorems.share_mixing import log_mixing_bound, mixing_distance

ROWS = json.loads(Path(__file__).with_name("buffers.json").read_text(encoding="utf-8"))["rows"]


def rows(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("given", "expected", "tolerance"),
        [(row["inputs"], row["expected"], row["tolerance"]) for row in ROWS if row["kind"] == kind],
    )


def log_g(given, messages):
    """log(h - 1) of one recursion: by rounds, or of one buffer with a message of everybody told, or "free"."""
    users, gamma, modulus = given["n"], given["gamma"], given["q"]
    if given["recursion"] == "rounds":
        return log_mixing_bound(users, messages, gamma, modulus)
    ways = ways_to_hide(1, messages, 0, math.exp(-gamma) * (1 - 1e-15) if gamma else 1.0)
    return share_mixing._evaluated(users, ways[given["recursion"] == "free"], modulus)


def fewest(reached, least):
    """Smallest number, from ``least`` on, that is enough; the one below is not."""
    found = next(number for number in range(least, 64) if reached(number))
    assert found == least or not reached(found - 1)
    return found


@rows("h-small")
def test_the_recursions_are_those_of_the_theorem_rounded_up(given, expected, tolerance):
    found = 1 + math.exp(log_g(given, given["m"]))
    assert expected * (1 - tolerance) <= found <= expected * (1 + 1e-10)


@rows("messages")
def test_the_table_of_messages_comes_out(given, expected, tolerance):
    assert tolerance == 0

    def reached(messages):
        return (1 + math.exp(given["epsilon"])) * math.exp(min(log_g(given, messages) / 2, 1)) / 2 <= given["delta"]

    assert [reached(expected - 1), reached(expected)] == [False, True]


@rows("distance")
def test_distances_of_large_crowds_come_out(given, expected, tolerance):
    assert math.exp(log_g(given, given["m"]) / 2) / 2 == pytest.approx(expected, rel=tolerance)


@rows("parties")
def test_as_many_hosts_are_needed_as_tabled(given, expected, tolerance):
    assert tolerance == 0
    each, colluding = given["messages_per_party"], given["colluding_parties"]

    def reached(hosts):
        where = {"shares_per_buffer": each, "told_buffers": colluding}
        distance = mixing_distance(given["n"], hosts * each, given["gamma"], given["q"], **where)
        return (1 + math.exp(given["epsilon"])) * distance <= given["delta"]

    hosts = fewest(reached, max(colluding + 1, expected["parties"] - 1))
    assert {"parties": hosts, "messages": hosts * each} == expected


@rows("colluding-people-and-rounds")
def test_people_and_rounds_collude_at_once(given, expected, tolerance):
    honest = given["n"] - given["colluding_people"]
    distance = mixing_distance(
        honest, expected["messages"], given["gamma"], given["q"], told_buffers=given["colluding_rounds"]
    )
    assert distance == pytest.approx(expected["distance"], rel=tolerance)
    assert (1 + math.exp(given["epsilon"])) * distance <= given["delta"]


@rows("buffer-truth-below")
def test_one_buffer_is_bounded_above_the_worst_truth_that_was_found(given, expected, tolerance):
    messages = given["m"]
    bound = mixing_distance(given["n"], messages, given["gamma"], given["q"], shares_per_buffer=messages)
    assert bound >= expected * (1 - tolerance)


@rows("colluding-truth-below")
def test_rounds_of_honest_hosts_are_bounded_above_the_worst_truth_that_was_found(given, expected, tolerance):
    rounds = given["good_rounds"]
    bound = mixing_distance(given["n"], rounds + 1, given["gamma"], given["q"], told_buffers=1)
    assert bound >= expected * (1 - tolerance)


@rows("untold-truth-below")
def test_one_round_is_given_away_where_nobody_colludes(given, expected, tolerance):
    assert mixing_distance(given["n"], given["rounds"], given["gamma"], given["q"]) >= expected * (1 - tolerance)
