"""Tracers refute a loss profile that a shuffler exceeds, and never a true one; and the samplers keep their law."""

import json
import math

import numpy as np
import pytest

from golden.test_golden_profiles import VALUES
from shuffledp import Groups, IdentityShuffler, MallowsShuffler, NoisySortShuffler
from shuffledp.attacks import Verdict
from shuffledp.core.errors import InvalidParameterError
from shuffledp.laws import kendall_inversions
from shuffledp.protocols.d_sigma.attacks.order_tracers import OrderTelling, guesses_to_tell, tell_orders
from shuffledp.protocols.d_sigma.laws.mallows_profiles import kendall_profile
from shuffledp.testing import SeededSource

PEOPLE = 200
KINDS = {
    "mallows": {"make": MallowsShuffler},
    "laplace": {"make": NoisySortShuffler},
    "gaussian": {"make": NoisySortShuffler, "noise": "gaussian", "delta": 1e-6},
}


def shuffler(kind, alpha, size=10):
    """Groups of one size beside each other, and one at the end."""
    starts = [*range(0, PEOPLE - size + 1, size), PEOPLE - size]
    groups = Groups.from_lists([list(range(start, start + size)) for start in starts], PEOPLE)
    options = dict(KINDS[kind])
    return options.pop("make")(groups=groups, alpha=alpha, order=np.arange(PEOPLE), **options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shuffler_of_twice_the_claimed_loss_is_refuted_and_the_honest_one_is_not(kind):
    claimed = shuffler(kind, 4.0)
    honest = tell_orders(claimed, source=SeededSource(1))
    twice = {"mallows": 8.0, "laplace": 8.0, "gaussian": 10.87}[kind]  # of the Gaussian sort: twice the mu
    broken = tell_orders(shuffler(kind, twice), claimed=claimed, source=SeededSource(1))
    assert (honest.verdict, broken.verdict) == (Verdict.CONSISTENT, Verdict.REFUTED)
    assert honest.claimed == broken.claimed == pytest.approx((1 + honest.remainder) / 2)
    assert not honest.weak
    assert honest.seeded


def test_no_shuffle_at_all_is_refuted():
    groups = shuffler("mallows", 4.0)
    found = tell_orders(KeepsPlaces(), claimed=groups, trials=100, source=SeededSource(1))
    assert (found.verdict, found.success) == (Verdict.REFUTED, 1.0)


class KeepsPlaces:
    """Shuffler that leaves every report in its sender's slot."""

    def model(self, num_users):
        return IdentityShuffler().model(num_users)

    def shuffle(self, reports, *, public=None, source=None):
        return IdentityShuffler().shuffle(reports, public=public, source=source)


@pytest.mark.parametrize("row", VALUES["audit_trials"], ids=lambda row: str(row["inputs"]["group"]))
def test_the_number_of_trials_is_that_of_the_two_proportion_test(row):
    size, level = row["inputs"]["group"], row["inputs"]["level"]
    claimed, true = (kendall_profile(size, alpha / (size * (size - 1) / 2)).delta(0.0) for alpha in (4.0, 8.0))
    assert claimed == pytest.approx(row["expected"]["tv_claim"], abs=1e-8)
    assert true == pytest.approx(row["expected"]["tv_true"], abs=1e-8)
    assert guesses_to_tell(claimed, true, level=level) / 2 == pytest.approx(
        row["expected"]["per_arm_profile"], rel=0.02
    )


@pytest.mark.deep
@pytest.mark.parametrize(("size", "guesses"), [(10, 125), (20, 264), (50, 646)])
def test_the_power_is_as_said(size, guesses):
    claimed, broken = shuffler("mallows", 4.0, size), shuffler("mallows", 8.0, size)
    assert tell_orders(claimed, trials=guesses, source=SeededSource(1)).guesses_needed == guesses
    found = [
        tell_orders(broken, claimed=claimed, trials=guesses, source=SeededSource(seed)).verdict for seed in range(40)
    ]
    assert found.count(Verdict.REFUTED) >= 31  # of 40, with probability .99, where nine in ten are found
    honest = [tell_orders(claimed, trials=guesses, source=SeededSource(seed)).verdict for seed in range(40)]
    assert honest.count(Verdict.REFUTED) <= 3


def test_a_pure_loss_by_itself_could_not_be_refuted_and_it_says_so():
    found = tell_orders(shuffler("mallows", 4.0, 60), trials=400, source=SeededSource(1))
    assert found.pure_seen < 1e-4
    assert "The pure loss by itself, 4, is not put to the test" in str(found)
    assert found.weak
    assert "These are too few. A shuffler with twice the loss would be found with" in str(found)
    gaussian = tell_orders(shuffler("gaussian", 4.0), trials=400, source=SeededSource(1))
    assert math.isinf(gaussian.pure)
    assert "pure loss" not in str(gaussian)


def test_against_a_claim_of_no_loss_the_power_is_that_to_find_an_order_left_as_it_is():
    none, as_it_is = shuffler("mallows", 0.0), shuffler("mallows", 1e4)
    found = tell_orders(none, trials=60, source=SeededSource(1))
    assert not found.weak
    assert str(found).endswith(
        f"A shuffler that leaves the order as it is would be found with {found.guesses_needed} guesses."
    )
    needed = found.guesses_needed
    assert tell_orders(as_it_is, claimed=none, trials=needed, source=SeededSource(1)).verdict is Verdict.REFUTED
    assert tell_orders(as_it_is, claimed=none, trials=needed - 1, source=SeededSource(1)).verdict is not Verdict.REFUTED


def test_it_is_a_value():
    found = tell_orders(shuffler("laplace", 4.0), trials=400, source=SeededSource(1))
    assert OrderTelling.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert found.reason == ""
    few = tell_orders(shuffler("laplace", 40.0), trials=2, source=SeededSource(1))
    assert few.verdict is Verdict.NOT_AUDITED
    assert "with 0 guesses" not in str(few)
    assert (few.power, few.reason) == (
        "",
        "So large a loss lets anybody tell the order: no number of guesses could refute it.",
    )
    assert "no number of guesses could refute it" in str(few)
    some = tell_orders(shuffler("laplace", 4.0), trials=2, source=SeededSource(1))
    assert some.reason.startswith("No outcome of 2 guesses could refute")


def test_where_there_is_no_order_to_tell_nothing_is_played():
    alone = Groups.from_labels(range(5))
    assert tell_orders(MallowsShuffler(groups=alone, alpha=1.0)) is None
    together = Groups.from_labels([0] * 5)
    assert tell_orders(MallowsShuffler(groups=together, alpha=math.inf)) is None
    assert tell_orders(MallowsShuffler(groups=together, alpha=1.0, distance="hamming")) is None


def test_bad_arguments_are_refused():
    with pytest.raises(InvalidParameterError, match="claimed must be a SlotShuffler"):
        tell_orders(KeepsPlaces())
    with pytest.raises(InvalidParameterError, match="claimed must be a shuffler of groups"):
        tell_orders(NoisySortShuffler(positions=[0.0, 1.0]))
    with pytest.raises(InvalidParameterError, match="trials must be an integer"):
        tell_orders(shuffler("mallows", 4.0), trials=1)


def inversions(ranks):
    """Number of inversions, a rank at a time."""
    seen, count = np.zeros(ranks.size, dtype=np.int64), 0
    for rank in ranks.tolist():
        count += int(seen[rank + 1 :].sum())
        seen[rank] = 1
    return count


@pytest.mark.parametrize("size", [20, 96])
def test_one_view_of_3000_people_tells_a_concentration_a_fifth_too_large(size):
    """Inversions of the whole view are sufficient for the concentration, and their moments are known."""
    groups = Groups.from_radius(np.arange(3000), (size - 1) / 2)
    honest, twin = (MallowsShuffler(groups=groups, alpha=alpha, order=np.arange(3000)) for alpha in (4.0, 4.8))
    theta = float(honest.prepare().parameters[0])
    mean, variance = kendall_inversions(3000, theta)
    scores = [
        (inversions(each.draw_ranks(source=SeededSource(5))) - mean) / math.sqrt(variance) for each in (honest, twin)
    ]
    assert abs(scores[0]) < 5
    assert scores[1] < -5 if size == 20 else scores[1] < -3
