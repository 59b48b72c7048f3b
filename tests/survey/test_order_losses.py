"""What several columns and releases lose of the order inside groups: the sum, and nothing less, wherever it is told.

Everything is read from what a user gets: ``statement.json``, the pages, and the screen.
"""

import json
import re
from pathlib import Path

import pytest

from cli.running import shuffledp, task_with, toml, write_csv
from documents.reading import Page
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.statement_terms import Kind
from shuffledp.core.statements import Part, PrivacyStatement
from shuffledp.survey import EarlierRelease, Task
from shuffledp.survey.budget import OrderShare, order_in, orders_together

EPSILON0, ALPHA, LARGEST = 2.0, 1.5, 5
GROUPS = {"public": ["km"], "groups": {"columns": ["km"], "radius": 2.0}}
SORT = {"shuffler": {"kind": "noisy-sort", "alpha": ALPHA}, **GROUPS}
BLOCK = '[[value]]\ncolumn = "{}"\nrandomizer = {{kind = "k-rr", epsilon0 = {}, categories = ["No", "Yes"]}}\n'


@pytest.fixture
def town(tmp_path, monkeypatch):
    """Sixty people, one every kilometer of a road: five of them are within two kilometers of each."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    rows = [[km, "Yes" if km % 3 else "No", "No" if km % 2 else "Yes"] for km in range(60)]
    write_csv(tmp_path / "people.csv", ["km", "cheated", "lied"], rows)
    return tmp_path


def task_file(folder: Path, name: str = "task", **changes) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(toml(task_with(name=name, **changes)))
    return path


def both_columns(folder: Path, **changes) -> Path:
    """The task of two columns, with epsilon0 of 2 and of 1."""
    text = toml(task_with(**SORT, **changes))
    text = re.sub(r"(?m)^value = .*\n", "", text)
    text = re.sub(r"(?ms)^\[randomizer\]\n.*?(?=^\[)", "", text)
    tables = text.index("\n[") + 1
    path = folder / "both.toml"
    path.write_text(text[:tables] + BLOCK.format("cheated", 2.0) + BLOCK.format("lied", 1.0) + text[tables:])
    return path


def run(path: Path, output: str, *earlier: str) -> str:
    """Release a task in a folder; what the screen says."""
    options = [each for name in earlier for each in ("--earlier", f"{name}/statement.json")]
    result = shuffledp("run", path, "--input", "people.csv", "--output", output, *options)
    assert (result.code, result.err) == (0, "")
    return " ".join(result.out.split())


def told(folder: str) -> list[PrivacyStatement]:
    """The statements in a folder about the order inside groups."""
    written = json.loads((Path(folder) / "statement.json").read_text())["statements"]
    found = [PrivacyStatement.from_dict(each) for each in written]
    return [each for each in found if isinstance(each.guarantee, DSigmaPrivacy)]


def only_alpha(folder: str, screen: str) -> float:
    """The one alpha that is promised, after checking that file, page and screen agree on it and say nothing less."""
    (order,) = told(folder)
    assert order.kind is Kind.UPPER_BOUND
    assert not any("no less by all together" in remark for remark in order.all_remarks)
    page = Page.read((Path(folder) / "release.html").read_text(encoding="utf-8"))
    on_page = re.findall(r"alpha at most ([0-9.]+)", page.text)
    on_screen = re.findall(r"d-sigma upper-bound of all together: alpha = ([0-9.]+)", screen)
    assert on_screen == [on_page[0]], "the first is the promise, the others are shares of it"
    assert order.guarantee.alpha <= float(on_page[0]) + 1e-9, "rounded up"
    assert float(on_page[0]) == pytest.approx(order.guarantee.alpha, rel=1e-3)
    assert len(re.findall(r"d-sigma [a-z]", screen)) == 1
    return order.guarantee.alpha


def by_reports(*epsilons: float) -> float:
    return LARGEST * sum(epsilons)


# ---- several columns ------------------------------------------------------------------------------------------------


def test_columns_lose_the_sum_wherever_it_is_told(town):
    screen = run(both_columns(town), "out")
    for folder in ("out", "out/cheated", "out/lied"):
        assert only_alpha(folder, screen) == pytest.approx(2 * ALPHA), folder
    (order,) = told("out")
    assert [(part.label, part.statement.guarantee.alpha) for part in order.parts] == [
        ("cheated", pytest.approx(ALPHA)),
        ("lied", pytest.approx(ALPHA)),
    ]
    assert "cheated takes alpha = 1.5" in str(order)
    assert "seen in all the released data together" in str(order)


def test_a_plan_of_two_columns_says_the_sum(town):
    planned = shuffledp("plan", both_columns(town), "--input", "people.csv").out
    assert "d-sigma upper-bound of all together: alpha = 3 " in " ".join(planned.split())


def test_columns_with_answers_of_other_people_are_about_other_groups(town):
    """Who did not answer one column is in no group of it: only randomizing is counted of the other one."""
    rows = [[km, "" if km == 7 else "Yes", "" if km == 40 else "No"] for km in range(60)]
    write_csv(town / "people.csv", ["km", "cheated", "lied"], rows)
    path = both_columns(town, missing="drop")
    assert only_alpha("out", run(path, "out")) == pytest.approx(ALPHA + by_reports(1.0))


# ---- several releases -----------------------------------------------------------------------------------------------


def test_the_same_task_again_loses_twice_and_then_three_times(town):
    path = task_file(town, **SORT)
    run(path, "first")
    assert only_alpha("second", run(path, "second", "first")) == pytest.approx(2 * ALPHA)
    screen = run(path, "third", "second")
    assert only_alpha("third", screen) == pytest.approx(3 * ALPHA)
    assert len(told("third")[0].parts) == 3
    assert "as long as the rows of all releases are the same people in the same order" in str(told("third")[0])


def test_two_columns_twice_lose_four_times_as_much(town):
    path = both_columns(town)
    run(path, "first")
    screen = run(path, "second", "first")
    for folder in ("second", "second/cheated"):
        assert only_alpha(folder, screen) == pytest.approx(4 * ALPHA)


def test_a_release_that_two_others_cover_counts_once(town):
    path = task_file(town, **SORT)
    run(path, "first")
    for name in ("second", "other"):
        run(path, name, "first")
    together = only_alpha("last", run(path, "last", "second", "other"))
    for name, before in (("third", "second"), ("fourth", "third")):
        in_a_row = only_alpha(name, run(path, name, before))
    assert together == pytest.approx(in_a_row)
    assert 3 * ALPHA < together <= 4 * ALPHA


@pytest.mark.parametrize("kind", ["none", "uniform"])
def test_of_a_release_without_groups_only_randomizing_is_counted(town, kind):
    """Without a shuffle everything is told; and who took part in a uniform one is not known."""
    before = task_file(town, "before", shuffler={"kind": kind}, randomizer={"epsilon0": 0.5})
    sha256 = Task.read(before).sha256
    run(before, "before")
    path = task_file(town, **SORT, people={"earlier": [sha256]})
    assert only_alpha("out", run(path, "out", "before")) == pytest.approx(ALPHA + by_reports(0.5))
    assert "only randomizing is counted: epsilon0 for each of the 5 people of the largest group" in str(told("out")[0])


def test_of_a_release_about_other_groups_only_randomizing_is_counted(town):
    before = task_file(town, "before", **(SORT | {"groups": {"columns": ["km"], "radius": 1.0}}))
    run(before, "before")
    path = task_file(town, **SORT, people={"earlier": [Task.read(before).sha256]})
    assert only_alpha("out", run(path, "out", "before")) == pytest.approx(ALPHA + by_reports(EPSILON0))


def test_so_it_is_of_a_chain_that_is_about_other_groups(town):
    """What the chain says of the order is about its own groups, so each of its releases counts by its reports."""
    narrow = SORT | {"groups": {"columns": ["km"], "radius": 1.0}}
    first = task_file(town, "first", **narrow)
    run(first, "first")
    second = task_file(town, "second", **narrow, people={"earlier": [Task.read(first).sha256]})
    run(second, "second", "first")
    path = task_file(town, **SORT, people={"earlier": [Task.read(second).sha256]})
    assert only_alpha("out", run(path, "out", "second")) == pytest.approx(ALPHA + by_reports(EPSILON0, EPSILON0))


def test_remainders_add_up_too(town):
    gaussian = {"kind": "noisy-sort", "alpha": ALPHA, "noise": "gaussian", "delta": 1e-5}
    path = task_file(town, **(SORT | {"shuffler": gaussian}))
    run(path, "first")
    run(path, "second", "first")
    composed = told("second")[0].guarantee
    assert composed.delta == pytest.approx(2e-5 + 1e-6), "both releases' delta, and the one at which profiles are read"
    assert ALPHA < composed.alpha < 2 * ALPHA


def test_a_release_without_groups_says_nothing_of_the_order_whatever_an_earlier_one_said(town):
    before = task_file(town, "before", **SORT)
    run(before, "before")
    path = task_file(town, "after", people={"earlier": [Task.read(before).sha256]})
    screen = run(path, "out", "before")
    assert told("out") == []
    assert "d-sigma" not in screen


def test_a_seeded_release_withdraws_the_sum_too(town):
    path = task_file(town, **SORT)
    run(path, "first")
    result = shuffledp(
        "run", path, "--input", "people.csv", "--output", "out", "--earlier", "first/statement.json", "--seed", "1"
    )
    assert result.code == 0
    (order,) = told("out")
    assert order.guarantee.is_trivial
    assert order.claimed.alpha == pytest.approx(2 * ALPHA)


# ---- what is read of an earlier release -----------------------------------------------------------------------------


def reread(folder: str, change) -> EarlierRelease:
    path = Path(folder) / "statement.json"
    data = json.loads(path.read_text())
    change(data)
    other = path.with_name("changed.json")
    other.write_text(json.dumps(data))
    return EarlierRelease.read(other)


def test_an_order_is_taken_only_if_it_is_said_once_and_as_the_sum_of_all_that_a_release_covers(town):
    path = task_file(town, **SORT)
    run(path, "first")
    run(path, "second", "first")
    assert EarlierRelease.read(Path("second/statement.json")).order.guarantee.alpha == pytest.approx(2 * ALPHA)

    def place(data):
        return next(n for n, each in enumerate(data["statements"]) if each["guarantee"]["type"] == "d-sigma")

    def twice(data):
        data["statements"].insert(1, data["statements"][place(data)])

    def alone(data):
        data["statements"][place(data)] = data["statements"][place(data)]["parts"][0]["statement"]

    def smaller(data):
        data["statements"][place(data)]["guarantee"]["alpha"] = 0.1

    for change in (twice, alone, smaller):
        assert reread("second", change).order is None


def test_a_share_of_which_nothing_is_known_leaves_nothing_to_promise(town):
    path = task_file(town, **SORT)
    run(path, "first")
    release = EarlierRelease.read(Path("first/statement.json"))
    own = OrderShare(label="own", sent=release.order_share.sent, orders=release.order_share.orders)
    weak = release.local.weaken(type(release.local.guarantee)(epsilon=EPSILON0, delta=1e-9))
    other = OrderShare(label="other", sent=(Part(label="other", statement=weak),))
    assert orders_together([own, other], LARGEST, delta=1e-6)[0] == ()
    assert "other may tell any of it" in orders_together([own, other], LARGEST, delta=1e-6)[1][0]
    unsized = OrderShare(label="other", sent=release.order_share.sent)
    assert orders_together([own, unsized], 0, delta=1e-6)[0] == ()
    assert orders_together([unsized], LARGEST, delta=1e-6) == ((), ())
    assert order_in([release.local]) is None


pytestmark = pytest.mark.deep
