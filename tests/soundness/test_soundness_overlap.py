"""Uniform shuffles of those whose positions overlap with the victim's, enumerated: the theorem, and what is stated."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from accounting.given import GivenChannel
from shuffledp.accounting import account, delta_at
from shuffledp.core.local_models import ProtocolModel
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_overlap import NetworkOverlap
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from soundness.exact_deltas import response
from soundness.exact_walks import (
    GRAPHS,
    exact_delta,
    law_of_fillings,
    overlaps_with,
    positions,
    sees_one_each,
    sees_padded,
    sees_shuffled,
    stationary,
)
from soundness.test_soundness_network import walk_model

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "overlap.json").read_text(encoding="utf-8"))["rows"]
TINY = [row for row in GOLDEN if row["kind"] == "overlap_tiny"]
EPSILONS = np.array([0.0, 0.05, 0.2, 0.4, 0.7, 0.95])
CHANNEL = response(2, 1.0)
CASES = [
    (name, rounds, laziness)
    for name in ("K3", "P3", "K4", "C4", "paw", "P4")
    for rounds in (1, 2, 3, 5)
    for laziness in (0.0, 0.3)
]
QUICK = {("K3", 2, 0.0), ("P3", 3, 0.3), ("paw", 2, 0.3), ("C4", 1, 0.0)}


def losses(one, other, epsilons):
    return np.maximum(one - np.exp(epsilons)[:, None] * other, 0).sum(axis=1)


def of_walks(laws, victim, data, epsilons, kernel=None):
    """Delta of one data set against that in which the victim answers otherwise."""
    changed = [bit ^ (person == victim) for person, bit in enumerate(data)]
    views = [law_of_fillings(CHANNEL[np.array(each)], laws) for each in (data, changed)]
    return losses(*(view if kernel is None else view @ kernel for view in views), epsilons)


def of_subsets(laws, victim, data, epsilons):
    """The theorem, with the exact delta of the uniform shuffle of each set of people who may hide the victim."""
    chances, total = overlaps_with(laws, victim), np.zeros(len(epsilons))
    others = [person for person in range(len(laws)) if person != victim]
    for flags in itertools.product((False, True), repeat=len(others)):
        kept = [person for person, flag in zip(others, flags, strict=True) if flag]
        chance = math.prod(
            chances[person] if flag else 1 - chances[person] for person, flag in zip(others, flags, strict=True)
        )
        people = [victim, *kept]
        mixed = np.full((len(people), 1), 1.0)
        total += chance * of_walks(mixed, 0, [data[person] for person in people], epsilons)
    return total


@pytest.mark.parametrize("row", TINY, ids=lambda row: f"{row['inputs']['graph']}-{row['inputs']['rounds']}")
def test_the_theorem_is_that_of_an_independent_enumeration(row):
    given, expected = row["inputs"], row["expected"]
    laws = positions(given["graph"], given["rounds"], laziness=given["laziness"])
    victim, data, epsilons = given["victim"], given["data"], np.array(given["epsilons"])
    chances = overlaps_with(laws, victim)
    others = np.arange(len(laws)) != victim
    assert chances[others] == pytest.approx(np.array(expected["overlaps"])[others], abs=row["tolerance"])
    assert of_walks(laws, victim, data, epsilons) == pytest.approx(expected["exact"], abs=row["tolerance"])
    assert of_subsets(laws, victim, data, epsilons) == pytest.approx(expected["bound"], abs=row["tolerance"])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if case in QUICK else pytest.mark.deep, id="-".join(map(str, case)))
        for case in CASES
    ],
)
def test_no_data_set_loses_more_than_the_theorem_says(case):
    """All victims and data, both directions; and what is stated of the overlaps alone is above the theorem's mean."""
    name, rounds, laziness = case
    laws = positions(name, rounds, laziness=laziness)
    model = overlapping(laws, rounds=rounds)
    stated = np.array([NetworkOverlap().delta(model, epsilon=epsilon) for epsilon in EPSILONS.tolist()])
    nearest = 0.0
    for victim in range(len(laws)):
        for data in itertools.product((0, 1), repeat=len(laws)):
            exact, bound = (of(laws, victim, data, EPSILONS) for of in (of_walks, of_subsets))
            assert (exact <= bound * (1 + 1e-12) + 1e-14).all()
            assert (exact <= stated * (1 + 1e-12)).all()
            nearest = max(nearest, float((exact / np.maximum(bound, 1e-9)).max()))
    assert nearest > 0.3


@pytest.mark.parametrize("name", ["K4", pytest.param("paw", marks=pytest.mark.deep), "C4"])
@pytest.mark.parametrize("rounds", [1, pytest.param(3, marks=pytest.mark.deep)])
def test_nor_where_a_lopsided_question_is_covered_among_those_who_hide_somebody(name, rounds):
    """Lopsided channels have the cover from two people on; all data of the others, both directions."""
    rows = ((0.5, 0.5), (0.1, 0.9))
    laws = positions(name, rounds, laziness=0.3)
    model = replace(overlapping(laws, rounds=rounds), local=GivenChannel(rows=rows))
    assert "binary-cover" in next(
        each.value for each in NetworkOverlap().hypotheses(model, delta=0.1) if each.name == "uniform-bound"
    )
    epsilons = np.array([0.0, 0.2, 0.5, 1.0, 1.4])
    stated = np.array([NetworkOverlap().delta(model, epsilon=epsilon) for epsilon in epsilons.tolist()])
    exact = np.array([exact_delta(np.array(rows), laws, victim, None, epsilons) for victim in range(len(laws))])
    assert (exact <= stated * (1 + 1e-12)).all()
    assert (exact.max(axis=0) > 0.25 * stated)[:2].all()


def overlapping(laws, *, rounds, protocol="all", **others):
    """Walks of which the overlaps alone are known."""
    walks = walk_model(laws, rounds=rounds, protocol=protocol, **others)
    return ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=replace(walks, near_uniformity=math.inf, separation=1.0))


@pytest.mark.deep
@pytest.mark.parametrize("name", ["K3", "K4", "C4", "paw", "P3"])
@pytest.mark.parametrize("protocol", ["single", "padded"])
def test_nor_where_everybody_hands_in_equally_many(name, protocol):
    size = GRAPHS[name][0]
    seen = (
        sees_one_each(size, size, CHANNEL[0])
        if protocol == "single"
        else sees_padded(size, size, CHANNEL[0], submissions=2)
    )
    for rounds in (1, 2, 4):
        laws = positions(name, rounds)
        model = overlapping(laws, rounds=rounds, protocol=protocol, submissions=2 if protocol == "padded" else 0)
        stated = np.array([NetworkOverlap().delta(model, epsilon=epsilon) for epsilon in EPSILONS.tolist()])
        for victim in range(size):
            assert (exact_delta(CHANNEL, laws, victim, seen, EPSILONS) <= stated * (1 + 1e-12)).all()


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(20))
def test_nor_do_walks_of_any_laws(seed):
    """Not those of a graph: places that only some people reach, and people who are apart from all others."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(2, 5))
    laws = draw.dirichlet(np.full(size, 0.4), size=size) * (draw.random((size, size)) < 0.8)
    laws[:, 0] += 1e-3
    laws /= laws.sum(axis=1, keepdims=True)
    model = overlapping(laws, rounds=1)
    stated = np.array([NetworkOverlap().delta(model, epsilon=epsilon) for epsilon in EPSILONS.tolist()])
    for victim in range(size):
        for data in itertools.product((0, 1), repeat=size):
            exact, bound = (of(laws, victim, data, EPSILONS) for of in (of_walks, of_subsets))
            assert (exact <= bound * (1 + 1e-12) + 1e-14).all()
            assert (exact <= stated * (1 + 1e-12)).all()


@pytest.mark.deep
@pytest.mark.parametrize(("name", "rounds", "kept"), [("K3", 2, 0.7), ("paw", 3, 0.8), ("C4", 1, 0.5), ("P3", 2, 0.9)])
def test_lost_reports_that_nobody_sees_cost_the_victim_nothing_where_hers_is_lost(name, rounds, kept):
    laws = positions(name, rounds, laziness=0.2)
    size, dropout = len(laws), 1 - kept ** (1 / rounds)
    model = overlapping(laws, rounds=rounds, dropout=dropout)
    stated = np.array([NetworkOverlap().delta(model, epsilon=epsilon) for epsilon in EPSILONS.tolist()])
    for victim in range(size):
        for data in itertools.product((0, 1), repeat=size):
            exact = 0.0
            others = [person for person in range(size) if person != victim]
            for flags in itertools.product((False, True), repeat=len(others)):
                there = [victim, *(person for person, flag in zip(others, flags, strict=True) if flag)]
                chance = kept ** len(there) * (1 - kept) ** (size - len(there))
                exact = exact + chance * of_walks(laws[there], 0, [data[person] for person in there], EPSILONS)
            assert (exact <= stated * (1 + 1e-12)).all()


def test_where_all_have_one_law_it_is_the_uniform_shuffle_and_not_below():
    laws = stationary("paw")
    model = overlapping(laws, rounds=9)
    assert model.shuffle.mean_overlap == 1.0
    binary = replace(model, local=KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model)
    shuffled = sees_shuffled(4, 4, CHANNEL[0])
    exact = np.max([exact_delta(CHANNEL, laws, victim, shuffled, EPSILONS) for victim in range(4)], axis=0)
    stated = np.array([NetworkOverlap().delta(binary, epsilon=epsilon) for epsilon in EPSILONS.tolist()])
    assert (exact <= stated * (1 + 1e-12)).all()
    assert stated == pytest.approx(exact, rel=1e-9)  # two answers: all data sets are evaluated


def test_somebody_apart_from_all_others_harms_nobody_but_herself():
    """Two parts of which nothing is stated by parts: people of the large one overlap with each other alone."""
    laws = np.zeros((5, 5))
    laws[:4, :4], laws[4, 4] = 0.25, 1.0
    for victim, expected in ((0, 0.75), (4, 0.0)):
        chances = overlaps_with(laws, victim)
        assert (chances.sum() - chances[victim]) / 4 == expected
    stated = account(overlapping(laws, rounds=2), delta=0.01)
    assert (stated.basis.theorem, stated.guarantee.epsilon) == ("local-dp", 1.0)  # everybody's guarantee is hers


@pytest.mark.parametrize("protocol", ["all", "single"])
def test_what_a_shuffler_says_of_few_people_on_a_real_graph_is_above_the_exact_loss(protocol):
    graph = Graph.from_edges(GRAPHS["paw"][1])
    binary = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    shuffler = RandomWalkShuffler(graph=graph, num_rounds=4, laziness=0.3, protocol=protocol)
    model = ProtocolModel(local=binary.model, shuffle=shuffler.model(4))
    laws = positions("paw", 4, laziness=0.3)
    kernel = None if protocol == "all" else sees_one_each(4, 4, CHANNEL[0])
    exact = np.max([exact_delta(CHANNEL, laws, victim, kernel, EPSILONS) for victim in range(4)], axis=0)
    stated = [delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in EPSILONS.tolist()]
    assert (exact <= np.array(stated) * (1 + 1e-12)).all()
