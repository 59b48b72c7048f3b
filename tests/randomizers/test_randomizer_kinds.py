"""Models by the name of their kind."""

import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.randomizers import (
    KINDS,
    KaryRandomizedResponseModel,
    LdpModel,
    family_of,
    kinds_of_loss,
    model_of_kind,
    parameters_of_kind,
)

VALUES = {
    "domain_size": 8,
    "lower": 0.0,
    "upper": 1.0,
    "num_steps": 16,
    "num_levels": 3,
    "dimension": 4,
    "num_bits": 40,
    "num_options": 1,
    "at_most": 1,
    "blanket_messages": 0.5,
}


def some(kind):
    return {name: VALUES[name] for name, required in parameters_of_kind(kind).items() if required}


@pytest.mark.parametrize("kind", kinds_of_loss())
def test_a_model_of_each_kind_has_the_loss_asked_for_and_a_family(kind):
    model = model_of_kind(kind, epsilon0=1.5, **some(kind))
    assert model.kind == kind
    assert model.epsilon0 == pytest.approx(1.5, rel=1e-5)
    other = family_of(model)(0.5)
    assert other.kind == kind
    assert other.epsilon0 == pytest.approx(0.5, rel=1e-5)
    kept = [name for name in some(kind) if hasattr(model, name)]
    assert [getattr(other, name) for name in kept] == [getattr(model, name) for name in kept]


def test_the_registry_names_every_mechanism_as_its_model_does():
    for kind, mechanism in KINDS.items():
        assert mechanism.model_type.kind == kind
        assert mechanism.answers in {"category", "blanketed", "number", "vector", "open", "multi-select"}
        assert mechanism.best_for
    assert kinds_of_loss().keys() - KINDS.keys() == {"ldp", "laplace"}
    known = {kind for kind, model in LocalModel.members().items() if model.__module__.startswith("shuffledp.")}
    assert known - KINDS.keys() == {"ldp", "laplace", "channel", "k-rr-personalized"}


def test_kinds_are_what_their_classes_make():
    assert model_of_kind("k-rr", epsilon0=1.0, domain_size=4) == KaryRandomizedResponseModel.from_epsilon0(
        epsilon0=1.0, domain_size=4
    )
    assert model_of_kind("ldp", epsilon0=1.0, delta0=1e-9) == LdpModel(epsilon0=1.0, delta0=1e-9)


@pytest.mark.parametrize(
    ("kind", "epsilon0", "parameters", "message"),
    [
        ("shout", 1.0, {}, "randomizer must be one of .*'k-rr'.*; got randomizer='shout'"),
        ("k-rr", 1.0, {}, "domain_size must be given for randomizer 'k-rr'; got nothing"),
        (
            "k-rr",
            1.0,
            {"domain_size": 4, "lower": 0},
            "lower must be left out for randomizer 'k-rr', which takes domain",
        ),
        ("ldp", 0.0, {}, "epsilon0 must be a finite number above 0"),
        ("ldp", float("inf"), {}, "epsilon0 must be a finite number above 0"),
        ("ldp", float("nan"), {}, "epsilon0 must be a finite number above 0"),
        ("k-rr", 1.0, {"domain_size": 1}, "domain_size must be an integer that is 2 or more"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_reason(kind, epsilon0, parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        model_of_kind(kind, epsilon0=epsilon0, **parameters)
