"""Theorems about colluders: figures of an independent sum, what they need, and which of their numbers says more."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shuffledp.accounting import account, account_all, bracket
from shuffledp.accounting.theorem import LocalOnly
from shuffledp.core.errors import HypothesisError, InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Trust
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_collusion import Crowd, Hiding, unseen, worst_first_hop, worst_hiding
from shuffledp.protocols.network.people.overlays import Overlay, rounds_of
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_colluders import NetworkColluders, NetworkOnion
from shuffledp.protocols.network.theorems.network_limits import NetworkFirstHop
from shuffledp.randomizers import LdpModel

ROWS = json.loads((Path(__file__).parents[2] / "golden" / "collusion.json").read_text(encoding="utf-8"))["rows"]
EVERYBODY = Overlay(1000, (1000,))


def model_of(overlay=EVERYBODY, rounds=5, *, epsilon0=1.0, **options):
    given = {"num_colluding": 10, "onion": True} | options
    shuffler = RandomWalkShuffler(graph=overlay, num_rounds=rounds, **given)
    return ProtocolModel(local=LdpModel(epsilon0=epsilon0), shuffle=shuffler.model(shuffler.num_users))


@pytest.mark.parametrize("row", [row for row in ROWS if row["kind"] == "onion_epsilon"])
def test_epsilons_of_onions_are_those_of_an_independent_sum(row):
    given = row["inputs"]
    overlay = Overlay(given["n"], (given["n"],))
    model = model_of(overlay, given["rounds"], num_colluding=given["colluders"], epsilon0=given["eps0"])
    found = NetworkOnion().epsilon(model, delta=given["delta"])
    assert row["least"] * (1 - 1e-6) <= found <= row["expected"] + row["tolerance"]
    assert NetworkOnion().delta(model, epsilon=found) <= given["delta"] * (1 + 1e-6)


def test_every_other_round_of_an_onion_counts_a_share_of_colluders_once():
    left = [worst_hiding(EVERYBODY, 10, rounds).alone for rounds in range(1, 7)]
    assert left == pytest.approx([1e-2, 1e-2, 1.99e-4, 1.01e-4, 2.98e-6, 1.03e-6], rel=1e-3)
    for rounds in range(1, 7):
        hiding = worst_hiding(EVERYBODY, 10, rounds)
        assert sum(each.weight for each in hiding.crowds) + hiding.alone == pytest.approx(1)


def test_crowds_of_groups_are_those_of_the_honest_members():
    hiding = worst_hiding(Overlay(10_000, (100, 100)), 5, 4)
    first, second = hiding.crowds[0], hiding.crowds[2]
    assert (first.others, first.most) == (94, 94)
    assert first.chance == pytest.approx(0.95)
    assert second.others * second.chance == pytest.approx((95 - 95 * 6 / 10_000) * 0.95)
    nobody = worst_hiding(Overlay(10_000, (100, 100)), 100, 4)
    assert nobody.alone == 1
    assert all(each.chance == 0 for each in nobody.crowds)


def test_recognized_reports_keep_the_first_hop_and_onions_do_not():
    overlay = Overlay(300, (300,))
    recognized, onion = (model_of(overlay, num_colluding=3, onion=each) for each in (False, True))
    found = bracket(recognized, delta=1e-5)
    assert found.upper > 0.99
    assert NetworkOnion().delta(onion, epsilon=0.5) < 1e-5
    assert found.lower_basis.theorem == "network-first-hop"
    assert found.lower <= found.upper
    with pytest.raises(HypothesisError, match="layers of encryption"):
        NetworkFirstHop().state(onion, delta=1e-5)
    local = LocalOnly().delta(recognized, epsilon=0.5)
    assert NetworkFirstHop().delta(recognized, epsilon=0.5) == pytest.approx(0.01 * local)
    assert NetworkColluders().delta(recognized, epsilon=0.5) == pytest.approx(0.01 * local, rel=1e-3)
    assert NetworkColluders().delta(recognized, epsilon=0.5) >= NetworkFirstHop().delta(recognized, epsilon=0.5)


def test_the_first_hop_on_an_overlay_counts_reports_that_stay():
    assert worst_first_hop(Overlay(3, (3,)), 1) == pytest.approx(1 / 3)
    assert worst_first_hop(Overlay(4, (2, 2)), 2) == pytest.approx(1 / 2)
    assert worst_first_hop(Overlay(5, (2, 2)), 1) <= 2 / 5


def test_statements_name_whom_they_count_on_and_what_remains():
    headline, *_ = account_all(model_of(), delta=1e-5)
    assert set(headline.trust) == {Trust.OWN_DEVICE, Trust.HONEST_RELAYS, Trust.LAYERS, Trust.UNOBSERVED}
    assert not any(each.is_danger for each in headline.trust)
    risk = next(remark for remark in headline.remarks if "equally likely to collude" in remark)
    assert "in their hands is at most 0.0491" in risk
    assert "whose it is, and not what is in it, at most 0.01001" in risk


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"onion": False}, "onion=false"),
        ({"num_colluding": 0}, "num_colluding=0"),
        ({"num_colluding": 999}, "num_colluding=999"),
        ({"dropout": 0.01}, "dropout=0.01"),
        ({"offline": 0.01}, "with everybody online"),
        ({"slots": (1, 5, 5, 5, 5)}, "links with slots"),
    ],
)
def test_what_onions_need_is_named(changes, words):
    with pytest.raises(HypothesisError, match=words):
        NetworkOnion().state(model_of(**changes), delta=1e-5)
    assert NetworkOnion().delta(model_of(**changes), epsilon=0.5) == 1.0


def test_named_colluders_on_a_graph_are_known_of_each_round():
    ring = Graph.from_edges([(one, (one + far) % 12) for one in range(12) for far in (1, 2, 3)])
    shuffler = RandomWalkShuffler(graph=ring, num_rounds=3, colluders=[4, 0, 4])
    model = shuffler.model(12)
    assert (shuffler.colluders, model.num_colluding) == ((0, 4), 2)
    assert len(model.unseen_chances) == len(model.unseen_overlaps) == 3
    assert ShuffleModel.from_dict(model.to_dict()) == model
    left = unseen(ring, (0, 4), 3)
    assert model.unseen_chances[0] == pytest.approx(4 / 6)  # of who is beside both
    assert left.chances[1, 8] < left.chances[0, 8]
    more = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=model).with_fakes(3)
    assert (more.shuffle.num_colluding, more.shuffle.unseen_chances) == (5, ())  # nobody says who the fake ones are
    counted = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=model).with_fakes(2, among_colluders=True)
    assert (counted.shuffle, counted.fakes) == (model, 2)
    with pytest.raises(InvalidParameterError, match="fakes must be at most 2"):
        ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=model).with_fakes(3, among_colluders=True)


def test_more_colluders_are_never_better():
    deltas = [NetworkOnion().delta(model_of(num_colluding=each), epsilon=0.3) for each in (10, 50)]
    assert (np.diff(deltas) > 0).all()
    curve = NetworkOnion().curve(model_of(num_colluding=50), epsilons=np.array([0.3]))
    assert curve[0] == pytest.approx(deltas[1], rel=1e-3)


def test_a_remainder_of_the_local_guarantee_is_charged():
    pure, model = model_of(), replace(model_of(), local=LdpModel(epsilon0=1.0, delta0=1e-12))
    found = account(model, delta=1e-5)
    assert found.basis.theorem == "network-onion"
    assert found.guarantee.epsilon >= NetworkOnion().epsilon(pure, delta=1e-5) * (1 - 1e-3)
    assert math.isfinite(found.guarantee.epsilon)
    assert found.guarantee.epsilon < 0.14


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RandomWalkShuffler(graph=Graph.from_edges([(0, 1)]), num_rounds=1, onion=True), "onion must be False"),
        (lambda: RandomWalkShuffler(graph=EVERYBODY, num_rounds=1, colluders=[1000]), "from 0 to 999"),
        (lambda: RandomWalkShuffler(graph=EVERYBODY, num_rounds=1, colluders=[1.5]), "each of colluders.*integer.*1.5"),
        (lambda: RandomWalkShuffler(graph=EVERYBODY, num_rounds=1, colluders=[True]), "each of colluders.*True"),
        (lambda: RandomWalkShuffler(graph=EVERYBODY, num_rounds=1, colluders=3), "colluders must be a Sequence"),
        (
            lambda: RandomWalkShuffler(graph=EVERYBODY, num_rounds=1, colluders=[1], num_colluding=2),
            "left out beside 1",
        ),
        (lambda: RandomWalkShuffler(graph=Overlay(2, (2,)), num_rounds=1, colluders=[0, 1]), "fewer than all"),
        (lambda: worst_hiding(EVERYBODY, 1000, 1), "below num_users=1000"),
        (lambda: worst_hiding(EVERYBODY, 1, 0), "num_rounds"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InvalidParameterError, match=words):
        call()


@pytest.mark.parametrize("shape", [(5, (2, 2)), (7, (2, 3)), (7, (3, 2)), (6, (2, 3))], ids=str)
@pytest.mark.parametrize("colluding", [1, 2])
def test_where_addresses_are_shared_no_group_and_no_colluders_are_worse_than_what_is_counted(shape, colluding):
    """Of all colluders and people: the chance to meet them, who shares a group, and how many are hidden there later."""
    overlay = Overlay(*shape)
    steps = [each.transposed_transition().toarray().T for each in rounds_of(overlay, 4)]
    people = range(overlay.num_users)
    first, later = (worst_hiding(overlay, colluding, rounds) for rounds in (1, 4))
    met, together, hidden = [], [], [[], [], []]
    for colluders in map(list, itertools.combinations(people, colluding)):
        honest = [each for each in people if each not in colluders]
        for person in honest:
            met.append(steps[0][person, colluders].sum())
            together.append(np.count_nonzero(steps[0][person, honest]) - 1)
        laws = np.eye(overlay.num_users)
        for place, (before, step) in enumerate(itertools.pairwise(steps)):
            laws = laws @ before
            for group in {tuple(np.flatnonzero(row)) for row in step}:
                held = laws[np.ix_(honest, [each for each in group if each in honest])].sum(axis=1)
                staying = step[group[0], honest].sum()
                hidden[place].append((held.sum() - held.max()) * staying)
    assert first.alone >= max(met)
    if colluding == 1:
        assert first.alone == pytest.approx(max(met))
    assert first.crowds[0].others == max(min(together), 0)
    for crowd, exact in zip(later.crowds[1:], hidden, strict=True):
        assert crowd.others * crowd.chance <= min(exact) + 1e-12


def test_a_later_and_larger_crowd_counts_as_the_earlier_one():
    """Whoever comes to it late is no better off: chances to come late are from above."""

    class Given(NetworkOnion):
        def __init__(self, *crowds):
            self.crowds = crowds

        def hidings(self, walks):
            del walks
            return (Hiding(alone=0.01, crowds=tuple(self.crowds)),)

    model = model_of(EVERYBODY, 2, num_colluding=10, onion=True)
    few, many = Crowd(0.5, 5, 1.0, 5), Crowd(0.49, 500, 1.0, 500)
    for epsilon in (0.1, 0.5):
        found = Given(few, many).delta(model, epsilon=epsilon)
        assert found == Given(few, few._replace(weight=0.49)).delta(model, epsilon=epsilon)
        assert found > 1.1 * Given(many._replace(weight=0.5), many).delta(model, epsilon=epsilon)
