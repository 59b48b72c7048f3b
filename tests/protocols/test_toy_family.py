"""A family of protocols is a folder and one line.

The toy family goes through the accountant, the pipeline, an audit, the planner, the pages of plans and releases, and
the commands `leakage`, `plan` and `run`, with a section of its own in the task file and a result of its own in the
release.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from cli.running import write_answers, write_task
from shuffledp.accounting.theorems.closed_forms import ClosedFormFMT23
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols import FAMILIES
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.shufflers import UniformShuffleModel

# The folder ``toy`` beside this file joins those of src, and has its line, for one process.
WITH_FOLDER = """
import sys
from shuffledp import protocols
protocols.__path__.append({folder!r})
"""
WITH_LINE = """
protocols.FAMILIES = (*protocols.FAMILIES, "toy")
"""
COMMAND = """
from shuffledp.cli import main
sys.argv = ["shuffledp", *{arguments!r}]
main()
"""
PIPELINE = """
import json
from shuffledp import FrequencyAnalyzer, KaryRandomizedResponse, Pipeline
from shuffledp.accounting import account_all
from shuffledp.shufflers.shuffler_kinds import KINDS
randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
pipeline = Pipeline(randomizer=randomizer, shuffler=KINDS["twice"].make(), analyzer=FrequencyAnalyzer())
model = pipeline.model(10_000)
release = pipeline.run([0, 1] * 5_000, delta=1e-6)
found = (account_all(model, delta=1e-6), release.statements)
print(json.dumps([[each.to_dict() for each in stated] for stated in found]))
"""
AUDIT = """
import json
from shuffledp import FrequencyAnalyzer, KaryRandomizedResponse, Pipeline
from shuffledp.accounting import account
from shuffledp.attacks import DEFAULT_TRIALS, audit
from shuffledp.shufflers.shuffler_kinds import KINDS
from shuffledp.testing import SeededSource

honest = KINDS["twice"].make()

class Backwards(type(honest)):
    def shuffle(self, reports, *, public=None, source=None):
        view = super().shuffle(reports, public=public, source=source)
        object.__setattr__(view, "reports", reports.take(slice(None, None, -1)))
        return view

randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
found = []
for shuffler in (honest, Backwards()):
    pipeline = Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=FrequencyAnalyzer())
    claim = account(pipeline.model(2_000), delta=1e-6)
    report = audit(pipeline, claim, num_users=2_000, trials=300, source=SeededSource(1))
    found.append([report.findings[0].verdict, report.findings[0].evidence.attack, report.model.shuffle.passage])
print(json.dumps([DEFAULT_TRIALS["twice"], found]))
"""
CALIBRATION = """
from shuffledp.planning import calibrate
print(calibrate.twice_shufflers())
"""
PLANNER = """
import json
from shuffledp.planner.answers import answer
asked = {"shuffler": "twice", "people": 1_200}
promise, page = (answer({"about": about, **asked}) for about in ("promise", "page"))
kinds = [each["kind"] for each in answer({"about": "choices"})["shufflers"]]
print(json.dumps([kinds, promise["statements"], page["page"]]))
"""


def python(code: str, *, line: str = WITH_LINE) -> "subprocess.CompletedProcess[str]":
    program = WITH_FOLDER.format(folder=str(Path(__file__).parent)) + line + code
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def command(*arguments: object, line: str = WITH_LINE) -> "subprocess.CompletedProcess[str]":
    return python(COMMAND.format(arguments=[str(each) for each in arguments]), line=line)


def theorems(statements: list[dict[str, Any]]) -> list[str]:
    return [each["basis"]["theorem"] for each in statements]


def test_the_accountant_and_a_pipeline_take_the_shuffler_and_the_theorem_of_the_family():
    accounted, released = json.loads(python(PIPELINE).stdout)
    uniform = ProtocolModel(
        local=KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=2),
        shuffle=UniformShuffleModel(num_users=10_000),
    )
    assert theorems(accounted) == ["toy-twice-is-once", "toy-order-of-twice", "local-randomizer"]
    assert accounted[0]["guarantee"]["epsilon"] == ClosedFormFMT23().epsilon(uniform, delta=1e-6) < 0.2
    assert theorems(released) == theorems(accounted)


def test_an_audit_plays_the_game_of_the_family_and_catches_a_shuffler_that_only_turns_the_order_round():
    trials, (honest, backwards) = json.loads(python(AUDIT).stdout)
    assert trials == 10_000
    assert honest[0] == "consistent"
    assert backwards == ["refuted", "last-row", "through twice"]


def test_the_commands_account_and_plan_state_what_the_theorem_of_the_family_says(tmp_path):
    task = write_task(tmp_path, shuffler={"kind": "twice"})
    asked = (command(name, task, "--users", 1_200, "--json") for name in ("account", "plan"))
    accounted, planned = (json.loads(done.stdout)["statements"][0] for done in asked)
    assert accounted["basis"]["theorem"] == planned["basis"]["theorem"] == "toy-twice-is-once"
    assert accounted["guarantee"] == planned["guarantee"]


def test_calibrate_finds_what_the_family_solves_only_if_it_has_its_line():
    assert python(CALIBRATION).stdout == "2\n"
    assert "has no attribute 'twice_shufflers'" in python(CALIBRATION, line="").stderr


def test_a_command_names_the_shuffler_only_if_the_family_has_its_line():
    assert "toy" not in FAMILIES
    options = ("leakage", "--shuffler", "twice", "--epsilon0", 1, "--users", 20, "--categories", 3)
    assert "posterior vulnerability" in command(*options).stdout
    refused = command(*options, line="")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--shuffler must be one of 'uniform', 'none', " in refused.stderr
    assert refused.stderr.endswith("; got 'twice'.\n")


def test_a_task_names_the_shuffler_and_is_planned_and_run_with_sections_of_its_own_on_both_pages(tmp_path):
    answers = write_answers(tmp_path, ["No", "No", "Yes"] * 400)
    task = write_task(tmp_path, shuffler={"kind": "twice"})
    planned = command("plan", task, "--users", 1_200, "--output", tmp_path / "plan", "--json")
    assert "toy-twice-is-once" in planned.stdout
    done = command("run", task, "--input", answers, "--output", tmp_path / "out", "--no-figures", "--json")
    assert done.returncode == 0
    assert "toy-twice-is-once" in done.stdout
    statement = json.loads((tmp_path / "out" / "statement.json").read_text(encoding="utf-8"))
    assert statement["operators"] == ["first", "second"]
    said = "Two operators shuffled 1,200 reports, one after the other."
    assert said in (tmp_path / "out" / "release.html").read_text(encoding="utf-8")
    will = "Two operators will shuffle the reports of 1,200 people."
    assert will in (tmp_path / "plan" / "plan.html").read_text(encoding="utf-8")


def test_a_task_gives_the_keys_of_the_section_of_the_family_and_a_wrong_one_is_refused(tmp_path):
    answers = write_answers(tmp_path, ["No", "No", "Yes"] * 400)
    task = write_task(tmp_path, shuffler={"kind": "twice", "operators": ["Ada", "Bo"]})
    reports, view = tmp_path / "reports.parquet", tmp_path / "view.parquet"
    stages = (("randomize", answers, reports), ("shuffle", reports, view), ("analyze", view, tmp_path / "out"))
    for name, given, made in stages:
        assert command(name, task, "--input", given, "--output", made).stderr.count("error") == 0
    statement = json.loads((tmp_path / "out" / "statement.json").read_text(encoding="utf-8"))
    assert statement["operators"] == ["Ada", "Bo"]
    refused = command("plan", write_task(tmp_path, shuffler={"kind": "twice", "operators": ["Ada"]}), "--users", 1_200)
    assert refused.returncode == 2
    assert "operators must be two different names" in refused.stderr


def test_the_planner_offers_the_shuffler_and_plans_with_it():
    kinds, statements, page = json.loads(python(PLANNER).stdout)
    assert "twice" in kinds
    assert theorems(statements)[0] == "toy-twice-is-once"
    assert "Two operators will shuffle the reports of 1,200 people." in page
