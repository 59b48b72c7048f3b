"""Vulnerability for any gain: what the best action is worth on average, by a table of actions and secrets.

The same verbs as in `shuffledp.leakage.bayes`. If channel, prior and gain are fractions or integers, so are all answers
but `capacity`, which solves a program in floats.
"""

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, hstack, vstack

from shuffledp.channels import Channel, distribution, numbers, times
from shuffledp.errors import InvalidParameterError
from shuffledp.leakage._exact import growth, plain, ratio

__all__ = ["additive_leakage", "capacity", "multiplicative_leakage", "posterior", "prior", "strategy"]

_ROUNDING = 1e-12  # of the largest gain: less is no negative value
_MOST_CHOICES = 20_000  # an action for every output, one by one


def prior(prior: ArrayLike | None, gain: ArrayLike) -> Fraction | float:
    """What the best action is worth before anything is seen.

    Args:
        prior: shape (inputs,); adds up to 1; None is the uniform prior.
        gain: shape (actions, inputs); what each action is worth if that input is the secret.

    Raises:
        InvalidParameterError: for a prior that is no probability distribution, a gain of another shape, or one whose
            best action is worth less than 0.
    """
    table = numbers(gain, "gain", ndim=2)
    belief = distribution(prior, table.shape[1])
    return plain(_values(table, belief[:, None])[0])


def posterior(prior: ArrayLike | None, channel: Channel, gain: ArrayLike) -> Fraction | float:
    """What the best action is worth on average to somebody who sees the channel's output before choosing it.

    Args:
        prior: shape (inputs,); adds up to 1; None is the uniform prior.
        channel: what is seen of the secret.
        gain: shape (actions, inputs); what each action is worth if that input is the secret.

    Raises:
        InvalidParameterError: for a prior that is no probability distribution, a gain of another shape, or one whose
            best action is worth less than 0 for some output.

    References:
        Alvim, Chatzikokolakis, Palamidessi and Smith 2012, *Measuring Information Leakage Using Generalized Gain
        Functions*.

    Example:
        >>> flip = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
        >>> posterior(None, flip, [[1, 0], [0, 1], [Fraction(4, 5), Fraction(4, 5)]])
        Fraction(4, 5)
    """
    return plain(_values(_table(gain, channel), channel.joint(prior)).sum())


def additive_leakage(prior: ArrayLike | None, channel: Channel, gain: ArrayLike) -> Fraction | float:
    """How much more the best action is worth for what is seen: 0 or more.

    Args:
        prior: shape (inputs,); adds up to 1; None is the uniform prior.
        channel: what is seen of the secret.
        gain: shape (actions, inputs); what each action is worth if that input is the secret.

    Raises:
        InvalidParameterError: as `posterior`.
    """
    after, before = _after_and_before(prior, channel, gain)
    return growth(after, before)


def multiplicative_leakage(prior: ArrayLike | None, channel: Channel, gain: ArrayLike) -> Fraction | float:
    """How many times as much the best action is worth for what is seen: 1 or more.

    Args:
        prior: shape (inputs,); adds up to 1; None is the uniform prior.
        channel: what is seen of the secret.
        gain: shape (actions, inputs); what each action is worth if that input is the secret.

    Raises:
        InvalidParameterError: as `posterior`; and if the best action is worth nothing before anything is seen.
    """
    after, before = _after_and_before(prior, channel, gain)
    if before <= 0:
        raise InvalidParameterError("gain must have an action worth more than 0 under the prior, for a ratio to exist.")
    return ratio(after, before)


def capacity(channel: Channel, gain: ArrayLike) -> float:
    """The largest multiplicative leakage of any prior, for this gain: at most `shuffledp.leakage.bayes.capacity`.

    The largest average worth among weights on the inputs that make no action worth more than 1 beforehand. It is a
    convex function of the weights; which action each output calls for is left to a mixed-integer linear program, exact
    up to about 1e-6.

    Args:
        channel: what is seen of the secret.
        gain: shape (actions, inputs), entries 0 or more.

    Raises:
        InvalidParameterError: for a gain of another shape, a negative entry, one without an entry above 0, or more than
            20,000 pairs of an action and an output; `shuffledp.leakage.bayes.capacity` is a bound for any gain.

    References:
        *The Science of Quantitative Information Flow* 2020, Section 7.1.

    Example:
        >>> flip = Channel([[0.75, 0.25], [0.25, 0.75]])
        >>> round(capacity(flip, [[1, 0], [0, 1]]), 6), round(capacity(flip, [[1, 1]]), 6)
        (1.5, 1.0)
    """
    table = _table(gain, channel).astype(np.float64)
    if (table < 0).any() or not (table > 0).any():
        raise InvalidParameterError("gain must have entries that are 0 or more, and one above 0, for a capacity.")
    worthy = table.max(axis=0) > 0  # other inputs add nothing to either side of the ratio
    matrix = channel.reduced().matrix.astype(np.float64)
    if matrix.shape[1] * len(table) > _MOST_CHOICES:
        raise InvalidParameterError(
            f"gain must leave at most {_MOST_CHOICES} pairs of an action and an output; got "
            f"{matrix.shape[1] * len(table)}. bayes.capacity(channel) is a bound for every gain."
        )
    return max(_best_ratio(matrix[worthy], table[:, worthy]), 1.0)


def strategy(prior: ArrayLike | None, channel: Channel, gain: ArrayLike) -> dict[Hashable, int]:
    """The row of a best action for every output that can come, the first of them if several are.

    Args:
        prior: shape (inputs,); adds up to 1; None is the uniform prior.
        channel: what is seen of the secret.
        gain: shape (actions, inputs); what each action is worth if that input is the secret.

    Raises:
        InvalidParameterError: as `posterior`.
    """
    table, joint = _table(gain, channel), channel.joint(prior)
    _values(table, joint)
    best, comes = times(table, joint).argmax(axis=0), joint.max(axis=0) > 0
    return {
        output: int(guess) for output, guess, possible in zip(channel.outputs, best, comes, strict=True) if possible
    }


def _table(gain: ArrayLike, channel: Channel) -> NDArray[Any]:
    table = numbers(gain, "gain", ndim=2)
    if table.shape[1] != len(channel.inputs):
        raise InvalidParameterError(
            f"gain must have one column for each of {len(channel.inputs)} inputs; got gain.shape={table.shape}."
        )
    return table


def _values(table: NDArray[Any], joint: NDArray[Any]) -> NDArray[Any]:
    """What the best action is worth with each column of a joint distribution, times how often that column comes."""
    worth: NDArray[Any] = times(table, joint).max(axis=0)
    least = 0 if worth.dtype == object else -_ROUNDING * float(np.abs(table).max())
    if (worth < least).any():
        raise InvalidParameterError(
            "gain must have, whatever is seen, an action worth 0 or more; got an output whose best one is worth less."
        )
    return worth


def _after_and_before(
    prior: ArrayLike | None, channel: Channel, gain: ArrayLike
) -> tuple[Fraction | float, Fraction | float]:
    table = _table(gain, channel)
    belief = distribution(prior, len(channel.inputs))
    return posterior(belief, channel, table), plain(_values(table, belief[:, None])[0])


def _best_ratio(matrix: NDArray[np.float64], table: NDArray[np.float64]) -> float:
    """Maximize the sum of ``worth[y]`` over weights on inputs and one action for each output.

    Variables: weights (inputs), worths (outputs), and 0 or 1 for each pair (output, action). With no action worth more
    than 1, no worth exceeds the sum of its output's column, so that much slack switches a pair's constraint off.
    """
    (num_inputs, num_outputs), num_actions = matrix.shape, len(table)
    pairs = num_outputs * num_actions
    rows = np.arange(pairs)
    outputs, actions = rows // num_actions, rows % num_actions
    slack = matrix.sum(axis=0)[outputs]
    worth_of_pair = (table[actions] * matrix[:, outputs].T).astype(np.float64)
    ones = np.ones(pairs)
    chosen = hstack(
        [csr_array(-worth_of_pair), coo_array((ones, (rows, outputs)), (pairs, num_outputs)), _diagonal(slack)]
    )
    one_each = hstack(
        [
            csr_array((num_outputs, num_inputs + num_outputs)),
            coo_array((ones, (outputs, rows)), (num_outputs, pairs)),
        ]
    )
    before = hstack([csr_array(table), csr_array((num_actions, num_outputs + pairs))])
    upper = np.concatenate([slack, np.ones(num_outputs), np.ones(num_actions)])
    lower = np.concatenate([np.full(pairs, -np.inf), np.ones(num_outputs), np.full(num_actions, -np.inf)])
    objective = np.zeros(num_inputs + num_outputs + pairs)
    objective[num_inputs : num_inputs + num_outputs] = -1
    integral = np.concatenate([np.zeros(num_inputs + num_outputs), np.ones(pairs)])
    most = np.concatenate([np.full(num_inputs + num_outputs, np.inf), np.ones(pairs)])
    found = milp(
        objective,
        constraints=LinearConstraint(vstack([chosen, one_each, before]), lower, upper),
        integrality=integral,
        bounds=Bounds(0, most),
        options={"mip_rel_gap": 0.0},
    )
    if found.x is None:
        raise InvalidParameterError("gain must have numbers of similar size; the program for its capacity failed.")
    return float(-found.fun)


def _diagonal(values: NDArray[np.float64]) -> Any:
    index = np.arange(len(values))
    return coo_array((values, (index, index)), (len(values), len(values)))
