"""The section of network shuffling: what it refuses, what it pins, and the shuffler that it makes of a graph."""

import hashlib

import pytest

from cli.networks import ring_with_chords
from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph
from shuffledp.planning import calibrate
from shuffledp.protocols.network import plan_overlay
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.survey.network_section import NetworkSection
from shuffledp.randomizers import KaryRandomizedResponse, OneBitMean, PrivUnit
from shuffledp.testing import SeededSource

BIT = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
GRAPH = Graph.from_edges(ring_with_chords(30, 60))
OTHER = Graph.from_edges(ring_with_chords(30, 40))
DIGEST = "0" * 64


def section(**keys) -> NetworkSection:
    return NetworkSection(**{"graph": "friends.csv", "rounds": 3, **keys})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"graph": ()}, "one file or more"),
        ({"graph": ""}, "graph must be"),
        ({"graph": "random-tree:3"}, "the name of a file, or random-regular:DEGREE"),
        ({"rounds": -1}, "an integer from 0 to 100000, or 'auto'"),
        ({"rounds": 2.5}, "an integer from 0 to 100000, or 'auto'"),
        ({"rounds": "many"}, "an integer from 0 to 100000, or 'auto'"),
        ({"protocol": "half"}, "protocol must be"),
        ({"protocol": "padded"}, "submissions must be"),
        ({"submissions": 2}, "left out, for protocol='all'"),
        ({"laziness": 1.0}, "below 1"),
        ({"dropouts": -0.1}, "dropouts must be"),
        ({"colluding": 1.0}, "nobody would be left to protect"),
        ({"protocol": "single", "offline": 0.1}, "the number of dummies would be unknown"),
        ({"links": "hidden"}, "links must be"),
        ({"slots": (1, 2)}, 'slots must be left out without links = "constant"'),
        ({"surplus": "aborts"}, 'surplus must be left out without links = "constant"'),
        ({"links": "constant", "slots": "many"}, "'auto', or one number for each of the first rounds"),
        ({"links": "constant", "slots": ()}, "slots must be one number or more"),
        ({"links": "constant", "slots": (1, 0)}, "each of slots must be an integer that is 1 or more"),
        (
            {"links": "constant", "slots": (1, 10**20)},
            "each of slots must be at most 1000000; got",
        ),
        ({"links": "constant", "surplus": "stays"}, "surplus must be"),
        ({"links": "constant", "dropouts": 0.1}, "dropouts must be 0 where links have slots"),
        ({"rounds": "auto", "offline": 0.1}, "rounds must be a number where offline is above 0"),
        ({"rounds": "auto", "colluding": 0.1}, "rounds must be a number where colluding is above 0"),
        ({"gate": 0.0}, "gate must be"),
        ({"gate": 0.5, "rounds": "auto"}, "rounds must be a number where a gate is given: .* got rounds='auto'"),
        ({"gate": 0.5, "colluding": 0.1}, "gate must be left out where colluding is above 0"),
        ({"gate": 0.5, "protocol": "single"}, "gate must be left out for protocol='single'"),
        ({"graph_seed": 1}, "left out where the graph is in a file"),
        ({"graph": "random-regular:4", "graph_seed": -1}, "graph_seed must be"),
        ({"graph": "random-regular:4", "sha256": DIGEST}, "which is in no file"),
        ({"sha256": "A" * 64}, "64 hexadecimal digits"),
    ],
)
def test_keys_that_are_out_of_range_or_do_not_go_together_are_refused(keys, message):
    with pytest.raises(InvalidParameterError, match=message):
        section(**keys)


def on_overlay(**keys) -> NetworkSection:
    given = {"kind": "network", "overlay": {"groups": [5, 6]}, **keys}
    return NetworkSection.from_dict({key: value for key, value in given.items() if value is not None})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"graph": "friends.csv"}, "must have a graph that reports walk along, or an overlay, .*; got both"),
        ({"overlay": None}, "must have a graph that reports walk along, or an overlay, .*; got neither"),
        (
            {"overlay": {}},
            r"\[shuffler\] overlay must have groups, .* or a largest number of contacts, .*; got neither",
        ),
        ({"overlay": {"groups": [5, 6], "contacts": 9}}, "got both"),
        ({"overlay": None, "graph": "friends.csv", "onion": True}, "onion must be left out on a graph"),
        ({"overlay": {"groups": []}}, "groups must be one size or more"),
        ({"overlay": {"groups": [30, 1]}}, "each of groups must be an integer that is 2 or more"),
        ({"overlay": {"contacts": 0}}, "contacts must be an integer that is 1 or more"),
        ({"overlay": {"people": 30}}, r"\[shuffler\] overlay must have only the keys groups, contacts"),
        ({"laziness": 0.1}, "laziness must be 0 with an overlay"),
        ({"rounds": 3}, "rounds must be 'auto' or 2, one for each of groups, or a multiple of it"),
        ({"rounds": 0}, "rounds must be 'auto' or 2"),
        ({"graph_seed": 1}, "graph_seed must be left out with an overlay"),
        ({"sha256": DIGEST}, "sha256 must be left out with an overlay"),
    ],
)
def test_keys_that_do_not_go_with_an_overlay_are_refused(keys, message):
    with pytest.raises(InvalidParameterError, match=message):
        on_overlay(**keys)


def test_an_overlay_walks_one_round_for_each_of_its_groups():
    of_groups, of_contacts = on_overlay(), on_overlay(overlay={"contacts": 9})
    overlay = of_groups.overlay.of(30)
    assert (overlay.sizes, of_contacts.overlay.of(30).sizes) == ((5, 6), (5, 6))
    assert of_contacts.overlay.of(31) == Overlay.within(31, contacts=9)
    assert of_groups.walking(overlay, BIT, 1e-2).num_rounds == 2
    assert on_overlay(rounds=4).walking(overlay, BIT, 1e-2).num_rounds == 4
    assert on_overlay(offline=0.1, colluding=0.1).walking(overlay, BIT, 1e-2).num_colluding == 3
    assert (of_groups.degree, of_groups.files, of_groups.pinned(None)) == (None, (), of_groups)


def test_a_task_is_written_without_the_key_that_it_does_not_have():
    assert on_overlay().to_dict()["overlay"] == {"groups": [5, 6]}
    assert "graph" not in on_overlay().to_dict()
    assert "overlay" not in section().to_dict()
    assert NetworkSection.from_dict(on_overlay().to_dict()) == on_overlay()


def test_a_graph_is_in_files_or_drawn():
    assert (section().degree, section().files) == (None, ("friends.csv",))
    assert section(graph=("a.csv", "b.csv")).files == ("a.csv", "b.csv")
    drawn = section(graph="random-regular:8", graph_seed=3)
    assert (drawn.degree, drawn.files) == (8, ())


def test_files_are_pinned_by_the_digest_of_all_of_them_in_order(tmp_path):
    (tmp_path / "a.csv").write_text("0,1\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("1,2\n", encoding="utf-8")
    one, other = (section(graph=names).pinned(tmp_path) for names in (("a.csv", "b.csv"), ("b.csv", "a.csv")))
    assert one.sha256 == hashlib.sha256(b"0,1\n1,2\n").hexdigest() != other.sha256
    assert one.pinned(tmp_path) == one
    with pytest.raises(InvalidParameterError, match="the file with the sha256 that the task gives"):
        section(graph="a.csv", sha256=DIGEST).pinned(tmp_path)
    with pytest.raises(InvalidParameterError, match="a file that can be read"):
        section(graph="absent.csv").pinned(tmp_path)
    drawn = section(graph="random-regular:8")
    assert drawn.pinned(tmp_path) is drawn


def test_graphs_follow_each_other_and_begin_anew():
    shuffler = section(rounds=5).along((GRAPH, OTHER), BIT, 1e-2).shuffler(5)
    assert shuffler.graph == (GRAPH, OTHER, GRAPH, OTHER, GRAPH)
    assert section().along((GRAPH,), BIT, 1e-2).shuffler(3).graph is GRAPH
    assert section().along((GRAPH, OTHER), BIT, 1e-2).shuffler(0).graph is GRAPH
    with pytest.raises(InvalidParameterError, match="graphs must be given"):
        section().shuffler()


@pytest.mark.parametrize(
    "keys",
    [
        {"laziness": 0.25, "dropouts": 0.01, "colluding": 0.1},
        {"offline": 0.2},
        {"protocol": "single"},
        {"protocol": "padded", "submissions": 2},
    ],
)
def test_a_section_describes_its_own_shuffles_and_no_others(keys):
    given = section(**keys)
    model = given.along((GRAPH,), BIT, 1e-2).shuffler(3).scheduled().model(30)
    assert given.describes(model)
    if "offline" not in keys and "colluding" not in keys:
        assert section(**keys | {"rounds": "auto"}).describes(model)
    for others in ({"rounds": 4}, {"laziness": 0.5}, {"protocol": "padded", "submissions": 3, "offline": 0.0}):
        assert not section(**keys | others).describes(model)
    assert model.num_colluding == given.num_colluding(30) == (3 if "colluding" in keys else 0)


@pytest.mark.parametrize(("keys", "each"), [({}, None), ({"protocol": "padded", "submissions": 2}, 2)])
def test_only_views_with_the_right_number_of_reports_could_be_of_a_section(keys, each):
    given = section(**keys)
    view = given.along((GRAPH,), BIT, 1e-2).shuffler(3).shuffle(BIT.randomize([0, 1] * 15, source=SeededSource(1)))
    assert given.could_have_made(view)
    other = section(protocol="single") if each else section(dropouts=0.1)
    assert not other.could_have_made(view)


def test_dummies_are_made_of_a_value_that_the_randomizer_takes():
    single = section(protocol="single")
    assert single.along((GRAPH,), BIT, 1e-2).shuffler(3).dummy_value == 0
    assert single.along((GRAPH,), OneBitMean(epsilon0=1.0, lower=1.5, upper=9.0), 1e-2).shuffler(3).dummy_value == 2
    with pytest.raises(InvalidParameterError, match=r"protocol must be 'all' for answers from 0\.2 to 0\.8"):
        single.along((GRAPH,), OneBitMean(epsilon0=1.0, lower=0.2, upper=0.8), 1e-2).shuffler(3)


def test_dummies_of_vectors_are_the_randomizers_own_and_have_no_value():
    randomizer = PrivUnit(epsilon0=4.0, dimension=3)
    shuffler = section(protocol="single").along((GRAPH,), randomizer, 1e-2).shuffler(3)
    assert shuffler.dummy_value is None
    assert shuffler.dummies == randomizer


def test_rounds_are_no_truth_value_and_somebody_has_neighbors():
    with pytest.raises(InvalidParameterError, match="rounds must be an integer from 0"):
        NetworkSection(graph="friends.csv", rounds=True)
    with pytest.raises(InvalidParameterError, match="a degree of 1 or more"):
        NetworkSection(graph="random-regular:0", rounds=1)


def test_rounds_that_cannot_be_found_must_be_given():
    assert section(rounds=7).walking((GRAPH,), BIT, 0.05).num_rounds == 7
    message = r"\[shuffler\] rounds must be a number here: no number .*; reports get lost .*; got rounds='auto'"
    with pytest.raises(InvalidParameterError, match=message):
        section(rounds="auto", dropouts=0.5).walking((GRAPH,), BIT, 0.05)


def test_reports_in_layers_walk_until_colluders_follow_nearly_none():
    alone = on_overlay(overlay={"groups": [1000]}, colluding=0.01, onion=True)
    overlay = alone.overlay.of(1000)
    assert alone.walking(overlay, BIT, 1e-5).num_rounds == 5
    assert alone.walking(overlay, BIT, 1e-2).num_rounds == 3
    assert alone.walking(overlay, BIT, 1e-5).onion
    plan = plan_overlay(alone.along(overlay, BIT, 1e-5), alone.walking(overlay, BIT, 1e-5), delta=1e-5)
    assert (plan.onion, plan.risks) == (True, ())
    assert plan.cost.first_hop < plan.cost.exposure == pytest.approx(0.049, abs=1e-3)
    assert alone.to_dict()["onion"] is True
    assert "onion" not in on_overlay().to_dict()
    assert NetworkSection.from_dict(alone.to_dict()) == alone
    described = alone.walking(overlay, BIT, 1e-5).model(1000)
    assert alone.describes(described)
    assert not on_overlay(overlay={"groups": [1000]}, colluding=0.01).describes(described)
    with pytest.raises(InvalidParameterError, match="larger groups have more honest people"):
        on_overlay(colluding=0.2, onion=True).walking(on_overlay().overlay.of(30), BIT, 1e-5)
    assert on_overlay(onion=True).walking(on_overlay().overlay.of(30), BIT, 1e-5).num_rounds == 2


def test_a_task_has_no_layers_that_hide_from_nobody():
    with pytest.raises(InvalidParameterError, match="onion must be left out where neither colluding nor fakes is abo"):
        on_overlay(onion=True).within(0)
    assert on_overlay(onion=True).within(3).onion
    assert on_overlay(onion=True, colluding=0.1).within(0).onion


def test_a_gate_is_worked_out_at_the_delta_of_the_release_and_the_rounds_are_the_most():
    given = section(rounds=40, offline=0.05, gate=0.9)
    shuffler = given.walking((GRAPH,), BIT, 1e-2)
    assert (shuffler.gate.epsilon, shuffler.gate.delta, shuffler.num_rounds) == (0.9, 1e-2, 40)
    model = shuffler.scheduled(source=SeededSource(1)).model(30)
    assert model.num_rounds < 40
    assert given.describes(model)
    for others in ({"gate": 0.8}, {"gate": None}, {"offline": 0.0}, {"rounds": model.num_rounds - 1}):
        assert not section(**{"rounds": 40, "offline": 0.05, "gate": 0.9} | others).describes(model)
    assert not given.describes(shuffler.model(30))  # of which no schedule is recorded
    assert on_overlay(rounds=5, gate=0.9).walking(Overlay(30, (5, 6)), BIT, 1e-2).num_rounds == 5
    with pytest.raises(InvalidParameterError, match=r"\[shuffler\] gate must be at least .* 30 people"):
        section(rounds=40, gate=0.01).walking((GRAPH,), BIT, 1e-2)
    with pytest.raises(InvalidParameterError, match="gate must be left out where fakes is above 0"):
        given.within(2)


def test_a_gate_is_written_only_where_there_is_one():
    assert "gate" not in section().to_dict()
    given = section(rounds=40, gate=0.9)
    assert given.to_dict()["gate"] == 0.9
    assert NetworkSection.from_dict(given.to_dict()) == given


def test_slots_are_found_for_a_hundredth_of_delta_or_as_given():
    constant = section(links="constant", rounds=4)
    few, many = (constant.along((GRAPH,), BIT, delta).shuffler(4) for delta in (1e-2, 1e-6))
    assert few.slots == calibrate.slots(GRAPH, 4, delta=1e-2)
    assert few.slots < many.slots == calibrate.slots(GRAPH, 4, delta=1e-6)
    assert many.overflow <= 1e-8 < few.overflow <= 1e-4
    given = section(links="constant", slots=(2, 5), surplus="aborts").along((GRAPH,), BIT, 1e-6).shuffler(4)
    assert (given.slots, given.surplus) == ((2, 5, 5, 5), "aborts")
    assert section().along((GRAPH,), BIT, 1e-6).shuffler(4).slots is None


def test_keys_about_links_are_written_where_there_are_slots_alone():
    assert not {"links", "slots", "surplus"} & section().to_dict().keys()
    constant = section(links="constant", slots=(1, 3))
    assert NetworkSection.from_dict(constant.to_dict()) == constant
    assert constant.to_dict()["slots"] == [1, 3]


@pytest.mark.parametrize("keys", [{"links": "constant"}, {"links": "constant", "slots": (1, 3), "surplus": "aborts"}])
def test_a_shuffle_with_slots_is_of_a_section_with_them(keys):
    constant, plain = section(**keys), section()
    model = constant.along((GRAPH,), BIT, 1e-6).shuffler(3).model(30)
    assert constant.describes(model)
    assert not plain.describes(model)
    assert not constant.describes(plain.along((GRAPH,), BIT, 1e-6).shuffler(3).model(30))
    assert section(links="constant", slots=(1, 4)).describes(model) is False
