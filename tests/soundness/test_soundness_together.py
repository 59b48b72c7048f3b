"""All theorems together: whatever one of them promises, no lower bound that applies lies above it.

Each theorem is taken from the registry, each protocol from `soundness.protocols`: a theorem or a kind of model that is
added is tested here without a further line.
"""

import math
import sys

import pytest
from typer.testing import CliRunner

import shuffledp as sdp
from shuffledp.accounting import SHARP_THEOREMS, THEOREMS, examine
from shuffledp.accounting.account import protocol_of
from shuffledp.accounting.theorems.closed_forms import ClosedFormEFMRTT19
from shuffledp.cli import app as command_line
from shuffledp.core.caching import forget
from shuffledp.core.errors import ContradictionError
from shuffledp.core.statement_terms import Kind
from soundness.protocols import kinds_left_out, protocols

ROUNDING = 1 + 1e-9  # relative: what is exact is solved to nine digits, from both sides
deep = pytest.mark.deep


class FalseClosedForm(ClosedFormEFMRTT19):
    """A hundred times too small, with the hypotheses of the true one."""

    id = "false-closed"

    def epsilon(self, model, *, delta):
        return super().epsilon(model, delta=delta) / 100

    def delta(self, model, *, epsilon):
        return super().delta(model, epsilon=min(100 * epsilon, model.local.epsilon0 * (1 - 1e-9)))


def contradictions(model, delta, theorems=THEOREMS):
    """Pairs of theorems of which one promises less than the other says is lost, and how many pairs were compared."""
    applying = [each for each in theorems if each.applies(model, delta=delta)]
    upper = [each for each in applying if each.kind.promises]
    lower = [each for each in applying if each.kind is Kind.LOWER_BOUND]
    found, compared = [], 0
    for theorem in upper if lower else ():
        promised = getattr(theorem.guarantee(model, delta=delta), "epsilon", math.inf)
        for other in lower:
            compared += 1
            if other.delta_at(model, epsilon=min(promised * ROUNDING, 1e300)) > delta * ROUNDING:
                found.append((theorem.id, other.id))
    return found, compared


def compare(models, deltas, theorems=THEOREMS):
    found, compared = {}, 0
    for name, model in models:
        for delta in deltas:
            broken, pairs = contradictions(model, delta, theorems)
            compared += pairs
            if broken:
                found[name, delta] = broken
    return found, compared


CORNERS = ("ldp", "k-rr, 2", "k-rr, 10")


def test_no_theorem_promises_less_than_another_says_is_lost():
    large = protocols((0.1, 6.0), (2, 10**6), local=("ldp", "k-rr, 10"), of=lambda name: name.startswith("uniform"))
    few = protocols((1.0,), (36,), local=("k-rr, 2",), of=lambda name: "lazy" not in name)
    found, compared = compare([*large, *few], (1e-6,))
    assert compared > 60
    assert found == {}


@deep
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("epsilon0", [0.1, 0.5, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("users", [2, 30, 1000, 30_000, 1_000_000])
def test_no_theorem_promises_less_than_another_says_is_lost_by_any_kind_of_protocol(users, epsilon0, delta):
    found, compared = compare(protocols((epsilon0,), (users,), of=lambda name: name.endswith(str(users))), (delta,))
    assert compared > 30
    assert found == {}


@deep
@pytest.mark.parametrize(("users", "delta"), [(30, 1e-3), (1000, 1e-6), (30_000, 1e-6), (1_000_000, 1e-9)])
@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 3.0])
def test_none_of_those_that_take_seconds_does_either(users, delta, epsilon0):
    sharp = [each for each in SHARP_THEOREMS if each not in THEOREMS and each.id != "local-dp"]
    theorems = [*sharp, *(each for each in THEOREMS if each.kind is Kind.LOWER_BOUND)]
    local = ("ldp", "k-rr, 2", "k-rr, 3", "channel", "laplace", "one-bit-mean")
    models = protocols((epsilon0,), (users,), local=local, of=lambda name: name == f"uniform, {users}")
    found, compared = compare(models, (delta,), theorems)
    assert compared > 0
    assert found == {}


@deep
@pytest.mark.parametrize("epsilon0", [0.3, 1.0, 4.0])
def test_no_theorem_promises_less_than_another_says_is_lost_by_walks_and_near_orders(epsilon0):
    local = (*CORNERS, "channel", "laplace-mean", "priv-unit", "split-and-mix")
    found, compared = compare(protocols((epsilon0,), (), local=local), (1e-3, 1e-6))
    assert compared > 30
    assert found == {}


@deep
@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("users", [30, 1000, 100_000])
def test_at_any_epsilon_no_theorem_promises_a_delta_below_what_another_says_is_lost(users, epsilon0):
    compared = 0
    for name, model in protocols((epsilon0,), (users,), of=lambda name: name.endswith(str(users))):
        applying = [each for each in THEOREMS if each.applies(model, delta=0.5)]
        for part in (0.02, 0.2, 0.6):
            deltas = {each: each.delta_at(model, epsilon=part * epsilon0) for each in applying}
            lost = max((deltas[each] for each in deltas if each.kind is Kind.LOWER_BOUND), default=0.0)
            for theorem in (each for each in deltas if each.kind.promises):
                compared += 1
                assert lost <= deltas[theorem] * ROUNDING, (name, part, theorem.id)
    assert compared > 100


def test_every_kind_of_randomizer_and_of_shuffle_is_among_the_protocols():
    assert kinds_left_out() == set()


# ---- the false theorem ----------------------------------------------------------------------------------------------


@pytest.fixture
def false_theorem(monkeypatch):
    """The registry with a false closed form in it."""
    monkeypatch.setattr(sys.modules["shuffledp.accounting.account"], "THEOREMS", (*THEOREMS, FalseClosedForm()))
    forget()


def test_a_false_theorem_is_found_and_no_other_one():
    models = protocols((0.1, 0.4), (1000, 10**6), local=CORNERS[:2], of=lambda name: name.startswith("uniform"))
    found, _ = compare(models, (1e-6,), (*THEOREMS, FalseClosedForm()))
    assert len(found) >= 6
    assert {upper for pairs in found.values() for upper, _ in pairs} == {"false-closed"}


BINARY = sdp.KaryRandomizedResponse(epsilon0=0.4, domain_size=2)
BOTH = r"false-closed .*binary-all-equal .*bug of the library"


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sdp.account(BINARY, num_users=100_000, delta=1e-6),
        lambda: sdp.bracket(BINARY, num_users=100_000, delta=1e-6),
        lambda: sdp.delta_at(BINARY, num_users=100_000, epsilon=0.001),
        lambda: examine(protocol_of(BINARY, epsilon0=None, num_users=10**5), delta=1e-6),
        lambda: sdp.calibrate.epsilon0(
            target_epsilon=0.0006, delta=1e-6, num_users=10**5, randomizer="k-rr", domain_size=2
        ),
    ],
    ids=["account", "bracket", "delta_at", "examine", "calibrate"],
)
def test_what_a_false_theorem_promises_is_refused_and_both_theorems_are_named(ask, false_theorem):
    with pytest.raises(ContradictionError, match=BOTH):
        ask()


TASK = """\
name = "answers"
value = "answer"

[randomizer]
kind = "k-rr"
epsilon0 = 0.4
categories = ["No", "Yes"]

[shuffler]
kind = "uniform"

[release]
delta = 1e-6
minimum_batch = 100000
"""


def test_a_plan_by_a_false_theorem_ends_as_a_bug_that_names_both_theorems(tmp_path, false_theorem):
    (tmp_path / "task.toml").write_text(TASK, encoding="utf-8")
    ended = CliRunner().invoke(command_line.app, ["plan", str(tmp_path / "task.toml"), "--users", "100000"])
    assert isinstance(ended.exception, ContradictionError)
    assert command_line.EXIT_CODES[ContradictionError] == 1
    assert "false-closed" in str(ended.exception)
