"""The swap bound as a theorem: what it is stated about, and each hypothesis by which it is refused."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from accounting.given import GivenChannel, GivenLoss
from shuffledp.accounting import (
    SHARP_THEOREMS,
    THEOREMS,
    account,
    account_all,
    best_lower_bound,
    bracket,
    compose_releases,
    delta_at,
    examine,
)
from shuffledp.accounting.swapping import certified_losses
from shuffledp.accounting.theorems import swap_profiles
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Status
from shuffledp.protocols.shares.shufflers.imperfect import imperfect_shuffler
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffler
from shuffledp.randomizers import KaryRandomizedResponseModel, LdpModel, PersonalizedResponseModel
from soundness.protocols import OF_ANY_SIZE, OF_FEW

NAMED = {theorem.id: theorem for theorem in SHARP_THEOREMS}
ANY, OF_CHANNEL = NAMED["swap-bound"], NAMED["swap-bound-channel"]


def protocol(local, users):
    return ProtocolModel(local=local, shuffle=ShuffleModel.from_dict({"kind": "uniform", "num_users": users}))


def any_randomizer(epsilon0=1.0, users=10_000):
    return protocol(LdpModel(epsilon0=epsilon0), users)


def test_of_any_randomizer_the_statement_is_within_a_hundredth_of_the_best_possible():
    found = bracket(epsilon0=0.25, num_users=10_000, delta=1e-6, sharp=True)
    assert found.upper_basis.theorem == "swap-bound"
    assert found.upper_basis.status is Status.OWN_PROOF
    assert found.lower < found.upper < 1.005 * found.lower
    assert account(epsilon0=0.25, num_users=10_000, delta=1e-6).basis.theorem == "strong-pair"


@pytest.mark.deep
@pytest.mark.parametrize("users", [10_000, 100_000, 10**6, 10**8])
@pytest.mark.parametrize("epsilon0", [0.25, 0.5, 0.7, 1.0, 1.5, 2.0])
def test_from_ten_thousand_people_on_the_bracket_is_within_three_hundredths(users, epsilon0):
    found = bracket(epsilon0=epsilon0, num_users=users, delta=1e-6, sharp=True)
    assert found.lower <= found.upper <= 1.03 * found.lower


@pytest.mark.deep
@pytest.mark.parametrize("users", [1_000, 3_000])
@pytest.mark.parametrize("epsilon0", [0.25, 0.5, 0.7, 1.0, 1.5, 2.0])
def test_from_a_thousand_people_on_it_is_within_seven_hundredths(users, epsilon0):
    found = bracket(epsilon0=epsilon0, num_users=users, delta=1e-6, sharp=True)
    assert found.lower <= found.upper <= 1.07 * found.lower


def test_it_is_left_out_unless_it_is_asked_for_and_of_what_is_published(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(certified_losses, "private_epsilon", never)
    assert {"swap-bound", "swap-bound-channel"} & {each.id for each in THEOREMS} == set()
    assert account(any_randomizer(), delta=1e-6).basis.theorem == "strong-pair"
    assert account(any_randomizer(), delta=1e-6, sharp=True, published_only=True).basis.theorem == "fmt21-pair"


def test_where_the_bracket_is_narrow_anyway_no_seconds_are_spent(monkeypatch):
    def never(*_):
        raise AssertionError

    for name in ("private_epsilon", "private_delta_at"):
        monkeypatch.setattr(certified_losses, name, never)
    model = protocol(GivenChannel(rows=((0.6, 0.2, 0.2), (0.2, 0.6, 0.2), (0.2, 0.2, 0.6))), 5_000)
    assert account(model, delta=1e-6, sharp=True) == account(model, delta=1e-6)


@pytest.mark.deep
def test_the_delta_at_an_epsilon_is_below_that_of_the_pair_and_above_what_is_known():
    model = any_randomizer()
    sharp, plain = (delta_at(model, epsilon=0.038, sharp=each).guarantee.delta for each in (True, False))
    assert NAMED["ldp-witness"].delta_at(model, epsilon=0.038) < sharp < 0.25 * plain


@pytest.mark.deep
def test_a_channel_is_bounded_by_its_own_laws():
    """Golden row of four inputs and six outputs is deep; here two inputs and three outputs."""
    model = protocol(GivenChannel(rows=((0.45, 0.3, 0.25), (0.3, 0.42, 0.28))), 20_000)
    sharp, plain = account(model, delta=1e-6, sharp=True), account(model, delta=1e-6)
    lower = NAMED["homogeneous-channel"].epsilon(model, delta=1e-6)
    assert sharp.basis.theorem == "swap-bound-channel"
    assert lower <= sharp.guarantee.epsilon < min(1.02 * lower, plain.guarantee.epsilon)


@pytest.mark.deep
def test_of_strata_the_smallest_one_counts_and_of_colluders_the_others():
    strata = Strata.of({"region": ["a"] * 3000 + ["b"] * 9000}, by="region")
    model = ProtocolModel(local=LdpModel(epsilon0=0.5), shuffle=StratifiedShuffler(strata).model(12_000))
    once = account(any_randomizer(0.5, 3_000), delta=1e-6, sharp=True).guarantee.epsilon
    assert account(model, delta=1e-6, sharp=True).guarantee.epsilon == once
    half = account(any_randomizer(0.5, 6_000), delta=1e-6, honest_fraction=0.5, sharp=True).guarantee.epsilon
    assert half == once


PERSONAL = PersonalizedResponseModel(domain_size=2, epsilons=(0.5, 1.0), counts=(5_000, 5_000))
IMPERFECT = replace(any_randomizer(), shuffle=imperfect_shuffler(imperfection=0.5).model(10_000))


def refused(model, delta=1e-6, theorem=ANY):
    """The hypotheses that fail."""
    return [each.name for each in theorem.hypotheses(model, delta=delta) if not each.holds]


@pytest.mark.parametrize(
    ("model", "failing"),
    [
        (IMPERFECT, "uniform-shuffle"),
        (protocol(LdpModel(epsilon0=1.0, delta0=1e-9), 10_000), "pure-local-dp"),
        (protocol(PERSONAL, 10_000), "common-randomizer"),
        (protocol(GivenLoss(loss=1.0, common=False), 10_000), "common-randomizer"),
        (protocol(GivenLoss(loss=1.0, num_messages=3), 10_000), "one-message-each"),
        (protocol(GivenLoss(loss=1e-7), 10_000), "moderate-epsilon0"),
        (any_randomizer(4.0, 100_000), "large-reservoir"),
        (any_randomizer(1.0, 10**13), "large-reservoir"),
        (any_randomizer(1.0, 2), "large-reservoir"),
    ],
)  # fmt: skip
def test_each_hypothesis_that_fails_is_named_and_nothing_is_said(model, failing):
    """Imperfect shuffles, approximate privacy, personal losses and randomizers, several messages, small reservoirs."""
    assert failing in refused(model)
    assert ANY.epsilon(model, delta=1e-6) == model.local.epsilon0
    assert ANY.delta(model, epsilon=0.01) == 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive(GivenLoss):
    """Reports that may depend on earlier ones."""

    kind = "test-adaptive"

    @property
    def is_adaptive(self):
        return True


def through(shuffle, local=None):
    return ProtocolModel(local=local or GivenLoss(loss=1.0), shuffle=shuffle)


PEOPLE = 10_000
NOT_COVERED = {
    "an imperfect shuffle": (lambda: through(OF_ANY_SIZE["imperfect (cayley)"](PEOPLE)), "uniform-shuffle"),
    "groups, Mallows": (lambda: through(OF_FEW["mallows"]()), "uniform-shuffle"),
    "groups, noisy sort": (lambda: through(OF_FEW["noisy-sort"]()), "uniform-shuffle"),
    "walks on a graph": (lambda: through(OF_FEW["graph"]()), "uniform-shuffle"),
    "walks on an overlay": (lambda: through(OF_ANY_SIZE["overlay"](PEOPLE)), "uniform-shuffle"),
    "approximate local privacy": (lambda: protocol(LdpModel(epsilon0=1.0, delta0=1e-9), PEOPLE), "pure-local-dp"),
    "personal losses": (lambda: protocol(PERSONAL, PEOPLE), "common-randomizer"),
    "several messages": (lambda: protocol(GivenLoss(loss=1.0, num_messages=3), PEOPLE), "one-message-each"),
    "adaptive randomizers": (lambda: protocol(Adaptive(loss=1.0), PEOPLE), "non-adaptive"),
}


SLOW = {"personal losses", "walks on a graph"}  # other theorems about them take seconds


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=[pytest.mark.deep] if what in SLOW else []) for what in NOT_COVERED]
)
def test_the_swap_bound_is_refused_by_hypothesis_alone_and_in_releases_and_nothing_is_worked_out(what, monkeypatch):
    """Mutant: a hypothesis left out."""
    for name in ("private_epsilon", "private_delta_at", "channel_epsilon", "channel_delta"):
        monkeypatch.setattr(certified_losses, name, lambda *_: pytest.fail("worked out"))
    monkeypatch.setattr(swap_profiles, "_envelope", lambda *_: pytest.fail("worked out"))
    given, failing = NOT_COVERED[what]
    model = given()
    assert all(failing in refused(model, theorem=theorem) for theorem in (ANY, OF_CHANNEL))
    assert swap_profiles.swap_profile(model) is None
    for releases in (1, 3):
        options = {"delta": 1e-6, "num_releases": releases}
        try:
            plain = compose_releases(model, **options)
        except UnsupportedModelError:  # nothing is known at all
            plain = None
        if plain is not None:
            assert compose_releases(model, sharp=True, **options).guarantee == plain.guarantee


SMALL, LARGE, EXTREME = (1, 2), (30, 10_001, 10**6), (1e-300, 1e-13, 1e-6, 0.9)
CHANNELS = {
    "equal rows": ((0.5, 0.5), (0.5, 0.5)),
    "two equal rows": ((0.5, 0.3, 0.2), (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)),
    "tiny entries": ((0.5, 0.5 - 1e-12, 1e-12), (0.4, 0.6 - 1e-9, 1e-9)),
    "a tiny entry of two": ((1 - 1e-9, 1e-9), (0.5, 0.5)),
    "nearly equal rows": ((0.5, 0.5), (0.5 + 1e-9, 0.5 - 1e-9)),
    "a thousand outputs": tuple(tuple((1 + 0.2 * ((one + row) % 2)) / 1100 for one in range(1000)) for row in range(2)),
}


def is_a_bound(model, delta):
    """At most what is stated without bounds that take seconds, and not below any lower bound; never NaN."""
    stated = account_all(model, delta=delta)[0].guarantee.epsilon
    quick, lower = account(model, delta=delta).guarantee.epsilon, best_lower_bound(model, delta)
    assert stated <= quick
    return (0.0 if lower is None else lower.guarantee.epsilon * (1 - 1e-6)) <= stated <= model.local.epsilon0


@pytest.mark.parametrize(
    ("users", "delta"),
    [(users, delta) for users in (*SMALL, 10_001) for delta in EXTREME],
)
def test_any_number_of_people_any_loss_and_any_delta_have_a_bound(users, delta):
    for epsilon0 in (1e-6, 3.0, 30.0):
        assert is_a_bound(any_randomizer(epsilon0, users), delta)
        assert is_a_bound(
            protocol(KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=2), users), delta
        )


@pytest.mark.deep
@pytest.mark.parametrize("users", [*SMALL, *LARGE])
@pytest.mark.parametrize("rows", CHANNELS.values(), ids=CHANNELS)
def test_channels_with_equal_rows_tiny_entries_or_a_thousand_outputs_have_a_bound(rows, users):
    for delta in EXTREME:
        assert is_a_bound(protocol(GivenChannel(rows=rows), users), delta)


def test_a_channel_with_a_zero_keeps_what_was_stated_or_the_reason():
    model = protocol(GivenChannel(rows=((0.5, 0.5, 0.0), (0.3, 0.3, 0.4))), 5_000)
    assert account(model, delta=0.9, sharp=True) == account(model, delta=0.9)
    with pytest.raises(UnsupportedModelError, match="reports that some answers never lead to"):
        account(model, delta=1e-6, sharp=True)


def test_a_delta_below_what_was_checked_is_refused():
    assert refused(any_randomizer(), delta=1e-13) == ["moderate-delta"]


@pytest.mark.parametrize(
    ("rows", "users", "failing"),
    [
        (((0.5, 0.5, 0.0), (0.4, 0.3, 0.3)), 10_000, "positive-channel"),
        (((0.5, 0.4999999, 1e-7), (0.4, 0.3, 0.3)), 10_000, "positive-channel"),
        (((0.5, 0.5), (0.4, 0.6)), 10, "moderate-users"),
        (tuple((0.1 + 0.01 * row, 0.9 - 0.01 * row) for row in range(7)), 10_000, "positive-channel"),
    ],
)
def test_channels_with_a_zero_or_a_tiny_entry_are_refused_and_too_few_people_are(rows, users, failing):
    assert failing in refused(protocol(GivenChannel(rows=rows), users), theorem=OF_CHANNEL)


def test_a_channel_with_equal_rows_or_a_thousand_outputs_is_left_to_the_theorems_there_were():
    many = tuple(tuple((1 + 0.2 * ((place + row) % 2)) / 1100 for place in range(1000)) for row in range(2))
    model = protocol(GivenChannel(rows=many), 10_000)
    assert account(model, delta=1e-6, sharp=True).guarantee.epsilon <= account(model, delta=1e-6).guarantee.epsilon
    equal = protocol(GivenChannel(rows=((0.5, 0.5), (0.5, 0.5))), 10_000)
    assert account(equal, delta=1e-6, sharp=True).guarantee.epsilon == 0


def test_all_findings_list_it_with_the_hypothesis_that_fails():
    found = {
        each.theorem: each for each in examine(any_randomizer(4.0), delta=1e-6, sharp=True, with_theorems=True).theorems
    }
    assert found["swap-bound"].epsilon is None
    assert "exp(2.3 epsilon0)" in found["swap-bound"].reasons[0]


@pytest.mark.deep
def test_of_releases_both_totals_are_worked_out_and_the_less_is_stated(monkeypatch):
    model = any_randomizer(0.5, 5_000)
    sharp, plain = (compose_releases(model, delta=1e-6, num_releases=4, sharp=each).guarantee for each in (True, False))
    assert sharp.epsilon < 0.95 * plain.epsilon
    assert account(model, delta=1e-6, sharp=True).guarantee.epsilon < sharp.epsilon
    assert account(model, delta=1e-6, releases=4, sharp=True).guarantee == sharp
    published = compose_releases(model, delta=1e-6, num_releases=4, sharp=True, published_only=True).guarantee
    assert published.epsilon > plain.epsilon

    def nothing(*_):
        return swap_profiles.envelope(0.5, *np.zeros((2, 0)))

    monkeypatch.setattr(swap_profiles, "_envelope", nothing)
    without = compose_releases(model, delta=1e-6, num_releases=4, sharp=True).guarantee.epsilon
    assert without == pytest.approx(plain.epsilon, rel=1e-6)


def test_protocols_that_the_bound_is_not_about_have_no_profile():
    """By hypothesis: an imperfect shuffle, a local remainder, personal losses, several messages, a small reservoir."""
    for local in (LdpModel(epsilon0=1.0, delta0=1e-9), PERSONAL, GivenLoss(loss=1.0, num_messages=3)):
        assert swap_profiles.swap_profile(protocol(local, 10_000)) is None
    assert swap_profiles.swap_profile(IMPERFECT) is None
    assert swap_profiles.swap_profile(any_randomizer(4.0)) is None
    assert swap_profiles.swap_profile(any_randomizer()) is not None


@pytest.mark.deep
def test_releases_of_different_protocols_are_composed_with_it_where_it_is_tightest():
    models = [
        any_randomizer(0.5, 5_000),
        protocol(GivenChannel(rows=((0.6, 0.2, 0.2), (0.2, 0.6, 0.2), (0.2, 0.2, 0.6))), 5_000),
    ]
    sharp, plain = (compose_releases(models, delta=1e-6, sharp=each).guarantee.epsilon for each in (True, False))
    assert 0.9 * plain < sharp < plain
