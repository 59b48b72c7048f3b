"""What colluding relays see: against enumeration of who colludes and where walks go."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from shuffledp.core.errors import HypothesisError, InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.network.laws.overlay_loads import average_exposure
from shuffledp.protocols.network.theorems.network_limits import first_hop_delta, unseen_chances, visible_empties_delta
from shuffledp.randomizers import LdpModel
from shuffledp.shufflers import UniformShuffleModel
from soundness.exact_walks import GRAPHS, neighbors_of, step_of

VECTORS = json.loads((Path(__file__).parents[2] / "golden" / "network.json").read_text(encoding="utf-8"))["collusion"]


def seen_by_trajectories(name, start, colluders, rounds):
    """The chance of a trajectory that meets a colluder."""
    neighbors, unseen = neighbors_of(name), {start: 1.0}
    for _ in range(rounds):
        after = {}
        for node, chance in unseen.items():
            for other in neighbors[node]:
                if other not in colluders:
                    after[other] = after.get(other, 0.0) + chance / len(neighbors[node])
        unseen = after
    return 1 - sum(unseen.values())


def test_golden_values():
    found = [unseen_chances(step_of("paw"), [2], num_rounds=rounds)[0] for rounds in (1, 2)]
    assert found == pytest.approx([VECTORS["survival_v0_t1"], VECTORS["survival_v0_t2"]], rel=1e-9)
    first = first_hop_delta(share=0.5, epsilon0=1.0, epsilon=0.5)
    assert first == pytest.approx(VECTORS["first_hop_delta_eps_0p5_v0"], rel=1e-9)


@pytest.mark.parametrize("name", ["paw", "C5", "star", "P4"])
def test_who_is_unseen_is_enumerated(name):
    size = GRAPHS[name][0]
    for colluders in ((), (1,), (0, size - 1)):
        for rounds in range(5):
            found = unseen_chances(csr_array(step_of(name)), colluders, num_rounds=rounds)
            for start in set(range(size)) - set(colluders):
                assert found[start] == pytest.approx(
                    1 - seen_by_trajectories(name, start, colluders, rounds), abs=1e-12
                )
            assert (found[list(colluders)] == 0).all()


@pytest.mark.parametrize("name", ["K5", "C5", "paw", "star"])
def test_exposure_is_above_the_average_over_who_colludes(name):
    size = GRAPHS[name][0]
    for colluding, rounds in itertools.product(range(size - 1), range(5)):
        bound = average_exposure(num_users=size, num_rounds=rounds, num_colluding=colluding)
        for start in range(size):
            others = [person for person in range(size) if person != start]
            seen = [seen_by_trajectories(name, start, who, rounds) for who in itertools.combinations(others, colluding)]
            assert np.mean(seen) <= bound + 1e-12
            if rounds == 1:
                assert np.mean(seen) == pytest.approx(bound, abs=1e-9)


def test_exposure_ends_at_certainty_and_starts_at_nothing():
    assert average_exposure(num_users=10, num_rounds=0, num_colluding=3) == 0
    assert average_exposure(num_users=10, num_rounds=5, num_colluding=0) == 0
    assert average_exposure(num_users=10, num_rounds=100, num_colluding=1) == 1
    assert average_exposure(num_users=1000, num_rounds=20, num_colluding=10) == pytest.approx(0.18, abs=0.02)


def test_first_hop_is_what_binary_response_loses():
    truth = np.e / (1 + np.e)
    assert first_hop_delta(share=1.0, epsilon0=1.0, epsilon=0.5) == pytest.approx(truth - np.exp(0.5) * (1 - truth))
    assert first_hop_delta(share=0.3, epsilon0=1.0, epsilon=1.5) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: average_exposure(num_users=5, num_rounds=1, num_colluding=5), "num_colluding"),
        (lambda: average_exposure(num_users=5, num_rounds=-1, num_colluding=1), "num_rounds"),
        (lambda: unseen_chances(step_of("K3"), [3], num_rounds=1), "colluders"),
        (lambda: first_hop_delta(share=2.0, epsilon0=1.0, epsilon=0.0), "share"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InvalidParameterError, match=words):
        call()


def test_other_shuffles_have_no_empty_hands():
    model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=5))
    with pytest.raises(HypothesisError, match="random walks"):
        visible_empties_delta(model, epsilon=0.1, empty=0.1)


def test_colluders_who_are_nobody_are_named_by_the_least_and_the_greatest():
    with pytest.raises(InvalidParameterError, match="from 0 to 4; got colluders from 1 to 9"):
        unseen_chances(np.eye(5), [1, 2, 9], num_rounds=1)
