"""A task says how many senders may be fake; every statement counts the others alone, and says so."""

import json
from dataclasses import replace

import pytest

import shuffledp as sdp
from cli.running import shuffledp, stub_pages, write_answers, write_csv, write_task
from documents.outcomes import make_outcome
from shuffledp.accounting import account, account_all
from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import FAKE_SENDERS
from shuffledp.documents.blocks import Listing
from shuffledp.documents.leakage_document import leakage_section
from shuffledp.documents.statement_document import promise_of
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.theorems.meehan22 import d_sigma_of_local, d_sigma_of_shuffle
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.survey import EarlierRelease, Task, plan

YES_NO = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}
SUMS = {"protocol": {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 10, "dropout_fraction": 0.2}}
WALKS = {"shuffler": {"kind": "network", "graph": "random-regular:8", "rounds": 20}}
CONDITION = "of the {} {} by fake senders"


def task(*, expected=100, fakes=10, minimum_batch=50, randomizer=YES_NO, **changes) -> Task:
    people = {"expected": expected, "fakes": fakes}
    table = {} if "protocol" in changes else {"randomizer": randomizer}
    release = {"delta": 1e-6, "minimum_batch": minimum_batch}
    return Task.from_dict({"name": "t", "value": "v", "people": people, "release": release, **table, **changes})


def test_a_task_without_them_is_the_task_that_it_was():
    assert "fakes" not in task(fakes=0).to_dict()["people"]
    assert task(fakes=3).to_dict()["people"]["fakes"] == 3
    assert task(fakes=3).sha256 != task(fakes=0).sha256
    assert Task.from_dict(task(fakes=3).to_dict()) == task(fakes=3)


@pytest.mark.parametrize(
    ("wrong", "condition"),
    [
        ({"fakes": -1}, r"\[people\] fakes must be an integer that is 0 or more"),
        ({"fakes": 1.5}, "fakes must be of type int"),
        ({"fakes": 100, "minimum_batch": 200}, r"\[people\] fakes must be below expected=100; got fakes=100"),
        ({"fakes": 50}, r"\[people\] fakes must be below minimum_batch .*; got fakes=50 with minimum_batch=50"),
        ({"fakes": 21, **SUMS}, r"\[people\] fakes must be at most 20, .*dropout_fraction.*; got fakes=21"),
        (
            {"shuffler": {"kind": "network", "graph": "random-regular:8"}},
            r"\[shuffler\] rounds must be a number where fakes is above 0",
        ),
    ],
)
def test_what_is_refused(wrong, condition):
    with pytest.raises(InvalidParameterError, match=condition):
        task(**wrong)


@pytest.mark.parametrize("shuffler", [{"kind": "uniform"}, {"kind": "imperfect", "imperfection": 0.01}])
def test_a_statement_counts_the_others_and_says_what_it_assumes(shuffler):
    column, fewer = task(shuffler=shuffler).column, task(shuffler=shuffler, fakes=0).column
    found = account(column.model(100), delta=1e-3)
    assert any(CONDITION.format(100, "reports are") in each and each.startswith("at most 10 ") for each in found.needs)
    assert CONDITION.format(100, "reports are") in str(found)
    assert "Of 100 people 90 are counted as honest" in str(found)
    assert found.guarantee.epsilon == account(fewer.model(90), delta=1e-3).guarantee.epsilon
    assert account(fewer.model(100), delta=1e-3).guarantee.epsilon < found.guarantee.epsilon
    assert CONDITION.format(100, "reports are") not in str(account(fewer.model(100), delta=1e-3))


def test_a_page_lists_it_among_those_who_must_be_trusted():
    found = account(task().column.model(100), delta=1e-3)
    listing = next(block for block in promise_of([found]).trust if isinstance(block, Listing))
    *_, named, others = listing.items
    assert CONDITION.format(100, "reports are") in named
    assert others == "everybody else in the batch really randomized; colluding people must be subtracted"


@pytest.mark.parametrize(
    "shuffler",
    [{"kind": "none"}, {"kind": "uniform"}, {"kind": "imperfect", "imperfection": 0.5}],
    ids=lambda shuffler: shuffler["kind"],
)
def test_every_statement_names_them_also_where_each_report_stands_alone(shuffler):
    faked, plain = task(shuffler=shuffler).column, task(shuffler=shuffler, fakes=0).column
    for found in account_all(faked.model(100), delta=1e-3):
        assert sum("at most 10 of the 100 reports are by fake senders" in each for each in found.needs) == 1
        assert not any("everybody counted" in each for each in found.needs)
    for found in account_all(plain.model(100), delta=1e-3):
        assert not any("fake" in each or "everybody else" in each for each in found.needs)


@pytest.mark.parametrize(
    "shuffler",
    [
        RandomWalkShuffler(graph=Graph.random_regular(4, 20), num_rounds=2),
        NoisySortShuffler(groups=Groups.from_labels([0, 1] * 10), alpha=1.0),
    ],
    ids=["walks", "orders"],
)
def test_walks_and_orders_name_them_too(shuffler):
    coin = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
    model = ProtocolModel(local=coin, shuffle=shuffler.model(20)).with_fakes(4)
    of_orders = filter(None, [d_sigma_of_shuffle(model), d_sigma_of_local(model)])
    for found in (*account_all(model, delta=1e-3), *of_orders):
        assert sum("at most 4 of the 20 reports are by fake senders" in each for each in found.needs) == 1
        assert not any("everybody counted" in each for each in found.needs)


def test_it_is_a_number_of_senders_and_no_share_of_those_who_answered():
    column = task().column
    assert [column.model(came).shuffle.num_users for came in (100, 80, 50)] == [90, 70, 40]
    assert [column.model(came).num_senders for came in (100, 80, 50)] == [100, 80, 50]


def test_two_columns_assume_it_once():
    blocks = [{"column": name, "randomizer": YES_NO} for name in ("a", "b")]
    release = {"delta": 1e-3, "minimum_batch": 50}
    both = Task.from_dict({"name": "t", "value": blocks, "people": {"expected": 100, "fakes": 10}, "release": release})
    headline = plan(both).statements[0]
    assert sum("fake senders" in each for each in headline.needs) == 1
    assert str(headline).count("fake senders") == 1


def test_of_messages_that_add_up_the_honest_people_make_the_noise():
    sums = task(fakes=10, **SUMS)
    sums.column.require_batch(90 * sums.column.randomizer.randomizer().model.num_messages)
    with pytest.raises(BatchTooSmallError, match=r"at least 80 people in column 'v' besides fakes=10.*; got 89"):
        sums.column.require_people(89)
    expected = plan(sums)
    assert expected.columns[0].of_question.least_people == 90
    assert CONDITION.format(100, "people's messages are") in str(expected.statements[0])
    with pytest.raises(BatchTooSmallError, match="Nothing would be released"):
        plan(sums, 89)


@pytest.mark.parametrize("command", ["account", "plan", "leakage"])
def test_commands_count_the_others(tmp_path, command):
    counts = {}
    for fakes, users in ((10, 100), (0, 90)):
        people = {"expected": 100, "fakes": fakes} if fakes else {"expected": 100}
        path = write_task(tmp_path, people=people, release={"delta": 1e-3, "minimum_batch": 50})
        counts[fakes] = json.loads(shuffledp(command, path, "--users", users, "--json").out)
    if command == "leakage":
        assert counts[10]["posterior"] == counts[0]["posterior"]
        assert "of 100 people the 90 honest ones alone are counted" in counts[10]["hypotheses"]
        assert not any("everybody" in each for each in counts[10]["hypotheses"])
    else:
        of = [counts[fakes]["statements"][0]["guarantee"] for fakes in (10, 0)]
        assert of[0] == of[1]


def test_what_is_learned_is_said_to_be_of_the_others_alone(tmp_path):
    path = write_task(tmp_path, people={"expected": 100, "fakes": 10}, release={"delta": 1e-3, "minimum_batch": 50})
    said = " ".join(shuffledp("leakage", path).out.split())
    assert "90 honest reports" in said
    assert CONDITION.format(100, "reports are") in said


@pytest.mark.parametrize("shuffler", ["none", "uniform"])
def test_pages_count_those_who_hide_each_other(shuffler):
    people, release = {"fakes": 10}, {"delta": 1e-3, "minimum_batch": 50}
    section = leakage_section(make_outcome([0, 1] * 40, shuffler=shuffler, people=people, release=release))
    assert any("one of 70 honest people" in getattr(each, "text", "") for each in section.blocks)


def test_walks_have_them_among_the_colluders(tmp_path, monkeypatch):
    stub_pages(monkeypatch)
    walks = task(fakes=3, shuffler=WALKS["shuffler"] | {"colluding": 0.02}, expected=100)
    assert walks.column.shuffler.num_colluding(100) == 5
    assert "fakes" not in walks.column.shuffler.to_dict()
    path = write_task(
        tmp_path, people={"expected": 60, "fakes": 3}, release={"delta": 1e-3, "minimum_batch": 20}, **WALKS
    )
    planned = json.loads(shuffledp("plan", path, "--json").out)
    assert planned["statements"][0]["basis"]["theorem"] == "local-dp"
    assert planned["columns"][0]["network"]["risks"][0]["share"] == 0.05
    answers = write_answers(tmp_path, ["No", "Yes"] * 30)
    assert shuffledp("run", path, "--input", answers, "--output", tmp_path / "out").code == 0
    again = ("analyze", path, "--input", tmp_path / "out" / "release.parquet", "--output", tmp_path / "again")
    assert shuffledp(*again).code == 0


def test_fake_senders_and_colluders_of_walks_add_up_in_python_as_in_a_task():
    """1% of 1,000 people collude, and ten are fake: twenty, and no fewer, are taken for relays that tell."""
    overlay = sdp.Overlay(1000, (1000,))
    section = {"kind": "network", "overlay": {"groups": [1000]}, "rounds": 6, "colluding": 0.01, "onion": True}
    column = task(expected=1000, fakes=10, shuffler=section).column
    randomizer = column.randomizer.randomizer()
    in_task = column.model(1000, column.shuffler.walking(overlay, randomizer, 1e-6))

    walks = sdp.RandomWalkShuffler(graph=overlay, num_rounds=6, num_colluding=10, onion=True)
    parts = {"randomizer": randomizer, "shuffler": walks, "analyzer": sdp.FrequencyAnalyzer()}
    in_python = sdp.Pipeline(**parts, fakes=10).model(1000)

    assert in_python == in_task == sdp.ProtocolModel(local=randomizer.model, shuffle=walks.model(1000)).with_fakes(10)
    statement = sdp.account(in_python, delta=1e-6)
    without = sdp.account(replace(in_python, shuffle=walks.model(1000), fakes=0), delta=1e-6)
    assert statement.guarantee.epsilon > 4 * without.guarantee.epsilon
    assert "Of 1000 people 980 are counted as honest" in " ".join(statement.remarks)
    (condition,) = [each for each in statement.basis.hypotheses if each.name == FAKE_SENDERS]
    assert condition.requirement.startswith("at most 10 of the 1,000 reports are by fake senders")
    assert condition.requirement.endswith(", besides 10 who may collude")


def test_fake_senders_add_to_colluders_who_are_named_and_then_nobody_knows_who_they_are():
    overlay = sdp.Overlay(64, (8, 8))
    named = sdp.RandomWalkShuffler(graph=overlay, num_rounds=6, colluders=[1, 2], onion=True).model(64)
    unnamed = sdp.RandomWalkShuffler(graph=overlay, num_rounds=6, num_colluding=5, onion=True).model(64)
    local = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
    assert sdp.ProtocolModel(local=local, shuffle=named).with_fakes(3).shuffle == unnamed


def test_a_release_says_it_and_counts_as_an_earlier_one(tmp_path, monkeypatch):
    stub_pages(monkeypatch)
    path = write_task(tmp_path, people={"expected": 80, "fakes": 10}, release={"delta": 1e-3, "minimum_batch": 50})
    answers = write_answers(tmp_path, ["No", "Yes"] * 40)
    result = shuffledp("run", path, "--input", answers, "--output", tmp_path / "out")
    assert result.code == 0
    condition = CONDITION.format(80, "reports are")
    assert condition in " ".join(result.out.split())
    file = tmp_path / "out" / "statement.json"
    written = json.loads(file.read_text())
    assert (written["model"]["fakes"], written["model"]["shuffle"]["num_users"]) == (10, 70)
    release = EarlierRelease.read(file)
    assert release.released[0].models[0].fakes == 10

    written["model"] = {"local": written["model"]["local"], "shuffle": {"kind": "uniform", "num_users": 80}}
    file.write_text(json.dumps(written))
    with pytest.raises(InvalidParameterError, match="describe as its model the protocol of its task"):
        EarlierRelease.read(file)


def test_groups_lose_them(tmp_path, monkeypatch):
    stub_pages(monkeypatch)
    rows = [[place % 4, "Yes" if place % 3 else "No"] for place in range(80)]
    answers = write_csv(tmp_path / "people.csv", ["town", "cheated"], rows)
    found = {}
    for fakes in (0, 10):
        people = {"fakes": fakes} if fakes else {}
        path = write_task(
            tmp_path, public=["town"], groups={"column": "town"}, shuffler={"kind": "mallows", "alpha": 0.5},
            people=people, release={"delta": 1e-3, "minimum_batch": 50},
        )  # fmt: skip
        out = tmp_path / f"out-{fakes}"
        assert shuffledp("run", path, "--input", answers, "--output", out).code == 0
        found[fakes] = json.loads((out / "statement.json").read_text())
    before, after = (found[fakes]["reidentification"]["largest"] for fakes in (0, 10))
    assert before["num_colluding"] == 0
    assert after["num_colluding"] == 10
    assert after["odds"] > before["odds"]


def test_an_audit_plays_the_others(tmp_path):
    path = write_task(tmp_path, people={"expected": 40, "fakes": 10}, release={"delta": 1e-3, "minimum_batch": 20})
    found = json.loads(shuffledp("audit", path, "--trials", 200, "--json").out)
    assert any("10 may be fake senders" in remark for remark in found["remarks"])
    assert not found["refuted"]


def test_where_nobody_vouches_for_people_the_local_loss_alone_is_stated_of_any_number():
    unvouched = Task.from_dict(task(fakes=0).to_dict() | {"people": {"expected": 100, "unvouched": True}})
    assert unvouched.to_dict()["people"]["unvouched"] is True
    assert "unvouched" not in task(fakes=0).to_dict()["people"]
    assert Task.from_dict(unvouched.to_dict()) == unvouched
    for users in (50, 1000):
        model = unvouched.column.model(users)
        assert (model.fakes, model.shuffle.num_honest) == (users - 1, 1)
        assert account_all(model, delta=1e-6)[0].guarantee.epsilon == model.local.epsilon0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"people": {"fakes": 3, "unvouched": True}}, "fakes must be 0 with unvouched"),
        ({"people": {"unvouched": True}, "shuffler": {"kind": "none"}}, "unvouched must be left out but for a uniform"),
    ],
)
def test_unvouched_people_are_no_number_and_of_no_other_shuffle(changes, why):
    with pytest.raises(InvalidParameterError, match=why):
        Task.from_dict(task(fakes=0).to_dict() | changes)
