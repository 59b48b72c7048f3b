"""Orders are permutations that keep sites together; each method is what it says; the search only improves."""

from itertools import combinations, pairwise
from math import comb
from pathlib import Path

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.laws import shuffle_around
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.people import layout as search
from shuffledp.protocols.d_sigma.people import orders
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.orders import METHODS, reference_order
from shuffledp.protocols.d_sigma.people.public_points import PublicPoints
from shuffledp.protocols.d_sigma.people.sensitivity import blocks, order_sensitivity, order_width, windows
from shuffledp.randomness.permutations import compose, invert, is_permutation

DATA = Path(__file__).parents[3].parent / "shared" / "data"


def people_along(groups, sites):
    return np.argsort(np.argsort(sites)[groups.sites], kind="stable")


def kendall_of_sites(groups, sites):
    layout = search._site_layout(groups, sites)
    return search.measured(layout, search.scratch(layout))[2].tolist()


def ring(n):
    return Graph.from_edges([(place, (place + 1) % n) for place in range(n)])


def samples(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    yield Groups.from_radius(rng.integers(0, 6, (n, 2)), 1), rng.random((n, 2))
    yield Groups.from_radius(rng.integers(0, 60, n), rng.integers(0, 9, n)), rng.random(n)
    yield Groups.from_graph(Graph.from_edges(rng.integers(0, n, (n, 2)), num_users=n), hops=1), rng.random((n, 1))
    yield Groups.from_lists([*(rng.permutation(n)[: rng.integers(1, n + 1)] for _ in range(9)), range(n)], n), None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", METHODS)
def test_an_order_is_a_permutation_that_keeps_sites_together(method, seed):
    for groups, coordinates in samples(seed):
        if method == "coordinate" and coordinates is None:
            continue
        order = reference_order(groups, coordinates=coordinates, method=method)
        assert order.dtype == np.int64
        assert is_permutation(order)
        assert order.size == groups.num_users
        changes = np.count_nonzero(np.diff(groups.sites[order]))
        assert changes == groups.site_sizes.size - 1
        assert np.array_equal(order, reference_order(groups, coordinates=coordinates, method=method))


@pytest.mark.parametrize("seed", range(4))
def test_auto_is_never_worse_than_another_method(seed):
    for groups, coordinates in samples(seed):
        best = order_sensitivity(groups, reference_order(groups, coordinates=coordinates))
        for method in ("bfs", "rcm", "fiedler", *(["coordinate"] if coordinates is not None else [])):
            order = reference_order(groups, coordinates=coordinates, method=method)
            assert best <= order_sensitivity(groups, order)
        assert best >= comb(int(groups.sizes.max()), 2)


@pytest.mark.parametrize("seed", range(4))
def test_people_whom_no_groups_link_stand_apart_and_everybody_of_a_group_closer_than_before(seed):
    """Mutants: components by single groups (of runs that are not joined), or in the order of the sites."""
    for groups, _ in samples(seed):
        order = np.random.default_rng(seed).permutation(groups.site_sizes.size)
        apart = orders._apart(groups, order)
        assert is_permutation(apart)
        linked = {site: {site} for site in range(order.size)}  # written out: sets of sites, joined group by group
        for number in range(len(groups)):
            held = set(groups.sites[groups[number]].tolist())
            joined = set().union(*(linked[site] for site in held))
            linked.update(dict.fromkeys(joined, joined))
            before, after = (np.sort(np.argsort(each)[sorted(held)]) for each in (order, apart))
            assert (np.diff(after) <= np.diff(before)).all()
        changes = sum(two not in linked[one] for one, two in pairwise(apart.tolist()))
        assert changes == len({frozenset(each) for each in linked.values()}) - 1


def test_small_components_are_not_mixed_though_the_worst_group_is_elsewhere():
    """Mutant: the best sensitivity alone, which that of the largest group's component decides."""
    groups = Groups.from_lists([range(30), [30, 33], [31, 34], [32, 35]])
    order = reference_order(groups)
    assert sorted(np.diff(blocks(groups, order).starts).tolist()) == [2, 2, 2, 30]


@pytest.mark.parametrize("seed", range(6))
def test_the_search_improves_or_leaves_as_it_is(seed):
    rng = np.random.default_rng(seed)
    for groups, _ in samples(seed):
        order = rng.permutation(groups.site_sizes.size)
        better = search.improved(groups, order)
        assert is_permutation(better)
        assert max(kendall_of_sites(groups, better)) <= max(kendall_of_sites(groups, order))


@pytest.mark.parametrize("seed", range(6))
def test_what_the_search_looks_at_is_the_sensitivity_of_the_people(seed):
    rng = np.random.default_rng(seed)
    for groups, _ in samples(seed):
        sites = rng.permutation(groups.site_sizes.size)
        assert kendall_of_sites(groups, sites) == windows(groups, people_along(groups, sites)).kendall.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_the_direction_of_the_search_is_the_derivative_of_the_footrule(seed):
    """With one group: moving a site through a gap changes the exact value by what `_pull` says, per person."""
    rng = np.random.default_rng(seed)
    n = 40
    members = rng.permutation(n)[: rng.integers(2, 20)]
    groups = Groups.from_lists([members, *([person] for person in range(n))], n)
    order = rng.permutation(n)
    layout = search._site_layout(groups, order)
    *_, centre = search.measured(layout, search.scratch(layout))
    weights = np.zeros(len(groups))
    weights[0] = 1.0
    pull = np.zeros(n)
    search._pull(layout, centre, weights, pull)
    place = np.argsort(order)
    for one in members:
        if place[one] == n - 1 or order[place[one] + 1] in members:
            continue
        moved = order.copy()
        moved[[place[one], place[one] + 1]] = moved[[place[one] + 1, place[one]]]
        change = order_sensitivity(groups, moved, distance="footrule")
        change -= order_sensitivity(groups, order, distance="footrule")
        assert change == 2 * pull[one]


def test_a_line_gets_its_best_order():
    groups = Groups.from_radius(np.random.default_rng(0).random(3000), 0.01)
    least = comb(int(groups.sizes.max()), 2)
    for method in ("auto", "rcm", "local-search"):
        assert order_sensitivity(groups, reference_order(groups, method=method)) == least


def test_breadth_first_folds_a_line_in_two():
    groups = Groups.from_radius(np.arange(201), np.where(np.arange(201) == 100, 4, 3))
    order = reference_order(groups, method="bfs")
    assert order[0] == 100
    assert order_width(groups, order) == 2 * order_width(groups, np.arange(201))
    assert order_sensitivity(groups, order) > 1.5 * order_sensitivity(groups, reference_order(groups))


def test_breadth_first_is_the_papers_algorithm():
    """Root: the person with the largest group; then neighbors in ascending order; then the next component."""
    groups = Groups.from_lists([[0, 4], [1, 2], [1, 2], [3, 4], [0, 3, 4, 5], [4, 5], [6]])
    assert reference_order(groups, method="bfs").tolist() == [4, 0, 3, 5, 1, 2, 6]


A10 = {
    5: (5, 2, 3, 8, 4),
    4: (4, 5, 7),
    8: (8, 3, 5),
    2: (2, 5, 1),
    3: (3, 5, 8, 6),
    1: (1, 2),
    6: (6, 3),
    7: (7, 4),
}
A10_ORDER = (5, 2, 3, 8, 4, 1, 6, 7)
A10_DRAWN = (3, 2, 5, 4, 8, 1, 7, 6)


def test_breadth_first_visits_the_example_of_appendix_a10_level_by_level():
    """Its root, its first level and what comes after; within a level the paper leaves the order open."""
    groups = Groups.from_lists([[member - 1 for member in A10[person]] for person in range(1, 9)])
    found = tuple((reference_order(groups, method="bfs") + 1).tolist())
    assert found == (5, 2, 3, 4, 8, 1, 6, 7)
    for first, last in ((0, 1), (1, 5), (5, 8)):
        assert set(found[first:last]) == set(A10_ORDER[first:last])
    assert A10_ORDER[:5] == A10[5]  # the print takes the first level as the group lists it
    for order, exact in ((A10_ORDER, 13), (found, 14)):
        assert order_width(groups, np.array(order) - 1) == 7
        assert order_sensitivity(groups, np.array(order) - 1) == exact


def test_the_printed_output_of_appendix_a10_is_that_of_one_composition_only():
    """A permutation near the order gives the printed output by our composition, and by no other product."""
    order, drawn, printed = (np.array(each) - 1 for each in (A10_ORDER, A10_DRAWN, (1, 2, 5, 8, 3, 7, 6, 4)))
    ranks = compose(invert(order), drawn)
    assert shuffle_around(ranks, order).tolist() == compose(drawn, invert(order)).tolist() == printed.tolist()
    assert sum(ranks[i] > ranks[j] for i, j in combinations(range(8), 2)) == 5  # item pairs in another order, of 28
    for other in (compose(invert(order), drawn), compose(order, drawn), compose(drawn, order), drawn):
        assert other.tolist() != printed.tolist()


@pytest.mark.parametrize("way", ["graph", "lists"])
def test_groups_by_path_length_two_of_a_small_network(way):
    """As in Figure 3, whose edges are only drawn: a triangle with a tail, and two people apart."""
    edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (6, 7)]
    within_two = [
        [0, 1, 2, 3],
        [0, 1, 2, 3],
        [0, 1, 2, 3, 4],
        [0, 1, 2, 3, 4, 5],
        [2, 3, 4, 5],
        [3, 4, 5],
        [6, 7],
        [6, 7],
    ]
    made = {"graph": Groups.from_graph(Graph.from_edges(edges), hops=2), "lists": Groups.from_lists(within_two)}[way]
    assert [made.members(person).tolist() for person in range(8)] == within_two
    order = reference_order(made, method="bfs")
    assert order.tolist() == [3, 0, 1, 2, 4, 5, 6, 7]
    assert (order_width(made, order), order_sensitivity(made, order)) == (5, 15)
    assert blocks(made, order).starts.tolist() == [0, 6, 8]  # paths do not lead to the other two


def test_the_papers_factor_for_breadth_first_is_exceeded():
    """Planted windows of 100 along 500 people: the best width is 99, and breadth first exceeds 2.5 times it."""
    n, w, worst = 500, 100, 0.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        hidden = rng.permutation(n)
        lists = []
        for rank in np.argsort(hidden):
            first = np.clip(rank - rng.integers(0, w), 0, n - w)
            lists.append(hidden[first : first + w])
        groups = Groups.from_lists(lists, n)
        assert order_width(groups, hidden) == w - 1
        worst = max(worst, order_width(groups, reference_order(groups, method="bfs")) / (w - 1))
    assert worst > 2.5


def test_the_width_of_children_with_their_parents_is_the_bandwidth_of_the_tree():
    """So that to find the best width is NP-hard: tree bandwidth is."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        n = int(rng.integers(2, 8))
        parents = [0, *(int(rng.integers(0, child)) for child in range(1, n))]
        groups = Groups.from_lists([[child, parent] for child, parent in enumerate(parents)], n)
        place = rng.permutation(n)
        bandwidth = max(abs(place[child] - place[parents[child]]) for child in range(n))
        assert order_width(groups, np.argsort(place)) == bandwidth


def test_reverse_cuthill_mckee_walks_a_ring_from_end_to_end():
    groups = Groups.from_graph(ring(50), hops=1)
    assert order_width(groups, reference_order(groups, method="rcm")) <= 4


def test_the_fiedler_order_sorts_a_path_on_both_sides_of_the_dense_limit(monkeypatch):
    for dense in (0, 1000):
        monkeypatch.setattr(orders, "_DENSE_SITES", dense)
        path = np.random.default_rng(1).permutation(40)
        groups = Groups.from_graph(Graph.from_edges(np.column_stack([path[:-1], path[1:]])), hops=1)
        found = reference_order(groups, method="fiedler")
        assert found.tolist() in (path.tolist(), path[::-1].tolist())


@pytest.mark.parametrize("people", [60, 400])
@pytest.mark.parametrize("lengths", [(8, 9), (2, 30)])
def test_groups_that_can_all_stand_in_a_row_do(people, lengths):
    """Atkins, Boman and Hendrickson: the order is found from shared groups alone, and no order is better."""
    rng = np.random.default_rng(people)
    hidden, lists = rng.permutation(people), []
    for rank in np.argsort(hidden).tolist():
        length = int(rng.integers(*lengths))
        first = min(max(rank - length // 2, 0), people - length)
        lists.append(hidden[first : first + length])
    groups = Groups.from_lists(lists)
    for method in ("fiedler", "auto"):
        order = reference_order(groups, method=method)
        assert order_sensitivity(groups, order) == comb(int(groups.sizes.max()), 2)
    assert order_width(groups, reference_order(groups, method="fiedler")) == groups.sizes.max() - 1


def test_the_best_coordinate_is_taken():
    rng = np.random.default_rng(2)
    x = rng.random(300)
    groups = Groups.from_radius(x, 0.05)
    order = reference_order(groups, coordinates=np.column_stack([rng.random(300), x]), method="coordinate")
    assert order.tolist() in (np.argsort(x).tolist(), np.argsort(-x).tolist())


def test_groups_of_very_many_links_are_ordered_without_the_graph(monkeypatch):
    monkeypatch.setattr(orders, "_MOST_LINKS", 10)
    monkeypatch.setattr(orders, "_MOST_SHARED", 10)
    groups = Groups.from_radius(np.random.default_rng(3).random(100), 0.1)
    assert order_sensitivity(groups, reference_order(groups)) == comb(int(groups.sizes.max()), 2)
    for method in ("rcm", "fiedler"):
        with pytest.raises(InvalidParameterError, match="method must be 'coordinate' or 'local-search' for graphs of"):
            reference_order(groups, method=method)


def test_people_of_one_place_are_near_in_number():
    """The numbering of places by a k-d tree makes balls of few runs."""
    rng = np.random.default_rng(4)
    places = PublicPoints(rng.random((5000, 2)), "euclidean")
    runs = [runs for part in places.balls(np.arange(5000), np.full(5000, 0.1)) for runs in [part.runs]]
    assert sum(map(len, runs)) < sum(int(np.diff(each, axis=1).sum()) for each in runs) / 4


@pytest.mark.deep
@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")
def test_the_search_finds_far_better_orders_than_breadth_first_on_friendships():
    edges = np.load(DATA / "deezer_europe" / "deezer_europe.npz")["edges"]
    groups = Groups.from_graph(Graph.from_edges(edges), hops=1)
    bfs, auto = (order_sensitivity(groups, reference_order(groups, method=each)) for each in ("bfs", "auto"))
    assert comb(int(groups.sizes.max()), 2) <= auto < bfs / 2


REFUSED = [
    ({"method": "random"}, "method must be one of"),
    ({"method": "coordinate"}, "coordinates must be given"),
    ({"coordinates": [1, 2]}, "coordinates must be one row for each of 3 people"),
    ({"coordinates": [1, 2, np.nan]}, "coordinates must be finite"),
    ({"coordinates": ["a", "b", "c"]}, "coordinates must be numbers"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_input_is_refused_by_name(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        reference_order(Groups.from_labels([1, 1, 2]), **options)


def test_groups_must_be_groups():
    with pytest.raises(InvalidParameterError, match="groups must be a Groups"):
        reference_order([[0, 1]])
