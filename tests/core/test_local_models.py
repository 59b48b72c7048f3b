import json
import math

import numpy as np
import pytest

from contracts.siblings import ResidueModel, RoundShuffleModel, SlotShuffleModel, SubmitterShuffleModel, VectorModel
from shuffledp.accounting import account
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import CentralDP, LocalDP
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.shuffle_models import DummyReports, LabelMeaning, ShuffleModel
from shuffledp.core.statement_terms import Trust
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel

KRR = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=10)
SHUFFLES = [
    UniformShuffleModel(num_users=100),
    IdentityShuffleModel(num_users=100),
    SlotShuffleModel(num_users=100),
    SubmitterShuffleModel(num_users=100),
    RoundShuffleModel(num_users=100, num_rounds=3),
]


def test_epsilon0_is_read_off_the_guarantee_and_cannot_be_set():
    assert KRR.epsilon0 == KRR.guarantee.epsilon
    assert VectorModel(width=2, bound=3.0).epsilon0 == pytest.approx(2 * math.log(2))
    assert ResidueModel(modulus=7, num_messages=3).epsilon0 == math.inf
    with pytest.raises((AttributeError, TypeError)):
        KRR.epsilon0 = 0.1


def test_one_message_and_one_common_randomizer_are_what_a_model_has_unless_it_says_otherwise():
    assert (KRR.num_messages, KRR.is_common) == (1, True)
    assert ResidueModel(modulus=7, num_messages=3).num_messages == 3
    assert VectorModel(width=2, bound=3.0).channel() is None
    assert VectorModel(width=2, bound=3.0).channel(exact=True) is None


def test_the_number_of_messages_is_a_parameter_that_must_be_given_where_it_is_a_field():
    written = ResidueModel(modulus=7, num_messages=3).to_dict()
    assert written == {"kind": "test-residues", "modulus": 7, "num_messages": 3}
    assert LocalModel.from_dict(written).num_messages == 3


def test_labels_are_one_per_user_unless_they_are_labels_of_something_else():
    assert [shuffle.num_labels for shuffle in SHUFFLES] == [100, 100, 100, 100, 3]
    assert [shuffle.labels for shuffle in SHUFFLES] == [
        LabelMeaning.NONE,
        LabelMeaning.SUBMITTER,
        LabelMeaning.SLOT,
        LabelMeaning.SUBMITTER,
        LabelMeaning.ROUND,
    ]


def test_only_the_uniform_shuffle_calls_itself_uniform_and_none_is_silent_about_trust():
    assert [shuffle.is_uniform for shuffle in SHUFFLES] == [True, False, False, False, False]
    assert all(shuffle.is_oblivious for shuffle in SHUFFLES)
    for shuffle in SHUFFLES:
        nobody = isinstance(shuffle, IdentityShuffleModel)
        assert shuffle.trust == (() if nobody else (Trust.SHUFFLER, Trust.NO_COLLUSION, Trust.HONEST_USERS))


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("local", [KRR, VectorModel(width=3, bound=2.5), ResidueModel(modulus=97, num_messages=4)])
def test_a_protocol_survives_json_and_counts_its_users(local, shuffle):
    model = ProtocolModel(local=local, shuffle=shuffle)
    written = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    assert ProtocolModel.from_dict(written) == model
    assert hash(ProtocolModel.from_dict(written)) == hash(model)
    assert model.num_users == 100


def test_a_shuffle_with_dummies_survives_json():
    added = DummyReports(fraction=0.25, standard_error=0.01, value=3)
    shuffle = SubmitterShuffleModel(num_users=8, added=added)
    read = ShuffleModel.from_dict(json.loads(json.dumps(shuffle.to_dict())))
    assert read == shuffle
    assert read.dummies == added
    assert UniformShuffleModel(num_users=8).dummies is None


@pytest.mark.parametrize(
    "parameters",
    [
        {"fraction": -0.1},
        {"fraction": 1.0},
        {"fraction": math.nan},
        {"fraction": 0.5, "standard_error": -1.0},
        {"fraction": 0.5, "standard_error": math.inf},
        {"fraction": 0.5, "value": -1},
        {"fraction": 0.5, "value": 1.0},
        {"fraction": 0.5, "value": True},
    ],
)
def test_dummies_are_a_share_below_one_and_made_from_a_value_of_zero_or_more(parameters):
    with pytest.raises(InvalidParameterError, match=r"(fraction|standard_error|value) must be"):
        DummyReports(**parameters)


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_models_hold_no_data_and_are_enough_for_the_accountant(shuffle):
    model = ProtocolModel.from_dict(ProtocolModel(local=KRR, shuffle=shuffle).to_dict())
    statement = account(model, delta=1e-6)
    assert isinstance(statement.guarantee, CentralDP)
    assert statement.guarantee.epsilon <= KRR.epsilon0


def test_a_sibling_is_amplified_by_the_uniform_shuffle_without_an_edit_of_the_accountant():
    vectors = VectorModel(width=1, bound=2.5)
    assert vectors.guarantee == LocalDP(epsilon=float(np.log(3.5 / 1.5)))
    model = ProtocolModel(local=vectors, shuffle=UniformShuffleModel(num_users=100_000))
    assert account(model, delta=1e-6).guarantee.epsilon < vectors.epsilon0 / 5
