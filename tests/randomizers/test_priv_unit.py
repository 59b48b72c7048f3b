"""PrivUnit, guarantee by guarantee."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, special

from shuffledp.accounting import account_all
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import ProtocolModel
from shuffledp.randomizers import PrivUnit, PrivUnitModel
from shuffledp.randomizers.priv_unit import best_cap_loss, cap_depth, cap_loss, cap_mass, cap_moment, depths_within
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.testing import SeededSource

DIMENSIONS = [2, 3, 5, 50, 200, 30_000]
LOSSES = [1e-6, 1e-3, 0.5, 1.0, 4.0, 12.0, 30.0]


def unit(dimension, seed=0):
    vector = np.random.default_rng(seed).normal(size=dimension)
    return vector / np.linalg.norm(vector)


def exact_epsilon(model):
    """The log-ratio of the densities inside and outside the cap, for the depth and the coin of a model."""
    square = 4 * mpmath.mpf(model.depth) * (1 - mpmath.mpf(model.depth))
    half = mpmath.mpf(model.dimension - 1) / 2
    mass = mpmath.betainc(half, mpmath.mpf(1) / 2, 0, square, regularized=True) / 2
    inside = mpmath.mpf(model.cap_words) / mass
    outside = mpmath.mpf(2**64 - model.cap_words) / (1 - mass)
    return mpmath.log(inside / outside)


# ---- guarantee 1: the loss ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("budget_split", [None, 0.01, 0.5, 0.99])
def test_guarantee_1_the_exact_loss_is_at_most_the_stated_one_and_that_at_most_the_one_asked_for(
    dimension, budget_split
):
    with mpmath.workdps(40):
        for epsilon0 in LOSSES:
            model = PrivUnitModel.from_epsilon0(epsilon0=epsilon0, dimension=dimension, budget_split=budget_split)
            exact = exact_epsilon(model)
            # The guard is 1e-9; the error of what it guards is below 1e-11.
            assert 0.99e-9 < model.epsilon0 - exact < 1.01e-9
            assert model.epsilon0 <= epsilon0
            assert epsilon0 - model.epsilon0 < (3e-9 if budget_split is None else 1e-6)
            assert model.guarantee.delta == 0


def test_the_budget_is_split_as_asked():
    for split in (0.2, 0.5, 0.8):
        model = PrivUnitModel.from_epsilon0(epsilon0=4.0, dimension=20, budget_split=split)
        assert math.log(model.p / (1 - model.p)) == pytest.approx(4.0 * split, abs=1e-7)


def test_in_the_plane_densities_seen_in_small_arcs_keep_the_loss_and_a_loss_smaller_by_a_quarter_is_exceeded():
    randomizer = PrivUnit(epsilon0=1.0, dimension=2)
    counts = []
    for vector in ([1.0, 0.0], [-0.6, 0.8]):
        reports = randomizer.randomize(np.tile(vector, (400_000, 1)), source=SeededSource(1))["vector"]
        angles = np.arctan2(reports[:, 1], reports[:, 0])
        counts.append(np.histogram(angles, bins=20, range=(-np.pi, np.pi))[0])
    ratios = np.abs(np.log(counts[0] / counts[1]))
    error = np.sqrt(2 / min(map(min, counts)))
    assert ratios.max() < 1.0 + 5 * error
    assert ratios.max() > 0.75 + 5 * error


def test_every_statement_says_that_the_numbers_are_idealised():
    model = ProtocolModel(
        local=PrivUnit(epsilon0=1.0, dimension=3).model, shuffle=UniformShuffleModel(num_users=10_000)
    )
    statements = account_all(model, delta=1e-6)
    assert statements[0].guarantee.epsilon < 0.2
    assert all("floating-point" in str(statement) for statement in statements)


# ---- guarantees 2 to 4: the law (the statistical tests have its chi-squares) ----------------------------------------


@pytest.mark.parametrize(("epsilon0", "dimension", "budget_split"), [(1.0, 2, None), (4.0, 6, None), (4.0, 5, 0.05)])
def test_guarantee_3_contributions_average_out_to_the_vector_and_a_scale_wrong_by_a_fiftieth_is_noticed(
    epsilon0, dimension, budget_split
):
    randomizer = PrivUnit(epsilon0=epsilon0, dimension=dimension, budget_split=budget_split)
    vector = unit(dimension)
    count = 400_000
    decoded = randomizer.model.contributions(
        randomizer.randomize(np.tile(vector, (count, 1)), source=SeededSource(3)).columns
    )
    errors = decoded.std(axis=0) / math.sqrt(count)
    assert (np.abs(decoded.mean(axis=0) - vector) < 5 * errors).all()
    along = decoded @ vector
    error = along.std() / math.sqrt(count)
    assert abs(along.mean() - 1) < 5 * error
    assert abs(along.mean() - 1.02) > 5 * error


@pytest.mark.parametrize("budget_split", [None, 0.05, 0.9])
def test_the_noise_covariance_is_that_of_the_contributions(budget_split):
    randomizer = PrivUnit(epsilon0=3.0, dimension=4, budget_split=budget_split)
    vector, count = unit(4, seed=2), 400_000
    reports = randomizer.randomize(np.tile(vector, (count, 1)), source=SeededSource(4))
    found = np.cov(randomizer.model.contributions(reports.columns).T)
    stated = randomizer.model.noise_covariance(np.outer(vector, vector))
    tolerance = 8 * np.abs(stated).max() / math.sqrt(count)
    assert np.abs(found - stated).max() < tolerance
    # Power: the curvature is zero for the best split, and would be missed for the others.
    isotropic = randomizer.model.isotropic_variance * np.eye(4)
    assert (np.abs(found - isotropic).max() > tolerance) == (budget_split is not None)
    np.testing.assert_allclose(randomizer.model.noise_variance(vector), np.diag(stated), rtol=1e-12)


def test_for_the_best_split_the_noise_is_the_same_in_all_directions():
    for epsilon0 in (0.01, 1.0, 8.0, 25.0):
        model = PrivUnit(epsilon0=epsilon0, dimension=30).model
        assert model.gamma == pytest.approx(model.scale, rel=1e-6)
        assert abs(model.noise_curvature) < 1e-6
        assert model.isotropic_variance == pytest.approx((1 / model.scale**2 - 1) / 30, rel=1e-6)


def test_the_variance_is_below_that_of_other_splits_and_falls_with_epsilon0():
    total = [PrivUnit(epsilon0=epsilon0, dimension=50).model.isotropic_variance for epsilon0 in (0.5, 1, 2, 4, 8)]
    assert total == sorted(total, reverse=True)
    best = PrivUnit(epsilon0=4.0, dimension=50).model.scale
    for split in (0.1, 0.3, 0.6, 0.9):
        assert best > PrivUnit(epsilon0=4.0, dimension=50, budget_split=split).model.scale


def test_guarantee_4_each_persons_report_is_drawn_afresh():
    randomizer = PrivUnit(epsilon0=1.0, dimension=3)
    reports = randomizer.randomize(np.tile([0.0, 0.0, 1.0], (1000, 1)))["vector"]
    assert len(np.unique(reports, axis=0)) == 1000
    correlations = np.corrcoef(reports[0::2].T, reports[1::2].T)[:3, 3:]
    assert np.abs(correlations).max() < 6 / math.sqrt(500)


def test_reports_are_unit_vectors_even_where_the_cap_is_tiny():
    for epsilon0, dimension in ((30.0, 2), (30.0, 3), (1e-6, 2), (5.0, 40_000)):
        vectors = np.tile(unit(dimension), (20 if dimension > 100 else 20_000, 1))
        reports = PrivUnit(epsilon0=epsilon0, dimension=dimension).randomize(vectors)["vector"]
        np.testing.assert_allclose(np.linalg.norm(reports, axis=1), 1, atol=1e-9)


def test_vectors_whose_length_is_slightly_wrong_are_made_exact_first():
    vector = unit(5)
    given = vector * (1 + 9e-7)
    randomizer = PrivUnit(epsilon0=2.0, dimension=5)
    first, second = (randomizer.randomize([each] * 20, source=SeededSource(1))["vector"] for each in (vector, given))
    np.testing.assert_allclose(first, second, atol=1e-14)


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimension": 1}, "dimension must be an integer that is 2 or more"),
        ({"dimension": 2**20 + 1}, "dimension must be at most 1048576"),
        ({"dimension": 3.0}, "dimension must be an integer"),
        ({"epsilon0": 0.0}, "epsilon0 must be"),
        ({"epsilon0": 31.0}, "epsilon0 must be from 1e-06 to 30"),
        ({"epsilon0": math.nan}, "epsilon0 must be"),
        ({"budget_split": 0.0}, "budget_split must be a number strictly between 0 and 1"),
        ({"budget_split": 1.0}, "budget_split must be a number strictly between 0 and 1"),
    ],
)
def test_wrong_parameters_are_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        PrivUnit(**({"epsilon0": 1.0, "dimension": 3} | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 0.0}, "depth must be above 0"),
        ({"depth": 0.51}, "depth must be above 0 and at most 1/2"),
        ({"cap_words": 2**64}, "cap_words must be above"),
        ({"cap_words": 0}, "cap_words must be"),
        ({"cap_words": int(0.999 * 2**64 * cap_mass(0.3, 3))}, "the share of the cap"),
    ],
)
def test_a_wrong_model_is_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        PrivUnitModel(**({"dimension": 3, "depth": 0.3, "cap_words": 2**63} | changes))


@pytest.mark.parametrize(
    "columns",
    [
        {"vector": np.array([1.0, 0.0, 0.0])},
        {"vector": np.eye(3, dtype=int)},
        {"vector": np.eye(2)},
        {"vector": np.full((2, 3), 0.5)},
        {"vector": np.full((2, 3), np.nan)},
        {"value": np.eye(3)},
        {"vector": np.eye(3), "value": np.arange(3)},
    ],
)
def test_columns_that_cannot_be_its_reports_are_refused(columns):
    with pytest.raises(InvalidParameterError, match="must"):
        Reports(columns, PrivUnit(epsilon0=1.0, dimension=3).model)


@pytest.mark.parametrize("collect", [list, tuple, lambda rows: np.array([*rows, None], dtype=object)[:-1]])
def test_a_masked_coordinate_in_a_column_of_vectors_is_refused(collect):
    rows = [np.array([1.0, 0.0]), np.ma.array([1.0, 0.0], mask=[True, False])]
    with pytest.raises(InvalidParameterError, match="values must be complete; 1 masked"):
        PrivUnit(epsilon0=2.0, dimension=2).randomize(collect(rows))


def test_reports_keep_length_one_where_the_direction_drawn_is_nearly_that_of_the_vector():
    # In the plane some of so many directions lie within 1e-5 of the vector: what is left across it has few digits.
    randomizer = PrivUnit(epsilon0=2.0, dimension=2)
    vectors = randomizer.randomize(np.tile([0.6, 0.8], (200_000, 1)), source=SeededSource(3))["vector"]
    lengths = np.sqrt((vectors**2).sum(axis=1))
    assert np.abs(lengths - 1).max() < 2e-15


@pytest.mark.parametrize("epsilon0", [1e-6, 1e-3, 1.0, 12.0])
@pytest.mark.parametrize("dimension", [2, 50, 20_000])
def test_the_scale_is_as_precise_as_it_says(epsilon0, dimension):
    model = PrivUnitModel.from_epsilon0(epsilon0=epsilon0, dimension=dimension)
    with mpmath.workdps(40):
        half, depth = mpmath.mpf(dimension - 1) / 2, mpmath.mpf(model.depth)
        square = 4 * depth * (1 - depth)
        mass = mpmath.betainc(half, mpmath.mpf(1) / 2, 0, square, regularized=True) / 2
        moment = square**half / ((dimension - 1) * mpmath.beta(mpmath.mpf(1) / 2, half))
        scale = moment * (mpmath.mpf(model.cap_words) / 2**64 - mass) / (mass * (1 - mass))
        assert abs(model.scale / scale - 1) < 1e-11 / min(1.0, epsilon0)


CAP_DIMENSIONS = [2, 3, 4, 7, 50, 200, 3000, 30_000]
CAP_LOSSES = [1e-6, 1e-3, 0.1, 1.0, 4.0, 10.0, 20.0, 30.0]


def exact_mass(depth, dimension):
    """By symmetry half of the Beta((d-1)/2, 1/2) law of 1 - t^2 = 4 depth (1 - depth)."""
    square = 4 * mpmath.mpf(depth) * (1 - mpmath.mpf(depth))
    return mpmath.betainc(mpmath.mpf(dimension - 1) / 2, mpmath.mpf(1) / 2, 0, square, regularized=True) / 2


def exact_loss(depth, dimension):
    mass = exact_mass(depth, dimension)
    return mpmath.log((1 - mass) / mass)


@pytest.mark.parametrize(("dimension", "error"), [*((each, 1e-12) for each in CAP_DIMENSIONS), (2**20, 1e-10)])
def test_the_loss_of_a_cap_is_right_to_a_thousandth_of_the_guard_and_in_a_million_dimensions_to_a_tenth(
    dimension, error
):
    with mpmath.workdps(40):
        for loss in CAP_LOSSES:
            depth = cap_depth(loss, dimension)
            assert abs(cap_loss(depth, dimension) - exact_loss(depth, dimension)) < error
            assert abs(cap_loss(depth, dimension) - loss) < 2e-12


@pytest.mark.parametrize("dimension", CAP_DIMENSIONS)
def test_the_moment_of_a_cap_is_the_printed_one(dimension):
    # Bhowmick et al. 2018: (1 - gamma^2)^a / (2^(d-2) (d-1) B(a, a)), a = (d-1)/2.
    with mpmath.workdps(40):
        half = mpmath.mpf(dimension - 1) / 2
        for loss in CAP_LOSSES:
            depth = mpmath.mpf(cap_depth(loss, dimension))
            printed = (4 * depth * (1 - depth)) ** half / (
                mpmath.mpf(2) ** (dimension - 2) * (dimension - 1) * mpmath.beta(half, half)
            )
            assert float(cap_moment(float(depth), dimension) / printed) == pytest.approx(1, abs=1e-10)


def test_mass_and_moment_are_integrals_of_the_density():
    dimension, gamma = 5, 0.3
    density = lambda t: (1 - t * t) ** ((dimension - 3) / 2) / special.beta(0.5, (dimension - 1) / 2)  # noqa: E731
    depth = (1 - gamma) / 2
    assert cap_mass(depth, dimension) == pytest.approx(integrate.quad(density, gamma, 1)[0], rel=1e-10)
    assert cap_moment(depth, dimension) == pytest.approx(
        integrate.quad(lambda t: t * density(t), gamma, 1)[0], rel=1e-10
    )


@pytest.mark.parametrize("dimension", [2, 3, 10, 200])
@pytest.mark.parametrize("epsilon0", [0.01, 1.0, 4.0, 12.0])
def test_no_other_split_has_a_larger_scale_than_the_best(epsilon0, dimension):
    growth = math.expm1(epsilon0)

    def scale(loss):
        depth = cap_depth(loss, dimension)
        return cap_moment(depth, dimension) * growth / (1 + growth * cap_mass(depth, dimension))

    best = best_cap_loss(epsilon0, dimension)
    assert 0 < best < epsilon0
    others = np.linspace(0, epsilon0, 201)
    assert all(scale(best) >= scale(other) * (1 - 1e-12) for other in others)
    assert scale(best) == pytest.approx(1 - 2 * cap_depth(best, dimension), rel=1e-6)


def test_depths_are_on_the_side_that_was_asked_for_and_follow_the_law_there():
    dimension, depth = 6, 0.3
    shares = np.linspace(0.01, 0.99, 99)
    inside = depths_within(shares, np.full(99, True), depth=depth, dimension=dimension)
    outside = depths_within(shares, np.full(99, False), depth=depth, dimension=dimension)
    assert inside.max() <= depth <= outside.min()
    mass = cap_mass(depth, dimension)
    np.testing.assert_allclose(special.betainc(2.5, 2.5, inside), shares * mass, rtol=1e-12)
    np.testing.assert_allclose(1 - special.betainc(2.5, 2.5, outside), shares * (1 - mass), rtol=1e-12)
    ends = depths_within(np.array([0.0, 1.0, 0.0, 1.0]), np.array([True, True, False, False]), depth=depth, dimension=6)
    assert ends == pytest.approx([0.0, depth, 1.0, depth])
