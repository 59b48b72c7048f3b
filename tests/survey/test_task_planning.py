"""Plans: what to expect of a task, and which other randomizer would do better."""

import math

import numpy as np
import pytest

from cli.running import task_with
from shuffledp.accounting import account_all
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.people.graphs import Graph
from shuffledp.randomizers import KINDS, KaryRandomizedResponse
from shuffledp.survey import Question, Task, plan
from shuffledp.testing import SeededSource

TOWNS = [f"town {number}" for number in range(40)]
NUMBERS = {"kind": "laplace-mean", "epsilon0": 1.0, "lower": 0.0, "upper": 60.0, "categories": None}


def task(**changes) -> Task:
    return Task.from_dict(task_with(**changes))


def test_the_statements_are_those_of_the_accountant_for_so_many_people():
    planned = plan(task(), 5000)
    assert planned.statements == account_all(task().column.model(5000), delta=1e-6)
    assert planned.num_users == 5000


def test_the_people_are_those_expected_unless_others_are_given():
    expected = task(people={"expected": 700})
    assert plan(expected).num_users == 700
    assert plan(expected, 30).num_users == 30


@pytest.mark.parametrize("num_users", [None, 0, 1.5, True])
def test_a_plan_for_nobody_in_particular_is_refused(num_users):
    with pytest.raises(InvalidParameterError, match="num_users must be"):
        plan(task(), num_users)


@pytest.mark.parametrize("randomizer", [{}, NUMBERS], ids=["categories", "numbers"])
def test_every_kind_for_the_same_answers_is_an_option_or_has_a_reason(randomizer):
    (column,) = plan(task(randomizer=randomizer), 1000).columns
    section = task(randomizer=randomizer).column.randomizer
    kinds = {kind for kind, member in Question.members().items() if member.answers == section.answers}
    assert {each.kind for each in (*column.options, *column.unfit)} == kinds
    assert [option.kind for option in column.options if option.chosen] == [section.kind] == [column.chosen.kind]
    assert all(each.reason for each in column.unfit)


def test_a_new_kind_appears_by_itself(monkeypatch):
    assert "rival" not in {option.kind for option in plan(task(), 100).columns[0].options}

    class Rival(KaryRandomizedResponse):
        pass

    monkeypatch.setitem(KINDS, "rival", Rival)
    assert "rival" in {option.kind for option in plan(task(), 100).columns[0].options}


def test_the_best_option_comes_first():
    many = plan(task(randomizer={"epsilon0": 1.0, "categories": TOWNS}), 1000).columns[0]
    errors = [option.error.standard_error for option in many.options]
    assert errors == sorted(errors)
    assert many.options[-1].chosen
    assert errors[0] < errors[-1] / 2
    few = plan(task(randomizer={"categories": ["No", "Yes", "Maybe"]}), 1000).columns[0]
    assert few.options[0].error.standard_error == pytest.approx(few.chosen.error.standard_error)


def test_a_kind_that_cannot_take_the_parameters_is_listed_with_the_reason():
    column = plan(task(randomizer={**NUMBERS, "epsilon0": 35.0}), 1000).columns[0]
    reasons = {each.kind: each.reason for each in column.unfit}
    assert "epsilon0 must be" in reasons["rounded-mean"]
    assert "[randomizer]" not in reasons["rounded-mean"]


def test_all_options_have_the_epsilon0_and_the_domain_of_the_task():
    planned = task(missing="category", randomizer={"epsilon0": 1.5, "categories": TOWNS})
    for option in plan(planned, 1000).columns[0].options:
        assert option.local.epsilon == pytest.approx(1.5, abs=1e-5)
        assert option.error.at == "a frequency of 1/41"


@pytest.mark.parametrize(
    ("randomizer", "values"),
    [
        ({"categories": TOWNS, "epsilon0": 3.0}, np.arange(20_000) % 40),
        (NUMBERS, np.linspace(0, 60, 20_000)),
    ],
    ids=["categories", "numbers"],
)
def test_the_expected_errors_are_those_that_an_estimate_states(randomizer, values):
    for kind in [option.kind for option in plan(task(randomizer=randomizer), 10).columns[0].options]:
        shared = {
            key: value
            for key, value in task(randomizer=randomizer).column.randomizer.to_dict().items()
            if key != "kind"
        }
        shared.pop("num_steps", None)
        planned = Task.from_dict(task_with() | {"randomizer": {"kind": kind, **shared}})
        expected = plan(planned, len(values)).columns[0].chosen.error
        estimate = planned.column.pipeline().run(values, delta=1e-6, source=SeededSource(5)).estimate
        if kind == "one-bit-mean":  # where the reports cannot tell the two apart at all, they are stated together
            together = math.hypot(expected.standard_error, expected.sampling_error)
            assert estimate.standard_error[0] == pytest.approx(together, rel=0.05)
        else:
            assert float(np.mean(estimate.standard_error)) == pytest.approx(expected.standard_error, rel=0.05)


def test_vectors_lie_in_all_directions():
    vectors = {"kind": "priv-unit", "epsilon0": 4.0, "dimension": 10, "categories": None}
    chosen = plan(task(randomizer=vectors), 2500).columns[0].chosen
    assert chosen.report_bits == 640
    assert chosen.error.sampling_error == pytest.approx(math.sqrt(0.1 / 2500))


def test_an_option_that_no_theorem_covers_has_no_central_guarantee(monkeypatch):
    def unknown(model, *, delta):
        raise UnsupportedModelError("nothing is known.")

    monkeypatch.setattr("shuffledp.planning.mechanism_choice.account", unknown)
    others = [option for option in plan(task(), 1000).columns[0].options if not option.chosen]
    assert {(option.central, option.theorem) for option in others} == {(None, None)}


@pytest.mark.parametrize(
    "protocol", [{"protocol": "single"}, {"protocol": "padded", "submissions": 2}], ids=["single", "padded"]
)
def test_along_walks_every_randomizer_has_dummies_of_its_own(monkeypatch, protocol):
    models = []

    def stated(model, *, delta):
        models.append(model)
        raise UnsupportedModelError("it is the model that is looked at.")

    monkeypatch.setattr("shuffledp.planning.mechanism_choice.account", stated)
    walks = {"kind": "network", "graph": "friends.csv", "rounds": 3, "laziness": 0.1, **protocol}
    graphs = (Graph.from_edges([(one, other) for one in range(9) for other in range(one)]),)
    plan(Task.from_dict(task_with() | {"shuffler": walks, "release": {"delta": 1e-9}}), graphs=graphs)
    assert len(models) > 2
    assert len({model.local.kind for model in models}) == len(models)
    for model in models:
        assert model.shuffle.dummy_model == model.local
        assert model.shuffle.dummies == models[0].shuffle.dummies
        assert (model.shuffle.num_rounds, model.shuffle.laziness) == (3, 0.1)
        assert model.shuffle.graph_digest == graphs[0].digest
