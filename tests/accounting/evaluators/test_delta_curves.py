"""Epsilon at a delta: on the safe side, and close."""

import math

import pytest

from shuffledp.accounting.evaluators.report_densities import (
    LawFamily,
    ReportLaw,
    two_level_blanket,
    two_level_homogeneous,
)


def blanket(epsilon0: float, size: int) -> ReportLaw:
    return two_level_blanket(epsilon0=epsilon0, share=1 / size, overlap=0.0)


@pytest.mark.parametrize("users", [50, 1000, 10**7])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-100])
def test_epsilon_is_on_the_safe_side_and_close(users, delta):
    family = LawFamily((blanket(2.0, 5), blanket(2.0, 50)), users, 2.0)
    above, below = family.epsilon_above(delta), family.epsilon_below(delta)
    assert 0 <= below <= above <= 2.0
    if above == 0:
        assert family.upper(0.0) <= delta
        return
    if above < 2.0:
        assert family.upper(above) <= delta
        assert family.upper(above * (1 - 1e-4)) > delta
    if below > 0:
        assert family.lower(below) > delta


def test_the_worst_of_several_laws_counts():
    one, other = blanket(2.0, 5), blanket(1.0, 5)
    alone, both = (LawFamily(laws, 1000, 2.0).epsilon_above(1e-6) for laws in ((one,), (other, one)))
    assert both == alone
    assert LawFamily((other,), 1000, 1.0).epsilon_above(1e-6) < alone
    assert LawFamily((other, one), 1000).upper(0.1) == LawFamily((one,), 1000).upper(0.1)
    assert LawFamily((other, one), 1000).lower(0.1) == LawFamily((one,), 1000).lower(0.1)


def test_where_small_data_sets_change_places_the_worst_is_found():
    laws = two_level_homogeneous(epsilon0=4.0, share=1 / 3, overlap=0.0, triple=0.0)
    each = [LawFamily((law,), 100, 4.0).epsilon_below(1e-6) for law in laws]
    assert LawFamily(laws, 100, 4.0).epsilon_below(1e-6) == pytest.approx(max(each), rel=1e-4)
    assert each[2] < max(each)


def test_without_a_limit_reports_that_stand_alone_leave_no_epsilon():
    law = blanket(1.0, 5)
    revealing = ReportLaw(law.first, law.second, 0.9 * law.mass, law.first[:1] * 0 + 0.1, law.first[:1] * 0)
    assert LawFamily((revealing,), 1000).epsilon_above(1e-6) == math.inf
    assert LawFamily((revealing,), 1000).epsilon_above(0.11) < 1


def test_an_infinite_tolerance_is_one_pass():
    family = LawFamily((blanket(2.0, 5),), 1000, 2.0)
    assert family.lower(0.3, tolerance=math.inf) <= family.lower(0.3) <= family.upper(0.3)
    assert family.upper(0.3) <= family.upper(0.3, tolerance=math.inf)
