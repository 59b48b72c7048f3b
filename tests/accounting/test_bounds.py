"""The bracket: what is promised, and what cannot be promised.

All that is known about a protocol, as one value.
"""

import json
import sys
from pathlib import Path

import pytest

import shuffledp as sdp
from accounting.given import given, response
from shuffledp.accounting import THEOREMS, account, examine, findings, limit
from shuffledp.core.errors import ContradictionError, InvalidParameterError
from shuffledp.core.guarantees import RenyiDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind, Status
from shuffledp.randomizers import KaryRandomizedResponseModel, LdpModel
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


def protocol(local, users=10_000):
    return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))


LDP = protocol(LdpModel(epsilon0=1.0))
BINARY = protocol(KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=2))


@pytest.mark.parametrize("model", [LDP, BINARY], ids=["ldp", "binary"])
def test_the_promise_is_the_accountants_and_lies_above_the_lower_bound(model):
    found = examine(model, delta=1e-6)
    assert found.upper == account(model, delta=1e-6)
    assert found.lower.kind is Kind.LOWER_BOUND
    assert 0 < found.epsilon_lower <= found.epsilon_upper
    assert found.slack == found.epsilon_upper / found.epsilon_lower
    assert found.amplification == model.local.epsilon0 / found.epsilon_upper > 20
    assert found.statements == (found.upper, found.lower)


def test_the_lower_bound_is_the_largest_that_applies():
    found = examine(BINARY, delta=1e-6, with_theorems=True)
    lower = [each.epsilon for each in found.theorems if each.kind is Kind.LOWER_BOUND and each.epsilon is not None]
    assert found.epsilon_lower == max(lower)


def test_every_theorem_says_what_it_gives_or_why_it_does_not_apply():
    found = findings(LDP, delta=1e-6)
    assert [each.theorem for each in found] == [theorem.id for theorem in THEOREMS]
    for each in found:
        assert (each.epsilon is None) == bool(each.reasons)
    by_name = {each.theorem: each for each in found}
    assert by_name["efmrtt19-closed"].reasons == ("needs epsilon0 <= 0.5; got epsilon0=1",)
    assert by_name["local-dp"].epsilon == 1.0
    smallest = min(each.epsilon for each in found if each.kind.promises and each.epsilon is not None)
    assert smallest == account(LDP, delta=1e-6).guarantee.epsilon


def test_without_own_proofs_no_promise_is_of_this_project():
    found = examine(LDP, delta=1e-6, published_only=True, with_theorems=True)
    assert found.upper.basis.status is Status.PUBLISHED
    assert all(each.status is Status.PUBLISHED for each in found.theorems if each.kind.promises)
    assert found.epsilon_upper > examine(LDP, delta=1e-6).epsilon_upper


def test_several_releases_show_more_and_the_lower_bound_is_about_one_of_them():
    once, often = examine(LDP, delta=1e-6), examine(LDP, delta=1e-6, releases=25)
    assert once.epsilon_upper < often.epsilon_upper < 25 * once.epsilon_upper
    assert often.epsilon_lower == once.epsilon_lower
    assert often.slack is None
    assert "about one release" in often.lower.remarks[-1]


def test_a_composition_that_promises_less_than_one_release_loses_is_refused(monkeypatch):
    added = sys.modules["shuffledp.accounting.compose"]
    monkeypatch.setattr(added, "_by_losses", lambda *_, **__: examine(LDP, delta=1e-6).epsilon_lower * (1 - 1e-5))
    with pytest.raises(ContradictionError, match=r"adding-losses promises an epsilon .* ldp-witness proves"):
        examine(LDP, delta=1e-6, releases=25)


def test_renyi_divergences_are_stated_at_the_orders_asked_for_and_add_up_over_releases():
    once = examine(LDP, delta=1e-6, orders=(2, 8))
    often = examine(LDP, delta=1e-6, orders=(2, 8), releases=10)
    assert once.statements[-1] is once.renyi
    assert isinstance(once.renyi.guarantee, RenyiDP)
    assert often.renyi.guarantee.epsilons == pytest.approx(
        [10 * epsilon for epsilon in once.renyi.guarantee.epsilons], rel=1e-15
    )
    assert examine(LDP, delta=1e-6).renyi is None


def test_only_honest_people_are_counted():
    part = examine(protocol(LdpModel(epsilon0=1.0), users=20_000), delta=1e-6, honest_fraction=0.5)
    assert part.counted == LDP
    assert part.model.num_users == 20_000
    assert part.epsilon_upper == examine(LDP, delta=1e-6).epsilon_upper


def test_one_person_has_no_shuffle_to_hide_in_and_the_statement_says_so():
    found = examine(protocol(LdpModel(epsilon0=1.0), users=1), delta=1e-6)
    assert found.epsilon_upper == 1.0
    assert found.amplification == 1.0
    assert "There is no amplification by shuffling: a single report has no others" in found.upper.remarks[-1]


def test_what_is_written_is_what_was_found():
    found = examine(BINARY, delta=1e-6, with_theorems=True)
    written = found.to_dict()
    assert [each["kind"] for each in written["statements"]] == ["exact", "lower-bound"]
    assert written["epsilon_upper"] == found.epsilon_upper
    assert written["epsilon_lower"] == found.epsilon_lower
    assert written["theorem"] == found.upper.basis.theorem
    assert written["epsilon0"] == BINARY.local.epsilon0
    assert len(written["theorems"]) == len(THEOREMS)
    assert written["limit"]["mu_upper"] == limit(BINARY, delta=1e-6).mu_upper
    assert written["seconds"] > 0
    assert ProtocolModel.from_dict(written["model"]) == BINARY


@pytest.mark.parametrize("releases", [0, -1, 1.5])
def test_a_number_of_releases_is_a_whole_number_from_1_on(releases):
    with pytest.raises(InvalidParameterError, match="releases must be an integer that is 1 or more"):
        examine(LDP, delta=1e-6, releases=releases)
