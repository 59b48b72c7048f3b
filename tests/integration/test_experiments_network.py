"""What experiments about network shuffling are made of, and what their results at full size say."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # experiments are run from a checkout and never installed

from experiments.network import bounds, fig_7, fig_8, fig_9, table_1  # noqa: E402
from experiments.network.graphs import graph_of, laws_after, raw_edges  # noqa: E402
from experiments.network.table_4 import first_ends_only  # noqa: E402
from experiments.running import DATA  # noqa: E402

from shuffledp.protocols.network.laws.walk_distributions import position_distribution  # noqa: E402

EXPECTED = ROOT / "experiments" / "network" / "expected"
DELTA = 2e-6
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")


def expected(name: str) -> list[dict[str, str]]:
    with (EXPECTED / f"{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def row_of(name: str, **keys: object) -> dict[str, str]:
    (found,) = [row for row in expected(name) if all(row[key] == str(value) for key, value in keys.items())]
    return found


def test_people_are_followed_with_exact_laws():
    graph = graph_of("regular 4 60")
    starts = np.array([3, 17])
    for rounds, laws in laws_after(graph, starts, [1, 4]):
        for column, start in enumerate(starts):
            exactly = position_distribution(graph, int(start), rounds)
            assert laws[:, column] == pytest.approx(exactly, rel=1e-12, abs=1e-15)


def test_one_report_in_the_place_of_anybodys_is_a_uniform_shuffle():
    people = 1000
    found = bounds.single(np.full(people, 1 / people), 1.0, 1e-6)
    assert found == pytest.approx(bounds.uniform(1.0, people, 1e-6), rel=2e-3)
    assert bounds.single(np.eye(1, people)[0], 1.0, 1e-6) == pytest.approx(1.0, abs=1e-4)


def test_laws_of_a_given_irregularity_have_it():
    for irregularity in (1.0, 5.0, 20.0):
        law = fig_8.law_of(10_000, irregularity)
        assert law.sum() == pytest.approx(1)
        assert 10_000 * law @ law == pytest.approx(irregularity, rel=1e-6)


def test_allocations_only_lower_chances():
    law = fig_8.law_of(200, 3.0)
    drawn = fig_7.allocated(law, 0)
    assert (drawn <= law).all()
    assert drawn.sum() < 0.7


@needs_data
@pytest.mark.parametrize(("name", "printed"), [("Twitch", 7.58400), ("Facebook", 5.00636), ("Deezer", 3.56328)])
def test_printed_irregularities_come_from_first_ends_alone(name, printed):
    graph = graph_of(name)
    assert first_ends_only(graph, raw_edges(name)[1]) == pytest.approx(printed, abs=6e-6)
    assert graph.irregularity != pytest.approx(printed, abs=0.1)


# ---- what the committed results say ---------------------------------------------------------------------------------


def test_the_rates_that_follow_from_the_theorems_are_not_the_printed_one():
    slopes = {
        name: float(row_of("table-1", bound=name, epsilon0="2")["growth with epsilon0"]) for name in table_1.NAMES
    }
    assert slopes["5.3 printed"] > 3
    assert slopes["5.5 printed"] > 2
    assert [slopes[name] for name in table_1.RATES] == pytest.approx([1, 3, 0.5, 1.5], rel=1e-4)
    assert slopes["ours"] < 1


def test_printed_and_true_irregularities():
    truth = {"Twitch": 7.9152, "Facebook": 4.01811, "Deezer": 2.46751, "Enron": 13.2655}
    for name, irregularity in truth.items():
        row = row_of("table-4", graph=name)
        assert float(row["irregularity"]) == pytest.approx(irregularity, rel=1e-5)
        assert float(row["each edge for its first end only"]) == pytest.approx(float(row["printed"]), rel=2e-5)
    assert row_of("table-4", graph="Google")["irregularity"] == ""
    twitch = row_of("table-4", graph="Twitch")
    assert float(twitch["expected without a report"]) == pytest.approx(5456.34, abs=0.01)
    assert twitch["below the mean degree"] == "7080"


@pytest.mark.parametrize("name", ["fig-6", "fig-7"])
def test_curves_after_many_rounds_are_what_the_formulas_and_the_accountant_say_today(name):
    row = row_of(name, graph="Google", epsilon0="1")
    people, irregularity = 855_802, 20.642
    for column, value in bounds.printed(1.0, people, irregularity / people, DELTA).items():
        assert float(row[column]) == pytest.approx(value, rel=1e-5)
    assert float(row["all, ours"]) == pytest.approx(bounds.uniform(1.0, people, DELTA), rel=1e-4)


def test_what_is_promised_is_far_below_the_print_and_never_below_what_is_possible():
    for name in ("fig-4", "fig-5", "rounds"):
        for row in expected(name):
            limit = float(row["uniform shuffle"])
            assert limit * (1 - 1e-3) <= float(row["all, ours"]) <= 1
            assert float(row["single, ours"]) <= 1
    for row in expected("fig-6"):
        assert float(row["5.3 printed"]) > 10 * float(row["all, ours"])


def test_a_person_who_is_followed_is_never_worse_off_than_what_everybody_is_promised():
    for name in ("fig-4", "rounds"):
        for row in expected(name):
            ours, uniform = float(row["single, ours"]), float(row["uniform shuffle"])
            if ours > float(row["all, ours"]) * (1 - 1e-9) and ours < 1:
                continue  # promised by the other theorem
            assert float(row["single, median person"]) <= max(ours * 1.02, 5 * uniform)


def settings_of_fig_9(setting):
    return [row for row in expected("fig-9") if row["setting"] == setting]


def test_mean_estimation_has_as_many_dummies_as_expected_and_not_as_printed():
    for row in expected("fig-9"):
        assert float(row["dummies expected"]) == pytest.approx(5456.34, abs=0.5)
        assert abs(float(row["dummies seen"]) - 5456.34) < 100
        errors = [float(row[f"squared error, {each}"]) for each in fig_9.NAMES]
        if row["setting"] == "ours":  # the error grows as the squared ratio of reports and people among them
            assert errors[1] / errors[0] == pytest.approx((9498 / (9498 - 5456)) ** 2, rel=0.15)
            assert errors[2] / errors[0] == pytest.approx((9498 / (9498 - 7080)) ** 2, rel=0.15)


def test_with_the_data_of_the_print_single_errs_hardly_more_at_one_epsilon0_and_less_at_one_printed_epsilon():
    rows = settings_of_fig_9("printed")
    for row in rows:
        everything, one, wrong = (float(row[f"squared error, {each}"]) for each in fig_9.NAMES)
        assert 0.9 < one / everything < (1.25 if float(row["epsilon0"]) <= 2 else 2.6)
        assert 0.9 < wrong / one < 1.6
    epsilons, errors = (
        np.log([float(row[column]) for row in rows]) for column in ("5.5 printed", "squared error, single")
    )
    for row in rows:  # between the points of "single", at the epsilon that is printed for a point of "all"
        epsilon, error = float(row["5.3 printed"]), float(row["squared error, all"])
        if np.log(epsilon) < epsilons[-1]:
            assert np.exp(np.interp(np.log(epsilon), epsilons, errors)) < 0.7 * error


def test_dummies_of_the_print_are_in_the_middle_of_its_people():
    draw = np.random.default_rng(2)
    low, high, dummies = (fig_9.around(center, 1_000, 200, draw) for center in (1, 10, 5))
    middle = (low.mean(axis=0) + high.mean(axis=0)) / 2
    assert np.linalg.norm(middle) == pytest.approx(0.851, abs=0.005)
    assert np.linalg.norm(dummies.mean(axis=0) - middle) == pytest.approx(0.13, abs=0.01)
