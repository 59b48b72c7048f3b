"""The bracket: what is promised, and what cannot be promised."""

import json
from pathlib import Path

import pytest

import shuffledp as sdp
from accounting.given import given, response
from shuffledp.accounting import limit
from shuffledp.core.errors import InvalidParameterError
from shuffledp.shufflers import UniformShuffleModel

TABLE = json.loads((Path(__file__).parents[1] / "golden" / "generic.json").read_text(encoding="utf-8"))["rows"]


def generic(epsilon0: float, users: int, **local: float) -> sdp.ProtocolModel:
    return sdp.ProtocolModel(
        local=sdp.LdpModel(epsilon0=epsilon0, **local), shuffle=UniformShuffleModel(num_users=users)
    )


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_any_randomizer_is_bracketed_as_in_the_reference_table(row):
    found = sdp.bracket(generic(row["epsilon0"], row["users"]), delta=1e-6)
    assert abs(found.upper - row["strong_pair"]) <= 0.5001 * 10 ** -row["digits"] + 1e-4 * row["strong_pair"]
    assert found.lower == pytest.approx(row["lower"], rel=1e-3)
    assert found.lower <= found.upper <= 1.16 * found.lower
    assert (found.upper_basis.theorem, found.lower_basis.theorem) == ("strong-pair", "ldp-witness")


@pytest.mark.parametrize("users", [1, 2, 10, 10**4, 10**9])
@pytest.mark.parametrize("epsilon0", [1e-9, 0.3, 3.0, 60.0, 700.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.2, 0.999])
def test_lower_is_below_upper_from_one_extreme_to_the_other(users, epsilon0, delta):
    for model in (generic(epsilon0, users), response(2, min(max(epsilon0, 1e-5), 30.0), users)):
        found = sdp.bracket(model, delta=delta)
        assert 0 <= found.lower <= found.upper <= model.local.epsilon0


def test_where_no_lower_bound_is_known_it_is_0_without_a_basis():
    found = sdp.bracket(given(1.0, 1000), delta=1e-6)
    assert (found.lower, found.lower_basis) == (0.0, None)


def test_published_theorems_alone_say_less():
    model = generic(1.0, 10_000)
    found = sdp.bracket(model, delta=1e-6, published_only=True)
    assert found.upper_basis.theorem == "fmt21-pair"
    assert found.upper == pytest.approx(0.05301, abs=5e-6)
    assert found.upper > sdp.bracket(model, delta=1e-6).upper


def test_people_who_are_not_honest_are_not_counted():
    assert sdp.bracket(generic(1.0, 10_000), delta=1e-6, honest_fraction=0.5) == sdp.bracket(
        generic(1.0, 5000), delta=1e-6
    )


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, float("nan"), "1e-6"])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(InvalidParameterError, match="delta must be a number strictly between 0 and 1"):
        sdp.bracket(generic(1.0, 1000), delta=delta)


@pytest.mark.parametrize(("epsilon0", "ratio"), [(0.5, 1.116), (1.0, 1.127), (2.0, 1.058), (4.0, 1.009)])
def test_the_limit_of_the_bracket_is_the_one_of_the_formulas(epsilon0, ratio):
    model = generic(epsilon0, 10**9)
    found, ends = sdp.bracket(model, delta=1e-6), limit(model, delta=1e-6)
    assert ends.mu_upper / ends.mu_lower == pytest.approx(ratio, abs=2e-3)
    assert found.upper == pytest.approx(ends.upper, rel=2e-3)
    assert found.lower == pytest.approx(ends.lower, rel=2e-3)


def test_the_limit_of_a_channel_is_computed_from_its_matrix():
    from_matrix = limit(response(3, 1.0, 10**4), delta=1e-6)
    assert from_matrix.mu_lower == pytest.approx(from_matrix.mu_upper)
    assert limit(generic(1.0, 10**4, delta0=1e-9), delta=1e-6) is None
