"""What an audit says, on its page and in short on the terminal."""

import re

import pytest

from cli.running import shuffledp, task_with, toml, write_csv, write_task
from cli.test_audit import SMALL


def page_of(folder, task, *options):
    """The text of the page of an audit, without marks."""
    page = folder / "audit.html"
    found = shuffledp("audit", task, "--trials", 200, "--seed", 987654321, "--output", page, *options)
    assert found.code == 0, found.err
    html = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return found, html, " ".join(re.sub("<[^>]+>", " ", html).split())


def test_the_page_says_what_was_audited(tmp_path):
    shuffler = {"kind": "imperfect", "imperfection": 0.5}
    task = write_task(tmp_path, **SMALL | {"shuffler": shuffler})
    found, html, text = page_of(tmp_path, task)
    sha256 = shuffledp("audit", task, "--trials", 200, "--json").json["task_sha256"]
    for said in (
        "Randomizer k-rr, epsilon0 = 1 ",
        "Shuffler imperfect, imperfection = 0.5, ",
        "People 5 ",
        "Runs that count, with each of two data sets 200 ",
        "Confidence of all limits together 0.99 ",
        "Seed given, and not shown",
        f"the task {sha256} ",
        "release. delta 0.01",  # it may be broken after the point
    ):
        assert said in text, said
    assert "987654321" not in html + found.out


def test_no_curve_is_said_to_be_out_of_bounds_for_noise(tmp_path):
    _, _, text = page_of(tmp_path, write_task(tmp_path, **SMALL))
    assert "No attack may leave" not in text
    assert "stays in the shaded area up to noise" in text


def test_losses_are_named_by_their_guarantee(tmp_path):
    changes = {"public": ["town"], "groups": {"column": "town"}, "shuffler": {"kind": "mallows", "alpha": 1.0}}
    task = write_task(tmp_path, **SMALL | changes | {"people": None})
    people = write_csv(tmp_path / "people.csv", ["town"], [[town] for town in "aabb"])
    found, html, text = page_of(tmp_path, task, "--input", people, "-v")
    printed = " ".join(found.out.split())
    assert "claimed alpha <= 1 at delta = 0; " in printed
    assert "shows alpha >= " in printed
    assert "alpha at most 1" in text
    heads = re.findall(r'<th scope="col">(.*?)</th>', html)
    assert heads == ["Guarantee", "Claimed", "Shown"]


@pytest.mark.parametrize("delta", [0.01, 1.23456e-7], ids=["short", "long"])
def test_each_paragraph_is_preceded_by_a_line_that_says_it_in_short(tmp_path, monkeypatch, delta):
    monkeypatch.setenv("COLUMNS", "80")
    task = write_task(tmp_path, **SMALL | {"release": {"delta": delta}})
    found = shuffledp("audit", task, "--trials", 400, "--seed", 1, "-v", "--color", "never", screen=True)
    claimed = r"claimed epsilon (<=|>=|=) [\d.]+ at delta = [\de.-]+"
    shown = r"(strongest attack shows >= [\d.]+ \(99%\)|not audited)"
    paragraphs = re.findall(rf"{claimed};\s+{shown}\n(CONSISTENT|NOT-AUDITED): ", found.out)
    assert len(paragraphs) == len(re.findall(r"^(CONSISTENT|NOT-AUDITED): ", found.out, flags=re.MULTILINE)) == 3
    assert max(map(len, found.out.splitlines())) <= 80


def test_people_and_rounds_are_counted_in_words(tmp_path):
    one = write_task(tmp_path, **SMALL | {"people": {"expected": 1}, "shuffler": {"kind": "none"}})
    assert "Audit of k-rr without a shuffle with 1 person:" in shuffledp("audit", one, "--trials", 50, "-v").out
    shares = task_with(**SMALL | {"people": {"expected": 20}})
    shares["protocol"] = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 1}
    shares["shuffler"] = {"kind": "imperfect", "imperfection": 0.5}
    del shares["randomizer"]
    one.write_text(toml(shares), encoding="utf-8")
    told = " ".join(shuffledp("audit", one, "--trials", 50, "-v").out.split())
    assert re.search(r"through \d+ imperfect rounds side by side with 20 people", told)
    assert "inf" not in told
    assert "local-dp, without a bound" in told


def test_a_modulus_beyond_attacks_comes_with_the_way_out(tmp_path):
    shares = task_with(**SMALL | {"people": {"expected": 5000}})
    shares["protocol"] = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 1, "precision": 10_000}
    del shares["randomizer"]
    (tmp_path / "task.toml").write_text(toml(shares), encoding="utf-8")
    told = " ".join(shuffledp("audit", tmp_path / "task.toml", "--trials", 50).out.split())
    assert "take a modulus of at most 4,194,304; here modulus=" in told
    assert "A smaller precision, or fewer people" in told
