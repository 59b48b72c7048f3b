"""What is shown of regions: one interval for one number, wherever it stands, and nothing that its size has chosen."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import shuffledp as sdp
from cli.running import shuffledp, task_with, write_csv, write_task
from documents.reading import Page
from shuffledp.analyzers.exact_intervals import holders_between
from shuffledp.core.estimates import SHARES, Estimate
from shuffledp.documents.blocks import Picture
from shuffledp.documents.charts.chart import Spans
from shuffledp.documents.document import Document
from shuffledp.documents.terminal import whole_lines
from shuffledp.protocols.strata.documents.strata_document import strata_sections
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.survey import Task
from shuffledp.testing import SeededSource

SIZES = {"a": 23, "b": 41, "c": 64, "d": 100}
ANSWERS = [f"answer {number:02}" for number in range(12)]
INTERVAL = re.compile(r"(-?[\d.]+)% to (-?[\d.]+)%$")


def people_of(sizes, answers, *, weights=(1.0,), seed=5):
    """Rows of region, weight and answer; all answers are as frequent."""
    draw = np.random.default_rng(seed)
    return [
        [region, float(draw.choice(weights)), str(draw.choice(answers))]
        for region, size in sizes.items()
        for _ in range(size)
    ]


def told_of_regions(outcome):
    return Document(sections=tuple(strata_sections(outcome)))


def on_screen(outcome):
    """By answer and region: the estimate and the ends of its interval, in percent, as a terminal shows them."""
    lines = whole_lines(told_of_regions(outcome)).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("answer ") and "interval" in line)
    found = {}
    for line in lines[first + 1 :]:
        if (ends := INTERVAL.search(line)) is None:
            break
        answer, region, _, middle = re.split(r"\s{2,}", line[: ends.start()].strip())
        found[answer, region] = tuple(map(float, (middle.rstrip("%"), *ends.groups())))
    return found


def drawn_in(outcome):
    """By answer and region: the ends of the lines of the picture."""
    pictures = [each for section in strata_sections(outcome) for each in section.blocks if isinstance(each, Picture)]
    found = {}
    for panel in pictures[0].chart.panels:
        answer = panel.x.label.split(": ")[1].removesuffix(", share of people")
        (spans,) = (mark for mark in panel.marks if isinstance(mark, Spans))
        for row, low, high in zip(spans.at, spans.low, spans.high, strict=True):
            found[answer, panel.y.names[row]] = (low, high)
    return found


def rows_by(frame_rows):
    return {(each["target"], each["region"]): each for each in frame_rows}


@pytest.mark.parametrize("weights", [None, pytest.param((0.5, 1.0, 2.5), marks=pytest.mark.deep)])
def test_a_regions_interval_is_one_wherever_it_stands(tmp_path, weights):
    answers = ["No", "Yes"] if weights else ["No", "Perhaps", "Yes"]
    sizes = {name: 3 * size for name, size in SIZES.items()} if weights else SIZES  # in a class there are 23 to 100
    rows = people_of(sizes, answers, weights=weights or (1.0,))
    write_csv(tmp_path / "people.csv", ["region", "w", "cheated"], rows)
    keys = {"weight": "w", "weight_classes": 3} if weights else {}
    randomizer = {"kind": "k-rr", "epsilon0": 1.0, "categories": answers}
    release = {"delta": 1e-3, "minimum_batch": 15}
    task = write_task(tmp_path, by="region", **keys, randomizer=randomizer, release=release)
    screen = shuffledp("run", task, "--input", tmp_path / "people.csv", "--output", tmp_path / "out").out
    said = json.loads((tmp_path / "out" / "statement.json").read_text())
    in_json = rows_by([each | each["where"] for each in said["estimates"] if "where" in each])
    with (tmp_path / "out" / "estimates.csv").open(newline="") as file:
        in_csv = rows_by(
            [each | {"region": each["where"].split(": ")[1]} for each in csv.DictReader(file) if each["where"]]
        )
    page = Page.read((tmp_path / "out" / "release.html").read_text(encoding="utf-8")).text
    assert set(in_json) == set(in_csv) == {(answer, region) for answer in answers for region in sizes}
    for (answer, region), row in in_json.items():
        ends = row["lower"], row["upper"]
        assert 0 <= ends[0] < ends[1] <= 1
        assert tuple(float(in_csv[answer, region][end]) for end in ("lower", "upper")) == ends
        low, high = (f"{100 * end:.1f}%" for end in ends)
        middle = f"{100 * row['estimate'] + 0.0:.1f}%"
        shown = re.search(rf"^{answer} +{region} +{sizes[region]} +(.*)$", screen, re.MULTILINE)
        assert shown is not None
        assert shown[1].replace("-0.0%", "0.0%").split() == [middle, low, "to", high]
        typeset = " ".join(each.replace("-", "\N{MINUS SIGN}") for each in (middle, low, high))
        assert f"{region} {sizes[region]} {answer} {typeset}" in " ".join(page.split())


@pytest.mark.parametrize("weights", [None, (0.5, 1.0, 2.5)], ids=["equal", "weighted"])
def test_picture_screen_and_frame_have_the_intervals_of_the_estimate(weights):
    answers = ["No", "Perhaps", "Yes"]
    rows = people_of(SIZES, answers, weights=weights or (1.0,))
    table = {name: [row[place] for row in rows] for place, name in enumerate(("region", "w", "cheated"))}
    keys = {"weight": "w", "weight_classes": 2} if weights else {}
    task = Task.from_dict(
        task_with(
            by="region",
            **keys,
            randomizer={"kind": "k-rr", "epsilon0": 1.0, "categories": answers},
            release={"delta": 1e-3, "minimum_batch": 5},
        )
    )
    outcome = task.run(table).column
    regions = outcome.shuffle_result.estimate
    assert isinstance(regions, Estimate)
    frame = regions.to_frame()
    screen, drawn = on_screen(outcome), drawn_in(outcome)
    assert len(regions.target) == len(frame) == len(screen) == len(drawn) == 12
    for row in range(len(frame)):
        name = frame["target"][row], frame["where_region"][row]
        ends = frame["lower"][row], frame["upper"][row]
        assert ends == (regions.lower[row], regions.upper[row])
        assert drawn[name] == pytest.approx([100 * end for end in ends])
        assert screen[name][1:] == pytest.approx([100 * end for end in ends], abs=0.051)


def test_intervals_of_few_reports_are_those_of_the_exact_test_cut_where_shares_end():
    answers = list(range(6))
    regions = np.repeat(list(SIZES), list(SIZES.values()))
    values = np.random.default_rng(2).integers(0, 2, len(regions))  # four of six answers are nobody's
    randomizer = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=len(answers))
    pipeline = sdp.Pipeline(
        randomizer=randomizer,
        shuffler=sdp.StratifiedShuffler(Strata.of({"region": regions}, by="region")),
        analyzer=sdp.StratifiedAnalyzer(analyzer=sdp.FrequencyAnalyzer(), by="region"),
    )
    release = pipeline.run(values, delta=1e-3, source=SeededSource(1))
    found = release.estimate.regions
    expected = []
    for place, size in enumerate(SIZES.values()):
        reports = release.view.reports.take(np.flatnonzero(release.view.labels == place))
        counts = randomizer.model.support_counts(reports.columns)
        low, high = holders_between(counts, size, randomizer.model.p, randomizer.model.q, 0.95)
        expected += list(zip(low / size, high / size, found.estimate[6 * place : 6 * place + 6], strict=True))
    assert (found.estimate < 0).any()
    for (low, high, middle), lower, upper in zip(expected, found.lower, found.upper, strict=True):
        assert lower == max(min(low, middle), 0.0)
        assert upper == min(max(high, middle), 1.0)
    alone = sdp.FrequencyAnalyzer().estimate(sdp.FrequencyAnalyzer().summarize(release.view))
    assert ((alone.lower >= 0) & (alone.upper <= 1)).all()  # everybody's intervals by the same rule


def test_an_interval_that_ends_where_shares_do_covers_no_less_and_is_never_empty():
    middle = np.array([-0.2, -0.01, 0.02, 0.5, 0.99, 1.3])
    wide = Estimate(
        statistic="frequency",
        target=tuple("abcdef"),
        estimate=middle,
        standard_error=np.full(6, 0.05),
        num_reports=100,
    )
    inside = replace(wide, possible=SHARES)
    assert (inside.estimate == middle).all()
    assert (inside.lower >= 0).all()
    assert (inside.upper <= 1).all()
    assert (inside.upper - inside.lower > 0.05).all()
    assert (inside.nearest == [0, 0, 0.02, 0.5, 0.99, 1]).all()
    for truth in np.linspace(0, 1, 201):
        covered = (wide.lower <= truth) & (truth <= wide.upper)
        assert ((inside.lower <= truth) & (truth <= inside.upper))[covered].all()


# ---- what is shown is not chosen by its size ------------------------------------------------------------------------

EVEN = {"categories": ANSWERS, "epsilon0": 2.0, "kind": "k-rr"}


def coverage(runs, sizes):
    """Shares of intervals that hold the truth: of those on a screen, and of the answer that differs most."""
    rows = people_of(sizes, ANSWERS)
    table = {"region": [row[0] for row in rows], "cheated": [row[2] for row in rows]}
    counted = {(answer, region): 0 for answer in ANSWERS for region in sizes}
    for region, _, answer in rows:
        counted[answer, region] += 100 / sizes[region]
    task = Task.from_dict(task_with(by="region", randomizer=EVEN, release={"delta": 1e-3, "minimum_batch": 5}))
    shown, extreme = [], []
    for run in range(runs):
        outcome = task.run(table, source=SeededSource(run)).column
        found = {name: low <= counted[name] <= high for name, (_, low, high) in on_screen(outcome).items()}
        assert set(found) == set(counted)
        shown += found.values()
        regions, overall = outcome.shuffle_result.estimate, outcome.release.estimate
        apart = (regions.estimate.reshape(-1, 12) - overall.estimate) / regions.standard_error.reshape(-1, 12)
        most = ANSWERS[int(np.argmax((apart**2).sum(axis=0)))]
        extreme += [holds for (answer, _), holds in found.items() if answer == most]
    return np.mean(shown), np.mean(extreme)


def test_intervals_on_the_screen_cover_and_those_of_an_answer_chosen_for_its_differences_would_not():
    shown, extreme = coverage(10, dict.fromkeys("abcd", 1500))
    assert shown >= 0.94
    assert extreme < 0.92


@pytest.mark.deep
def test_intervals_on_the_screen_cover_in_many_runs():
    shown, extreme = coverage(200, dict.fromkeys("abcd", 1500))
    assert 0.945 <= shown <= 0.985
    assert extreme < 0.9


@pytest.mark.parametrize(
    ("answers", "regions", "said"),
    [
        (12, 4, None),
        (20, 4, "Shown are the first 12 of 20 answers as the task orders them; estimates.csv has all."),
        (2, 15, "Shown are the 12 of 15 regions with most people; estimates.csv has all."),
    ],
)
def test_the_screen_leaves_out_by_order_and_by_people_alone(answers, regions, said):
    names = [f"answer {number:02}" for number in range(answers)]
    sizes = {f"r{number:02}": 30 + number for number in range(regions)}
    rows = people_of(sizes, names)
    randomizer = {"categories": names, "epsilon0": 4.0, "kind": "k-rr"}
    task = Task.from_dict(task_with(by="region", randomizer=randomizer, release={"delta": 1e-2, "minimum_batch": 5}))
    table = {"region": [row[0] for row in rows], "cheated": [row[2] for row in rows]}
    outcome = task.run(table, source=SeededSource(1)).column
    text = whole_lines(told_of_regions(outcome))
    assert (said in text) if said else ("Shown are" not in text)
    kept = list(sizes)[-12:]  # of most people
    assert list(on_screen(outcome)) == [
        (answer, region) for answer in names[: 48 // len(kept[:regions])] for region in kept
    ]
    assert {answer for answer, _ in drawn_in(outcome)} == set(names)


def test_a_task_in_python_prints_its_regions_and_hands_them_out():
    rows = people_of(SIZES, ["No", "Yes"])
    table = {"region": [row[0] for row in rows], "cheated": [row[2] for row in rows]}
    task = Task.from_dict(task_with(by="region", release={"delta": 1e-3, "minimum_batch": 5}))
    outcome = task.run(table)
    assert outcome.regions is outcome.column.regions is outcome.column.shuffle_result.estimate
    shown = str(outcome)
    assert f"cheated: {outcome.column.release.estimate}\n\ncheated: {outcome.regions}" in shown
    assert all(f"{answer} (region {region})" in shown for answer in ("No", "Yes") for region in SIZES)
    assert all(statement.in_short in shown for statement in outcome.statements)
    everybody = Task.from_dict(task_with(release={"delta": 1e-3})).run(table)
    assert everybody.regions is None
