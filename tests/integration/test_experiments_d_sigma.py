"""What experiments about shuffles inside groups are made of, and what their results at full size say."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # experiments are run from a checkout and never installed

from experiments.d_sigma import widths  # noqa: E402
from experiments.d_sigma.mechanisms import shuffler_of  # noqa: E402
from experiments.d_sigma.run import FAMILY  # noqa: E402
from experiments.showing import from_csv  # noqa: E402

from shuffledp.people.groups import Groups, order_width  # noqa: E402


def committed(name, *, tiny):
    folder = FAMILY.folder / "expected" / ("tiny" if tiny else "")
    return from_csv((folder / f"{name}.csv").read_text(encoding="utf-8"))


def expected(name):
    return committed(name, tiny=False)


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
    rows = committed(name, tiny=tiny)
    assert not FAMILY.differing(name, rows, tiny=tiny)
    wrong = list(rows)
    wrong[place] = rows[place] | {column: rows[place][column] + 0.123}
    assert [column in each for each in FAMILY.differing(name, wrong, tiny=tiny)] == [True]


def test_a_wrong_error_is_noticed_and_one_of_another_seed_is_not():
    rows = committed("fig-8", tiny=True)
    assert rows[-1]["vote error"] > 1e-3
    for factor, wrong in ((14, True), (0.07, True), (1.4, False), (0.5, False)):
        changed = [*rows[:-1], rows[-1] | {"vote error": factor * rows[-1]["vote error"]}]
        assert bool(FAMILY.differing("fig-8", changed, tiny=True)) is wrong
    assert FAMILY.differing("fig-8", [*rows[:-1], rows[-1] | {"vote error": None}], tiny=True)


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
