"""The baseline that shuffles nothing; what it shares with all others is in contracts/test_shufflers.py."""

import itertools
from collections import Counter

import numpy as np

from contracts.siblings import ResidueRandomizer
from shuffledp.accounting import account
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.table import Table
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import IdentityShuffleModel, IdentityShuffler
from shuffledp.testing import RecordedSource, SeededSource
from statistical.thresholds import assert_fits, assert_rejects

RANDOMIZER = KaryRandomizedResponse(epsilon0=1.0, domain_size=100)
REPORTS = RANDOMIZER.randomize(np.arange(100), source=SeededSource(1))


def test_guarantee_1_the_label_beside_a_report_is_its_senders_number():
    view = IdentityShuffler().shuffle(REPORTS)
    assert view.labels.tolist() == list(range(100))
    assert view.reports == REPORTS


def test_guarantee_1_the_local_guarantee_is_all_there_is():
    model = ProtocolModel(local=RANDOMIZER.model, shuffle=IdentityShuffler().model(10**6))
    assert account(model, delta=1e-6).guarantee.epsilon == RANDOMIZER.model.epsilon0
    assert not model.shuffle.is_uniform


def test_nothing_is_drawn_for_one_message_each():
    assert IdentityShuffler().shuffle(REPORTS, source=RecordedSource([])).reports == REPORTS


def test_public_columns_stay_beside_their_person():
    public = Table({"name": [f"person {place}" for place in range(100)]})
    view = IdentityShuffler().shuffle(REPORTS, public=public)
    assert view.label_table == public


def test_several_messages_of_one_person_bear_that_persons_number_and_their_order_is_lost():
    reports = ResidueRandomizer(modulus=2**40, num_messages=3).randomize([1, 2], source=SeededSource(2))
    source, first = SeededSource(3), reports["residue"][:3].tolist()
    views = [IdentityShuffler().shuffle(reports, source=source) for _ in range(6000)]
    assert views[0].labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert views[0].shuffle == IdentityShuffleModel(num_users=2)
    seen = Counter(tuple(view.reports["residue"][:3].tolist()) for view in views)
    counts = [seen[order] for order in itertools.permutations(first)]
    assert_fits(counts, np.full(6, 1 / 6))
    assert_rejects(counts, np.array([1.4, 0.6, 1, 1, 1, 1]) / 6)


def test_nobody_needs_to_be_trusted_because_there_is_no_shuffler():
    assert IdentityShuffler().model(5).trust == ()
    assert IdentityShuffler().model(5).to_dict() == {"kind": "none", "num_users": 5}
