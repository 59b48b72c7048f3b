"""One number: a plan, the release of as many people, its files, pages and `account --sharp` state the same loss."""

import json
import re
import sys

import pytest

from cli.running import shuffledp, write_answers, write_task
from shuffledp.accounting import account, account_all, compose_releases, may_be_sharper
from shuffledp.accounting.account import protocol_of
from shuffledp.planner.answers import answer
from shuffledp.randomizers import KaryRandomizedResponse, OptimizedUnaryEncoding, PrivUnit
from shuffledp.survey.budget import loss_of

PEOPLE, DELTA = 550, 1e-6
BITS = OptimizedUnaryEncoding(epsilon0=1.0, domain_size=2)


def model_of(randomizer, users=PEOPLE):
    return protocol_of(randomizer, epsilon0=None, num_users=users)


def test_what_is_stated_beside_a_release_is_the_sharp_bound_and_no_more_than_the_quick_one():
    model = model_of(BITS)
    stated, quick = account_all(model, delta=DELTA)[0], account(model, delta=DELTA)
    assert stated == account(model, delta=DELTA, sharp=True)
    assert stated.basis.theorem == "swap-bound-channel"
    assert stated.guarantee.epsilon < 0.9 * quick.guarantee.epsilon
    assert may_be_sharper(model, delta=DELTA)
    assert loss_of((model,), DELTA) == stated.guarantee.epsilon
    assert compose_releases(model, delta=DELTA, sharp=True).guarantee == stated.guarantee


def test_nothing_that_takes_seconds_is_worked_out_where_it_could_gain_nothing(monkeypatch):
    losses = sys.modules.get("shuffledp.accounting.swapping.certified_losses")
    for name in () if losses is None else ("private_epsilon", "channel_epsilon"):
        monkeypatch.setattr(losses, name, lambda *_: pytest.fail("worked out"))
    for randomizer in (KaryRandomizedResponse(epsilon0=1.0, domain_size=3), PrivUnit(epsilon0=2.0, dimension=100)):
        model = model_of(randomizer, 10_017)
        assert not may_be_sharper(model, delta=DELTA)
        assert account_all(model, delta=DELTA)[0] == account(model, delta=DELTA)


@pytest.mark.deep
def test_a_plan_a_run_its_statement_and_both_pages_state_one_loss(tmp_path, real_page):
    randomizer = {"kind": "oue", "epsilon0": 1.0, "categories": ["No", "Yes"]}
    task = write_task(tmp_path, randomizer=randomizer, release={"delta": DELTA}, people={"expected": PEOPLE})
    answers = write_answers(tmp_path, ["No", "Yes"] * (PEOPLE // 2))
    exact = account(model_of(BITS), delta=DELTA, sharp=True).guarantee.epsilon
    planned = shuffledp("plan", task, "--output", tmp_path / "plan")
    done = shuffledp("run", task, "--input", answers, "--output", tmp_path / "out")
    accounted = shuffledp("account", task, "--sharp")
    assert {each.code for each in (planned, done, accounted)} == {0}
    shown = {re.search(r"epsilon <= ([\d.]+)", each.out)[1] for each in (planned, done, accounted)}
    assert len(shown) == 1
    (digits,) = shown
    assert float(digits) == pytest.approx(exact, rel=1e-3)
    statement = json.loads((tmp_path / "out" / "statement.json").read_text(encoding="utf-8"))
    assert statement["statements"][0]["guarantee"]["epsilon"] == exact
    assert shuffledp("plan", task, "--json").json["statements"][0]["guarantee"]["epsilon"] == exact
    for page in (tmp_path / "plan" / "plan.html", tmp_path / "out" / "release.html"):
        assert digits in page.read_text(encoding="utf-8")
    quick = re.search(r"epsilon <= ([\d.]+)", shuffledp("account", task).out)[1]
    assert float(quick) > float(digits)
    for page in (tmp_path / "plan" / "plan.html", tmp_path / "out" / "release.html"):
        assert f"{quick}:" not in page.read_text(encoding="utf-8")  # the ends of the best possible loss


def test_the_planner_answers_at_once_from_above_and_says_that_a_plan_may_state_less():
    question = {"about": "promise", "people": PEOPLE, "delta": DELTA, "epsilon0": 1.0, "shuffler": "uniform"}
    bits, plain = (answer(question | {"randomizer": kind}) for kind in ("oue", "k-rr"))
    said = "the planner leaves out bounds that take seconds, which `shuffledp plan` works out"
    assert any(said in each for each in bits["remarks"])
    assert not any(said in each for each in plain["remarks"])
