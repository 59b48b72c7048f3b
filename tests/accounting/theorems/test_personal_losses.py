"""Local losses that people choose themselves: against every data set of a few people, and against what is known."""

import itertools
import math

import numpy as np
import pytest

from accounting.given import response
from shuffledp.accounting import account, personalized
from shuffledp.accounting.theorems.personal_losses import BlanketPersonalized
from shuffledp.core.errors import HypothesisError, InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.randomizers import PersonalizedResponseModel
from shuffledp.shufflers import UniformShuffleModel
from soundness.exact_deltas import hockey_stick, with_another
from soundness.exact_deltas import response as matrix

THEOREM = BlanketPersonalized()


def people(size: int, epsilons: list[float], users: int | None = None) -> ProtocolModel:
    local = PersonalizedResponseModel.from_epsilons(domain_size=size, epsilons=epsilons)
    return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users or len(epsilons)))


def exact(size: int, victim: float, others: list[float], epsilons: np.ndarray) -> np.ndarray:
    """The largest delta over all values of all people, in all ordered pairs of the victim's values."""
    worst = np.zeros(len(epsilons))
    for values in itertools.product(range(size), repeat=len(others)):
        law = np.ones((1,) * (size - 1))
        for value, epsilon in zip(values, others, strict=True):
            law = with_another(law, matrix(size, epsilon)[value])
        with_each = [with_another(law, row) for row in matrix(size, victim)]
        for one, other in itertools.permutations(with_each, 2):
            worst = np.maximum(worst, hockey_stick(one, other, epsilons))
    return worst


@pytest.mark.parametrize(
    ("size", "losses"),
    [
        (2, [0.3, 1.0, 1.0, 2.0, 3.0, 0.3]),
        (2, [3.0, 0.1, 0.1, 0.1, 0.1]),
        (3, [0.5, 0.5, 1.5, 1.5, 2.5]),
        (3, [4.0, 0.2, 0.2, 0.2, 0.2]),
    ],
)
def test_no_data_set_of_a_few_people_exceeds_what_is_stated(size, losses):
    model, distinct = people(size, losses), sorted(set(losses))
    everyone = np.zeros(4)
    for place, loss in enumerate(distinct):
        others = list(losses)
        others.remove(loss)
        for fraction in (0.0, 0.1, 0.4, 0.8):
            epsilon = fraction * loss
            truth = exact(size, loss, others, np.array([epsilon]))[0]
            stated = THEOREM._blanket(model, place, 1e-12).delta(epsilon)
            assert truth <= stated * (1 + 1e-9)
            assert stated <= 4 * truth + 1e-2
        fixed = np.array([0.0, 0.2, 0.5, 1.0])
        everyone = np.maximum(everyone, exact(size, loss, others, fixed))
    stated = [THEOREM.delta(model, epsilon=epsilon) for epsilon in (0.0, 0.2, 0.5, 1.0)]
    assert (everyone <= np.array(stated) * (1 + 1e-9)).all()
    assert everyone[0] > THEOREM.delta(people(size, 4 * losses), epsilon=0.0)  # four times the people hide too much


@pytest.mark.parametrize(("users", "most"), [(1000, 1.004), (100_000, 1.0005)])
def test_one_loss_for_all_is_the_blanket_of_a_common_randomizer(users, most):
    common = account(response(4, 2.0, users), delta=1e-6).guarantee.epsilon
    found = THEOREM.epsilon(people(4, [2.0] * users), delta=1e-6)
    assert common * (1 - 1e-4) <= found <= common * most


def test_whoever_adds_more_noise_is_protected_better_and_protects_the_others():
    local = PersonalizedResponseModel(domain_size=4, epsilons=(0.5, 2.0), counts=(500, 500))
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=1000))
    found = {loss: each.guarantee.epsilon for loss, each in personalized(model, delta=1e-6).items()}
    alike = {loss: account(response(4, loss, 1000), delta=1e-6).guarantee.epsilon for loss in (0.5, 2.0)}
    assert alike[0.5] < found[0.5] < found[2.0] < alike[2.0]
    statement = account(model, delta=1e-6)
    assert statement.basis.theorem == "blanket-personalized"
    assert statement.guarantee.epsilon == pytest.approx(found[2.0], rel=1e-4)


def test_of_people_who_are_not_counted_it_is_those_who_hide_most():
    losses = [0.5] * 300 + [2.0] * 300
    counted = THEOREM.epsilon(people(4, losses, users=300), delta=1e-6)
    assert counted == pytest.approx(THEOREM.epsilon(people(4, [2.0] * 300), delta=1e-6), rel=1e-4)


def test_other_protocols_are_refused():
    with pytest.raises(HypothesisError, match="public histogram"):
        personalized(response(4, 1.0, 100), delta=1e-6)
    with pytest.raises(HypothesisError, match="no more people"):
        personalized(people(4, [1.0, 2.0], users=3), delta=1e-6)
    with pytest.raises(InvalidParameterError, match="delta"):
        personalized(people(4, [1.0, 2.0]), delta=0.0)
    assert THEOREM.delta(response(4, 1.0, 100), epsilon=0.1) == 1.0
    assert math.isclose(account(people(4, [1.0]), delta=1e-6).guarantee.epsilon, 1.0, rel_tol=1e-5)
