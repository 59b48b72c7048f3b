"""Rows of a channel that agree in all but their last digits: where a loss is a difference that floats nearly lose."""

from fractions import Fraction

import numpy as np
import pytest

from accounting.given import response, uniformly
from shuffledp import Channel, account, compose_releases, delta_at
from shuffledp.accounting import THEOREMS
from shuffledp.accounting.evaluators import inversion
from shuffledp.randomizers import ChannelModel, LdpModel
from soundness.exact_deltas import laws_of_others, worst_delta

NAMED = {theorem.id: theorem for theorem in THEOREMS}


@pytest.mark.parametrize("step", [1e-5, 1e-6])
@pytest.mark.parametrize("users", [2, 3])
def test_the_worst_of_pairs_of_inputs_that_differ_in_late_digits_counts(step, users):
    rows = np.array([[0.5, 0.5], [0.5 + step, 0.5 - step], [0.5 + step + 7e-13, 0.5 - step - 7e-13]])
    model = uniformly(ChannelModel(matrix=Channel(rows)), users)
    for part in (0.0, 0.5, 0.99999):
        epsilon = part * model.local.epsilon0
        exact = worst_delta(rows, laws_of_others(rows, users - 1), np.array([epsilon]))
        assert delta_at(model, epsilon=epsilon).guarantee.delta >= float(np.max(exact)) * (1 - 1e-9)


def test_the_loss_of_rows_that_differ_in_late_digits_is_not_lost():
    half, little = Fraction(1, 2), Fraction(1, 10**17)
    channel = Channel([[half, half], [half + little, half - little]])
    assert 2e-17 <= ChannelModel(matrix=channel).epsilon0 <= 2.0001e-17
    equal = Channel([[0.3, 0.7], [0.3, 0.7]])
    assert ChannelModel(matrix=equal).epsilon0 == 0.0


@pytest.mark.parametrize("epsilon0", [1e-6, 1e-3, 20.0])
def test_the_binary_lower_bound_is_below_the_truth_close_to_the_local_loss(epsilon0):
    model = response(2, epsilon0, 2)
    share = Fraction(model.local.share, 2**64)
    for part in (1 - 1e-12, 1 - 1e-6):
        epsilon = part * model.local.epsilon0
        growth = Fraction(np.exp(epsilon))
        exact = max(  # of both people the same answer but for one, over the number of ones
            sum(max(first - growth * second, Fraction(0)) for first, second in zip(*pair, strict=True))
            for pair in _counts_of_two(1 - share)
        )
        assert NAMED["binary-all-equal"].delta_at(model, epsilon=epsilon) <= float(exact) * (1 + 1e-6) + 1e-300


def _counts_of_two(truth: Fraction):
    lie = 1 - truth
    both, mixed, neither = truth * truth, 2 * truth * lie, lie * lie
    same, other = (both, mixed, neither), (truth * lie, truth * truth + lie * lie, truth * lie)
    yield same, other
    yield other, same


@pytest.fixture
def passes(monkeypatch) -> list[int]:
    """The frequencies of each pass over a sum."""
    found, one_pass = [], inversion._bracket

    def counted(tilted, noise):
        result = one_pass(tilted, noise)
        found.append(result[2])
        return result

    monkeypatch.setattr(inversion, "_bracket", counted)
    return found


def test_where_rounding_keeps_both_sides_apart_no_more_passes_are_made(passes):
    rows = np.array([[0.5, 0.5], [0.5 + 1e-5, 0.5 - 1e-5], [0.5 + 1e-5 + 7e-13, 0.5 - 1e-5 - 7e-13]])
    model = uniformly(ChannelModel(matrix=Channel(rows)), 3)
    assert account(model, delta=1e-30).guarantee.epsilon == model.local.epsilon0
    assert sum(passes) < 500_000  # it was 1,511,308 in 102 passes


@pytest.mark.parametrize("epsilon0", [6.0, 8.0])
def test_one_look_tells_that_the_other_witness_shows_less_of_few_people(passes, epsilon0):
    model = uniformly(LdpModel(epsilon0=epsilon0), 1000)
    found = NAMED["ldp-witness"].epsilon(model, delta=1e-6)
    assert epsilon0 - 2e-5 < found < epsilon0
    assert len(passes) <= 3  # they were 26 and 28


def test_releases_of_a_channel_that_leaks_a_little_compose():
    model = uniformly(ChannelModel(matrix=Channel([[0.5, 0.4999999, 1e-7], [0.25, 0.75, 0.0]])), 1000)
    once = account(model, delta=5e-7).guarantee.epsilon
    assert once < compose_releases(model, delta=1e-6, num_releases=2).guarantee.epsilon <= 2 * once * (1 + 1e-9)


@pytest.mark.deep
def test_releases_of_unlike_protocols_share_a_grid_that_fits_in_memory():
    both = [response(2, 0.05, 2), response(2, 3.0, 2)]
    assert 3.0 < compose_releases(both, delta=1e-6).guarantee.epsilon <= 3.05 + 1e-6
