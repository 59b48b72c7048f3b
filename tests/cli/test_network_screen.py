"""What a plan of walks looks like on the terminal, narrow ones among them."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from shuffledp.documents.terminal import show_blocks
from shuffledp.protocols.network.documents.network_document import network_plan_blocks, network_sentences
from shuffledp.protocols.network.planning.network_plan import AfterRounds, NetworkPlan, PartOfGraph

ROWS = tuple(
    AfterRounds(
        rounds=rounds,
        epsilon=epsilon,
        theorem="network-overlap",
        messages=float(rounds),
        messages_most=216_193.5 * rounds / 4_653,
        lacking=12_716.8,
        exact=False,
    )
    for rounds, epsilon in ((20, 0.9982), (4_653, 0.02932))
)
PART = PartOfGraph(
    people=22_470,
    edges=170_823,
    is_bipartite=False,
    gap=0.004,
    mixing_time=2_256.9,
    epsilon=0.02932,
    uniform=0.02793,
    fewest_rounds=4_653,
)
PLAN = NetworkPlan(
    num_users=44_940,
    num_edges=341_646,
    num_graphs=1,
    merged_edges=0,
    dropped_loops=0,
    num_parts=2,
    two_sides=False,
    irregularity=4.0,
    protocol="all",
    rounds=20,
    epsilon=0.9982,
    uniform=0.02,
    epsilon_of_all=None,
    surviving=44_940.0,
    fewest_rounds=4_653,
    mixing_time=2_256.9,
    distance_rounds=(165, 2_311),
    by_rounds=ROWS,
    parts=(PART, PART),
    risks=(),
)


def printed(width: int) -> str:
    out = io.StringIO()
    show_blocks(network_plan_blocks(PLAN, 1e-6, 1, table=True), Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [30, 50])
def test_what_does_not_fit_is_folded_and_not_cut(width):
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed(width)


@pytest.mark.parametrize("width", [60, 80])
def test_numbers_are_in_one_piece_on_a_narrow_terminal(width):
    shown = printed(width)
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert max(map(len, shown.splitlines())) <= width
    for number in ("<= 0.9982", "<= 0.02932", "4,653.0", "216,193.5", "12,716.8", "170,823", "2,256.9", "0.02793"):
        assert number in shown


def test_rows_are_one_line_each_where_there_is_room():
    lines = printed(80).splitlines()
    assert any("20 (yours)" in line and "network-overlap" in line for line in lines)
    assert any("4,653 (within 5%)" in line and "network-overlap" in line for line in lines)


def test_that_handing_in_all_is_better_is_said_only_where_it_is():
    single = replace(PLAN, protocol="single", epsilon_of_all=0.5)
    hint = 'With protocol = "all" epsilon = 0.5 would hold after as many rounds, and estimates would err less'
    assert any(hint in each.text for each in network_sentences(single, 1e-6, 1))
    for other in (PLAN, replace(single, epsilon_of_all=0.9983)):
        assert not any('protocol = "all"' in each.text for each in network_sentences(other, 1e-6, 1))


def test_what_is_not_looked_for_in_many_parts_is_said():
    many = replace(PLAN, num_parts=65, parts=(), fewest_rounds=None, mixing_time=None, distance_rounds=None)
    said = " ".join(each.text for each in network_sentences(many, 1e-6, 1))
    assert "uniform shuffle of each part are not known: in more than 8 parts they are not looked for." in said
    assert "Mixing times are not worked out for more than 64 parts." in said
    assert "No number of rounds was found" not in said
    assert "never" not in said
    few = " ".join(each.text for each in network_sentences(replace(many, num_parts=8, parts=(PART,) * 8), 1e-6, 1))
    assert "No number of rounds was found" in few
    assert "Mixing" not in few
