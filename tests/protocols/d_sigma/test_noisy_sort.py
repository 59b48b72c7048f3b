"""The noisy sort: what it prepares, what it refuses, and its corners."""

import itertools
import json
import math

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.laws import gaussian_delta, noisy_sort_law
from shuffledp.planning import mean_displacement
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.sensitivity import position_spreads
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.testing import SeededSource
from statistical.thresholds import SAMPLES_PER_CELL, assert_fits, assert_rejects

LINE = Groups.from_radius([0, 1, 2, 10, 11, 20], 1.0)
CLUSTERS = np.concatenate([np.linspace(0, 1, 10), np.linspace(5, 5.4, 60), np.linspace(9, 12, 20)])


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_permutation_of_people_has_the_law_that_is_written_out(noise):
    positions = np.array([0.9, 0.0, 1.7, 0.4])
    shuffler = NoisySortShuffler(positions=positions, scale=0.8, noise=noise)
    order = np.argsort(positions)

    def law(scale):
        chances = dict.fromkeys(itertools.permutations(range(4)), 0.0)
        for w, chance in noisy_sort_law(positions[order], noise=noise, scale=scale).items():
            chances[tuple(order[np.array(w)][np.argsort(order)].tolist())] += chance
        return np.array(list(chances.values()))

    counts = dict.fromkeys(itertools.permutations(range(4)), 0)
    source = SeededSource(4)
    draws = 60 * SAMPLES_PER_CELL
    for _ in range(draws):
        counts[tuple(shuffler.draw(source=source).tolist())] += 1
    kept = np.minimum(law(0.8), law(0.7)) * draws > 100
    seen = np.array(list(counts.values()))

    def merged(cells):
        return np.append(cells[kept], cells[~kept].sum()) if not kept.all() else cells

    assert_fits(merged(seen), merged(law(0.8)))
    assert_rejects(merged(seen), merged(law(0.7)))


@pytest.mark.parametrize("spacing", ["adaptive", "uniform", "refined"])
@pytest.mark.parametrize(("noise", "delta"), [("laplace", None), ("gaussian", 1e-6)])
def test_every_spacing_keeps_within_the_budget_and_uses_nearly_all_of_it(spacing, noise, delta):
    groups = Groups.from_radius(CLUSTERS, 0.3)
    shuffler = NoisySortShuffler(groups=groups, alpha=2.0, noise=noise, delta=delta, spacing=spacing)
    model, prepared = shuffler.model(len(CLUSTERS)), shuffler.prepare()
    assert 1.99 < model.alpha <= 2.0
    assert model.delta == (delta or 0.0)
    spreads = position_spreads(groups, prepared.order, prepared.parameters, power=1 if delta is None else 2)
    assert model.spread >= (spreads.max() if delta is None else math.sqrt(spreads.max()))
    if delta is not None:
        assert gaussian_delta(model.spread, model.alpha) <= delta


def test_adaptive_and_refined_spacing_displace_less_than_uniform():
    groups = Groups.from_radius(CLUSTERS, 0.3)
    uniform, adaptive, refined = (
        mean_displacement(NoisySortShuffler(groups=groups, alpha=4.0, spacing=each))
        for each in ("uniform", "adaptive", "refined")
    )
    assert adaptive < uniform
    assert refined < uniform


def test_alpha_0_is_uniform_within_blocks_and_infinity_the_identity():
    nothing_hidden = NoisySortShuffler(groups=LINE, alpha=math.inf, order=range(6))
    assert nothing_hidden.draw().tolist() == list(range(6))
    assert nothing_hidden.model(6).alpha == math.inf
    uniform = NoisySortShuffler(groups=LINE, alpha=0.0, order=range(6))
    assert uniform.model(6).alpha == 0
    source, counts = SeededSource(2), {}
    for _ in range(12 * SAMPLES_PER_CELL):
        drawn = tuple(uniform.draw(source=source).tolist())
        counts[drawn] = counts.get(drawn, 0) + 1
    assert len(counts) == 12  # 3! arrangements of one block times 2! of another
    assert_fits(list(counts.values()), np.full(12, 1 / 12))


@pytest.mark.parametrize("spacing", ["adaptive", "uniform", "refined"])
@pytest.mark.parametrize(("noise", "delta"), [("laplace", None), ("gaussian", 1e-6)])
@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1e200, 1e308, 1.7e308])
def test_budgets_at_the_ends_of_the_floats_are_kept(alpha, noise, delta, spacing):
    pairs = Groups.from_lists([[place, place + 1] for place in range(40)] + [[40]])
    for groups in (LINE, pairs):
        people = groups.num_users
        shuffler = NoisySortShuffler(
            groups=groups, alpha=alpha, noise=noise, delta=delta, spacing=spacing, order=range(people)
        )
        assert shuffler.model(people).alpha <= alpha
        drawn = shuffler.draw(source=SeededSource(1)).tolist()
        assert sorted(drawn) == list(range(people))
        assert alpha < 1 or drawn == list(range(people))


def test_positions_that_are_too_far_apart_for_their_scale_are_refused_and_others_are_not():
    for positions, scale in (([1e308, -1e308], None), ([1.0, 0.0], 1e-320), ([1e300, 0.0], 1e-10)):
        with pytest.raises(
            InvalidParameterError, match=r"positions must be at most 1e\+140 times the scale; got one of"
        ):
            NoisySortShuffler(positions=positions, scale=scale)
    for noise, delta in (("laplace", None), ("gaussian", 1e-6)):
        groups = Groups.from_labels([0] * 4)
        far = NoisySortShuffler(groups=groups, positions=[1e140, -1e140, 0.0, 1e130], noise=noise, delta=delta)
        assert far.model(4).alpha > 1e140
        assert far.draw().tolist() == [0, 1, 2, 3]
    assert NoisySortShuffler(positions=[1e300, 0.0], scale=1e200).model(2).swap_windows()


@pytest.mark.parametrize("alpha", [0.0, 1.0, math.inf])
def test_people_who_are_all_alone_keep_their_reports_at_alpha_0(alpha):
    shuffler = NoisySortShuffler(groups=Groups.from_labels(range(5)), alpha=alpha)
    assert shuffler.draw().tolist() == list(range(5))
    assert (shuffler.model(5).alpha, shuffler.model(5).num_alone) == (0.0, 5)


@pytest.mark.parametrize("people", [1, 2])
def test_one_and_two_people_are_fine(people):
    shuffler = NoisySortShuffler(groups=Groups.from_labels([0] * people), alpha=1.0)
    assert sorted(shuffler.draw().tolist()) == list(range(people))


def test_positions_alone_say_nothing_about_groups_and_with_groups_what_they_lose():
    alone = NoisySortShuffler(positions=[0.0, 1.0, 3.0], scale=2.0)
    assert alone.model(3).d_sigma is None
    groups = Groups.from_labels([0, 0, 0])
    told = NoisySortShuffler(groups=groups, positions=[0.0, 1.0, 3.0], scale=2.0)
    assert told.model(3).alpha == pytest.approx(2 * 3.0 / 2.0)


def test_windows_cost_twice_the_distance_and_say_for_whom_they_are_dearest():
    model = NoisySortShuffler(positions=[0.0, 0.1, 0.2, 5.0]).model(4)
    worst = max(model.swap_windows(), key=lambda windows: windows.costs[1])
    assert worst.sizes == (1, 2, 3, 4)
    assert worst.costs == pytest.approx((0.0, 9.6, 9.8, 10.0))
    assert NoisySortShuffler(positions=[0.0, 1.0], noise="gaussian").model(2).swap_windows() == ()


def test_windows_of_all_people_are_covered_by_the_ones_that_are_kept():
    positions = np.sort(np.random.default_rng(1).exponential(1.0, 60))
    model = NoisySortShuffler(positions=positions).model(60)
    for person in range(60):
        dearer = False
        for windows in model.swap_windows():
            best = [
                min(
                    (
                        2 * (positions[start + size - 1] - positions[start])
                        for start in range(max(0, person - size + 1), min(person, 60 - size) + 1)
                    ),
                    default=math.inf,
                )
                for size in windows.sizes
            ]
            dearer |= bool((np.array(best) <= np.array(windows.costs) + 1e-12).all())
        assert dearer


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": LINE}, "exactly one of alpha and positions must be given; got neither"),
        ({"groups": LINE, "alpha": 1.0, "positions": [0.0] * 6}, "alpha and positions must be given; got both"),
        ({"alpha": 1.0}, "alpha must be given with groups .* got groups=None"),
        ({"groups": LINE, "alpha": 1.0, "scale": 2.0}, "without scale .* got scale=2.0"),
        ({"groups": LINE, "alpha": -1.0}, "alpha must be a number that is 0 or more"),
        ({"groups": LINE, "alpha": 1.0, "noise": "cauchy"}, "noise must be one of"),
        ({"groups": LINE, "alpha": 1.0, "spacing": "wide"}, "spacing must be one of"),
        ({"groups": LINE, "alpha": 1.0, "noise": "gaussian"}, "delta must be given for Gaussian noise"),
        ({"groups": LINE, "alpha": math.inf, "delta": 1e-6}, "alpha must be finite beside delta"),
        ({"positions": [0.0], "delta": 1e-6}, "delta must be left out without groups"),
        ({"groups": LINE, "alpha": 1.0, "noise": "gaussian", "delta": 0.0}, "delta must be a number strictly between"),
        ({"positions": [0.0, math.nan]}, "positions must be one finite number per person"),
        ({"positions": []}, "positions must be one finite number per person"),
        ({"positions": ["here"]}, "positions must be numbers"),
        ({"positions": [0.0], "groups": LINE}, "positions must be one for each of 6 people"),
        ({"positions": [0.0], "scale": 0.0}, "scale must be a finite number above 0"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        NoisySortShuffler(**options)


def test_gaussian_noise_has_no_swap_costs():
    shuffler = NoisySortShuffler(groups=LINE, alpha=1.0, noise="gaussian", delta=1e-6)
    with pytest.raises(UnsupportedModelError, match="swap costs need Laplace noise"):
        shuffler.swap_costs(0)


def test_a_model_cannot_claim_less_than_its_spread_loses():
    model = NoisySortShuffler(groups=LINE, alpha=1.0).model(6)
    written = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    assert ShuffleModel.from_dict(written) == model
    with pytest.raises(InvalidParameterError, match="alpha must be at least the loss of the spread"):
        ShuffleModel.from_dict(written | {"alpha": 0.5})
    with pytest.raises(InvalidParameterError, match="alpha must be at least the loss of the spread"):
        ShuffleModel.from_dict(written | {"noise": "gaussian"})  # which has no pure loss
