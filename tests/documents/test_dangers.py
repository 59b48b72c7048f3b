"""The one danger of a protocol stands first among those who must be trusted, in bold, on the page and the screen."""

import io

import pytest
from rich.console import Console

import shuffledp as sdp
from shuffledp.core.statement_terms import Trust
from shuffledp.documents.blocks import Listing, Role, Text
from shuffledp.documents.document import Document
from shuffledp.documents.statement_document import promise_of
from shuffledp.documents.terminal import show
from shuffledp.testing import SeededSource


def statements(kind):
    if kind == "walks":
        graph = sdp.Graph.random_regular(8, 100, SeededSource(1))
        shuffle = sdp.RandomWalkShuffler(graph=graph, num_rounds=20).model(100)
        local = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
        model = sdp.ProtocolModel(local=local, shuffle=shuffle)
    else:
        randomizer = sdp.calibrate.split_and_mix(num_users=1000, epsilon=1.0, delta=1e-6, lower=0, upper=10)
        rounds = sdp.ParallelShuffler(sdp.UniformShuffler(), randomizer.num_messages)
        model = sdp.ProtocolModel(local=randomizer.model, shuffle=rounds.model(1000))
    return (sdp.account(model, delta=1e-6),)


DANGERS = {"walks": Trust.FIRST_ROUND, "split and mix": Trust.ALL_SHARES}


@pytest.mark.parametrize("kind", DANGERS)
def test_it_is_first_and_bold(kind):
    promise, danger = promise_of(statements(kind)), DANGERS[kind]
    listing = next(block for block in promise.trust if isinstance(block, Listing))
    assert listing.items[0] == danger.text
    assert listing.bold == (danger.text,)
    first, whole, *_ = (block for block in promise.headline if isinstance(block, Text))
    assert (first.text, first.role) == (f"This holds only as long as {danger.text}.", Role.DANGER)
    assert danger.text in whole.text
    assert whole.bold == (danger.text,)


@pytest.mark.parametrize("kind", DANGERS)
def test_a_terminal_prints_it_before_all_else_in_red_and_bold_in_the_whole_statement(kind):
    screen = io.StringIO()
    show(
        Document(promise=promise_of(statements(kind)), sections=()),
        Console(file=screen, force_terminal=True, width=4000, color_system="standard"),
        detail=True,
    )
    assert screen.getvalue().startswith(f"\x1b[1;31mWARNING: This holds only as long as {DANGERS[kind].text}.\x1b[0m\n")
    assert f"\x1b[1m{DANGERS[kind].text}\x1b[0m" in screen.getvalue()


def test_an_ordinary_shuffle_has_none():
    model = sdp.ProtocolModel(
        local=sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model, shuffle=sdp.UniformShuffler().model(100)
    )
    assert not any(each.is_danger for each in sdp.account(model, delta=1e-6).trust)
