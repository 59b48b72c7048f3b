"""Overlays by design: walks on them end exactly uniformly, and their contacts are those that the rounds use."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.protocols.network.laws import walk_sampling
from shuffledp.protocols.network.people import overlays
from shuffledp.protocols.network.people.overlays import Overlay, OverlayRound, most_rounds, rounds_of

ROWS = json.loads((Path(__file__).parents[2] / "golden" / "overlays.json").read_text(encoding="utf-8"))["rows"]
DESIGNS = [row for row in ROWS if row["kind"] == "design"]
SMALL = [Overlay.in_rounds(people, rounds) for people in range(2, 38) for rounds in range(1, most_rounds(people) + 1)]
ODD = [  # digits in any order, and of any sizes
    Overlay(people, sizes)
    for people in (7, 12, 17, 23)
    for length in (2, 3)
    for sizes in itertools.product((2, 3, 4, 5), repeat=length)
    if math.prod(sizes) <= people < 2 * math.prod(sizes)
]


def drawn(each: OverlayRound) -> tuple[np.ndarray, int]:
    """The law of one round as the sampler draws it: in whole numbers out of one denominator, a row for each holder.

    Each outcome of the draw is asked for by a word that gives it; the sampler's digits and people are the only formula.
    """
    people, cells, block = each.num_users, each.overlay.cells, each.size * each.below
    choices = [2 * int(np.count_nonzero(cells // block == cells[person] // block)) for person in range(people)]
    denominator, counts = math.lcm(*choices), np.zeros((people, people), dtype=np.int64)
    holders = np.repeat(np.arange(people), choices)
    words = [-(-(place * 2**64) // bound) for bound in choices for place in range(bound)]
    ends, messages = holders.astype(np.int32), np.zeros(people, dtype=np.int64)
    rejected = walk_sampling._draw_digits(each, ends, np.array(words, dtype=np.uint64) + np.uint64(1), messages)
    assert rejected.size == 0
    np.add.at(counts, (holders, ends), np.repeat([denominator // bound for bound in choices], choices))
    return counts, denominator


@pytest.mark.parametrize("overlay", SMALL[::4] + ODD[::2], ids=str)
def test_walks_as_they_are_drawn_end_exactly_uniformly(overlay):
    chances, denominator = np.eye(overlay.num_users, dtype=np.int64), 1
    for each in rounds_of(overlay, overlay.num_rounds):
        counts, choices = drawn(each)
        assert (counts.sum(axis=1) == choices).all()
        assert pytest.approx(counts / choices, abs=1e-15) == each.transposed_transition().toarray().T
        chances, denominator = chances @ counts, denominator * choices
    assert denominator * overlay.num_users < 2**63
    assert (chances * overlay.num_users == denominator).all()


@pytest.mark.deep
@pytest.mark.parametrize("overlay", SMALL + ODD, ids=str)
def test_walks_on_every_small_overlay_end_exactly_uniformly(overlay):
    test_walks_as_they_are_drawn_end_exactly_uniformly(overlay)


def test_a_uniform_choice_in_groups_that_share_addresses_would_not_end_uniformly():
    """What the chances W(prefix digit) / W(prefix) are for."""
    overlay, chances = Overlay(5, (2, 2)), np.eye(5)
    for each in rounds_of(overlay, 2):
        naive = each.transposed_transition().toarray().T > 0
        chances = chances @ (naive / naive.sum(axis=1, keepdims=True))
    assert abs(chances - 1 / 5).max() > 0.01


def test_nobody_shares_an_address_with_more_than_one_and_surplus_people_are_spread():
    for overlay in SMALL + ODD:
        assert set(overlay.occupants.tolist()) <= {1, 2}
        assert overlay.occupants.sum() == overlay.num_users
        prefixes = overlay.occupants.reshape(-1, overlay.sizes[-1]).sum(axis=1)
        assert prefixes.max() - prefixes.min() <= 1
        assert overlay.cells.tolist() == sorted(overlay.cells.tolist())
        assert (overlay.starts[overlay.cells] <= np.arange(overlay.num_users)).all()


def test_contacts_are_whom_some_round_can_lead_to():
    for overlay in SMALL[::5]:
        reached = np.zeros((overlay.num_users, overlay.num_users), dtype=bool)
        for each in rounds_of(overlay, overlay.num_rounds):
            links = (each.transposed_transition().toarray() > 0) & ~np.eye(overlay.num_users, dtype=bool)
            assert (links == links.T).all()
            assert (each.num_contacts[overlay.cells] == links.sum(axis=0)).all()
            assert each.contacts_of(1).tolist() == np.flatnonzero(links[1]).tolist()
            reached |= links
        assert overlay.most_contacts == reached.sum(axis=0).max()
        assert overlay.least_contacts <= overlay.most_contacts


@pytest.mark.parametrize("row", DESIGNS, ids=lambda row: str(row["inputs"]["sizes"]))
def test_contacts_are_those_of_an_independent_count(row):
    overlay = Overlay(row["inputs"]["n"], tuple(row["inputs"]["sizes"]))
    assert overlay.num_cells == row["expected"]["product"]
    assert overlay.most_contacts == row["expected"]["contacts"]


@pytest.mark.parametrize(
    ("people", "contacts", "sizes"),
    [
        (900, 60, (30, 30)),
        (900, 15, (3, 3, 4, 5, 5)),
        (10_000, 40, (10, 10, 10, 10)),
        (9_973, 200, (99, 100)),
        (2, 1, (2,)),
        (1_000_000, 300, (100, 100, 100)),
    ],
)
def test_the_fewest_rounds_within_so_many_contacts_are_taken(people, contacts, sizes):
    found = Overlay.within(people, contacts=contacts)
    assert found.sizes == sizes
    assert found.most_contacts <= contacts
    if found.num_rounds > 1:
        assert Overlay.in_rounds(people, found.num_rounds - 1).most_contacts > contacts


def test_as_many_rounds_as_possible_are_matchings():
    overlay = Overlay.in_rounds(1024, 10)
    assert overlay.sizes == (2,) * 10
    assert overlay.most_contacts == 10
    assert [each.contacts_of(0).tolist() for each in rounds_of(overlay, 10)] == [
        [2**place] for place in range(9, -1, -1)
    ]


REFUSED = [
    (lambda: Overlay(7, (2, 4)), r"sizes=\[2, 4\], which multiply to 8. \[2, 3\] would fit"),
    (lambda: Overlay(8, (4,)), r"which multiply to 4. \[8\] would fit"),
    (lambda: Overlay(3, (2, 2)), r"\[3\] would fit"),
    (lambda: Overlay(6, (1, 6)), "each of sizes must be an integer that is 2 or more"),
    (lambda: Overlay(6, ()), "sizes must be one size or more"),
    (lambda: Overlay(6, 6), "sizes must be a Sequence"),
    (lambda: Overlay(1, (2,)), "num_users must be an integer that is 2 or more"),
    (lambda: Overlay(2**31, (2**31,)), "num_users must be at most 2147483647"),
    (lambda: Overlay.in_rounds(900, 10), "num_rounds must be at most 9, log2 of num_users=900"),
    (lambda: Overlay.within(900, contacts=13), "contacts must be at least 14 for an overlay of num_users=900"),
]


@pytest.mark.parametrize(("make", "reason"), REFUSED)
def test_what_is_no_overlay_is_refused_with_what_would_be(make, reason):
    with pytest.raises(InvalidParameterError, match=reason):
        make()


def test_the_independent_list_of_refused_overlays_is_refused():
    for row in ROWS:
        if row["kind"] == "bad_overlay":
            with pytest.raises(InvalidParameterError, match="multiply to"):
                Overlay(row["inputs"]["n"], tuple(row["inputs"]["sizes"]))


def test_different_overlays_have_different_digests():
    every = [*SMALL, *ODD, Overlay(6, (3, 2)), Overlay(6, (2, 3))]
    assert len({each.digest for each in every}) == len({(each.num_users, each.sizes) for each in every})


def test_the_chances_of_a_large_round_are_not_listed(monkeypatch):
    monkeypatch.setattr(overlays, "_MOST_ENTRIES", 10)
    with pytest.raises(UnsupportedModelError, match="too many chances to list"):
        rounds_of(Overlay(6, (2, 3)), 1)[0].transposed_transition()
