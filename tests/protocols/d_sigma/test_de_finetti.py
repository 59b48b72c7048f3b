import numpy as np
import pytest

from attacks.seen import view_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.d_sigma.attacks.de_finetti import DeFinettiAttack
from shuffledp.protocols.d_sigma.attacks.side_information import SideInformation
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import SeededSource


def table(epsilon0, *, informative, seed=0):
    """Groups of ten whose answers are shuffled; a feature that goes with the answer, or with nothing."""
    draw = np.random.default_rng(seed)
    blocks = np.repeat(np.arange(200), 10)
    answers = (draw.random(2000) < draw.beta(1, 2, 200)[blocks]).astype(np.int64)
    feature = np.where(draw.random(2000) < 0.85, answers, 1 - answers) if informative else draw.integers(0, 2, 2000)
    shuffler = MallowsShuffler(groups=Groups.from_labels(blocks), alpha=0.0)
    reports = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).randomize(answers, source=SeededSource(seed))
    view = shuffler.shuffle(reports, source=SeededSource(seed + 1))
    return view, SideInformation(blocks=blocks, features=feature[:, None]), answers


@pytest.mark.parametrize("epsilon0", [2.5, 30.0])
def test_shuffled_groups_teach_which_answers_go_with_which_features(epsilon0):
    view, side, answers = table(epsilon0, informative=True)
    shares, learned = (float((DeFinettiAttack(num_rounds=k).infer(view, side) == answers).mean()) for k in (0, 30))
    assert learned > shares + 0.05
    assert learned > 0.84


def test_features_that_go_with_nothing_teach_nothing():
    view, side, answers = table(30.0, informative=False)
    shares, learned = (float((DeFinettiAttack(num_rounds=k).infer(view, side) == answers).mean()) for k in (0, 30))
    assert abs(learned - shares) < 0.03


def test_chances_add_up_to_what_the_groups_reports_say():
    view, side, answers = table(30.0, informative=True)
    chances = DeFinettiAttack().posterior(view, side)
    assert chances.sum(axis=1) == pytest.approx(1)
    told = np.bincount(side.blocks, chances[:, 1])
    assert np.abs(told - np.bincount(side.blocks, answers)).max() < 0.02


def test_numbers_of_categories_may_be_as_large_as_they_come():
    view, side, _ = table(2.5, informative=True)
    large = SideInformation(blocks=side.blocks * 10**15, features=side.features * (2**62) + 7)
    assert DeFinettiAttack().posterior(view, large) == pytest.approx(DeFinettiAttack().posterior(view, side), rel=1e-12)


def test_what_it_needs_must_be_known():
    with pytest.raises(InvalidParameterError, match="features"):
        DeFinettiAttack().infer(view_of([0, 1]), SideInformation(blocks=np.array([0, 0])))
    with pytest.raises(InvalidParameterError, match="blocks"):
        DeFinettiAttack().infer(view_of([0, 1]), SideInformation(features=np.array([[0], [0]])))
    with pytest.raises(InvalidParameterError, match="num_rounds"):
        DeFinettiAttack(num_rounds=-1)
