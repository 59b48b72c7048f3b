"""What is said of the best possible epsilon where nothing is shuffled, and of digits that stand beside each other."""

import pytest

from cli.running import shuffledp
from shuffledp.planner.answers import answer


@pytest.mark.parametrize("randomizer", ["k-rr", "oue", "laplace-mean"])
def test_without_a_shuffle_epsilon_is_said_to_be_exact(randomizer):
    exact = "Epsilon is exactly 1 for delta = 0: nothing is shuffled, and each report keeps its own loss."
    usual = {"about": "promise", "shuffler": "none", "randomizer": randomizer, "epsilon0": 1.0, "people": 60}
    assert answer(usual)["bracket"] == exact
    assert "no theorem says" in answer({**usual, "repetitions": 3})["bracket"]
    assert "exactly" not in answer({**usual, "shuffler": "uniform", "delta": 1e-3})["bracket"]


def test_a_calibrated_local_loss_has_the_same_digits_in_its_warning():
    made = shuffledp(
        "calibrate", "--target-epsilon", "0.5", "--delta", "1e-9", "--users", "1e6", "--randomizer", "k-rr",
        "--categories", "4",
    )  # fmt: skip
    said = {
        line.split("epsilon0 = ")[1].split()[0].rstrip(".,") for line in made.out.splitlines() if "epsilon0 = " in line
    }
    assert "WARNING: epsilon0 = 8.34139 is large" in " ".join((made.out + made.err).split())
    assert said == {"8.34139"}
