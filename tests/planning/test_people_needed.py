"""People for a wanted error: the printed figures, and that nothing smaller would do."""

import math

import pytest

from cli.running import shuffledp, write_task
from shuffledp.accounting import account
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.planning import expected_error, fewest_people, people_for
from shuffledp.randomizers import LdpModel, OneBitMean, model_of_kind
from shuffledp.shufflers import UniformShuffleModel

Z = 1.959963984540054
WANTED = {"half_width": 0.02, "delta": 1e-6}


def coin(epsilon0):
    return model_of_kind("k-rr", epsilon0=epsilon0, domain_size=2)


@pytest.mark.parametrize(("epsilon0", "these", "sampled"), [(1, 8842, 11243), (2, 1739, 4140), (4, 183, 2584)])
def test_two_points_take_as_many_people_as_the_formula_says(epsilon0, these, sampled):
    # z^2 / (4 sinh^2(epsilon0 / 2) w^2) of those asked, z^2 s (1 - s) / ((p - q)^2 w^2) of a population.
    found = people_for(coin(epsilon0), **WANTED)
    assert (found.num_users, found.num_sampled) == (these, sampled)
    assert found.num_users == math.ceil(Z**2 / (4 * math.sinh(epsilon0 / 2) ** 2 * 0.02**2))


@pytest.mark.parametrize("model", [coin(1.0), model_of_kind("oue", epsilon0=2.0, domain_size=20)], ids=["k-rr", "oue"])
def test_one_person_less_is_too_few(model):
    found = people_for(model, half_width=0.1, delta=1e-6)
    assert found.half_width == pytest.approx(Z * expected_error(model, found.num_users).standard_error)
    assert found.half_width <= 0.1 < Z * expected_error(model, found.num_users - 1).standard_error
    protocol = ProtocolModel(local=model, shuffle=UniformShuffleModel(num_users=found.num_users))
    assert found.epsilon == account(protocol, delta=1e-6).guarantee.epsilon


def test_at_a_central_loss_the_fewest_are_found_and_a_larger_local_loss_would_exceed_it():
    found = fewest_people({"k-rr": coin}, target_epsilon=0.5, half_width=0.05, delta=1e-6)[0]
    assert found.epsilon <= 0.5
    assert people_for(coin(1.03 * found.epsilon0), half_width=0.05, delta=1e-6).epsilon > 0.5


def test_randomizers_are_ranked_by_their_people():
    kinds = ("oue", "k-rr", "sue")
    families = {kind: lambda e, kind=kind: model_of_kind(kind, epsilon0=e, domain_size=3) for kind in kinds}
    found = fewest_people(families, target_epsilon=1e-3, **WANTED)
    assert [each.num_users for each in found] == sorted(each.num_users for each in found)
    assert found[0].kind == "k-rr"
    assert {each.kind for each in found} == set(kinds)


def test_nobody_is_planned_below_the_least_number_of_people():
    found = people_for(coin(1.0), half_width=0.5, delta=1e-6, least=100)
    assert (found.num_users, found.num_sampled) == (100, 100)
    assert found.half_width < 0.5


def test_a_mean_is_planned_in_the_units_of_the_answers():
    wide, narrow = (OneBitMean(epsilon0=1.0, lower=0, upper=upper).model for upper in (100, 1))
    assert people_for(wide, half_width=2, delta=1e-6).num_users == people_for(narrow, **WANTED).num_users


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"half_width": 0.0}, InvalidParameterError, "half_width must be"),
        ({"half_width": 1e-9}, InvalidParameterError, "half_width must be so large that 10,000,000,000 people"),
        ({"delta": 1.0}, InvalidParameterError, "delta must be"),
        ({"level": 0.0}, InvalidParameterError, "level must be"),
        ({"local": LdpModel(epsilon0=1.0)}, UnsupportedModelError, "got 'ldp'"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, error, message):
    given = {"local": coin(1.0), **WANTED, **wrong}
    with pytest.raises(error, match=message):
        people_for(given.pop("local"), **given)
    if "local" not in wrong and "level" not in wrong:
        with pytest.raises(InvalidParameterError):
            fewest_people({"k-rr": coin}, target_epsilon=1e-30, **given)


# ---- the command


def test_a_task_is_asked_how_many_people_an_error_takes(tmp_path):
    task = write_task(tmp_path, release={"delta": 1e-6})
    printed = shuffledp("plan", task, "--error", 0.05, "--json").json
    assert printed["target_epsilon"] is None
    assert [each["kind"] for each in printed["options"]] == ["k-rr"]
    chosen = shuffledp("plan", task, "--error", 0.1, "--epsilon", 0.01)
    assert "epsilon at most 0.01" in chosen.out
    assert "For the task file:" in chosen.out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--epsilon", 1), "--error or --weeks must be given beside --epsilon"),
        (("--error", 0.1, "--users", 50), "--users must be left out beside --error"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, given, message):
    assert (
        message
        in shuffledp(
            "plan",
            write_task(tmp_path),
            *given,
        ).err
    )


def test_only_uniform_shuffles_of_one_column_are_asked(tmp_path):
    mixed = write_task(tmp_path, shuffler={"kind": "imperfect", "imperfection": 0.5})
    assert "the task must have a uniform shuffle" in shuffledp("plan", mixed, "--error", 0.1).err
