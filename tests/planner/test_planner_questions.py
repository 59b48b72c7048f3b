"""Questions: limits, and task files that are read back as they were meant."""

import re
import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.planner.questions import LIMITS, Question, as_toml, randomizers
from shuffledp.shufflers.shuffler_kinds import KINDS
from shuffledp.survey import Task

EVERY = [("k-rr", shuffler) for shuffler in KINDS] + [(kind, "uniform") for kind in randomizers()]


@pytest.mark.parametrize(("randomizer", "shuffler"), EVERY)
def test_a_task_file_is_read_back_as_the_task(randomizer, shuffler):
    question = Question(randomizer=randomizer, shuffler=shuffler, people=1000, colluders=30)
    task = Task.from_dict(tomllib.loads(as_toml(question.task())))
    assert task.column == question.column()
    assert (task.column.randomizer.kind, task.shuffler.kind) == (randomizer, shuffler)
    assert (task.people.expected, task.people.fakes) == (1000, 30)


@pytest.mark.parametrize("kind", ["split-and-mix", pytest.param("vector-sum", marks=pytest.mark.deep)])
def test_hosts_are_keys_of_the_task_where_they_are_not_the_usual_ones(kind):
    usual = Question(randomizer=kind, people=1000)
    assert not {"hosts", "colluding_hosts", "buffers"} & set(usual.task()["protocol"])
    question = replace(usual, hosts=4, colluding_hosts=1, buffers="host")
    section = question.column().randomizer
    assert (section.hosts, section.colluding_hosts, section.buffers) == (4, 1, "host")
    assert section.to_dict() == Task.from_dict(tomllib.loads(as_toml(question.task()))).column.randomizer.to_dict()
    with pytest.raises(InvalidParameterError, match="colluding_hosts must be below hosts=4"):
        replace(question, colluding_hosts=4).column()
    with pytest.raises(InvalidParameterError, match="buffers must be one of"):
        replace(question, buffers="all")


@pytest.mark.parametrize("name", LIMITS)
def test_numbers_beyond_their_limits_are_refused_by_name(name):
    least, most = LIMITS[name]
    for value in (least - 1, most + 1):
        with pytest.raises(InvalidParameterError, match=rf"^{name} must be from .*got {name}="):
            Question(**{name: value})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"people": "many"}, "people must be of type int"),
        ({"people": True}, "people must be of type int"),
        ({"epsilon0": None}, "epsilon0 must be of type float"),
        ({"epsilon0": float("nan")}, "epsilon0 must be from"),
        ({"peeple": 3}, "the question must have only the keys"),
        ({"about": "secrets"}, "about must be one of"),
        ({"randomizer": "ldp"}, "randomizer must be one of"),
        ({"shuffler": "auto"}, "shuffler must be one of"),
        ({"lower": 5.0, "upper": 5.0}, "lower must be below upper=5"),
        ({"people": 10, "colluders": 10}, "so that somebody is honest"),
        ({"shuffler": "mallows", "people": 10**7}, "people must be at most 1000000 here for a 'mallows' shuffle"),
        ({"shuffler": "network", "people": 10**7}, "people must be at most 1000000 here for a 'network' shuffle"),
    ],
)
def test_what_is_no_question_is_refused_in_a_line(asked, message):
    with pytest.raises(InvalidParameterError) as refused:
        Question.from_dict(asked)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("people", "size"), [(10, 3), (9, 3), (2, 100), (101, 100)])
def test_groups_are_nearly_equal_and_the_command_makes_the_same(people, size, capsys):
    question = Question(shuffler="mallows", people=people, group_size=size)
    sizes = question.shuffle(question.column()).groups.sizes
    assert sizes.sum() == people
    assert sizes.max() <= size
    assert sizes.max() - sizes.min() <= 1
    command = question.commands[0]
    exec(command.partition('-c "')[2].partition('" >')[0])  # noqa: S102
    head, *labels = capsys.readouterr().out.split()
    assert head == "group"
    assert [labels.count(label) for label in dict.fromkeys(labels)] == sizes.tolist()


def test_every_kind_of_answers_is_offered_on_the_page():
    """Mutant: a kind of question that has controls, and whose randomizers cannot be chosen."""
    script = (files("shuffledp.planner") / "page" / "planner.js").read_text(encoding="utf-8")
    (offered,) = re.findall(r"const names = \{(.*?)\}", script)
    assert {each.answers for each in randomizers().values()} <= set(re.findall(r'"?([\w-]+)"?: "', offered))
