"""The top of a release's page: results beside the promise, who released them and when, and a sentence to quote."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

import shuffledp as sdp
from documents.outcomes import make_outcome
from documents.reading import Page
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.statement_terms import Trust
from shuffledp.documents import release_document
from shuffledp.documents.blocks import Role, Text
from shuffledp.documents.document import Document
from shuffledp.documents.page import page_of, write_page
from shuffledp.documents.release_document import Byline, column_document, joint_document
from shuffledp.documents.result_document import quote_of, results_of
from shuffledp.documents.words import Guess
from shuffledp.survey import Outcome, Task
from shuffledp.testing import SeededSource

DAY, MOST_WORDS = "2026-02-03", 930
RELEASE = {"delta": 1e-6, "contact": "Office <b>, ask@example.org"}


def quote(outcome, **about):
    named = [(outcome.column.value, outcome.release)]
    return quote_of(named, outcome.statements[0], **{"source": DAY} | about)


@pytest.fixture(scope="module")
def yes_no():
    return make_outcome([0] * 9000 + [1] * 1000, numbers=SeededSource(1), release=RELEASE)


@pytest.fixture(scope="module")
def read(yes_no, tmp_path_factory):
    """The page, less its pictures."""
    folder = tmp_path_factory.mktemp("top")
    write_page(column_document(yes_no, Byline(DAY)), folder, "release.html", figures=False)
    return Page.read((folder / "release.html").read_text(encoding="utf-8"))


def test_a_survey_of_one_question_takes_at_most_930_words(page):
    assert 600 < Page.read(page).num_words <= MOST_WORDS


def test_the_whole_statement_and_each_hypothesis_stand_on_the_page(yes_no, read):
    first = yes_no.statements[0]
    assert str(first) in read.text
    assert all(each.requirement in read.text and each.value in read.text for each in first.basis.hypotheses)


def test_the_page_says_when_and_by_whom_it_was_released(read):
    assert f"Released on {DAY} by Office <b>, ask@example.org." in read.text


def test_results_stand_beside_the_promise_before_everything_else(yes_no, read):
    estimate = yes_no.release.estimate
    first = read.all("section")[0].text
    for answer, share in zip(estimate.target, estimate.estimate, strict=True):
        assert f"{answer}{100 * share:.2f}%" in first
    assert "epsilon, at most" in first
    assert "theorem" not in read.text.split("Why it holds")[0]


def test_the_sentence_to_quote_has_the_results_the_promise_the_people_and_the_day(yes_no):
    no, yes = (f"{100 * share:.2f}%" for share in yes_no.release.estimate.estimate)
    low, high = (f"{100 * ends[0]:.2f}%" for ends in (yes_no.release.estimate.lower, yes_no.release.estimate.upper))
    said = quote(yes_no, source=f"Office, {DAY}")
    assert said.startswith(f'Among 10,000 people, {no} ({low} to {high}) answered "No" and {yes} (')
    assert re.search(
        r'\) "Yes" to cheated, estimated with 95% intervals and released by k-rr and a uniform shuffle '
        r"with differential privacy of epsilon 0\.0870\d and delta 1e-06 under the stated conditions "
        r"\(Office, 2026-02-03\)\.$",
        said,
    )


def test_a_demonstration_says_so_on_top_in_the_quote_and_on_each_picture_and_another_release_nowhere(tmp_path, yes_no):
    for demonstration in (True, False):
        document = column_document(replace(yes_no, demonstration=demonstration), Byline(DAY))
        write_page(document, tmp_path, "page.html", figures=False)
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert ("<strong>DEMONSTRATION</strong> <span>Answers are made up" in page) is demonstration
        assert ("demonstration" in page.lower()) is demonstration
        assert ("In a demonstration with made-up answers" in document.quote) is demonstration
        assert any(each.text.startswith("Demonstration: ") for each in document.dangers) is demonstration
    one = replace(column_document(replace(yes_no, demonstration=True)), sections=_with_a_picture(yes_no))
    write_page(one, tmp_path, "page.html")
    assert "DEMONSTRATION: made-up answers" in (tmp_path / "estimates.svg").read_text()


def _with_a_picture(outcome):
    return tuple(each for each in column_document(outcome).sections if each.anchor == "estimates")


QUESTION = "Have you thought about leaving your job, for whatever reason, in the last month?"


def test_heading_and_quote_carry_the_question_as_it_was_asked(tmp_path):
    outcome = make_outcome([0, 1] * 100, question=QUESTION, release=RELEASE)
    document = column_document(outcome, Byline(DAY))
    assert f'"Yes" to the question "{QUESTION}", estimated with' in document.quote
    assert "cheated" not in document.quote
    write_page(document, tmp_path, "page.html", figures=False)
    page = Page.read((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert [each.text for each in page.all("h1")] == [QUESTION]
    assert "risk survey: 200 reports about the private column cheated" in page.text


def test_a_mean_and_a_histogram_are_quoted_with_the_question():
    ages = {"kind": "laplace-mean", "epsilon0": 2.0, "lower": 0, "upper": 120}
    mean = make_outcome([30.0] * 100, value="age", question="How old are you?", randomizer=ages)
    said = column_document(mean, Byline(DAY)).quote
    assert 'the mean of the answers to "How old are you?" is ' in said


def test_of_several_questions_each_heads_its_part_and_stands_in_the_quote():
    block = {"randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}}
    asked = {"smokes": "Do you smoke?", "drinks": "Do you drink?"}
    blocks = [{"column": name, "question": question, **block} for name, question in asked.items()]
    outcome = Task.from_dict({"name": "habits", "value": blocks, "release": RELEASE}).run(
        {each: ["No", "Yes"] * 100 for each in asked}
    )
    document = joint_document(outcome, dict.fromkeys(outcome.columns, Document()), Byline(DAY))
    assert document.title == "habits"
    assert [each.title for each in document.sections][:2] == list(asked.values())
    assert all(f'to the question "{each}"' in document.quote for each in asked.values())


def test_a_quote_names_no_impossible_share_and_says_that_an_estimate_was_moved():
    outcomes = (make_outcome([0] * 6, numbers=SeededSource(seed), release={"delta": 1e-3}) for seed in range(50))
    outcome = next(each for each in outcomes if each.release.estimate.estimate[0] > 1)
    assert quote(outcome).startswith('Among 6 people, 100% (83% to 100%) answered "No" and 0% (0% to 17%) "Yes" to')
    assert "(an estimate outside 0% to 100% is quoted as the nearer end)" in quote(outcome)
    (results,) = results_of([("", outcome.release)])
    assert results.rows[0][1:] == ("116%", "83% to 100%")  # unbiased, beside an interval that is possible


def test_a_quote_of_possible_shares_alone_says_nothing_of_others(yes_no):
    assert "quoted as the nearer end" not in quote(yes_no)


def test_page_and_quote_say_where_people_were_told_that_the_result_would_be(yes_no):
    document = column_document(yes_no, Byline(DAY, "https://results.example/work"))
    assert document.byline.endswith("People who answered were told that it would be at https://results.example/work.")
    assert document.quote.endswith(f"(Office <b>, ask@example.org, {DAY}, https://results.example/work).")
    assert "told" not in column_document(yes_no, Byline(DAY)).byline


def test_a_sentence_that_needs_no_epsilon_stands_before_it(yes_no, read):
    first = read.all("section")[0].text
    said = Guess.under(yes_no.statements[0].guarantee).plainly()
    assert "epsilon" not in said
    assert first.index(said) < first.index("epsilon, at most")


def test_the_most_frequent_of_many_answers_are_quoted():
    outcome = make_outcome([3] * 600 + [1] * 300 + [0] * 100, epsilon0=8.0, categories=tuple("abcde"))
    assert re.search(
        r' answered "d", [^a-z]*to[^a-z]* "b" and [^a-z]*to[^a-z]* "." to cheated, the most', quote(outcome)
    )
    together = "the most frequent of 5 answers, with intervals that hold for all 5 together, estimated"
    assert together in quote(outcome)
    (results,) = results_of([("", outcome.release)])
    assert [row[0] for row in results.rows][:2] == ["d", "b"]
    assert results.title == "Estimated frequency, with 95% intervals that hold for all 5 together"
    assert results.rest == "and 1 more below; these are the largest, with intervals that hold for all 5 together"


@pytest.mark.parametrize(("people", "exact"), [(90, True), pytest.param(30_000, False, marks=pytest.mark.deep)])
def test_what_is_named_for_its_size_covers_as_its_level_says(people, exact):
    """Twelve answers that are equally frequent: the intervals of each by itself would miss too often."""
    names, runs = tuple(f"answer {number:02}" for number in range(12)), 60
    answers = np.arange(people) % 12
    truth, named, alone = 100 / 12, [], []
    for run in range(runs):
        release = make_outcome(answers, epsilon0=1.0, categories=names, numbers=SeededSource(run)).release
        estimate = release.estimate
        assert (estimate.interval is not None) == exact
        (results,) = results_of([("", release)])
        for name, _, ends in results.rows:
            low, high = (float(end.rstrip("%").replace("\N{MINUS SIGN}", "-")) for end in ends.split(" to "))
            named.append(low <= truth <= high)
            row = names.index(name)
            alone.append(estimate.lower[row] <= truth / 100 <= estimate.upper[row])
    assert len(named) == 4 * runs
    assert np.mean(named) >= 0.95
    assert np.mean(alone) <= 0.96 if exact else np.mean(alone) <= 0.93


def test_where_no_intervals_hold_for_all_together_the_first_answers_are_named():
    names = tuple("abcdefgh")
    release = make_outcome(np.arange(80) % 8, epsilon0=1.0, categories=names).release
    half_widths = replace(release.estimate, interval=None, half_width=np.ones(8))
    (results,) = results_of([("", replace(release, estimate=half_widths))])
    assert [row[0] for row in results.rows] == list("abcd")
    assert results.rest == "and 4 more below"


def test_a_mean_and_several_coordinates_are_quoted():
    ages = {"kind": "laplace-mean", "epsilon0": 2.0, "lower": 0, "upper": 120}
    mean = make_outcome([30.0] * 100, value="age", randomizer=ages)
    assert re.match(
        r"Among 100 people, the mean of age is [\d.]+ \([\d.]+ to [\d.]+\), estimated with 95%", quote(mean)
    )
    vectors = np.eye(3)[[0, 1, 2] * 40]
    vector = make_outcome(vectors, randomizer={"kind": "priv-unit", "epsilon0": 4.0, "dimension": 3})
    assert "the mean of cheated was estimated in 3 coordinates" in quote(vector)


def test_senders_who_may_be_fake_are_named_in_the_quote():
    outcome = make_outcome([0, 1] * 100, people={"fakes": 20}, release={"delta": 1e-6, "minimum_batch": 50})
    assert quote(outcome).startswith("Among 200 people, of whom up to 20 may be fake, ")


def test_nothing_is_quoted_of_a_trial_run():
    outcome = make_outcome([0, 1] * 50, source=SeededSource(1))
    assert quote(outcome) == ""
    document = column_document(outcome, Byline(DAY))
    assert (document.quote, document.byline) == ("", f"Made on {DAY}.")


def test_a_release_that_promises_nothing_is_not_quoted_as_private(yes_no):
    statement = yes_no.statements[0]
    nothing = replace(statement, guarantee=statement.guarantee.nothing())
    said = quote_of([("cheated", yes_no.release)], nothing, source=DAY)
    assert "without a promise of privacy" in said
    assert "epsilon" not in said


def test_estimates_of_every_question_come_before_any_theorem(tmp_path):
    block = {"randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}}
    names = ("smokes", "drinks", "walks", "reads")
    task = Task.from_dict(
        {"name": "habits", "value": [{"column": each, **block} for each in names], "release": RELEASE}
    )
    outcome: Outcome = task.run({each: ["No", "Yes"] * 100 for each in names})
    document = joint_document(outcome, dict.fromkeys(outcome.columns, Document()), Byline(DAY))
    write_page(document, tmp_path, "page.html", figures=False)
    page = Page.read((tmp_path / "page.html").read_text(encoding="utf-8"))
    where = [page.text.index("200 reports, randomized by k-rr with epsilon0 = 1."), page.text.index("By the theorem")]
    assert where == sorted(where)
    assert [each.text for each in page.all("h2")][:6] == ["In short", *names, "Meaning"]
    assert "; and 1 further question, estimated with" in document.quote
    assert f"({RELEASE['contact']}, {DAY})." in document.quote


def test_a_danger_is_said_once_and_before_everything_else():
    graph = sdp.Graph.random_regular(8, 100, SeededSource(1))
    pipeline = sdp.Pipeline(
        randomizer=sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
        shuffler=sdp.RandomWalkShuffler(graph=graph, num_rounds=20),
        analyzer=sdp.FrequencyAnalyzer(),
    )
    document = release_document.release_top(pipeline.run([0, 1] * 50, delta=1e-3))
    said = f"This holds only as long as {Trust.FIRST_ROUND.text}."
    assert document.dangers == (Text(said, Role.DANGER),)
    page = Page.read(page_of(document).decode())
    assert page.text.count(said) == 1
    assert page.all("section")[0].text.split("Beware. ")[1].startswith(said)


def test_the_day_is_that_of_the_clock_in_utc():
    before = datetime.now(UTC).date().isoformat()
    assert before <= Byline.today().day <= datetime.now(UTC).date().isoformat()


def test_a_contact_is_one_line_and_tasks_without_one_keep_their_digests():
    plain = make_outcome([0, 1]).column
    assert "contact" not in plain.to_dict()["release"]
    named = replace(plain, release=replace(plain.release, contact="Office"))
    assert named.to_dict()["release"]["contact"] == "Office"
    assert named.sha256 != plain.sha256
    for wrong in ("", "two\nlines"):
        with pytest.raises(InvalidParameterError, match="contact must be text that is not empty, in one line"):
            replace(plain.release, contact=wrong)


@pytest.mark.parametrize("asked", [400, 20])
def test_of_people_who_were_asked_their_own_shares_are_quoted_or_it_is_said_whose_they_are(asked):
    """Mutant: the shares of everybody, of which "(not asked)" is the largest answer."""
    smokes = {"column": "smokes", "randomizer": {"kind": "k-rr", "epsilon0": 6.0, "categories": ["No", "Yes"]}}
    quits = {"column": "quit", "after": "smokes = Yes"}
    quits |= {"randomizer": {"kind": "k-rr", "epsilon0": 6.0, "categories": ["never", "often"]}}
    task = {"name": "x", "value": [smokes, quits], "release": RELEASE | {"minimum_batch": 100, "compare": ["options"]}}
    smoking = ["Yes"] * asked + ["No"] * (1600 - asked)
    outcome = Task.from_dict(task).run({"smokes": smoking, "quit": ["never", *["often"] * 3] * 400})
    document = joint_document(outcome, dict.fromkeys(outcome.columns, Document()), Byline(DAY))
    _, results = document.results
    given = asked == 400
    assert [row[0] for row in results.rows] == ["never", "often"]
    assert results.title == ("quit among those asked" if given else "quit of all people, asked or not")
    assert "(not asked)" not in document.quote
    assert (' among those asked answered "never"' in document.quote) == given
    assert (' of all people, asked or not, answered "never"' in document.quote) != given
    assert abs(float(results.rows[1][1].rstrip(" %\N{NO-BREAK SPACE}")) - 75) < 10 or not given


def test_quantiles_of_a_question_that_not_everybody_was_asked_are_said_to_be_of_those_who_answered():
    smokes = {"column": "smokes", "randomizer": {"kind": "k-rr", "epsilon0": 6.0, "categories": ["No", "Yes"]}}
    ages = {"column": "age", "after": "smokes = Yes"}
    ages |= {"randomizer": {"kind": "k-rr", "epsilon0": 6.0, "edges": [18, 40, 65, 90]}}
    task = Task.from_dict({"name": "x", "value": [smokes, ages], "release": RELEASE | {"minimum_batch": 100}})
    outcome = task.run({"smokes": ["Yes", "No"] * 400, "age": [30, None, 50, None] * 200})
    document = joint_document(outcome, dict.fromkeys(outcome.columns, Document()), Byline(DAY))
    assert document.results[1].title == "age among those who answered"
    assert re.search(r" in age among those who answered, estimated with 95% intervals", document.quote)
