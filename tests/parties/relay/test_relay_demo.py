"""A relay of real processes on this machine: 40 in the fast tier, a thousand in the deep one."""

import json

import pytest

from cli.running import shuffledp
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.relay import relay_demonstration
from shuffledp.parties.relay.attendance import Attendance, record_of
from shuffledp.parties.relay.relay_demonstration import demonstration


def demonstrated(tmp_path, people, *options):
    done = shuffledp("relay", "demo", "--people", people, "--output", tmp_path / "demo", *options)
    assert done.code == 0, done.err
    released = json.loads((tmp_path / "demo" / "statement.json").read_text())
    assert released["flow"]["released"] == people
    counts = {name: count for name, count in released["flow"]["collected"].items() if name != "collection"}
    assert set(counts.values()) == {0}
    return done.out, released


def test_a_demonstration_ends_with_its_page_and_the_statement_of_the_walk(tmp_path):
    out, released = demonstrated(tmp_path, 40)
    assert "nobody is protected" in out
    sent, planned = (
        next(line.split()[-4:-2] for line in out.splitlines() if line.startswith(begins))
        for begins in ("sent, as counted", "the plan")
    )
    assert sent == planned
    assert "log n = 3.69" in out
    assert f"Page: {tmp_path / 'demo' / 'release.html'}" in out
    (statement, *_) = released["statements"]
    assert "operator" in statement["trust"]


@pytest.mark.parametrize(
    ("gone", "advice"),
    [
        ([{0, 1}, {0, 1, 4}, {0, 1}], "Besides the 2 who left, 1 of 8 members were late by 20 seconds"),
        ([{0, 1}] * 3, "Too few were left of 8 members for the gate to open: take more people."),
    ],
)
def test_a_demonstration_that_fails_says_how_many_were_late_and_what_helps(gone, advice):
    records = tuple(record_of(set(range(8)) - away, 8) for away in (set(), *gone))
    said = relay_demonstration._why_not(Attendance(bytes(32), 8, records), 2)
    assert advice in said
    assert ("take more people" in said) == ("late" not in said)
    assert ("less to do" in said) == ("late" in said)


@pytest.mark.deep
def test_a_tenth_of_the_members_are_killed_for_good_and_the_others_release_what_the_gate_promised(tmp_path):
    done = shuffledp("relay", "demo", "--people", 60, "--away", 6, "--output", tmp_path / "demo")
    assert done.code == 0, done.err
    released = json.loads((tmp_path / "demo" / "statement.json").read_text())
    (statement, *_) = released["statements"]
    assert statement["basis"]["theorem"] == "network-constant-pattern"
    assert 0.85 < statement["guarantee"]["epsilon"] < 0.9
    assert 40 < released["flow"]["released"] <= 60
    assert "The gate at 0.8741 opened after 8 rounds" in (tmp_path / "demo" / "release.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--away", 3), "away must be 0, or fewer than half of the members"),
        (("--away", 2), "--people must be larger with away=2: a gate opens where more are left"),
        (("--rounds", 9), "--rounds must be from 1 to 2 on an overlay of 6"),
        (("--away", 1, "--degree", 2), "away must be 0 on a graph, and for reports in layers"),
        (("--away", 1, "--processes", 2), "--processes must be left out with --away"),
    ],
)
def test_members_who_leave_are_less_than_half_of_those_with_a_process_each_and_an_overlay(tmp_path, options, message):
    done = shuffledp("relay", "demo", "--people", 6, "--output", tmp_path / "demo", *options)
    assert done.code != 0
    assert message in " ".join(done.err.split())
    assert not (tmp_path / "demo").exists()


@pytest.mark.deep
def test_a_demonstration_in_layers_counts_who_colludes(tmp_path):
    _, released = demonstrated(tmp_path, 40, "--onion", "--processes", 2)
    (statement, *_) = released["statements"]
    assert "layers" in statement["trust"]
    assert statement["guarantee"]["epsilon"] < 0.98


def test_a_demonstration_in_layers_is_of_some_hundred_people(tmp_path):
    for people, degree, message in (
        (401, None, "people must be from 3 to 400 in layers; got people=401"),
        (40, 4, "layers hide on overlays"),
    ):
        with (
            pytest.raises(InvalidParameterError, match=message),
            demonstration(people, None, degree, tmp_path, onion=True),
        ):
            pass


@pytest.mark.deep
@pytest.mark.parametrize(
    ("people", "options"),
    [(1000, []), (1000, ["--degree", 8, "--rounds", 15]), (10_000, ["--processes", 2])],
    ids=["overlay", "graph", "shared"],
)
def test_a_thousand_members_take_part_each_in_a_process_and_ten_thousand_in_two(tmp_path, people, options):
    demonstrated(tmp_path, people, *options)
