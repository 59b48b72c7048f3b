"""Sums of vectors against exact laws: noise that is nearly Gaussian, and packets that must not be moved as units."""

import itertools
import json
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.attacks import audit
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.shares.theorems.gaussian_shares import VectorSums, gaussian_curve, not_gaussian
from shuffledp.protocols.shares.theorems.share_mixing import mixing_distance
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.testing import SeededSource

REFERENCE = json.loads((Path(__file__).parents[1] / "golden" / "vector_sums.json").read_text(encoding="utf-8"))["rows"]


def rows(kind):
    return [pytest.param(row["inputs"], row["expected"], id=row["id"]) for row in REFERENCE if row["kind"] == kind]


def discrete_gaussian_law(variance, reach):
    """Law at -reach .. reach, to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        weights = [(-Decimal(k * k) / (2 * Decimal(variance))).exp() for k in range(-reach, reach + 1)]
        total = sum(weights)
        return [weight / total for weight in weights]


def summed(law, times):
    """Law of independent sums, to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        found = [Decimal(1)]
        for _ in range(times):
            found = [
                sum(found[i] * law[k - i] for i in range(max(0, k - len(law) + 1), min(len(found), k + 1)))
                for k in range(len(found) + len(law) - 1)
            ]
        return found


def lost(law, shift, epsilon):
    """Delta of a symmetric law of whole numbers against itself shifted."""
    floats = np.array([float(each) for each in law])
    first, second = np.pad(floats, (shift, 0)), np.pad(floats, (0, shift))
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def noise_alone(people, variance, shift, epsilon, dimension=1):
    """What the theorem states of the noise, for a difference of length ``shift``."""
    ratio = not_gaussian(people, variance, dimension)
    mu = shift / math.sqrt(people * variance - 1 / 12)
    return math.exp(ratio) * gaussian_curve(mu, epsilon - 2 * ratio) + 4 * dimension * math.exp(-40)


@pytest.mark.parametrize(("given", "expected"), rows("dg-sum"))
def test_sums_of_discrete_gaussian_shares_are_as_close_to_one_as_the_bound_says(given, expected):
    shares, variance = given["shares"], given["variance_of_one"]
    found = summed(discrete_gaussian_law(variance, 30), shares)
    one = discrete_gaussian_law(shares * variance, 120)
    worst = max(abs(math.log(found[120 + k] / one[120 + k])) for k in range(-12, 13))
    assert worst == pytest.approx(expected["largest_log_ratio"], rel=1e-4)
    tau = 5 * sum(math.exp(-2 * math.pi**2 * variance * k / (k + 1)) for k in range(1, shares))
    assert tau == pytest.approx(expected["bound"], rel=1e-4)
    assert worst <= tau <= not_gaussian(shares, variance, 1)


@pytest.mark.parametrize(("given", "expected"), rows("dg-against-rounded-gaussian"))
def test_a_rounded_gaussian_is_as_close_as_the_bound_says(given, expected):
    variance, far = given["variance"], given["z"]
    spread = math.sqrt(variance - 1 / 12)
    if variance > 1000:  # where tails leave no digits to floats: the leading term
        assert (far**4 - 6 * far**2 + 3) / 2880 == pytest.approx(expected, rel=1e-3)
        return
    place = math.floor(far * math.sqrt(variance))
    ends = [math.erfc((place + half) / spread / math.sqrt(2)) / 2 for half in (-0.5, 0.5)]
    law = discrete_gaussian_law(variance, place + 40)
    ratio = abs(math.log(float(law[2 * place + 40]) / (ends[0] - ends[1])))
    assert ratio * variance**2 == pytest.approx(expected, rel=2e-3)
    assert ratio <= 3.3 / variance**2


@pytest.mark.parametrize(("given", "expected"), rows("dg-sum-delta-below"))
def test_no_delta_is_stated_below_the_exact_one_of_the_noise(given, expected):
    law = summed(discrete_gaussian_law(given["variance_of_one"], 30), given["shares"])
    exact = lost(law, given["shift"], given["epsilon"])
    assert exact == pytest.approx(expected, rel=1e-8)
    assert exact <= noise_alone(given["shares"], given["variance_of_one"], given["shift"], given["epsilon"])


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0, 2.0])
def test_the_noise_of_two_coordinates_loses_no_more_than_is_stated_for_the_length_and_hardly_less(epsilon):
    floats = np.array([float(each) for each in summed(discrete_gaussian_law(4.0, 30), 5)])
    for shift in [(1, 1), (3, 1), (2, 0), (4, 2)]:
        pairs = [(np.pad(floats, (each, 0)), np.pad(floats, (0, each))) for each in shift]
        first, second = (np.outer(pairs[0][side], pairs[1][side]) for side in (0, 1))
        exact = float(np.maximum(first - math.exp(epsilon) * second, 0).sum())
        stated = noise_alone(5, 4.0, math.hypot(*shift), epsilon, dimension=2)
        assert exact <= stated
        assert stated <= exact * 1.7 + 1e-9  # two coordinates of whole numbers are coarser than a line


# ---- packets --------------------------------------------------------------------------------------------------------


def rank(vectors):
    """Rank of vectors over the field of two elements, each the bits of a number."""
    basis = []
    for vector in vectors:
        rest = vector
        for each in basis:
            rest = min(rest, rest ^ each)
        if rest:
            basis.append(rest)
    return len(basis)


def exact_distance(rounds, dimension):
    """Distance of two people's packets of bits, moved as units, to uniform ones of the same total, for equal people.

    Given the two packets of each round, in no order, the choices of one of each reach a coset of the span of their
    differences, of which any ``rounds`` - 1 are uniform; the chance of the right one is 2^(dimension - rank) too large.
    """
    spans = [2 ** rank(each) for each in itertools.product(range(2**dimension), repeat=rounds - 1)]
    return 1 - sum(spans) / len(spans) / 2**dimension


@pytest.mark.parametrize(("given", "expected"), [row for row in rows("tuples-as-units") if row.values[0]["rounds"] < 6])
def test_packets_that_are_moved_as_units_are_further_off_than_all_their_coordinates_together(given, expected):
    found = exact_distance(given["rounds"], given["dimension"])
    assert found == pytest.approx(expected, abs=1e-5)
    if given["dimension"] > 1:
        alone = exact_distance(given["rounds"], 1)
        assert found > given["dimension"] * alone  # so that no bound on coordinates can be stated of packets


def test_packets_of_two_people_that_are_enumerated_are_as_far_off_as_their_ranks_say():
    rounds, size = 3, 4  # pairs of bits
    laws = []
    for values in ((0, 0), None):
        law = {}
        for first in itertools.product(range(size), repeat=rounds - 1):
            for second in itertools.product(range(size), repeat=rounds - 1):
                for own in range(size) if values is None else (0,):
                    packets = [(*mine, total ^ mine[0] ^ mine[1]) for mine, total in ((first, own), (second, own))]
                    seen = tuple(tuple(sorted(each)) for each in zip(*packets, strict=True))
                    law[seen] = law.get(seen, 0) + 1
        total = sum(law.values())
        laws.append({seen: count / total for seen, count in law.items()})
    far = sum(abs(laws[0].get(seen, 0) - laws[1].get(seen, 0)) for seen in laws[0].keys() | laws[1].keys()) / 2
    assert far == pytest.approx(exact_distance(rounds, 2))


def test_nothing_is_stated_about_packets_and_blocks_are_charged_by_the_size_of_their_group():
    settings = {"num_users": 1000, "epsilon": 1.0, "delta": 1e-6, "largest_norm": 1.0, "dimension": 10}
    model = sdp.calibrate.vector_sum(**settings).model
    packets = sdp.ParallelShuffler(sdp.UniformShuffler(), model.num_shares).model(1000)
    with pytest.raises(UnsupportedModelError, match="no theorem covers"):
        sdp.account(ProtocolModel(local=model, shuffle=packets), delta=1e-6)
    blocks = sdp.calibrate.vector_sum(**settings, block=5).model
    assert blocks.num_shares > model.num_shares
    protocol = ProtocolModel(local=blocks, shuffle=UniformShuffleModel(num_users=1000))
    mixing = mixing_distance(1000, blocks.num_shares, 0.0, blocks.modulus**5)
    stated = VectorSums().delta(protocol, epsilon=1.0)
    assert (1 + math.e) * 2 * mixing < stated <= 1e-6


@pytest.mark.deep
def test_the_attack_that_looks_along_the_difference_shows_much_of_what_is_stated_and_no_more():
    randomizer = sdp.calibrate.vector_sum(
        num_users=30, epsilon=3.0, delta=0.01, largest_norm=1.0, dimension=2, block=2, share_variance=64.0
    )
    pipeline = sdp.Pipeline(randomizer=randomizer, shuffler=sdp.UniformShuffler(), analyzer=sdp.SumAnalyzer())
    statement = sdp.account(pipeline.model(30), delta=0.01)
    found = audit(pipeline, statement, num_users=30, trials=600, confidence=0.9, source=SeededSource(3))
    assert not found.refuted
    assert 0.2 * statement.guarantee.epsilon < found.findings[0].evidence.epsilon_lower


def test_releases_are_charged_together():
    settings = {"num_users": 50_000, "delta": 1e-6, "largest_norm": 1.0, "dimension": 4}
    one = sdp.calibrate.vector_sum(**settings, epsilon=1.0).model
    many = sdp.calibrate.vector_sum(**settings, epsilon=1.0, releases=9).model
    assert many.sum_variance(50_000) == pytest.approx(9 * one.sum_variance(50_000), rel=0.1)
    protocol = ProtocolModel(local=one, shuffle=UniformShuffleModel(num_users=50_000))
    assert sdp.account(protocol, delta=1e-6).guarantee.epsilon <= 1.0
    again = ProtocolModel(local=type(one).from_dict({**one.to_dict(), "releases": 9}), shuffle=protocol.shuffle)
    assert sdp.account(again, delta=1e-5).guarantee.epsilon > 2.2
