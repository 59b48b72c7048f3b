"""Every randomizer keeps the contract. A new one is one more class here."""

from contracts.randomizer import CategoricalRandomizerContract
from shuffledp.randomizers import KaryRandomizedResponse


class TestBinaryRandomizedResponse(CategoricalRandomizerContract):
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    values = (0, 1, 1, 0, 1) * 80


class TestTernaryRandomizedResponse(CategoricalRandomizerContract):
    randomizer = KaryRandomizedResponse(epsilon0=0.1, domain_size=3)
    values = (0, 1, 2, 0, 0) * 80


class TestRandomizedResponseOfSixteen(CategoricalRandomizerContract):
    randomizer = KaryRandomizedResponse(epsilon0=4.0, domain_size=16)
    values = tuple(range(16)) * 40
