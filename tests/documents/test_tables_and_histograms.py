"""Cross tables and histograms on the screen and on the page: numbers where they belong, in few lines."""

import re

import numpy as np
import pytest

from cli.running import shuffledp, toml, write_csv
from documents.reading import Page
from shuffledp import CrossTableAnalyzer, HistogramAnalyzer, KaryRandomizedResponse, Pipeline, UniformShuffler
from shuffledp.analyzers import FrequencySummary
from shuffledp.documents.blocks import Table
from shuffledp.documents.cross_table_document import cross_on_terminal
from shuffledp.documents.document import Document
from shuffledp.documents.estimate_document import estimates_section
from shuffledp.documents.histogram_document import histogram_on_terminal, quantiles_in_words
from shuffledp.documents.page import write_page
from shuffledp.documents.result_document import quote_of, results_of
from shuffledp.documents.words import Scale
from shuffledp.survey import Task

YES_NO = [["No", "Yes"], ["No", "Yes"]]
PAIR = {"columns": ["smokes", "drinks"], "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": YES_NO}}
BINS = {"kind": "oue", "epsilon0": 2.0, "lower": 0, "upper": 100, "bins": 20, "out_of_range": "clip"}
PEOPLE = 3000
COLUMNS = {
    "smokes": ["No", "No", "Yes"] * (PEOPLE // 3),
    "drinks": ["No", "Yes"] * (PEOPLE // 2),
    "age": np.random.default_rng(1).gamma(4, 9, PEOPLE).round().tolist(),
}


def run(task, **changes):
    return Task.from_dict({"name": "survey", "release": {"delta": 1e-6}, **task, **changes}).run(COLUMNS)


def page_of(outcome, folder):
    """The part of the page that has the estimates."""
    write_page(Document(title="survey", sections=(estimates_section(outcome.column),)), folder, "release.html")
    return Page.read((folder / "release.html").read_text())


def summary(size, shares, people=100_000):
    model = KaryRandomizedResponse(epsilon0=2.0, domain_size=size).model
    counts = people * (model.q + np.array(shares) * (model.p - model.q))
    return FrequencySummary(model=model, counts=counts, num_reports=people)


def table_of(blocks):
    return next(block for block in blocks if isinstance(block, Table))


def test_a_page_draws_the_pair_as_a_table_with_margins_and_row_shares(tmp_path):
    page = page_of(outcome := run(PAIR), tmp_path)
    assert not page.errors
    estimate = outcome.column.release.estimate
    scale = Scale.of(estimate)
    crossed, shares = page.all("table", class_="numeric cross")
    for number in (*estimate.estimate, *estimate.margins.estimate):
        assert scale.text(number) in crossed.text
    for number in (*estimate.row_shares.estimate, *estimate.row_shares.lower):
        assert Scale.of(estimate.row_shares).text(number, unit=False) in shares.text
    assert "smokes (rows) by drinks (columns)" in page.text_unfolded
    assert "One report is about both answers of a person together" in page.text_unfolded
    assert "drinks Yes, smokes Yes less smokes No:" in page.text_unfolded
    assert "All 13 estimates as a table" in page.text
    assert not page.all("figure", id="chart-estimates")


def test_a_page_draws_bins_as_bars_after_the_quantiles_in_words(tmp_path):
    page = page_of(outcome := run({"value": "age", "randomizer": BINS}), tmp_path)
    assert not page.errors
    quantiles = outcome.column.release.estimate.quantiles
    ends = f"({quantiles.lower[1]:g} to {quantiles.upper[1]:g})"
    assert f"half below {Scale.of(quantiles).text(quantiles.estimate[1])} {ends}" in page.text_unfolded
    assert "They are made of whole bins, and never finer than these" in page.text_unfolded
    assert page.all("figure", id="chart-estimates")
    assert "Dashed: where a quarter, half and three quarters are below." in page.text
    assert "All 23 estimates as a table" in page.text


@pytest.mark.parametrize("edges", [[0, 10, 20, 30], [0, 18, 25, 100], [-1, 0, 0.5, 1]])
def test_a_histogram_is_drawn_with_its_bins_at_their_places_and_the_area_of_its_bars(edges):
    analyzer = HistogramAnalyzer(edges=edges, quantiles=[0.5])
    drawn = analyzer.estimate(summary(4, [0.25, 0.5, 0.25, 0.0])).plot()
    (axes,) = drawn.figure.axes
    boxes = [bar.get_bbox() for bar in axes.patches]
    np.testing.assert_allclose([box.x0 for box in boxes], edges[:-1])
    areas = np.array([box.width * box.height for box in boxes])
    np.testing.assert_allclose(areas / areas.sum(), [0.25, 0.5, 0.25], atol=1e-9)
    assert ("the area of a bar is its share" in drawn.chart.caption) is (len(set(np.diff(edges))) > 1)


def test_quantiles_are_told_in_words_and_of_whom():
    of = HistogramAnalyzer(edges=[0, 10_000, 20_000, 30_000], quantiles=[0.1, 0.5, 0.75])
    words = quantiles_in_words(of.estimate(summary(3, [0.4, 0.4, 0.2], 10**8)), plain=True)
    assert words == (
        "Of the people, 10% are below 2,500 (0 to 10,000), half below 12,500 (10,000 to 20,000) and three quarters "
        "below 18,750 (10,000 to 20,000)."
    )
    answered = of.estimate(summary(4, [0.2, 0.2, 0.1, 0.5], 10**8))
    assert quantiles_in_words(answered).startswith("Of the people who answered, 10% are below 2,500 (0 to 10,000),")
    none = HistogramAnalyzer(edges=[0, 1, 2], quantiles=[]).estimate(summary(2, [0.5, 0.5]))
    assert quantiles_in_words(none) == ""


def test_a_terminal_has_shares_between_their_edges_or_the_way_to_them():
    few = HistogramAnalyzer(edges=[0, 18, 65, 100]).estimate(summary(4, [0.25, 0.5, 0.125, 0.125]))
    text = list(histogram_on_terminal(few, Scale.of(few)))[-1].text
    assert text.endswith("95% intervals): 0 [25.0] 18 [50.0] 65 [12.5] 100; 3 [12.5]")
    many = HistogramAnalyzer(edges=range(41)).estimate(summary(40, [1 / 40] * 40))
    text = list(histogram_on_terminal(many, Scale.of(many)))[-1].text
    assert text == "Histogram of 40 bins: on the page and in estimates.csv"


@pytest.mark.parametrize(("columns", "with_ends"), [(2, True), (8, False), (30, None)])
def test_a_terminal_has_a_cross_table_with_intervals_without_or_the_list_as_there_is_room(columns, with_ends):
    categories = [["No", "Yes"], [f"{place:02}" for place in range(columns)]]
    analyzer = CrossTableAnalyzer(categories=categories, columns=("smokes", "region"))
    estimate = analyzer.estimate(summary(2 * columns, [0.5 / columns] * 2 * columns))
    found = cross_on_terminal(estimate, Scale.of(estimate))
    if with_ends is None:
        assert found is None
        return
    caption, table, *_ = blocks = list(found)
    assert caption.text.startswith("smokes by region, % of all people, 95% intervals in ")
    assert caption.text.endswith("brackets" if with_ends else "estimates.csv")
    assert ("(" in table.rows[0][1]) is with_ends
    assert [column.head for column in table.columns] == ["", *categories[1], "all"]
    assert [row[0] for row in table.rows] == ["No", "Yes", "all"]
    assert table is table_of(blocks)


@pytest.mark.parametrize("task", [PAIR, {"value": "age", "randomizer": BINS}], ids=["pair", "bins"])
def test_a_question_of_either_kind_takes_at_most_12_lines_of_a_terminal(tmp_path, monkeypatch, task):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_csv(tmp_path / "answers.csv", list(COLUMNS), zip(*COLUMNS.values(), strict=True))
    (tmp_path / "task.toml").write_text(toml({"name": "survey", **task, "release": {"delta": 1e-6}}))
    done = shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "out", screen=True)
    assert done.code == 0
    lines = re.sub(r"\x1b\[[\d;]*m", "", done.out).splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 80
    assert any("smokes by drinks" in line or "between edges" in line for line in lines)
    asked = "columns smokes and drinks" if "columns" in task else "column age"
    assert f"3,000 reports about the private {asked}" in Page.read((tmp_path / "out" / "release.html").read_text()).text


def test_a_page_of_several_columns_shows_both(tmp_path):
    blocks = [PAIR, {"column": "age", "randomizer": BINS}]
    outcome = run({"value": blocks})
    outcome.save(tmp_path / "out")
    page = Page.read((tmp_path / "out" / "release.html").read_text())
    assert not page.errors
    assert len(page.all("table", class_="numeric cross")) == 2
    assert page.all("figure", id="chart-estimates-age")
    assert "Of the people, a quarter are below" in page.text_unfolded


def test_the_quantiles_are_the_main_results_of_a_histogram_and_its_quotation():
    release = run({"value": "age", "randomizer": BINS}).column.release
    (results,) = results_of([("age", release)])
    assert [row[0] for row in results.rows] == ["A quarter below", "Half below", "Three quarters below"]
    assert results.rows[1][1] == Scale.of(release.estimate.quantiles).text(release.estimate.quantiles.estimate[1])
    assert results.rest == "and 20 more below"
    quoted = quote_of([("age", release)], release.statements[0], source="2026-01-02")
    assert quoted.startswith("Among 3,000 people, a quarter are below ")
    assert " in age, estimated with 95% intervals" in quoted


def test_a_release_without_a_task_shows_and_saves_both(tmp_path):
    for number, (randomizer, analyzer, values) in enumerate(
        (
            ({"categories": YES_NO}, CrossTableAnalyzer(categories=YES_NO), [("No", "Yes")] * 500),
            ({"domain_size": 4}, HistogramAnalyzer(edges=range(5)), [0, 1, 2, 3] * 500),
        )
    ):
        pipeline = Pipeline(
            randomizer=KaryRandomizedResponse(epsilon0=2.0, **randomizer),
            shuffler=UniformShuffler(),
            analyzer=analyzer,
        )
        release = pipeline.run(values, delta=1e-6)
        release.save(tmp_path / str(number))
        page = Page.read((tmp_path / str(number) / "release.html").read_text())
        assert not page.errors
        found = page.all("table", class_="numeric cross") or page.all("figure", id="chart-estimates")
        assert found
        assert "Quantity" in (html := release._repr_html_()) or "(margin)" in html


def test_the_main_results_of_a_pair_say_whose_answers_they_are():
    outcome = run(PAIR).column
    assert (
        results_of([("", outcome.release)])[0].title == "Estimated frequency of smokes and drinks, with 95% intervals"
    )


def test_the_outcome_of_a_column_is_one_short_line():
    assert re.fullmatch(r"ColumnOutcome\(smokes and drinks: frequency from [^\n]{,300}\)", repr(run(PAIR).column))
