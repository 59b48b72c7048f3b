"""What values show of themselves: in a notebook, on one line, as a data frame, as a picture, and as a folder."""

import builtins
import csv
import importlib
import json
import os
import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shuffledp as sdp
from cli.running import stub_pages, task_with
from documents.reading import Page
from shuffledp.attacks import audit
from shuffledp.attacks.guessing_game import guess_answers
from shuffledp.core import upward_calls
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.statements import Statements
from shuffledp.core.upward_calls import ABOVE, DOCUMENTS, SAVED, Shown
from shuffledp.documents.release_document import release_top, write_release
from shuffledp.files import new_folder, stages
from shuffledp.leakage import compare_ways, examine_target
from shuffledp.survey import Task
from shuffledp.survey.task_audit import audit_task
from shuffledp.testing import SeededSource

HOSTILE = "<script>alert(1)</script>"
PIPELINE = sdp.Pipeline(
    randomizer=sdp.KaryRandomizedResponse(epsilon0=2.0, categories=["No", "Yes"]),
    shuffler=sdp.UniformShuffler(),
    analyzer=sdp.FrequencyAnalyzer(),
)
ANSWERS = ["No"] * 830 + ["Yes"] * 170


@pytest.fixture(scope="module")
def release():
    return PIPELINE.run(ANSWERS, delta=1e-6)


@pytest.fixture(scope="module")
def values(release):
    """One value of each class that shows itself."""
    small, few = PIPELINE.model(20), PIPELINE.run(["No"] * 20, delta=1e-3)
    task = Task.from_dict(task_with(release={"delta": 0.1}))
    examined = examine_target(small)
    report = audit(PIPELINE, few.statements[:1], num_users=20, trials=400)
    found = [
        release,
        release.estimate,
        Statements(release.statements),
        *release.statements,
        task.run({"cheated": ANSWERS}),
        sdp.bracket(PIPELINE.model(1000), delta=1e-6),
        sdp.Graph.random_regular(4, 100),
        sdp.Groups.from_lists([[0, 1], [1, 0], [2]]),
        report,
        report.findings[0],
        audit_task(task, num_users=5, trials=50),
        guess_answers(PIPELINE, 0.9, num_users=3, trials=100),
        examined,
        examined.found,
        compare_ways(small),
    ]
    return {f"{type(each).__name__} {place}": each for place, each in enumerate(found)}


@pytest.fixture(scope="module")
def pages(values):
    return {name: value._repr_html_() for name, value in values.items()}


def test_everything_that_has_a_document_is_shown(values):
    classes = {each.__name__ for value in values.values() for each in type(value).__mro__}
    assert set(DOCUMENTS) <= classes
    for function in (*ABOVE.values(), *DOCUMENTS.values(), *(each for both in SAVED.values() for each in both)):
        module, _, name = function.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))


def test_a_notebook_shows_every_value_without_a_picture_or_a_script(pages):
    for name, html in pages.items():
        assert html.count('<div class="shuffledp-top') == 1, name
        assert Page.read(html).errors == [], name
        assert not re.search(r"<script|<svg|<img|https?://(?!www\.w3\.org)", html), name
        styles, content = html.split("</style>")
        assert styles.count("{") == styles.count("}")
        assert len(re.sub(r"<[^>]+>|\s+", " ", content).strip()) > 20, name


def test_styles_stay_inside(pages):
    for html in pages.values():
        rules = html.split("<style>")[1].split("</style>")[0]
        depth, outside = 0, ""
        for letter in rules:
            depth += (letter == "{") - (letter == "}")
            outside += letter if depth == 0 else ""
        selectors = [each for each in outside.replace("}", "\n").split("\n") if each.strip()]
        assert {each.strip() for each in selectors} == {
            ".shuffledp-top.shuffledp-top.shuffledp-top",
            "@media screen and (prefers-color-scheme: dark)",
        }


def test_every_value_is_on_one_line(values):
    for name, value in values.items():
        line = repr(value)
        assert line.startswith(f"{type(value).__name__}("), name
        assert "\n" not in line
        assert len(line) < 400, name


def test_lines_say_what_matters(release, values):
    lines = {name.split()[0]: repr(value) for name, value in values.items()}
    number = f"{release.estimate.estimate[0]:.4g}"
    assert lines["Frequencies"].startswith(f"Frequencies(frequency from 1,000 reports: No {number}, Yes ")
    assert lines["Release"].startswith(f"Release(frequency from 1,000 reports: No {number}, Yes ")
    assert re.search(
        r"; central-dp exact: epsilon = 0\.3234, delta = 1e-06 \(binary-worst\); 2 more\)$", lines["Release"]
    )
    assert lines["Statements"] == "Statements(central-dp exact: epsilon = 0.3234, delta = 1e-06 (binary-worst); 2 more)"
    assert repr(Statements(())) == "Statements(none)"
    assert repr(release.statements[-1]) == "PrivacyStatement(local-dp exact: epsilon = 2 (local-randomizer))"
    assert lines["Bracket"].startswith("Bracket(epsilon lies between 0.32")
    assert lines["Outcome"].startswith("Outcome(risk survey: cheated; central-dp")
    many = replace(
        release.estimate, target=tuple("abcdef"), estimate=np.zeros(6), standard_error=np.ones(6), sampling_error=None
    )
    assert repr(many) == "Frequencies(frequency from 1,000 reports: a 0, b 0, c 0, d 0, 2 more)"


def test_a_release_shows_the_numbers_of_its_page(release):
    html = release._repr_html_()
    assert release.statements[0].sentence_of(release.statements[0].guarantee) in Page.read(html).text
    assert "the shuffler shuffles as stated" in html
    assert f"{100 * release.estimate.estimate[1]:.1f}%" in html


def test_text_is_shown_as_text_and_a_withdrawn_release_as_one():
    pipeline = replace(PIPELINE, randomizer=sdp.KaryRandomizedResponse(epsilon0=2.0, categories=["No", HOSTILE]))
    seeded = pipeline.run(["No"] * 30 + [HOSTILE] * 9, delta=1e-3, source=SeededSource(1))
    html = seeded._repr_html_()
    assert HOSTILE not in html
    assert "&lt;script&gt;" in html
    assert "<strong>WITHDRAWN</strong>" in html
    assert "withdrawn; would have been central-dp" in repr(seeded)
    assert "WITHDRAWN" not in PIPELINE.run(["No"] * 30, delta=1e-3)._repr_html_()


def test_without_the_libraries_of_pages_a_notebook_shows_the_line(release, monkeypatch):
    monkeypatch.setattr(upward_calls, "DOCUMENTS", {"Release": "nothing_of_this_name.at_all"})
    assert release._repr_html_() is None
    monkeypatch.setattr(upward_calls, "DOCUMENTS", {"Release": "shuffledp.nothing_of_this_name.at_all"})
    with pytest.raises(ModuleNotFoundError):
        release._repr_html_()


def test_a_class_is_shown_as_its_base_is():
    class Remark(Shown):
        def __str__(self):
            return "one\n\ntwo"

    assert repr(Remark()) == "Remark(one two)"
    assert re.search(r"<p>\s*one</p>\s*<p>\s*two</p>", Remark()._repr_html_())


# ---- a data frame ---------------------------------------------------------------------------------------------------

COLUMNS = ["target", "statistic", "level", "sampling_error", "standard_error", "estimate", "lower", "upper"]


def test_an_estimate_is_a_frame_of_the_library_that_is_in_use(release, monkeypatch):
    frame = release.estimate.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == COLUMNS
    assert frame["estimate"].tolist() == release.estimate.estimate.tolist()
    monkeypatch.delitem(sys.modules, "pandas")
    assert isinstance(release.estimate.to_frame(), pl.DataFrame)


def test_without_either_library_the_frame_is_refused_with_both_names(release, monkeypatch):
    def absent(name, *rest):
        if name.split(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return find(name, *rest)

    find = builtins.__import__
    monkeypatch.setattr("shuffledp.core.estimates.import_module", absent)
    with pytest.raises(ModuleNotFoundError, match="needs pandas or polars; neither is installed"):
        release.estimate.to_frame()


def test_regions_have_columns_and_covariances_none(release):
    rows = replace(
        release.estimate, where=({"region": 3}, {"region": 4}), covariance=np.diag(release.estimate.standard_error**2)
    )
    assert list(rows.to_frame().columns) == ["where_region", *COLUMNS]
    assert rows.to_frame()["where_region"].tolist() == [3, 4]


@pytest.mark.parametrize("where", [None, ({"place of work": "north"}, {"place of work": "south"})])
def test_a_frame_shows_the_interval_on_a_terminal_of_80_letters(release, monkeypatch, where):
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((80, 24)))
    frame = replace(release.estimate, statistic="frequency (weighted) by region", where=where).to_frame()
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        shown = str(frame)
    assert shown.splitlines()[0].split()[-2:] == ["lower", "upper"]
    assert all(len(line) <= 80 for line in shown.splitlines()[:3])
    lower, upper = map(float, shown.splitlines()[1].split()[-2:])
    assert (lower, upper) == pytest.approx((release.estimate.lower[0], release.estimate.upper[0]), abs=1e-5)


# ---- a picture and a folder -----------------------------------------------------------------------------------------


def test_a_picture_shows_and_saves_itself(release, tmp_path):
    picture = release.estimate.plot()
    assert "<svg" in picture._repr_svg_()
    assert "Estimated frequency with 95% intervals" in picture._repr_svg_()
    assert 'style="max-width: 100%; height: auto"' in picture._repr_svg_()
    assert repr(picture) == "Drawn('Estimated frequency with 95% intervals')"
    assert picture.figure.axes
    picture.save(tmp_path / "estimates.svg")
    assert (tmp_path / "estimates.svg").read_text() == picture._repr_svg_()
    with pytest.raises(InvalidParameterError, match=r"ending must be one of '.svg'"):
        picture.save(tmp_path / "estimates.png")


def test_a_release_in_memory_is_saved_whole_or_not_at_all(release, tmp_path, monkeypatch):
    release.save(tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    names = {"release.html", "estimates.csv", "statement.json", "estimates.svg"}
    assert {each.name for each in folder.iterdir()} == names
    said = json.loads((folder / "statement.json").read_text())
    assert said["statements"] == [each.to_dict() for each in release.statements]
    assert said["model"] == release.model.to_dict()
    rows = list(csv.DictReader((folder / "estimates.csv").read_text().splitlines()))
    assert [row["target"] for row in rows] == ["No", "Yes"]
    page = Page.read((folder / "release.html").read_text(encoding="utf-8"))
    assert [each.text for each in page.all("h2")][:2] == ["In short", "Estimates"]
    with pytest.raises(InvalidParameterError, match="folder must be a folder that does not exist yet; got folder="):
        release.save(folder)  # in Python there is no --force
    monkeypatch.setattr("shuffledp.documents.page.write_page", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        release.save(tmp_path / "broken")
    assert [each.name for each in tmp_path.iterdir()] == ["new"]


def test_a_seeded_release_is_marked_in_every_file(tmp_path):
    PIPELINE.run(ANSWERS, delta=1e-6, source=SeededSource(3)).save(tmp_path / "out")
    for name, mark in (("release.html", "WITHDRAWN"), ("estimates.svg", "WITHDRAWN"), ("estimates.csv", '"seeded"')):
        assert mark in (tmp_path / "out" / name).read_text(), name
    assert json.loads((tmp_path / "out" / "statement.json").read_text())["seeded"] is True


def test_the_outcome_of_a_task_is_saved_as_the_command_writes_it_less_the_view(tmp_path, monkeypatch):
    stub_pages(monkeypatch)
    blocks = [{"column": name, "randomizer": task_with()["randomizer"]} for name in ("cheated", "smokes")]
    tasks = {"one": Task.from_dict(task_with()), "two": Task.from_dict(task_with(value=blocks, randomizer=None))}
    for name, task in tasks.items():
        outcome = task.run({"cheated": ANSWERS, "smokes": ANSWERS}, source=SeededSource(4))
        outcome.save(tmp_path / name)
        (tmp_path / f"{name}.csv").write_text("cheated,smokes\n" + "".join(f"{each},{each}\n" for each in ANSWERS))
        with new_folder(tmp_path / f"{name}-by-command") as folder:
            write_release(stages.run(task, tmp_path / f"{name}.csv", folder, source=SeededSource(4)), folder)
        command = files_of(tmp_path / f"{name}-by-command")
        own = {file: content for file, content in command.items() if "release.parquet" not in file}
        assert files_of(tmp_path / name) == own
        assert len(own) == {"one": 3, "two": 8}[name]


def files_of(folder):
    """What each file holds, less digests of files."""
    found = {}
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        said = file.read_text() if file.suffix != ".parquet" else ""
        if file.name == "statement.json":
            said = {key: value for key, value in json.loads(said).items() if key != "files"}
        found[file.relative_to(folder).as_posix()] = said
    return found


def test_the_top_is_of_the_document_of_the_page(release, tmp_path):
    release.save(tmp_path / "out")
    page = (tmp_path / "out" / "release.html").read_text(encoding="utf-8")
    top = release_top(release)
    assert top.kicker in page
    assert f"<h1>{top.title}</h1>" in page
    assert all(item in Page.read(page).text for item in release.statements[0].needs)
