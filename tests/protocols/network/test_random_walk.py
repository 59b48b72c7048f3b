"""Network shuffling: what is handed in by whom, and what the model says of it."""

import json
import math
import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from contracts.siblings import ResidueRandomizer, VectorModel
from shuffledp.accounting import account_all
from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, UnsupportedModelError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.core.table import Table
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_distributions import position_distribution
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.shufflers.walk_hand_in import fresh_dummies
from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel
from shuffledp.protocols.network.theorems.network_single import NetworkSingle
from shuffledp.randomizers import DiscreteLaplaceMean, KaryRandomizedResponse, LdpModel, OneBitMean, PrivUnit
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects

PAW = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])
GRAPH = Graph.random_regular(6, 200, SeededSource(1))
BIT = KaryRandomizedResponse(epsilon0=0.25, domain_size=2)
RANDOMIZER = KaryRandomizedResponse(epsilon0=1.0, domain_size=200)
REPORTS = RANDOMIZER.randomize(np.arange(200), source=SeededSource(2))


def walk(**options) -> RandomWalkShuffler:
    return RandomWalkShuffler(**({"graph": GRAPH, "num_rounds": 5} | options))


def test_all_hands_in_every_report_beside_whoever_holds_it():
    view = walk().shuffle(REPORTS, source=SeededSource(3))
    held = walk().walk(source=SeededSource(3)).positions
    handed_in = sorted(zip(held.tolist(), REPORTS["value"].tolist(), strict=True))
    assert sorted(zip(view.labels.tolist(), view.reports["value"].tolist(), strict=True)) == handed_in
    assert view.shuffle.dummies is None


def test_without_rounds_everybody_hands_in_their_own():
    for options in ({}, {"protocol": "single"}):
        view = walk(num_rounds=0, **options).shuffle(REPORTS)
        assert view.labels.tolist() == list(range(200))
        assert view.reports["value"].tolist() == REPORTS["value"].tolist()
        assert view.shuffle.near_uniformity == math.inf
        assert (view.shuffle.position_probabilities, view.shuffle.position_counts) == ((1.0,), (1,))


@pytest.mark.parametrize(("protocol", "submissions", "each"), [("single", None, 1), ("padded", 3, 3)])
def test_everybody_hands_in_equally_many(protocol, submissions, each):
    shuffler = walk(protocol=protocol, submissions=submissions)
    view = shuffler.shuffle(REPORTS)
    assert np.bincount(view.labels).tolist() == [each] * 200


def test_of_several_reports_one_is_chosen_uniformly_and_gaps_are_filled_with_dummies():
    # All leaves of a star pass to its middle, which passes to a leaf.
    star = Graph.from_edges([(0, leaf) for leaf in range(1, 5)])
    randomizer = KaryRandomizedResponse(epsilon0=30.0, domain_size=5)
    reports = randomizer.randomize([0, 1, 2, 3, 4])
    shuffler = RandomWalkShuffler(graph=star, num_rounds=1, protocol="single", dummies=randomizer, dummy_value=2)
    source, middle, dummies = SeededSource(5), [], 0
    for _ in range(4000):
        view = shuffler.shuffle(reports, source=source)
        middle.append(int(view.reports["value"][0]))
        dummies += int((view.reports["value"][1:] == 2).sum())
    counts = np.bincount(middle, minlength=5)
    assert counts[0] == 0
    assert_fits(counts[1:], np.full(4, 0.25))
    assert_rejects(counts[1:], np.array([0.3, 0.25, 0.25, 0.2]))
    assert dummies == 3 * 4000
    assert view.shuffle.dummies.fraction == pytest.approx(3 / 5)
    assert view.shuffle.dummies.value == 2
    assert view.shuffle.arrival_share == pytest.approx(2 / 5)


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("value", [None, 0, 1])
def test_dummies_are_fresh_randomizations(given, value):
    pair = Graph.from_edges([(0, 1), (1, 2)])
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    dummies = {"dummies": randomizer} if given else {}
    shuffler = RandomWalkShuffler(graph=pair, num_rounds=1, protocol="single", dummy_value=value, **dummies)
    reports = Reports({"value": np.zeros(3, dtype=np.uint8)}, randomizer.model)
    source = SeededSource(6)
    made = [int(shuffler.shuffle(reports, source=source).reports["value"].sum()) for _ in range(4000)]
    # The middle's report goes to one end; the other end makes a dummy, and the middle hands in a report.
    ones = randomizer.model.p if value == 1 else randomizer.model.q
    assert_fits(np.bincount(made, minlength=2), np.array([1 - ones, ones]))
    assert_rejects(np.bincount(made, minlength=2), np.array([0.5, 0.5]))


def law_of_one_each(graph, rounds, ones, dummy) -> np.ndarray:
    """Of the bits that all people hand in, read as a number, by every place of every report."""
    laws, found = position_distribution(graph, None, rounds), np.zeros(2**graph.num_users)
    people = range(graph.num_users)
    for places in product(people, repeat=graph.num_users):
        chance = math.prod(laws[person, place] for person, place in enumerate(places))
        held = [[ones[person] for person in people if places[person] == here] or [dummy] for here in people]
        shown = np.ones(1)
        for bit in (np.mean(each) for each in held):
            shown = np.concatenate([shown * (1 - bit), shown * bit])
        found += chance * shown
    return found


@pytest.mark.parametrize("dummies", [{}, {"dummies": BIT}])
def test_dummies_left_out_are_those_of_the_own_randomizer(dummies):
    shuffler = RandomWalkShuffler(graph=PAW, num_rounds=2, protocol="single", **dummies)
    answers, source = np.array([1, 1, 0, 1]), SeededSource(9)
    views = [shuffler.shuffle(BIT.randomize(answers, source=source), source=source) for _ in range(5000)]
    seen = np.bincount([int(view.reports["value"] @ (1 << np.arange(4))) for view in views], minlength=16)
    ones = np.where(answers == 1, BIT.model.p, BIT.model.q)
    assert_fits(seen, law_of_one_each(PAW, 2, ones, BIT.model.q))
    assert_rejects(seen, law_of_one_each(PAW, 2, ones, BIT.model.p))


@pytest.mark.parametrize(("protocol", "submissions"), [("single", None), ("padded", 2)])
@pytest.mark.parametrize(
    "own", [BIT, OneBitMean(epsilon0=1.0, lower=2.5, upper=5), PrivUnit(epsilon0=1.0, dimension=3)]
)
def test_statements_do_not_depend_on_how_the_own_randomizer_is_named(protocol, submissions, own):
    options = {"protocol": protocol, "submissions": submissions}
    named, left_out = (walk(**options, **given).model(200) for given in ({"dummies": own}, {}))
    assert left_out.dummies.own
    assert left_out.dummy_model is None
    one, other = (account_all(ProtocolModel(local=own.model, shuffle=each), delta=1e-4) for each in (named, left_out))
    assert one == other
    assert one[0].basis.theorem == "network-single"
    assert one[0].guarantee.epsilon < 0.9 * own.model.epsilon0
    assert own.model.named(named.dummies) == own.model.named(left_out.dummies)


def test_a_shuffle_with_dummies_of_its_own_survives_json_and_pickle():
    shuffler = walk(protocol="single", dummy_value=1)
    model = shuffler.model(200)
    assert RandomWalkShuffleModel.from_dict(json.loads(json.dumps(model.to_dict()))) == model
    assert pickle.loads(pickle.dumps(shuffler)).model(200) == model  # noqa: S301  # our own bytes
    with pytest.raises(InvalidParameterError, match="dummy_model must be None where dummies are the reports' own"):
        RandomWalkShuffleModel.from_dict(model.to_dict() | {"dummy_model": BIT.model.to_dict()})


def test_reports_of_which_nobody_can_make_more_need_dummies():
    reports = Reports({"vector": np.full((200, 1), 1.5)}, VectorModel(width=1, bound=1.5))
    with pytest.raises(UnsupportedModelError, match=r"dummies must be given: .* Pass dummies=randomizer"):
        walk(protocol="single").shuffle(reports)
    assert len(walk(protocol="single", dummies=lambda count, _: reports.take(slice(count))).shuffle(reports)) == 200


def test_a_range_without_a_whole_number_of_zero_or_more_takes_no_dummies():
    debts = DiscreteLaplaceMean(epsilon0=1.0, lower=-3, upper=-1)
    with pytest.raises(UnsupportedModelError, match=r"dummies need a whole number of 0 or more.* from -3 to -1"):
        walk(protocol="single", dummies=debts)
    with pytest.raises(UnsupportedModelError, match="dummies need a whole number"):
        walk(protocol="single").shuffle(debts.randomize(np.full(200, -2.0)))
    with pytest.raises(InvalidParameterError, match="dummy_value must be an integer from -3 to -1"):
        walk(protocol="single", dummy_value=1).shuffle(debts.randomize(np.full(200, -2.0)))


def test_dummies_may_be_made_by_a_function_whose_reports_average_out():
    vectors = PrivUnit(epsilon0=2.0, dimension=3)

    def made(count, source):
        directions = np.random.default_rng(int(source.words(1)[0])).normal(size=(count, 3))
        return vectors.randomize(directions / np.linalg.norm(directions, axis=1)[:, None], source=source)

    shuffler = walk(protocol="single", dummies=made, dummy_value=None)
    view = shuffler.shuffle(vectors.randomize(np.tile([1.0, 0, 0], (200, 1))))
    assert len(view) == 200
    assert view.shuffle.dummies.value is None


def test_lost_reports_are_not_handed_in():
    shuffler = walk(dropout=0.2)
    arrived = [len(shuffler.shuffle(REPORTS)) for _ in range(50)]
    share = 0.8**5
    assert shuffler.model(200).arrival_share == pytest.approx(share)
    assert abs(np.mean(arrived) - 200 * share) < 6 * math.sqrt(200 * share * (1 - share) / 50)


def test_public_columns_stand_beside_who_hands_in_also_where_nothing_is():
    public = Table({"street": [f"street {person}" for person in range(200)]})
    view = walk().shuffle(REPORTS, public=public)
    assert view.label_table == public
    assert len(np.unique(view.labels)) < 200


def test_the_model_holds_for_everybody():
    model = walk(num_rounds=3).model(200)
    assert isinstance(model, RandomWalkShuffleModel)
    laws = position_distribution(GRAPH, None, 3)
    assert model.position_probabilities[0] >= laws.max()
    assert model.graph_digest == GRAPH.digest
    assert model.irregularity == 1.0
    assert not model.keeps_places
    assert not model.is_uniform
    assert model.counting(150).num_honest == 150


def test_of_reports_that_wait_together_nothing_is_claimed():
    model = walk(offline=0.3).model(200)
    assert (model.position_probabilities, model.position_counts) == ((1.0,), (1,))
    assert (model.near_uniformity, model.separation) == (math.inf, 1.0)
    assert len(walk(offline=0.3).shuffle(REPORTS)) == 200


def test_a_bipartite_graph_is_remarked_on_unless_reports_are_lazy():
    ring = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    assert "bipartite" in RandomWalkShuffler(graph=ring, num_rounds=3).model(4).remarks[0]
    for options in ({"laziness": 0.5, "num_rounds": 3}, {"num_rounds": 0}):
        assert "bipartite" not in " ".join(RandomWalkShuffler(graph=ring, **options).model(4).remarks)


@pytest.mark.parametrize("protocol", ["single", "padded"])
def test_that_some_people_are_favored_after_few_rounds_is_said(protocol):
    def favors(**options) -> str:
        submissions = 2 if options.get("protocol", protocol) == "padded" else None
        model = walk(**{"protocol": protocol, "submissions": submissions} | options).model(200)
        statement = account_all(ProtocolModel(local=BIT.model, shuffle=model), delta=1e-4)[0]
        return " ".join(remark for remark in statement.remarks if "estimates are biased" in remark)

    assert f"protocol '{protocol}' may hand in some people's reports more often" in favors(num_rounds=3)
    assert "at most 1 apart" in favors(num_rounds=1)
    for options in ({"num_rounds": 0}, {"num_rounds": 60}, {"protocol": "all", "num_rounds": 3}):
        assert favors(**options) == ""


@pytest.mark.parametrize("num_rounds", [1, 4, 7, 12, 30])
def test_two_peoples_positions_are_no_further_apart_than_is_said(num_rounds):
    laws = position_distribution(GRAPH, None, num_rounds)
    apart = max(np.abs(laws - law).sum(axis=1).max() / 2 for law in laws)
    model = walk(num_rounds=num_rounds).model(200)
    assert apart <= model.unlikeness * (1 + 1e-12)
    assert model.unlikeness <= min(1.0, 6 * apart)


def test_a_graph_for_each_round():
    shuffler = RandomWalkShuffler(graph=[PAW, Graph.from_edges([(0, 1), (2, 3)])], num_rounds=2)
    model = shuffler.model(4)
    assert model.graph_digest.count(",") == 1
    assert model.near_uniformity == math.inf


def test_two_sides_and_irregularity_are_those_of_all_graphs():
    ring = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    turned, whole = (
        Graph.from_edges([(0, 1), (2, 3)]),
        Graph.from_edges([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
    )
    for second, two_sides in ((turned, True), (whole, False), (PAW, False)):
        model = RandomWalkShuffler(graph=[ring, second], num_rounds=2).model(4)
        assert model.is_bipartite == two_sides
        assert model.irregularity == max(1.0, second.irregularity)


def test_what_remains_where_people_do_not_do_as_agreed_is_said():
    model = walk().model(200)
    said = " ".join([*model.remarks, *(each.text for each in model.trust)])
    assert "must be subtracted" not in said
    for words in ("cannot just be subtracted", "online in every round", "deviates"):
        assert words in said


BAD = [
    ({"protocol": "padded", "submissions": 10**7}, "submissions must be at most .* 200"),
    ({"num_rounds": -1}, "num_rounds must be an integer that is 0 or more; got num_rounds=-1"),
    ({"num_rounds": 2.5}, "num_rounds must be an integer that is 0 or more; got num_rounds=2.5"),
    ({"protocol": "some"}, "protocol must be one of 'all', 'single', 'padded'; got protocol='some'"),
    ({"laziness": 1.0}, "laziness must be below 1"),
    ({"dropout": -0.1}, "dropout must be a number from 0 to 1"),
    ({"dummies": RANDOMIZER}, "dummies must be left out for protocol='all'"),
    ({"dummy_value": 1}, "dummy_value must be left out for protocol='all', which needs no dummies; got dummy_value=1"),
    ({"protocol": "single", "dummies": 3}, "dummies must be a Randomizer; got dummies of type int"),
    ({"protocol": "single", "dummies": KaryRandomizedResponse}, "dummies must be a Randomizer; got dummies of type"),
    ({"protocol": "single", "dummy_value": -1}, "dummy_value must be an integer that is 0 or more"),
    ({"protocol": "padded"}, "submissions must be an integer that is 1 or more"),
    ({"submissions": 3}, "submissions must be left out, for protocol='all'"),
    ({"protocol": "single", "offline": 0.1}, "offline must be 0 for protocol='single'"),
    ({"graph": Graph.from_edges([(0, 1)], 3)}, "graph must have a neighbor for everybody.*person 2 has none, 1 in all"),
    ({"graph": Graph.from_edges([(0, 1), (1, 2)], weights=[1, 2])}, "no weights, or equal ones.*uniformly.* 1 to 2"),
    ({"graph": [PAW] * 4 + [Graph.from_edges([(0, 1), (2, 3)], weights=[0, 2])]}, "graph must have no weights, or eq"),
    ({"graph": "friends.csv"}, "graph must be a Graph"),
    ({"graph": []}, "graph must be one graph, or a list of one or more; got an empty one"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input_is_refused(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        walk(**options)


def test_a_list_of_graphs_begins_anew_after_the_last():
    other = Graph.from_edges([(0, 1), (2, 3), (1, 2)])
    short, whole = walk(graph=[PAW, other]), walk(graph=[PAW, other, PAW, other, PAW])
    assert len(short.graph) == short.num_rounds == 5
    assert short.model(4) == whole.model(4)
    assert walk(graph=[PAW, other], num_rounds=1).model(4) == walk(graph=[PAW], num_rounds=1).model(4)
    with pytest.raises(InvalidParameterError, match=r"graphs of the same people, one for each round; got .* 4 to 200"):
        walk(graph=[PAW, Graph.random_regular(4, 200)])


def test_walks_of_a_graph_with_equal_weights_are_those_of_one_without():
    edges = [(0, 1), (1, 2), (0, 2), (2, 3)]
    equal, heavy = Graph.from_edges(edges, weights=[2.0] * 4), Graph.from_edges(edges, weights=[1, 2, 3, 4])
    models = [RandomWalkShuffler(graph=each, num_rounds=3).model(4) for each in (PAW, equal, heavy.without_weights())]
    assert models[0] == models[1] == models[2]
    assert heavy.without_weights() == PAW


def test_other_people_than_those_of_the_graph_are_refused():
    with pytest.raises(InvalidParameterError, match="num_users must be the number of people in the graph, 200"):
        walk().shuffle(REPORTS.take(slice(7)))


@pytest.mark.parametrize("number", [0.1, 0.9, 1.9, 1.0, -1, True, 201, "1"])
def test_colluders_in_no_whole_number_or_too_many_are_refused_at_once(number):
    """A fraction was rounded down: nobody colluded, and what holds without colluders was claimed."""
    fields = walk().model(200).to_dict()
    for make in (lambda: walk(num_colluding=number), lambda: RandomWalkShuffleModel.from_dict(fields)):
        fields["num_colluding"] = number
        with pytest.raises(InvalidParameterError, match="num_colluding must be"):
            make()
    for several in (1, np.int64(2), 200):
        assert walk(num_colluding=several).model(200).num_colluding == several


@pytest.mark.parametrize(
    ("holders", "message"),
    [
        ([0, 1], r"holders must be one for each of 200 reports; got shape_of_holders=\(2,\)"),
        (np.zeros((200, 1), dtype=int), "holders must be one for each of 200 reports"),
        (np.zeros(200), "holders must be integers; got holders of type float64"),
        (np.full(200, 200), r"holders must be in range\(200\), or -1 for a report that is lost"),
        (np.full(200, -2), r"holders must be in range\(200\)"),
        (np.full(200, -1), "holders must be people where dropout is 0, so that no report is lost; 200 are -1"),
    ],
)
@pytest.mark.parametrize("protocol", ["all", "single"])
def test_holders_that_cannot_be_are_refused(holders, message, protocol):
    with pytest.raises(InvalidParameterError, match=message):
        walk(protocol=protocol).hand_in(REPORTS, holders)


def test_where_all_reports_are_lost_the_view_is_one_of_none_and_no_estimate_is_made_of_it():
    nothing = np.full(200, -1)
    view = walk(dropout=0.5).hand_in(REPORTS, nothing)
    assert len(view) == 0
    with pytest.raises(InvalidParameterError, match="one report or more; got num_reports=0"):
        FrequencyAnalyzer().estimate(FrequencyAnalyzer().summarize(view))
    assert len(walk(dropout=0.5, protocol="single").hand_in(REPORTS, nothing)) == 200


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda count, _: REPORTS.take(slice(count - 1)), "dummies must give the requested number of reports"),
        (lambda count, _: REPORTS["value"][:count], "dummies must give Reports; the function gave a ndarray"),
        (lambda *_: None, "dummies must give Reports; the function gave a NoneType"),
    ],
)
def test_dummies_that_are_not_so_many_reports_are_refused(made, message):
    with pytest.raises(InvalidParameterError, match=message):
        walk(protocol="single", dummies=made).shuffle(REPORTS)


def test_a_model_checks_its_fields():
    good = walk(protocol="single").model(200).to_dict()
    for change, message in (
        ({"position_counts": [1]}, "position_counts must be one for each"),
        ({"position_probabilities": []}, "position_probabilities must be"),
        ({"separation": 1.5}, "separation must be a number from 0 to 1"),
        ({"mean_overlap": -0.1}, "mean_overlap must be a number from 0 to 1"),
        ({"few_held": [0.1, 2.0]}, "each of few_held must be a number from 0 to 1"),
        ({"irregularity": -1.0}, "irregularity must be a number that is 0 or more"),
        ({"submissions": 2}, "submissions must be left out"),
        ({"dropout": 1.0}, "dropout must be below 1"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            RandomWalkShuffleModel.from_dict(good | change)


def test_every_count_and_probability_of_a_model_is_checked_not_only_the_extreme_ones():
    good = walk().model(200)
    for change, message in (
        ({"position_counts": (1, 2.5), "position_probabilities": (0.5, 0.2)}, "position_counts must be an integer"),
        ({"position_counts": (1,) * 3, "position_probabilities": (0.5, math.nan, 0.2)}, "position_probabilities must"),
        ({"submissions": 0.0}, "submissions must be an integer"),
        ({"num_colluding": 0.1}, "num_colluding must be an integer"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            replace(good, **change)


def test_dummies_of_the_model_survive_json():
    model = walk(protocol="single", dummies=RANDOMIZER).model(200)
    assert isinstance(model.dummies, DummyReports)
    assert RandomWalkShuffleModel.from_dict(model.to_dict()) == model


@pytest.mark.parametrize(
    "dummies",
    [
        lambda count, _: Reports({"value": np.zeros(count, dtype=np.uint8)}, BIT.model),  # shows who is a dummy
        KaryRandomizedResponse(epsilon0=4.0, domain_size=2),
    ],
)
def test_dummies_that_are_no_fresh_reports_hide_nobody(dummies):
    triangle = Graph.from_edges([(0, 1), (1, 2), (0, 2)])
    for given, holds in ((dummies, False), (BIT, True)):
        shuffler = RandomWalkShuffler(graph=triangle, num_rounds=1, protocol="single", dummies=given)
        model = ProtocolModel(local=BIT.model, shuffle=shuffler.model(3))
        hypotheses = NetworkSingle().hypotheses(model, delta=0.1)
        assert next(each for each in hypotheses if each.name == "hidden-bag-sizes").holds == holds
        # With zeros for dummies, the exact delta(0) is .07285.
        assert holds or NetworkSingle().delta(model, epsilon=0.0) > 0.07285


def test_dummies_of_another_randomizer_are_not_known_to_be_reports_whatever_its_loss():
    triangle = Graph.from_edges([(0, 1), (1, 2), (0, 2)])
    known = LdpModel(epsilon0=1.0)
    for given, local, holds in (
        ({"dummies": BIT}, known, False),  # reports of three values could be told from these
        ({"dummies": BIT}, KaryRandomizedResponse(epsilon0=0.25, domain_size=3).model, False),
        ({"dummies": BIT}, BIT.model, True),
        ({}, known, True),
    ):
        shuffle = RandomWalkShuffler(graph=triangle, num_rounds=1, protocol="single", **given).model(3)
        hypotheses = NetworkSingle().hypotheses(ProtocolModel(local=local, shuffle=shuffle), delta=0.1)
        assert next(each for each in hypotheses if each.name == "hidden-bag-sizes").holds == holds


def test_dummies_of_vectors_have_uniform_directions():
    vectors = PrivUnit(epsilon0=2.0, dimension=3)
    shuffler = walk(protocol="single", dummies=vectors)
    assert len(shuffler.shuffle(vectors.randomize(np.tile([1.0, 0, 0], (200, 1))))) == 200
    assert shuffler.model(200).dummy_model == vectors.model
    assert shuffler.model(200).dummies.value is None


@pytest.mark.parametrize(("value", "of"), [(7, BIT), (0, PrivUnit(epsilon0=2.0, dimension=3))])
def test_a_value_that_no_dummy_can_be_made_of_is_refused_at_once(value, of):
    with pytest.raises(InvalidParameterError, match="dummy_value must be"):
        walk(protocol="single", dummies=of, dummy_value=value)
    with pytest.raises(InvalidParameterError, match="dummy_value must be"):
        fresh_dummies(None, value, 3, of.model, SeededSource(1))


def test_several_messages_are_unsupported():
    reports = ResidueRandomizer(modulus=97, num_messages=3).randomize(np.zeros(200, dtype=int))
    with pytest.raises(UnsupportedModelError, match="walks need one report per person"):
        walk().shuffle(reports)


# ---- on an overlay ---------------------------------------------------------------------------------------------------

OVERLAY = Overlay(200, (14, 14))


@pytest.mark.parametrize("rounds", [2, 4])
def test_the_model_of_an_overlay_says_that_positions_are_uniform(rounds):
    model = walk(graph=OVERLAY, num_rounds=rounds, dropout=0.1).model(200)
    assert (model.sizes, model.near_uniformity, model.separation) == ((14, 14), 0.0, 0.0)
    assert (model.irregularity, model.is_bipartite, model.num_parts, model.parts) == (1.0, False, 1, ())
    assert model.position_counts == (200,)
    assert model.position_probabilities[0] == pytest.approx(0.9**rounds / 200, rel=1e-15)
    assert RandomWalkShuffleModel.from_dict(json.loads(json.dumps(model.to_dict()))) == model


def test_a_model_of_a_graph_is_written_as_before_there_were_overlays():
    assert "sizes" not in walk().model(200).to_dict()


def test_reports_on_an_overlay_are_handed_in_where_they_came_to():
    shuffler = walk(graph=OVERLAY, num_rounds=2)
    view = shuffler.shuffle(REPORTS, source=SeededSource(3))
    held = shuffler.walk(source=SeededSource(3)).positions
    handed_in = sorted(zip(held.tolist(), REPORTS["value"].tolist(), strict=True))
    assert sorted(zip(view.labels.tolist(), view.reports["value"].tolist(), strict=True)) == handed_in
    one_each = walk(graph=OVERLAY, num_rounds=2, protocol="single").model(200)
    assert one_each.arrival_share == pytest.approx(1 - (1 - 1 / 200) ** 200, rel=1e-9)


def test_with_people_offline_nothing_is_said_of_positions_on_an_overlay():
    model = walk(graph=OVERLAY, num_rounds=2, offline=0.01).model(200)
    assert (model.sizes, model.near_uniformity, model.separation) == ((14, 14), math.inf, 1.0)
    stated = account_all(ProtocolModel(local=BIT.model, shuffle=model), delta=1e-6)
    assert stated[0].guarantee.epsilon == BIT.model.epsilon0


def test_a_report_on_an_overlay_meets_fewer_colluders_than_rounds_would_allow():
    few, many = Overlay(200, (2, 100)), Overlay(200, (100, 2))
    exposures = [walk(graph=each, num_rounds=2).model(200).exposure(20) for each in (few, many)]
    assert exposures[0] == pytest.approx(exposures[1])
    assert exposures[0] < walk(num_rounds=2).model(200).exposure(20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_rounds": 3}, "num_rounds must be 2 on this overlay, one for each digit, or a multiple of it"),
        ({"num_rounds": 0}, "num_rounds must be an integer that is 1 or more"),
        ({"laziness": 0.1}, "laziness must be 0 on an overlay"),
        ({"submissions": 201, "protocol": "padded"}, "submissions must be at most the number of people, 200"),
    ],
)
def test_walks_that_do_not_end_uniformly_on_an_overlay_are_refused(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        walk(**{"graph": OVERLAY, "num_rounds": 2} | options)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sizes": (2, 40)}, "would fit"),
        ({"near_uniformity": 0.1}, "sizes must be left out unless walks end exactly uniformly"),
        ({"separation": 0.1}, "sizes must be left out"),
        ({"position_counts": (199,)}, "sizes must be left out"),
        ({"num_rounds": 3}, "or a multiple"),
        ({"laziness": 0.5}, "laziness must be 0 on an overlay"),
    ],
)
def test_a_model_that_says_more_of_an_overlay_than_holds_is_refused(fields, message):
    model = walk(graph=OVERLAY, num_rounds=2).model(200)
    with pytest.raises(InvalidParameterError, match=message):
        replace(model, **fields)


def test_reports_beyond_the_slots_wait_or_abort_the_walks():
    """On a ring of four, where links of one slot are nearly always too few in nine rounds."""
    ring = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([0, 1, 0, 1])
    waiting, aborting = (
        RandomWalkShuffler(graph=ring, num_rounds=9, slots=(1,) * 9, surplus=each) for each in ("waits", "aborts")
    )
    assert [waiting.walk(source=SeededSource(seed)).waited > 0 for seed in range(5)] == [True] * 5
    assert len(waiting.shuffle(reports, source=SeededSource(1)).labels) == 4
    with pytest.raises(LocalProtocolError, match=r"walks are aborted, and nothing .* with a chance of at most 1\.$"):
        aborting.shuffle(reports, source=SeededSource(1))
    enough = RandomWalkShuffler(graph=ring, num_rounds=9, slots=(4,) * 9, surplus="aborts")
    assert enough.shuffle(reports).shuffle.slots == (4,) * 9
    assert 0 < enough.overflow < 0.1


def test_what_waits_blurs_the_share_of_dummies():
    """The share is expected of walks without limits; its error has room for all that may wait."""
    options = {"graph": Graph.random_regular(4, 30), "num_rounds": 3, "protocol": "single"}
    free, limited = (RandomWalkShuffler(**options, slots=slots).model(30) for slots in (None, (1, 2, 3)))
    assert limited.dummies.fraction == free.dummies.fraction
    assert limited.dummies.standard_error == pytest.approx(free.dummies.standard_error + limited.overflow)
