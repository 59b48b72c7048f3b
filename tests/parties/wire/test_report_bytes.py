"""Reports of every kind of the registry as bytes of a fixed length."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import CountedBits, KaryRandomizedResponse, SplitAndMix, calibrate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.randomizers import KINDS, model_of_kind, parameters_of_kind
from shuffledp.testing import SeededSource

SIZES = {
    "blanket_messages": (0.5, 2.5),  # of small and of large reports
    "domain_size": (3, 1000),
    "lower": (0.0, -5.0),
    "upper": (1.0, 1e6),
    "num_steps": (16, 10**6),
    "num_levels": (3, 300),
    "dimension": (2, 40),
    "num_options": (3, 300),
    "at_most": (1, 1),
    "num_bits": (16, 80),
}
PROTOCOLS = {
    "split-and-mix": (
        SplitAndMix(num_users=100, epsilon=1.0, lower=0, upper=1, num_shares=3),
        SplitAndMix(num_users=10**6, epsilon=1.0, lower=0, upper=1, num_shares=300, dimension=2),
    ),
    "counted-bits": (
        CountedBits(num_users=100, lower=0, upper=1, value_bits=2, coins=1),
        CountedBits(num_users=10**6, lower=-5, upper=1e6, value_bits=60, coins=30),
    ),
    "vector-sum": (
        calibrate.vector_sum(num_users=100, epsilon=2.0, delta=1e-4, largest_norm=1.0, dimension=2),
        calibrate.vector_sum(num_users=1000, epsilon=2.0, delta=1e-4, largest_norm=1.0, dimension=40, block=5),
    ),
}
LENGTHS = {
    "k-rr": (1, 2),
    "k-rr-blanket": (1, 2),
    "oue": (1, 125),
    "sue": (1, 125),
    "olh": (9, 9),
    "hadamard": (1, 2),
    "subset": (1, 125),
    "laplace-mean": (8, 8),
    "one-bit-mean": (1, 1),
    "rounded-mean": (1, 2),
    "priv-unit": (16, 320),
    "columns": (2, 3),
    "one-option": (2, 3),
    "all-sets": (1, 2),
    "masked-prefix": (10, 10),
    "split-and-mix": (3, 6),
    "counted-bits": (1, 1),
    "vector-sum": (3, 21),
}
EVERY = [(kind, size) for kind in KINDS for size in (0, 1)]


def randomizer_of(kind, size):
    if kind in PROTOCOLS:
        return PROTOCOLS[kind][size]
    required = [name for name, needed in parameters_of_kind(kind).items() if needed]
    chosen = {name: SIZES[name][size] for name in required}
    if kind in ("laplace-mean", "rounded-mean"):
        chosen |= {name: SIZES[name][size] for name in ("num_steps", "num_levels") if name in parameters_of_kind(kind)}
    return model_of_kind(kind, epsilon0=1.5, **chosen).randomizer()


def reports_of(kind, size, people=40, seed=3):
    """Reports of a kind on values from all over its range."""
    randomizer = randomizer_of(kind, size)
    model, numbers = randomizer.model, np.random.default_rng(seed)
    dimension = getattr(model, "dimension", 1)
    if randomizer.answers == "multi-select":
        values = np.zeros((people, model.num_options), dtype=np.int64)
        values[np.arange(people), numbers.integers(model.num_options, size=people)] = 1
    elif randomizer.answers == "open":
        values = numbers.integers(2, size=(people, model.num_levels))
    elif randomizer.answers in ("category", "blanketed"):
        values = numbers.integers(model.domain_size, size=people)
    elif randomizer.answers == "vector":
        values = numbers.normal(size=(people, dimension))
        values /= np.linalg.norm(values, axis=1, keepdims=True)
    else:
        values = numbers.uniform(model.lower, model.upper, size=(people, dimension) if dimension > 1 else people)
    return randomizer.randomize(values, source=SeededSource(seed))


@pytest.mark.parametrize(("kind", "size"), EVERY)
def test_reports_of_every_kind_are_found_again_in_bytes_of_one_length(kind, size):
    reports = reports_of(kind, size)
    layout = ReportLayout.of(reports.model)
    blobs = layout.encode(reports)
    again, malformed = layout.decode(blobs)
    assert {len(blob) for blob in blobs} == {layout.length}
    assert again == reports
    assert {name: column.dtype for name, column in again.columns.items()} == {
        name: column.dtype for name, column in reports.columns.items()
    }
    assert malformed.size == 0
    assert layout.encode(again) == blobs


@pytest.mark.parametrize(("kind", "size"), EVERY)
def test_the_length_is_that_of_the_page_and_does_not_change(kind, size):
    assert ReportLayout.of(randomizer_of(kind, size).model).length == LENGTHS[kind][size]


@pytest.mark.parametrize(("kind", "size"), EVERY)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_a_malformed_report_is_told_apart_from_those_beside_it(kind, size, data):
    reports = reports_of(kind, size)
    layout = ReportLayout.of(reports.model)
    blobs = layout.encode(reports)
    replaced = data.draw(
        st.dictionaries(st.integers(0, len(blobs) - 1), st.binary(max_size=layout.length + 1), max_size=5)
    )
    mixed = [replaced.get(place, blob) for place, blob in enumerate(blobs)]
    found, malformed = layout.decode(mixed)
    assert set(malformed.tolist()) <= set(replaced)
    kept = [blob for place, blob in enumerate(mixed) if place not in set(malformed.tolist())]
    assert layout.encode(found) == kept
    for place in malformed:  # alone it is refused as well, and what is kept would be kept
        assert layout.decode([mixed[place]])[1].tolist() == [0]


def test_rows_out_of_range_of_another_length_or_empty_are_malformed():
    layout = ReportLayout.of(KaryRandomizedResponse(epsilon0=1.0, domain_size=300).model)
    found, malformed = layout.decode([b"\x01\x2b", b"\x01\x2c", b"", b"\x00", b"\x00\x00\x00", b"\xff\xff", b"\0\0"])
    assert found["value"].tolist() == [299, 0]
    assert malformed.tolist() == [1, 2, 3, 4, 5]


def test_nothing_at_all_is_no_report():
    layout = ReportLayout.of(randomizer_of("olh", 0).model)
    found, malformed = layout.decode([])
    assert len(found) == len(malformed) == 0
    assert layout.encode(found) == []


def test_reports_of_another_model_have_no_bytes():
    layout = ReportLayout.of(randomizer_of("k-rr", 0).model)
    with pytest.raises(InvalidParameterError, match="must be of the model that the layout is for"):
        layout.encode(reports_of("k-rr", 1))


def test_what_is_a_description_alone_has_no_layout():
    with pytest.raises(UnsupportedModelError, match="no reports can be made"):
        ReportLayout.of(model_of_kind("ldp", epsilon0=1.0))


def test_numbers_begin_with_their_most_significant_byte_and_columns_follow_each_other():
    model = SplitAndMix(num_users=10**6, epsilon=1.0, lower=0, upper=1, num_shares=300).model
    reports = Reports({"residue": [1], "round": [258]}, model)
    assert ReportLayout.of(model).encode(reports) == [b"\x00\x00\x00\x01\x01\x02"]
