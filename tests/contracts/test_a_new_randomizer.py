"""The randomizer of CONTRIBUTING is a module and one line of the registry: everything else follows from these."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest

from cli.running import refused, shuffledp, task_with, write_answers, write_task
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.randomizers import KINDS, model_of_kind
from shuffledp.survey import Task, plan
from shuffledp.testing import SeededSource

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
BLOCK = re.compile(r"^```python\n(\"\"\"A coin.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def coin():
    (code,) = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    module = ModuleType("coin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "coin", module)
        patch.setattr(LocalModel, "_members", dict(LocalModel.members()))
        exec(compile(code, PAGE.name, "exec"), module.__dict__)  # noqa: S102
        patch.setitem(KINDS, "coin", module.Coin)
        yield module


def test_its_guarantee_is_that_of_its_channel(coin):
    model = model_of_kind("coin", epsilon0=1.5, domain_size=2)
    assert model == coin.Coin(epsilon0=1.5, domain_size=2).model == LocalModel.from_dict(model.to_dict())
    assert 1.5 - 1e-6 < model.epsilon0 <= 1.5
    assert model.channel(exact=True).epsilon() == pytest.approx(model.epsilon0, rel=1e-15)


def test_its_reports_have_its_law(coin):
    randomizer = coin.Coin(epsilon0=1.0, domain_size=2)
    reports = randomizer.randomize(np.zeros(100_000, dtype=np.int64), source=SeededSource(3))
    assert reports["value"].mean() == pytest.approx(randomizer.model.q, abs=6 * 0.5 / 100_000**0.5)


def test_it_takes_answers_by_their_names(coin):
    named, numbered = coin.Coin(epsilon0=1.0, categories=["No", "Yes"]), coin.Coin(epsilon0=1.0, domain_size=2)
    reports = named.randomize(["No", "Yes", "Yes"] * 30, source=SeededSource(3))
    assert reports == numbered.randomize([0, 1, 1] * 30, source=SeededSource(3))


def test_account_and_leakage_take_its_kind():
    options = ("--randomizer", "coin", "--epsilon0", "1", "--users", "500", "--categories", "2")
    assert shuffledp("account", *options, "--delta", "1e-6", "--json").json["statements"]
    assert "coin" in shuffledp("leakage", *options, "--json").out
    assert "--categories must be 2" in refused(2, "account", *options[:-1], "3", "--delta", "1e-6")


def test_a_task_runs_with_it_and_files_hold_the_names_of_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path, randomizer={"kind": "coin", "epsilon0": 3.0})
    write_answers(tmp_path, ["No", "No", "No", "Yes"] * 50)
    assert shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "out").code == 0
    released = pq.read_table("out/release.parquet").column("value").to_pylist()
    assert set(released) <= {"No", "Yes"}
    assert len(released) == 200


def test_a_plan_for_two_answers_offers_it_and_one_for_three_says_why_not():
    def planned(kind, categories):
        return plan(Task.from_dict(task_with(randomizer={"kind": kind, "categories": categories})), 1000).columns[0]

    assert "coin" in {option.kind for option in planned("k-rr", ["No", "Yes"]).options}
    assert "k-rr" in {option.kind for option in planned("coin", ["No", "Yes"]).options}
    reasons = {each.kind: each.reason for each in planned("k-rr", ["No", "Yes", "Maybe"]).unfit}
    assert reasons["coin"].startswith("domain_size must be 2")


def test_a_task_file_has_the_keys_of_its_family():
    with pytest.raises(
        InvalidParameterError, match="only the keys kind, epsilon0, categories, missing_category, follow_up; got"
    ):
        Task.from_dict(task_with(randomizer={"kind": "coin", "hash_range": 4}))
