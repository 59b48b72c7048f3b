"""Summaries of made-up batches: counts drawn from the law of a randomizer, or equal to what is expected of them."""

import numpy as np

from shuffledp.analyzers import FrequencySummary


def expected(model, shares, num_reports):
    """The summary whose estimated frequencies are these shares, exactly."""
    counts = num_reports * (model.q + np.asarray(shares) * (model.p - model.q))
    return FrequencySummary(model=model, counts=counts, num_reports=num_reports)


def drawn(model, holders, rng):
    """A batch in which so many people hold each value, of reports with one value or independent bits."""
    holders = np.asarray(holders)
    if model.kind == "k-rr":
        law = np.full((model.domain_size, model.domain_size), model.q)
        np.fill_diagonal(law, 1 - model.q * (model.domain_size - 1))
        counts = rng.multinomial(holders, law).sum(axis=0)
    else:
        counts = rng.binomial(holders, model.p) + rng.binomial(holders.sum() - holders, model.q)
    return FrequencySummary(model=model, counts=counts, num_reports=int(holders.sum()))


def coverage(estimates, truth):
    """Share of the runs whose interval holds the truth, shape (targets,)."""
    lower, upper = (np.array([getattr(each, end) for each in estimates]) for end in ("lower", "upper"))
    return ((lower <= truth) & (truth <= upper)).mean(axis=0)
