import itertools
import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.core.errors import IncomparableError, InvalidParameterError
from shuffledp.core.guarantees import CentralDP, DifferentialPrivacy, DSigmaPrivacy, Guarantee, LocalDP, Neighbors
from shuffledp.laws import d_sigma_loss

GRID = [
    kind(epsilon=epsilon, delta=delta)
    for kind in (LocalDP, CentralDP)
    for epsilon in (0.0, 0.5, 1.0, math.inf)
    for delta in (0.0, 1e-6, 1.0)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ElsewhereDP(DifferentialPrivacy):
    """A guarantee that a later release might add."""

    type: ClassVar[str] = "test-elsewhere-dp"

    def text(self, relation: str) -> str:
        return self._sentence("what is seen elsewhere", relation)


@pytest.mark.parametrize(
    "parameters",
    [{"epsilon": -0.1}, {"epsilon": math.nan}, {"epsilon": "1"}, {"epsilon": 1, "delta": -1e-9}]
    + [{"epsilon": 1, "delta": delta} for delta in (1.1, math.nan, math.inf)],
)
def test_epsilon_below_zero_and_delta_outside_zero_to_one_are_refused(parameters):
    with pytest.raises(InvalidParameterError, match=r"(epsilon|delta) must be"):
        CentralDP(**parameters)


def test_an_infinite_epsilon_or_a_delta_of_one_promises_nothing():
    assert [each.is_trivial for each in GRID[:12]] == [
        math.isinf(each.epsilon) or each.delta == 1 for each in GRID[:12]
    ]
    assert LocalDP(epsilon=math.inf).is_trivial
    assert not LocalDP(epsilon=700.0).is_trivial


def test_a_guarantee_implies_all_weaker_ones_of_its_type_and_no_stronger_one():
    assert LocalDP(epsilon=1.0).implies(LocalDP(epsilon=1.0, delta=0.1))
    assert not LocalDP(epsilon=1.0).implies(LocalDP(epsilon=0.9, delta=0.1))
    assert not LocalDP(epsilon=1.0, delta=0.2).implies(LocalDP(epsilon=2.0, delta=0.1))
    assert not LocalDP(epsilon=1.0).implies(CentralDP(epsilon=1.0))
    assert not CentralDP(epsilon=1.0).implies(LocalDP(epsilon=1.0))
    assert all(each.implies(other) for each in GRID for other in GRID if other.is_trivial)


def test_implication_is_reflexive_and_transitive():
    assert all(each.implies(each) for each in GRID)
    for first, second, third in itertools.product(GRID, repeat=3):
        if first.implies(second) and second.implies(third):
            assert first.implies(third)


def test_composition_adds_epsilons_and_deltas_and_is_implied_by_neither_part():
    composed = CentralDP(epsilon=0.5, delta=1e-6).compose(CentralDP(epsilon=1.0, delta=2e-6))
    assert composed == CentralDP(epsilon=1.5, delta=3e-6)
    assert CentralDP(epsilon=1, delta=0.7).compose(CentralDP(epsilon=1, delta=0.7)).delta == 1.0
    assert LocalDP(epsilon=1.0).compose(LocalDP(epsilon=math.inf)).is_trivial


FLOATS = st.floats(min_value=0, max_value=1e308)


@given(FLOATS, FLOATS, st.floats(0, 1), st.floats(0, 1))
def test_sums_are_the_least_floats_that_are_not_below_the_exact_sums(first, second, left, right):
    composed = CentralDP(epsilon=first, delta=left).compose(CentralDP(epsilon=second, delta=right))
    for found, exact, largest in (
        (composed.epsilon, Fraction(first) + Fraction(second), math.inf),
        (composed.delta, Fraction(left) + Fraction(right), 1.0),
    ):
        assert found == largest or Fraction(found) >= exact
        assert found == 0 or Fraction(math.nextafter(found, 0)) < exact


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_delta_of_a_mixture_is_the_least_float_that_is_not_below_the_exact_average(left, right, weight):
    found = CentralDP(epsilon=1, delta=left).mix(CentralDP(epsilon=1, delta=right), weight).delta
    exact = Fraction(weight) * Fraction(left) + (1 - Fraction(weight)) * Fraction(right)
    assert Fraction(found) >= exact
    assert found == 0 or Fraction(math.nextafter(found, 0)) < exact


def test_sums_of_floats_that_round_down_are_raised_and_infinity_stays():
    assert Fraction(0.1) + Fraction(0.7) > 0.1 + 0.7
    assert CentralDP(epsilon=0.1).compose(CentralDP(epsilon=0.7)).epsilon == math.nextafter(0.1 + 0.7, 1)
    assert CentralDP(epsilon=1.7e308).compose(CentralDP(epsilon=1.7e308)).epsilon == math.inf
    assert CentralDP(epsilon=5e-324).compose(CentralDP(epsilon=0.0)).epsilon == 5e-324


def test_a_sum_is_shown_without_the_last_digits_of_floats():
    assert "(epsilon = 0.3)" in CentralDP(epsilon=0.1).compose(CentralDP(epsilon=0.2)).text("at most")


def test_a_mixture_has_the_larger_epsilon_and_the_average_delta():
    mixed = CentralDP(epsilon=0.5, delta=0.1).mix(CentralDP(epsilon=1.0, delta=0.3), 0.25)
    assert mixed.epsilon == 1.0
    assert mixed.delta == pytest.approx(0.25 * 0.1 + 0.75 * 0.3)
    with pytest.raises(InvalidParameterError, match="weight must be"):
        mixed.mix(mixed, 1.5)


def test_guarantees_of_different_types_are_neither_composed_nor_mixed():
    for combine in (lambda a, b: a.compose(b), lambda a, b: a.mix(b, 0.5)):
        with pytest.raises(IncomparableError, match="must be of one type"):
            combine(LocalDP(epsilon=1.0), CentralDP(epsilon=1.0))
        with pytest.raises(IncomparableError, match="must be of one type"):
            combine(CentralDP(epsilon=1.0), ElsewhereDP(epsilon=1.0))


def test_nothing_is_implied_by_every_guarantee_of_the_type():
    for each in GRID:
        assert each.nothing().is_trivial
        assert each.implies(each.nothing())


@pytest.mark.parametrize("guarantee", [*GRID, ElsewhereDP(epsilon=1.0)])
def test_a_guarantee_survives_json_with_infinity_as_a_word(guarantee):
    written = json.loads(json.dumps(guarantee.to_dict(), allow_nan=False))
    assert Guarantee.from_dict(written) == guarantee
    assert (written["epsilon"] == "inf") == math.isinf(guarantee.epsilon)


def test_the_schema_of_a_guarantee_is_type_epsilon_delta_neighbors():
    assert CentralDP(epsilon=0.5, delta=1e-6).to_dict() == {
        "type": "central-dp",
        "epsilon": 0.5,
        "delta": 1e-6,
        "neighbors": "replace-one",
    }


def test_the_text_says_what_is_observed_how_much_and_how_sure():
    text = CentralDP(epsilon=0.1, delta=1e-6).text("at most")
    assert "changes the probability of anything seen in the released data by a factor" in text
    assert "by a factor of at most 1.106 (epsilon = 0.1)" in text
    assert "1e-06 (delta)" in text
    local = LocalDP(epsilon=2.0).text("exactly")
    assert "the report that left that person's device" in local
    assert "a factor of up to 7.39 (epsilon = 2)" in local
    assert "delta" not in local


def test_the_text_of_an_exact_epsilon_does_not_call_rounded_digits_exact():
    assert "(epsilon = 1.099, rounded up)" in LocalDP(epsilon=math.log(3)).text("exactly")


def test_a_lower_bound_is_about_some_outcome():
    assert "probability of something seen" in CentralDP(epsilon=1.0).text("at least")


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(0.1, ""), (3.0, ""), (3.5, "This is a weak promise"), (9.0, "This is hardly a promise"), (math.inf, "")],
)
def test_a_promise_with_a_large_epsilon_is_called_weak(epsilon, words):
    weakness = CentralDP(epsilon=epsilon).weakness
    assert weakness.startswith(words)
    assert bool(weakness) == bool(words)


def test_a_trivial_guarantee_says_that_it_is_not_private():
    assert CentralDP(epsilon=math.inf).text("exactly").startswith("Not private: nothing limits")
    assert LocalDP(epsilon=1.0, delta=1.0).text("exactly").startswith("Not private: nothing limits")


def test_a_trivial_upper_bound_says_that_nothing_is_promised_and_not_that_nothing_is_private():
    assert CentralDP(epsilon=math.inf).text("at most").startswith("Nothing is promised about what the released data")


def test_the_neighboring_relation_is_put_into_words():
    assert Neighbors.REPLACE_ONE.text == "one person's answer is replaced by any other; the number of people is public"


def test_a_remainder_is_shown_no_smaller_than_it_is_in_a_promise():
    guarantee = CentralDP(epsilon=1.0, delta=1.0000041e-6)
    assert "a remainder of 1.001e-06 (delta)" in guarantee.text("at most")
    assert "a remainder of 1e-06 (delta)" in guarantee.text("at least")
    assert "a remainder of 1e-06 (delta)" in CentralDP(epsilon=1.0, delta=1e-6).text("at most")


# ---- orders inside groups -------------------------------------------------------------------------------------------

ORDERS = DSigmaPrivacy(alpha=0.5, groups_digest="a")


def test_orders_are_implied_for_the_same_groups_only():
    assert ORDERS.implies(replace(ORDERS, alpha=0.6, delta=0.1))
    assert not ORDERS.implies(replace(ORDERS, alpha=0.4))
    assert not ORDERS.implies(replace(ORDERS, groups_digest="b"))
    assert not replace(ORDERS, delta=0.1).implies(ORDERS)
    assert not ORDERS.implies(CentralDP(epsilon=9.0))
    assert not CentralDP(epsilon=0.0).implies(ORDERS)
    assert ORDERS.implies(ORDERS.nothing())
    assert ORDERS.nothing().is_trivial


def test_orders_know_no_other_neighbors():
    with pytest.raises(InvalidParameterError, match="neighbors must be"):
        replace(ORDERS, neighbors=Neighbors.REPLACE_ONE)
    with pytest.raises(InvalidParameterError, match="neighbors must be"):
        Guarantee.from_dict(ORDERS.to_dict() | {"neighbors": "replace-one"})


def test_orders_compose_by_sums_and_mix_by_the_larger_alpha():
    other = DSigmaPrivacy(alpha=1.0, groups_digest="a", delta=0.25)
    assert (ORDERS.compose(other).alpha, ORDERS.compose(other).delta) == (1.5, 0.25)
    mixed = ORDERS.mix(other, 0.75)
    assert (mixed.alpha, mixed.delta) == (1.0, 0.0625)
    for wrong in (DSigmaPrivacy(alpha=1.0, groups_digest="b"), CentralDP(epsilon=1.0)):
        with pytest.raises(IncomparableError, match="of one type and about equal groups"):
            ORDERS.compose(wrong)


def test_a_mixture_of_two_private_laws_is_within_exp_alpha_not_within_alpha():
    """Lemma 2: its last line lacks the exponential; likelihoods of a mixture differ by up to exp(alpha) times."""
    first, second = {(0, 1): 0.75, (1, 0): 0.25}, {(0, 1): 0.5, (1, 0): 0.5}
    mixed = {each: 0.9 * first[each] + 0.1 * second[each] for each in first}
    alpha = max(d_sigma_loss(law, [[0, 1]]) for law in (first, second))
    assert alpha < mixed[0, 1] / mixed[1, 0] <= math.exp(alpha)
    assert d_sigma_loss(mixed, [[0, 1]]) <= alpha


def test_orders_survive_json_and_say_what_they_hide():
    assert Guarantee.from_dict(json.loads(json.dumps(ORDERS.to_dict()))) == ORDERS
    assert ORDERS.to_dict()["neighbors"] == "orders-in-group"
    assert "factor of at most 1.649 (alpha = 0.5): this hides who said what" in ORDERS.text("at most")
    assert "a remainder of 0.01 (delta)" in replace(ORDERS, delta=0.01).text("at most")
    assert ORDERS.nothing().text("at most").startswith("Not private")
    with pytest.raises(InvalidParameterError, match="alpha must be"):
        replace(ORDERS, alpha=-0.1)


@pytest.mark.parametrize(("alpha", "weakness"), [(3.0, ""), (7.0, "This is a weak promise"), (7.1, "hardly a promise")])
def test_a_large_alpha_is_called_weak_and_is_not_said_to_hide_who_said_what(alpha, weakness):
    orders = replace(ORDERS, alpha=alpha)
    assert weakness in orders.weakness
    assert bool(orders.weakness) == bool(weakness)
    assert ("this hides who said what" in orders.text("at most")) != bool(weakness)
