"""Printed theorems about network shuffling: their numbers to the digit, and graphs where they are false."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from shuffledp.protocols.network.theorems.network_limits import first_hop_delta
from soundness.exact_walks import GRAPHS, neighbors_of, positions, stationary, step_of

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are run from a checkout and never installed

from experiments.network import printed_formulas
from experiments.network.bounds import printed_simplified, printed_squares, squares_bound
from experiments.network.printed_formulas import FLAGS, largest_local_delta, printed_all, printed_single

VECTORS = json.loads((Path(__file__).parents[1] / "golden" / "network.json").read_text(encoding="utf-8"))
PRINTED, CURVES = VECTORS["printed_formulas"], VECTORS["table4_curves"]


def gap_of(name):
    """Alpha: 1 less the second largest modulus of an eigenvalue."""
    degrees = np.array([len(each) for each in neighbors_of(name)], dtype=float)
    scaled = np.sqrt(degrees)[:, None] * step_of(name) / np.sqrt(degrees)
    return 1 - np.sort(np.abs(np.linalg.eigvalsh((scaled + scaled.T) / 2)))[-2]


@pytest.mark.parametrize("case", PRINTED["cases"], ids=lambda case: f"eps0={case['eps0']}")
def test_printed_epsilons(case):
    given = {"epsilon0": case["eps0"], "num_users": case["n"], "squares": case["S"], "delta": case["delta"]}
    every = printed_all(**given, delta2=case["delta2"])
    assert every.epsilon == pytest.approx(case["thm53"], rel=1e-10)
    assert every.delta == pytest.approx(case["delta"] + case["delta2"], rel=1e-12)
    assert every.theorem == "5.3"
    symmetric = printed_all(**given, delta2=case["delta2"], spread=2.0)
    assert (symmetric.theorem, symmetric.epsilon) == ("5.4", pytest.approx(case["thm54_rho2"], rel=1e-10))
    corrected = printed_all(**given, delta2=case["delta2"], corrected=True)
    assert corrected.epsilon == pytest.approx(case["thm53_corrected_eps1"], rel=1e-10)
    single = printed_single(**given)
    assert (single.epsilon, single.delta) == (pytest.approx(case["thm55"], rel=1e-10), case["delta"])
    assert printed_single(**given, symmetric=True).theorem == "5.6"


def test_printed_epsilons_with_a_local_delta():
    (case,) = PRINTED["approx"]
    given = {"epsilon0": case["eps0"], "num_users": case["n"], "squares": case["S"], "delta": case["delta"]}
    every = printed_all(**given, delta2=case["delta2"], delta1=case["delta1"])
    assert (every.epsilon, every.delta) == pytest.approx(tuple(case["thm53"]), rel=1e-10)
    single = printed_single(**given, delta1=case["delta1"])
    assert (single.epsilon, single.delta) == pytest.approx(tuple(case["thm55"]), rel=1e-10)
    largest = largest_local_delta(epsilon0=case["eps0"], delta1=case["delta1"])
    assert largest == pytest.approx(case["delta0_max"], rel=1e-9)


@pytest.mark.parametrize("name", CURVES["data"])
def test_curves_with_the_printed_irregularity(name):
    data = CURVES["data"][name]
    for row in data["rows"]:
        given = {"epsilon0": row["eps0"], "num_users": data["n"], "squares": data["Gamma"] / data["n"], "delta": 1e-6}
        assert printed_all(**given, delta2=1e-6).epsilon == pytest.approx(row["thm53_all"], rel=1e-4)
        assert printed_single(**given).epsilon == pytest.approx(row["thm55_single"], rel=1e-4)


@pytest.mark.parametrize("degree", VECTORS["k_regular_curves_n1e4"]["data"])
def test_numbers_of_regular_graphs(degree):
    """5.3 with S from eq. (7), which is right for them; the others with the exact S of the worst start."""
    data = VECTORS["k_regular_curves_n1e4"]["data"][degree]
    for row in data["rows"]:
        given = {"epsilon0": 1.0, "num_users": 10_000, "delta": 1e-6}
        squares = printed_squares(num_users=10_000, irregularity=1.0, gap=data["alpha"], num_rounds=int(row["t"]))
        every = printed_all(**given, squares=squares, delta2=1e-6).epsilon
        symmetric = printed_all(**given, squares=row["maxS"], delta2=1e-6, spread=row["rho"]).epsilon
        single = printed_single(**given, squares=row["maxS"]).epsilon
        if row["t"] > 0:
            assert every == pytest.approx(row["thm53"], rel=1e-3)
        assert symmetric == pytest.approx(row["thm54"], rel=1e-3)
        assert single == pytest.approx(row["thm55"], rel=1e-3)


@pytest.mark.parametrize(
    ("users", "irregularity", "epsilon0", "every", "single"),
    [
        (9498, 7.584, 0.2, 0.1155, 0.0402),
        (9498, 7.584, 1.0, 4.787, 0.702),
        (22470, 5.0064, 1.0, 2.778, 0.369),
        (28281, 3.5633, 1.0, 2.314, 0.277),
        (33696, 36.866, 1.0, 3.788, 0.824),
    ],
    ids=["Twitch, weak", "Twitch", "Facebook", "Deezer", "Enron"],
)
def test_numbers_of_real_graphs_at_stationarity(users, irregularity, epsilon0, every, single):
    """With the printed irregularity, which counts one end of each edge: half of the edges' information."""
    given = {"epsilon0": epsilon0, "num_users": users, "squares": irregularity / users, "delta": 1e-6}
    assert printed_all(**given, delta2=1e-6).epsilon == pytest.approx(every, rel=1e-3)
    assert printed_single(**given).epsilon == pytest.approx(single, rel=2e-3)


# ---- where they are false --------------------------------------------------------------------------------------------


def test_equation_7_is_false_on_a_triangle_with_a_pendant():
    start, rounds = 2, 4
    law, weights = positions("paw", rounds)[start], stationary("paw")[0]
    assert len(neighbors_of("paw")[start]) == 3
    squares, irregularity = float(law @ law), 4 * float(weights @ weights)
    printed = printed_squares(num_users=4, irregularity=irregularity, gap=gap_of("paw"), num_rounds=rounds)
    assert squares - weights @ weights == pytest.approx(0.08719, abs=5e-6)
    assert printed - weights @ weights == pytest.approx(0.07952, abs=5e-6)
    assert squares > printed
    assert "0.08719" in FLAGS["eq. (7)"]
    assert "0.07952" in FLAGS["eq. (7)"]


@pytest.mark.parametrize("name", [name for name in GRAPHS if name in ("K3", "K4", "K5", "C5", "paw")])
def test_the_corrected_equation_7_holds_from_all_starts(name):
    weights = stationary(name)[0]
    for rounds in range(16):
        for start, law in enumerate(positions(name, rounds)):
            bound = squares_bound(
                largest=weights.max(), start=weights[start], gap=gap_of(name) - 1e-12, num_rounds=rounds
            )
            assert law @ law <= bound * (1 + 1e-12)


def exact_loss_of_the_pendant(users, epsilon0, epsilon):
    """A complete graph of users - 1 and one who knows one of them: that one's report alone there after one round."""
    others = users - 2  # who may move to the node that the pendant knows
    return (1 - 1 / others) ** others * first_hop_delta(share=1.0, epsilon0=epsilon0, epsilon=epsilon)


@pytest.mark.parametrize("case", VECTORS["counterexample_thm53"]["cases"], ids=lambda case: f"n={case['n']}")
def test_theorem_5_3_is_false_on_a_complete_graph_with_a_pendant(case):
    users, epsilon0 = case["n"], case["eps0"]
    printed = printed_all(
        epsilon0=epsilon0, num_users=users, squares=case["S_bound"], delta=case["delta"], delta2=case["delta"]
    )
    assert printed.epsilon == pytest.approx(case["printed_eps"], rel=1e-6)
    lost = exact_loss_of_the_pendant(users, epsilon0, printed.epsilon)
    assert lost == pytest.approx(case["exact_delta_lower"], rel=1e-3)
    assert lost > 100 * printed.delta
    assert "complete graph" in printed.flag


def test_what_is_lost_there_is_enumerated():
    """On four people: a triangle and a pendant, of whom the victim is the pendant, after one round."""
    from soundness.exact_deltas import response
    from soundness.exact_walks import exact_delta

    found = exact_delta(response(2, 1.0), positions("paw", 1), 3, None, np.array([0.5]))[0]
    neighbors = neighbors_of("paw")
    alone = math.prod(1 - 1 / len(neighbors[person]) for person in neighbors[2] if person != 3)
    assert found >= alone * first_hop_delta(share=1.0, epsilon0=1.0, epsilon=0.5) - 1e-15


def test_the_simplified_form_needs_an_epsilon0_of_an_eighth():
    """800 and 40 come from 8 epsilon0 <= 1; at epsilon0 = 1 the coefficient is e^8 (e^8 - 1)."""
    simple = printed_simplified(epsilon0=1.0, squares=1e-4, delta=1e-6)
    formula = printed_single(epsilon0=8.0, num_users=10_000, squares=1e-4, delta=1e-6)
    assert formula.epsilon > 1e5 * simple.epsilon
    assert simple.flag.startswith("false")
    inside = printed_simplified(epsilon0=1 / 8, squares=1e-4, delta=1e-6)
    assert inside.epsilon >= printed_single(epsilon0=1.0, num_users=10_000, squares=1e-4, delta=1e-6).epsilon
    assert not inside.flag.startswith("false")


def test_every_printed_bound_has_a_flag_and_no_statement():
    for theorem in ("5.3", "5.4", "5.5", "5.6", "eq. (7)"):
        assert len(FLAGS[theorem]) > 40
    assert not hasattr(printed_formulas, "PrivacyStatement")


pytestmark = pytest.mark.deep  # long: formulas for graphs of real size
