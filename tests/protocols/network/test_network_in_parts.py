"""Walks on a graph in parts: everybody is guaranteed what holds in her part, and that is what an enumeration finds."""

import itertools
import json

import numpy as np
import pytest

from shuffledp.accounting import account, account_all, best_lower_bound, delta_at, epsilon_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_in_parts import NetworkParts, _perhaps_weakest
from shuffledp.randomizers import KaryRandomizedResponse
from soundness.exact_deltas import response
from soundness.exact_walks import law_of_fillings, sees_one_each, worst_of_pairs

BIT = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
K2, K3 = [(0, 1)], [(0, 1), (0, 2), (1, 2)]
PAW = [(0, 1), (1, 2), (0, 2), (2, 3)]
EPSILONS = np.array([0.0, 0.1, 0.3, 0.6, 0.9])


def beside(*parts):
    """All of them in one graph, and how many people there are before each."""
    edges, first = [], 0
    for part in parts:
        edges += [(one + first, other + first) for one, other in part]
        first += 1 + max(map(max, part))
    return edges


def protocol(graph, rounds, **keys):
    shuffler = RandomWalkShuffler(graph=graph, num_rounds=rounds, **keys)
    people = (graph if isinstance(graph, Graph) else graph[0]).num_users
    return ProtocolModel(local=BIT.model, shuffle=shuffler.model(people))


def exact_deltas(edges, rounds, protocol, laziness=0.0):
    """The largest delta of any person, over all data of the others, from the law of everything that is seen."""
    size = 1 + max(map(max, edges))
    step = np.zeros((size, size))
    for one, other in edges:
        step[one, other] = step[other, one] = 1.0
    step = laziness * np.eye(size) + (1 - laziness) * step / step.sum(axis=1, keepdims=True)
    laws, channel = np.linalg.matrix_power(step, rounds), response(2, 1.0)
    kernel = None if protocol == "all" else sees_one_each(size, size, channel[0])
    worst = np.zeros(len(EPSILONS))
    for victim in range(size):
        order = np.array([*(person for person in range(size) if person != victim), victim])
        pairs = []
        for data in itertools.product(range(2), repeat=size - 1):
            views = [law_of_fillings([channel[each] for each in (*data, mine)], laws[order]) for mine in range(2)]
            pairs.append(views if kernel is None else [view @ kernel for view in views])
        worst = np.maximum(worst, worst_of_pairs(np.array(pairs), EPSILONS))
    return worst


@pytest.mark.parametrize(
    ("parts", "weakest", "rounds", "laziness"),
    [
        ((K3, K2), K2, 3, 0.3),
        pytest.param((K3, K3), K3, 2, 0.0, marks=pytest.mark.deep),
        ((K2, K2), K2, 2, 0.5),
    ],
)
@pytest.mark.parametrize("handing", ["all", "single"])
def test_what_is_stated_is_above_the_exact_loss_and_that_of_the_weakest_part(parts, weakest, rounds, laziness, handing):
    edges = beside(*parts)
    model = protocol(Graph.from_edges(edges), rounds, protocol=handing, laziness=laziness)
    alone = protocol(Graph.from_edges(weakest), rounds, protocol=handing, laziness=laziness)
    stated = np.array([delta_at(model, epsilon=each).guarantee.delta for each in EPSILONS.tolist()])
    assert (exact_deltas(edges, rounds, handing, laziness) <= stated + 1e-12).all()
    assert stated == pytest.approx([delta_at(alone, epsilon=each).guarantee.delta for each in EPSILONS.tolist()])
    assert (NetworkParts().curve(model, epsilons=EPSILONS) >= stated * (1 - 1e-9)).all()
    # the whole loses what one part does: nothing is seen of a person in another
    assert exact_deltas(edges, rounds, handing, laziness) == pytest.approx(
        np.max([exact_deltas(part, rounds, handing, laziness) for part in parts], axis=0), abs=1e-12
    )


@pytest.mark.deep
def test_a_paw_beside_a_triangle_loses_no_more_than_is_stated():
    edges = beside(PAW, K3)
    model = protocol(Graph.from_edges(edges), 4)
    stated = np.array([delta_at(model, epsilon=each).guarantee.delta for each in EPSILONS.tolist()])
    found = np.max([exact_deltas(part, 4, "all") for part in (PAW, K3)], axis=0)
    assert (found <= stated + 1e-12).all()


def regular(*sizes, degree=8):
    return [Graph.random_regular(degree, size) for size in sizes]


def joined(graphs):
    rows = [(np.repeat(np.arange(each.num_users), each.degrees), each.neighbors) for each in graphs]
    first = np.cumsum([0, *(each.num_users for each in graphs)])
    return Graph.from_edges(
        np.concatenate([np.column_stack(row) + start for row, start in zip(rows, first, strict=False)])
    )


@pytest.mark.parametrize(
    "keys", [{}, {"protocol": "single"}, {"protocol": "padded", "submissions": 3}, {"dropout": 0.01}]
)
def test_everybody_is_promised_what_holds_in_the_weakest_part(keys):
    parts = regular(120, 60)
    model = protocol(joined(parts), 40, **keys)
    each = [epsilon_of(account(protocol(part, 40, **keys), delta=0.01).guarantee) for part in parts]
    stated = account(model, delta=0.01)
    assert stated.basis.theorem == "network-parts"
    assert epsilon_of(stated.guarantee) == pytest.approx(max(each)) == pytest.approx(each[1])
    assert max(each) < 0.6
    assert "in 2 parts" in str(stated)
    assert "weakest part, of 60 people" in str(stated)
    assert ProtocolModel.from_dict(json.loads(json.dumps(model.to_dict()))) == model
    if not keys:
        lower = best_lower_bound(model, 0.01)
        assert lower.guarantee == best_lower_bound(protocol(parts[1], 40), 0.01).guarantee
        assert lower.guarantee.epsilon < epsilon_of(stated.guarantee)


def test_parts_of_graphs_in_turn_are_those_of_all_edges_together():
    one, other = joined(regular(40, 40)), joined(regular(40, 40))
    model = protocol([one, other] * 6, 12)
    assert [part.num_users for part in model.shuffle.parts] == [40, 40]
    assert account(model, delta=0.05).basis.theorem == "network-parts"
    across = Graph.from_edges([(person, person + 40) for person in range(40)])
    assert protocol([one, across] * 6, 12).shuffle.parts == ()


@pytest.mark.parametrize("keys", [{"num_colluding": 1}, {"offline": 0.1}])
def test_colluders_and_waiting_reports_leave_the_local_guarantee(keys):
    model = protocol(joined(regular(40, 40)), 20, **keys)
    assert not NetworkParts().applies(model, delta=0.05)
    assert account(model, delta=0.05).basis.theorem == "local-dp"
    assert account_all(model, delta=0.05)[-1].guarantee.epsilon == pytest.approx(1.0)


def test_of_many_parts_only_overlaps_are_known_and_of_many_people_not_these():
    graph = Graph.from_edges(beside(*[K3] * 65))
    model = protocol(graph, 10)
    assert model.shuffle.num_parts == 65
    assert model.shuffle.parts == ()
    stated = account(model, delta=0.05)
    alone = account(protocol(Graph.from_edges(K3), 10), delta=0.05)
    assert stated.basis.theorem == "network-overlap"
    assert epsilon_of(alone.guarantee) < epsilon_of(stated.guarantee) < 1
    many = account(protocol(Graph.from_edges(beside(*[K3] * 667)), 10), delta=1e-3)
    assert "num_parts=667, known of none" in str(many)


def test_parts_that_another_is_behind_in_all_respects_need_no_account():
    graphs = [Graph.from_edges(each) for each in (beside(K3), PAW)] + regular(20, 20, degree=19)
    parts = [protocol(graph, 3).shuffle for graph in graphs]
    kept = _perhaps_weakest(tuple(parts))
    assert parts[3] not in kept[1:]
    assert len(kept) == len({id(each) for each in kept}) < 4
    stated = [epsilon_of(account(ProtocolModel(local=BIT.model, shuffle=part), delta=0.05).guarantee) for part in kept]
    everything = [
        epsilon_of(account(ProtocolModel(local=BIT.model, shuffle=each), delta=0.05).guarantee) for each in parts
    ]
    assert max(stated) == max(everything)


def test_a_model_has_all_parts_or_none():
    model = protocol(joined(regular(40, 20)), 5).shuffle
    written = model.to_dict()
    with pytest.raises(InvalidParameterError, match="parts must be all parts"):
        type(model).from_dict(written | {"parts": written["parts"][:1]})
    part = written["parts"][0] | {"laziness": 0.5}
    with pytest.raises(InvalidParameterError, match="the chances of the whole"):
        type(model).from_dict(written | {"parts": [part, written["parts"][1]]})


def test_a_bipartite_graph_hides_among_those_of_one_side_and_is_named_with_what_helps():
    square = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    stated = account(protocol(square, 40), delta=1e-3)
    text = str(stated)
    assert stated.basis.theorem == "network-overlap"
    assert "bipartite" in text
    assert "A laziness above 0 mixes the sides" in text
    assert "swap-cost" not in text
    assert "dummies" not in text
    assert "bipartite" not in str(account(protocol(square, 40, num_colluding=1), delta=1e-3))


@pytest.mark.parametrize(("sizes", "theorem"), [((60,), "network-overlap"), ((60, 60), "network-parts")])
@pytest.mark.parametrize("keys", [{"protocol": "single"}, {"protocol": "padded", "submissions": 2}])
def test_of_dummies_that_a_function_makes_it_is_said_what_is_assumed(sizes, theorem, keys):
    def made(count, source):
        return BIT.randomize(np.zeros(count, int), source=source)

    graph = joined(regular(*sizes))
    stated = account(protocol(graph, 40, dummies=made, **keys), delta=0.05)
    assert stated.basis.theorem == theorem
    assert "independent-dummies" in [each.name for each in stated.basis.hypotheses]
    assert "dummies are made by a function, which looks at no report and draws them by itself" in str(stated)
    for known in ({**keys, "dummies": BIT}, keys, {}):
        other = account(protocol(graph, 40, **known), delta=0.05)
        assert "independent-dummies" not in [each.name for each in other.basis.hypotheses]
        assert "made by a function" not in str(other)
