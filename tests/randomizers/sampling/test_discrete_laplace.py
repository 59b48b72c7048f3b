"""Discrete Laplace noise: what a plain reading of the algorithm gives, word for word, and no float in it."""

import ast
import inspect
import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.randomizers.sampling import discrete_laplace as module
from shuffledp.randomizers.sampling.discrete_laplace import discrete_laplace
from shuffledp.testing import RecordedSource, SeededSource

RATES = [
    Fraction(1, 1000),
    Fraction(1, 3),
    Fraction(1),
    Fraction(7, 2),
    Fraction(30),
    Fraction(2**20),
    Fraction(1, 2**40),
]


class Plain:
    """Algorithm 2 of Canonne, Kamath and Steinke for a single draw, in Python's integers."""

    def __init__(self, words):
        self.words = iter(words.tolist())
        self.used = 0

    def word(self):
        self.used += 1
        return next(self.words)

    def below(self, bound):
        while True:
            product = self.word() * bound
            if product % 2**64 >= 2**64 % bound:
                return product // 2**64

    def exponential_coin(self, numerator, denominator):
        places = itertools.count(1)
        return next(place for place in places if not self.below(place * denominator) < numerator) % 2 == 1

    def unit_coin(self):
        digits = mpmath.mp.clone()
        digits.prec = 400
        threshold = int(digits.floor(digits.exp(-1) * digits.mpf(2) ** 128))
        word = self.word()
        if word != threshold >> 64:
            return word < threshold >> 64
        return self.word() < threshold % 2**64

    def draw(self, rate):
        while True:
            while True:
                part = self.below(rate.denominator)
                if self.exponential_coin(part, rate.denominator):
                    break
            whole = 0
            while self.unit_coin():
                whole += 1
            magnitude = (part + rate.denominator * whole) // rate.numerator
            negative = self.below(2)
            if not (negative and magnitude == 0):
                return -magnitude if negative else magnitude


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_a_draw_is_that_of_the_published_algorithm_word_for_word(rate):
    for seed in range(60):
        words = SeededSource(seed).words(4000)
        plain, source = Plain(words), RecordedSource(words)
        assert discrete_laplace(rate, 1, source=source).tolist() == [plain.draw(rate)]
        assert source.remaining == len(words) - plain.used


def test_digits_of_the_inverse_of_e_are_those_computed_elsewhere():
    with mpmath.workprec(2000):
        for place in range(20):
            exact = mpmath.floor(mpmath.exp(-1) * mpmath.mpf(2) ** (64 * (place + 1)))
            assert module._digit_of_inverse_e(place) == int(exact) % 2**64


def test_a_coin_that_the_first_digit_leaves_open_is_decided_by_the_next():
    first, second = module._digit_of_inverse_e(0), module._digit_of_inverse_e(1)
    for words, heads in (([first, second - 1], True), ([first, second + 1], False), ([first, second, 0], True)):
        source = RecordedSource(words)
        assert module._unit_coins(1, source).tolist() == [heads]
        assert source.remaining == 0


def test_one_coin_left_open_among_others_keeps_its_place():
    first = module._digit_of_inverse_e(0)
    source = RecordedSource([0, first, 2**64 - 1, 0])
    assert module._unit_coins(3, source).tolist() == [True, True, False]


def test_nothing_in_the_sampler_is_a_float():
    tree = ast.parse(inspect.getsource(module))
    floats = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, float)]
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    divided = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp | ast.AugAssign)]
    assert not floats
    assert not called & {"exp", "log", "log1p", "expm1", "float64", "float32", "random", "true_divide", "divide"}
    assert "float" not in names
    # The one true division is that of a Fraction by an integer.
    assert [ast.unparse(node) for node in divided if isinstance(node.op, ast.Div)] == ["term /= -count"]


def test_draws_are_made_in_batches_with_the_same_law_and_none_is_left_out():
    noise = discrete_laplace(Fraction(1), module._BATCH + 5, source=SeededSource(3))
    assert noise.shape == (module._BATCH + 5,)
    assert noise.dtype == np.int64
    assert abs(noise).max() < 60
    assert discrete_laplace(Fraction(1), 0).shape == (0,)


WRONG = [
    ({"rate": Fraction(0)}, "rate must be a fraction above 0"),
    ({"rate": Fraction(-1)}, "rate must be a fraction above 0"),
    ({"rate": Fraction(2**20 + 1)}, "rate must be a fraction above 0 and at most"),
    ({"rate": Fraction(1, 2**40 + 1)}, "rate must be a fraction above 0 and at most"),
    ({"rate": 0.5}, "rate must be a Fraction"),
    ({"count": -1}, "count must be an integer that is 0 or more"),
    ({"source": 7}, "source must be a RandomSource or None"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_wrong_arguments_are_refused(changes, message):
    given = {"rate": Fraction(1), "count": 3, "source": None} | changes
    with pytest.raises(InvalidParameterError, match=message):
        discrete_laplace(given["rate"], given["count"], source=given["source"])
