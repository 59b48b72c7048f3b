"""Shuffling, randomizing and both: against all data sets written out, and against each other."""

from itertools import combinations, product

import numpy as np
import pytest

from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage import compare_ways, target_vulnerability
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.shares.shufflers.imperfect import imperfect_shuffler
from shuffledp.randomizers import KaryRandomizedResponse, model_of_kind
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel

PRIORS = [(0.5, 0.5), (0.3, 0.7), (0.2, 0.3, 0.5), (1 / 3, 1 / 3, 1 / 3)]


def protocol(size, people, epsilon0=1.0, kind="k-rr"):
    local = model_of_kind(kind, epsilon0=epsilon0, domain_size=size)
    return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=people))


def brute_sample(prior, people, sample, gain):
    """The best guess about person 0 from the histogram of a random sample, over all data sets and all samples."""
    size, seen = len(prior), {}
    samples = list(combinations(range(people), sample))
    for values in product(range(size), repeat=people):
        chance = np.prod([prior[value] for value in values]) / len(samples)
        for chosen in samples:
            histogram = tuple(np.bincount([values[person] for person in chosen], minlength=size))
            seen.setdefault(histogram, np.zeros(size))[values[0]] += chance
    return sum((gain @ belief).max() for belief in seen.values())


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("careful", [False, True])
def test_a_shuffled_sample_tells_what_all_samples_of_all_data_sets_tell(prior, careful):
    size, gain = len(prior), None
    if careful:
        gain = np.vstack([np.eye(size), np.full(size, 0.45)])
    found = compare_ways(protocol(size, 5, epsilon0=2.5), prior=prior, gain=gain).way("sample")
    assert 1 <= found.people < 5
    expected = brute_sample(prior, 5, found.people, np.eye(size) if gain is None else gain)
    assert found.uninformed.value == pytest.approx(expected, abs=1e-12)
    assert found.uninformed.kind is Kind.EXACT


def test_one_person_more_in_the_sample_would_be_noticed():
    found = compare_ways(protocol(2, 5, epsilon0=2.5)).way("sample")
    assert abs(found.uninformed.value - brute_sample((0.5, 0.5), 5, found.people + 1, np.eye(2))) > 1e-3


def brute_strong_sample(prior, others, sample):
    """The same for somebody who knows the others' values."""
    seen = {}
    people = len(others) + 1
    samples = list(combinations(range(people), sample))
    for own, chance in enumerate(prior):
        values = (own, *others)
        for chosen in samples:
            histogram = tuple(np.bincount([values[person] for person in chosen], minlength=len(prior)))
            seen.setdefault(histogram, np.zeros(len(prior)))[own] += chance / len(samples)
    return sum(belief.max() for belief in seen.values())


@pytest.mark.parametrize("prior", PRIORS)
def test_nobody_who_knows_all_others_learns_more_from_a_sample(prior):
    size = len(prior)
    uniform = max(prior) == min(prior)
    found = compare_ways(protocol(size, 5, epsilon0=2.5), prior=None if uniform else prior).way("sample")
    worst = max(brute_strong_sample(prior, others, found.people) for others in product(range(size), repeat=4))
    assert found.strong.kind is (Kind.EXACT if uniform else Kind.UPPER_BOUND)
    if uniform:
        assert found.strong.value == pytest.approx(worst, abs=1e-12)
    assert found.strong.lower - 1e-12 <= worst <= found.strong.upper + 1e-12


def test_each_way_is_what_it_says():
    model = protocol(3, 40)
    found = compare_ways(model, prior=(0.2, 0.3, 0.5))
    randomizing, shuffling, _, both = found.ways
    p = model.local.p
    local = sum(max(q * (p if x == y else (1 - p) / 2) for x, q in enumerate((0.2, 0.3, 0.5))) for y in range(3))
    assert randomizing.uninformed.value == randomizing.strong.value == pytest.approx(local, abs=1e-12)
    assert shuffling.strong.value == pytest.approx(1.0, abs=1e-12)
    assert both.uninformed == target_vulnerability(model, prior=(0.2, 0.3, 0.5))
    assert both.strong == target_vulnerability(model, prior=(0.2, 0.3, 0.5), adversary="strong")
    assert found.prior == pytest.approx(0.5)
    assert [way.name for way in found.ways] == ["randomizing", "shuffling", "sample", "both"]
    assert found.left_out == ()


@pytest.mark.parametrize(("size", "people"), [(2, 1000), (5, 1000), (8, 20_000)])
def test_the_sample_errs_as_much_as_randomizing(size, people):
    randomizing, shuffling, sample, both = compare_ways(protocol(size, people)).ways
    assert sample.error == pytest.approx(randomizing.error, rel=0.01)
    assert (shuffling.error, both.error) == (0.0, randomizing.error)
    share = 1 / size
    expected = np.sqrt(share * (1 - share) / sample.people * (people - sample.people) / (people - 1))
    assert sample.error == pytest.approx(expected, rel=1e-12)


def test_shuffling_protects_from_the_uninformed_and_only_both_from_those_who_know_the_rest():
    randomizing, shuffling, sample, both = compare_ways(protocol(5, 1000)).ways
    assert both.uninformed.value < sample.uninformed.value < shuffling.uninformed.value < randomizing.uninformed.value
    assert sample.uninformed.additive_leakage < 1.05 * both.uninformed.additive_leakage
    assert sample.strong.additive_leakage > 10 * both.strong.additive_leakage
    assert both.strong.value < sample.strong.value < randomizing.strong.value < shuffling.strong.value == 1


def test_what_is_too_dear_is_bounded():
    found = compare_ways(protocol(3, 300, kind="oue"))
    both = found.way("both")
    assert both.uninformed.kind is both.strong.kind is Kind.UPPER_BOUND
    assert both.uninformed.value < both.strong.value < found.way("randomizing").strong.value
    assert "'monte-carlo' estimates it" in both.uninformed.note
    assert found.left_out == ()


def test_what_one_method_cannot_evaluate_is_left_out_with_a_reason_and_the_rest_is_there():
    several = compare_ways(protocol(4, 2000), prior=[0.1, 0.2, 0.3, 0.4], method="quick")
    assert several.way("both").uninformed.additive_leakage < 1e-12
    assert several.way("both").strong is None
    assert "what the others may hold of 4 values" in several.left_out[0]


def test_a_shuffle_that_is_not_uniform_is_compared_without_a_sample():
    local = model_of_kind("k-rr", epsilon0=1.0, domain_size=2)
    found = compare_ways(ProtocolModel(local=local, shuffle=imperfect_shuffler(imperfection=1.0).model(50)))
    assert found.way("sample") is None
    uniform = compare_ways(protocol(2, 50))
    for adversary in ("uninformed", "strong"):
        values = [getattr(each.way("both"), adversary).value for each in (uniform, found)]
        assert values[0] < values[1]
    alone = compare_ways(ProtocolModel(local=local, shuffle=IdentityShuffleModel(num_users=50)))
    assert alone.way("both").uninformed.value == alone.way("randomizing").uninformed.value == local.p
    assert alone.way("shuffling").uninformed.value == 1


@pytest.mark.parametrize("kind", ["laplace", "ldp"])
def test_a_randomizer_that_is_no_table_is_refused(kind):
    model = ProtocolModel(local=model_of_kind(kind, epsilon0=1.0), shuffle=UniformShuffleModel(num_users=9))
    with pytest.raises(UnsupportedModelError, match="as a table"):
        compare_ways(model)


def test_quick_refuses_what_is_slow_and_says_the_same_else():
    quick, slow = (compare_ways(protocol(3, 2000), method=method) for method in ("quick", "auto"))
    assert quick.way("both").uninformed == slow.way("both").uninformed
    assert quick.way("both").strong.value == pytest.approx(slow.way("both").strong.value, abs=1e-12)
    many = compare_ways(protocol(3, 20_000), method="quick").way("both").strong
    assert (many.kind, many.method) == (Kind.UPPER_BOUND, "pairs")
    assert many.lower <= compare_ways(protocol(3, 20_000)).way("both").strong.value <= many.upper


def test_reports_that_may_be_lost_are_no_exact_answer_for_the_strong_adversary():
    walks = RandomWalkShuffler(
        graph=Graph.from_edges(list(combinations(range(8), 2))), num_rounds=3, protocol="single", dummy_value=0
    )
    local = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
    strong = compare_ways(ProtocolModel(local=local, shuffle=walks.model(8)), sampling=False).way("shuffling").strong
    assert (strong.kind, strong.upper) == (Kind.UPPER_BOUND, 1.0)
    assert strong.lower < 1
