"""Masked prefixes: all people hide each other whatever the hash, and hashes of two prefixes are independent."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from shuffledp import MaskedPrefixes, ProtocolModel, TextCode, UniformShuffler
from shuffledp.accounting import account_all, delta_at
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.statement_terms import Kind
from shuffledp.randomizers import MaskedPrefixModel
from shuffledp.randomizers.prefix_hashes import (
    _by_arrays,
    _by_loop,
    expanded,
    key_of,
    support_counts,
    top_bits,
)
from shuffledp.testing import RecordedSource, SeededSource

CODE = TextCode("letters", 16)
DRAWN = np.random.default_rng(12)


def model_of(epsilon0=6.6, **changes):
    return MaskedPrefixModel.from_epsilon0(**{"epsilon0": epsilon0, "num_bits": 80} | changes)


def seeds(count, label=0):
    return SeededSource(label).words(count)


# ---- what is guaranteed: brute force with any hash -----------------------------------------------------------------


def law_of(word, table, chances, truth, part=None):
    """Law of a report of a word of two bits, one bit a chunk, with the masks of a few seeds in a table."""
    lie, law = 1 - truth, Counter()
    for each in range(3) if part is None else [part]:
        for seed, masks in enumerate(table):
            mask = (0, masks[0][word[0]], masks[1][word])[each]
            value = (mask + (word[each] if each < 2 else 0)) % 2
            share = (chances[each] if part is None else 1) / len(table)
            law[each, seed, value] += share * truth
            law[each, seed, 1 - value] += share * lie
    return law


def law_of_multiset(laws):
    total = Counter({(): 1.0})
    for law in laws:
        more = Counter()
        for view, chance in total.items():
            for report, own in law.items():
                more[tuple(sorted((*view, report)))] += chance * own
        total = more
    return total


def delta_of(first, second, epsilon):
    return sum(max(chance - math.exp(epsilon) * second[view], 0.0) for view, chance in first.items())


WORDS = list(itertools.product((0, 1), repeat=2))


def tables():
    """Masks of two seeds: none, always the same, and random ones."""
    for kind in ("none", "equal", "random", "random"):
        make = {"none": lambda: 0, "equal": lambda: 1, "random": lambda: int(DRAWN.integers(2))}[kind]
        yield [({bit: make() for bit in (0, 1)}, {word: make() for word in WORDS}) for _ in range(2)]


@pytest.mark.parametrize(
    ("epsilon0", "num_users"),
    [(1.0, 2), *(pytest.param(epsilon0, 3, marks=pytest.mark.deep) for epsilon0 in (1.0, 3.0))],
)
def test_no_data_set_of_few_people_loses_more_than_is_stated_with_any_hash(epsilon0, num_users):
    local = MaskedPrefixModel.from_epsilon0(epsilon0=epsilon0, num_bits=2, prefix_bits=1)
    chances = [local.level_share] * 2 + [1 - 2 * local.level_share]
    model, closest = ProtocolModel(local=local, shuffle=UniformShuffler().model(num_users)), 0.0
    stated = {each: delta_at(model, epsilon=each).guarantee.delta for each in (0.2, 0.8)}
    for table in tables():
        laws = {word: law_of(word, table, chances, local.p) for word in WORDS}
        for others in itertools.combinations_with_replacement(WORDS, num_users - 1):
            views = {word: law_of_multiset([laws[word], *(laws[each] for each in others)]) for word in WORDS}
            for (first, second), epsilon in itertools.product(itertools.permutations(WORDS, 2), stated):
                truth = delta_of(views[first], views[second], epsilon)
                assert truth <= stated[epsilon] * (1 + 1e-9)
                closest = max(closest, truth / stated[epsilon])
    assert closest > 0.5


def test_a_part_that_others_know_would_lose_more_than_is_stated():
    local = MaskedPrefixModel.from_epsilon0(epsilon0=1.0, num_bits=2, prefix_bits=1)
    table = [({0: 0, 1: 0}, dict.fromkeys(WORDS, 0))]
    parts = (0, 1, 2)  # each person has another one, which everybody sees
    crowd = [law_of((0, 0), table, None, local.p, part) for part in parts[1:]]
    views = [law_of_multiset([law_of(word, table, None, local.p, parts[0]), *crowd]) for word in ((0, 0), (1, 0))]
    stated = delta_at(ProtocolModel(local=local, shuffle=UniformShuffler().model(3)), epsilon=0.2).guarantee.delta
    assert delta_of(*views, 0.2) > 1.2 * stated


def test_a_report_states_its_exact_local_loss_and_no_lower_bound_by_a_hash_that_is_not_known():
    model = ProtocolModel(local=model_of(6.6), shuffle=UniformShuffler().model(10_000))
    statements = account_all(model, delta=1e-6)
    assert [each.kind for each in statements] == [Kind.UPPER_BOUND, Kind.EXACT]
    assert statements[0].basis.theorem == "blanket-two-level"
    assert statements[1].guarantee.epsilon == pytest.approx(6.6, abs=1e-6)


# ---- hashes --------------------------------------------------------------------------------------------------------


def by_integers(seed, key, bits):
    """The hash by integers of any size."""
    import hashlib

    digest = hashlib.sha256(int(seed).to_bytes(8, "big")).digest()
    a, b = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big")
    return (a * int(key) + b) % 2**128 >> (128 - bits)


def test_hashes_are_the_top_bits_of_products_of_128_bits():
    drawn, keys = seeds(300), seeds(300, 1) >> np.uint64(2)
    for bits in (1, 10, 16, 20, 32):
        found = top_bits(expanded(drawn), keys, bits)
        assert found.tolist() == [by_integers(seed, key, bits) for seed, key in zip(drawn, keys, strict=True)]


@pytest.mark.parametrize("first_bit", [0, 13, 40, 56, 60, 61])
def test_prefixes_that_differ_in_one_bit_meet_as_often_as_chance_has_it(first_bit):
    count, bits = 200_000, 8
    functions, key = expanded(seeds(count, first_bit)), 0x1234567 << 20
    one, other = (top_bits(functions, np.full(count, each, np.uint64), bits) for each in (key, key ^ (1 << first_bit)))
    meet = np.count_nonzero(one == other)
    expected = count / 2**bits
    assert abs(meet - expected) < 6 * math.sqrt(expected)
    differences = np.bincount(((one - other) & np.uint64(255)).astype(np.int64), minlength=256)
    assert np.abs(differences - expected).max() < 6 * math.sqrt(expected)


def test_words_of_64_bits_would_let_prefixes_meet_far_too_often():
    count, bits = 50_000, 8
    a, b = seeds(count, 3), seeds(count, 4)
    key = np.uint64(5)
    one, other = ((a * each + b) >> np.uint64(64 - bits) for each in (key, key ^ np.uint64(1 << 60)))
    assert np.count_nonzero(one == other) > 10 * count / 2**bits


def test_long_prefixes_have_fingerprints_of_62_bits():
    assert key_of(2**62 - 1, 62) == 2**62 - 1
    found = {key_of(prefix << 40 | 1, 100) for prefix in range(1000)}
    assert len(found) == 1000
    assert max(found) < 2**62
    assert key_of(1, 70) != key_of(1, 71)


def test_both_ways_of_counting_agree():
    functions, values = expanded(seeds(2000)), seeds(2000, 1) >> np.uint64(54)
    for key in (0, 5, 2**62 - 1):
        plain = _by_arrays(functions, values, np.uint64(key), 10)
        assert plain.tolist() == _by_loop(functions, values, np.uint64(key), 10).tolist()
        assert plain.sum() == 2000
        assert support_counts(functions, values, np.array([key], np.uint64), 10).tolist() == [plain[0]]


# ---- reports -------------------------------------------------------------------------------------------------------


def test_parts_have_one_law_for_all_texts_and_reports_support_their_own_text():
    randomizer = MaskedPrefixes(epsilon0=6.6, num_bits=80)
    texts = randomizer.coded(["nurse"] * 20_000, CODE)
    reports = randomizer.randomize(texts, source=SeededSource(2))
    model = randomizer.model
    shares = np.bincount(reports["part"], minlength=9) / 20_000
    assert shares[:8] == pytest.approx(np.full(8, 0.1), abs=0.012)
    assert shares[8] == pytest.approx(0.2, abs=0.015)
    supported = model.supports(reports.columns, texts[0])
    for part in range(9):
        assert supported[reports["part"] == part].mean() == pytest.approx(model.p, abs=0.06)
    other = model.supports(reports.columns, randomizer.coded(["clerk"], CODE)[0])
    assert other[reports["part"] != 0].mean() < 0.01


def test_words_at_the_ends_choose_the_first_and_the_last_part():
    model, last = model_of(), (1 << 64) - 1
    assert model.parts_of(np.array([0, last], dtype=np.uint64)).tolist() == [0, 8]
    randomizer = MaskedPrefixes.from_model(model)
    answers = randomizer.coded(["nurse"], CODE)
    reports = randomizer.randomize(answers, source=RecordedSource([last, 7, 0]))
    assert (reports["part"][0], reports["seed"][0]) == (8, 7)
    assert model.supports(reports.columns, answers[0]).all()


@pytest.mark.parametrize(
    ("epsilon0", "bits", "chunk"), [(6.62, 80, 10), (9.14, 80, 14), (11.03, 80, 16), (6.62, 40, 10)]
)
def test_chunks_suit_the_loss(epsilon0, bits, chunk):
    assert model_of(epsilon0, num_bits=bits).prefix_bits == chunk


@pytest.mark.parametrize("changes", [{"num_bits": 0}, {"num_bits": 513}, {"prefix_bits": 0}, {"prefix_bits": 21}])
def test_other_parameters_are_refused(changes):
    with pytest.raises(InvalidParameterError, match=f"{next(iter(changes))} must be"):
        model_of(**changes)


def test_values_that_are_no_codes_are_refused_without_being_shown():
    randomizer = MaskedPrefixes(epsilon0=6.6, num_bits=80)
    with pytest.raises(InvalidParameterError, match=r"texts\[1\] is none"):
        randomizer.coded(["nurse", 31337], CODE)
    with pytest.raises(InvalidParameterError, match=r"values must be codes in 8 chunks"):
        randomizer.randomize([1, 2, 3])
    with pytest.raises(InvalidParameterError, match=r"values\[0\] is outside range\(1024\)") as caught:
        randomizer.randomize(np.full((1, 8), 31337))
    assert "31337" not in str(caught.value)
    with pytest.raises(InvalidParameterError, match="code must be one of 80 bits"):
        randomizer.coded(["nurse"], TextCode("letters", 8))
