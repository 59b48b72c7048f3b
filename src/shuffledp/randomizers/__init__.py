"""Local randomizers: what runs on a person's device before anything leaves it."""

from shuffledp.randomizers.randomized_response import KaryRandomizedResponse, KaryRandomizedResponseModel

__all__ = ["KaryRandomizedResponse", "KaryRandomizedResponseModel"]
