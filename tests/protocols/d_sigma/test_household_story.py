"""The household of the paper: three people who live together, their neighbors, and somebody who knows all answers."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from shuffledp import FrequencyAnalyzer, Groups, KaryRandomizedResponse, MallowsShuffler, NoisySortShuffler, Pipeline
from shuffledp.attacks import Verdict
from shuffledp.cli.app import app
from shuffledp.protocols.d_sigma.attacks.reidentification_adversaries import KnownAnswers, LikeliestSlots
from shuffledp.protocols.d_sigma.attacks.reidentification_game import name_slots
from shuffledp.protocols.d_sigma.people.sensitivity import order_width
from shuffledp.protocols.d_sigma.planning.households import household_odds
from shuffledp.testing import SeededSource

PEOPLE, HOUSEHOLD, ALPHA = 300, [149, 150, 151], 16.0
RESPONSE = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)


def shufflers():
    """No shuffle, the printed mechanism, ours at the same alpha, and everybody with everybody."""
    groups = Groups.from_radius(np.arange(PEOPLE), 10)
    order = np.arange(PEOPLE)
    width = order_width(groups, order)
    printed = MallowsShuffler(
        groups=groups, concentration=ALPHA / (width * (width + 1) / 2), per_block=False, order="bfs"
    )
    return {
        "none": MallowsShuffler(groups=groups, alpha=np.inf, order=order),
        "printed": printed,
        "ours": NoisySortShuffler(groups=groups, alpha=ALPHA, order=order),
        "uniform": MallowsShuffler(groups=Groups.from_labels([0] * PEOPLE), alpha=0.0),
    }


@pytest.mark.deep
def test_shuffling_near_an_order_hides_a_household_between_no_shuffle_and_a_uniform_one():
    known = KnownAnswers.worst(RESPONSE.model, num_users=PEOPLE, targets=HOUSEHOLD)
    found = {}
    for name, shuffler in shufflers().items():
        pipeline = Pipeline(randomizer=RESPONSE, shuffler=shuffler, analyzer=FrequencyAnalyzer())
        (bound,) = household_odds(shuffler, pipeline.model(PEOPLE), [HOUSEHOLD])
        attack = LikeliestSlots(shuffler, num_draws=1500, source=SeededSource(1))
        options = {"known": known, "attack": attack, "at_least": 2, "source": SeededSource(2)}
        found[name] = name_slots(pipeline, bound.more_than_half, trials=400, **options)
        assert found[name].verdict is not Verdict.REFUTED
    rates = {name: each.success for name, each in found.items()}
    assert rates["none"] == 1.0
    assert rates["uniform"] < 0.02
    assert rates["uniform"] <= rates["printed"] + 0.02
    assert rates["printed"] < 0.1
    assert rates["printed"] - 0.03 < rates["ours"] < 0.2


def test_a_release_says_how_well_a_household_is_hidden_and_what_groups_of_each_size_lose(tmp_path):
    draw = np.random.default_rng(1)
    rows = "\n".join(f"{place},{answer}" for place, answer in enumerate(draw.integers(0, 2, 200)))
    (tmp_path / "people.csv").write_text(f"km,ill\n{rows}\n")
    (tmp_path / "task.toml").write_text(
        'name = "household"\nvalue = "ill"\npublic = ["km"]\n'
        '[people]\nhousehold = 3\n[randomizer]\nkind = "k-rr"\nepsilon0 = 0.5\ncategories = ["0", "1"]\n'
        '[shuffler]\nkind = "noisy-sort"\nalpha = 4.0\n[groups]\ncolumns = ["km"]\nradius = 20\n'
        "[release]\ndelta = 1e-6\n"
    )
    folder = tmp_path / "out"
    files = [str(tmp_path / "task.toml"), "--input", str(tmp_path / "people.csv"), "--output", str(folder)]
    assert CliRunner().invoke(app, ["run", *files]).exit_code == 0
    written = json.loads((folder / "statement.json").read_text())
    (household,) = written["households"]
    assert (household["size"], household["at_least"], household["num_households"]) == (3, 2, 198)
    assert 0 < household["more_than_half_median"] <= household["more_than_half"] < 1
    assert all(each["alpha"] <= each["pure"] <= 4.0 + 1e-9 for each in written["losses"])
    assert written["losses"][-1]["alpha"] < 3.9
    page = (folder / "release.html").read_text()
    assert "alpha beside delta = 1e-06" in page
    assert "2 or more of 3 people next to each other in one stretch of the order" in page
