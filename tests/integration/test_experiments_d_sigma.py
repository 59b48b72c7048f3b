"""Every figure about shuffles inside groups is drawn at a tiny size, and full-size results still say what they said."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # experiments are run from a checkout and never installed

from experiments.d_sigma import data, run, widths  # noqa: E402
from experiments.d_sigma.checking import differing  # noqa: E402
from experiments.d_sigma.mechanisms import MECHANISMS, shuffler_of  # noqa: E402
from experiments.d_sigma.run import FIGURES, FRONTIER, HERE  # noqa: E402
from experiments.running import settings_from  # noqa: E402
from experiments.showing import as_csv, from_csv  # noqa: E402

from shuffledp.people.groups import Groups, order_width  # noqa: E402

EXPECTED = ROOT / "experiments" / "d_sigma" / "expected"
ALL = (*FIGURES, FRONTIER)
FAST = {"fig-5", "fig-9"}
COMMITTED = [name for name in ALL if (EXPECTED / f"{name}.csv").exists()]
OF_FILES = {"fig-4-twitch", "fig-4-acs", "fig-8", FRONTIER}
LONG = {*OF_FILES, "frontier-syn"}
LEARNED = {*OF_FILES, "fig-5", "frontier-syn"}
MOST_LINES = 150


def expected(name):
    return from_csv((EXPECTED / f"{name}.csv").read_text(encoding="utf-8"))


def needs(name):
    if name in OF_FILES and not data.DATA.is_dir():
        pytest.skip("../shared/data is not here")
    if name in LEARNED:
        pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.deep) if name in LONG else name for name in ALL])
def test_a_tiny_run_gives_the_expected_rows(name, tmp_path, capsys, kept):
    needs(name)
    run.main([name, "--tiny", "--check", "--rows-only", "--out", str(tmp_path), "--kept", str(kept)])
    rows = from_csv((tmp_path / f"{name}.csv").read_text(encoding="utf-8"))
    assert list(rows[0]) == list(expected(name)[0])
    assert next(iter(rows[0])) in capsys.readouterr().out


@pytest.mark.parametrize("name", [name if name in FAST else pytest.param(name, marks=pytest.mark.deep) for name in ALL])
def test_a_tiny_run_is_drawn(name, tmp_path, kept):
    needs(name)
    run.main([name, "--tiny", "--out", str(tmp_path), "--kept", str(kept)])
    assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert (tmp_path / f"{name}.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("name", "column", "tiny", "place"),
    [
        ("fig-8", "rho", True, 0),
        ("fig-8", "rho", False, -1),
        ("fig-8", "lambda", False, -1),
        ("fig-8", "vote", True, 0),
        ("fig-5", "8 ways", False, 0),
        ("fig-7", "eta", True, -1),
        ("fig-9", "sensitivity", True, -1),
        ("frontier", "naive", True, -1),
    ],
)
def test_a_wrong_number_is_noticed(name, column, tiny, place):
    rows = run.expected_rows(name, tiny=tiny)
    assert not run.check(name, rows, tiny=tiny)
    wrong = list(rows)
    wrong[place] = rows[place] | {column: rows[place][column] + 0.123}
    assert [column in each for each in run.check(name, wrong, tiny=tiny)] == [True]
    assert run.check(name, rows[1:], tiny=tiny)


def test_a_wrong_error_is_noticed_and_one_of_another_seed_is_not():
    rows = run.expected_rows("fig-8", tiny=True)
    assert rows[-1]["vote error"] > 1e-3
    for factor, wrong in ((14, True), (0.07, True), (1.4, False), (0.5, False)):
        changed = [*rows[:-1], rows[-1] | {"vote error": factor * rows[-1]["vote error"]}]
        assert bool(run.check("fig-8", changed, tiny=True)) is wrong
    assert run.check("fig-8", [*rows[:-1], rows[-1] | {"vote error": None}], tiny=True)


def test_what_two_repetitions_measured_is_held_to_its_range():
    rows = run.expected_rows("fig-8", tiny=True)
    assert rows[-1]["learned"] == 2
    for column, value, wrong in (
        ("lambda", 0.5, False),
        ("lambda", -0.1, True),
        ("lambda", math.nan, True),
        ("bayes", 0.2, False),
        ("bayes", 1.01, True),
        ("bayes error", 0.3, False),
        ("bayes error", -0.3, True),
    ):
        assert bool(run.check("fig-8", [*rows[:-1], rows[-1] | {column: value}], tiny=True)) is wrong


def test_draws_of_other_people_and_machines_are_the_expected_ones_as_often_as_their_errors_say():
    """Of 10,000 pairs with normal errors hardly any is said to differ; nearly all do if one is 24 errors off."""
    draw = np.random.default_rng(5)
    repetitions = 8
    measured = draw.standard_normal((20_000, repetitions)) * 0.02 + 0.5
    means, errors = measured.mean(axis=1), measured.std(axis=1, ddof=1) / np.sqrt(repetitions)
    rows = [
        {"repetitions": repetitions, "vote": mean, "vote error": error}
        for mean, error in zip(means.tolist(), errors.tolist(), strict=True)
    ]
    assert len(differing(rows[:10_000], rows[10_000:], {})) <= 4
    far = [row | {"vote": row["vote"] + 24 * 0.02 / np.sqrt(repetitions)} for row in rows[:1000]]
    assert len(differing(far, rows[10_000:11_000], {})) > 990


def test_what_cannot_be_done_is_said_before_anything_is_computed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(data, "DATA", tmp_path / "nowhere")
    (tmp_path / "file").touch()
    for arguments, words in (
        (["fig-8", "--rows-only"], "SHUFFLEDP_DATA" if importlib.util.find_spec("sklearn") else "scikit-learn"),
        (["fig-9", "--rows-only", "--redraw"], "--redraw: no fig-9.csv"),
        (["fig-9", "--rows-only", "--out", str(tmp_path / "file")], "is no folder"),
    ):
        with pytest.raises(SystemExit):
            run.main(["--out", str(tmp_path / "out"), *arguments])
        assert words in capsys.readouterr().err


def test_settings_of_tiny_runs_replace_the_others_and_the_command_is_short():
    for name in FIGURES:
        full, tiny = settings_from(HERE, name), settings_from(HERE, name, tiny=True)
        assert set(full) <= set(tiny) <= {*full, "size"}
        assert full != tiny
    lines = (ROOT / "experiments" / "d_sigma" / "run.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES


def test_a_table_is_read_as_it_was_written():
    rows = [{"a": 1, "b": 0.5, "c": None, "d": "none", "e": "0123456789" * 10, "f": True}]
    assert from_csv(as_csv(rows)) == rows


def test_the_papers_mechanism_has_one_concentration_from_the_width_of_its_order():
    groups = Groups.from_radius(np.arange(60), 3)
    shuffler = shuffler_of("paper", groups, 2.0)
    prepared = shuffler.prepare()
    width = order_width(groups, prepared.order)
    assert prepared.parameters.tolist() == [2.0 / (width * (width + 1) / 2)]
    assert shuffler.model(60).alpha <= 2.0
    for name in ("mallows", "noisy sort"):
        assert shuffler_of(name, groups, 2.0).model(60).alpha == pytest.approx(2.0)
    with pytest.raises(ValueError, match="groups"):
        shuffler_of("paper", None, 2.0)


def test_planted_windows_have_the_planted_width():
    draw = np.random.default_rng(3)
    groups = widths.planted(80, 9, draw)
    assert order_width(groups, np.random.default_rng(3).permutation(80)) == 8


# ---- what the committed results say ---------------------------------------------------------------------------------


def of(rows, **where):
    """The rows with these values, by mechanism or order."""
    kept = [row for row in rows if all(row[name] == value for name, value in where.items())]
    return {row.get("mechanism") or row["order"]: row for row in kept}


def test_preservation_is_that_of_the_exact_laws():
    """Means by the q-hypergeometric law; 1% quantiles of 2,000 draws from another implementation."""
    rows = expected("fig-7")
    for alpha, width, size, mean, eta in ((1, 30, 2500, 0.74402, 0.7296), (5, 30, 500, 0.74436, 0.7140)):
        row = of(rows, alpha=alpha, width=width, size=size)["paper"]
        assert row["mean"] == pytest.approx(mean, abs=1e-4)
        assert row["eta"] == pytest.approx(eta, abs=0.008)
    for row in rows:
        here = of(rows, **{name: row[name] for name in ("panel", "alpha", "width", "size")})
        assert here["uniform"]["mean"] - 0.01 < here["paper"]["mean"] < here["noisy sort"]["mean"]


def test_breadth_first_orders_are_up_to_three_times_as_wide_as_planted_and_ours_is_nearly_the_best():
    rows = expected("fig-9")
    ratios = [row["width"] / (row["x"] - 1) for row in rows if row["order"] == "bfs" and row["x"] >= 20]
    assert max(ratios) > 3
    best = [row["sensitivity"] / (row["x"] * (row["x"] - 1) / 2) for row in rows if row["order"] == "auto"]
    assert min(best) == 1
    assert np.mean(best) < 1.02


def test_on_geometric_graphs_our_order_has_the_least_sensitivity_and_not_the_least_width():
    rows = expected("fig-10")
    for instance in range(5):
        for x in (0.04, 0.08, 0.16):
            here = of(rows, x=x, instance=instance)
            assert here["auto"]["sensitivity"] == min(row["sensitivity"] for row in here.values())
    assert any(
        row["width"] > of(rows, x=row["x"], instance=row["instance"])["bfs"]["width"]
        for row in rows
        if row["order"] == "auto"
    )


def test_shuffling_inside_ages_halves_rho_and_costs_no_learning():
    rows = expected("fig-8")
    ends = {name: of(rows, mechanism=name)[name] for name in ("none", "uniform")}
    at_once = of(rows, scale=0, alpha=4)
    for name in ("mallows", "noisy sort"):
        assert at_once[name]["rho"] < 0.55 * ends["none"]["rho"]
        assert at_once[name]["lambda"] == pytest.approx(ends["none"]["lambda"], abs=0.03)
    assert at_once["paper"]["lambda"] == pytest.approx(1, abs=0.03)
    assert ends["uniform"]["rho"] == 0
    assert ends["uniform"]["lambda"] == pytest.approx(1, abs=0.03)
    assert of(rows, scale=2, alpha=1024)["noisy sort"]["lambda"] < 0.3
    assert of(rows, scale=2, alpha=16384)["paper"]["lambda"] > 0.8


def test_groups_by_place_keep_what_is_to_be_learned_of_places():
    rows = expected("fig-4-acs")
    none = of(rows, mechanism="none")["none"]
    here = of(rows, scale="place", alpha=4)
    for name in ("mallows", "noisy sort"):
        assert here[name]["rho"] < 0.75 * none["rho"]
        assert here[name]["lambda"] == pytest.approx(none["lambda"], abs=0.03)
    assert here["paper"]["lambda"] == pytest.approx(1, abs=0.03)


def test_coarse_labels_survive_radii_that_hide_fine_ones():
    rows = expected("fig-5")
    none, sort = of(rows, mechanism="none")["none"], of(rows, radius=0.1)["noisy sort"]
    assert sort["2 ways"] > none["2 ways"] - 0.05
    assert sort["8 ways"] < none["8 ways"] / 2


def test_a_surface_through_a_release_tells_warm_from_cool_but_not_the_shades():
    rows = expected("fig-1")
    for name in ("mallows", "noisy sort"):
        row = of(rows, radius=0.05)[name]
        assert row["2 ways"] > 0.88
        assert row["8 ways"] < 0.65
    assert of(rows, mechanism="uniform")["uniform"]["8 ways"] < 0.2


def test_without_a_shuffle_the_bayesian_attack_is_right_as_often_as_reports_are_true():
    for row in expected("frontier"):
        if row["mechanism"] == "none" and row["data"] != "syn":  # its neighbors tell more than a report of eight values
            assert row["bayes"] == pytest.approx(np.exp(2.5) / (1 + np.exp(2.5)), abs=0.005)
        assert row["bayes"] > row["vote"] - 3 * np.hypot(row["bayes error"], row["vote error"]) - 1e-4


@pytest.mark.deep
@pytest.mark.parametrize("name", COMMITTED)
def test_committed_rows_can_be_drawn_again(name, tmp_path):
    assert set(MECHANISMS) > {"none"}
    for extra in EXPECTED.glob(f"{name}-people.json"):
        (tmp_path / extra.name).write_bytes(extra.read_bytes())
    (tmp_path / f"{name}.csv").write_text((EXPECTED / f"{name}.csv").read_text(encoding="utf-8"), encoding="utf-8")
    run.main([name, "--redraw", "--out", str(tmp_path)])
    assert (tmp_path / f"{name}.svg").stat().st_size > 1000
