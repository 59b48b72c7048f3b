"""The contract that fixed the types: six views by hand, of five systems, and everything that must hold for each."""

import functools
import itertools
import json
import operator
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from contracts.siblings import (
    MeanAnalyzer,
    ResidueModel,
    RoundShuffleModel,
    SlotShuffleModel,
    SubmitterShuffleModel,
    SumAnalyzer,
    VectorModel,
)
from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.core.errors import IncomparableError, InvalidParameterError
from shuffledp.core.flow import Analyzer, Reports, Summary, View
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.shuffle_models import DummyReports, ShuffleModel
from shuffledp.core.table import Table
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects

KRR = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.5, domain_size=4)
MODULUS = 2**61 - 1  # a float would round some residues
SHARES = np.array(  # of the values 3, 2 and 9: one row for each message, one column for each person
    [[5, MODULUS - 1, 2**60], [11, 2**55 + 1, 7], [MODULUS - 13, MODULUS - 2**55 + 2, MODULUS - 2**60 + 2]],
    dtype=np.uint64,
)
PLACES = Table({"place": ["Ulm", "Bonn", "Graz", "Bern", "Lyon", "Gent"], "x": [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]})


@dataclass(frozen=True)
class Case:
    """One hand-made view, and what its estimate must say."""

    name: str
    reports: Reports
    shuffle: ShuffleModel
    analyzer: Analyzer[Any]
    labels: list[int] | None = None
    label_table: Table | None = None

    def view(self, order: Any = slice(None), **changes: Any) -> View:
        labels = None if self.labels is None else np.array(self.labels)[order]
        arguments = {"reports": self.reports.take(order), "labels": labels, "label_table": self.label_table}
        return View(**(arguments | {"shuffle": self.shuffle} | changes))


UNIFORM = Case(
    name="uniform",
    reports=Reports({"value": np.array([3, 1, 1, 0, 2, 3, 3], dtype=np.uint8)}, KRR),
    shuffle=UniformShuffleModel(num_users=7),
    analyzer=FrequencyAnalyzer(),
)
SLOTS = Case(
    name="d_sigma: one report per slot, each slot a public place",
    reports=Reports({"value": np.array([3, 0, 1, 2, 2, 0], dtype=np.uint8)}, KRR),
    shuffle=SlotShuffleModel(num_users=6, concentration=0.7),
    analyzer=FrequencyAnalyzer(),
    labels=[4, 0, 2, 5, 1, 3],
    label_table=PLACES,
)
SUBMITTERS = Case(
    name="network: none or more reports per submitter, and dummies",
    reports=Reports({"value": np.array([0, 2, 2, 1, 0, 3, 0], dtype=np.uint8)}, KRR),
    shuffle=SubmitterShuffleModel(num_users=6, added=DummyReports(fraction=1 / 7, standard_error=0.02, value=0)),
    analyzer=FrequencyAnalyzer(),
    labels=[5, 0, 5, 2, 5, 0, 2],
    label_table=PLACES,
)
ROUNDS = Case(
    name="split-and-mix: a round for each message",
    reports=Reports({"residue": SHARES.reshape(-1)}, ResidueModel(modulus=MODULUS, num_messages=3)),
    shuffle=RoundShuffleModel(num_users=3, num_rounds=3),
    analyzer=SumAnalyzer(),
    labels=[0, 0, 0, 1, 1, 1, 2, 2, 2],
)
POSITIONS = Case(
    name="imperfect rounds: a place in the order of its round for each message",
    reports=Reports({"residue": SHARES.reshape(-1)}, ResidueModel(modulus=MODULUS, num_messages=3)),
    shuffle=ParallelShuffleModel(
        round=ImperfectShuffleModel(num_users=3, imperfection=0.5, construction="cayley"), num_rounds=3
    ),
    analyzer=SumAnalyzer(),
    labels=[2, 0, 1, 3, 4, 5, 7, 6, 8],
)
VECTORS = Case(
    name="vector mean",
    reports=Reports(
        {"vector": 1.5 * np.array([[1, 1, -1], [1, -1, -1], [-1, 1, 1], [1, 1, 1.0], [1, -1, 1]])},
        VectorModel(width=3, bound=1.5),
    ),
    shuffle=UniformShuffleModel(num_users=5),
    analyzer=MeanAnalyzer(),
)
CASES = [UNIFORM, SLOTS, SUBMITTERS, ROUNDS, POSITIONS, VECTORS]


@pytest.fixture(params=CASES, ids=lambda case: case.name.split(":")[0])
def case(request):
    return request.param


def orders(case: Case) -> list[np.ndarray]:
    """Orders in which the same rows may have come."""
    places = np.arange(len(case.reports))
    return [places, places[::-1], np.roll(places, 2), np.random.default_rng(1).permutation(places)]


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def summaries_of_parts(case: Case, size: int) -> list[Summary]:
    return [case.analyzer.summarize(part) for part in case.view().parts(size)]


# ---- a view is summarized in parts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_summaries_of_parts_add_up_to_the_summary_of_the_whole_in_any_order(case, size):
    whole = case.analyzer.summarize(case.view()).to_dict()
    parts = summaries_of_parts(case, size)
    assert functools.reduce(operator.add, parts).to_dict() == whole
    assert functools.reduce(operator.add, reversed(parts)).to_dict() == whole
    assert sum(len(part) for part in case.view().parts(size)) == len(case.reports)


def test_addition_of_summaries_is_associative_and_commutative(case):
    for first, second, third in itertools.permutations(summaries_of_parts(case, 2)[:3]):
        assert (first + second).to_dict() == (second + first).to_dict()
        assert ((first + second) + third).to_dict() == (first + (second + third)).to_dict()
        assert (first + second).to_dict() != first.to_dict()


def test_the_estimate_from_added_parts_is_the_estimate_of_the_whole(case):
    added = functools.reduce(operator.add, summaries_of_parts(case, 2))
    assert case.analyzer.estimate(added).rows() == case.analyzer.estimate(case.analyzer.summarize(case.view())).rows()


def test_summaries_of_different_randomizers_are_not_added(case):
    other = next(each for each in CASES if each.reports.model != case.reports.model)
    summary, foreign = (each.analyzer.summarize(each.view()) for each in (case, other))
    with pytest.raises(IncomparableError, match="must be of one model"):
        summary + foreign


def test_the_estimate_is_what_the_rows_by_hand_say():
    def estimate(case: Case) -> np.ndarray:
        return case.analyzer.estimate(case.analyzer.summarize(case.view())).estimate

    p, q = KRR.p, KRR.q
    np.testing.assert_allclose(estimate(UNIFORM), (np.array([1, 2, 1, 3]) / 7 - q) / (p - q))
    np.testing.assert_allclose(estimate(SLOTS), (np.array([2, 1, 2, 1]) / 6 - q) / (p - q))
    among_all = (np.array([3, 1, 2, 1]) / 7 - q) / (p - q)
    np.testing.assert_allclose(estimate(SUBMITTERS), (among_all - np.array([1 / 7, 0, 0, 0])) * 7 / 6)
    assert estimate(ROUNDS) == [3 + 2 + 9]
    assert estimate(POSITIONS) == [3 + 2 + 9]
    np.testing.assert_allclose(estimate(VECTORS), [0.9, 0.3, 0.3])


# ---- what is written can be read ------------------------------------------------------------------------------------


def test_a_view_survives_json(case):
    view = case.view()
    read = View.from_dict(through_json(view.to_dict()))
    assert read == view
    assert read.label_table == view.label_table
    assert read.shuffle == view.shuffle
    assert read.reports.model == view.reports.model
    assert {name: column.dtype for name, column in read.reports.columns.items()} == {
        name: column.dtype for name, column in view.reports.columns.items()
    }


def test_a_view_without_reports_survives_json(case):
    empty = case.view(np.array([], dtype=np.int64))
    assert len(empty) == 0
    assert View.from_dict(through_json(empty.to_dict())) == empty


def test_a_summary_survives_json_and_still_adds_up(case):
    first, second, *_ = summaries_of_parts(case, 3)
    read = type(second).from_dict(through_json(second.to_dict()))
    assert read.to_dict() == second.to_dict()
    assert (first + read).to_dict() == (first + second).to_dict()


def test_models_survive_json_and_are_found_by_their_kind(case):
    model = ProtocolModel(local=case.reports.model, shuffle=case.shuffle)
    assert ProtocolModel.from_dict(through_json(model.to_dict())) == model
    assert LocalModel.from_dict(through_json(model.local.to_dict())) == model.local
    assert ShuffleModel.from_dict(through_json(model.shuffle.to_dict())) == model.shuffle


def test_reports_survive_arrow_row_by_row(case):
    arrow = case.reports.to_arrow()
    assert arrow.num_rows == len(case.reports)
    assert Reports.from_table(Table.from_arrow(arrow), case.reports.model) == case.reports
    assert Reports.from_arrow(arrow) == case.reports


def test_a_label_table_survives_arrow():
    assert Table.from_arrow(PLACES.to_arrow()).to_dict() == PLACES.to_dict()


# ---- the order of rows says nothing ---------------------------------------------------------------------------------


def test_views_of_the_same_rows_in_other_orders_are_equal(case):
    for order in orders(case):
        assert case.view(order) == case.view()


def test_views_that_differ_in_one_report_or_one_label_are_not_equal(case):
    replaced = np.arange(len(case.reports))
    replaced[0] = 1 if case is not ROUNDS else 3
    assert case.view(reports=case.reports.take(replaced)) != case.view()
    if case.labels is not None:
        swapped = [case.labels[1], case.labels[0], *case.labels[2:]]
        across_rounds = [1, 0, 0, 0, *case.labels[4:]]
        assert case.view(labels=np.array(across_rounds if case is ROUNDS else swapped)) != case.view()


def test_residues_that_a_float_could_not_tell_apart_make_different_views():
    residues = SHARES.reshape(-1).copy()
    residues[residues == 2**55 + 1] = 2**55
    assert ROUNDS.view(reports=Reports({"residue": residues}, ROUNDS.reports.model)) != ROUNDS.view()


def test_rows_are_sorted_by_label_and_every_report_keeps_its_own(case):
    for order in orders(case):
        view = case.view(order)
        if case.labels is None:
            assert view.labels is None
            continue
        assert (np.diff(view.labels) >= 0).all()
        assert not view.labels.flags.writeable
        (column,) = case.reports
        given = zip(case.labels, case.reports[column].tolist(), strict=True)
        assert Counter(given) == Counter(zip(view.labels.tolist(), view.reports[column].tolist(), strict=True))


def rows_as_seen(view: View) -> tuple[int, ...]:
    return tuple(view.reports["value"].tolist())


def test_all_orders_of_indistinguishable_reports_are_equally_likely():
    model = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.5, domain_size=4)
    shuffle, source = UniformShuffleModel(num_users=4), SeededSource(20)
    reports = Reports({"value": np.arange(4)}, model)
    seen = Counter(rows_as_seen(View(reports=reports, shuffle=shuffle, source=source)) for _ in range(24_000))
    counts = [seen[order] for order in itertools.permutations(range(4))]
    assert_fits(counts, np.full(24, 1 / 24))
    assert_rejects(counts, np.array([1.4, 0.6] + [1.0] * 22) / 24)  # the order of arrival is a little likelier


def test_all_orders_among_equal_labels_are_equally_likely_even_if_labels_came_sorted():
    shuffle, source = SubmitterShuffleModel(num_users=2), SeededSource(21)
    reports, labels = Reports({"value": np.arange(4)}, KRR), np.array([0, 1, 1, 1])
    views = (View(reports=reports, labels=labels, shuffle=shuffle, source=source) for _ in range(6000))
    seen = Counter(rows_as_seen(view) for view in views)
    counts = [seen[(0, *order)] for order in itertools.permutations([1, 2, 3])]
    assert sum(counts) == 6000
    assert_fits(counts, np.full(6, 1 / 6))
    assert_rejects(counts, np.array([1.4, 0.6, 1, 1, 1, 1]) / 6)


def test_a_view_of_slots_shows_each_report_in_its_slot():
    by_slot = [report for _, report in sorted(zip(SLOTS.labels, SLOTS.reports["value"].tolist(), strict=True))]
    assert SLOTS.view().labels.tolist() == [0, 1, 2, 3, 4, 5]
    assert SLOTS.view().reports["value"].tolist() == by_slot


def test_submitters_without_a_report_are_still_in_the_label_table():
    view = SUBMITTERS.view()
    silent = sorted(set(range(6)) - set(view.labels.tolist()))
    assert silent == [1, 3, 4]
    assert view.label_table.take(silent)["place"].tolist() == ["Bonn", "Bern", "Lyon"]


def test_a_view_of_places_keeps_the_order_that_the_shuffle_gave():
    """With a round as its label, an imperfect shuffle would be perfected by the view's own permutation."""
    by_place = [
        report for _, report in sorted(zip(POSITIONS.labels, POSITIONS.reports["residue"].tolist(), strict=True))
    ]
    assert POSITIONS.view().reports["residue"].tolist() == by_place


# ---- what cannot be a view is refused -------------------------------------------------------------------------------

KRR_COLUMN = {"value": np.array([0, 1])}
REFUSED = [
    (UNIFORM, {"labels": np.arange(7)}, "labels must be None"),
    (UNIFORM, {"label_table": PLACES}, "labels must be given"),
    (VECTORS, {"labels": np.arange(5)}, "labels must be None"),
    (SLOTS, {"labels": None}, "labels must be given"),
    (SLOTS, {"labels": None, "label_table": None}, "labels must be given"),
    (SLOTS, {"labels": np.array([4, 0, 2, 5, 1, 1])}, "labels must be distinct slots"),
    (SLOTS, {"labels": np.array([4, 0, 2, 5, 1, 6])}, r"labels must be in range\(6\)"),
    (SLOTS, {"labels": np.array([4, 0, 2, 5, 1, 6]), "label_table": None}, r"labels must be in range\(6\)"),
    (SLOTS, {"labels": np.array([4, 0, 2, 5, 1, -1])}, r"labels must be in range\(6\)"),
    (SLOTS, {"labels": np.arange(5)}, "one integer per report"),
    (SLOTS, {"labels": np.arange(6) / 1}, "one integer per report"),
    (SLOTS, {"labels": np.arange(6).reshape(6, 1)}, "one integer per report"),
    (SLOTS, {"label_table": PLACES.take([0, 1, 2, 3, 4])}, "label_table must have one row per label, 6"),
    (SLOTS, {"label_table": Table.concat([PLACES, PLACES])}, "label_table must have one row per label, 6"),
    (SUBMITTERS, {"labels": None}, "labels must be given"),
    (SUBMITTERS, {"labels": np.array([5, 0, 5, 2, 5, 0, 6])}, r"labels must be in range\(6\)"),
    # Label 5 is used, so that a table without its row shows; then it is not, and the table is still too short.
    (SUBMITTERS, {"label_table": PLACES.take([0, 1, 2, 3, 4])}, "label_table must have one row per label, 6"),
    (SUBMITTERS, {"label_table": PLACES.take([0]), "labels": np.zeros(7, int)}, "label_table must have one row"),
    (ROUNDS, {"labels": None}, "labels must be given"),
    (POSITIONS, {"labels": None}, "labels must be given"),
    (POSITIONS, {"labels": np.array([2, 0, 1, 3, 4, 5, 7, 6, 6])}, "labels must be distinct positions"),
    (POSITIONS, {"labels": np.array([2, 0, 1, 3, 4, 5, 7, 6, 9])}, r"labels must be in range\(9\)"),
    (ROUNDS, {"labels": np.repeat([0, 1, 3], 3)}, r"labels must be in range\(3\)"),
]


@pytest.mark.parametrize(("case", "changes", "message"), REFUSED)
def test_what_cannot_be_a_view_is_refused(case, changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        case.view(**changes)


WRONG_COLUMNS = [
    (KRR, {"value": np.array([0, 4])}),
    (KRR, {"value": np.array([0, -1])}),
    (KRR, {"value": np.array([0.0, 1.0])}),
    (KRR, {"value": np.array([[0, 1]])}),
    (KRR, {"residue": np.array([0, 1])}),
    (KRR, {"value": np.array([0, 1]), "person": np.array([0, 1])}),
    (ROUNDS.reports.model, {"residue": np.array([0, MODULUS])}),
    (ROUNDS.reports.model, KRR_COLUMN),
    (VECTORS.reports.model, {"vector": np.full((2, 2), 1.5)}),
    (VECTORS.reports.model, {"vector": np.full((2, 3), 1.0)}),
    (VECTORS.reports.model, KRR_COLUMN),
]


@pytest.mark.parametrize(("model", "columns"), WRONG_COLUMNS)
def test_columns_that_cannot_be_reports_of_the_model_are_refused(model, columns):
    with pytest.raises(InvalidParameterError):
        Reports(columns, model)


def test_a_description_of_something_else_is_refused(case):
    written = through_json(case.view().to_dict())
    for key in written:
        with pytest.raises(InvalidParameterError, match="must be a table with the keys"):
            View.from_dict({name: value for name, value in written.items() if name != key})
    with pytest.raises(InvalidParameterError, match="kind must be one of"):
        View.from_dict(written | {"shuffle": {"kind": "test-unheard-of", "num_users": 3}})
    if case.labels is not None:
        with pytest.raises(InvalidParameterError, match="labels must be an array of int64"):
            View.from_dict(written | {"labels": [label + 0.5 for label in written["labels"]]})
