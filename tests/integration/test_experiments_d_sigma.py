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

from shuffledp.protocols.d_sigma.people.assignment import Groups  # noqa: E402
from shuffledp.protocols.d_sigma.people.sensitivity import order_width  # noqa: E402


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
    kept = {(row["panel"], row["width"], row["size"]): row["eta"] for row in rows if row["mechanism"] == "paper"}
    assert kept["size", 30, 2500] - kept["size", 30, 500] > 0.2
    assert kept["size", 30, 5000] - kept["size", 30, 2500] < 0.04
    assert kept["width", 300, 8000] == pytest.approx(0.8, abs=0.005)


def test_breadth_first_orders_exceed_the_printed_factor_and_ours_are_the_best():
    rows = expected("fig-9")
    ratios = [row["width"] / row["best width"] for row in rows if row["order"] == "bfs"]
    assert max(ratios) > 3.4
    assert all(row["best width"] == row["x"] - 1 for row in rows)
    for row in rows:
        if row["order"] == "auto":
            assert row["sensitivity"] == row["best sensitivity"]


def test_on_an_interval_our_order_is_the_best_and_breadth_first_twice_as_wide():
    rows = expected("fig-10")
    for row in rows:
        assert row["width"] >= row["best width"] >= row["mean group"] - 1
        if row["order"] == "auto":
            assert (row["width"], row["sensitivity"]) == (row["best width"], row["best sensitivity"])
    for people, width, least in ((1000, 0.08, 2.3), (500, 0.16, 1.9)):
        here = [row for row in rows if (row["people"], row["x"]) == (people, width)]
        means = {order: np.mean([row["width"] for row in here if row["order"] == order]) for order in ("bfs", "random")}
        assert least * here[0]["best width"] < means["bfs"] < means["random"]


def test_shuffling_inside_ages_leaves_two_thirds_of_the_vulnerable_and_costs_no_learning():
    """Rho with one permutation; with fresh ones it is halved, and after a uniform shuffle chance is left or nothing."""
    rows = expected("fig-8")
    ends = {name: of(rows, mechanism=name)[name] for name in ("none", "uniform")}
    assert ends["none"]["rho"] == pytest.approx(0.728, abs=1e-3)
    assert ends["uniform"]["rho"] == pytest.approx(0.2318, abs=1e-4)
    assert ends["uniform"]["rho fresh"] < 1e-8
    at_once = of(rows, scale=0, alpha=4)
    for name in ("mallows", "noisy sort", "gaussian sort"):
        assert at_once[name]["rho"] == pytest.approx(0.511, abs=3e-3)
        assert at_once[name]["rho fresh"] == pytest.approx(0.368, abs=3e-3)
        assert at_once[name]["lambda"] == pytest.approx(ends["none"]["lambda"], abs=0.03)
    assert at_once["paper"]["lambda"] == pytest.approx(1, abs=0.03)
    assert ends["uniform"]["lambda"] == pytest.approx(1, abs=0.03)
    later = {alpha: of(rows, scale=2, alpha=alpha) for alpha in (256, 1024, 16384)}
    assert later[256]["gaussian sort"]["lambda"] < later[1024]["noisy sort"]["lambda"] + 0.05 < 0.3
    assert later[16384]["paper"]["lambda"] > 0.8


def test_of_everybody_on_adult_a_uniform_shuffle_makes_more_people_vulnerable_than_none():
    rows = {(row["data"], row["shuffle"]): row for row in expected("rho")}
    assert rows["adult whole", "uniform"]["rho"] == pytest.approx(0.743, abs=1e-3)
    assert rows["adult whole", "uniform"]["rho fresh"] == pytest.approx(0.759, abs=1e-3)
    assert rows["adult whole", "none"]["rho"] < 0.7 < rows["adult whole", "none"]["naive"]
    for data, none, cells, fresh in (("adult", 0.728, 0.511, 0.368), ("acs", 0.590, 0.532, 0.418)):
        assert rows[data, "none"]["rho"] == pytest.approx(none, abs=1e-3)
        assert rows[data, "cells"]["rho"] == pytest.approx(cells, abs=1e-3)
        assert rows[data, "cells"]["rho fresh"] == pytest.approx(fresh, abs=1e-3)


def test_algorithm_1_displaces_the_people_of_adult_nearly_as_far_as_a_uniform_shuffle():
    """The erratum; the displacements themselves are golden values."""
    rows = expected("fig-8-displacement")
    shares = {(row["radius"], row["alpha"]): row["share"] for row in rows if row["figure"] == "fig-8"}
    golden = {0: 0.967452, 1: 0.996314, 2: 0.998649, 5: 0.999710}
    assert {radius: shares[radius, 4] for radius in golden} == pytest.approx(golden, abs=1e-6)
    places = {row["places"]: row["share"] for row in rows if row["figure"] == "fig-4"}
    assert places == pytest.approx({50: 0.930, 100: 0.729, 200: 0.318, 400: 0.091}, abs=1e-3)


def test_a_million_people_along_a_line_are_the_first_of_whom_a_map_is_left_and_neighborhoods_are_hidden():
    rows = expected("geography")
    million, plane = of(rows, groups="line", people=1_000_000), of(rows, groups="plane")
    ours, ends = million["mallows, delta"], (million["none"], million["uniform"])
    assert ours["lambda"] == pytest.approx(0.108, abs=0.003)
    assert ours["lambda near"] == pytest.approx(0.864, abs=0.005)
    assert ours["share"] == pytest.approx(0.048, abs=0.001)
    assert [round(each["rho"], 2) for each in ends] == [0.90, 0.23]
    assert ours["rho"] - million["regions"]["rho"] < 0.03  # what is found out beyond the laws of regions
    assert million["mallows"]["lambda"] > million["noisy sort"]["lambda"] > 3 * ours["lambda"]
    for people in (10_000, 30_000, 100_000):
        assert min(row["lambda"] for name, row in of(rows, people=people).items() if name in ours_of(rows)) > 0.8
    assert plane["mallows, delta"]["share"] > 0.8
    assert plane["mallows, delta"]["lambda"] > 0.9


def ours_of(rows):
    """The names of shuffles near an order."""
    return {row["mechanism"] for row in rows} - {"none", "regions", "uniform"}


def test_two_possible_answers_halve_alpha_and_not_what_people_are_promised():
    for row in expected("letters"):
        if row["letters"] == 2:
            assert row["alpha of people"] == pytest.approx(2 * row["alpha"], rel=0.05)
        if not row["letters"]:
            assert row["alpha of people"] == row["alpha"]


def test_groups_by_place_keep_what_is_to_be_learned_of_places():
    rows = expected("fig-4-acs")
    none = of(rows, mechanism="none")["none"]
    here = of(rows, scale="place", alpha=4)
    for name in ("mallows", "noisy sort", "gaussian sort"):
        assert here[name]["rho"] == pytest.approx(0.532, abs=3e-3)
        assert here[name]["rho fresh"] < 0.75 * none["rho fresh"]
        assert here[name]["lambda"] == pytest.approx(none["lambda"], abs=0.03)
    assert here["paper"]["lambda"] == pytest.approx(1, abs=0.03)


def test_what_is_exact_agrees_with_what_permutations_were_drawn_for():
    """Groups of one year of age and of one place are shuffled nearly uniformly at alpha = 4."""
    exact = {(row["data"], row["shuffle"]): row for row in expected("rho")}
    for name, scale in (("fig-8", 0), ("fig-4-acs", "place")):
        row = of(expected(name), scale=scale, alpha=4)["mallows"]
        for column in ("rho", "rho fresh", "vote"):
            assert row[column] == pytest.approx(exact[row["data"], "cells"][column], abs=2e-3)


def test_coarse_labels_survive_radii_that_hide_fine_ones():
    rows = expected("fig-5")
    none, sort = of(rows, mechanism="none")["none"], of(rows, radius=0.1)["noisy sort"]
    assert sort["2 ways"] > none["2 ways"] - 0.05
    assert sort["8 ways"] < none["8 ways"] / 2
    wide = of(rows, radius=0.2)
    assert wide["gaussian sort"]["2 ways"] > 0.8
    assert wide["gaussian sort"]["8 ways"] < 0.4
    assert wide["paper"]["2 ways"] < 0.55


def test_a_surface_through_a_release_loses_shades_first_then_crescents_and_keeps_warm_apart_from_cool():
    rows = expected("fig-1")
    small, large = (of(rows, radius=radius)["noisy sort"] for radius in (0.05, 0.1))
    assert small["8 ways"] < 0.65
    assert small["4 ways"] > 0.7
    assert large["4 ways"] < 0.55
    assert min(small["2 ways"], large["2 ways"]) > 0.85
    assert of(rows, radius=0.05)["mallows"]["2 ways"] > 0.88
    assert of(rows, radius=0.05)["paper"]["2 ways"] < 0.6
    assert of(rows, mechanism="uniform")["uniform"]["8 ways"] < 0.2


def test_without_a_shuffle_the_bayesian_attack_is_right_as_often_as_reports_are_true():
    for row in expected("frontier"):
        if row["mechanism"] == "none" and row["data"] != "syn":  # its neighbors tell more than a report of eight values
            assert row["bayes"] == pytest.approx(np.exp(2.5) / (1 + np.exp(2.5)), abs=0.005)
        assert row["bayes"] > row["vote"] - 0.02
