"""Views with given reports in given slots, and answers that depend on places."""

import numpy as np

from shuffledp.core.flow import Reports, View
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import IdentityShuffler


def view_of(values, *, epsilon0=1.0, domain_size=2):
    """Nothing is shuffled, and these are the reports."""
    model = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=domain_size).model
    reports = Reports({"value": np.asarray(values)}, model)
    return View(reports=reports, labels=np.arange(len(values)), shuffle=IdentityShuffler().model(len(values)))


def town(people=2000, places=40, *, seed=0):
    """People who share places; what is privileged says most of what they answer, and the place says nothing."""
    draw = np.random.default_rng(seed)
    place = draw.integers(0, places, people)
    privileged = draw.integers(0, 2, people)
    answers = np.where(draw.random(people) < 0.95, privileged, 1 - privileged)
    return place, privileged, answers
