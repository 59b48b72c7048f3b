import json
import math
import sys
from functools import partial
from itertools import pairwise
from typing import ClassVar

import pytest

from accounting.given import GivenChannel, given, response, uniformly
from contracts.siblings import SlotShuffleModel
from shuffledp.accounting import THEOREMS, Theorem, account, account_all, bracket, delta_at, examine
from shuffledp.core.caching import forget
from shuffledp.core.channels import Channel
from shuffledp.core.errors import HypothesisError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.guarantees import CentralDP, LocalDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Kind, Status, Trust
from shuffledp.randomizers import ChannelModel, KaryRandomizedResponse, KaryRandomizedResponseModel, LdpModel, PrivUnit
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel

NAMED = {theorem.id: theorem for theorem in THEOREMS}
CLOSED_FORMS = [NAMED[name] for name in ("efmrtt19-closed", "fmt21-closed", "fmt23-closed")]


def applies(theorem: Theorem, model: ProtocolModel, delta: float) -> bool:
    return all(hypothesis.holds for hypothesis in theorem.hypotheses(model, delta=delta))


def registry(monkeypatch, *theorems: Theorem) -> None:
    # By its name in sys.modules: as an attribute of the package, "account" is the function.
    for name in ("THEOREMS", "SHARP_THEOREMS"):
        monkeypatch.setattr(sys.modules["shuffledp.accounting.account"], name, theorems)
    forget()


# ---- which theorem --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("users", [1, 40, 1000, 10_000, 10**12])
@pytest.mark.parametrize("epsilon0", [0.1, 0.5, 2.0, 6.0])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-100])
def test_the_smallest_epsilon_of_all_theorems_that_apply_is_stated(users, epsilon0, delta):
    model = given(epsilon0, users)
    statement = account(model, delta=delta)
    upper = [theorem for theorem in THEOREMS if theorem.kind.promises and applies(theorem, model, delta)]
    least = min(theorem.epsilon(model, delta=delta) for theorem in upper)
    assert statement.guarantee.epsilon == (epsilon0 if least > epsilon0 * (1 - 1e-6) else least)
    assert statement.guarantee.epsilon <= epsilon0
    assert statement.kind is Kind.UPPER_BOUND


def test_each_closed_form_in_turn_is_the_best_of_what_is_there(monkeypatch):
    model = given(0.4, 10_000)
    for last in range(1, len(CLOSED_FORMS) + 1):
        registry(monkeypatch, NAMED["local-dp"], *CLOSED_FORMS[:last])
        assert account(model, delta=1e-6).basis.theorem == CLOSED_FORMS[last - 1].id


def test_the_statement_carries_the_evaluated_hypotheses_and_whose_proof_it_is():
    statement = account(given(1.0, 10_000), delta=1e-6)
    assert statement.basis.theorem == "strong-pair"
    assert statement.basis.status is Status.OWN_PROOF
    assert all(hypothesis.holds for hypothesis in statement.basis.hypotheses)
    assert statement.guarantee == CentralDP(epsilon=statement.guarantee.epsilon, delta=1e-6)
    assert statement.trust == (Trust.OWN_DEVICE, Trust.SHUFFLER, Trust.NO_COLLUSION, Trust.HONEST_USERS)
    statement = NAMED["fmt23-closed"].state(given(1.0, 10_000), delta=1e-6)
    (small,) = [each for each in statement.basis.hypotheses if each.name == "small-epsilon0"]
    limit = math.log(10_000 / (8 * math.log(2e6)) - 1)
    assert small.requirement == f"epsilon0 <= log(n / (8 log(2/delta)) - 1) = {limit:.6g}"
    assert small.value == "epsilon0=1 with num_users=10000, delta=1e-06"


# ---- where nothing is amplified -------------------------------------------------------------------------------------


def test_out_of_every_regime_the_local_guarantee_remains_and_each_theorem_says_why_not(monkeypatch):
    registry(monkeypatch, NAMED["local-dp"], *CLOSED_FORMS, NAMED["strong-pair"])  # theorems of one reason share it
    statement = account(given(4.0, 100), delta=1e-30)
    assert statement.guarantee == CentralDP(epsilon=4.0, delta=0.0)
    assert statement.basis.theorem == "local-dp"
    assert statement.trust == (Trust.OWN_DEVICE,)
    (remark,) = statement.remarks
    limit21 = math.log(100 / (16 * math.log(4e30)))
    assert "efmrtt19-closed needs n >= 1000; got num_users=100" in remark
    assert f"fmt21-closed needs epsilon0 <= log(n / (16 log(4/delta))) = {limit21:.6g}; got epsilon0=4" in remark
    # 100 / (8 log(2e30)) is below 1
    assert (
        "fmt23-closed needs epsilon0 <= log(n / (8 log(2/delta)) - 1), which no epsilon0 is for so few users" in remark
    )
    assert "strong-pair gives no less: 4" in remark
    assert remark in str(statement)


def test_a_closed_form_above_epsilon0_inside_its_regime_gives_no_less(monkeypatch):
    model = given(0.1, 40)
    assert NAMED["fmt23-closed"].state(model, delta=0.3).guarantee.epsilon > 0.1
    registry(monkeypatch, NAMED["local-dp"], *CLOSED_FORMS)
    statement = account(model, delta=0.3)
    assert statement.guarantee == CentralDP(epsilon=0.1, delta=0.0)
    assert "fmt23-closed gives no less: 0.108" in statement.remarks[0]


@pytest.mark.parametrize("delta", [1e-6, 0.3, 0.999])
@pytest.mark.parametrize("epsilon0", [0.01, 1.0, 10.0])
def test_a_single_user_is_never_amplified_and_is_told_why(epsilon0, delta):
    statement = account(given(epsilon0, 1), delta=delta)
    assert statement.guarantee == CentralDP(epsilon=epsilon0, delta=0.0)
    assert "a single report has no others to hide among" in str(statement)


def test_without_a_shuffle_the_local_guarantee_remains():
    statement = account(given(1.0, 10**6, shuffle=IdentityShuffleModel(num_users=10**6)), delta=1e-6)
    assert statement.guarantee == CentralDP(epsilon=1.0, delta=0.0)
    assert statement.trust == (Trust.OWN_DEVICE,)
    assert statement.remarks == (
        "Nothing is shuffled, so there is no amplification: only the local guarantee remains.",
    )


def test_a_shuffle_that_is_not_uniform_is_named_in_the_reason():
    statement = account(given(1.0, 10**6, shuffle=SlotShuffleModel(num_users=10**6)), delta=1e-6)
    assert statement.guarantee == CentralDP(epsilon=1.0, delta=0.0)
    assert "theorems about uniform shuffles do not apply to a shuffle of kind 'test-slots'" in statement.remarks[-1]
    assert "fmt23-closed" not in statement.remarks[-1]


@pytest.mark.parametrize("theorem", [each for each in THEOREMS if each.id != "local-dp"], ids=lambda each: each.id)
def test_randomizers_tied_to_users_are_amplified_by_no_theorem(theorem):
    # With an alphabet of its own for each user a shuffle hides nothing.
    model = given(0.4, 10**6, common=False)
    assert not applies(theorem, model, 1e-6)
    assert account(model, delta=1e-6).guarantee == CentralDP(epsilon=0.4, delta=0.0)


def test_a_local_guarantee_with_a_remainder_too_large_for_so_many_is_passed_on_but_not_amplified():
    statement = account(given(1.0, 10**6, remainder=1e-9), delta=1e-6)
    assert statement.guarantee == CentralDP(epsilon=1.0, delta=1e-9)
    assert " need a randomizer with finite epsilon0 and local delta 0; got epsilon0=1, local delta=1e-09" in str(
        statement
    )


@pytest.mark.parametrize("messages", [1, 3])
def test_reports_that_guarantee_nothing_alone_are_not_called_private_nor_not_private(messages):
    with pytest.raises(UnsupportedModelError, match="not known to be private, nor known not to be"):
        account(given(math.inf, 1000, num_messages=messages), delta=1e-6)


@pytest.mark.parametrize("remainder", [1.1e-6, 0.5, 1.0])
def test_a_model_that_no_theorem_covers_is_unsupported(remainder):
    with pytest.raises(
        UnsupportedModelError,
        match="'test-given-loss' reports through a shuffle of kind 'uniform' at delta=1e-06: local-dp needs",
    ):
        account(given(1.0, 10**6, remainder=remainder), delta=1e-6)


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan, math.inf, True, "1e-6", None])
@pytest.mark.parametrize("ask", [account, account_all, NAMED["local-dp"].state, NAMED["fmt23-closed"].state])
def test_a_delta_that_is_not_strictly_between_0_and_1_is_refused(ask, delta):
    with pytest.raises(InvalidParameterError, match="delta must be a number strictly between 0 and 1"):
        ask(given(1.0, 10_000), delta=delta)


@pytest.mark.parametrize("model", [{}, "protocol", ProtocolModel])
def test_what_is_not_a_protocol_is_refused(model):
    with pytest.raises(InvalidParameterError, match="or LocalModel or Randomizer or Channel; got model of"):
        account(model, delta=1e-6)


@pytest.mark.parametrize(
    ("name", "model", "delta", "message"),
    [
        ("fmt21-closed", given(2.0, 1000), 1e-6, "= 1.41375; got epsilon0=2 with num_users=1000, delta=1e-06"),
        ("fmt23-closed", given(4.0, 1000), 1e-6, "= 2.03019; got epsilon0=4 with num_users=1000, delta=1e-06"),
        ("efmrtt19-closed", given(0.6, 1000), 1e-6, "needs epsilon0 <= 0.5; got epsilon0=0.6"),
        ("efmrtt19-closed", given(0.5, 999), 1e-6, "needs n >= 1000; got num_users=999"),
        ("efmrtt19-closed", given(0.5, 1000), 0.01, "needs delta < 0.01; got delta=0.01"),
        ("binary-all-equal", given(0.5, 1000), 1e-6, "needs a symmetric 2 x 2 channel; got 'test-given-loss' reports"),
        ("fmt23-closed", given(0.5, 1000, num_messages=2), 1e-6, "needs one message per user; got num_messages=2"),
        (
            "fmt23-closed",
            given(0.5, 1000, common=False),
            1e-6,
            "needs one randomizer for all users; got one that depends",
        ),
        (
            "local-dp",
            given(0.5, 1000, remainder=0.1),
            1e-6,
            "needs a local delta of at most 1e-06; got local delta=0.1",
        ),
    ],
)
def test_a_theorem_asked_for_by_name_says_what_it_needs_what_it_got_and_the_way_out(name, model, delta, message):
    with pytest.raises(HypothesisError) as caught:
        NAMED[name].state(model, delta=delta)
    assert str(caught.value).startswith(f"{name} needs ")
    assert message in str(caught.value)
    assert str(caught.value).endswith("Use account(), which takes a theorem that applies.")


# ---- from a description alone ---------------------------------------------------------------------------------------


def test_a_model_read_from_json_is_all_that_accounting_needs():
    model = response(10, 1.0, 10_000)
    read = ProtocolModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert account_all(read, delta=1e-6) == account_all(model, delta=1e-6)


@pytest.mark.parametrize(("part", "family"), [("local", "k-rr"), ("shuffle", "uniform")])
def test_an_unknown_kind_is_refused_and_the_known_ones_are_named(part, family):
    data = response(10, 1.0, 10_000).to_dict()
    data[part]["kind"] = "clones"
    with pytest.raises(InvalidParameterError, match=f"kind must be one of .*{family}.*; got kind='clones'"):
        ProtocolModel.from_dict(data)


# ---- everything beside a release ------------------------------------------------------------------------------------


def test_beside_a_release_stand_the_upper_bound_the_lower_bounds_and_the_local_guarantee():
    upper, lower, local = account_all(response(2, 1.0, 10_000), delta=1e-6)
    assert upper == account(response(2, 1.0, 10_000), delta=1e-6)
    assert (lower.kind, lower.basis.theorem, lower.guarantee.delta) == (Kind.LOWER_BOUND, "binary-all-equal", 1e-6)
    assert lower.guarantee.epsilon < upper.guarantee.epsilon
    assert (local.kind, local.basis.theorem) == (Kind.EXACT, "local-randomizer")
    assert local.guarantee == response(2, 1.0, 10_000).local.guarantee == LocalDP(epsilon=local.guarantee.epsilon)


def test_a_lower_bound_is_never_the_headline(monkeypatch):
    registry(monkeypatch, NAMED["binary-all-equal"])
    with pytest.raises(UnsupportedModelError):
        account(response(2, 1.0, 10_000), delta=1e-6)


def test_the_lower_bound_does_not_build_the_matrix_of_a_large_domain(monkeypatch):
    def refuse(self, **options):
        raise AssertionError("the matrix of 4096 x 4096 was built")

    monkeypatch.setattr(KaryRandomizedResponseModel, "channel", refuse)
    kinds = [statement.kind for statement in account_all(response(4096, 1.0, 10_000), delta=1e-6)]
    assert kinds == [Kind.UPPER_BOUND, Kind.LOWER_BOUND, Kind.EXACT]


@pytest.mark.parametrize(
    "local",
    [
        GivenChannel(rows=((0.75, 0.25), (0.25, 0.75)), claim=1.5),  # the matrix loses log 3 only
        GivenChannel(rows=((0.8, 0.2), (0.3, 0.7))),
        GivenChannel(rows=((0.6, 0.2, 0.2), (0.2, 0.6, 0.2))),
        GivenChannel(rows=((1.0, 0.0), (0.0, 1.0)), claim=800.0),
        GivenChannel(rows=((1.0, 0.0), (0.0, 1.0))),
    ],
)
def test_the_binary_lower_bound_is_only_for_a_symmetric_channel_of_the_stated_loss(local):
    assert not applies(NAMED["binary-all-equal"], uniformly(local, 100), 1e-6)
    assert applies(NAMED["binary-all-equal"], uniformly(GivenChannel(rows=((0.75, 0.25), (0.25, 0.75))), 100), 1e-6)


# ---- the registry is the only dispatcher ----------------------------------------------------------------------------


class HalfOfEpsilon0(Theorem):
    """A made-up theorem: half of epsilon0 remains, for an even number of users."""

    id: ClassVar[str] = "test-half"
    citation: ClassVar[str] = "made up for this test"

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        del delta
        users = model.num_users
        return (Hypothesis(name="even", requirement="an even n", value=f"num_users={users}", holds=users % 2 == 0),)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        del delta
        return model.local.epsilon0 / 2

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        return 1e-9 if epsilon >= model.local.epsilon0 / 2 else 1.0


def test_a_theorem_takes_part_as_soon_as_it_is_in_the_registry(monkeypatch):
    registry(monkeypatch, *THEOREMS, HalfOfEpsilon0())
    even, odd = (given(6.0, users, shuffle=SlotShuffleModel(num_users=users)) for users in (10, 11))
    statement = account(even, delta=1e-6)
    assert (statement.basis.theorem, statement.guarantee.epsilon) == ("test-half", 3.0)
    statement = account(odd, delta=1e-6)
    assert (statement.basis.theorem, statement.guarantee.epsilon) == ("local-dp", 6.0)
    assert "test-half needs an even n; got num_users=11" in statement.remarks[-1]


def test_a_theorem_that_is_not_in_the_registry_takes_no_part(monkeypatch):
    registry(monkeypatch, NAMED["local-dp"])
    statement = account(given(1.0, 10_000), delta=1e-6)
    assert statement.guarantee == CentralDP(epsilon=1.0, delta=0.0)
    assert statement.remarks == ()


def test_every_theorem_has_a_name_of_its_own_and_a_citation():
    assert len(NAMED) == len(THEOREMS)
    assert all(theorem.citation for theorem in THEOREMS)


# ---- extremes -------------------------------------------------------------------------------------------------------

EXTREME_LOSSES = [0.0, 5e-324, 1e-300, 1e-12, 1e-9, 1e-6, 30.0, 36.0, 700.0, 709.5, 710.0, 745.0, 800.0, 1e300]


def symmetric(epsilon0: float, users: int) -> ProtocolModel:
    lie = math.exp(-epsilon0) / (1 + math.exp(-epsilon0))
    return uniformly(GivenChannel(rows=((1 - lie, lie), (lie, 1 - lie)), claim=epsilon0), users)


@pytest.mark.parametrize("users", [1, 1000, 10**12, 10**18])
@pytest.mark.parametrize("epsilon0", EXTREME_LOSSES)
@pytest.mark.parametrize("delta", [5e-324, 1e-6, math.nextafter(1, 0)])
def test_no_size_of_epsilon0_n_or_delta_breaks_the_accountant(users, epsilon0, delta):
    upper, *lower, local = account_all(symmetric(epsilon0, users), delta=delta)
    assert 0 <= upper.guarantee.epsilon <= epsilon0 == local.guarantee.epsilon
    assert all(0 <= statement.guarantee.epsilon <= upper.guarantee.epsilon for statement in lower)


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda each: each.id)
@pytest.mark.parametrize("epsilon0", [*EXTREME_LOSSES, math.inf])
def test_no_theorem_answers_with_what_is_not_a_number(theorem, epsilon0):
    for users in (1, 10**12):
        model = symmetric(epsilon0, users)
        assert theorem.epsilon(model, delta=1e-6) >= 0
        for epsilon in (0.0, 5e-324, 1e-6, 1.0, 699.0, 750.0, math.inf):
            assert 0 <= theorem.delta(model, epsilon=epsilon) <= 1
            assert 0 <= theorem.delta_at(model, epsilon=epsilon) <= 1


def test_a_report_that_ignores_the_answer_loses_nothing():
    model = uniformly(GivenChannel(rows=((0.5, 0.5), (0.5, 0.5))), 1000)
    assert [statement.guarantee.epsilon for statement in account_all(model, delta=1e-6)] == [0.0, 0.0, 0.0]


# ---- curves ---------------------------------------------------------------------------------------------------------


WHERE_A_CLOSED_FORM_SPEAKS = [
    (theorem, model, delta)
    for theorem in CLOSED_FORMS
    for model in (given(0.01, 1000), given(0.5, 5000), given(0.5, 10**12), given(2.0, 10**6), given(20.0, 10**12))
    for delta in (0.009, 1e-6, 1e-12, 1e-100)
    if applies(theorem, model, delta) and theorem.epsilon(model, delta=delta) < model.local.epsilon0
]


@pytest.mark.parametrize(("theorem", "model", "delta"), WHERE_A_CLOSED_FORM_SPEAKS)
def test_each_closed_form_solved_for_delta_is_its_inverse(theorem, model, delta):
    epsilon = theorem.epsilon(model, delta=delta)
    found = theorem.delta_at(model, epsilon=epsilon)
    assert found == pytest.approx(delta, rel=1e-8)
    assert theorem.epsilon(model, delta=found) == pytest.approx(epsilon, rel=1e-9)


def test_every_closed_form_speaks_somewhere():
    assert {theorem.id for theorem, _, _ in WHERE_A_CLOSED_FORM_SPEAKS} == {theorem.id for theorem in CLOSED_FORMS}
    assert len(WHERE_A_CLOSED_FORM_SPEAKS) >= 30


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda each: each.id)
@pytest.mark.parametrize("epsilon0", [0.4, 1.0, 3.0])
def test_delta_never_rises_with_epsilon_and_is_0_from_epsilon0_on(theorem, epsilon0):
    for users in (10, 10_000):
        model = symmetric(epsilon0, users)
        curve = [theorem.delta_at(model, epsilon=epsilon0 * step / 12) for step in range(13)]
        # Where little is said, a bound by an inequality may rise again; what it said of a smaller epsilon holds too.
        assert all(later <= earlier or earlier > 0.5 for earlier, later in pairwise(curve))
        assert curve[-1] == 0.0
        assert theorem.delta_at(model, epsilon=math.inf) == 0.0


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, "1"])
def test_delta_at_refuses_what_is_no_epsilon(epsilon):
    with pytest.raises(InvalidParameterError, match="epsilon must be a number that is 0 or more"):
        NAMED["fmt23-closed"].delta_at(given(1.0, 1000), epsilon=epsilon)


@pytest.mark.parametrize("theorem", CLOSED_FORMS, ids=lambda each: each.id)
def test_where_a_theorem_says_nothing_delta_is_1_below_epsilon0(theorem):
    assert theorem.delta_at(given(6.0, 100), epsilon=1.0) == 1.0
    assert theorem.delta_at(given(0.4, 10**6, remainder=1e-9), epsilon=0.5) == 1.0


def test_below_the_least_delta_of_its_regime_a_closed_form_states_that_least_delta():
    model = given(2.0, 1000)
    least = 2 * math.exp(-1000 / 8 / (math.exp(2.0) + 1))
    theorem = NAMED["fmt23-closed"]
    assert theorem.delta_at(model, epsilon=1.9) == pytest.approx(least, rel=1e-9)
    assert applies(theorem, model, theorem.delta_at(model, epsilon=1.9))
    assert not applies(theorem, model, least / 1.001)


@pytest.mark.parametrize(("delta", "warned"), [(1e-3, False), (1.1e-3, True), (0.5, True)])
def test_a_delta_above_one_in_n_is_pointed_out(delta, warned):
    statement = account(uniformly(GivenChannel(rows=((0.6, 0.4), (0.4, 0.6))), 1000), delta=delta)
    assert any("publishing one person's answer outright" in remark for remark in statement.remarks) == warned


def test_the_local_statement_of_idealized_arithmetic_is_an_upper_bound_and_says_so():
    local = PrivUnit(epsilon0=2.0, dimension=5).model
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=1000))
    statement = account_all(model, delta=1e-6)[-1]
    assert (statement.kind, statement.guarantee) == (Kind.UPPER_BOUND, local.guarantee)
    assert "analyzed in real numbers" in str(statement)
    assert "exact" not in str(statement)


# ---- in short, and remembered ---------------------------------------------------------------------------------------

SHORT = [
    (LdpModel(epsilon0=1.0), {"epsilon0": 1.0, "num_users": 500}, ()),
    (response(3, 2.0, 500).local, {"num_users": 500}, (KaryRandomizedResponse(epsilon0=2.0, domain_size=3),)),
    (
        response(3, 2.0, 500).local,
        {"num_users": 500},
        (KaryRandomizedResponse(epsilon0=2.0, categories=["a", "b", "c"]),),
    ),
    (response(3, 2.0, 500).local, {"num_users": 500}, (response(3, 2.0, 500).local,)),
]


@pytest.mark.parametrize(("local", "options", "given"), SHORT)
def test_a_short_form_says_what_the_protocol_in_full_says(local, options, given):
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=500))
    assert account(*given, delta=1e-6, **options) == account(model, delta=1e-6)
    assert bracket(*given, delta=1e-6, **options) == bracket(model, delta=1e-6)
    assert delta_at(*given, epsilon=0.3, **options) == delta_at(model, epsilon=0.3)
    assert account(*given, delta=1e-6, honest_fraction=0.5, **options) == account(
        model, delta=1e-6, honest_fraction=0.5
    )


MATRIX = [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]]


def test_a_matrix_is_accounted_for_as_the_randomizer_that_it_is():
    model = ProtocolModel(local=ChannelModel(matrix=Channel(MATRIX)), shuffle=UniformShuffleModel(num_users=300))
    short = {"num_users": 300}
    assert account(Channel(MATRIX), delta=1e-4, **short) == account(model, delta=1e-4)
    assert bracket(Channel(MATRIX), delta=1e-4, **short) == bracket(model, delta=1e-4)
    assert delta_at(Channel(MATRIX), epsilon=0.3, **short) == delta_at(model, epsilon=0.3)
    with pytest.raises(InvalidParameterError, match="num_users must be given beside a randomizer; got num_users=None"):
        account(Channel(MATRIX), delta=1e-4)


@pytest.mark.parametrize("releases", [2, 52])
@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_several_releases_are_stated_as_the_command_states_them(releases, fraction):
    model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=2000))
    found = account(epsilon0=1.0, num_users=2000, delta=1e-6, releases=releases, honest_fraction=fraction)
    assert found == examine(model, delta=1e-6, releases=releases, honest_fraction=fraction).upper
    once = account(model, delta=1e-6, honest_fraction=fraction).guarantee.epsilon
    assert once < found.guarantee.epsilon <= releases * once * 1.2


@pytest.mark.parametrize("releases", [0, -1, 1.5, True])
def test_a_number_of_releases_that_is_none_is_refused(releases):
    with pytest.raises(InvalidParameterError, match="releases must be an integer that is 1 or more"):
        account(epsilon0=1.0, num_users=2000, delta=1e-6, releases=releases)


@pytest.mark.parametrize(("people", "fraction", "honest"), [(5, 0.5, 2), (3, 0.99, 2), (100, 0.29, 29)])
def test_a_share_of_the_people_is_rounded_down(people, fraction, honest):
    model = response(2, 1.0, people)
    assert account(model, delta=1e-3, honest_fraction=fraction).guarantee == (
        account(response(2, 1.0, honest), delta=1e-3).guarantee
    )


WRONG_SHORT = [
    ((), {"num_users": 5}, "epsilon0 must be given without a model; got epsilon0=None"),
    ((), {"epsilon0": 1.0}, "num_users must be given without a model; got num_users=None"),
    ((), {"epsilon0": -1.0, "num_users": 5}, "epsilon0 must be"),
    ((), {"epsilon0": 1.0, "num_users": 0}, "num_users must be an integer that is 1 or more"),
    ((LdpModel(epsilon0=1.0),), {}, "num_users must be given beside a randomizer; got num_users=None"),
    (
        (LdpModel(epsilon0=1.0),),
        {"epsilon0": 2.0, "num_users": 5},
        "epsilon0 must be left out beside a randomizer; got epsilon0=2.0",
    ),
    ((response(3, 2.0, 500),), {"num_users": 5}, "num_users must be left out beside a protocol; got num_users=5"),
    ((0.5,), {"num_users": 5}, "model must be a ProtocolModel or .* or Channel; got model of type float"),
    ((KaryRandomizedResponse,), {"num_users": 5}, "model must be a ProtocolModel or LocalModel or Randomizer"),
]


@pytest.mark.parametrize(("given", "options", "message"), WRONG_SHORT)
def test_a_short_form_that_says_too_little_or_too_much_is_refused(given, options, message):
    for function in (partial(account, delta=1e-6), partial(bracket, delta=1e-6), partial(delta_at, epsilon=0.3)):
        with pytest.raises(InvalidParameterError, match=message):
            function(*given, **options)


def test_a_protocol_is_accounted_for_once(monkeypatch):
    looked = []

    def hypotheses(self, model, *, delta):
        looked.append(model)
        return local.hypotheses(model, delta=delta)

    local = NAMED["local-dp"]
    registry(monkeypatch, type("Counting", (type(local),), {"hypotheses": hypotheses})())
    first = account_all(response(3, 2.0, 500), delta=1e-6)
    seen = len(looked)
    assert seen > 0
    assert account_all(response(3, 2.0, 500), delta=1e-6) == first
    assert account(response(3, 2.0, 500), delta=1e-6, sharp=True) is first[0]
    assert len(looked) == seen
    account(response(3, 2.0, 500), delta=1e-7)
    assert len(looked) > seen
    account(response(3, 2.0, 501), delta=1e-6)
    assert {model.num_users for model in looked} == {500, 501}
    forget()
    account(response(3, 2.0, 500), delta=1e-6)
    assert looked[-1].num_users == 500
