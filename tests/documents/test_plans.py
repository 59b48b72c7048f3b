"""What a plan says first, and of how few people it says that they are few; a release says it once too."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from documents.outcomes import make_outcome
from shuffledp.documents.blocks import PAGE, TERMINAL, Text
from shuffledp.documents.estimate_document import estimates_section, few_people
from shuffledp.documents.plans.plan_document import plan_document
from shuffledp.documents.terminal import show
from shuffledp.people.graphs import Graph
from shuffledp.planning import expected_error
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.survey import Question, Task, plan
from shuffledp.testing import SeededSource

SPLIT = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 10}


def sums(*, dropout=0.0, expected=1000, fakes=0):
    return Task.from_dict(
        {
            "name": "t", "value": "minutes", "people": {"expected": expected, "fakes": fakes},
            "protocol": {**SPLIT, "dropout_fraction": dropout}, "release": {"delta": 1e-6, "minimum_batch": 500},
        }
    )  # fmt: skip


def shares(epsilon0=1.0):
    return Task.from_dict(
        {
            "name": "t", "value": "v", "release": {"delta": 1e-6},
            "randomizer": {"kind": "k-rr", "epsilon0": epsilon0, "categories": ["No", "Yes"]},
        }
    )  # fmt: skip


def lines(document):
    return [block.text for block in document.promise.headline if isinstance(block, Text)]


@pytest.mark.parametrize(
    ("task", "numbers", "away"),
    [
        (sums(dropout=0.1), "900 to 1,000", "100"),
        (sums(), "exactly 1,000", "0"),
        (sums(dropout=0.1, fakes=20), "920 to 1,000", "80"),
    ],
)
def test_of_how_many_people_a_sum_is_released_comes_before_all_else(task, numbers, away):
    said = lines(plan_document(plan(task)))
    assert said[0].startswith(f"minutes is released only if {numbers} people answer: ")
    assert f"({away} may stay away, see dropout_fraction)" in said[0]
    least = int(numbers.removeprefix("exactly ").split(" ")[0].replace(",", ""))
    task.column.require_people(least)
    with pytest.raises(ValueError, match="Nothing was released"):
        task.column.require_people(least - 1)


def test_what_is_said_to_be_at_most_is_rounded_up():
    planned = plan(sums(dropout=0.1))
    (column,) = planned.columns
    said = " ".join(
        block.text for section in plan_document(planned).sections for block in section.blocks if isinstance(block, Text)
    )
    error, rest = column.chosen.error.standard_error, column.of_question
    true = {
        "the standard error will be": error,
        "steps adds": 100 * (error / rest.noise_error - 1),
        "yours is": error / rest.central_error,
    }
    for words, value in true.items():
        shown = float(re.search(rf"{words} at most ([0-9.]+)", said)[1])
        assert value <= shown <= 1.01 * value


def test_its_one_danger_comes_first_and_in_bold_red_on_a_screen():
    screen = io.StringIO()
    show(plan_document(plan(sums())), Console(file=screen, force_terminal=True, width=4000, color_system="standard"))
    danger = "nobody but the shuffler has all messages of one person, for whoever has them reads the answer"
    assert screen.getvalue().startswith(f"\x1b[1;31mWARNING: This holds only as long as {danger}")


def test_a_plan_of_reports_says_nothing_of_the_kind():
    assert not any("released only" in line for line in lines(plan_document(plan(shares(), 500))))


@pytest.mark.parametrize(("people", "points"), [(539, 8), (100, 19), (1360, 5)])
def test_a_small_sample_is_said_plainly(people, points):
    said = [block.text for section in plan_document(plan(shares(), people)).sections for block in section.blocks
            if isinstance(block, Text)]  # fmt: skip
    sentence = f"A small sample: {people:,} answers tell a share to about ±{points} percentage points."
    assert sum(line.count(sentence) for line in said) == 1


def test_what_few_people_tell_is_said_of_the_reports_that_arrive(monkeypatch):
    walks = {"kind": "network", "graph": "friends.csv", "rounds": 3, "dropouts": 0.3}
    task = Task.from_dict(shares().to_dict() | {"shuffler": walks, "release": {"delta": 1e-9}})
    everybody = Graph.from_edges([(one, other) for one in range(9) for other in range(one)])
    monkeypatch.setattr(Question, "members", dict)  # no other randomizer is looked at
    planned = plan(task, graphs=(everybody,))
    (column,) = planned.columns
    half = 100 * 1.96 * column.chosen.error.standard_error
    assert half > 1.3 * 100 * 1.96 * expected_error(task.column.randomizer.randomizer().model, 9).standard_error
    said = [block.text for section in plan_document(planned).sections
            for block in section.blocks if isinstance(block, Text)]  # fmt: skip
    assert any(f"tell a share to about ±{half:.0f} percentage points" in line for line in said)


@pytest.mark.parametrize("walked", [False, True])
def test_what_few_people_told_is_as_wide_as_their_intervals(walked):
    everybody = Graph.from_edges([(one, other) for one in range(120) for other in range(one)])
    outcome = make_outcome([0, 1] * 60)
    if walked:
        coin = outcome.column.randomizer.randomizer()
        shuffler = RandomWalkShuffler(graph=everybody, num_rounds=3, protocol="single", dummies=coin, dummy_value=0)
        release = outcome.column.pipeline(shuffler).run([0, 1] * 60, delta=1e-3, source=SeededSource(1))
        outcome = replace(outcome, release=release)
    estimate = outcome.release.estimate
    points = int(re.search(r"about ±(\d+) percentage", few_people(outcome))[1])
    assert points == pytest.approx(50 * float((estimate.upper - estimate.lower).mean()), rel=0.1)


@pytest.mark.parametrize(("people", "epsilon0"), [(1450, 1.0), (539, 4.0)])
def test_a_sample_that_tells_enough_is_not_called_small(people, epsilon0):
    document = plan_document(plan(shares(epsilon0), people))
    assert not any(
        "small sample" in getattr(block, "text", "") for section in document.sections for block in section.blocks
    )


@pytest.mark.parametrize("medium", [PAGE, TERMINAL])
def test_a_release_says_it_once(medium):
    section = estimates_section(make_outcome([0, 1] * 60))
    said = [block.text for block in section.blocks if isinstance(block, Text) and medium in block.on]
    assert sum(line.count("A small sample: 120 answers tell a share") for line in said) == 1


def test_the_table_of_other_randomizers_says_that_their_losses_lack_a_bound_which_your_own_has():
    found = plan(shares(), num_users=550)
    column = found.columns[0]
    stated = column.statements[0]
    sharp = replace(stated, basis=replace(stated.basis, theorem="swap-bound-channel"))
    by_bound = replace(found, columns=(replace(column, statements=(sharp, *column.statements[1:])),))
    said = "(Your epsilon, of k-rr, is by a bound that takes seconds. The epsilons of the others leave that bound out,"
    assert len(column.options) > 1
    for each, expected in ((found, False), (by_bound, True)):
        blocks = [block for section in plan_document(each).sections for block in section.blocks]
        assert any(isinstance(block, Text) and block.text.startswith(said) for block in blocks) == expected
