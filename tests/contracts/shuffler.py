"""What every shuffler keeps: inherit `ShufflerContract`, and say what it is and what its labels mean."""

import json
from collections import Counter
from typing import Any, ClassVar

import numpy as np
import pytest

from contracts.siblings import ResidueRandomizer, VectorModel
from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports, Shuffler, View
from shuffledp.core.shuffle_models import LabelMeaning, ShuffleModel
from shuffledp.core.table import Table
from shuffledp.pipeline import Pipeline
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import SeededSource

PEOPLE = 60
RANDOMIZER = KaryRandomizedResponse(epsilon0=1.0, domain_size=200)
REPORTS = RANDOMIZER.randomize(np.arange(PEOPLE), source=SeededSource(1))
PUBLIC = Table({"street": [f"street {person}" for person in range(PEOPLE)], "age": np.arange(PEOPLE) + 18})


def rows(reports: Reports) -> list[Any]:
    """One tuple (or number) per row."""
    return list(zip(*(column.tolist() for column in reports.columns.values()), strict=True))


class ShufflerContract:
    """One abstract suite for all shufflers.

    Subclasses set ``shuffler``, ``labels`` (what they mean), ``keeps_public`` (whether public columns become the label
    table), and, where it is so, ``adds_dummies``, ``loses_reports``, ``takes_many_messages = False``, ``moves = False``
    for a shuffler whose view is the same whatever is drawn, and ``is_for_these_people`` for one that is made for so
    many people.
    """

    shuffler: ClassVar[Shuffler]
    labels: ClassVar[LabelMeaning]
    keeps_public: ClassVar[bool]
    adds_dummies: ClassVar[bool] = False
    loses_reports: ClassVar[bool] = False
    takes_many_messages: ClassVar[bool] = True
    moves: ClassVar[bool] = True
    is_for_these_people: ClassVar[bool] = False

    def view(self, seed: int = 5, reports: Reports = REPORTS, **options: Any) -> View:
        return self.shuffler.shuffle(reports, source=SeededSource(seed), **options)

    # ---- its model is public ----

    def test_it_has_the_interface_of_a_shuffler(self):
        assert isinstance(self.shuffler, Shuffler)

    def test_its_model_says_how_many_users_there_are_and_survives_json(self):
        people = PEOPLE if self.is_for_these_people else 1000
        model = self.shuffler.model(people)
        assert model.num_users == people
        assert model.labels is self.labels
        assert ShuffleModel.from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False))) == model

    @pytest.mark.parametrize("num_users", [0, -1, 1.5, True, "7", None])
    def test_its_model_needs_a_positive_number_of_users(self, num_users):
        with pytest.raises(InvalidParameterError, match="num_users must be an integer that is 1 or more"):
            self.shuffler.model(num_users)

    def test_the_view_carries_the_model_for_its_number_of_people(self):
        assert self.view().shuffle == self.shuffler.model(PEOPLE)
        assert self.view().reports.model == REPORTS.model

    # ---- it loses nobody's report ----

    def test_the_view_holds_the_same_reports_as_went_in(self):
        surplus = Counter(rows(self.view().reports))
        surplus.subtract(Counter(rows(REPORTS)))
        assert (min(surplus.values()) < 0) == self.loses_reports
        assert (max(surplus.values()) > 0) == self.adds_dummies

    def test_the_reports_that_went_in_are_not_changed(self):
        before = rows(REPORTS)
        self.view()
        assert rows(REPORTS) == before

    def test_vectors_pass_like_any_reports(self):
        if self.adds_dummies:
            pytest.skip("its dummies are reports of one randomizer")
        people = PEOPLE if self.is_for_these_people else 7
        vectors = 1.5 * (1.0 - 2 * (np.arange(3 * people).reshape(people, 3) % 4 == 0))
        reports = Reports({"vector": vectors}, VectorModel(width=3, bound=1.5))
        view = self.view(reports=reports)
        assert sorted(view.reports["vector"].tolist()) == sorted(vectors.tolist())

    def test_several_messages_each_count_as_one_user(self):
        if not self.takes_many_messages:
            pytest.skip("it is for one message per user")
        reports = ResidueRandomizer(modulus=97, num_messages=3).randomize([4, 8, 15, 16])
        assert self.view(reports=reports).shuffle == self.shuffler.model(4)
        with pytest.raises(InvalidParameterError, match="reports must be num_messages=3 per user; got 11 reports"):
            self.view(reports=reports.take(slice(11)))

    def test_no_reports_are_refused(self):
        with pytest.raises(InvalidParameterError, match="num_users must be"):
            self.view(reports=REPORTS.take([]))

    # ---- what the view shows ----

    def test_labels_mean_what_the_model_says(self):
        view = self.view()
        if self.labels is LabelMeaning.NONE:
            assert view.labels is None
            return
        assert view.labels.shape == (len(view),)
        assert (np.diff(view.labels) >= 0).all()
        assert 0 <= view.labels.min() <= view.labels.max() < view.shuffle.num_labels
        if self.labels in (LabelMeaning.SLOT, LabelMeaning.POSITION):
            assert view.labels.tolist() == list(range(PEOPLE))

    def test_public_columns_are_kept_beside_labels_or_not_at_all(self):
        view = self.view(public=PUBLIC)
        assert view.label_table == (PUBLIC if self.keeps_public else None)
        if self.keeps_public:
            with pytest.raises(InvalidParameterError, match=f"label_table must have one row per label, {PEOPLE}"):
                self.view(public=PUBLIC.take(slice(7)))

    # ---- randomness ----

    def test_the_same_seed_gives_the_same_rows_in_the_same_order(self):
        first, again = self.view(), self.view()
        assert rows(first.reports) == rows(again.reports)
        assert first == again

    def test_another_seed_or_none_gives_another_view(self):
        if not self.moves:
            pytest.skip("it draws nothing")
        seen = [rows(self.view(seed).reports) for seed in (5, 6)]
        seen += [rows(self.shuffler.shuffle(REPORTS).reports) for _ in range(2)]
        assert len({tuple(row) for row in seen}) == 4

    # ---- its work can be traced in a simulation, and nowhere else ----

    def test_a_simulation_knows_where_every_row_came_from(self):
        pipeline = Pipeline(randomizer=RANDOMIZER, shuffler=self.shuffler, analyzer=FrequencyAnalyzer())
        transcript = pipeline.simulate(np.arange(PEOPLE), source=SeededSource(3))
        origins = transcript.origins
        people = origins[origins >= 0]
        assert len(set(people.tolist())) == len(people)
        assert (len(people) < PEOPLE) == self.loses_reports
        assert (origins < 0).any() == self.adds_dummies
        assert rows(transcript.view.reports.take(origins >= 0)) == rows(transcript.reports.take(people))
        assert type(transcript.view.reports) is Reports
        assert list(transcript.view.reports) == list(transcript.reports)

    def test_a_simulation_shows_the_view_of_a_run_with_the_same_randomness(self):
        pipeline = Pipeline(randomizer=RANDOMIZER, shuffler=self.shuffler, analyzer=FrequencyAnalyzer())
        simulated = pipeline.simulate(np.arange(PEOPLE), source=SeededSource(3)).view
        released = pipeline.run(np.arange(PEOPLE), delta=1e-6, source=SeededSource(3)).view
        assert rows(simulated.reports) == rows(released.reports)
        assert simulated == released
