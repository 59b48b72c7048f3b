"""Naming a household in an audit: an honest shuffler is consistent with what is stated, and a broken one refuted."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cli.running import shuffledp
from shuffledp import FrequencyAnalyzer, Groups, KaryRandomizedResponse, NoisySortShuffler, Pipeline
from shuffledp.attacks import Verdict
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.d_sigma.files.naming_chances import household_naming_chances
from shuffledp.protocols.d_sigma.planning.person_guarantees import common_epsilons_by_rank
from shuffledp.protocols.d_sigma.survey.household_audit import guess_household, name_household
from shuffledp.testing import SeededSource

PEOPLE = 150
GROUPS = Groups.from_radius(np.arange(PEOPLE), 10)
ORDER = np.arange(PEOPLE)
TASK = """name = "street"
value = "ill"
public = ["km"]
[people]
household = 3
[randomizer]
kind = "k-rr"
epsilon0 = 0.5
categories = ["no", "yes"]
[shuffler]
kind = "noisy-sort"
alpha = 1.0
[groups]
columns = ["km"]
radius = 10
[release]
delta = 1e-6
"""


class Broken(NoisySortShuffler):
    """A sort that claims its positions and shuffles by far larger gaps."""

    def rank_parts(self, *, source=None):
        people = self.groups.num_users
        real = NoisySortShuffler(
            groups=self.groups, alpha=float(400 * (people // PEOPLE) ** 4), order=np.arange(people)
        )
        yield from real.rank_parts(source=source)


def named(shuffler, trials=150):
    randomizer = KaryRandomizedResponse(epsilon0=0.5, domain_size=2)
    pipeline = Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=FrequencyAnalyzer())
    told = []
    found = name_household(
        pipeline,
        PEOPLE,
        3,
        trials=trials,
        confidence=0.99,
        source=SeededSource(1),
        progress=lambda done, total: told.append((done, total)),
    )
    assert found is None or told == [(0, trials), (trials, trials)]
    return found


def guessed(shuffler, trials=150, domain_size=2, epsilon0=0.5):
    randomizer = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=domain_size)
    pipeline = Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=FrequencyAnalyzer())
    options = {"trials": trials, "confidence": 0.99, "source": SeededSource(2), "progress": lambda *_: None}
    return guess_household(pipeline, shuffler.groups.num_users, 3, delta=1e-6, **options)


def test_a_release_states_what_a_common_answer_of_neighbors_loses():
    shuffler = NoisySortShuffler(groups=GROUPS, alpha=0.05, order=ORDER)
    (stated,) = household_naming_chances(_model(shuffler), shuffler, 3, 1e-6)
    each = common_epsilons_by_rank(shuffler, 3, 0.5, 1e-6)
    assert (stated.common, stated.common_median) == (each.max(), pytest.approx(np.median(each)))
    assert 0.3 < stated.common < 3 * 0.5
    assert set(stated.to_dict()) - set(replace(stated, common=None, common_median=None).to_dict()) == {
        "common",
        "common_median",
    }


@pytest.mark.deep
def test_the_chance_of_guessing_a_common_answer_follows_from_what_a_release_states():
    shuffler = NoisySortShuffler(groups=GROUPS, alpha=0.05, order=ORDER)
    found = guessed(shuffler, 20)
    (stated,) = household_naming_chances(_model(shuffler), shuffler, 3, 1e-6)
    assert found.claimed == pytest.approx(1 / (1 + math.exp(-stated.common)), abs=1e-6)
    assert stated.common_median <= stated.common < 3 * 0.5
    assert "one of which 3 neighbors have in common" in str(found)


@pytest.mark.deep
def test_a_common_answer_is_guessed_no_better_than_stated_unless_the_shuffler_is_broken():
    """Of 1,024 people, since among few a household promises hardly more than without a shuffle."""
    everybody = Groups.from_radius(np.arange(1024), 400)
    shuffler = NoisySortShuffler(groups=everybody, alpha=0.05, order=np.arange(1024))
    assert guessed(shuffler, 300, epsilon0=2.0).verdict is Verdict.CONSISTENT
    broken = guessed(Broken(groups=everybody, alpha=0.05, order=np.arange(1024)), 300, epsilon0=2.0)
    assert broken.claimed < 0.83
    assert broken.verdict is Verdict.REFUTED


def test_of_more_answers_and_of_gaussian_noise_nothing_is_stated_of_a_common_one():
    assert guessed(NoisySortShuffler(groups=GROUPS, alpha=1.0, order=ORDER), domain_size=3) is None
    gaussian = NoisySortShuffler(groups=GROUPS, alpha=1.0, order=ORDER, noise="gaussian", delta=1e-6)
    assert guessed(gaussian) is None
    assert household_naming_chances(_model(gaussian), gaussian, 3, 1e-6) == ()


def _model(shuffler) -> ProtocolModel:
    local = KaryRandomizedResponse(epsilon0=0.5, domain_size=2).model
    return ProtocolModel(local=local, shuffle=shuffler.model(PEOPLE))


def test_an_honest_shuffler_is_consistent_and_a_broken_one_is_refuted():
    honest, broken = (named(make(groups=GROUPS, alpha=1.0, order=ORDER)) for make in (NoisySortShuffler, Broken))
    assert honest.verdict is Verdict.CONSISTENT
    assert (honest.at_least, len(honest.targets)) == (2, 3)
    assert broken.claimed == honest.claimed < 0.2
    assert broken.verdict is Verdict.REFUTED
    assert not broken.weak


def test_few_trials_of_a_small_chance_are_called_weak_and_nothing_is_named_where_nothing_is_stated():
    assert named(NoisySortShuffler(groups=GROUPS, alpha=1.0, order=ORDER), trials=4).weak
    assert named(NoisySortShuffler(groups=GROUPS, alpha=1.0, noise="gaussian", delta=1e-6, order=ORDER)) is None


@pytest.mark.parametrize("options", [(), pytest.param(("--json",), marks=pytest.mark.deep)])
def test_the_command_names_a_household_where_the_task_says_how_many_live_together(tmp_path, options):
    (tmp_path / "task.toml").write_text(TASK)
    (tmp_path / "people.csv").write_text("\n".join(["km", *map(str, range(PEOPLE))]) + "\n")
    found = shuffledp(
        "audit", tmp_path / "task.toml", "--input", tmp_path / "people.csv", "--trials", "100", "--seed", "1", *options
    )
    assert found.code in {0, 1, 5, 6}, found.err
    if options:
        household = found.json["columns"][0]["household"]
        assert household["at_least"] == 2
        assert household["success_limits"][0] <= household["claimed"]
    else:
        assert "claimed chance of finding a household <=" in found.out
