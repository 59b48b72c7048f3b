import numpy as np
import pytest

from documents.outcomes import make_outcome
from shuffledp.accounting import THEOREMS, account
from shuffledp.documents.charts.curves import Curves


@pytest.fixture(scope="module")
def curves() -> Curves:
    return Curves.over_users(make_outcome([0, 1] * 50).column.model, people=539, delta=1e-6)


def test_what_is_stated_is_what_the_accountant_states(curves):
    task = make_outcome([0, 1] * 50).column
    for users, stated in zip(curves.values[::5], curves.stated[::5], strict=True):
        assert stated == pytest.approx(account(task.model(int(users)), delta=1e-6).guarantee.epsilon, rel=1e-4)


def test_every_theorem_of_the_registry_has_a_curve(curves):
    assert tuple(curve.theorem for curve in curves.curves) == tuple(THEOREMS)


def test_the_task_itself_is_on_the_curves(curves):
    place = list(curves.values).index(539)
    for curve in curves.curves:
        assert curve.here is None or curve.here == curve.epsilon[place]


def test_a_theorem_starts_at_the_first_number_of_users_at_which_it_applies(curves):
    task = make_outcome([0, 1] * 50).column
    for curve in curves.curves:
        if curve.start is not None and curve.start > curves.values[0]:
            for users, holds in ((curve.start - 1, False), (curve.start, True)):
                hypotheses = curve.theorem.hypotheses(task.model(users), delta=1e-6)
                assert all(each.holds for each in hypotheses) is holds


def test_lower_bounds_lie_below_what_is_stated(curves):
    both = np.isfinite(curves.unreachable)
    assert both.any()
    assert (curves.unreachable[both] <= curves.stated[both]).all()


def test_the_reason_is_one_that_more_users_do_not_mend(curves):
    reasons = {curve.theorem.id: curve.reason for curve in curves.curves}
    assert reasons["local-dp"] == ""
    assert "epsilon0" in reasons["efmrtt19-closed"]
