"""Plans for weeks: one loss of all weeks together, the errors of a week, and why a report is not kept."""

import itertools
import json
import math
import re
from collections import Counter
from pathlib import Path

import pytest

from cli.running import shuffledp, task_with, toml, write_task
from shuffledp.accounting import compose_releases, epsilon_of
from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError
from shuffledp.survey import Task, plan_weeks
from shuffledp.survey.planning import weekly_planning

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "questions.json").read_text(encoding="utf-8"))
NUMBER = {"kind": "one-bit-mean", "epsilon0": 0.5, "lower": 0, "upper": 60}


def task(**changes) -> Task:
    return Task.from_dict(task_with(**{"release": {"delta": 1e-6}} | changes))


def test_all_weeks_together_lose_at_most_the_target_and_little_less():
    found = plan_weeks(task(), 100, num_weeks=6, target_epsilon=1.5)
    assert 0.99 * 1.5 <= found.epsilon <= 1.5
    again = compose_releases(found.task.column.model(100), delta=1e-6, num_releases=6)
    assert epsilon_of(again.guarantee) == found.epsilon
    assert found.task.column.randomizer.epsilon0 == found.columns[0].epsilon0


def test_weeks_cost_far_less_than_what_each_of_them_loses_added_up():
    found = plan_weeks(task(), 300, num_weeks=52)
    alone = epsilon_of(compose_releases(found.task.column.model(300), delta=1e-6).guarantee)
    assert found.target_epsilon is None
    assert found.columns[0].once is None
    assert alone < found.epsilon < 52 * alone / 4
    assert found.sent == pytest.approx(52 * found.columns[0].epsilon0)


def test_the_mean_of_fresh_weeks_errs_about_as_much_as_asking_once_and_a_change_more_than_a_week():
    (errors,) = plan_weeks(task(), 100, num_weeks=6, target_epsilon=1.5).columns
    assert errors.of_change == pytest.approx(math.sqrt(2) * errors.of_week)
    assert errors.of_mean == pytest.approx(errors.of_week / math.sqrt(6))
    assert 0.6 * errors.once < errors.of_mean < 1.2 * errors.once
    assert errors.once_epsilon0 > errors.epsilon0


@pytest.mark.deep
@pytest.mark.parametrize(("way", "people", "share", "weeks", "epsilon", "delta", "points"), GOLDEN["weeks"]["rows"])
def test_a_year_of_weeks_errs_as_worked_out_independently(way, people, share, weeks, epsilon, delta, points):  # noqa: PLR0917
    found = plan_weeks(task(release={"delta": delta}), people, num_weeks=weeks, target_epsilon=epsilon)
    randomizer = found.task.column.randomizer if way == "fresh" else None
    epsilon0 = found.columns[0].once_epsilon0 if randomizer is None else randomizer.epsilon0
    model = task(randomizer={"epsilon0": epsilon0}).column.randomizer.randomizer().model
    assert 100 * math.sqrt(model.noise_variance(share) / people) == pytest.approx(points, rel=0.02)


@pytest.mark.deep
def test_several_questions_of_a_week_share_the_loss_of_all_weeks():
    blocks = [{"column": "well", "randomizer": task_with()["randomizer"]}, {"column": "hours", "randomizer": NUMBER}]
    both = Task.from_dict({"name": "week", "value": blocks, "release": {"delta": 1e-6}})
    found = plan_weeks(both, 200, num_weeks=4, target_epsilon=0.5)
    assert found.epsilon <= 0.5
    assert [each.value for each in found.columns] == ["well", "hours"]
    first, second = (each.randomizer.epsilon0 for each in found.task.columns)
    assert first == second < plan_weeks(task(), 200, num_weeks=4, target_epsilon=0.5).columns[0].epsilon0


def test_fake_senders_hide_nobody_in_any_week():
    honest = plan_weeks(task(release={"delta": 1e-6, "minimum_batch": 150}), 200, num_weeks=4)
    fakes = task(people={"fakes": 100}, release={"delta": 1e-6, "minimum_batch": 150})
    assert plan_weeks(fakes, 200, num_weeks=4).epsilon > honest.epsilon


@pytest.mark.parametrize("weeks", [0, 1, 1001, 2.5, True])
def test_another_number_of_weeks_is_refused(weeks):
    with pytest.raises(InvalidParameterError, match="weeks must be a whole number from 2 to 1,000"):
        plan_weeks(task(), 1000, num_weeks=weeks)


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan])
def test_a_target_that_is_no_loss_is_refused(epsilon):
    with pytest.raises(InvalidParameterError, match="epsilon must be"):
        plan_weeks(task(), 1000, num_weeks=4, target_epsilon=epsilon)


def test_tasks_that_are_not_shuffled_uniformly_or_name_earlier_ones_are_refused():
    with pytest.raises(InvalidParameterError, match="uniform shuffle of everybody and a randomizer"):
        plan_weeks(task(shuffler={"kind": "none"}), 1000, num_weeks=4)
    with pytest.raises(InvalidParameterError, match="earlier must be left out where weeks are planned"):
        plan_weeks(task(people={"earlier": ["0" * 64]}), 1000, num_weeks=4)
    with pytest.raises(BatchTooSmallError, match=r"planned for 10\. Nothing would be released"):
        plan_weeks(task(release={"delta": 1e-6, "minimum_batch": 20}), 10, num_weeks=4)


def test_the_command_prints_all_weeks_first_and_the_line_for_the_task(tmp_path):
    path = write_task(tmp_path, people={"expected": 50})
    result = shuffledp("plan", path, "--weeks", 2, "--epsilon", 1.5)
    text = " ".join(result.out.split())
    found = plan_weeks(Task.read(path), num_weeks=2, target_epsilon=1.5)
    assert result.code == 0
    assert "50 people, the same for 2 weeks" in text
    assert "asked once, epsilon0 =" in text
    assert ("ask once: a second week tells nothing new" in text) == (found.columns[0].once <= found.columns[0].of_mean)
    assert "[randomizer] epsilon0 =" in text


@pytest.mark.parametrize("option", [("--table",), ("--error", 0.1), ("--output", "plan")])
def test_options_that_say_nothing_about_weeks_are_refused(tmp_path, option):
    result = shuffledp("plan", write_task(tmp_path, people={"expected": 200}), "--weeks", 4, *option)
    assert result.code == 2
    assert f"{option[0]} must be left out beside --weeks" in result.err


def kept_reports(answers, epsilon0):
    """Law of two weeks' counts of yes among kept reports, one for each value; a row of answers has both weeks."""
    truth = math.exp(epsilon0) / (1 + math.exp(epsilon0))
    law = Counter()
    for reports in itertools.product((0, 1), repeat=2 * len(answers)):
        kept = list(zip(reports[::2], reports[1::2], strict=True))  # of each person, for the values 0 and 1
        chance = math.prod(
            truth if report == value else 1 - truth for person in kept for value, report in enumerate(person)
        )
        weeks = tuple(
            sum(person[answer[week]] for person, answer in zip(kept, answers, strict=True)) for week in (0, 1)
        )
        law[weeks] += chance
    return law


@pytest.mark.parametrize(("epsilon0", "chance"), GOLDEN["kept"]["rows"])
@pytest.mark.parametrize("others", [1, 2, 4])
def test_a_kept_report_gives_a_change_away_however_many_others_there_are(epsilon0, chance, others):
    same = kept_reports([(0, 0), *[(0, 0)] * others], epsilon0)
    changed = kept_reports([(0, 1), *[(0, 0)] * others], epsilon0)
    assert sum(chance for weeks, chance in same.items() if weeks[0] != weeks[1]) == 0
    apart = sum(chance for weeks, chance in changed.items() if weeks[0] != weeks[1])
    # Kept reports of both values differ with p^2 + (1-p)^2: at any epsilon, delta is at least that.
    assert apart == pytest.approx(chance, rel=1e-7)
    for epsilon in (0.0, 1.0, 10.0):
        delta = sum(max(chance - math.exp(epsilon) * same[weeks], 0.0) for weeks, chance in changed.items())
        assert delta >= apart - 1e-12


def test_ticks_are_solved_in_few_steps(monkeypatch):
    """Mutant: the search begins as if each person sent one message a week, and takes seven steps, each of them dear."""
    steps = []
    own = weekly_planning._loss
    monkeypatch.setattr(weekly_planning, "_loss", lambda *given: steps.append(1) or own(*given))
    ticks = {"value": "pets", "kind": "multi-select", "options": ["a", "b", "c", "d", "e", "f"], "at_most": 3}
    task = {"name": "pets", "randomizer": {"kind": "columns", "epsilon0": 1.0}, "release": {"delta": 1e-6}} | ticks
    found = plan_weeks(Task.from_dict(task), 10_000, num_weeks=20, target_epsilon=1.0)
    assert 0.98 < found.epsilon <= 1.0
    assert len(steps) <= 5


PETS = {
    "name": "pets",
    "value": "pets",
    "kind": "multi-select",
    "options": ["a", "b", "c"],
    "at_most": 2,
    "people": {"expected": 1000},
    "randomizer": {"kind": "columns", "epsilon0": 1.0},
    "release": {"delta": 1e-6, "minimum_batch": 500},
}


def test_the_line_for_a_task_of_ticks_has_the_loss_of_one_message(tmp_path):
    """Mutant: the loss of all messages of a person, which the key would take for that of one: three times as much."""
    path = tmp_path / "pets.toml"
    path.write_text(toml(PETS), encoding="utf-8")
    text = " ".join(shuffledp("plan", path, "--weeks", 4, "--epsilon", 1).out.split())
    key = float(re.search(r"\[randomizer\] epsilon0 = ([0-9.]+)", text)[1])
    assert (
        plan_weeks(Task.from_dict(PETS | {"randomizer": {"kind": "columns", "epsilon0": key}}), num_weeks=4).epsilon
        <= 1
    )
    assert "it is of one message" in text


def test_asking_once_is_not_said_to_tell_as_much_where_the_mean_of_weeks_errs_less(tmp_path):
    path = tmp_path / "pets.toml"
    path.write_text(toml(PETS), encoding="utf-8")
    (errors,) = plan_weeks(Task.from_dict(PETS), num_weeks=4, target_epsilon=1.0).columns
    text = " ".join(shuffledp("plan", path, "--weeks", 4, "--epsilon", 1).out.split())
    assert errors.of_mean < errors.once
    assert "ask once: a second week tells nothing new" not in text
    assert "about as much as the mean of all weeks" in text


def test_weeks_in_which_no_word_can_be_found_are_said_to_be_so(tmp_path):
    path = tmp_path / "jobs.toml"
    words = {"name": "jobs", "value": "job", "kind": "open", "length": 8, "people": {"expected": 300}}
    rest = {"randomizer": {"kind": "masked-prefix", "epsilon0": 6.0}, "release": {"delta": 1e-6, "minimum_batch": 100}}
    path.write_text(toml(words | rest), encoding="utf-8")
    text = " ".join(shuffledp("plan", path, "--weeks", 4, "--epsilon", 0.5).out.split())
    assert "No word would be found with 95% among 300 people" in text
    assert re.search(r"With [0-9,]+ people a word of all of them would be", text)
    assert "100% of the people" not in text
