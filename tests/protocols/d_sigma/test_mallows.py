"""The Mallows shuffler: what it prepares, what it refuses, and its corners."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.table import Table
from shuffledp.laws import DISTANCES, mallows_law
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.people.sensitivity import blocks, order_sensitivity
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffleModel, MallowsShuffler
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import RecordedSource, SeededSource
from shufflers.enumerated import cheapest_windows, exchange_costs, is_no_better
from statistical.thresholds import SAMPLES_PER_CELL, assert_fits, assert_rejects

LINE = Groups.from_radius([0, 1, 2, 10, 11, 20], 1.0)
SINGLETONS = Groups.from_labels(range(5))


def counts_of(shuffler, num_draws, source):
    cells = dict.fromkeys(itertools.permutations(range(shuffler.groups.num_users)), 0)
    for _ in range(num_draws):
        cells[tuple(shuffler.draw(source=source).tolist())] += 1
    return np.array(list(cells.values()))


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
def test_the_permutation_of_people_has_the_law_that_is_written_out(distance):
    order = (2, 0, 3, 1)
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * 4), concentration=0.4, distance=distance, order=order)

    def law(reading):
        chances = dict.fromkeys(itertools.permutations(range(4)), 0.0)
        for w, chance in mallows_law(4, 0.4, distance=distance).items():
            chances[tuple(reading(np.array(w)).tolist())] += chance
        return np.array(list(chances.values()))

    ranks, inverse = np.array(order), np.argsort(order)
    right = law(lambda w: ranks[w][inverse])
    counts = counts_of(shuffler, 60 * SAMPLES_PER_CELL, SeededSource(3))
    assert_fits(counts, right)
    if distance == "kendall":  # the others are the same for every order
        assert_rejects(counts, law(lambda w: inverse[ranks[w]]))
        assert_rejects(counts, law(lambda w: w))


def test_each_block_gets_the_concentration_that_its_own_groups_need():
    shuffler = MallowsShuffler(groups=LINE, alpha=1.0, order=range(6))
    prepared = shuffler.prepare()
    starts, sensitivities = blocks(LINE, range(6))
    assert prepared.starts.tolist() == starts.tolist() == [0, 3, 5, 6]
    assert prepared.parameters.tolist() == [1.0 / 3, 1.0, math.inf]
    assert sensitivities.tolist() == [3, 1, 0]
    model = shuffler.model(6)
    assert (model.block_sizes, model.block_counts) == ((1, 2, 3), (1, 1, 1))
    assert (model.alpha, model.num_alone, model.largest_group) == (1.0, 1, 3)


def test_without_blocks_everybody_is_shuffled_with_the_one_concentration_of_the_paper():
    shuffler = MallowsShuffler(groups=LINE, alpha=1.0, per_block=False)
    model = shuffler.model(6)
    assert model.block_sizes == (6,)
    assert model.concentrations == (pytest.approx(1 / order_sensitivity(LINE, reference_order(LINE))),)
    assert model.num_alone == 0


def test_it_is_prepared_once_and_reused():
    shuffler = MallowsShuffler(groups=LINE, alpha=1.0)
    assert shuffler.prepare() is shuffler.prepare()


def test_the_stated_alpha_is_never_below_the_product_and_never_above_what_was_asked_for():
    for size in range(2, 40):
        groups = Groups.from_labels([0] * size)
        model = MallowsShuffler(groups=groups, alpha=0.1, order=range(size)).model(size)
        assert model.alpha <= 0.1
        assert model.alpha == pytest.approx(0.1, rel=1e-14)


def test_nobody_leaves_the_block():
    shuffler = MallowsShuffler(groups=LINE, alpha=0.0, order=range(6))
    for seed in range(30):
        drawn = shuffler.draw(source=SeededSource(seed))
        assert set(drawn[:3].tolist()) == {0, 1, 2}
        assert drawn[5] == 5


def test_alpha_0_is_uniform_within_blocks():
    groups = Groups.from_labels([0, 0, 0, 1])
    counts = counts_of(MallowsShuffler(groups=groups, alpha=0.0), 6 * SAMPLES_PER_CELL, SeededSource(1))
    filled = np.sort(counts)[-6:]
    assert counts.sum() == filled.sum()
    assert_fits(filled, np.full(6, 1 / 6))


@pytest.mark.parametrize("options", [{}, {"per_block": False}, {"distance": "hamming"}])
@pytest.mark.parametrize("loss", ["alpha", "concentration"])
def test_alpha_infinity_is_the_identity_and_its_model_says_that_nothing_is_hidden(loss, options):
    shuffler = MallowsShuffler(groups=LINE, **{loss: math.inf}, **options)
    model = shuffler.model(6)
    assert shuffler.draw().tolist() == list(range(6))
    assert (model.alpha, model.num_alone, model.block_sizes, model.block_counts) == (math.inf, 6, (1,), (6,))
    assert np.isinf(np.delete(shuffler.swap_costs(2), 2)).all()
    assert "Not private" in model.d_sigma.text("at most")
    assert type(model).from_dict(model.to_dict()) == model


@pytest.mark.parametrize("alpha", [0.0, 1.0, math.inf])
def test_people_who_are_all_alone_keep_their_reports_at_alpha_0(alpha):
    shuffler = MallowsShuffler(groups=SINGLETONS, alpha=alpha)
    assert shuffler.draw().tolist() == list(range(5))
    assert (shuffler.model(5).alpha, shuffler.model(5).num_alone) == (0.0, 5)


@pytest.mark.parametrize("people", [1, 2])
def test_one_and_two_people_are_fine(people):
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * people), alpha=1.0)
    reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([0] * people)
    assert len(shuffler.shuffle(reports, public=Table({"age": np.arange(people)}))) == people


def test_recorded_words_give_the_recorded_view():
    shuffler = MallowsShuffler(groups=Groups.from_labels([0, 0, 0]), alpha=0.0, order=[2, 0, 1])
    reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([0, 1, 2], source=SeededSource(1))
    words = SeededSource(9).words(40)
    first, again = (shuffler.shuffle(reports, source=RecordedSource(words)) for _ in range(2))
    assert first == again
    assert first.seeded


def test_colluding_people_shrink_every_window_and_change_no_cost():
    model = MallowsShuffler(groups=Groups.from_labels([0] * 50), concentration=0.01).model(50)
    counted = model.counting(40)
    assert (counted.num_users, counted.num_honest) == (50, 40)
    (windows,), (fewer,) = model.swap_windows(), counted.swap_windows()
    assert fewer.costs == windows.costs
    assert fewer.sizes == tuple(max(1, size - 10) for size in windows.sizes)


def test_windows_are_those_of_the_blocks_that_mix_least():
    model = MallowsShuffler(groups=LINE, alpha=1.0, order=range(6)).model(6)
    sizes = [max(each.sizes) for each in model.swap_windows()]
    assert sizes == [1, 2]  # the block of three is larger and less concentrated than that of two


def kinds_of_blocks(*kinds, distance="kendall"):
    """The model of so many blocks of a size and concentration: (size, concentration, number)."""
    sizes, thetas, counts = zip(*kinds, strict=True)
    return MallowsShuffleModel(
        num_users=sum(size * count for size, _, count in kinds),
        groups_digest="0" * 64,
        alpha=math.inf,
        distance=distance,
        block_sizes=sizes,
        concentrations=thetas,
        block_counts=counts,
        num_alone=sum(count for size, _, count in kinds if size == 1),
    )


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
@pytest.mark.parametrize("people", [2, 3, 4, 5])
def test_windows_cost_exactly_what_the_dearest_exchange_in_them_changes(people, distance):
    costs = exchange_costs(mallows_law(people, 0.3, distance=distance))
    cheapest = cheapest_windows(costs)
    shuffler = MallowsShuffler(
        groups=Groups.from_labels([0] * people), concentration=0.3, distance=distance, order=range(people)
    )
    (windows,) = shuffler.model(people).swap_windows()
    assert windows.sizes == tuple(range(1, people + 1))
    assert windows.people == people
    for of_person in cheapest:
        assert windows.costs == pytest.approx(of_person[1:], abs=1e-12)
    for person in range(people):
        assert shuffler.swap_costs(person) == pytest.approx(costs[person], abs=1e-12)
        assert shuffler.swap_costs(person)[person] == 0


def test_costs_are_never_rounded_down():
    for theta in (0.1, 0.3, 1 / 3, 0.7, 1e-3):
        (windows,) = kinds_of_blocks((60, theta, 1)).swap_windows()
        shuffler = MallowsShuffler(groups=Groups.from_labels([0] * 60), concentration=theta, order=range(60))
        of_first = shuffler.swap_costs(0)
        for size, cost in zip(windows.sizes[1:], windows.costs[1:], strict=True):
            exact = Fraction(theta) * (2 * size - 3)
            assert Fraction(math.nextafter(cost, 0)) < exact <= Fraction(cost)
            assert exact <= Fraction(float(of_first[size - 1])) <= exact * (1 + Fraction(2) ** -50)


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
@pytest.mark.parametrize("theta", [5e-324, 1e308])
def test_costs_at_the_ends_of_the_floats(theta, distance):
    groups = Groups.from_labels([0] * 4)
    shuffler = MallowsShuffler(groups=groups, concentration=theta, distance=distance, order=range(4))
    assert (shuffler.swap_costs(0)[1:] >= theta).all()
    (windows,) = shuffler.model(4).swap_windows()
    assert (np.array(windows.costs[1:]) >= theta).all()


def test_everybody_in_blocks_of_several_kinds_is_mixed_as_well_as_somebody_whom_windows_are_about():
    draw = np.random.default_rng(2)
    for _ in range(60):
        kinds = [
            (int(size), float(draw.choice([0.0, 0.05, 0.2, 0.4])), int(draw.integers(1, 4)))
            for size in draw.integers(1, 6, size=5)
        ]
        found = kinds_of_blocks(*kinds).swap_windows()
        for size, theta, _ in kinds:
            cheapest = cheapest_windows(exchange_costs(mallows_law(size, theta)))[0]
            cheapest[1:] *= 1 - 1e-12  # what is written out is rounded to nearest
            assert any(is_no_better(windows, cheapest) for windows in found)


def test_of_blocks_of_several_kinds_those_are_told_that_no_smaller_one_is_as_concentrated_as():
    kinds = (9, 0.5, 1), (2, 0.2, 3), (1, math.inf, 4), (3, 0.2, 1), (4, 0.1, 2), (5, 0.3, 2), (2, 0.0, 1)
    found = kinds_of_blocks(*kinds).swap_windows()
    assert [(max(each.sizes), each.costs[-1], each.people) for each in found] == [
        (1, 0.0, 4),
        (2, 0.0, 2),
        (2, pytest.approx(0.2), 6),
        (5, pytest.approx(0.3 * 7), 10),
        (9, pytest.approx(0.5 * 15), 9),
    ]
    assert found[1].costs == (0.0, 0.0)
    assert not MallowsShuffler(groups=Groups.from_labels([0] * 4), alpha=0.0).swap_costs(0).any()
    (windows,) = kinds_of_blocks((3, math.inf, 1)).swap_windows()
    assert windows.costs == (0.0, math.inf, math.inf)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of alpha and concentration"),
        ({"alpha": 1.0, "concentration": 1.0}, "exactly one of alpha and concentration"),
        ({"alpha": -1.0}, "alpha must be a number that is 0 or more"),
        ({"alpha": math.nan}, "alpha must be a number that is 0 or more"),
        ({"concentration": -0.1}, "concentration must be a number that is 0 or more"),
        ({"alpha": 1.0, "distance": "footrule"}, "distance must be one of"),
        ({"alpha": 1.0, "per_block": 1}, "per_block must be a bool"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        MallowsShuffler(groups=LINE, **options)


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 0, 1, 2, 3, 4], "nearest"])
def test_orders_that_are_none_are_refused(order):
    with pytest.raises(InvalidParameterError, match=r"order must|method must"):
        MallowsShuffler(groups=LINE, alpha=1.0, order=order).prepare()


def test_another_number_of_people_and_several_messages_are_refused():
    shuffler = MallowsShuffler(groups=LINE, alpha=1.0)
    reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([0] * 7)
    with pytest.raises(InvalidParameterError, match="num_users must be the number of people of the groups, 6"):
        shuffler.shuffle(reports)
    with pytest.raises(InvalidParameterError, match="groups must be of the same 6 people"):
        shuffler.d_sigma_for(SINGLETONS)
    with pytest.raises(InvalidParameterError, match="person must be below the number of people"):
        shuffler.swap_costs(6)


def test_reports_of_several_messages_are_not_supported():
    from contracts.siblings import ResidueRandomizer

    reports = ResidueRandomizer(modulus=97, num_messages=2).randomize([1, 2, 3, 4, 5, 6])
    assert isinstance(reports, Reports)
    with pytest.raises(UnsupportedModelError, match="needs one report per person"):
        MallowsShuffler(groups=LINE, alpha=1.0).shuffle(reports)


def test_the_model_survives_json_and_refuses_what_does_not_add_up():
    model = MallowsShuffler(groups=LINE, alpha=1.0).model(6)
    written = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    assert ShuffleModel.from_dict(written) == model
    for change in ({"num_users": 7}, {"num_alone": 2}, {"alpha": -1.0}, {"block_counts": [1]}, {"distance": "ulam"}):
        with pytest.raises(InvalidParameterError):
            MallowsShuffleModel.from_dict({key: value for key, value in written.items() if key != "kind"} | change)


def test_swap_costs_are_what_exchanging_two_people_changes_at_most():
    shuffler = MallowsShuffler(groups=LINE, concentration=0.5, order=range(6))
    assert shuffler.swap_costs(0)[:3] == pytest.approx([0.0, 0.5, 1.5])
    assert shuffler.swap_costs(0)[3:].tolist() == [math.inf] * 3


# ---- descriptions that cannot be true --------------------------------------------------------------------------------


def forged(shuffler, **changes):
    model = shuffler.prepare().model
    return type(model).from_dict(model.to_dict() | changes)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_description_that_loses_less_than_its_concentrations_is_refused(distance):
    """Ten people in one group, of which that loss is exact; nothing below it is believed, nor a larger group."""
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * 10), alpha=1.0, distance=distance)
    own = shuffler.prepare().model
    assert forged(shuffler) == own
    theta = own.concentrations[0]
    for change in ({"alpha": 0.0}, {"alpha": own.alpha * (1 - 1e-9)}, {"concentrations": [theta * 1.001]}):
        with pytest.raises(InvalidParameterError, match="alpha must be at least the loss of the concentrations"):
            forged(shuffler, **change)
    halves = MallowsShuffler(groups=Groups.from_labels([0] * 10 + [1] * 3), alpha=1.0, distance=distance)
    assert forged(halves) == halves.prepare().model
    with pytest.raises(InvalidParameterError, match="largest_group must be at most the largest block, 10"):
        forged(halves, largest_group=11)
    with pytest.raises(InvalidParameterError, match="the loss of the concentrations"):
        forged(halves, concentrations=[1e9, 0.0])


def test_a_group_said_to_be_larger_than_it_is_would_have_lost_more():
    groups = Groups.from_radius(np.arange(300), 2)
    shuffler = MallowsShuffler(groups=groups, alpha=0.5)
    with pytest.raises(InvalidParameterError, match="the loss of the concentrations"):
        forged(shuffler, largest_group=200)


@pytest.mark.parametrize("options", [{"per_block": False}, {"per_block": True}])
@pytest.mark.parametrize("loss", [{"concentration": 1.0}, {"concentration": math.inf}, {"alpha": 0.0}, {"alpha": 2.0}])
def test_every_description_that_a_shuffler_makes_is_accepted(options, loss):
    for labels in ([0, 1, 2, 3], [0, 0, 1, 2], [0, 1, 0, 1], [0, 0, 0, 0]):
        shuffler = MallowsShuffler(groups=Groups.from_labels(labels), **loss, **options)
        assert forged(shuffler) == shuffler.prepare().model
