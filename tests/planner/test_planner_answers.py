"""Answers: the numbers of the commands for the same task file, and refusals in words."""

import html
import itertools
import json
import math
import re
import time
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from cli.running import shuffledp
from shuffledp.documents.leakage_document import ONE_RELEASE
from shuffledp.planner.answers import answer, too_late
from shuffledp.planner.questions import SUBJECTS, Question, randomizers
from shuffledp.planning.guaranteed_leakage import compare_guaranteed
from shuffledp.shufflers.shuffler_kinds import KINDS
from shuffledp.survey import Task

DEFINED = json.loads((Path(__file__).parents[2] / "docs" / "schema.json").read_text(encoding="utf-8"))["$defs"]
SCHEMA = Draft202012Validator({"$ref": "#/$defs/planner_answer", "$defs": DEFINED})
SMALL = {"people": 60, "delta": 1e-3, "group_size": 20, "contacts": 12}
QUICK = tuple(each for each in SUBJECTS if each not in ("choices", "ways", "page"))  # these have curves to draw
MORE = {"one-option": {"people": 120}}  # somebody has to be asked about each option
EVERY = [("k-rr", shuffler) for shuffler in KINDS] + [(kind, "uniform") for kind in randomizers() if kind != "k-rr"]
PLAIN = [(randomizer, shuffler) for randomizer, shuffler in EVERY if not KINDS[shuffler].about]


def asked(about, **more):
    """An answer, which JSON holds as it is and the schema describes."""
    found = answer({"about": about, **more})
    SCHEMA.validate(found)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def command(folder, found, *options):
    """What a command prints as JSON for the task file of an answer."""
    (folder / "task.toml").write_text(found["task"], encoding="utf-8")
    result = shuffledp(options[0], folder / "task.toml", *options[1:], "--json")
    assert result.code == 0, result.err
    return result.json


@pytest.mark.parametrize("shuffler", KINDS)
def test_the_page_is_that_of_the_plan_of_the_copied_task(tmp_path, shuffler):
    question = {**SMALL, "shuffler": shuffler}
    page = asked("page", **question)["page"]
    found = asked("promise", **question)
    (tmp_path / "task.toml").write_text(found["task"], encoding="utf-8")
    options = people_of(tmp_path, Question(**question))
    written = shuffledp("plan", tmp_path / "task.toml", *options, "--output", tmp_path / "planned")
    assert written.code == 0, written.err
    same = (tmp_path / "planned" / "plan.html").read_text(encoding="utf-8")
    for piece in (found["promise"]["sentence"], found["cells"]["curator"], *found["trust"], "It holds as long as"):
        assert piece in html.unescape(page)
        assert piece in html.unescape(same)


@pytest.mark.deep
def test_ways_to_a_mean_are_those_of_the_page_of_the_plan():
    question = {"people": 2000, "randomizer": "counted-bits"}
    (ways,) = asked("ways", **question)["sections"]
    page = re.sub(r'<span class="nowrap">([^<]*)</span>', r"\1", html.unescape(asked("page", **question)["page"]))
    assert ways["title"] == "Ways to this mean"
    for piece in (ways["title"], ways["caption"], *ways["texts"]):
        assert piece in page
    rows = {row[0]["text"]: [row[0]["note"], *(cell["text"] for cell in row[1:])] for row in ways["rows"]}
    assert list(rows) == [curve["name"] for curve in ways["curves"]]
    assert all(text in page for row in rows.values() for text in row)
    assert [row[0]["text"] for row in ways["rows"] if any(cell["bold"] for cell in row)] == ["split and mix"]
    (counted,) = (curve for curve in ways["curves"] if curve["name"] == "counted bits")
    assert all(error > 0 for error in counted["values"])


def test_other_questions_have_no_ways_to_a_mean():
    assert asked("ways", people=2000)["sections"] == []


def people_of(folder, question):
    """The options with the table of the people, where the task has groups."""
    if KINDS[question.shuffler].about != "groups":
        return ()
    num_groups = math.ceil(question.people / question.group_size)
    rows = [str(person * num_groups // question.people) for person in range(question.people)]
    (folder / "people.csv").write_text("\n".join(["group", *rows]) + "\n", encoding="utf-8")
    return "--input", folder / "people.csv"


@pytest.mark.parametrize(("randomizer", "shuffler"), EVERY)
def test_a_promise_is_what_a_plan_of_the_copied_task_prints(tmp_path, randomizer, shuffler):
    question = {**SMALL, **MORE.get(randomizer, {}), "randomizer": randomizer, "shuffler": shuffler, "colluders": 3}
    found = asked("promise", **question)
    planned = command(tmp_path, found, "plan", *people_of(tmp_path, Question(**question)))
    column = planned["columns"][0]
    assert found["statements"] == column["statements"] == planned["statements"]
    assert found["option"] == next(option for option in column["options"] if option["chosen"])
    assert found["epsilon_upper"] == planned["statements"][0]["guarantee"]["epsilon"]
    if shuffler == "network":
        own = column["network"]["own"]
        assert (found["messages"], found["epsilon_upper"]) == (own["messages"], own["epsilon"])
        assert column["network"]["cost"]["contacts"] <= 12
    elif randomizer == "split-and-mix":
        assert found["messages"] == column["protocol"]["certificate"]["num_messages"]
    elif randomizer in ("counted-bits", "vector-sum"):
        assert found["messages"] == column["protocol"]["num_messages"]
    else:
        assert found["messages"] == {"columns": 4, "k-rr-blanket": 2}.get(randomizer, 1)


@pytest.mark.parametrize("repetitions", [1, 3])
@pytest.mark.parametrize(("randomizer", "shuffler"), PLAIN)
def test_the_bracket_is_what_account_prints(tmp_path, randomizer, shuffler, repetitions):
    question = {
        **SMALL,
        **MORE.get(randomizer, {}),
        "randomizer": randomizer,
        "shuffler": shuffler,
        "repetitions": repetitions,
    }
    found, ends = asked("promise", **question), asked("bracket", **question)
    if "refused" in ends:
        assert "refused" in found
        return
    printed = command(tmp_path, found, "account", "--releases", repetitions)
    for name in ("epsilon_upper", "epsilon_lower"):
        assert found[name] == ends[name] == printed[name]


@pytest.mark.parametrize(("randomizer", "shuffler"), EVERY)
def test_guesses_are_what_leakage_prints(tmp_path, randomizer, shuffler):
    question = {**SMALL, **MORE.get(randomizer, {}), "randomizer": randomizer, "shuffler": shuffler}
    found, promised = asked("guesses", **question), asked("promise", **question)
    options = ("leakage", "--compare", "--method", "quick", *people_of(tmp_path, Question(**question)))
    if "refused" in found:
        (tmp_path / "task.toml").write_text(promised["task"], encoding="utf-8")
        assert found["refused"] in shuffledp(options[0], tmp_path / "task.toml", *options[1:]).err
        return
    if shuffler in ("network", "noisy-sort"):  # of which the command prints no JSON, since one part of it is refused
        task = Task.from_dict(Question(**question).task())
        model = task.column.model(60, Question(**question).shuffle(task.column))
        printed = compare_guaranteed(model, delta=1e-3, method="quick").to_dict()
    else:
        printed = command(tmp_path, promised, *options)["comparison"]
    ways = {way["name"]: way for way in printed["ways"]}
    assert found["leakage"]["prior"] == printed["prior"]
    for way in found["leakage"]["ways"]:
        assert way == ways[way["name"]]
    for known in ("uninformed", "strong"):
        shown = found["shown"][known]["bars"]
        assert shown[0]["name"] == "Before"
        assert len(shown) == 1 + sum(way[known] is not None for way in found["leakage"]["ways"])


def test_choices_name_every_shuffler_and_every_randomizer():
    found = asked("choices")
    assert [each["kind"] for each in found["shufflers"]] == list(KINDS)
    assert {each["kind"] for each in found["randomizers"]} == set(randomizers())
    assert set(found["limits"]) == set(found["usual"]) - {"about", "question", "randomizer", "shuffler", "buffers"}


@pytest.mark.parametrize("question", [{"randomizer": "split-and-mix"}, {"shuffler": "network", "contacts": 30}])
def test_dangers_are_said_first(question):
    found = asked("promise", **{**SMALL, **question})
    assert found["dangers"]
    assert found["trust"][: len(found["dangers"])] == found["dangers"]
    assert asked("promise", **SMALL)["dangers"] == []


def test_colluders_weaken_what_is_stated_and_are_among_what_is_assumed():
    few, many = (asked("promise", people=1000, colluders=colluders) for colluders in (0, 500))
    assert many["epsilon_upper"] > few["epsilon_upper"]
    assert any("at most 500 of the 1,000" in each for each in many["trust"])
    assert asked("promise", people=500)["epsilon_upper"] == many["epsilon_upper"]


def test_guesses_say_that_they_are_about_one_release_where_there_are_more():
    one, more = (asked("guesses", **SMALL, repetitions=repetitions) for repetitions in (1, 2))
    assert more["leakage"] == one["leakage"]
    assert more["note"] == f"{one['note']} {ONE_RELEASE}"


def test_numbers_in_cells_are_those_in_sentences():
    found = asked("promise", **SMALL)
    assert found["promise"]["numbers"][0][1] == found["cells"]["epsilon"]
    assert found["cells"]["epsilon"] in found["bracket"]
    for name in ("error", "sampling"):
        assert found["cells"][name] in found["expected"]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"people": 0}, "people must be from 1"),
        ({"randomizer": "split-and-mix", "shuffler": "none"}, "must go with a shuffler that hides who sent what"),
        ({"shuffler": "network", "people": 100, "contacts": 2}, "contacts must be at least"),
    ],
)
def test_refusals_are_answers(question, reason):
    assert reason in asked("promise", **question)["refused"]


def test_an_answer_that_comes_too_late_is_told_with_its_task_and_the_command():
    found = too_late({"shuffler": "network"}, 5)
    SCHEMA.validate(found)
    assert found["refused"].startswith("Not answered within 5 s.")
    assert found["commands"][0] == "shuffledp plan task.toml"
    assert Task.from_dict(tomllib.loads(found["task"])).shuffler.kind == "network"
    assert too_late({"people": 0}, 5)["refused"].startswith("people must be")


@pytest.mark.deep
def test_answers_come_while_somebody_waits():
    for shuffler, most in (("uniform", 0.3), ("none", 0.3), ("imperfect", 1), ("mallows", 1), ("noisy-sort", 1)):
        seconds = []
        for randomizer, people, about in itertools.product(randomizers(), (100, 1000, 100_000), QUICK):
            before = time.process_time()
            asked(about, randomizer=randomizer, people=people, shuffler=shuffler)
            seconds.append(time.process_time() - before)
        assert sorted(seconds)[int(0.95 * len(seconds))] <= most, shuffler
