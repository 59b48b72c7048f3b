"""Guesses of answers: which answers are played, and how many at a time. That they are as good as stated: soundness."""

import numpy as np

import shuffledp as sdp
from attacks.twins import pipeline
from shuffledp.attacks import guess_answers
from shuffledp.testing import SeededSource


class Watched:
    """Binary randomized response that keeps what it is given."""

    def __init__(self):
        self.honest = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
        self.model = self.honest.model
        self.given = []

    def randomize(self, values, *, source=None):
        self.given.append(np.array(values))
        return self.honest.randomize(values, source=source)


def played(num_users, *, runs, games=1, **options):
    randomizer, source = Watched(), SeededSource(1)
    for _ in range(games):
        guess_answers(pipeline(randomizer), 0.6, num_users=num_users, trials=runs, source=source, **options)
    return randomizer.given


def test_two_games_with_one_seeded_source_play_different_answers():
    first, second = played(20, runs=50, games=2)
    assert first.shape == second.shape == (1000,)
    assert (first != second).any()
    (again,) = played(20, runs=50)
    assert (first == again).all()


def test_so_many_views_are_held_together_as_fit_and_never_256_large_ones():
    assert [len(each) for each in played(10, runs=300)] == [2560, 440]
    assert [len(each) for each in played(40_000, runs=3)] == [40_000] * 3
    assert max(len(each) for each in played(3000, runs=50)) <= 1 << 16


def test_progress_is_told_to_the_end():
    told = []
    played(10, runs=300, progress=lambda *step: told.append(step))
    assert told == [(256, 300), (300, 300)]
