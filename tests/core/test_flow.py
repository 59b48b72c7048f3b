"""Reports and views one by one; what all five kinds of views share is in contracts/test_five_views.py."""

import copy
import json
import pickle

import numpy as np
import polars as pl
import pytest

from contracts.siblings import ResidueModel, RoundShuffleModel, SlotShuffleModel, SubmitterShuffleModel
from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Analyzer, Randomizer, Reports, Shuffler, Summary, View
from shuffledp.core.table import Table
from shuffledp.randomizers import KaryRandomizedResponse, KaryRandomizedResponseModel, TickColumns
from shuffledp.shufflers import IdentityShuffler, UniformShuffleModel, UniformShuffler
from shuffledp.testing import RecordedSource, SeededSource

MODEL = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=5)
RANDOMIZER = KaryRandomizedResponse.from_model(MODEL)
OTHER = KaryRandomizedResponseModel.from_epsilon0(epsilon0=2.0, domain_size=5)
OTHER_DOMAIN = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=2)
REPORTS = Reports({"value": np.array([4, 0, 2, 2], dtype=np.uint8)}, MODEL)


def view(**changes) -> View:
    return View(**({"reports": REPORTS, "shuffle": UniformShuffleModel(num_users=4)} | changes))


# ---- reports --------------------------------------------------------------------------------------------------------


def test_reports_keep_their_model_through_everything_a_shuffler_does():
    assert len(REPORTS) == 4
    assert REPORTS.take([3, 1]).model == MODEL
    assert Reports.concat([REPORTS, REPORTS.take([0])])["value"].tolist() == [4, 0, 2, 2, 4]
    assert Reports.concat([REPORTS, REPORTS]).model == MODEL


def test_reports_of_another_model_are_different_reports():
    assert Reports({"value": [4, 0, 2, 2]}, MODEL) == REPORTS
    assert Reports(REPORTS.columns, OTHER) != REPORTS
    assert Table(REPORTS.columns) != REPORTS
    with pytest.raises(TypeError):
        hash(REPORTS)


def test_reports_of_different_models_are_not_concatenated():
    for foreign in (Reports(REPORTS.columns, OTHER), Table(REPORTS.columns)):
        with pytest.raises(InvalidParameterError, match="parts must all be reports of one model"):
            Reports.concat([REPORTS, foreign])


def test_the_message_about_columns_that_are_no_reports_shows_no_report():
    with pytest.raises(InvalidParameterError) as caught:
        Reports({"value": np.array([0, 4321, 1])}, MODEL)
    assert str(caught.value) == "reports must be integers in range(5); 1 outside, first reports[1]."
    with pytest.raises(InvalidParameterError, match=r"one integer column 'value'; got value \(float64, 1-d\)\.$"):
        Reports({"value": np.array([0.4321])}, MODEL)


def test_users_are_counted_by_their_messages():
    residues = Reports({"residue": np.arange(6)}, ResidueModel(modulus=7, num_messages=3))
    assert (REPORTS.num_users, residues.num_users) == (4, 2)
    with pytest.raises(InvalidParameterError, match="reports must be num_messages=3 per user; got 5 reports"):
        residues.take(slice(5)).num_users  # noqa: B018


def test_arrow_carries_the_model_and_a_table_without_one_says_what_to_do():
    assert Reports.from_arrow(REPORTS.to_arrow()) == REPORTS
    for foreign in (Table(REPORTS.columns).to_arrow(), pl.DataFrame({"value": [4, 0]})):
        with pytest.raises(InvalidParameterError, match=r"table must hold a model, .* use from_table with a model"):
            Reports.from_arrow(foreign)
    assert Reports.from_table(Table.from_arrow(pl.DataFrame({"value": [4, 0, 2, 2]})), MODEL) == REPORTS


@pytest.mark.parametrize("missing", ["columns", "model", "seeded"])
def test_a_description_that_lacks_a_part_is_refused(missing):
    written = REPORTS.to_dict()
    del written[missing]
    with pytest.raises(InvalidParameterError, match=f"keys columns, model, seeded; got none for '{missing}'"):
        Reports.from_dict(written)


def test_reports_are_shown_by_columns_and_number_only():
    assert repr(REPORTS) == "Reports(value; 4 rows)"


# ---- views ----------------------------------------------------------------------------------------------------------


def test_a_view_is_shown_without_its_reports():
    assert repr(view()) == "View(4 reports of 'k-rr', 'uniform' shuffle, no labels)"
    labelled = view(labels=np.arange(4), shuffle=SlotShuffleModel(num_users=4))
    assert repr(labelled) == "View(4 reports of 'k-rr', 'test-slots' shuffle, labels are slots)"


def test_the_constructor_draws_the_order_itself_from_the_cryptographic_source_by_default():
    many = Reports({"value": np.arange(1000) % 5}, MODEL)
    shuffle = UniformShuffleModel(num_users=1000)
    first, second = (View(reports=many, shuffle=shuffle) for _ in range(2))
    assert first.reports != second.reports
    assert first == second


def test_the_order_is_the_permutation_that_the_source_gives():
    # Fisher-Yates from the end: place i changes with place floor(word (i + 1) / 2^64), so 3 with 2, 2 with 1, 1 with 0.
    recorded = RecordedSource([2**63, 2**63, 0])
    assert view(source=recorded).reports == REPORTS.take([3, 0, 1, 2])
    assert recorded.remaining == 0


def test_labels_that_are_all_different_need_no_randomness():
    nothing = RecordedSource([])
    sorted_slots = view(labels=np.arange(4), shuffle=SlotShuffleModel(num_users=4), source=nothing)
    assert sorted_slots.reports["value"].tolist() == [4, 0, 2, 2]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_labels_of_every_integer_type_become_int64(dtype):
    labelled = view(labels=np.array([1, 0, 1, 1], dtype=dtype), shuffle=SubmitterShuffleModel(num_users=2))
    assert labelled.labels.dtype == np.int64
    assert labelled.labels.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("labels", [[1, 0, 1, 1], (0, 0, 0, 1)])
def test_labels_may_come_as_a_list(labels):
    assert view(labels=labels, shuffle=SubmitterShuffleModel(num_users=2)).labels.tolist() == sorted(labels)


@pytest.mark.parametrize("labels", [[True, False, True, True], ["0", "1", "1", "1"], [0.0, 1.0, 1.0, 1.0], 3])
def test_labels_that_are_no_integers_are_refused(labels):
    with pytest.raises(InvalidParameterError, match=r"one integer per report, shape \(4,\)"):
        view(labels=labels, shuffle=SubmitterShuffleModel(num_users=2))


def test_parts_are_views_that_hold_every_report_once():
    whole = view(labels=np.array([2, 0, 2, 1]), shuffle=RoundShuffleModel(num_users=4, num_rounds=3))
    parts = list(whole.parts(3))
    assert [len(part) for part in parts] == [3, 1]
    rejoined = View(
        reports=Reports.concat([part.reports for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
        shuffle=whole.shuffle,
    )
    assert rejoined == whole
    assert list(view(reports=REPORTS.take([])).parts(3)) == []
    with pytest.raises(InvalidParameterError, match="size must be an integer that is 1 or more"):
        list(whole.parts(0))


def test_views_differ_if_anything_public_does():
    places = Table({"place": ["a", "b", "c", "d"]})
    slots = {"labels": np.arange(4), "shuffle": SlotShuffleModel(num_users=4)}
    assert view(**slots, label_table=places) == view(**slots, label_table=places)
    assert view(**slots, label_table=places) != view(**slots)
    assert view(**slots) != view()
    assert view(shuffle=UniformShuffleModel(num_users=5)) != view()
    assert view(reports=Reports(REPORTS.columns, OTHER)) != view()
    assert view(reports=REPORTS.take([0, 1, 2])) != view()
    assert view() != "a view"
    with pytest.raises(TypeError):
        hash(view())


def test_views_that_hold_a_report_another_number_of_times_differ():
    assert view(reports=REPORTS.take([0, 0, 1, 2])) != view(reports=REPORTS.take([0, 1, 1, 2]))


def test_a_view_is_read_back_with_another_order_of_rows_and_is_the_same_view():
    many = Reports({"value": np.arange(1000) % 5}, MODEL)
    original = View(reports=many, shuffle=UniformShuffleModel(num_users=1000), source=SeededSource(1))
    read = View.from_dict(original.to_dict())
    assert read == original
    assert read.reports != original.reports


# ---- interfaces -----------------------------------------------------------------------------------------------------


def test_interfaces_are_kept_by_shape_and_not_by_descent():
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    assert isinstance(randomizer, Randomizer)
    assert isinstance(UniformShuffler(), Shuffler)
    assert isinstance(FrequencyAnalyzer(), Analyzer)
    assert not isinstance(randomizer, Shuffler)
    assert not isinstance(UniformShuffler(), Analyzer)
    assert not isinstance(FrequencyAnalyzer(), Randomizer)


def test_a_summary_is_a_description():
    reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([0, 1])
    assert isinstance(FrequencyAnalyzer().summarize(UniformShuffler().shuffle(reports)), Summary)


# ---- a seed is not forgotten ----------------------------------------------------------------------------------------


def test_what_is_made_of_seeded_reports_is_seeded():
    plain = RANDOMIZER.randomize([0, 1, 0])
    seeded = RANDOMIZER.randomize([0, 1, 0], source=SeededSource(1))
    assert (plain.seeded, seeded.seeded) == (False, True)
    for made in (
        seeded.take([1]),
        Reports.concat([plain, seeded]),
        Reports.concat([seeded, plain]),
        Reports.from_dict(json.loads(json.dumps(seeded.to_dict()))),
        Reports.from_arrow(seeded.to_arrow()),
        Reports.from_table(seeded, seeded.model, seeded=seeded.seeded),
        UniformShuffler().shuffle(seeded),
        IdentityShuffler().shuffle(seeded),
    ):
        assert made.seeded is True
    assert Reports.from_arrow(plain.to_arrow()).seeded is False
    assert Reports.from_dict(plain.to_dict()).seeded is False
    assert Reports.concat([plain, plain]).seeded is False


@pytest.mark.parametrize("shuffler", [UniformShuffler(), IdentityShuffler()])
def test_a_view_is_seeded_if_anything_that_made_it_was(shuffler):
    plain = RANDOMIZER.randomize([0, 1, 0])
    assert shuffler.shuffle(plain).seeded is False
    view = shuffler.shuffle(plain, source=SeededSource(1))
    assert view.seeded is True
    assert View.from_dict(json.loads(json.dumps(view.to_dict()))).seeded is True
    assert [part.seeded for part in view.parts(2)] == [True, True]
    assert View.from_dict(shuffler.shuffle(plain).to_dict()).seeded is False


def unpickled(made):
    return pickle.loads(pickle.dumps(made))  # noqa: S301


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, unpickled])
@pytest.mark.parametrize("source", [None, SeededSource(1)])
def test_copies_and_pickles_are_checked_and_as_seeded_as_what_they_are_of(copied, source):
    reports = RANDOMIZER.randomize([0, 1, 2, 3, 4] * 20, source=source)
    for made in (reports, UniformShuffler().shuffle(reports), IdentityShuffler().shuffle(reports)):
        again = copied(made)
        assert again == made
        assert again.seeded is made.seeded is (source is not None)
        column = (again if isinstance(again, Reports) else again.reports)["value"]
        assert not column.flags.writeable
    assert not again.labels.flags.writeable
    object.__setattr__(reports, "model", OTHER_DOMAIN)  # a pickle of what could not have been made
    with pytest.raises(InvalidParameterError):
        copied(reports)


def test_a_view_that_was_pickled_has_a_fresh_order():
    reports = RANDOMIZER.randomize([0, 1, 2, 3, 4] * 200)
    view = UniformShuffler().shuffle(reports)
    again = unpickled(view)
    assert again == view
    assert again.reports["value"].tolist() != view.reports["value"].tolist()


def test_a_table_that_does_not_say_whether_it_is_seeded_is_not_read_as_reports():
    table = RANDOMIZER.randomize([0, 1]).to_arrow()
    metadata = {key: value for key, value in table.schema.metadata.items() if key != b"shuffledp.seeded"}
    with pytest.raises(InvalidParameterError, match="table must hold a model, as to_arrow writes it"):
        Reports.from_arrow(table.replace_schema_metadata(metadata))


@pytest.mark.parametrize("count", [2_000, 250_000])
def test_a_view_is_in_random_order_however_many_reports_it_has(count):
    # Far more than any block of words or batch of a kernel, and than what is exchanged in plain Python.
    many = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=2**20)
    places = np.arange(count, dtype=np.uint32)
    first, second = (
        View(reports=Reports({"value": places}, many), shuffle=UniformShuffleModel(num_users=count)).reports["value"]
        for _ in range(2)
    )
    for order in (first, second):
        assert (order == places).sum() < 20
        assert abs(np.corrcoef(order, places)[0, 1]) < 0.15
    assert (first == second).sum() < 20


def test_many_small_rows_are_shuffled_as_few_are(monkeypatch):
    """Mutants: columns shuffled apart, so that rows are torn; other words for many rows."""
    ticks = np.random.default_rng(1).random((50, 3)) < 0.4
    reports = TickColumns(epsilon0=1.0, num_options=3, at_most=3).randomize(ticks, source=SeededSource(1))
    few = UniformShuffler().shuffle(reports, source=SeededSource(2))
    monkeypatch.setattr("shuffledp.randomness.permutations._MANY_ROWS", 1)
    assert UniformShuffler().shuffle(reports, source=SeededSource(2)) == few
    wide = Reports(
        {"value": np.arange(9, dtype=np.int64) % 3},
        KaryRandomizedResponse(epsilon0=1.0, domain_size=3).model,
    )
    assert len(UniformShuffler().shuffle(wide)) == 9  # eight bytes each: as before
