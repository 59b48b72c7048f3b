"""Loads of walks on overlays are those of their rounds' matrices, and slots those that an independent count needs."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.network.laws.link_slots import slots_needed, slots_sent
from shuffledp.protocols.network.laws.overlay_loads import (
    average_exposure,
    leaving_chances,
    loads_held,
    loads_passed,
    surplus_of_round,
)
from shuffledp.protocols.network.laws.walk_distributions import position_distribution
from shuffledp.protocols.network.laws.walk_loads import expected_held, expected_messages
from shuffledp.protocols.network.laws.walk_positions import position_bounds
from shuffledp.protocols.network.people.overlays import Overlay, most_rounds, rounds_of

ROWS = json.loads((Path(__file__).parents[2] / "golden" / "overlays.json").read_text(encoding="utf-8"))["rows"]
DESIGNS = [row for row in ROWS if row["kind"] == "design"]
SMALL = [
    Overlay.in_rounds(people, rounds) for people in (2, 5, 7, 30, 31) for rounds in range(1, most_rounds(people) + 1)
]


@pytest.mark.parametrize("overlay", SMALL, ids=str)
def test_loads_are_those_of_the_matrices_of_the_rounds(overlay):
    held, passed = np.ones(overlay.num_users), np.zeros(overlay.num_users)
    for done, each in enumerate(rounds_of(overlay, 2 * overlay.num_rounds)):
        assert loads_held(overlay, done) == pytest.approx(held, rel=1e-12)
        matrix = each.transposed_transition()
        passed += 0.9 ** (done + 1) * held * (1 - matrix.diagonal())
        held = matrix @ held
        assert loads_passed(overlay, done + 1, dropout=0.1) == pytest.approx(passed, rel=1e-12)
    rounds = overlay.num_rounds
    assert expected_messages(overlay, rounds) == pytest.approx(loads_passed(overlay, rounds))
    assert expected_held(overlay, rounds, dropout=0.2) == pytest.approx(np.full(overlay.num_users, 0.8**rounds))
    last = expected_messages(overlay, rounds, offline=0.5)
    assert (last < expected_messages(overlay, rounds)).all()


@pytest.mark.parametrize("overlay", [Overlay(5, (2, 2)), Overlay(12, (3, 4)), Overlay(37, (2, 2, 2, 4))], ids=str)
def test_bounds_on_positions_say_that_they_are_uniform(overlay):
    rounds = overlay.num_rounds
    found = position_bounds(overlay, 2 * rounds, dropout=0.1)
    alike, (probabilities, counts) = found.likeness, found.ranked
    assert (alike.mean_overlap, alike.near_uniformity, alike.separation) == (1.0, 0.0, 0.0)
    assert counts == (overlay.num_users,)
    share = 0.9 ** (2 * rounds) / overlay.num_users
    assert share <= probabilities[0] <= share * (1 + 1e-15)
    law = position_distribution(overlay, None, rounds)
    assert law == pytest.approx(np.full(law.shape, 1 / overlay.num_users), rel=1e-13)
    for number, laziness, reason in ((0, 0.0, "1 or more"), (rounds + 1, 0.0, "multiple"), (rounds, 0.1, "laziness")):
        with pytest.raises(InvalidParameterError, match=reason):
            position_bounds(overlay, number, laziness=laziness)


@pytest.mark.parametrize("submissions", [1, 2])
def test_dummies_to_expect_are_those_of_uniform_positions(submissions):
    people = 6
    found = position_bounds(Overlay(people, (2, 3)), 2, submissions=submissions)
    chances = [math.comb(people, held) * (1 / 6) ** held * (5 / 6) ** (people - held) for held in range(people + 1)]
    mean = people * sum(max(0, submissions - held) * chance for held, chance in enumerate(chances))
    assert found.dummies == pytest.approx(mean, rel=1e-12)
    assert 0.5 < found.dummies_error < 2


@pytest.mark.parametrize("row", DESIGNS, ids=lambda row: str(row["inputs"]["sizes"]))
def test_messages_exposure_and_slots_are_those_of_an_independent_count(row):
    given, expected = row["inputs"], row["expected"]
    overlay = Overlay(given["n"], tuple(given["sizes"]))
    slots = slots_needed(overlay, overlay.num_rounds, overflow=given["overflow"])
    assert (list(slots), slots_sent(overlay, slots).max()) == (expected["B"], expected["slots"])
    assert loads_passed(overlay, overlay.num_rounds).mean() == pytest.approx(expected["messages"], rel=row["tolerance"])
    leaving = leaving_chances(overlay)
    assert leaving[0] * given["colluders"] / (given["n"] - 1) == pytest.approx(
        expected["first_hop"], rel=row["tolerance"]
    )
    exposure = average_exposure(
        num_users=given["n"], num_rounds=overlay.num_rounds, num_colluding=given["colluders"], leaving=leaving
    )
    assert exposure == pytest.approx(expected.get("exposure_1pct", exposure), rel=row["tolerance"])
    assert exposure <= average_exposure(
        num_users=given["n"], num_rounds=overlay.num_rounds, num_colluding=given["colluders"]
    )


@pytest.mark.parametrize("overlay", [Overlay(5, (2, 2)), Overlay(30, (2, 3, 4)), Overlay(31, (2, 2, 2, 3))], ids=str)
def test_slots_are_the_fewest_by_the_loads_of_all_links(overlay):
    held, found, part = (
        np.ones(overlay.num_users),
        slots_needed(overlay, overlay.num_rounds, overflow=1e-3),
        1e-3 / (overlay.num_rounds - 1),
    )
    sent = np.zeros(overlay.num_users)
    for place, each in enumerate(rounds_of(overlay, overlay.num_rounds)):
        matrix = each.transposed_transition().toarray()
        loads = matrix * held * (1 - np.eye(overlay.num_users))
        overflows = [(loads**more).sum() / math.factorial(more) for more in range(2, 20)]
        assert surplus_of_round(each, 3) == pytest.approx(overflows[2], rel=1e-8)
        assert surplus_of_round(each, 3) >= overflows[2]
        assert found[place] == (next(slots for slots, each in enumerate(overflows, 1) if each <= part) if place else 1)
        sent += found[place] * (loads > 0).sum(axis=0)
        held = matrix @ held
    assert slots_sent(overlay, found).tolist() == sent.tolist()


def test_exposure_averages_over_who_colludes():
    """Of three people in the groups of a walk of two rounds over 2 x 2, all sets of colluders and all ways."""
    overlay, people, colluding = Overlay(4, (2, 2)), 4, 1
    steps = [each.transposed_transition().toarray().T for each in rounds_of(overlay, 2)]
    seen = 0.0
    for colluder in (1, 2, 3):
        for first in range(people):
            for second in range(people):
                chance = steps[0][0, first] * steps[1][first, second]
                seen += chance * (colluder in (first, second)) / 3
    leaving = leaving_chances(overlay)
    found = average_exposure(num_users=people, num_rounds=2, num_colluding=colluding, leaving=leaving)
    assert found == pytest.approx(seen, rel=1e-11)
    assert average_exposure(num_users=people, num_rounds=2, num_colluding=0, leaving=leaving) == 0
