"""The accountant reproduces the project's reference values, and refuses what it must."""

import json
from pathlib import Path

import numpy as np
import pytest

from accounting.given import GivenLoss, given, response, uniformly
from shuffledp.accounting import THEOREMS, account
from shuffledp.core.errors import HypothesisError
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.randomizers import LaplaceModel
from soundness.exact_deltas import laws_of_others, pair_delta, worst_delta
from soundness.exact_deltas import response as response_channel

BLOCKS = json.loads(Path(__file__).with_name("accounting.json").read_text(encoding="utf-8"))["blocks"]
NAMED = {theorem.id: theorem for theorem in THEOREMS}


def rows(block: str) -> pytest.MarkDecorator:
    entries = BLOCKS[block]["rows"]
    return pytest.mark.parametrize(
        "row", entries, ids=[row.get("name", str(place)) for place, row in enumerate(entries)]
    )


def near(block: str, value: float) -> object:
    return pytest.approx(value, rel=BLOCKS[block]["relative_tolerance"], abs=0)


def failing(theorem: str, model: ProtocolModel, delta: float) -> list[str]:
    return [each.name for each in NAMED[theorem].hypotheses(model, delta=delta) if not each.holds]


def test_the_models_of_these_values_are_read_by_their_kind():
    assert LocalModel.from_dict({"kind": "test-given-loss", "loss": 0.5}) == GivenLoss(loss=0.5)


@rows("closed_forms")
def test_closed_forms_agree_with_the_reference(row):
    model = given(row["epsilon0"], row["users"])
    if row["epsilon"] is None:
        assert failing(row["theorem"], model, row["delta"]) == ["small-epsilon0"]
    else:
        found = NAMED[row["theorem"]].state(model, delta=row["delta"]).guarantee
        assert (found.epsilon, found.delta) == (near("closed_forms", row["epsilon"]), row["delta"])


@rows("table_of_closed_forms")
def test_the_table_of_closed_forms_comes_out_as_printed(row):
    model, delta = given(row["epsilon0"], row["users"]), row["delta"]
    for theorem in ("efmrtt19-closed", "fmt21-closed", "fmt23-closed"):
        printed, applies = row[theorem], not failing(theorem, model, delta)
        if printed == "n/a":
            assert not applies
        elif printed == "no gain":
            assert NAMED[theorem].state(model, delta=delta).guarantee.epsilon >= row["epsilon0"]
        else:
            digits = len(printed.partition(".")[2])
            assert f"{NAMED[theorem].state(model, delta=delta).guarantee.epsilon:.{digits}f}" == printed
    best = [float(row[name]) for name in NAMED if name in row and row[name][0].isdigit()]
    assert account(model, delta=delta).guarantee.epsilon < min(best, default=row["epsilon0"])


@rows("binary_all_equal")
def test_the_binary_lower_bound_agrees_with_the_reference_from_below(row):
    statement = NAMED["binary-all-equal"].state(response(2, row["epsilon0"], row["users"]), delta=row["delta"])
    assert statement.guarantee.epsilon == near("binary_all_equal", row["epsilon"])
    assert statement.guarantee.epsilon <= row["epsilon"]


@rows("binary_worst_data_set")
def test_the_binary_lower_bound_is_below_the_worst_data_set(row):
    found = NAMED["binary-all-equal"].epsilon(response(2, row["epsilon0"], row["users"]), delta=row["delta"])
    assert found == near("binary_worst_data_set", row["all_equal"])
    assert found <= row["worst"]


@rows("pair_behind_fmt23")
def test_the_sum_over_clones_agrees_with_fifty_digits(row):
    found = pair_delta(row["epsilon0"], row["epsilon"], row["users"])
    assert found == near("pair_behind_fmt23", row["delta"])


@rows("response_enumerated")
def test_the_enumeration_agrees_with_another_one(row):
    channel = response_channel(row["domain_size"], row["epsilon0"])
    found = worst_delta(channel, laws_of_others(channel, row["users"] - 1), np.array([row["epsilon"]]))
    assert found == near("response_enumerated", row["worst_delta"])
    assert found <= row["pair_delta"] * (1 + 1e-12)
    assert pair_delta(row["epsilon0"], row["epsilon"], row["users"]) == near("response_enumerated", row["pair_delta"])


@rows("response_bracket")
def test_the_bracket_of_response_agrees_with_the_reference(row):
    model, delta = response(row["domain_size"], row["epsilon0"], row["users"]), row["delta"]
    upper, lower = (NAMED[name].epsilon(model, delta=delta) for name in ("blanket-two-level", "two-level-third-value"))
    assert upper == near("response_bracket", row["blanket"])
    assert lower >= row["merged"] * (1 - BLOCKS["response_bracket"]["relative_tolerance"])  # nothing is merged here
    assert lower <= row["blanket"]


@rows("laplace_bracket")
def test_the_bracket_of_laplace_noise_agrees_with_the_reference(row):
    model, delta = uniformly(LaplaceModel(epsilon0=row["epsilon0"]), row["users"]), row["delta"]
    upper, lower = (NAMED[name].epsilon(model, delta=delta) for name in ("blanket-laplace", "homogeneous-laplace"))
    assert upper == near("laplace_bracket", row["blanket"])
    assert lower == near("laplace_bracket", row["others_at_0"])


@rows("printed_pair_for_response")
def test_the_pair_printed_for_response_is_below_data_sets(row):
    model = response(row["domain_size"], row["epsilon0"], row["users"])
    lower = [NAMED[name] for name in ("two-level-third-value", "two-level-others-equal")]
    assert max(each.epsilon(model, delta=row["delta"]) for each in lower) == near(
        "printed_pair_for_response", row["epsilon"]
    )
    found = max(each.delta(model, epsilon=row["printed"]) for each in lower)
    assert found == pytest.approx(row["delta_there"], rel=1e-3)
    assert row["epsilon"] > row["printed"]


@rows("bad")
def test_bad_vectors_are_refused_by_the_hypothesis_that_fails(row):
    model = ProtocolModel.from_dict(row["model"])
    assert row["fails"] in failing(row["theorem"], model, row["delta"])
    with pytest.raises(HypothesisError) as caught:
        NAMED[row["theorem"]].state(model, delta=row["delta"])
    assert row["message"] in str(caught.value)


@rows("bad")
def test_bad_vectors_are_bad_for_one_reason_only(row):
    # An infinite epsilon0 is also too large, and one beyond a limit is beyond every limit.
    names = set(failing(row["theorem"], ProtocolModel.from_dict(row["model"]), row["delta"]))
    assert names - {"small-epsilon0"} <= {row["fails"]}
