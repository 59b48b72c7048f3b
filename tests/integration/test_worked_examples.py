"""Small examples that the papers work out by hand come out of the library, and what they print wrongly does not."""

import itertools
import json
import sys
from math import comb
from pathlib import Path

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.core.local_models import ProtocolModel
from shuffledp.laws import kendall_mean_displacement
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.sensitivity import order_width
from shuffledp.protocols.d_sigma.theorems.meehan22 import reidentification_bound
from shuffledp.randomness.permutations import invert

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # experiments are run from a checkout and never installed

from experiments.d_sigma import data  # noqa: E402
from experiments.network.graphs import graph_of, raw_edges  # noqa: E402
from experiments.network.table_4 import first_ends_only  # noqa: E402
from experiments.running import DATA  # noqa: E402

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")
G1, G2 = {1, 2, 5, 6, 7, 8}, {1, 2, 3, 5, 6, 7}


def order(*items):
    """A permutation as the papers write it, from 0 on."""
    return np.array(items) - 1


def width_of(group, items):
    """The width of one group in an order."""
    members = [each - 1 for each in sorted(group)]
    lists = [members if person in members else [person] for person in range(len(items))]
    return order_width(Groups.from_lists(lists), order(*items))


# ---- shuffling within groups ----------------------------------------------------------------------------------------


def test_groups_by_path_length_two_are_the_printed_ones_on_a_graph_that_has_them():
    """Figure 3, of which only two groups are printed."""
    edges = [(1, 2), (1, 7), (7, 8), (2, 5), (2, 6), (5, 3), (4, 9), (9, 10)]
    groups = Groups.from_graph(Graph.from_edges([(a - 1, b - 1) for a, b in edges]), hops=2)
    assert {person + 1 for person in groups.members(0).tolist()} == G1
    assert {person + 1 for person in groups.members(1).tolist()} == G2


def test_lists_are_permuted_as_in_sections_3_2_and_4_1():
    values = np.array([21, 33, 45, 65, 67])
    assert values[order(1, 3, 5, 4, 2)].tolist() == [21, 45, 67, 65, 33]
    assert (invert(order(1, 3, 5, 4, 2)) + 1).tolist() == [1, 5, 2, 4, 3]
    assert np.array(["y1", "y2", "y3", "y4", "y5"])[order(4, 5, 2, 3, 1)].tolist() == ["y4", "y5", "y2", "y3", "y1"]


def test_neighbors_and_the_width_of_sections_4_2_and_4_4():
    one, other = (1, 2, 4, 5, 7, 6, 10, 3, 8, 9), (7, 3, 4, 5, 6, 2, 1, 10, 8, 9)
    assert {place for place in range(1, 11) if one[place - 1] != other[place - 1]} <= G1
    assert {one[place - 1] for place in G1} == {other[place - 1] for place in G1}
    assert width_of(G1, (1, 3, 7, 8, 6, 4, 5, 2, 9, 10)) == 7


def test_alpha_dominates_the_bound_on_naming_from_two_on():
    """Section 4.3: with epsilon0 = 0.2 and five targets 2 k epsilon0 is 2."""
    local, groups = sdp.KaryRandomizedResponse(epsilon0=0.2, domain_size=3).model, Groups.from_labels([0] * 20)
    for alpha, larger in ((1.9, "values"), (2.1, "order")):
        shuffle = sdp.MallowsShuffler(groups=groups, alpha=alpha).model(20)
        found = reidentification_bound(ProtocolModel(local=local, shuffle=shuffle), num_targets=5)
        assert (found.from_values, found.dominates) == (2.0, larger)


def test_distances_of_appendix_a2():
    items = (1, 2, 3, 6, 5, 4, 7, 8, 9, 10)
    assert sum(a > b for a, b in itertools.combinations(items, 2)) == 3
    assert sum(place != item for place, item in enumerate(items, 1)) == 2


def test_four_fifths_of_a_set_are_kept_in_appendix_a7():
    kept, items = {1, 4, 5, 7, 8}, (5, 3, 2, 6, 7, 9, 8, 1, 4, 10)
    image = [items[place - 1] for place in sorted(kept)]
    assert image == [5, 6, 7, 8, 1]
    assert len(kept & set(image)) / len(kept) == 0.8


def test_the_window_of_appendix_a8():
    items = (2, 4, 6, 8, 1, 3, 5, 7)
    places = [items.index(member) for member in (2, 6, 8)]
    assert set(items[min(places) : max(places) + 1]) == {2, 4, 6, 8}
    assert width_of({2, 6, 8}, items) == 3
    schedule = (1, 3, 4, 5, 9, 8, 10, 6, 7, 2)
    before = [item for item in schedule[:4] if item in {3, 4, 5}]
    assert before == [3, 4, 5]  # the shortest run of the prefix 1 3 4 5 that holds what it has of {3, 5, 7}


def test_strings_and_sets_of_appendix_a13():
    first, other, kept = (1, 2, 3, 5, 4, 7, 8, 10, 9, 6), (1, 3, 2, 7, 8, 5, 4, 6, 10, 9), {2, 4, 5, 8}
    places = [place for place, item in enumerate(first) if item in kept]
    strings = [[items[place] for place in places] for items in (first, other)]
    assert strings == [[2, 5, 4, 8], [3, 7, 8, 4]]
    moved = {item for item, new in zip(first, other, strict=True) if item != new}
    assert len(moved) == 9
    image = set(strings[1])
    assert (image - kept, image & kept, kept - image) == ({3, 7}, {4, 8}, {2, 5})
    assert moved - image - kept == {6, 9, 10}


@needs_data
def test_the_largest_groups_of_adult_bound_the_concentration_of_algorithm_1():
    """Those within a radius of one age stand in a row at best; golden values have the displacement that follows."""
    people = data.people_of("adult whole")
    assert people.answers.size == 32_561
    golden = json.loads((ROOT / "tests" / "golden" / "laws.json").read_text(encoding="utf-8"))["kendall_displacement"]
    thetas = [row["theta"] for row in golden if row["n"] == 32_561]
    largest = {radius: int(people.groups(radius).sizes.max()) for radius in (0, 1, 2, 5)}
    assert largest == {0: 898, 1: 2_660, 2: 4_393, 5: 9_485}
    assert [4 / comb(largest[radius], 2) for radius in (1, 0)] == pytest.approx(thetas, rel=1e-12)
    falling = [kendall_mean_displacement(200, theta) for theta in np.linspace(0, 1, 30)]
    assert (np.diff(falling) < 0).all()  # with the concentration, so that a lesser one displaces farther
    uniform = (32_561**2 - 1) / (3 * 32_561)
    shares = [row["displacement"] / uniform for row in golden if row["n"] == 32_561]
    assert shares == pytest.approx([0.996314, 0.967452], abs=1e-6)


@needs_data
def test_twitch_has_nine_thousand_people_and_not_edges():
    edges, _ = raw_edges("Twitch")
    assert len(edges) == 153_138
    assert graph_of("Twitch").num_users == 9_498


# ---- networks -------------------------------------------------------------------------------------------------------


@needs_data
def test_facebooks_irregularity_as_printed_needs_its_loops():
    graph, (_, loops) = graph_of("Facebook"), raw_edges("Facebook")
    assert first_ends_only(graph, loops) == pytest.approx(5.00636, abs=6e-6)
    assert first_ends_only(graph, loops[:0]) == pytest.approx(5.01481, abs=6e-6)


# ---- quantitative information flow ----------------------------------------------------------------------------------


def test_two_mechanisms_with_one_epsilon_of_which_one_tells_nothing_to_the_uninformed():
    """The example of Section I: the last bit, or the last bit turned round by the parity of the others."""
    truth = np.exp(1.0) / (1 + np.exp(1.0))
    plain, turned = [], []
    for others, last in itertools.product((0, 1), repeat=2):
        plain.append([truth if seen == last else 1 - truth for seen in (0, 1)])
        turned.append([truth if seen == last ^ others else 1 - truth for seen in (0, 1)])
    for matrix, chance in ((plain, truth), (turned, 0.5)):
        rows = sdp.Channel(matrix).matrix.astype(float)
        for one, other in ((0, 1), (2, 3)):  # data sets that differ in the last bit
            assert np.log(rows[one] / rows[other]).max() == pytest.approx(1.0)
        joint = np.array([[rows[2 * others + last] for others in (0, 1)] for last in (0, 1)]).sum(axis=1) / 4
        assert joint.max(axis=0).sum() == pytest.approx(chance)
