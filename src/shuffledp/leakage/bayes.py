"""Bayes vulnerability: the probability that the best guess at a secret is right.

Verbs as in `shuffledp.leakage.gain`, of which this is the case of a gain of 1 for the right guess and 0 else.
If channel and prior are fractions, so are all answers.
"""

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from shuffledp.core.channels import Channel, distribution, numbers
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import instance_of


def prior(prior: ArrayLike | None) -> Fraction | float:
    """Prior Bayes vulnerability: the probability of a right guess from the prior alone.

    It is the prior's largest entry.

    Args:
        prior: shape (inputs,); adds up to 1. None, uniform elsewhere, is refused: it does not say of how many.

    Raises:
        InvalidParameterError: if the prior is no probability distribution, or None.

    References:
        Smith 2009, *On the Foundations of Quantitative Information Flow*.
    """
    if prior is None:
        raise InvalidParameterError(
            "prior must be probabilities; got prior=None, which does not say of how many inputs. A uniform prior over "
            "k inputs is [Fraction(1, k)] * k."
        )
    belief = numbers(prior, "prior", ndim=1)
    return plain(distribution(belief, len(belief)).max())


def posterior(prior: ArrayLike | None, channel: Channel) -> Fraction | float:
    """Posterior Bayes vulnerability: the probability of a right guess after the channel's output is seen.

    Formula: sum over outputs y of the largest ``prior[x] * matrix[x, y]``.

    Args:
        prior: shape (inputs,); adds up to 1; None is the uniform prior.
        channel: what is seen of the secret.

    Raises:
        InvalidParameterError: if the prior is no probability distribution on the channel's inputs.

    Example:
        >>> flip = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
        >>> posterior(None, flip), posterior([Fraction(9, 10), Fraction(1, 10)], flip)
        (Fraction(3, 4), Fraction(9, 10))
    """
    instance_of(Channel, channel=channel)
    return plain(channel.joint(prior).max(axis=0).sum())


def additive_leakage(prior: ArrayLike | None, channel: Channel) -> Fraction | float:
    """Additive Bayes leakage, from 0 to 1: the increase of a right guess's probability by the output.

    The arguments are those of `posterior`, and so are the errors.
    """
    return growth(posterior(prior, channel), plain(distribution(prior, len(channel.inputs)).max()))


def multiplicative_leakage(prior: ArrayLike | None, channel: Channel) -> Fraction | float:
    """Multiplicative Bayes leakage, 1 or more: the factor by which the output makes a right guess likelier.

    The arguments are those of `posterior`, and so are the errors.
    """
    return ratio(posterior(prior, channel), plain(distribution(prior, len(channel.inputs)).max()))


def capacity(channel: Channel) -> Fraction | float:
    """Multiplicative Bayes capacity: the largest multiplicative leakage over all priors and nonnegative gains.

    Formula: the sum of the largest entries of the columns. The uniform prior attains it.

    Args:
        channel: what is seen of the secret.

    References:
        Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi and Smith 2020, *The Science of Quantitative Information
        Flow*, Theorems 7.2 and 7.5.

    Example:
        >>> capacity(Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]))
        Fraction(3, 2)
    """
    instance_of(Channel, channel=channel)
    return plain(channel.matrix.max(axis=0).sum())


def strategy(prior: ArrayLike | None, channel: Channel) -> dict[Hashable, Hashable]:
    """Best guess for every possible output: the first of the most likely inputs.

    The arguments are those of `posterior`, and so are the errors.
    """
    instance_of(Channel, channel=channel)
    joint = channel.joint(prior)
    best, comes = joint.argmax(axis=0), joint.max(axis=0) > 0
    return {
        output: channel.inputs[guess]
        for output, guess, possible in zip(channel.outputs, best, comes, strict=True)
        if possible
    }


def plain(value: Any) -> Fraction | float:
    """Number as a fraction if it is a fraction, else as a float."""
    return value if isinstance(value, Fraction) else float(value)


def growth(after: Fraction | float, before: Fraction | float) -> Fraction | float:
    """Difference of posterior and prior vulnerability, never negative despite rounding."""
    return max(after - before, type(after)(0))


def ratio(after: Fraction | float, before: Fraction | float) -> Fraction | float:
    """Ratio of posterior and prior vulnerability, at least 1 despite rounding."""
    return max(after / before, type(after)(1))
