"""Sufficient statistics have the law of real runs, and take as long for many people as for few."""

import numpy as np
import pytest

import shuffledp as sdp
from attacks.twins import TooTruthful, exact_central_claim, pipeline
from shuffledp.accounting import account_all
from shuffledp.attacks import DEFAULT_TRIALS, AuditReport, NeighboringInputs, Verdict, audit
from shuffledp.attacks.games import LARGEST_CHANNEL, CentralGame, StatisticsGame, classes_of, has_statistics
from shuffledp.attacks.likelihood_scores import view_scores
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.testing import SeededSource
from statistical.thresholds import SIGNIFICANCE, assert_fits, assert_rejects

INPUTS = NeighboringInputs(first=0, second=1, others=2)
CASES = [
    sdp.KaryRandomizedResponse(epsilon0=1.5, domain_size=5),
    sdp.randomizers.OptimizedUnaryEncoding(epsilon0=1.0, domain_size=3),
    sdp.randomizers.SubsetSelection(epsilon0=1.0, domain_size=4),
]


def game(kind, audited, seed=1, num_users=9):
    return kind(pipeline=audited, num_users=num_users, source=SeededSource(seed), progress=None)


@pytest.mark.parametrize("randomizer", CASES, ids=lambda randomizer: randomizer.model.kind)
def test_scores_have_the_law_of_those_of_real_runs(randomizer):
    """In cells of a seventh or so; twice the local loss gives another law."""
    drawn = game(StatisticsGame, pipeline(randomizer)).play(INPUTS, "first", 100_000)[:, 0]
    cells = np.unique(np.quantile(drawn, np.linspace(0, 1, 8)[1:-1], method="lower"))
    law = np.bincount(np.searchsorted(cells, drawn), minlength=len(cells) + 1) / len(drawn)
    stronger = type(randomizer)(epsilon0=2 * randomizer.model.epsilon0, domain_size=randomizer.model.domain_size)
    for seed, (real, check) in enumerate(((randomizer, assert_fits), (stronger, assert_rejects))):
        scores = game(CentralGame, pipeline(real), seed=2 + seed).play(INPUTS, "first", 1500)[:, 0]
        counts = np.bincount(np.searchsorted(cells, scores), minlength=len(cells) + 1)
        rare = law * 1500 <= 100
        largest = int(np.argmax(law))
        merged = [np.where(np.arange(len(law)) == largest, each + each[rare].sum(), each) for each in (counts, law)]
        check(*(each[~rare] for each in merged))


def test_the_score_of_a_histogram_is_that_of_its_view():
    randomizer = CASES[0]
    classes = classes_of(randomizer.model, INPUTS)
    assert len(classes.first) == 4  # the three answers, and all others
    views = [
        sdp.UniformShuffler().shuffle(randomizer.randomize([0] + [2] * 8, source=SeededSource(seed)))
        for seed in range(50)
    ]
    laws = [classes.first, classes.second, classes.others]
    own = {int(np.argmax(law)): value for law, value in zip(laws, (0, 1, 2), strict=True)}
    rest = next(place for place in range(4) if place not in own)
    counts = np.zeros((50, 4), dtype=np.int64)
    for row, view in zip(counts, views, strict=True):
        for place, value in own.items():
            row[place] = (view.reports["value"] == value).sum()
        row[rest] = 9 - row.sum()
    assert classes.scores(counts).tolist() == view_scores(views, randomizer.model, INPUTS)[:, 0].tolist()


def test_ten_thousand_people_are_audited_with_the_default_trials():
    """An epsilon that is a third of the truth is refuted; the best that is known to be true is not."""
    honest = pipeline(domain_size=10, epsilon0=4.0)
    claims = account_all(honest.model(10_000), delta=1e-6)
    options = {"num_users": 10_000, "mode": "statistics", "source": SeededSource(1)}
    report = audit(honest, claims, **options)
    assert [finding.verdict for finding in report.findings] == ["consistent", "not-audited", "consistent"]
    assert report.findings[0].evidence.trials == DEFAULT_TRIALS["statistics"]
    assert AuditReport.from_dict(report.to_dict()) == report
    assert "the code not" in str(report)


@pytest.mark.parametrize(("num_users", "delta"), [(10, 1e-3), (100, 1e-2)])
def test_a_claim_that_is_a_fifth_too_small_is_refuted_and_the_exact_one_is_not(num_users, delta):
    honest = pipeline()
    claim = exact_central_claim(honest.randomizer.model, num_users, delta)
    options = {"num_users": num_users, "mode": "statistics", "source": SeededSource(1)}
    report = audit(honest, claim, confidence=1 - SIGNIFICANCE, **options)
    assert not report.refuted
    assert report.findings[0].evidence.epsilon > 0.8 * claim.guarantee.epsilon * (num_users == 10)
    small = claim.weaken(claim.guarantee)
    object.__setattr__(small, "guarantee", type(claim.guarantee)(epsilon=0.5 * claim.guarantee.epsilon, delta=delta))
    assert audit(honest, small, **options).refuted


def test_statistics_say_nothing_about_the_code():
    """That is what the other mode, and local claims in both, are for."""
    twin = pipeline(TooTruthful(epsilon0=1.0, domain_size=2))
    central = exact_central_claim(twin.randomizer.model, 10, 1e-3)
    local = account_all(twin.model(10), delta=1e-3)[-1]
    found = audit(twin, [central, local], num_users=10, mode="statistics", source=SeededSource(1)).findings
    assert [finding.verdict for finding in found] == [Verdict.CONSISTENT, Verdict.REFUTED]


def test_other_shuffles_and_reports_of_many_outputs_have_no_statistics():
    large = sdp.randomizers.OptimizedUnaryEncoding(epsilon0=1.0, domain_size=LARGEST_CHANNEL + 1)
    assert not has_statistics(large.model)
    claim = account_all(pipeline().model(5), delta=0.1)
    for audited in (pipeline(shuffler=sdp.IdentityShuffler()), pipeline(large)):
        with pytest.raises(UnsupportedModelError, match="Leave out --statistics"):
            audit(audited, claim, num_users=5, mode="statistics")
    with pytest.raises(InvalidParameterError, match="mode"):
        audit(pipeline(), claim, num_users=5, mode="fast")


# ---- stopping early -------------------------------------------------------------------------------------------------


def test_an_audit_stops_once_everything_is_refuted_and_not_before():
    honest = pipeline()
    exact = exact_central_claim(honest.randomizer.model, 1, 1e-3)
    small = exact.weaken(exact.guarantee)
    object.__setattr__(small, "guarantee", type(exact.guarantee)(epsilon=0.1, delta=1e-3))
    options = {"num_users": 1, "trials": 4000, "source": SeededSource(1)}
    assert audit(honest, small, **options).findings[0].evidence.trials == 400
    assert audit(honest, [small, exact], **options).findings[0].evidence.trials == 4000
    full = audit(honest, small, stop_early=False, **options).findings[0]
    assert (full.evidence.trials, full.verdict) == (4000, Verdict.REFUTED)


def test_two_looks_do_not_refute_true_claims_more_often_than_stated():
    """One person loses epsilon0 exactly: at confidence 1/2, at most half of the audits may refute it."""
    honest = pipeline()
    claim = exact_central_claim(honest.randomizer.model, 1, 1e-9)
    options = {"num_users": 1, "trials": 2000, "confidence": 0.5, "mode": "statistics"}
    refuted = sum(audit(honest, claim, source=SeededSource(seed), **options).refuted for seed in range(60))
    assert refuted <= 30
    small = claim.weaken(claim.guarantee)
    object.__setattr__(small, "guarantee", type(claim.guarantee)(epsilon=0.8, delta=1e-9))
    assert sum(audit(honest, small, source=SeededSource(seed), **options).refuted for seed in range(20)) > 10


pytestmark = pytest.mark.deep
