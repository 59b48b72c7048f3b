"""Strata: who is in one with whom, and what rounding weights to their classes may change."""

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.strata.people.strata import Strata

RNG = np.random.default_rng(7)


def people(number: int, values: int) -> dict[str, np.ndarray]:
    """Regions and weights, of which about this number differ."""
    return {
        "region": RNG.choice(["north", "east", "west"], number, p=[0.6, 0.3, 0.1]),
        "weight": np.round(RNG.lognormal(0, 1, number) * values) / values + 0.01,
    }


CASES = [(number, values, most) for number in (30, 200, 1000) for values in (1, 4, 10_000) for most in (2, 5, 9)]


@pytest.mark.parametrize(("number", "values", "most"), CASES)
def test_a_stratum_is_of_one_region_and_equal_weights_of_a_region_are_in_one(number, values, most):
    columns = people(number, values)
    strata = Strata.of(columns, by="region", weight="weight", weight_classes=most)
    assert (strata.table["region"][strata.of_person] == columns["region"]).all()
    for region in np.unique(columns["region"]):
        here = columns["region"] == region
        weights, stratum = columns["weight"][here], strata.of_person[here]
        assert len({(weight, of) for weight, of in zip(weights, stratum, strict=True)}) == len(set(weights))
        order = np.argsort(weights, kind="stable")
        assert (np.diff(stratum[order]) >= 0).all()
        assert len(set(stratum)) <= most
        assert np.bincount(stratum)[stratum.min() :].min() >= max(here.sum() // (2 * most), 1)


@pytest.mark.parametrize(("number", "values", "most"), CASES)
def test_regions_keep_the_sum_of_their_weights(number, values, most):
    columns = people(number, values)
    strata = Strata.of(columns, by="region", weight="weight", weight_classes=most)
    rounded = strata.table["weight"][strata.of_person]
    for region in np.unique(columns["region"]):
        here = columns["region"] == region
        assert rounded[here].sum() == pytest.approx(columns["weight"][here].sum())


def test_classes_of_different_weights_are_of_equal_size():
    assert Strata.of({"w": RNG.permutation(100) + 1.0}, weight="w").sizes == (20, 20, 20, 20, 20)
    assert Strata.of({"w": np.arange(1.0, 104.0)}, weight="w").sizes == (21, 20, 21, 20, 21)


def test_rounded_weights_have_the_same_classes_again():
    for number, values, most in CASES:
        columns = people(number, values)
        strata = Strata.of(columns, by="region", weight="weight", weight_classes=most)
        rounded = columns | {"weight": strata.table["weight"][strata.of_person]}
        again = Strata.of(rounded, by="region", weight="weight", weight_classes=most)
        assert again.of_person.tolist() == strata.of_person.tolist()
        assert again.rounding == pytest.approx(0)


@pytest.mark.parametrize("seed", range(20))
def test_no_share_of_a_region_or_of_all_changes_by_more_than_the_rounding(seed):
    columns, rng = people(100, 10_000), np.random.default_rng(seed)
    strata = Strata.of(columns, by="region", weight="weight", weight_classes=3)
    weights, rounded = columns["weight"], strata.table["weight"][strata.of_person]
    answers = [rng.random(100) < 0.3, weights > rounded]  # the second is the worst there is
    changes = []
    for answer in answers:
        for here in (np.ones(100, dtype=bool), *(columns["region"] == each for each in set(columns["region"]))):
            changes.append(abs(np.average(answer[here], weights=weights[here])
                               - np.average(answer[here], weights=rounded[here])))  # fmt: skip
    assert max(changes) == pytest.approx(strata.rounding)


def test_the_design_effect_is_that_of_the_rounded_weights():
    strata = Strata.of({"w": [1.0] * 50 + [3.0] * 50}, weight="w")
    assert strata.design_effect == pytest.approx(5 / 4)  # the mean of 1 and 9, over the square of 2
    assert Strata.of({"r": ["a", "b"]}, by="r").design_effect == 1


def test_regions_of_any_type_are_texts():
    assert Strata.of({"r": [3, 1, 3]}, by="r").table["r"].tolist() == ["1", "3"]


@pytest.mark.parametrize(
    ("columns", "keys", "message"),
    [
        ({"w": [1.0, 0.0]}, {"weight": "w"}, "weight must be finite numbers above 0 .*, one for each of 2 people"),
        ({"w": [1.0, 1e150]}, {"weight": "w"}, "weight must be finite numbers above 0"),
        ({"r": np.array(["2026-01-01", "NaT"], dtype="datetime64[D]")}, {"by": "r"}, "by must be a label"),
        ({"w": [1.0, np.inf]}, {"weight": "w"}, "weight must be finite numbers above 0"),
        ({"w": [1.0, np.nan]}, {"weight": "w"}, "weight must be finite numbers above 0"),
        ({"r": ["a", "b"], "w": [1.0]}, {"by": "r", "weight": "w"}, "weight must be finite numbers above 0"),
        ({"r": [1.0, np.nan]}, {"by": "r"}, "by must be a label for each person, none missing"),
        ({"r": np.array(["a", None])}, {"by": "r"}, "by must be a label for each person, none missing"),
        ({"w": [1.0]}, {"weight": "w", "weight_classes": 1}, "weight_classes must be an integer that is 2 or more"),
        ({"w": [1.0]}, {}, "by or weight must be given"),
        ({"w": []}, {"weight": "w"}, "num_people must be an integer that is 1 or more"),
    ],
)
def test_columns_that_make_no_strata_are_refused(columns, keys, message):
    with pytest.raises(InvalidParameterError, match=message):
        Strata.of(columns, **keys)


def test_the_mean_of_equal_weights_is_that_weight_to_the_last_bit():
    # Else strata of people who weigh the same would count as of different weights, by how many people they have.
    columns = {"region": ["a"] * 3 + ["b"] * 7 + ["c"] * 11, "weight": [0.1] * 21}
    strata = Strata.of(columns, by="region", weight="weight")
    assert strata.table["weight"].tolist() == [0.1, 0.1, 0.1]
    assert strata.rounding == 0


def test_no_class_of_weight_is_left_with_very_few_people():
    strata = Strata.of({"weight": [1.0] + [2.0] * 7 + [3.0] * 32}, weight="weight", weight_classes=5)
    assert min(strata.sizes) >= 40 // 10
    near = Strata.of({"weight": [*range(1, 9)] + [9.0] * 14 + [10.0, 11.0] + [12.0] * 16}, weight="weight")
    assert min(near.sizes) >= 40 // 10
