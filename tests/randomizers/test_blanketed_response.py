"""A response under a blanket: the law of a person's messages, their form, and what is refused."""

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.randomizers import BlanketedResponse, BlanketedResponseModel, KaryRandomizedResponse
from shuffledp.testing import SeededSource


def test_everybody_sends_as_many_messages_whatever_is_answered():
    randomizer = BlanketedResponse(epsilon0=3.0, domain_size=5, blanket_messages=2.4)
    assert (randomizer.model.slots, randomizer.model.num_messages) == (3, 4)
    assert randomizer.model.blanket_messages == pytest.approx(2.4, rel=1e-15)
    for answer in range(5):
        reports = randomizer.randomize([answer] * 7, source=SeededSource(1))
        assert (len(reports), reports.num_users) == (28, 7)
        assert reports["value"].dtype == np.uint8


def test_responses_are_those_of_k_rr_and_slots_are_filled_evenly():
    people = 60_000
    randomizer = BlanketedResponse(epsilon0=2.0, categories=["a", "b", "c"], blanket_messages=1.2)
    model = randomizer.model
    sent = randomizer.randomize(["b"] * people, source=SeededSource(1))["value"].reshape(people, 3)
    own = np.bincount(sent[:, 0], minlength=4) / people
    assert own == pytest.approx([model.q, model.p, model.q, 0], abs=4.5 * np.sqrt(0.25 / people))
    for slot in (1, 2):
        found = np.bincount(sent[:, slot], minlength=4) / people
        assert found == pytest.approx([0.2, 0.2, 0.2, 0.4], abs=4.5 * np.sqrt(0.25 / people))
        assert found[3] != pytest.approx(0.6, abs=0.05)  # the power to tell 1.2 from .8 messages
    filled = (sent[:, 1:] < 3).astype(float)
    assert abs(np.corrcoef(filled.T)[0, 1]) < 4.5 / np.sqrt(people)


@pytest.mark.parametrize("messages", [1.0, 3.0, 0.25])
def test_whole_numbers_of_messages_are_certain_and_the_model_survives_json(messages):
    model = BlanketedResponse(epsilon0=8.0, domain_size=100, blanket_messages=messages).model
    assert model.blanket_messages == messages
    assert LocalModel.from_dict(model.to_dict()) == model
    assert BlanketedResponse.from_model(model).model == model


def test_all_messages_of_a_person_lose_what_the_response_does():
    model = BlanketedResponse(epsilon0=8.0, domain_size=20, blanket_messages=0.1).model
    response = KaryRandomizedResponse(epsilon0=8.0, domain_size=20).model
    assert (model.epsilon0, model.total_variation) == (response.epsilon0, response.total_variation)
    assert "all that one person sends" in model.warnings[0]


def test_the_expected_variance_is_the_one_of_the_formula():
    model = BlanketedResponse(epsilon0=2.0, domain_size=4, blanket_messages=1.5).model
    p, q = model.p, model.q
    wanted = (0.3 * p * (1 - p) + 0.7 * q * (1 - q) + 1.5 / 4 * 0.75) / (p - q) ** 2
    assert model.noise_variance(0.3) == pytest.approx(wanted)


@pytest.mark.parametrize(
    "wrong", [{"blanket_messages": 0.0}, {"blanket_messages": 1001.0}, {"epsilon0": 0.0}, {"domain_size": 1}]
)
def test_other_parameters_are_refused(wrong):
    with pytest.raises(InvalidParameterError):
        BlanketedResponse(**{"epsilon0": 1.0, "domain_size": 4, "blanket_messages": 1.0} | wrong)


@pytest.mark.parametrize("wrong", [{"slots": 0}, {"slots": 1001}, {"full": 0}, {"full": 2**64 + 1}, {"share": 2**63}])
def test_other_models_are_refused(wrong):
    good = BlanketedResponse(epsilon0=1.0, domain_size=4, blanket_messages=1.0).model.to_dict()
    with pytest.raises(InvalidParameterError):
        LocalModel.from_dict(good | wrong)
    assert isinstance(LocalModel.from_dict(good), BlanketedResponseModel)


def test_reports_beyond_the_empty_message_are_refused():
    model = BlanketedResponse(epsilon0=1.0, domain_size=4, blanket_messages=1.0).model
    model.check({"value": np.array([0, 4])})
    with pytest.raises(InvalidParameterError):
        model.check({"value": np.array([0, 5])})
