"""Honest pipelines are not refuted, broken twins are, and what cannot be judged is not called consistent."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import shuffledp as sdp
from attacks.twins import InArrivalOrder, MostLost, TooTruthful, UnderNames, exact_central_claim, pipeline
from contracts.siblings import ResidueRandomizer, SlotShuffler
from shuffledp.accounting import account_all
from shuffledp.attacks import DEFAULT_TRIALS, AuditReport, NeighboringInputs, Verdict, audit
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import CentralDP, LocalDP
from shuffledp.core.statement_terms import Kind, Withdrawal
from shuffledp.core.text import in_digits
from shuffledp.randomizers import (
    DiscreteLaplaceMean,
    HadamardResponse,
    KaryRandomizedResponse,
    OneBitMean,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    PrivUnit,
    RoundedMean,
    SubsetSelection,
    SymmetricUnaryEncoding,
)
from shuffledp.testing import SeededSource
from statistical.thresholds import SIGNIFICANCE

CERTAIN = 1 - SIGNIFICANCE  # the confidence at which a test may refute an honest pipeline
RANDOMIZERS = [
    KaryRandomizedResponse(epsilon0=1.0, domain_size=10),
    OptimizedUnaryEncoding(epsilon0=1.0, domain_size=10),
    SymmetricUnaryEncoding(epsilon0=1.0, domain_size=10),
    OptimizedLocalHashing(epsilon0=1.0, domain_size=10),
    HadamardResponse(epsilon0=1.0, domain_size=10),
    SubsetSelection(epsilon0=1.0, domain_size=10),
    OneBitMean(epsilon0=1.0, lower=0.0, upper=1.0),
    RoundedMean(epsilon0=1.0, lower=0.0, upper=1.0, num_levels=4),
    DiscreteLaplaceMean(epsilon0=1.0, lower=0.0, upper=1.0, num_steps=8),
    PrivUnit(epsilon0=1.0, dimension=3),
]


def claims_of(audited, num_users=20, delta=1e-3):
    return account_all(audited.model(num_users), delta=delta)


def local_claim_of(audited):
    return claims_of(audited)[-1]


def central(epsilon, delta=0.0):
    """A claim out of thin air."""
    return replace(local_claim_of(pipeline()), guarantee=CentralDP(epsilon=epsilon, delta=delta))


# ---- local claims ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=lambda randomizer: randomizer.model.kind)
def test_the_attack_on_one_report_comes_close_to_the_exact_local_loss_and_never_above(randomizer):
    audited = pipeline(randomizer)
    report = audit(audited, local_claim_of(audited), num_users=20, confidence=CERTAIN, source=SeededSource(5))
    (finding,) = report.findings
    assert finding.verdict is Verdict.CONSISTENT
    assert finding.evidence.attack == "own-report"
    assert finding.evidence.epsilon_lower <= randomizer.model.epsilon0 <= finding.evidence.epsilon_upper
    assert finding.evidence.epsilon_lower > 0.8  # of 1


@pytest.mark.parametrize(("epsilon0", "domain_size"), [(1.0, 2), (1.0, 10), (0.1, 3), (3.0, 100)])
def test_a_threshold_that_is_a_fifth_too_high_is_refuted_with_the_default_trials_in_ten_runs_of_ten(
    epsilon0, domain_size
):
    twin = pipeline(TooTruthful(epsilon0=epsilon0, domain_size=domain_size))
    claim = local_claim_of(twin)
    reports = [audit(twin, claim, num_users=20, source=SeededSource(seed)) for seed in range(10)]
    assert all(report.refuted for report in reports)
    real = twin.randomizer.real.model.epsilon0
    assert all(epsilon0 < report.findings[0].evidence.epsilon_lower <= real for report in reports)


def test_the_honest_one_is_not_refuted_in_twenty_runs_at_the_default_confidence():
    honest = pipeline(domain_size=10)
    claim = local_claim_of(honest)
    reports = [audit(honest, claim, num_users=20, source=SeededSource(seed)) for seed in range(20)]
    assert not any(report.refuted for report in reports)


# ---- central claims -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_users", "domain_size", "delta"),
    [(10, 2, 1e-3), (8, 3, 1e-2), *(pytest.param(n, 2, 1e-3, marks=pytest.mark.deep) for n in (1, 30, 100))],
)
def test_the_exact_central_loss_is_consistent_and_that_of_the_twin_is_refuted(num_users, domain_size, delta):
    honest = pipeline(domain_size=domain_size)
    twin = pipeline(TooTruthful(epsilon0=1.0, domain_size=domain_size))
    claim = exact_central_claim(honest.randomizer.model, num_users, delta)
    options = {"num_users": num_users, "source": SeededSource(3)}
    assert not audit(honest, claim, confidence=CERTAIN, trials=4000, **options).refuted
    report = audit(twin, claim, **options)
    assert report.refuted
    assert report.findings[0].evidence.attack == "histogram"
    assert report.findings[0].evidence.trials in (DEFAULT_TRIALS["central-dp"] // 10, DEFAULT_TRIALS["central-dp"])


@pytest.mark.parametrize("shuffler", [InArrivalOrder(), UnderNames()], ids=["in arrival order", "under names"])
def test_a_shuffler_that_does_not_shuffle_is_refuted(shuffler):
    broken = pipeline(shuffler=shuffler)
    claims = claims_of(broken, num_users=1000, delta=1e-6)
    report = audit(broken, claims, num_users=1000, trials=2000, source=SeededSource(3))
    assert [finding.verdict for finding in report.findings] == ["refuted", "not-audited", "consistent"]
    assert report.findings[0].evidence.attack in ("own-report", "rows", "likeliest-row")
    assert not audit(pipeline(), claims, num_users=1000, trials=500, source=SeededSource(3)).refuted


def test_a_shuffler_that_loses_most_reports_is_refuted():
    broken = pipeline(shuffler=MostLost())
    claim = exact_central_claim(broken.randomizer.model, 100, 1e-3)
    assert audit(broken, claim, num_users=100, trials=2000, source=SeededSource(3)).refuted
    assert not audit(pipeline(), claim, num_users=100, trials=2000, source=SeededSource(3)).refuted


def test_without_a_shuffler_the_attack_reaches_the_local_loss():
    open_pipeline = pipeline(shuffler=sdp.IdentityShuffler())
    claim, _ = claims_of(open_pipeline)
    report = audit(open_pipeline, claim, num_users=20, trials=5000, confidence=CERTAIN, source=SeededSource(1))
    evidence = report.findings[0].evidence
    assert evidence.attack == "own-report"
    assert 0.6 < evidence.epsilon_lower <= claim.guarantee.epsilon <= evidence.epsilon_upper


def test_labels_that_only_blur_who_sent_what_are_attacked_too():
    # Each report stays or changes places with its neighbour: half of the first label's are the first person's.
    blurred = pipeline(shuffler=SlotShuffler(), epsilon0=3.0)
    assert audit(blurred, central(0.3), num_users=10, trials=2000, source=SeededSource(1)).refuted


def test_of_several_claims_each_has_its_own_verdict_and_all_limits_are_wider():
    honest = pipeline()
    false, true = central(0.2, 1e-3), exact_central_claim(honest.randomizer.model, 5, 1e-3)
    together = audit(honest, [true, false], num_users=5, trials=3000, source=SeededSource(1))
    assert [finding.verdict for finding in together.findings] == ["consistent", "refuted"]
    alone = audit(honest, [false], num_users=5, trials=3000, source=SeededSource(1))
    assert alone.findings[0].evidence.epsilon_lower > together.findings[1].evidence.epsilon_lower


def test_false_alarms_are_rarer_than_stated_even_for_claims_with_no_slack():
    # At confidence 1/2 and one person, who loses epsilon0 exactly: no more than half of the audits may refute.
    honest = pipeline()
    claim = exact_central_claim(honest.randomizer.model, 1, 1e-9)
    refuted = [
        audit(honest, claim, num_users=1, trials=200, confidence=0.5, source=SeededSource(seed)).refuted
        for seed in range(40)
    ]
    assert sum(refuted) <= 20
    smaller = replace(claim, guarantee=CentralDP(epsilon=0.5 * claim.guarantee.epsilon, delta=1e-9))
    caught = [
        audit(honest, smaller, num_users=1, trials=200, confidence=0.5, source=SeededSource(seed)).refuted
        for seed in range(40)
    ]
    assert sum(caught) > 20


# ---- what is not audited --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (central(1.0, 1e-6).withdraw(Withdrawal.SEEDED), "withdrawn and promises nothing"),
        (replace(central(1.0), kind=Kind.LOWER_BOUND), "A lower bound promises nothing"),
        (replace(central(1.0), kind=Kind.ESTIMATE), "An estimate promises nothing"),
        (central(math.inf), "promises nothing"),
        (central(0.1, 1.0), "promises nothing"),
        (central(30.0), "Too few trials: with 10,000 no attack, not even one that never errs, can show more than 7.3"),
    ],
)
def test_what_promises_nothing_or_cannot_be_refuted_is_not_audited_and_says_why(statement, reason):
    report = audit(pipeline(), statement, num_users=5)
    (finding,) = report.findings
    assert finding.verdict is Verdict.NOT_AUDITED
    assert reason in finding.reason
    assert finding.evidence is None
    assert not report.refuted


def test_the_number_of_trials_that_is_asked_for_is_enough():
    claim = replace(local_claim_of(pipeline()), guarantee=LocalDP(epsilon=6.0))
    too_few = audit(pipeline(), claim, num_users=1, trials=1000).findings[0]
    needed = float(too_few.reason.split("takes ")[1].split(" at least")[0].replace(",", ""))
    enough = audit(pipeline(), claim, num_users=1, trials=int(needed)).findings[0]
    assert (too_few.verdict, enough.verdict) == ("not-audited", "consistent")


def test_several_messages_and_unknown_laws_are_not_audited():
    several = pipeline(ResidueRandomizer(modulus=5, num_messages=3))
    assert "several reports each" in audit(several, central(1.0), num_users=5).findings[0].reason

    class Unwritten(KaryRandomizedResponse):
        """Its model does not say how likely a report is."""

        def __init__(self):
            honest = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)

            class Model(type(honest.model)):
                kind = "test-unwritten"

                def log_likelihood(self, columns, value):  # noqa: ARG002
                    return None

            self.model = Model(domain_size=2, share=honest.model.share)

    finding = audit(pipeline(Unwritten()), central(1.0), num_users=5).findings[0]
    assert finding.verdict is Verdict.NOT_AUDITED
    assert "No attack is known for 'test-unwritten' reports" in finding.reason


# ---- how it is called -----------------------------------------------------------------------------------------------


def test_inputs_may_be_given():
    audited = pipeline(domain_size=4)
    given = NeighboringInputs(first=3, second=2, others=3)
    report = audit(audited, claims_of(audited), num_users=20, trials=1000, inputs=given, source=SeededSource(1))
    assert {finding.evidence.inputs for finding in report.findings if finding.evidence} == {given}


def test_the_same_seed_gives_the_same_report_which_says_so():
    audited = pipeline()
    first, again = (
        audit(audited, claims_of(audited), num_users=20, trials=300, source=SeededSource(2)) for _ in range(2)
    )
    assert first == again
    assert first.seeded
    assert not audit(audited, claims_of(audited), num_users=20, trials=300).seeded


def test_the_report_survives_json_and_prints_claim_and_attack_side_by_side():
    audited = pipeline()
    claims = claims_of(audited, 1000, 1e-6)
    report = audit(audited, claims, num_users=1000, trials=300, source=SeededSource(2))
    written = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert AuditReport.from_dict(written) == report
    assert [finding["verdict"] for finding in written["findings"]] == ["consistent", "not-audited", "consistent"]
    text = str(report)
    claimed = in_digits(claims[0].guarantee.epsilon, "exactly")
    assert f"CONSISTENT: central-dp, epsilon at most {claimed} at delta = 1e-06 (binary-worst)." in text
    assert "NOT-AUDITED: central-dp, epsilon at least 0.1" in text
    assert "Consistent does not mean proven" in text
    evidence = report.findings[-1].evidence
    assert evidence.false_positive_limits[0] < evidence.false_positive_rate < evidence.false_positive_limits[1]
    assert (evidence.false_positive_rate, evidence.true_positive_rate) in evidence.roc
    assert f"came in {100 * evidence.true_positive_rate:.0f}% of 300 runs" in text  # limits are some percent apart


def test_progress_is_told_from_nothing_to_the_end():
    told = []
    audited = pipeline(domain_size=3)
    audit(audited, claims_of(audited, 10), num_users=10, trials=600, progress=lambda *step: told.append(step))
    local = [done for done, total in told if total == 1800]
    assert local == sorted(local)
    assert local[-1] == 1800
    assert max(done for done, total in told if total == 3600) <= 3600


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_users": 0}, "num_users must be an integer that is 1 or more"),
        ({"trials": 1}, "trials must be an integer that is 2 or more"),
        ({"confidence": 1.0}, "confidence must be a number strictly between 0 and 1"),
        ({"confidence": math.nan}, "confidence must be"),
        ({"statements": []}, "statements must be one PrivacyStatement or more"),
        ({"trials": 10**8}, "trials must be at most 10,000,000, whose scores fit into memory; got trials=100000000"),
        ({"mode": "statistic"}, "mode must be one of 'pipeline', 'statistics'; got mode='statistic'"),
        ({"statements": [0.5]}, "statements must be a PrivacyStatement; got statements of type float"),
        ({"inputs": [(0, 1)]}, "inputs must be a NeighboringInputs"),
        ({"inputs": NeighboringInputs(first=0, second=7, others=0)}, r"values must be .*range\(2\)"),
        ({"pipeline": sdp.UniformShuffler()}, "pipeline must be a RandomizerAndShuffler"),
        ({"source": 7}, "source must be a RandomSource or None"),
    ],
)
def test_wrong_arguments_are_refused(changes, message):
    arguments = {"pipeline": pipeline(), "statements": [central(1.0)], "num_users": 5} | changes
    with pytest.raises(InvalidParameterError, match=message):
        audit(arguments.pop("pipeline"), arguments.pop("statements"), **arguments)


def test_a_single_person_and_a_single_statement_will_do():
    report = audit(pipeline(), central(0.5), num_users=1, trials=2000, source=SeededSource(1))
    assert report.refuted
    assert np.isfinite(report.findings[0].evidence.epsilon_lower)


def test_answers_of_unlike_types_are_played_as_they_are_and_a_person_further_on_can_be_named():
    assert NeighboringInputs(first=0.5, second=1.0, others=0).answers("first", 3).tolist() == [0.5, 0.0, 0.0]
    pair = NeighboringInputs(first=0, second=1, others=0, person=5)
    found = audit(pipeline(), claims_of(pipeline(), 12), num_users=12, trials=400, inputs=pair, source=SeededSource(3))
    assert not found.refuted


def test_a_claim_about_another_number_of_people_is_refused():
    audited = pipeline()
    for made_for, played in ((1000, 20), (20, 1000)):
        message = f"num_users={played}; got a 'binary-worst' statement about num_users={made_for}"
        with pytest.raises(InvalidParameterError, match=message):
            audit(audited, claims_of(audited, made_for), num_users=played)
    local = local_claim_of(audited)  # which is about one report, whoever else is there
    assert not audit(audited, local, num_users=3, trials=200, source=SeededSource(1)).refuted


def test_a_claim_that_stands_says_what_the_trials_could_have_found():
    audited = pipeline(domain_size=10)
    claim = local_claim_of(audited)
    found = [
        audit(audited, claim, num_users=20, trials=trials, source=SeededSource(2)).findings[0]
        for trials in (1000, 100_000)
    ]
    assert [finding.verdict for finding in found] == ["consistent", "consistent"]
    few, many = (finding.detectable for finding in found)
    assert 1 < many < few < 2
    assert f"With 1,000 trials, a true epsilon of {in_digits(few, 'at most', digits=3)} or more" in str(found[0])
    refuted = audit(pipeline(), central(0.1), num_users=1, trials=400, source=SeededSource(2)).findings[0]
    assert (refuted.verdict, refuted.detectable, refuted.power) == ("refuted", None, "")


def test_where_nothing_is_audited_the_report_opens_with_that():
    report = audit(pipeline(), central(30.0), num_users=5)
    assert "Nothing was audited" in report.opening
    assert "found nothing against" not in report.opening
    assert report.verdicts == {"refuted": 0, "consistent": 0, "not-audited": 1}
