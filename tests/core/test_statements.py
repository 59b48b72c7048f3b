import dataclasses
import itertools
import json
import math
import operator

import pytest

from shuffledp._version import __version__
from shuffledp.core.errors import IncomparableError, InvalidParameterError
from shuffledp.core.guarantees import CentralDP, LocalDP
from shuffledp.core.statement_terms import Basis, Hypothesis, Kind, Status, Trust, Unit, Withdrawal
from shuffledp.core.statements import PrivacyStatement, compose, mix

HOLDS = Hypothesis(name="small-epsilon0", requirement="epsilon0 <= 1.41", value="epsilon0=1", holds=True)
FAILS = Hypothesis(name="small-epsilon0", requirement="epsilon0 <= 1.41", value="epsilon0=2", holds=False)
BASIS = Basis(theorem="fmt23-closed", citation="Feldman, McMillan, Talwar 2023, Theorem 3.2", hypotheses=(HOLDS,))


def statement(epsilon: float = 0.5, kind: Kind = Kind.UPPER_BOUND, **changes) -> PrivacyStatement:
    guarantee = CentralDP(epsilon=epsilon, delta=changes.pop("delta", 1e-6))
    trust = (Trust.SHUFFLER, Trust.OWN_DEVICE)
    return PrivacyStatement(**({"guarantee": guarantee, "kind": kind, "basis": BASIS, "trust": trust} | changes))


UPPER, LOWER = statement(), statement(0.2, Kind.LOWER_BOUND)
EXACT, ESTIMATE = statement(0.3, Kind.EXACT), statement(0.3, Kind.ESTIMATE)
LOCAL = statement(kind=Kind.EXACT, guarantee=LocalDP(epsilon=1.0), trust=(Trust.OWN_DEVICE,))
ALL = [UPPER, LOWER, EXACT, ESTIMATE, LOCAL, UPPER.withdraw(Withdrawal.SEEDED)]


# ---- guarantee 1: a statement that promises has no hypothesis that fails --------------------------------------------


@pytest.mark.parametrize("kind", [Kind.EXACT, Kind.UPPER_BOUND])
def test_a_statement_that_promises_has_no_hypothesis_that_fails(kind):
    failing = dataclasses.replace(BASIS, hypotheses=(HOLDS, FAILS))
    with pytest.raises(InvalidParameterError, match=r"epsilon0 <= 1\.41; got epsilon0=2"):
        statement(kind=kind, basis=failing)
    with pytest.raises(InvalidParameterError, match="hypotheses that all hold"):
        PrivacyStatement.from_dict(statement(kind=kind).to_dict() | {"basis": failing.to_dict()})


@pytest.mark.parametrize("kind", [Kind.LOWER_BOUND, Kind.ESTIMATE])
def test_a_statement_that_promises_nothing_may_show_a_hypothesis_that_fails(kind):
    failing = dataclasses.replace(BASIS, hypotheses=(FAILS,))
    assert not statement(kind=kind, basis=failing).basis.hypotheses[0].holds


# ---- guarantee 2: every operation weakens ---------------------------------------------------------------------------


def test_weakening_leads_only_to_what_is_implied_and_is_no_longer_exact():
    weaker = CentralDP(epsilon=0.7, delta=1e-5)
    assert UPPER.weaken(weaker).guarantee == weaker
    assert EXACT.weaken(EXACT.guarantee).kind is Kind.UPPER_BOUND
    for stronger in (CentralDP(epsilon=0.4, delta=1e-6), CentralDP(epsilon=0.5), LocalDP(epsilon=0.5, delta=1e-6)):
        with pytest.raises(IncomparableError, match="must imply what it is weakened to"):
            UPPER.weaken(stronger)


@pytest.mark.parametrize("other", [LOWER, ESTIMATE])
def test_lower_bounds_and_estimates_are_not_weakened_because_they_imply_nothing(other):
    with pytest.raises(IncomparableError):
        other.weaken(CentralDP(epsilon=9.0, delta=0.5))
    with pytest.raises(IncomparableError):
        other.post_process()


def test_post_processing_keeps_the_guarantee_and_turns_exact_into_at_most():
    assert EXACT.post_process() == dataclasses.replace(EXACT, kind=Kind.UPPER_BOUND)
    assert UPPER.post_process() == UPPER


def test_what_is_remarked_about_the_same_parts_is_said_together():
    shared, others = ("Same.", "Too."), ("One.", "Other.")
    both = compose([UPPER.remarking(*shared, *others), UPPER.remarking(*shared)], labels=["age", "income"])
    assert str(both).endswith("About each part: Same. Too. About age: One. Other.")
    assert both.all_remarks[:2] == ("About each part: Same.", "About each part: Too.")


def test_composition_adds_losses_and_collects_trust_bases_and_remarks():
    other = statement(0.25, delta=2e-6, trust=(Trust.OPERATOR,), remarks=("Second.", "Same."))
    both = compose([UPPER.remarking("First.", "Same."), other])
    assert both.guarantee == CentralDP(epsilon=0.75, delta=3e-6)
    assert both.kind is Kind.UPPER_BOUND
    assert both.trust == (Trust.OWN_DEVICE, Trust.SHUFFLER, Trust.OPERATOR)
    assert both.remarks == ()
    assert both.all_remarks == ("About part 1: First.", "About each part: Same.", "About part 2: Second.")
    assert both.basis.theorem == "basic-composition"
    assert [(part.label, part.statement) for part in both.parts] == [
        ("part 1", UPPER.remarking("First.", "Same.")),
        ("part 2", other),
    ]


def test_composition_of_one_statement_is_that_statement_and_of_none_is_refused():
    assert compose([EXACT]) == EXACT
    with pytest.raises(InvalidParameterError, match="num_statements must be one statement or more"):
        compose([])


def test_the_order_of_composition_does_not_matter_to_the_guarantee():
    statements = [statement(epsilon, delta=epsilon / 2**20) for epsilon in (0.125, 0.25, 0.5)]
    guarantees = {compose(order).guarantee for order in itertools.permutations(statements)}
    assert guarantees == {CentralDP(epsilon=0.875, delta=0.875 / 2**20)}


def test_a_mixture_takes_the_larger_loss_and_the_average_remainder():
    mixed = mix(UPPER, statement(1.5, delta=3e-6), weight=0.5)
    assert mixed.guarantee == CentralDP(epsilon=1.5, delta=math.nextafter(2e-6, 1))  # rounded up
    assert mixed.basis.theorem == "mixture"
    with pytest.raises(InvalidParameterError, match="weight must be"):
        mix(UPPER, UPPER, weight=-0.1)


@pytest.mark.parametrize("other", [LOWER, ESTIMATE])
def test_only_statements_that_promise_are_put_together(other):
    with pytest.raises(IncomparableError, match="only exact values and upper bounds can be put together"):
        compose([UPPER, other])
    with pytest.raises(IncomparableError, match="only exact values and upper bounds can be put together"):
        mix(other, UPPER, weight=0.5)


def test_local_and_central_statements_are_not_put_together():
    with pytest.raises(IncomparableError, match="must be of one type"):
        compose([UPPER, LOCAL])


def test_what_is_put_together_speaks_of_one_report_as_soon_as_a_part_does():
    # Replacing all of a user's reports is more than replacing one: only the weaker reading is proven.
    per_report = dataclasses.replace(UPPER, unit=Unit.REPORT)
    assert compose([UPPER, per_report]).unit is Unit.REPORT
    assert mix(per_report, UPPER, weight=0.5).unit is Unit.REPORT
    assert compose([UPPER, UPPER]).unit is Unit.USER


def test_an_own_proof_anywhere_makes_the_whole_an_own_proof():
    own = dataclasses.replace(UPPER, basis=dataclasses.replace(BASIS, status=Status.OWN_PROOF))
    assert compose([UPPER, own]).basis.status is Status.OWN_PROOF
    assert compose([UPPER, UPPER]).basis.status is Status.PUBLISHED


def test_a_local_statement_holds_for_everything_released_but_no_longer_exactly():
    central = LOCAL.to_central()
    assert central.guarantee == CentralDP(epsilon=1.0)
    assert central.kind is Kind.UPPER_BOUND
    with pytest.raises(IncomparableError, match="only a local-dp statement converts"):
        UPPER.to_central()


@pytest.mark.parametrize("kind", [Kind.LOWER_BOUND, Kind.ESTIMATE])
def test_a_lower_bound_on_the_local_loss_says_nothing_about_the_central_one(kind):
    with pytest.raises(IncomparableError, match="only exact values and upper bounds convert"):
        dataclasses.replace(LOCAL, kind=kind).to_central()


def test_trusting_more_and_remarking_add_and_never_remove():
    trusting = UPPER.trusting(Trust.OPERATOR, Trust.SHUFFLER)
    assert trusting.trust == (Trust.OWN_DEVICE, Trust.SHUFFLER, Trust.OPERATOR)
    assert UPPER.remarking("One.").remarking("Two.").remarks == ("One.", "Two.")


def test_unknown_trust_is_refused_instead_of_dropped():
    with pytest.raises(InvalidParameterError, match="trust must be members of Trust"):
        statement(trust=(Trust.SHUFFLER, "the-weather"))


# ---- withdrawal -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [UPPER, LOWER, EXACT, ESTIMATE, LOCAL])
def test_a_withdrawn_statement_promises_nothing_and_keeps_what_it_claimed_apart(given):
    withdrawn = given.withdraw(Withdrawal.SEEDED)
    assert withdrawn.guarantee == given.guarantee.nothing()
    assert withdrawn.claimed == given.guarantee
    written = withdrawn.to_dict()
    assert written["guarantee"]["epsilon"] == "inf"
    assert written["withdrawn"] == "seeded"
    assert written["claimed"]["epsilon"] == given.guarantee.epsilon


def test_withdrawing_again_changes_nothing():
    withdrawn = UPPER.withdraw(Withdrawal.SEEDED)
    assert withdrawn.withdraw(Withdrawal.SEEDED) == withdrawn


def test_nothing_brings_a_withdrawn_statement_back():
    withdrawn = UPPER.withdraw(Withdrawal.SEEDED)
    with pytest.raises(IncomparableError):
        withdrawn.weaken(UPPER.guarantee)
    for result in (compose([UPPER, withdrawn]), mix(withdrawn, UPPER, weight=0.1), withdrawn.post_process()):
        assert result.guarantee.is_trivial
        assert result.withdrawn is Withdrawal.SEEDED
    local = LOCAL.withdraw(Withdrawal.SEEDED).to_central()
    assert local.guarantee.is_trivial
    assert local.claimed == CentralDP(epsilon=1.0)


# ---- guarantee 3: what cannot be compared is not ordered ------------------------------------------------------------


def test_statements_of_one_kind_type_and_delta_are_ordered_by_their_loss():
    assert statement(0.5) < statement(0.7)
    assert statement(0.7) > statement(0.5)
    assert statement(0.5) <= statement(0.5) >= statement(0.5)
    assert not statement(0.5) < statement(0.5)
    assert not statement(0.7) <= statement(0.5)
    assert min([statement(0.7), statement(0.4), statement(0.5)]).guarantee.epsilon == 0.4


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (LOWER, "must agree in kind"),
        (ESTIMATE, "must agree in kind"),
        (EXACT, "must agree in kind"),
        (statement(delta=1e-7), "must agree in delta"),
        (statement(guarantee=LocalDP(epsilon=0.5, delta=1e-6)), "must agree in guarantee type"),
        (dataclasses.replace(UPPER, unit=Unit.REPORT), "must agree in unit"),
        (0.5, "can only be compared with a statement"),
        (CentralDP(epsilon=0.5, delta=1e-6), "can only be compared with a statement"),
    ],
)
def test_statements_that_differ_in_more_than_epsilon_refuse_to_be_ordered(other, reason):
    upper = statement()
    for compare in (operator.lt, operator.le):
        with pytest.raises(IncomparableError, match=reason):
            compare(upper, other)
    for compare in (operator.gt, operator.ge):
        with pytest.raises(TypeError):
            compare(upper, other)


def test_statements_are_equal_only_if_everything_is():
    assert statement() == UPPER
    assert statement(remarks=("One.",)) != UPPER
    assert len({UPPER, statement(), EXACT}) == 2


# ---- as people and programs read it ---------------------------------------------------------------------------------


def test_a_statement_prints_as_a_paragraph_that_can_be_quoted():
    assert str(UPPER.remarking("Nobody dropped out.")) == (
        "Whatever one person answered, replacing that answer by any other changes the probability "
        "of anything seen in the released data by a factor of at most 1.649 "
        "(epsilon = 0.5), apart from a remainder of 1e-06 (delta). "
        "This is an upper bound (the truth is this good or better), by fmt23-closed "
        "(Feldman, McMillan, Talwar 2023, Theorem 3.2). "
        "It holds as long as each person's own device randomizes the answer as stated, with good randomness; "
        "the shuffler shuffles as stated and keeps no record of who sent what. "
        "Nobody dropped out."
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (EXACT, ["a factor of up to 1.35", "This is the exact value, by fmt23-closed"]),
        (LOWER, ["a factor of at least 1.22", "(nothing better can be promised), not a promise, by"]),
        (ESTIMATE, ["a factor of up to about 1.35", "This is an estimate, not a promise, by"]),
        (LOCAL, ["the report that left that person's device", "a factor of up to 2.72"]),
        (dataclasses.replace(UPPER, unit=Unit.REPORT), ["This is per report: somebody who sends several must add"]),
        (dataclasses.replace(UPPER, basis=dataclasses.replace(BASIS, status=Status.OWN_PROOF)), ["in this project."]),
        (
            UPPER.withdraw(Withdrawal.SEEDED),
            ["WITHDRAWN: nothing is promised, because the randomness came from a seed"],
        ),
        (UPPER.withdraw(Withdrawal.SEEDED), ["Without that: Whatever one person answered", "at most 1.649"]),
        (statement(trust=()), ["Theorem 3.2)."]),
    ],
)
def test_the_paragraph_says_what_kind_of_statement_it_is(given, words):
    for word in words:
        assert word in str(given)


def test_the_paragraph_has_no_gaps_where_there_is_nothing_to_say():
    for given in ALL:
        assert "  " not in str(given)
        assert str(given) == str(given).strip()
        assert "None" not in str(given)
    assert "It holds as long as" not in str(statement(trust=()))


def test_a_composition_speaks_of_all_answers_and_tells_its_parts_apart():
    own = dataclasses.replace(UPPER, basis=dataclasses.replace(BASIS, theorem="ours", status=Status.OWN_PROOF))
    inner = compose([own.remarking("Mind."), UPPER], labels=["age", "town"])
    outer = compose([inner, UPPER], labels=["this", "that"]).remarking("Two.")
    assert "replacing all of that person's answers by any others" in str(outer)
    assert "in all the released data together" in str(outer)
    assert "Theorem 3.16), of parts of which ours is proven in this project." in str(outer)
    assert [leaf.label for leaf in outer.leaves()] == ["this: age", "this: town", "that"]
    assert str(outer).endswith("Two. About this: age: Mind.")
    assert f"  this: town: {HOLDS.text}" in outer.explain().splitlines()
    assert "all reports that left" in str(compose([LOCAL, LOCAL]))
    assert "that answer by any other" in str(mix(UPPER, UPPER, weight=0.5))
    assert [part.label for part in mix(UPPER, UPPER, weight=0.25).parts] == [
        "with probability 0.25",
        "with probability 0.75",
    ]


def test_every_part_has_a_label():
    with pytest.raises(InvalidParameterError, match="one for each of 2 statements"):
        compose([UPPER, UPPER], labels=["one"])


@pytest.mark.parametrize("given", [*ALL, compose([UPPER, EXACT]), mix(UPPER, UPPER, weight=0.5)])
def test_a_statement_survives_json(given):
    written = json.loads(json.dumps(given.to_dict(), allow_nan=False))
    assert PrivacyStatement.from_dict(written) == given


def test_the_schema_of_a_statement_has_these_keys():
    written = UPPER.to_dict()
    assert list(written) == ["guarantee", "kind", "basis", "trust", "unit", "remarks", "withdrawn", "claimed", "parts"]
    assert list(written["basis"]) == ["theorem", "citation", "hypotheses", "status", "library_version"]
    assert written["basis"]["hypotheses"] == [
        {"name": "small-epsilon0", "requirement": "epsilon0 <= 1.41", "value": "epsilon0=1", "holds": True}
    ]
    assert written["basis"]["library_version"] == __version__
    assert (written["kind"], written["unit"], written["withdrawn"]) == ("upper-bound", "one-user", None)
    assert written["trust"] == ["own-device", "shuffler"]


def test_an_infinite_loss_is_written_as_a_word():
    assert statement(math.inf).to_dict()["guarantee"]["epsilon"] == "inf"


def test_every_member_of_every_enumeration_has_words():
    assert all(member.text for member in (*Trust, *Withdrawal))
    assert all(str(statement(kind=kind)) for kind in Kind)
    assert [kind.promises for kind in Kind] == [True, True, False, False]
    assert HOLDS.text == "epsilon0 <= 1.41: epsilon0=1"


def test_an_explanation_is_the_paragraph_and_every_hypothesis_with_its_value():
    lines = UPPER.explain().splitlines()
    assert lines[0] == str(UPPER)
    assert [line.strip() for line in lines[1:]] == [hypothesis.text for hypothesis in UPPER.basis.hypotheses]
    assert len(lines) > 1
