"""`shuffledp audit`."""

from dataclasses import replace
from unittest.mock import patch

import pytest

from cli.networks import ring_with_chords, write_edges
from cli.running import shuffledp, task_with, toml, write_csv, write_task
from shuffledp.accounting import account_all
from shuffledp.core.guarantees import LocalDP
from shuffledp.leakage import target_vulnerability

SMALL = {"people": {"expected": 5}, "release": {"delta": 0.01}, "randomizer": {"epsilon0": 1.0}}
NUMBERS = {"kind": "one-bit-mean", "epsilon0": 1.0, "lower": 0, "upper": 1, "categories": None}


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
    found = shuffledp("audit", task, "--trials", 400, "--seed", 1, "--output", page, "-v")
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
    with patch("shuffledp.survey.task_audit.account_all", halved):
        found = shuffledp("audit", task, "--trials", 500, "--seed", 1, "--json", "--output", page)
    assert found.code == 5
    assert found.json["refuted"]
    assert found.json["verdicts"] == {"refuted": 1, "consistent": 1, "not-audited": 1}
    verdicts = [finding["verdict"] for finding in found.json["columns"][0]["findings"]]
    assert verdicts == ["consistent", "not-audited", "refuted"]
    assert "Audit: 1 claim is refuted" in page.read_text(encoding="utf-8")


def test_several_columns_share_the_confidence(tmp_path):
    task = tmp_path / "task.toml"
    task.write_text(
        'name = "two"\n[[value]]\ncolumn = "a"\nrandomizer = {kind = "k-rr", epsilon0 = 1.0, categories = ["x", "y"]}\n'
        '[[value]]\ncolumn = "<b>"\nrandomizer = {kind = "one-bit-mean", epsilon0 = 1.0, lower = 0, upper = 1}\n'
        "[release]\ndelta = 0.01\n",
        encoding="utf-8",
    )
    page = tmp_path / "audit.html"
    found = shuffledp("audit", task, "--users", 4, "--trials", 400, "--json", "--output", page)
    assert found.code == 0
    (together,) = found.json["not_audited"]
    html = page.read_text(encoding="utf-8")
    assert html.count(together) == 1
    assert html.count("shared among 2 columns") == 1
    assert found.json["verdicts"]["not-audited"] == 1 + sum(
        finding["verdict"] == "not-audited" for column in found.json["columns"] for finding in column["findings"]
    )
    assert f"NOT-AUDITED: {together}" in " ".join(shuffledp("audit", task, "--users", 4, "--trials", 20).out.split())
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
    found = shuffledp("audit", task, "--input", people, "--trials", 400, "--seed", 1, "--json")
    assert found.code == 0, found.err
    assert {finding["statement"]["guarantee"]["type"] for finding in found.json["columns"][0]["findings"]} >= {
        "d-sigma"
    }


def verdicts(found):
    """Of each guarantee, by its type and theorem; no column may be without."""
    assert found.code == 0, found.err
    return {
        (finding["statement"]["guarantee"]["type"], finding["statement"]["basis"]["theorem"]): finding["verdict"]
        for column in found.json["columns"]
        for finding in column["findings"]
    }


def write_walks(folder, **shuffler):
    """Twenty people in one part, and a task whose reports walk among them."""
    write_edges(folder / "friends.csv", ring_with_chords(20, 30))
    given = {"kind": "network", "graph": "friends.csv", "rounds": 4, **shuffler}
    return write_task(folder, **SMALL | {"people": {"expected": 20}, "shuffler": given})


@pytest.mark.parametrize(
    ("keys", "attack"),
    [
        ({"protocol": "single"}, {"bags", "bags-early", "histogram", "own-report"}),
        ({"rounds": "auto"}, {"bags", "bags-early", "histogram", "own-report"}),
        ({"graph": "random-regular:4", "dropouts": 0.1}, {"bags", "bags-early", "histogram", "own-report"}),
        ({"graph": ["friends.csv", "friends.csv"]}, {"bags", "bags-early", "histogram", "own-report"}),
        ({"colluding": 0.2}, {"sightings", "bags-and-sightings"}),
    ],
    ids=["single", "auto", "random", "several graphs", "colluding"],
)
def test_reports_that_walk_are_attacked_along_the_graph(tmp_path, keys, attack):
    task = write_walks(tmp_path, **keys)
    found = shuffledp("audit", task, "--trials", 400, "--seed", 1, "--json")
    assert "consistent" in {verdict for (kind, _), verdict in verdicts(found).items() if kind == "central-dp"}
    audited = [each for each in found.json["columns"][0]["findings"] if each["evidence"] is not None]
    assert audited[0]["evidence"]["attack"] in attack


def test_in_a_graph_of_two_parts_the_claim_is_about_the_weaker_one(tmp_path):
    """And the same as if there were only that part."""
    large, weak = ring_with_chords(30, 150, 20), ring_with_chords(20, 100)
    stated = []
    for people, edges in ((50, weak + large), (20, weak)):
        write_edges(tmp_path / "parts.csv", edges)
        shuffler = {"kind": "network", "graph": "parts.csv", "rounds": 8}
        changes = {"people": {"expected": people}, "shuffler": shuffler, "randomizer": {"epsilon0": 2.0}}
        task = write_task(tmp_path, **SMALL | changes)
        found = shuffledp("audit", task, "--trials", 200, "--seed", 1, "--json")
        assert found.code == 0, found.err
        stated.append(found.json["columns"][0]["findings"][0]["statement"])
    assert stated[0]["guarantee"] == stated[1]["guarantee"]
    assert stated[0]["guarantee"]["epsilon"] < 2.0
    assert any("weakest part, of 20 people" in remark for remark in stated[0]["remarks"])


def test_a_claim_about_walks_that_is_too_small_is_refuted(tmp_path):
    task = write_walks(tmp_path, rounds=0)
    with patch("shuffledp.survey.task_audit.account_all", halved):
        assert shuffledp("audit", task, "--trials", 500, "--seed", 1, "--json").code == 5


def test_a_graph_of_other_people_is_refused(tmp_path):
    found = shuffledp("audit", write_walks(tmp_path), "--users", 7)
    assert found.code == 3
    assert "must fit the 7 people" in found.err


def test_imperfect_shuffles_and_shares_are_attacked(tmp_path):
    imperfect = write_task(tmp_path, **SMALL | {"shuffler": {"kind": "imperfect", "imperfection": 0.5}})
    assert (
        verdicts(shuffledp("audit", imperfect, "--trials", 400, "--json"))["local-dp", "local-randomizer"]
        == "consistent"
    )
    shares = task_with(**SMALL | {"people": {"expected": 20}})
    shares["protocol"] = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 1}
    del shares["randomizer"]
    imperfect.write_text(toml(shares), encoding="utf-8")
    found = verdicts(shuffledp("audit", imperfect, "--trials", 400, "--json"))
    assert found == {("central-dp", "split-and-mix"): "consistent", ("local-dp", "local-randomizer"): "not-audited"}
    assert "hosts who collude" not in shuffledp("audit", imperfect, "--trials", 20).out
    shares["protocol"] |= {"hosts": 12, "colluding_hosts": 1}
    imperfect.write_text(toml(shares), encoding="utf-8")
    hosted = " ".join(shuffledp("audit", imperfect, "--trials", 20).out.split())
    assert "what hosts who collude could tell of who sent what is not used." in hosted
    few = shuffledp("audit", imperfect, "--users", 10)
    assert (few.code, "needs the noise of at least 20 people" in few.err) == (4, True)


def test_what_is_stated_with_earlier_releases_is_not_audited(tmp_path):
    task = write_task(tmp_path, **SMALL | {"people": {"expected": 5, "earlier": ["0" * 64]}})
    found = shuffledp("audit", task, "--trials", 400, "--json")
    assert found.code == 0
    assert [text.startswith("What is stated of this and earlier") for text in found.json["not_audited"]] == [True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trials", "1"], "trials must be"),
        (["--confidence", "1"], "confidence must be"),
        (["--users", "0"], "--users must be"),
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
    assert "after a uniform shuffle of categories only" in found.err


def test_too_few_trials_are_said_and_never_called_consistent(tmp_path):
    task = write_task(tmp_path, **SMALL | {"randomizer": {"epsilon0": 12.0}})
    found = shuffledp("audit", task, "--trials", 50, "--json")
    reasons = {finding["reason"].split(":")[0] for finding in found.json["columns"][0]["findings"]}
    assert "Too few trials" in reasons
    assert found.json["verdicts"]["consistent"] == 0


def test_where_nothing_is_audited_the_exit_code_the_text_the_json_and_the_page_say_so(tmp_path):
    page, task = tmp_path / "audit.html", write_task(tmp_path, **SMALL | {"randomizer": {"epsilon0": 12.0}})
    found = shuffledp("audit", task, "--trials", 50, "--output", page)
    assert (found.code, found.err) == (6, "")
    assert found.out.startswith("risk survey   nothing was audited   5 invented people\n")
    assert "CONSISTENT" not in found.out
    html = page.read_text(encoding="utf-8")
    assert "Audit: nothing was audited" in html
    assert "found nothing" not in html
    told = shuffledp("audit", task, "--trials", 50, "--json")
    assert told.code == 6
    assert (told.json["refuted"], told.json["audited"]) == (False, False)
    assert told.json["verdicts"] == {
        "refuted": 0,
        "consistent": 0,
        "not-audited": len(told.json["columns"][0]["findings"]),
    }


def test_a_batch_below_the_smallest_is_played_and_said_to_be_one(tmp_path):
    page = tmp_path / "audit.html"
    task = write_task(tmp_path, **SMALL | {"release": {"delta": 0.01, "minimum_batch": 5}})
    found = shuffledp("audit", task, "--users", 4, "--trials", 400, "--seed", 1, "--output", page)
    assert found.code == 0
    assert "4 people are fewer than minimum_batch = 5: of so few nothing would be released." in " ".join(
        found.out.split()
    )
    assert "fewer than minimum_batch = 5" in page.read_text(encoding="utf-8")
    assert shuffledp("audit", task, "--trials", 100, "--seed", 1, "--json").json["remarks"] == []


@pytest.mark.parametrize(
    ("keys", "verdict", "said"),
    [
        ({}, "consistent", "is right with a probability of exactly"),
        ({"shuffler": {"kind": "none"}}, "consistent", "is right with a probability of exactly"),
        ({"shuffler": {"kind": "imperfect", "imperfection": 0.5}}, "consistent", "is right with a probability of"),
        ({"randomizer": NUMBERS}, "not-audited", "No attack: answers can be guessed where"),
    ],
    ids=["uniform", "none", "imperfect", "numbers"],
)
def test_guesses_are_counted_against_the_stated_vulnerability(tmp_path, keys, verdict, said):
    page = tmp_path / "audit.html"
    task = write_task(tmp_path, **SMALL | keys)
    asked = ("audit", task, "--trials", 400, "--seed", 1, "--leakage")
    found = shuffledp(*asked, "--json")
    assert found.code == 0, found.err
    leakage = found.json["columns"][0]["leakage"]
    assert leakage["verdict"] == verdict
    assert sum(found.json["verdicts"].values()) == len(found.json["columns"][0]["findings"]) + 1
    told = shuffledp(*asked, "--output", page, "-v")
    assert said in " ".join(told.out.split())
    html = page.read_text(encoding="utf-8")
    assert "of a right guess" in html
    assert ("chance of a right guess" in html) == ("the limits are" in html) == (verdict == "consistent")  # its axis
    assert "claimed chance of a right guess" in told.out
    assert ("apart: if the claim is wrong by less" in " ".join(told.out.split())) == (verdict == "consistent")
    assert "leakage" not in shuffledp("audit", task, "--trials", 100, "--json").json["columns"][0]


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_a_stated_vulnerability_is_refuted_in_both_directions(tmp_path, factor):
    def wrong(model):
        found = target_vulnerability(model)
        return replace(found, **dict.fromkeys(("value", "lower", "upper"), factor * found.value), excess=None)

    task = write_task(tmp_path, **SMALL)
    with patch("shuffledp.survey.task_audit.guaranteed_vulnerability", wrong):
        found = shuffledp("audit", task, "--trials", 4000, "--seed", 1, "--leakage", "--json")
    assert found.code == 5
    assert found.json["columns"][0]["leakage"]["verdict"] == "refuted"
    assert found.json["verdicts"]["refuted"] == 1


def test_a_place_that_cannot_be_written_to_is_refused_before_any_run(tmp_path):
    task = write_task(tmp_path, **SMALL)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with patch("shuffledp.survey.task_audit.audit_task", side_effect=AssertionError):
        for output, message in (
            (tmp_path / "audit.txt", "ending in .html"),
            (tmp_path / "audit", "ending in .html"),
            (tmp_path / "file" / "audit.html", "output must be a place to write to"),
        ):
            found = shuffledp("audit", task, "--output", output)
            assert found.code == 2
            assert message in " ".join(found.err.split())


def test_an_earlier_page_is_replaced_with_force_and_nothing_else(tmp_path):
    task, page = write_task(tmp_path, **SMALL), tmp_path / "audit.html"
    asked = ("audit", task, "--trials", 400, "--output", page)
    assert shuffledp(*asked).code == 0
    assert shuffledp(*asked).code == 2
    assert shuffledp(*asked, "--force").code == 0
    page.write_text("<!DOCTYPE html>somebody else's", encoding="utf-8")
    assert "must be an earlier output" in shuffledp(*asked, "--force").err


def test_where_so_few_trials_could_hardly_refute_what_stood_nothing_is_known(tmp_path):
    page, task = tmp_path / "audit.html", write_task(tmp_path, **SMALL)
    asked = ("audit", task, "--trials", 8, "--seed", 1, "--leakage")
    found = shuffledp(*asked, "--output", page)
    assert found.code == 6
    assert found.out.startswith("risk survey   nothing is known, with too few trials   5 invented people\n")
    assert "too few to conclude anything" in " ".join(found.out.split())
    assert "Audit: nothing is known, with too few trials" in page.read_text(encoding="utf-8")
    told = shuffledp(*asked, "--json").json
    assert (told["audited"], told["weak"], told["verdicts"]["consistent"]) == (False, 1, 1)
    assert told["columns"][0]["leakage"]["weak"]
    enough = shuffledp("audit", task, "--trials", 1000, "--seed", 1, "--leakage", "--json")
    assert (enough.code, enough.json["columns"][0]["leakage"]["weak"]) == (0, False)


def test_a_guess_claim_refuted_from_below_shows_the_upper_limit(tmp_path):
    page, task = tmp_path / "audit.html", write_task(tmp_path, **SMALL)

    def larger(model):
        true = target_vulnerability(model)
        return replace(true, value=0.95, lower=0.95, upper=0.95)

    with patch("shuffledp.survey.task_audit.guaranteed_vulnerability", larger):
        found = shuffledp("audit", task, "--trials", 1000, "--seed", 1, "--leakage", "--output", page)
    assert found.code == 5
    assert ", less than claimed (99%)" in found.out
    html = page.read_text(encoding="utf-8")
    assert "chance at most 0." in html
    assert "less than claimed" in html
