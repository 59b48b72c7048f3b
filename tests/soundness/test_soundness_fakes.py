"""With b fake senders every statement holds against whoever knows, or wrote, b of the reports; by enumeration.

The fake reports are any function of the other people's answers. Where the order of reports tells something, they are
marked, so that their places are known too.
"""

from itertools import permutations, product

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp import KaryRandomizedResponse, MallowsShuffler, ProtocolModel, UniformShuffler, account, delta_at
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
from shuffledp.testing import SeededSource
from shufflers.enumerated import law_of
from soundness.exact_deltas import hockey_stick, laws_of_others, response, with_another, worst_delta
from soundness.exact_rounds import mallows_cayley
from soundness.exact_views import loss_of

EPSILONS = np.array([0.0, 0.1, 0.3, 0.7])


def protocol(shuffle, size=2, epsilon0=1.0):
    return ProtocolModel(local=KaryRandomizedResponse(epsilon0=epsilon0, domain_size=size).model, shuffle=shuffle)


def seen_with(channel, answers, fakes):
    """The law of the histogram of all reports, the fake ones among them: one count for each output but the last."""
    law = np.ones((1,) * (channel.shape[1] - 1))
    for row in (*channel[list(answers)], *np.eye(len(channel))[list(fakes)]):
        law = with_another(law, row)
    return law


def strategies(size, others, fakes):
    """What fake senders send, for each data set of the others: nothing of the target's answer."""
    every = list(product(range(size), repeat=fakes))
    for sent in every:
        yield lambda _known, sent=sent: sent
    yield lambda known: tuple(known[:fakes]) if len(known) >= fakes else (0,) * fakes
    yield lambda known: tuple(size - 1 - each for each in (*known, *[0] * fakes)[:fakes])


@pytest.mark.parametrize(("people", "fakes", "size"), [(3, 1, 2), (4, 1, 3), (5, 2, 2), (6, 3, 2)])
def test_a_uniform_shuffle_hides_among_the_honest_alone(people, fakes, size):
    channel, others = response(size, 1.0), people - fakes - 1
    model = protocol(UniformShuffler().model(people), size).with_fakes(fakes)
    stated = np.array([delta_at(model, epsilon=float(each)).guarantee.delta for each in EPSILONS])

    worst = np.zeros(len(EPSILONS))
    for known, send in product(product(range(size), repeat=others), strategies(size, others, fakes)):
        views = [seen_with(channel, (answer, *known), send(known)) for answer in range(size)]
        for pair in permutations(views, 2):
            worst = np.maximum(worst, hockey_stick(*pair, EPSILONS))
    subtracted = worst_delta(channel, laws_of_others(channel, others), EPSILONS)

    np.testing.assert_allclose(worst, subtracted, atol=1e-12)  # what was sent can be subtracted, whatever it was
    assert (subtracted <= stated * (1 + 1e-9)).all()
    if size == 2:  # stated exactly, so that one honest person more would be too many
        assert (worst_delta(channel, laws_of_others(channel, others + 1), EPSILONS) < stated)[1:].any()


def marked_view_law(orders, answers, fakes, channel):
    """The law of who stands where: reports of the first people in their order, and marks for the fake ones."""
    people, outputs = len(answers) + len(fakes), len(channel)
    views = {}
    for order, chance in orders.items():
        for reports in product(range(outputs), repeat=len(answers)):
            weight = chance * np.prod(
                [channel[answer, report] for answer, report in zip(answers, reports, strict=True)]
            )
            content = (*reports, *(outputs + mark for mark in range(len(fakes))))
            senders = iter(content)
            by_person = {person: next(senders) for person in (*_honest(people, fakes), *fakes)}
            view = tuple(by_person[person] for person in order)
            views[view] = views.get(view, 0.0) + weight
    return views


def _honest(people, fakes):
    return [person for person in range(people) if person not in fakes]


def exact_loss_with_marks(orders, people, fakes, epsilon0, delta):
    """The largest epsilon over honest targets and all answers of the others."""
    channel, honest, found = response(2, epsilon0), _honest(people, fakes), 0.0
    for target, rest in product(range(len(honest)), product(range(2), repeat=len(honest) - 1)):
        laws = [
            marked_view_law(orders, (*rest[:target], answer, *rest[target:]), fakes, channel) for answer in range(2)
        ]
        keys = sorted(set(laws[0]) | set(laws[1]))
        found = max(found, loss_of(*(np.array([law.get(key, 0.0) for key in keys]) for law in laws), delta))
    return found


@pytest.mark.parametrize("fakes", [(3,), (0,), (1, 2)])
def test_an_imperfect_shuffle_with_marked_reports(fakes):
    shuffle, delta = CayleyShuffler(imperfection=0.5).model(4), 0.01
    stated = account(protocol(shuffle, epsilon0=2.0).with_fakes(len(fakes)), delta=delta).guarantee.epsilon
    assert exact_loss_with_marks(mallows_cayley(4, 0.5), 4, fakes, 2.0, delta) <= stated <= 2.0


@pytest.mark.parametrize("fakes", [(3,), (1,)])
def test_order_inside_groups_with_marked_reports(fakes):
    shuffler, delta = MallowsShuffler(groups=Groups.from_labels(np.zeros(4, dtype=np.int64)), concentration=0.1), 0.01
    model = protocol(shuffler.model(4), epsilon0=2.0)
    stated = account(model.with_fakes(len(fakes)), delta=delta).guarantee.epsilon
    assert exact_loss_with_marks(law_of(shuffler), 4, fakes, 2.0, delta) <= stated <= 2.0
    assert account(model, delta=delta).guarantee.epsilon <= stated


def test_of_shares_the_honest_people_make_all_the_noise():
    made = sdp.calibrate.split_and_mix(num_users=100, epsilon=1.0, delta=1e-6, lower=0, upper=1, dropout_fraction=0.1)
    model = ProtocolModel(
        local=made.model, shuffle=sdp.ParallelShuffler(UniformShuffler(), made.num_messages).model(100)
    )
    honest = ProtocolModel(
        local=made.model, shuffle=sdp.ParallelShuffler(UniformShuffler(), made.num_messages).model(90)
    )
    found, alone = account(model.with_fakes(10), delta=1e-6), account(honest, delta=1e-6)
    assert found.guarantee == alone.guarantee
    with pytest.raises(UnsupportedModelError, match=r"enough|noise"):
        account(model.with_fakes(11), delta=1e-6)


def test_of_walks_they_collude():
    walks = sdp.RandomWalkShuffler(graph=sdp.Graph.random_regular(8, 100, SeededSource(1)), num_rounds=20).model(100)
    model = protocol(walks)
    assert account(model, delta=1e-3).guarantee.epsilon < 1.0
    faked = model.with_fakes(2)
    assert faked.shuffle.num_colluding == 2
    assert account(faked, delta=1e-3).basis.theorem == "local-dp"


def test_fake_senders_are_told_once():
    model = protocol(UniformShuffler().model(9), 2).with_fakes(2)
    with pytest.raises(InvalidParameterError, match="fakes must be at most 0 beside 2 already counted"):
        model.with_fakes(1)
    assert model.with_fakes(0) == model
