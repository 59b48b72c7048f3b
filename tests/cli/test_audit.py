"""`shuffledp audit`."""

import json
from dataclasses import replace
from unittest.mock import patch

import pytest

from cli.running import shuffledp, write_csv, write_task
from shuffledp.accounting import account_all
from shuffledp.guarantees import LocalDP

SMALL = {"people": {"expected": 5}, "release": {"delta": 0.01}, "randomizer": {"epsilon0": 1.0}}


def halved(model, *, delta):
    """Statements of half of every local loss: what a wrong accountant might say."""
    return tuple(
        replace(each, guarantee=LocalDP(epsilon=0.5 * each.guarantee.epsilon))
        if isinstance(each.guarantee, LocalDP)
        else each
        for each in account_all(model, delta=delta)
    )


def test_it_prints_claims_beside_attacks_and_draws_a_page(tmp_path):
    page = tmp_path / "audit.html"
    task = write_task(tmp_path, **SMALL)
    found = shuffledp("audit", task, "--trials", 400, "--seed", 1, "--output", page)
    assert (found.code, found.err) == (0, "")
    printed = " ".join(found.out.split())
    assert "Audit of k-rr through uniform with 5 people" in printed
    assert "CONSISTENT: central-dp, epsilon at most" in printed
    assert "NOT-AUDITED: central-dp, epsilon at least" in printed
    assert "CONSISTENT: local-dp, epsilon exactly 1 at delta = 0" in printed
    html = page.read_text(encoding="utf-8")
    for shown in ("Claims beside attacks", "not audited", "consistent", "false positive rate", "drawn from a seed"):
        assert shown in html
    assert "refuted</span>" not in html
    assert html.count("<figure") == 3  # claims, and a curve for each that is audited


def test_it_exits_with_5_where_a_claim_is_refuted_and_says_so_everywhere(tmp_path):
    page, task = tmp_path / "audit.html", write_task(tmp_path, **SMALL)
    with patch("shuffledp.tasks.auditing.account_all", halved):
        found = shuffledp("audit", task, "--trials", 500, "--seed", 1, "--json", "--output", page)
    assert found.code == 5
    assert found.json["refuted"]
    verdicts = [finding["verdict"] for finding in found.json["columns"][0]["findings"]]
    assert verdicts == ["consistent", "not-audited", "refuted"]
    assert "Audit: a claim is refuted" in page.read_text(encoding="utf-8")


def test_several_columns_share_the_confidence(tmp_path):
    task = tmp_path / "task.toml"
    task.write_text(
        'name = "two"\n[[value]]\ncolumn = "a"\nrandomizer = {kind = "k-rr", epsilon0 = 1.0, categories = ["x", "y"]}\n'
        '[[value]]\ncolumn = "<b>"\nrandomizer = {kind = "one-bit-mean", epsilon0 = 1.0, lower = 0, upper = 1}\n'
        "[release]\ndelta = 0.01\n",
        encoding="utf-8",
    )
    page = tmp_path / "audit.html"
    found = shuffledp("audit", task, "--users", 4, "--trials", 100, "--json", "--output", page)
    assert found.code == 0
    assert [column["value"] for column in found.json["columns"]] == ["a", "<b>"]
    assert "<b></h2>" not in page.read_text(encoding="utf-8")
    with_one = write_task(tmp_path, **SMALL)
    assert shuffledp("audit", with_one, "--trials", 100, "--json").json["confidence"] == found.json["confidence"]


def test_ten_thousand_people_are_played_by_statistics(tmp_path):
    task = write_task(tmp_path, **SMALL | {"people": {"expected": 10_000}, "release": {"delta": 1e-6}})
    found = shuffledp("audit", task, "--statistics", "--trials", 2000, "--seed", 3, "--json")
    assert (found.code, found.json["mode"], found.json["num_users"]) == (0, "statistics", 10_000)


def test_groups_need_the_table_of_the_people(tmp_path):
    changes = {
        "public": ["town"],
        "groups": {"column": "town"},
        "shuffler": {"kind": "mallows", "alpha": 1.0},
    }
    task = write_task(tmp_path, **SMALL | changes | {"people": None})
    people = write_csv(tmp_path / "people.csv", ["town"], [[town] for town in "aabb"])
    assert "--input must be given" in shuffledp("audit", task).err
    found = shuffledp("audit", task, "--input", people, "--trials", 60, "--seed", 1, "--json")
    assert found.code == 0, found.err
    assert {finding["statement"]["guarantee"]["type"] for finding in found.json["columns"][0]["findings"]} >= {
        "d-sigma"
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trials", "1"], "trials must be"),
        (["--confidence", "1"], "confidence must be"),
        (["--users", "0"], "num_users must be"),
        (["--input", "people.csv"], "--input must be left out"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, message):
    found = shuffledp("audit", write_task(tmp_path, **SMALL), *options)
    assert found.code == 2
    assert message in found.err


def test_it_must_be_known_how_many_people_there_will_be(tmp_path):
    assert "--users N" in shuffledp("audit", write_task(tmp_path)).err


def test_statistics_are_refused_where_none_are_known(tmp_path):
    task = write_task(tmp_path, **SMALL | {"shuffler": {"kind": "none"}})
    found = shuffledp("audit", task, "--statistics")
    assert found.code == 2
    assert "needs a uniform shuffle" in found.err


def test_too_few_trials_are_said_and_never_called_consistent(tmp_path):
    task = write_task(tmp_path, **SMALL | {"randomizer": {"epsilon0": 12.0}})
    found = shuffledp("audit", task, "--trials", 50, "--json")
    reasons = {finding["reason"].split(":")[0] for finding in found.json["columns"][0]["findings"]}
    assert "Too few trials" in reasons
    assert json.dumps(found.json).count('"consistent"') == 0
