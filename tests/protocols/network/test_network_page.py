"""The section about walks along a graph: the guarantee against rounds, its cost, parts, and what trust is worth."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from cli.networks import PEOPLE, make_folder, ring_with_chords, write_edges, write_network
from documents.outcomes import write_page
from documents.reading import Page
from shuffledp.files import stages
from shuffledp.protocols.network.documents import network_document as network
from shuffledp.protocols.network.documents import walk_blocks
from shuffledp.protocols.network.planning import network_plan
from shuffledp.protocols.network.planning.constant_links import LinksPlan
from shuffledp.survey import Task
from shuffledp.testing import SeededSource


def page_of(folder, **options):
    out = folder / "out"
    out.mkdir()
    outcome = stages.run(Task.read(folder / "task.toml"), folder / "people.csv", out, beside=folder, **options).column
    files = write_page(outcome, out)
    return outcome, Page.read((out / "release.html").read_text(encoding="utf-8")), files


def replace_of(plan, **fields):
    return SimpleNamespace(**vars(plan) | fields)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """With few numbers of rounds: the search for the fewest takes long, and is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_plan, "fewest_rounds", lambda *_, **__: 14)
        patch.setattr(network_plan, "_rounds_to_show", lambda shuffler, *_: [6, shuffler.num_rounds, 14])
        return page_of(make_folder(tmp_path_factory.mktemp("walks")))


def test_the_page_shows_the_guarantee_against_rounds(drawn):
    outcome, page, files = drawn
    assert page.errors == []
    assert {"rounds.svg"} <= set(files)
    anchors = [each.attributes["id"] for each in page.all("section")]
    assert "network" in anchors
    assert "accounting" not in anchors
    plan = outcome.shuffle_result.plan
    assert f"along a graph of {PEOPLE} people" in page.text
    assert "12 (this task)" in page.text
    assert f"The fewest rounds that come within 5% of that: {plan.fewest_rounds}." in page.text
    assert "By the gap, log(people) / gap" in page.text
    assert "By distance, until all laws are within 0.01 of one in total variation" in page.text


def test_the_page_counts_who_hands_in_what_and_says_what_remains_if_trust_fails(drawn):
    outcome, page, _ = drawn
    assert f"{outcome.shuffle_result.held[0]} (" in page.text
    assert "somebody who watches all messages, only epsilon0 = 1 is left" in page.text
    assert "If a share of the people collude with the analyst; numbers to weigh, and no promise" in page.text
    assert "each beside whoever handed it in" in page.text
    assert "Chance that they ever hold a report" in page.text


def test_the_page_tells_repeated_edges_from_loops():
    plan = SimpleNamespace(num_graphs=1, num_users=4, num_edges=3, merged_edges=1, dropped_loops=2)
    assert (
        network._graph(plan) == "a graph of 4 people and 3 edges (1 repeated edge was merged and 2 loops were left out)"
    )
    assert network._graph(replace_of(plan, merged_edges=0, dropped_loops=0)) == "a graph of 4 people and 3 edges"


@pytest.mark.parametrize(
    ("exposure", "text"), [(0.5, "50.0%"), (0.9995, "above 99.9%"), (1.0, "100.0%"), (0.0, "0.0%")]
)
def test_a_chance_is_rounded_up_but_never_to_certainty(exposure, text):
    assert network.chance_of(exposure) == text


@pytest.mark.deep
def test_a_seeded_page_of_a_graph_in_parts_promises_nothing_and_lists_them(tmp_path):
    make_folder(tmp_path)
    write_edges(tmp_path / "friends.csv", ring_with_chords(80, 300) + ring_with_chords(40, 150, first=80))
    write_network(tmp_path, rounds=2)
    _, page, _ = page_of(tmp_path, source=SeededSource(1))
    assert page.errors == []
    assert "Beware. The graph is in 2 parts that no report leaves" in page.text
    assert "Parts of the graph, which no report leaves" in page.text
    assert "The run on this page is withdrawn: none of this holds for it." in page.text


def test_the_page_of_an_overlay_says_how_reports_went(tmp_path):
    folder = make_folder(tmp_path)
    write_network(folder, graph=None, rounds=None, overlay={"groups": [10, 12]})
    outcome, page, _ = page_of(folder, source=SeededSource(1))
    assert page.errors == []
    text = " ".join(page.text.split())
    assert "an overlay of 120 people in groups of 10 and 12, in which nobody has more than 20 contacts" in text
    assert "In each of 2 rounds everybody drew one digit of the address of every report" in text
    assert "every report is with everybody equally likely, exactly" in text
    assert "If any 1.67% of the people collude" in text
    assert outcome.shuffle_result.plan.cost.sizes == (10, 12)


def test_slots_are_counted_in_bytes_without_layers_and_what_finds_none_is_as_the_task_says():
    links = LinksPlan(slots_per_link=(1, 5), slots=60, slots_mean=60.0, surplus="waits", overflow=1e-9, charge=2e-9)
    assert "(5,760 bytes at 96 a slot). Some link" in walk_blocks.links_text(links)
    assert "the rest wait for the next round" in walk_blocks.links_text(links)
    aborted = walk_blocks.links_text(replace(links, surplus="aborts"), onion=True)
    assert "(5,760 bytes at 96 a slot, layers not counted)." in aborted
    assert "1e-09; nothing is released then. Delta counts 2e-09 for that." in aborted
