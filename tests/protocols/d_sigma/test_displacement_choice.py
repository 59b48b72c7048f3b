"""Which mechanism moves reports least for given groups, and that everybody finds the same one."""

import numpy as np

from shuffledp.planning import least_displacement
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler


def test_for_pairs_mallows_moves_least_and_for_large_groups_a_sort_does():
    pairs = Groups.from_lists([[place, place + 1] for place in range(200)] + [[200]])
    found = least_displacement(pairs, alpha=1.0, order=range(201))
    assert isinstance(found.shuffler, MallowsShuffler)
    assert found.reason.startswith("mallows moves a report by")
    large = least_displacement(Groups.from_radius(np.arange(2000), 15), alpha=4.0, order=range(2000))
    assert isinstance(large.shuffler, NoisySortShuffler)
    assert large.shuffler.noise == "laplace"


def test_a_remainder_lets_gaussian_noise_in_and_the_choice_does_not_change_from_call_to_call():
    groups = Groups.from_radius(np.arange(3000), 50)
    found, again = (least_displacement(groups, 1.0, 1e-6, order=range(3000)) for _ in range(2))
    assert list(found.displacements) == [
        "mallows",
        "noisy-sort, laplace",
        "noisy-sort, gaussian",
        "noisy-sort, gaussian, refined",
    ]
    assert found.displacements == again.displacements == found.shuffler.chosen_from
    pure = least_displacement(groups, 1.0, order=range(3000)).displacements
    assert found.displacements["mallows"] < pure["mallows"] - 100  # who spends a remainder moves reports less
    assert found.shuffler.delta == 1e-6


def test_a_refined_spacing_is_taken_where_it_moves_less_and_can_be_afforded(monkeypatch):
    crowd, fringe = np.full(40, 0.5), np.linspace(0, 1, 160)
    groups = Groups.from_radius(np.sort(np.concatenate([crowd, fringe])), 0.04)
    found = least_displacement(groups, 4.0, order=range(200))
    assert found.shuffler.spacing == "refined"
    assert found.displacements["noisy-sort, laplace, refined"] < found.displacements["noisy-sort, laplace"]
    assert found.shuffler.model(200).alpha <= 4.0
    monkeypatch.setattr(
        "shuffledp.protocols.d_sigma.planning.displacement_choice._MOST_REFINED", groups.num_memberships - 1
    )
    cheap = least_displacement(groups, 4.0, order=range(200))
    assert list(cheap.displacements) == ["mallows", "noisy-sort, laplace"]
    assert "Refined spacing was not tried" in cheap.reason
    assert "not tried" not in found.reason
