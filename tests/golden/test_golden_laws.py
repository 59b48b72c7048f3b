"""Laws of permutations and positions come out as computed independently of this library."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from shuffledp import laws

VALUES = json.loads(Path(__file__).with_name("laws.json").read_text(encoding="utf-8"))


def near(value, rel=1e-12):
    return pytest.approx(value, rel=rel, abs=0)


def rows(block):
    return pytest.mark.parametrize("row", VALUES[block], ids=str)


def zero_based(key):
    return np.array(VALUES["convention_one_based"][key]) - 1


@pytest.mark.parametrize("block", ["law_sigma_star_n3", "law_sigma_star_n3b", "law_sigma_star_n4"])
def test_the_law_of_a_shuffle_around_a_reference_order(block):
    entry = VALUES[block]
    law = laws.law_around(laws.mallows_law(len(entry["sigma0"]), entry["theta"]), entry["sigma0"])
    for permutation, chance in entry["law"]:
        assert law[tuple(permutation)] == near(chance)


def test_the_worked_example_of_appendix_a10_and_the_wrong_composition():
    order, hat = zero_based("sigma0"), zero_based("hat")
    ranks = np.argsort(order)[hat]  # hat holds owners, w the ranks that they have
    found = laws.shuffle_around(ranks, order)
    assert found.tolist() == zero_based("sigma_star").tolist()
    assert found.tolist() != zero_based("wrong_composition").tolist()
    assert np.argsort(order)[hat].tolist() == ranks.tolist()
    assert sum(a > b for k, a in enumerate(ranks) for b in ranks[k + 1 :]) == 5


@rows("kendall_stats")
def test_the_moments_of_inversions(row):
    found = laws.kendall_inversions(row["n"], row["theta"])
    assert found == (near(row["inv_mean"], 1e-11), near(row["inv_var"], 1e-10))


@rows("log_psi")
def test_normalizing_constants(row):
    found = math.exp(laws.log_partition(row["n"], row["theta"], distance=row["metric"]))
    assert found == near(row["psi"])


@rows("hamming_fixed_points_n5")
def test_the_number_of_items_that_moved(row):
    law = laws.mallows_law(5, row["theta"], distance="hamming")
    moved = [0.0] * 6
    for permutation, chance in law.items():
        moved[sum(place != item for place, item in enumerate(permutation))] += chance
    assert moved == pytest.approx(row["p_h"], rel=1e-12, abs=1e-16)


@rows("hamming_delta")
def test_theorem_a4_corrected(row):
    found = laws.preservation_delta(laws.hamming_lost_law(row["n"], row["theta"], row["l"]), row["eta"])
    assert row["delta"] <= found <= row["delta"] * (1 + 2e-6)


def test_the_ceiling_of_theorem_a4_promises_too_much():
    row = VALUES["hamming_ceil_bug"]
    law = laws.hamming_lost_law(row["n"], row["theta"], row["l"])
    assert laws.preservation_delta(law, row["eta"]) >= row["true_delta"]
    ceiling = math.ceil((1 - row["eta"]) * row["l"])
    assert law[ceiling + 1 :].sum() == near(row["paper_ceil_k"], 1e-9)
    assert laws.most_lost(row["l"], row["eta"]) == ceiling - 1


@rows("cayley_J")
def test_the_chain_of_cayley(row):
    assert laws.cayley_lost_law(row["n"], row["gamma"], row["l"]) == pytest.approx(row["law"], rel=1e-12)


@rows("kendall_corner")
def test_the_q_hypergeometric_law(row):
    found = laws.kendall_corner_law(row["n"], row["theta"], row["a"], row["b"])
    assert found == pytest.approx(row["p"], rel=1e-12)


@rows("kendall_preservation_n10000")
def test_the_mean_share_that_an_interval_keeps(row):
    start = (row["n"] - row["l"]) // 2
    found = laws.kendall_kept_in_interval(row["n"], row["theta"], start, start + row["l"])
    assert found / row["l"] == near(row["exact_mean"], 1e-9)


DISPLACED = VALUES["kendall_displacement"]


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=pytest.mark.deep if row["n"] > 10_000 else ()) for row in DISPLACED],
    ids=[f"{row['n']} {row['theta']:.3g}" for row in DISPLACED],
)
def test_the_mean_displacement_of_kendalls_law(row):
    """By the q-hypergeometric law of how many cross each place."""
    found = laws.kendall_mean_displacement(row["n"], row["theta"])
    assert found == pytest.approx(row["displacement"], abs=row["tolerance"])


@rows("laplace_two")
def test_two_positions_change_places(row):
    assert laws.noisy_sort_law([0.0, row["d"]])[1, 0] == near(row["p_swap"])


@pytest.mark.parametrize("block", ["laplace_order_law_a", "laplace_order_law_b"])
def test_the_law_of_a_laplace_sort(block):
    law = laws.noisy_sort_law(VALUES[block]["t"])
    for permutation, chance in VALUES[block]["law"]:
        assert law[tuple(permutation)] == near(chance)


@rows("laplace_sort_loss")
def test_the_loss_of_a_laplace_sort_and_its_bound(row):
    assert laws.d_sigma_loss(laws.noisy_sort_law(row["t"]), [row["G"]]) == near(row["exact"])
    assert laws.sort_spreads(row["t"], [row["G"]]) == near(row["bound"])


@rows("delay_shuffler_swap_ratio")
def test_the_largest_ratio_that_a_delay_shuffler_gives_to_two_owners(row):
    law = laws.noisy_sort_law(row["t"], scale=2 / row["gamma"])
    pairs = [[a, b] for b in range(len(row["t"])) for a in range(b)]
    assert laws.d_sigma_loss(law, pairs) == near(row["max_log_swap_ratio"])


@rows("adaptive_spacing")
def test_adaptive_spacing(row):
    groups = row["group_ranks"]
    gaps = laws.adaptive_gaps(
        row["n"],
        [min(group) for group in groups],
        [max(group) for group in groups],
        laws.sort_spreads(np.arange(row["n"]), groups),
        row["alpha"],
        cap=50.0,
    )
    assert laws.positions_of_gaps(gaps) == pytest.approx(row["t"], rel=1e-10)


@pytest.mark.parametrize(("alpha", "mu"), [(1, 0.236704), (4, 0.837859)])
def test_the_noise_of_a_gaussian_sort(alpha, mu):
    assert laws.gaussian_mu(alpha, 1e-6) == pytest.approx(mu, abs=5e-7)
