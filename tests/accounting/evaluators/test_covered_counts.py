"""The cover of all data sets of binary reports, against sums over all counts of all data sets."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from shuffledp.accounting.evaluators import covered_counts
from shuffledp.accounting.evaluators.binary_counts import BinaryCounts
from shuffledp.accounting.evaluators.covered_counts import BinaryChannel, CoveredCounts, symmetric_channel


def channel_of(first: float, second: float) -> BinaryChannel:
    return BinaryChannel(chances=(first, second), nots=(1 - first, 1 - second))


def counted(channel: BinaryChannel, epsilon: float, ones: int, zeros: int) -> tuple[float, float]:
    """The delta of one data set in both directions, from the law of the number of ones."""
    law = np.ones(1)
    for chance in [channel.chances[0]] * ones + [channel.chances[1]] * zeros:
        law = np.convolve(law, [1 - chance, chance])
    one, other = (np.convolve(law, [1 - chance, chance]) for chance in channel.chances)
    growth = math.exp(epsilon)
    return np.maximum(one - growth * other, 0).sum(), np.maximum(other - growth * one, 0).sum()


def largest(channel: BinaryChannel, epsilon: float, users: int) -> float:
    """Over all data sets, in both directions."""
    return max(max(counted(channel, epsilon, ones, users - 1 - ones)) for ones in range(users))


def random_cases(count: int, seed: int):
    random = np.random.default_rng(seed)
    for _ in range(count):
        second, first = sorted(random.random(2) ** random.choice([1, 3]))
        channel = channel_of(first, second)
        limit = max(math.log(first / second), math.log((1 - second) / (1 - first)))
        yield CoveredCounts(channel=channel, users=int(random.integers(2, 40)), limit=limit), random.random() * limit


def check(counts: CoveredCounts, epsilon: float) -> None:
    truth = largest(counts.channel, epsilon, counts.users)
    lower, upper = counts.sides(epsilon)
    assert lower <= truth * (1 + 1e-12) + 1e-15
    assert upper >= truth * (1 - 1e-12) - 1e-15
    assert upper <= truth * 1.0011 + 1e-14
    for blocks in (1, 3, 7):
        assert counts.in_blocks(epsilon, blocks=blocks) >= truth * (1 - 1e-12) - 1e-15


def test_the_exact_largest_delta_of_all_data_sets_lies_between_the_two_sides():
    for counts, epsilon in random_cases(40, seed=1):
        check(counts, epsilon)


@pytest.mark.deep
def test_the_same_of_a_thousand_channels():
    for counts, epsilon in random_cases(1000, seed=2):
        check(counts, epsilon)


@pytest.mark.parametrize("epsilon0", [1e-6, 0.3, 2.0, 8.0, 30.0])
@pytest.mark.parametrize("users", [2, 3, 50, 900, 9_000])
def test_of_symmetric_channels_it_is_the_exact_one_to_a_thousandth_of_delta(epsilon0, users):
    counts = CoveredCounts(channel=symmetric_channel(epsilon0), users=users, limit=epsilon0)
    exact = BinaryCounts(epsilon0=epsilon0, users=users)
    for part in (0.0, 0.01, 0.1, 0.5, 0.9):
        truth = exact.delta(part * epsilon0)
        assert truth * (1 - 1e-7) <= counts.delta(part * epsilon0) <= truth * 1.0011 + 1e-300


def test_more_people_never_lose_more_and_both_sides_stay_together_for_any_number():
    last = math.inf
    for users in (10**k for k in range(1, 16, 2)):
        counts = CoveredCounts(channel=symmetric_channel(1.0), users=users, limit=1.0)
        lower, upper = counts.sides(0.3 / math.sqrt(users))
        assert lower <= upper <= lower * 1.0011
        assert upper < last
        last = upper


def test_the_two_directions_of_an_asymmetric_channel_differ_up_to_twofold_and_the_larger_one_counts():
    """Mutant: the first direction alone."""
    differ = 0
    for counts, epsilon in random_cases(60, seed=3):
        if counts.channel.is_symmetric:
            continue
        both = [counts._narrowed(epsilon, 0.0, 1e-3)[1] for counts in counts._directions()]
        truth = largest(counts.channel, epsilon, counts.users)
        differ += both[0] < 0.99 * truth
        assert max(both) >= truth * (1 - 1e-12) - 1e-15
    assert differ >= 10


def test_a_cover_that_keeps_the_people_who_are_left_out_is_no_cover(monkeypatch):
    """Mutant: all others count, as if the people of a block all held the second answer."""
    counts = CoveredCounts(channel=channel_of(0.6, 0.2), users=60, limit=math.log(3))
    truth = largest(counts.channel, 0.05, 60)
    assert counts.in_blocks(0.05, blocks=4) >= truth
    deltas = covered_counts._deltas

    def keeping(channel, epsilon, ones, zeros):
        del zeros
        return deltas(channel, epsilon, ones, 59 - ones)

    monkeypatch.setattr(covered_counts, "_deltas", keeping)
    assert counts.in_blocks(0.05, blocks=4) < truth * (1 - 1e-3)


def test_the_curve_is_convex_and_above_delta():
    counts = CoveredCounts(channel=channel_of(0.5, 0.1), users=150, limit=math.log(5))
    epsilons = np.linspace(0, 0.5, 9)
    curve = counts.curve(epsilons)
    assert (np.diff(np.diff(curve) / np.diff(np.exp(epsilons))) > -1e-9).all()
    assert (curve >= [largest(counts.channel, float(epsilon), 150) * (1 - 1e-12) for epsilon in epsilons]).all()
    assert counts.curve(np.array([2.0]))[0] == 0


def with_digits(channel: BinaryChannel, epsilon: float, ones: int, zeros: int) -> mpf:
    """The delta of one data set in the first direction, to forty digits."""
    law = [mpf(1)]
    for chance in [channel.chances[0]] * ones + [channel.chances[1]] * zeros:
        law = [
            before * chance + here * (1 - mpf(chance)) for before, here in zip([0, *law], [*law, mpf(0)], strict=True)
        ]
    growth, (first, second) = mp.exp(mpf(epsilon)), channel.chances
    gain = mpf(first) - growth * second
    ends = zip([mpf(0), *law], [*law, mpf(0)], strict=True)
    return sum(
        max(mpf(0), before * gain + here * (1 - mpf(first) - growth * (1 - mpf(second)))) for before, here in ends
    )


def test_every_crowd_lies_between_its_two_sides_to_the_last_digit():
    """Mutants: a value without its error, from above or from below."""
    random, sides = np.random.default_rng(5), []
    with mp.workdps(40):
        for _ in range(60):
            second, first = (float(each) / 1024 for each in sorted(random.choice(np.arange(1, 1024), 2, replace=False)))
            ones, zeros = (int(each) for each in random.integers(0, 12, 2))
            channel, epsilon = channel_of(first, second), random.random() * math.log(first / second)
            truth = with_digits(channel, epsilon, ones, zeros)
            lower, upper = (
                float(each[0])
                for each in covered_counts._deltas(channel, epsilon, np.array([float(ones)]), np.array([float(zeros)]))
            )
            assert lower <= truth <= upper
            assert upper <= lower * (1 + 1e-9) + 1e-12
            sides.append(truth > (mpf(lower) + mpf(upper)) / 2)
    assert 10 <= sum(sides) <= 50  # the value itself is below the truth about as often as above


@pytest.mark.parametrize(("users", "first"), [(10**9, 1e-3), (10**12, 1e-6), (10**15, 1e-6), (10**15, 0.5)])
def test_the_two_sides_of_many_people_leave_room_for_chances_that_are_rounded_in_their_last_place(users, first):
    """Mutant: an error that knows nothing of the number of people."""
    second = first / math.e
    epsilon = (first - second) / math.sqrt(second * users)
    lower, upper = (
        float(each[0])
        for each in covered_counts._deltas(
            channel_of(first, second), epsilon, np.array([users / 2]), np.array([users / 2])
        )
    )
    late = math.sqrt(users) * 2**-53  # a last place of a likely chance, in standard deviations of the count
    assert upper - lower >= 2 * 16 * late * lower
    assert upper <= lower * 1.001
