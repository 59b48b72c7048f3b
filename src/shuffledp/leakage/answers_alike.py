"""Leakage about one person whose household gives equal answers.

It is exact, for k-ary response and a uniform shuffle.

A block of h people, the target among them, all hold one value, drawn uniformly; the n - h others are independent and
uniform. Given the histogram of reports the value of the fullest bin is the best guess, so that with L the load of the
fullest of k equally likely bins, p the chance of the truth and q that of each other value::

    V = k^(h-1) E[ sum_j C(h, j) (L)_j (n - L)_(h-j) / (n)_h  p^j q^(h-j) ]        (x)_j = x (x - 1) ... (x - j + 1)
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shuffledp.core import validate
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.table import Floats
from shuffledp.leakage.max_load import expected_over_max_load

_LARGEST = 50  # people of a household


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdLeakage:
    """Chance that the best guess about one person of a household is right, before and after a release.

    Args:
        household: people who may agree, the target among them.
        agreement: chance that all of them hold one value; else they are independent.
        prior: chance before the release.
        value: chance after it.
        alone: chance after it, if the person's household were as anybody else.
        always: chance however often the same answers are asked for and released: that of a shuffle without
            randomizing, which no number of releases exceeds.
    """

    household: int
    agreement: float
    prior: float
    value: float
    alone: float
    always: float

    def to_dict(self) -> dict[str, Any]:
        """Object under ``household`` in the JSON that ``leakage --json`` prints."""
        return {
            "household": self.household,
            "agreement": self.agreement,
            "prior": self.prior,
            "value": self.value,
            "alone": self.alone,
            "always": self.always,
        }


def household_leakage(model: ProtocolModel, *, household: int, agreement: float = 1.0) -> HouseholdLeakage:
    """Leakage about one person, if all people of the household answer alike with a given chance.

    Guarantees:
        1. Exact for k-ary randomized response behind a uniform shuffle, a uniform prior, and any number of people.

    Args:
        model: k-ary randomized response and a uniform shuffle.
        household: h, from 1 to 50, at most the number of people.
        agreement: from 0 to 1.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: for another randomizer or shuffle, or if more than two values take too long.

    References:
        Own result (docs/leakage.md); for a household of one Jurado et al. 2023, equation (15).

    Example:
        >>> from shuffledp import KaryRandomizedResponse, UniformShuffler
        >>> local = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
        >>> model = ProtocolModel(local=local, shuffle=UniformShuffler().model(1000))
        >>> round(household_leakage(model, household=4).value, 6)
        0.523309
    """
    validate.instance_of(ProtocolModel, model=model)
    validate.integer_at_least(1, household=household)
    validate.probability(agreement=agreement)
    local = model.local
    if not (isinstance(local, FrequencyModel) and local.kind == "k-rr" and model.shuffle.is_uniform):
        raise UnsupportedModelError(
            f"the leakage of households is known for 'k-rr' behind a uniform shuffle; got {local.kind!r} and "
            f"{model.shuffle.kind!r}."
        )
    people = model.num_users
    if household > min(_LARGEST, people):
        raise validate.invalid(f"at most {min(_LARGEST, people)}", household=household)
    size, truth = local.domain_size, float(local.p)
    alone = _vulnerability(people, size, truth, 1)
    together = _vulnerability(people, size, truth, household)
    known = _vulnerability(people, size, 1.0, household)
    return HouseholdLeakage(
        household=household,
        agreement=agreement,
        prior=1 / size,
        value=agreement * together + (1 - agreement) * alone,
        alone=alone,
        always=agreement * known + (1 - agreement) * _vulnerability(people, size, 1.0, 1),
    )


def _vulnerability(people: int, size: int, truth: float, household: int) -> float:
    """Vulnerability of one person in a household whose answers are all equal."""
    if size == 1:
        return 1.0
    lie = (1 - truth) / (size - 1)
    return expected_over_max_load(people, size, partial(_worth, people, size, (truth, lie), household))


def _worth(people: int, size: int, chances: tuple[float, float], household: int, loads: Floats) -> Floats:
    """Chance that the value of the fullest bin is right, given this bin's load.

    Truth and lie have ``chances``.
    """
    truth, lie = chances
    total = np.zeros(loads.size)
    for inside in range(household + 1):
        ways: Floats = np.full(loads.size, float(math.comb(household, inside)))
        for place in range(household):
            free = loads - place if place < inside else people - loads - (place - inside)
            ways = ways * np.maximum(free, 0.0) / (people - place) * (truth if place < inside else lie) * size
        total += ways
    return total / size
