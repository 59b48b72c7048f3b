"""The leakage about somebody whose household answers alike is exact, by enumeration and by other programs."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import pytest

from shuffledp import KaryRandomizedResponse, ProtocolModel, UniformShuffler
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.leakage import household_leakage
from shuffledp.randomizers import LdpModel

VALUES = json.loads((Path(__file__).parents[1] / "golden" / "budget.json").read_text(encoding="utf-8"))


def shuffled(num_users, size, epsilon0):
    local = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=size).model
    return ProtocolModel(local=local, shuffle=UniformShuffler().model(num_users))


@pytest.mark.parametrize(("num_users", "size", "household", "epsilon0", "value"), VALUES["block_agrees"]["rows"])
def test_the_leakage_is_what_was_computed_independently(num_users, size, household, epsilon0, value):
    found = household_leakage(shuffled(num_users, size, epsilon0), household=household)
    assert found.value == pytest.approx(value, abs=1e-11)
    assert found.prior <= found.alone <= found.value <= found.always


@pytest.mark.parametrize(("num_users", "size", "value"), VALUES["persisting"]["rows"])
def test_answers_that_stay_the_same_tell_no_more_than_a_shuffle_however_often_they_are_asked(num_users, size, value):
    assert household_leakage(shuffled(num_users, size, 1.0), household=1).always == pytest.approx(value, abs=1e-11)


def enumerated(num_users, size, household, truth, agreement):
    """V by adding up the best guess over all histograms of reports, of all answers."""
    others, lie = num_users - household, (1 - truth) / (size - 1)
    joint: dict[tuple, list] = {}
    blocks = [((value,) * household, agreement / size) for value in range(size)]
    blocks += [(each, (1 - agreement) / size**household) for each in itertools.product(range(size), repeat=household)]
    for block, chance in blocks:
        for rest in itertools.product(range(size), repeat=others):
            answers = (*block, *rest)
            for reports in itertools.product(range(size), repeat=num_users):
                law = chance / size**others
                for report, answer in zip(reports, answers, strict=True):
                    law *= truth if report == answer else lie
                seen = tuple(reports.count(value) for value in range(size))
                joint.setdefault(seen, [0] * size)[block[0]] += law
    return sum(max(each) for each in joint.values())


@pytest.mark.parametrize(
    ("num_users", "size", "household", "agreement"),
    [
        (3, 2, 2, Fraction(9, 10)),
        (3, 3, 2, Fraction(1, 2)),
        pytest.param(4, 2, 3, Fraction(3, 4), marks=pytest.mark.deep),
        pytest.param(4, 3, 2, Fraction(1), marks=pytest.mark.deep),
    ],
)
def test_the_leakage_is_exact_by_enumeration(num_users, size, household, agreement):
    """Mutant: a household that agrees now and then is counted as if it always did."""
    model = shuffled(num_users, size, 1.0)
    found = household_leakage(model, household=household, agreement=float(agreement))
    exact = enumerated(num_users, size, household, float(model.local.p), float(agreement))
    assert found.value == pytest.approx(exact, abs=1e-12)


def test_households_of_other_mechanisms_and_sizes_are_refused_by_name():
    with pytest.raises(UnsupportedModelError, match="'ldp'"):
        household_leakage(ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffler().model(9)), household=2)
    for bad in ({"household": 0}, {"household": 10}, {"household": 2, "agreement": 1.1}):
        with pytest.raises(InvalidParameterError):
            household_leakage(shuffled(9, 2, 1.0), **bad)
