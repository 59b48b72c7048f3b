import numpy as np

from attacks.seen import town, view_of
from shuffledp.attacks import MajorityVote, SideInformation, evaluate, similar_people
from shuffledp.groups import Groups
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import IdentityShuffler, MallowsShuffler, UniformShuffler
from shuffledp.testing import SeededSource


def test_the_majority_of_the_reports_looked_at_wins_and_ties_go_to_the_commoner_value():
    near = SideInformation(neighbors=np.array([[0, 1, 2], [1, 2, 3], [0, 2, -1], [-1, -1, -1], [3, 4, -1]]))
    view = view_of([0, 0, 2, 2, 2], domain_size=3)
    assert MajorityVote().infer(view, near).tolist() == [0, 2, 2, 2, 2]


def test_shuffling_inside_places_alone_leaves_fewer_people_vulnerable_than_no_shuffle():
    """Footnote 4 of the paper: where people share a place, rho is below plain local randomizing already at r = 0."""
    place, privileged, answers = town()
    side = SideInformation(
        neighbors=similar_people(Groups.from_radius(place, 2.0), count=25, privileged=privileged),
    )
    randomizer = KaryRandomizedResponse(epsilon0=2.5, domain_size=2)
    shufflers = {
        "none": IdentityShuffler(),
        "r = 0": MallowsShuffler(groups=Groups.from_radius(place, 0.0), alpha=4.0),
        "uniform": UniformShuffler(),
    }
    rho = {
        name: evaluate(
            MajorityVote(),
            randomizer=randomizer,
            shuffler=shuffler,
            answers=answers,
            side_information=side,
            num_runs=20,
            repetitions=2,
            source=SeededSource(5),
        )
        for name, shuffler in shufflers.items()
    }
    assert rho["none"].vulnerable > 0.9
    assert rho["r = 0"].vulnerable < 0.5 * rho["none"].vulnerable
    assert rho["r = 0"].vulnerable < 0.2
    assert abs(rho["uniform"].success - 0.5) < 0.05
