"""What an organizer asks, what it costs, and what is refused before anything is made."""

import tomllib

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.survey import Task
from shuffledp.survey.asked_questions import AskedQuestion, questions_in
from shuffledp.survey.planning.task_planning import plan
from shuffledp.survey.survey_terms import SurveyTerms, epsilon0_for, minimum_for

COPIED = AskedQuestion("Have you copied homework this year?", ("No", "Yes"))


def terms(**further):
    given = {"name": "homework", "questions": (COPIED,), "people": 30, "epsilon0": 2.0, "minimum": 15}
    return SurveyTerms(**given | further)


def task_of(asked):
    return Task.from_dict(tomllib.loads(asked.task_file()))


@pytest.mark.parametrize(("epsilon0", "points", "truth"), [(1, 34, 73), (2, 15, 88), (3, 8, 95)])
def test_of_30_people_a_share_is_known_so_far_and_a_report_is_true_so_often(epsilon0, points, truth):
    known = terms().known(epsilon0)
    assert (round(100 * known.half_width), round(100 * known.truth)) == (points, truth)


def test_of_several_questions_each_has_its_part_of_the_loss():
    two = terms(questions=(COPIED, AskedQuestion("Which one?", ("Maths", "French", "Latin"))))
    task = task_of(two)
    assert [column.randomizer.randomizer().model.epsilon0 for column in task.columns] == [1.0, 1.0]
    assert [column.question for column in task.columns] == [COPIED.text, "Which one?"]
    assert two.known(2.0).half_width > terms().known(1.0).half_width  # of three answers a share is known worse
    assert task.people.unvouched


def test_who_does_not_say_how_many_answers_are_made_up_is_promised_epsilon0_alone():
    first = plan(task_of(terms()), 15, alone=True).statements[0].guarantee
    assert (first.epsilon, first.delta) == (2.0, 0.0)
    many = {"people": 1000, "minimum": 500, "epsilon0": 1.0}
    assert plan(task_of(terms(**many)), 900, alone=True).statements[0].guarantee.epsilon == 1.0
    assert plan(task_of(terms(**many, fakes=0)), 900, alone=True).statements[0].guarantee.epsilon < 0.5
    assert plan(task_of(terms(**many, fakes=100)), 500, alone=True).statements[0].guarantee.epsilon < 0.5


def test_texts_survive_the_task_file():
    odd = AskedQuestion('Is "no" \\ a word? \N{SNOWMAN}', ("a\tb", 'say "yes"'))
    with pytest.raises(InvalidParameterError, match="categories"):
        task_of(terms(questions=(odd,)))  # as the task itself refuses control characters
    task = task_of(terms(questions=(AskedQuestion(odd.text, ("a b", 'say "yes"')),), contact='"A" \\', language="de"))
    assert task.column.question == odd.text
    assert list(task.column.targets) == ["a b", 'say "yes"']
    assert (task.release.contact, task.written.language) == ('"A" \\', "de")


@pytest.mark.parametrize(
    ("people", "given", "alone", "taken"),
    [(299, None, "", 2.0), (300, None, "", 1.0), (30, 3.0, "x", 3.0), (100, 5.0, "", 5.0), (30, 0.5, "", 0.5)],
)
def test_the_loss_follows_the_number_of_people_unless_it_is_named(people, given, alone, taken):
    assert epsilon0_for(people, given, alone=alone) == taken


@pytest.mark.parametrize(
    ("people", "given", "alone", "why"),
    [
        (99, 3.01, "", "at most 3 among 99 people: there the shuffle buys next to nothing"),
        (10_000, 4.0, "where one operator runs everything", "where one operator runs everything"),
        (10_000, 0.0, "", "epsilon0 must be"),
    ],
)
def test_a_loss_that_nothing_but_chance_protects_is_refused(people, given, alone, why):
    with pytest.raises(InvalidParameterError, match=why):
        epsilon0_for(people, given, alone=alone)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"people": 1}, "people"),
        ({"minimum": 31}, "minimum must be at most people=30"),
        ({"minimum": 1}, "minimum"),
        ({"fakes": 15}, "fakes must be below minimum=15"),
        ({"fakes": -1}, "fakes"),
    ],
)
def test_terms_out_of_range_are_refused(wrong, why):
    with pytest.raises(InvalidParameterError, match=why):
        terms(**wrong)


@pytest.mark.parametrize("answers", [("No",), ("No", "No"), ("No", "")])
def test_a_question_has_two_answers_or_more(answers):
    with pytest.raises(InvalidParameterError, match="answers must be two or more"):
        AskedQuestion("Really?", answers)


def test_half_of_the_people_have_to_answer():
    assert [minimum_for(people) for people in (2, 3, 30, 31)] == [2, 2, 15, 16]


def test_questions_come_from_a_file_and_everything_else_in_it_is_refused(tmp_path):
    file = tmp_path / "questions.toml"
    file.write_text(
        '[[question]]\ntext = "A?"\nanswers = ["x", "y"]\n[[question]]\ntext = "B?"\nanswers = ["1", "2"]\n'
    )
    assert [each.text for each in questions_in(file)] == ["A?", "B?"]
    for wrong in (
        "",
        "question = 1",
        'name = "x"\n[[question]]\ntext = "A?"\nanswers = ["x", "y"]',
        '[[question]]\ntext = "A?"',
        '[[question]]\ntext = "A?"\nanswers = [1, 2]',
        'question = ["A?"]',
    ):
        file.write_text(wrong)
        with pytest.raises(InvalidParameterError, match="question"):
            questions_in(file)


def test_numbers_and_totals_come_from_a_file_too(tmp_path):
    file = tmp_path / "questions.toml"
    file.write_text(
        '[[question]]\ntext = "A?"\nanswers = ["x", "y"]\ntotal = true\n'
        '[[question]]\ntext = "B?"\nlower = 0\nupper = 9.5\n'
        '[[question]]\ntext = "C?"\nlower = 0\nupper = 9\nwhole = true\n'
    )
    assert questions_in(file) == (
        AskedQuestion("A?", ("x", "y"), total=True),
        AskedQuestion("B?", ends=(0.0, 9.5)),
        AskedQuestion("C?", ends=(0.0, 9.0), whole=True),
    )
    for wrong in (
        "lower = 1",
        'lower = 0\nupper = "9"',
        "lower = false\nupper = 9",
        'answers = ["x", "y"]\ntotal = 1',
        'lower = 0\nupper = 9\nwhole = "yes"',
        'answers = ["x", "y"]\nwhole = true',
        "lower = 9\nupper = 1",
        "lower = 0\nupper = inf",
        'answers = ["x", "y", "z"]\ntotal = true',
    ):
        file.write_text(f'[[question]]\ntext = "A?"\n{wrong}\n')
        with pytest.raises(InvalidParameterError):
            questions_in(file)


@pytest.mark.parametrize(
    "other", ['kind = "open"\nlength = 8', 'options = ["a", "b"]', "edges = [0, 1]", 'after = "A? = x"']
)
def test_other_kinds_of_questions_are_refused_with_the_way_to_ask_them(tmp_path, other):
    file = tmp_path / "questions.toml"
    file.write_text(f'[[question]]\ntext = "What is your job?"\n{other}\n')
    with pytest.raises(InvalidParameterError, match=r"has '(kind|options|edges|after)'") as caught:
        questions_in(file)
    assert "`shuffledp init` writes one" in str(caught.value)


WAGE = AskedQuestion("What do you earn?", ends=(0.0, 10_000.0))


def test_the_mean_of_numbers_by_reports_is_known_so_far_for_the_answers_that_are_worst():
    known = terms(questions=(WAGE,)).known(2.0)
    model = task_of(terms(questions=(WAGE,))).column.randomizer.randomizer().model
    worst = max(model.noise_variance(np.array([place]))[0] for place in range(0, 10_001, 10))
    assert known.half_width == pytest.approx(1.96 * (worst / 30) ** 0.5, rel=1e-3)
    assert known.truth is None


def test_questions_are_compared_by_parts_of_their_ranges():
    assert terms(questions=(COPIED, WAGE)).known(2.0).asked is WAGE
    assert terms(questions=(WAGE, AskedQuestion("Which?", tuple("ABCDEFGHIJ")))).known(2.0).asked is not WAGE


# ---- sums -----------------------------------------------------------------------------------------------------------

WHICH = AskedQuestion("Which one?", ("Maths", "French", "Latin"))


def test_a_yes_or_no_as_a_sum_is_known_far_better_and_exactly_the_planned_share_may_stay_away():
    asked = terms(fakes=0, epsilon0=1.0)
    assert round(100 * asked.better_sum.half_width) == 13  # in place of 34
    task = task_of(terms(fakes=0, epsilon0=1.0, sums=True))
    (column,) = task.columns
    assert (column.randomizer.kind, column.randomizer.least_people, column.randomizer.most_people) == (
        "split-and-mix",
        15,
        30,
    )
    assert column.randomizer.targets_of("answer") == ("answer = Yes",)
    assert plan(task, 15, alone=True).statements[0].guarantee.epsilon <= 1.0


@pytest.mark.parametrize(("people", "minimum", "fakes"), [(30, 15, 3), (31, 17, 0), (97, 49, 5)])
def test_people_who_are_made_up_bring_no_noise(people, minimum, fakes):
    task = task_of(terms(people=people, minimum=minimum, fakes=fakes, sums=True))
    assert task.column.randomizer.least_people == minimum - fakes


def test_where_nobody_says_who_is_real_or_nobody_is_asked_a_yes_or_no_there_is_no_sum():
    with pytest.raises(InvalidParameterError, match=r"^fakes must be given for a sum"):
        terms(sums=True)
    with pytest.raises(InvalidParameterError, match=r"^sum must be left out without a number or a question of two"):
        terms(questions=(WHICH,), fakes=0, sums=True)
    assert terms(questions=(WHICH,), fakes=0).better_sum is None
    assert terms(people=2, minimum=2, fakes=0, epsilon0=0.1).better_sum is None  # no sum is certified


def test_beside_sums_other_questions_are_asked_by_reports():
    task = task_of(terms(questions=(COPIED, WHICH), fakes=0, sums=True))
    assert [column.randomizer.kind for column in task.columns] == ["split-and-mix", "k-rr"]
    assert [column.randomizer.epsilon for column in task.columns[:1]] == [1.0]


def test_a_mean_and_a_total_of_numbers_are_sums():
    asked = terms(questions=(WAGE,), fakes=0, sums=True)
    known, column = asked.sum_known, task_of(asked).column
    assert (column.randomizer.kind, column.randomizer.statistic, column.randomizer.ends) == (
        "split-and-mix",
        "mean",
        (0.0, 10_000.0),
    )
    assert known.half_width < terms(questions=(WAGE,)).known(2.0).half_width / 2
    assert known.half_width == terms(questions=(WAGE,)).better_sum.half_width  # also where nobody says who is real
    total = terms(questions=(AskedQuestion(COPIED.text, COPIED.answers, total=True),), fakes=0, sums=True)
    assert task_of(total).column.randomizer.statistic == "sum"


def test_whole_numbers_are_sent_without_rounding_and_the_page_takes_no_others():
    asked = AskedQuestion("How many rooms?", ends=(0.0, 10.0), whole=True)
    column = task_of(terms(questions=(asked,), fakes=0, sums=True)).column
    assert (column.randomizer.integer, column.randomizer.randomizer().model.precision) == (True, 10)
    (field,) = column.randomizer.page_fields(["answer"])
    assert field == {"label": "answer", "lower": 0.0, "upper": 10.0, "clip": True, "whole": True}
    plain = task_of(terms(questions=(AskedQuestion(asked.text, ends=asked.ends),), fakes=0, sums=True)).column
    assert not plain.randomizer.integer
    with pytest.raises(InvalidParameterError, match=r"^whole must be left out without --sum"):
        terms(questions=(asked,))
    for wrong in ({"answers": ("No", "Yes")}, {"ends": (0.0, 9.5)}):
        with pytest.raises(InvalidParameterError, match=r"^whole must be left out but of a number"):
            AskedQuestion("A?", **wrong, whole=True)


@pytest.mark.parametrize(("epsilon0", "is_offered"), [(1.0, True), (2.0, False), (3.0, True)])
def test_a_sum_is_offered_where_it_errs_less_than_half_as_much_and_not_where_it_is_only_better(epsilon0, is_offered):
    asked = terms(people=20, minimum=10, epsilon0=epsilon0)  # 2.1, 1.86 and 2.06 times less
    assert (asked.better_sum is not None) is is_offered


def test_totals_are_for_sums_alone():
    with pytest.raises(InvalidParameterError, match=r"^total must be left out without --sum"):
        terms(questions=(AskedQuestion("A?", ("x", "y"), total=True),))


def test_of_too_few_people_a_sum_is_refused_in_words_that_need_no_modulus():
    few = {"people": 12, "minimum": 6, "fakes": 0, "sums": True}
    with pytest.raises(
        InvalidParameterError, match=r"^people must be more for a sum, as each of 2 questions"
    ) as caught:
        terms(questions=(COPIED, WAGE), epsilon0=1.0, **few)
    assert "modulus" not in str(caught.value)
    with pytest.raises(InvalidParameterError, match="categories"):  # what is wrong with texts is said as before
        terms(questions=(AskedQuestion("A?", ("a\tb", "c")),), **few)
