"""The page of every kind of estimate: each says what its own reports say, in its own units."""

import numpy as np
import pytest

from documents.outcomes import make_outcome, write_page
from documents.reading import Page
from shuffledp.testing import SeededSource

NUMBERS = {"epsilon0": 2.0, "lower": 0, "upper": 120}
AGES = np.linspace(20, 80, 400)
DEFINITION = "A report supports its sender's true answer with probability"
AT_MOST = "as probable after one answer as after any other"


def page_of(folder, values, **task) -> Page:
    outcome = make_outcome(values, numbers=SeededSource(5), **task)
    write_page(outcome, folder)
    return Page.read((folder / "release.html").read_text(encoding="utf-8"))


def section(page: Page, start: str, end: str) -> str:
    return page.text_unfolded.split(start)[1].split(end)[0]


deep = pytest.mark.deep
OTHER_KINDS, OTHER_MEANS = ("oue", "sue", "hadamard", "subset"), ("one-bit-mean", "rounded-mean")


@pytest.mark.parametrize("kind", ["k-rr", "olh", *(pytest.param(kind, marks=deep) for kind in OTHER_KINDS)])
def test_frequencies_say_what_a_report_supports(kind, tmp_path):
    randomizer = {"kind": kind, "epsilon0": 2.0, "categories": ["a", "b", "c", "d"]}
    page = page_of(tmp_path, [0, 1, 2, 3, 0] * 80, randomizer=randomizer)
    assert page.errors == []
    assert DEFINITION in page.text_unfolded
    assert "share of the people" in (tmp_path / "estimates.svg").read_text()


@pytest.mark.parametrize("kind", ["laplace-mean", *(pytest.param(kind, marks=deep) for kind in OTHER_MEANS)])
def test_means_are_in_the_units_of_the_data(kind, tmp_path):
    page = page_of(tmp_path, AGES, value="age", randomizer={"kind": kind, **NUMBERS})
    estimates = section(page, "Estimates", "Meaning")
    assert page.errors == []
    assert AT_MOST in section(page, "From answers to release", "Why it holds")
    assert "answer was given" not in estimates
    assert estimates.count("%") == estimates.count("95%")
    assert "Quantity" in estimates
    assert "mean of age, in its own units" in (tmp_path / "estimates.svg").read_text()


def test_one_bit_says_what_its_error_holds_and_has_no_price(tmp_path):
    page = page_of(tmp_path, AGES, randomizer={"kind": "one-bit-mean", **NUMBERS})
    assert "cannot tell differences between people from randomizing" in page.text_unfolded
    assert "people who answer openly" not in page.text_unfolded


def test_a_mean_outside_its_range_says_where_intervals_end(tmp_path):
    randomizer = {"kind": "laplace-mean", "epsilon0": 0.2, "lower": -10, "upper": 1200}
    page = page_of(tmp_path, [-10.0] * 50, randomizer=randomizer)
    said = "Estimates are unbiased, so that one may lie outside \N{MINUS SIGN}10 to 1,200; intervals end there."
    assert said in page.text_unfolded
    assert "Gray: where no true mean can lie" in page.text_unfolded


def test_a_page_says_what_the_mean_is_of_where_answers_are_clipped(tmp_path):
    randomizer = {"kind": "laplace-mean", "epsilon0": 2.0, "lower": 0, "upper": 60}
    said = "Answers outside 0 to 60 count as the nearer end: the truth meant here is the mean"
    assert said not in page_of(tmp_path, [5.0] * 50, randomizer=randomizer).text_unfolded
    assert said in page_of(tmp_path, [5.0] * 50, randomizer=randomizer | {"out_of_range": "clip"}).text_unfolded


def test_a_sampling_error_of_means_that_is_not_seen_is_explained_by_the_reports(tmp_path):
    randomizer = {"kind": "laplace-mean", "epsilon0": 0.2, "lower": -10, "upper": 1200}
    outcomes = (make_outcome([500.0] * 50, randomizer=randomizer, numbers=SeededSource(seed)) for seed in range(50))
    outcome = next(each for each in outcomes if not each.release.estimate.sampling_error.all())
    write_page(outcome, tmp_path)
    text = Page.read((tmp_path / "release.html").read_text(encoding="utf-8")).text
    assert "\N{EN DASH}: the reports differ no more than randomizing makes them" in text
    assert "at or beyond an end of its range" not in text


def test_a_vector_has_a_row_for_each_coordinate_and_the_largest_in_the_picture(tmp_path):
    vectors = np.zeros((300, 60))
    vectors[:, 7] = -1.0
    page = page_of(tmp_path, vectors, randomizer={"kind": "priv-unit", "epsilon0": 4.0, "dimension": 60})
    assert page.errors == []
    assert "Coordinate" in page.text_unfolded
    assert "Of 60 only the 40 largest in size are drawn, with intervals that hold for all 60 together" in page.text
    assert len(page.all("ul", class_="remarks")) == 1


def test_a_release_without_a_shuffle_says_what_stands_beside_each_report(tmp_path):
    page = page_of(tmp_path, [0, 1] * 50, shuffler="none")
    assert "each report is released beside its sender's row number." in page.text_unfolded


def test_nothing_is_said_about_reports_of_a_withdrawn_run(tmp_path):
    page = page_of(tmp_path, [0, 1] * 50, source=SeededSource(1))
    assert DEFINITION not in page.text_unfolded
    assert "A further release" not in page.text_unfolded


def test_a_weak_promise_is_called_weak_and_its_numbers_are_written_out(tmp_path):
    page = page_of(tmp_path, [0, 1] * 50, epsilon0=9.0, shuffler="none")
    text = page.text_unfolded
    assert "Weakly private release" in text
    assert "This is hardly a promise" in text
    assert "a factor of at most 8,104" in text
    assert "names it at most 99.99% of the time" in text
    assert "e+0" not in text


def test_a_second_release_adds_to_the_loss(page):
    assert (
        "A further release about the same people adds to the loss: what is promised here covers this release alone."
        in page
    )


def test_a_sampling_error_that_cannot_be_estimated_is_not_shown_as_zero(tmp_path):
    outcome = make_outcome([0] * 60, epsilon0=0.2, numbers=SeededSource(3))
    assert (outcome.release.estimate.sampling_error == 0).any()
    write_page(outcome, tmp_path)
    page = Page.read((tmp_path / "release.html").read_text(encoding="utf-8"))
    assert "this error cannot be estimated" in page.text
