"""Naming a household in an audit: an honest shuffler is consistent with what is stated, and a broken one refuted."""

import numpy as np
import pytest

from cli.running import shuffledp
from shuffledp import FrequencyAnalyzer, Groups, KaryRandomizedResponse, NoisySortShuffler, Pipeline
from shuffledp.attacks import Verdict
from shuffledp.protocols.d_sigma.survey.household_audit import name_household
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
        real = NoisySortShuffler(groups=self.groups, alpha=400.0, order=ORDER)
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
