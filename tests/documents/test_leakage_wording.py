"""What is learned, in words: rounded in the direction of its kind, and with digits that tell it apart from before."""

import pytest

from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.documents import leakage_document as wording
from shuffledp.leakage import Vulnerability, compare_ways
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.randomizers import model_of_kind
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel


def vulnerability(value, prior=1 / 3, kind=Kind.EXACT):
    return Vulnerability(
        value=value, lower=min(value, prior), upper=max(value, 1.0), kind=kind, prior=prior, method="x"
    )


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (0.38263, Kind.EXACT, "right 38.3% of the time instead of 33.3%."),
        (
            0.38263,
            Kind.UPPER_BOUND,
            "right at most 38.3% of the time instead of 33.3%.",
        ),
        (
            0.38211,
            Kind.UPPER_BOUND,
            "right at most 38.3% of the time instead of 33.3%.",
        ),
        (
            0.38299,
            Kind.LOWER_BOUND,
            "right at least 38.2% of the time instead of 33.3%.",
        ),
        (0.38263, Kind.ESTIMATE, "right about 38.3% of the time instead of 33.3%."),
        (0.3333511, Kind.EXACT, "right 33.34% of the time instead of 33.33%."),
        (1 / 3, Kind.EXACT, "right 33.3% of the time, as often as before."),
        (1 / 3 + 1e-14, Kind.EXACT, "right 33.3% of the time, hardly more often than before."),
        (1 / 3, Kind.ESTIMATE, "right about 33.3% of the time instead of 33.3%."),
    ],
)
def test_a_sentence_says_the_kind_and_enough_digits(value, kind, said):
    start = "After seeing the shuffled table, the best guess about one person is "
    assert wording.after_seeing(vulnerability(value, kind=kind), "the shuffled table") == start + said


def test_bounds_far_apart_are_both_said():
    wide = Vulnerability(
        value=0.2109, lower=0.2019, upper=0.2109, kind=Kind.UPPER_BOUND, prior=0.2, method="pairs", note="Too long."
    )
    said = wording.after_seeing(wide, "the shuffled table")
    assert said.endswith("is right between 20.1% and 21.1% of the time instead of 20.0%.")


def test_other_gains_are_worth_a_number_and_not_a_share():
    said = wording.after_seeing(vulnerability(2.5, prior=2.0), "the shuffled table", counts_right=False)
    assert said.endswith("is worth 2.5 on average instead of 2.")
    most = vulnerability(2.500_000_1, prior=2.0, kind=Kind.UPPER_BOUND)
    said = wording.after_seeing(most, "the shuffled table", counts_right=False)
    assert said.endswith("is worth at most 2.50001 on average instead of 2.")


@pytest.mark.parametrize(
    ("relation", "said"),
    [("", "12.3%"), ("at most", "12.4%"), ("at least", "12.3%")],
)
def test_shares_are_rounded_as_their_kind_says(relation, said):
    assert wording.as_share(0.12341, relation) == said
    assert wording.as_share(0.125, relation) == "12.5%"  # and no further for what floats add


def test_what_is_seen_depends_on_the_shuffle():
    local = model_of_kind("k-rr", epsilon0=1.0, domain_size=2)
    mallows = MallowsShuffler(groups=Groups.from_labels([0] * 5), concentration=1.0).model(5)
    seen = [
        wording.seen_in(ProtocolModel(local=local, shuffle=shuffle))
        for shuffle in (UniformShuffleModel(num_users=5), IdentityShuffleModel(num_users=5), mallows)
    ]
    assert seen == ["the shuffled table", "whose report is whose", "the reports in their new order"]


def test_the_answer_names_both_adversaries_and_the_sample():
    local = model_of_kind("k-rr", epsilon0=1.0, domain_size=5)
    found = compare_ways(ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=1000)))
    uninformed, strong, error = wording.contributions(found)
    assert "20.5 by randomizing alone, 1.66 by shuffling alone" in uninformed
    assert "at least 0.459 by both together" in strong
    assert "of 65 of 1,000 people" in error
