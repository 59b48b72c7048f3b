"""Shares in rounds: the honest protocol stands, and twins without noise, order or shares enough fall."""

from dataclasses import replace

import numpy as np
import pytest

import shuffledp as sdp
from attacks.twins import NoNoise, RoundsInArrivalOrder, SameOrderInEveryRound, TwoShares
from shuffledp.accounting import account_all
from shuffledp.attacks import NeighboringInputs, Verdict, audit
from shuffledp.core.guarantees import CentralDP
from shuffledp.protocols.shares.attacks.share_game import SHARE_SCORES, ShareReader, SharesGame
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
from shuffledp.randomness.sources import uniform_integers
from shuffledp.testing import SeededSource
from statistical.thresholds import SIGNIFICANCE, assert_fits, assert_rejects

CERTAIN = 1 - SIGNIFICANCE
PEOPLE, DELTA = 20, 0.02
OTHERS_IN_THE_MIDDLE = NeighboringInputs(first=0.0, second=1.0, others=0.5)
# So large a modulus that two shares of different people hardly ever add up to one of the two values.
HONEST = sdp.SplitAndMix(num_users=PEOPLE, epsilon=1.0, lower=0, upper=1, num_shares=9, modulus=2000)
MIXED = CayleyShuffler(imperfection=0.5)


def audited(randomizer=HONEST, shuffler=None, *, claim=None, trials=300, **options):
    shuffler = shuffler or sdp.ParallelShuffler(MIXED, HONEST.num_messages)
    pipeline = sdp.Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=sdp.SumAnalyzer())
    claim = claim or account_all(pipeline.model(PEOPLE), delta=DELTA)[0]
    options = {"inputs": OTHERS_IN_THE_MIDDLE, "source": SeededSource(1), "confidence": CERTAIN} | options
    return audit(pipeline, claim, num_users=PEOPLE, trials=trials, **options).findings[0]


@pytest.mark.parametrize("shuffler", [MIXED, sdp.UniformShuffler()], ids=["imperfect", "uniform"])
def test_the_honest_protocol_is_consistent_with_what_it_claims(shuffler):
    finding = audited(shuffler=sdp.ParallelShuffler(shuffler, HONEST.num_messages))
    assert finding.verdict is Verdict.CONSISTENT
    assert finding.evidence.epsilon_lower <= finding.statement.guarantee.epsilon <= 1.0


TWINS = {
    "no noise": (NoNoise.from_model(HONEST.model), None, "total"),
    "two shares": (TwoShares.from_model(HONEST.model), None, "combinations"),
    "one order": (HONEST, SameOrderInEveryRound(MIXED, HONEST.num_messages), "same-places"),
    "no order": (HONEST, RoundsInArrivalOrder(MIXED, HONEST.num_messages), "own-place"),
}


@pytest.mark.parametrize(("randomizer", "shuffler", "attack"), TWINS.values(), ids=TWINS.keys())
def test_twins_are_refuted_by_the_attack_that_is_made_for_them(randomizer, shuffler, attack):
    finding = audited(randomizer, shuffler, trials=500 if attack == "combinations" else 300)
    assert finding.verdict is Verdict.REFUTED
    assert finding.evidence.attack == attack


def test_an_epsilon_that_is_too_small_is_refuted_by_the_sum_alone():
    small = replace(audited(trials=100).statement, guarantee=CentralDP(epsilon=0.5, delta=0.001))
    sharp = sdp.SplitAndMix(num_users=PEOPLE, epsilon=4.0, lower=0, upper=1, num_shares=2, integer=True)
    finding = audited(sharp, sdp.ParallelShuffler(MIXED, 2), claim=small, inputs=())
    assert finding.verdict is Verdict.REFUTED
    assert finding.evidence.attack == "total"


def test_what_is_not_guaranteed_or_too_large_is_not_audited():
    pipeline = sdp.Pipeline(
        randomizer=HONEST,
        shuffler=sdp.ParallelShuffler(MIXED, HONEST.num_messages),
        analyzer=sdp.SumAnalyzer(),
    )
    local = account_all(pipeline.model(PEOPLE), delta=DELTA)[-1]
    assert audited(claim=local).reason == "The statement promises nothing."
    large = sdp.SplitAndMix(num_users=PEOPLE, epsilon=1.0, lower=0, upper=1, num_shares=9, modulus=2**23)
    central = audited(trials=100).statement
    assert "modulus of at most 4,194,304" in audited(large, claim=central).reason


# ---- what the attacks know ------------------------------------------------------------------------------------------


def reader(randomizer=HONEST, inputs=OTHERS_IN_THE_MIDDLE) -> ShareReader:
    return ShareReader(randomizer.model, inputs)


def test_the_law_of_one_persons_shares_is_the_sampled_one():
    randomizer = sdp.SplitAndMix(num_users=20, epsilon=3.0, lower=0, upper=1, num_shares=2, noise_users=3)
    draws = 20_000
    source, value = SeededSource(5), 0.3  # rounded up or down
    sums = [
        randomizer.randomize(np.full(20, value), source=source)["residue"].reshape(-1, 2).sum(axis=1, dtype=np.int64)
        for _ in range(draws // 20)
    ]
    counts = np.bincount(np.concatenate(sums) % randomizer.modulus, minlength=randomizer.modulus)
    inputs = NeighboringInputs(first=value, second=1.0, others=0.0)
    for noise_users, check in ((3, assert_fits), (6, assert_rejects)):
        model = replace(randomizer.model, noise_users=noise_users)
        law = np.exp(ShareReader(model, inputs)._laws(20).first[0])
        cells = np.argsort(-law)
        kept, rest = cells[:7], cells[7:]
        check(np.append(counts[kept], counts[rest].sum()), np.append(law[kept], 1 - law[kept].sum()))


def test_the_law_of_the_sum_has_the_models_variance():
    laws = reader()._laws(PEOPLE)
    law, steps = np.exp(laws.total_first[0]), np.arange(HONEST.modulus)
    middle = (PEOPLE - 1) * HONEST.precision / 2  # of everybody but the first person, who adds 0 steps
    away = (steps - middle + HONEST.modulus // 2) % HONEST.modulus - HONEST.modulus // 2
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert float(law @ away) == pytest.approx(0, abs=1e-6)
    rounding = (PEOPLE - 1) / 4
    assert float(law @ away**2) == pytest.approx(HONEST.model.noise_variance / HONEST.model.step**2 + rounding)


def test_scores_depend_on_labels_not_on_the_order_of_rows():
    shuffler = sdp.ParallelShuffler(MIXED, HONEST.num_messages)
    view = shuffler.shuffle(HONEST.randomize(np.full(PEOPLE, 0.5), source=SeededSource(2)), source=SeededSource(3))
    turned = np.argsort(uniform_integers(2**40, len(view), source=SeededSource(4)))
    labels = view.labels[turned]
    other = sdp.View(reports=view.reports.take(turned), labels=labels, shuffle=view.shuffle, source=SeededSource(5))
    assert reader().scores(view) == reader().scores(other)


def test_rounds_that_lack_shares_tell_nothing():
    view = sdp.UniformShuffler().shuffle(HONEST.randomize([0.5] * PEOPLE), source=SeededSource(1))
    lacking = sdp.View(reports=view.reports.take(slice(1, None)), labels=None, shuffle=view.shuffle)
    assert reader().scores(lacking) == [0.0] * len(SHARE_SCORES)
    assert any(reader().scores(view))


VECTORS = {"dimension": 3, "num_users": 40, "epsilon": 2.0, "num_shares": 4, "lower": 0, "upper": 2}


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({"integer": True}, (0, 0, 0)),
        ({"l1_bounded": True}, (2, 0, 0)),
    ],
    ids=["coordinates", "bounded together"],
)
def test_the_worst_vectors_are_as_far_apart_as_the_range_allows(options, first):
    randomizer = sdp.SplitAndMix(**VECTORS, **options)
    pairs = SharesGame.worst_inputs(randomizer.model)
    assert [pair.first for pair in pairs] == [first, first]
    for pair in pairs:
        for which in ("first", "second"):
            reports = randomizer.randomize(pair.answers(which, 40), source=SeededSource(1))
            view = sdp.ParallelShuffler(MIXED, 12).shuffle(reports, source=SeededSource(2))
            assert np.isfinite(reader(randomizer, pair).scores(view)).all()


def test_the_sum_of_vectors_tells_the_right_data_set_if_there_is_hardly_noise():
    randomizer = sdp.SplitAndMix(**VECTORS | {"epsilon": 60.0, "integer": True})
    pair = SharesGame.worst_inputs(randomizer.model)[0]
    for which, sign in (("first", 1), ("second", -1)):
        reports = randomizer.randomize(pair.answers(which, 40), source=SeededSource(1))
        view = sdp.ParallelShuffler(MIXED, 12).shuffle(reports, source=SeededSource(2))
        assert sign * reader(randomizer, pair).scores(view)[0] > 10


def test_where_combinations_are_too_many_to_count_other_scores_remain():
    randomizer = sdp.SplitAndMix(num_users=PEOPLE, epsilon=1.0, lower=0, upper=1, num_shares=3, modulus=2**17)
    view = sdp.ParallelShuffler(MIXED, 3).shuffle(randomizer.randomize([0.5] * PEOPLE, source=SeededSource(1)))
    scores = dict(zip(SHARE_SCORES, reader(randomizer).scores(view), strict=True))
    assert scores["combinations"] == 0
    assert scores["total"] != 0


pytestmark = pytest.mark.deep
