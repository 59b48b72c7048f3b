"""Best guesses: against the channel from one value to what is seen."""

from itertools import product

import numpy as np
import pytest

from shuffledp.channels import Channel
from shuffledp.leakage import best_guesses, target_vulnerability
from shuffledp.models import ProtocolModel
from shuffledp.randomizers import ChannelModel, model_of_kind
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel, imperfect_shuffler


def protocol(people, size=3, shuffle=UniformShuffleModel):
    local = model_of_kind("k-rr", epsilon0=1.0, domain_size=size)
    return ProtocolModel(local=local, shuffle=shuffle(num_users=people))


def beliefs(model, prior):
    """Pr(value of person 0, histogram of all reports), over all lists of reports."""
    matrix = np.array(model.local.channel().matrix, dtype=float)
    law, found = np.array(prior) @ matrix, {}
    for reports in product(range(matrix.shape[1]), repeat=model.num_users):
        joint = np.array(prior) * matrix[:, reports[0]] * np.prod(law[list(reports[1:])])
        seen = tuple(np.bincount(reports, minlength=matrix.shape[1]).tolist())
        found[seen] = found.get(seen, 0) + joint
    return found


@pytest.mark.parametrize("prior", [(1 / 3, 1 / 3, 1 / 3), (0.2, 0.3, 0.5)])
@pytest.mark.parametrize("gain", [None, [[1, 0, 0], [0, 1, 1]]])
def test_best_guesses_are_those_of_bayes_rule(prior, gain):
    model, table = protocol(3), np.eye(3) if gain is None else np.array(gain)
    expected, found = beliefs(model, prior), best_guesses(model, prior=prior, gain=gain)
    assert {guess.seen for guess in found} == set(expected)
    for guess in found:
        joint = expected[guess.seen]
        assert guess.probability == pytest.approx(joint.sum(), abs=1e-12)
        assert guess.worth == pytest.approx((table @ joint).max() / joint.sum(), abs=1e-12)
        as_good = np.flatnonzero(table @ joint > (table @ joint).max() - 1e-12 * joint.sum()).tolist()
        assert [guess.guess, *guess.tied] == as_good
    average = sum(guess.probability * guess.worth for guess in found)
    assert average == pytest.approx(target_vulnerability(model, prior=prior, gain=gain).value, abs=1e-12)


def test_without_a_shuffle_one_report_is_all_that_counts():
    found = best_guesses(protocol(1000, shuffle=IdentityShuffleModel))
    assert [(guess.seen, guess.guess) for guess in found] == [((1, 0, 0), 0), ((0, 1, 0), 1), ((0, 0, 1), 2)]
    assert found[0].worth == pytest.approx(protocol(1).local.p)


def test_what_never_comes_is_not_listed():
    local = ChannelModel(matrix=Channel([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=2))
    assert all(guess.probability > 0 for guess in best_guesses(model, prior=[1.0, 0.0]))
    assert [guess.seen[0] for guess in best_guesses(model, prior=[1.0, 0.0])] == [2]


def test_too_many_and_other_shuffles_are_not_listed():
    assert len(best_guesses(protocol(59, size=2))) == 60
    assert best_guesses(protocol(60, size=2)) is None
    assert best_guesses(protocol(10**9)) is None
    local = protocol(2).local
    assert best_guesses(ProtocolModel(local=local, shuffle=imperfect_shuffler(imperfection=1.0).model(3))) is None
