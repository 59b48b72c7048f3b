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
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from shuffledp._validate import instance_of
from shuffledp.channels import Channel, distribution, numbers, times
from shuffledp.errors import InvalidParameterError
from shuffledp.leakage._exact import growth, plain, ratio

__all__ = ["additive_leakage", "capacity", "multiplicative_leakage", "posterior", "prior", "strategy"]

_ROUNDING = 1e-12  # of the largest gain: less is no negative value
_MOST_PARTS = 20_000  # triples of an input, an output and an action
_MOST_NODES = 10_000  # of the search for the best actions
_INSTEAD = "bayes.capacity(channel) is a bound for every gain."


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
        InvalidParameterError: for a gain of another shape, a negative entry, one without an entry above 0, or a program
            that is too large (20,000 triples of an input, an output and an action) or too hard.

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
    matrix = channel.reduced().matrix.astype(np.float64)
    if matrix.size * len(table) > _MOST_PARTS:
        raise InvalidParameterError(
            f"gain must leave at most {_MOST_PARTS} triples of an input, an output and an action; got "
            f"{matrix.size * len(table)}. {_INSTEAD}"
        )
    return max(_best_ratio(matrix, table), 1.0)


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
    instance_of(Channel, channel=channel)
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
    """Maximize what the actions are worth over weights on inputs, no action being worth more than 1 beforehand.

    Variables: the weights (inputs), their parts for each pair of an output and an action, and 0 or 1 for each pair,
    which chooses one action for each output. The parts for one output add up to the weights, and each part is worth at
    most 1 for any action if its pair is chosen, and is 0 if not.
    """
    (num_inputs, num_outputs), num_actions = matrix.shape, len(table)
    pairs = num_outputs * num_actions
    each_action, each_output, each_pair = np.ones((1, num_actions)), eye_array(num_outputs), eye_array(pairs)
    whole = kron(each_output, kron(each_action, eye_array(num_inputs)))
    parts = hstack(
        [kron(np.ones((num_outputs, 1)), -eye_array(num_inputs)), whole, csr_array((num_outputs * num_inputs, pairs))]
    )
    worth = kron(each_pair, csr_array(table))
    bounded = hstack([csr_array((worth.shape[0], num_inputs)), worth, kron(each_pair, -np.ones((num_actions, 1)))])
    chosen = hstack([csr_array((num_outputs, num_inputs * (1 + pairs))), kron(each_output, each_action)])
    lower = np.concatenate([np.zeros(parts.shape[0]), np.full(bounded.shape[0], -np.inf), np.ones(num_outputs)])
    upper = np.concatenate([np.zeros(parts.shape[0] + bounded.shape[0]), np.ones(num_outputs)])
    gains = (matrix.T[:, None, :] * table[None]).ravel()
    found = milp(
        np.concatenate([np.zeros(num_inputs), -gains, np.zeros(pairs)]),
        constraints=LinearConstraint(vstack([parts, bounded, chosen]), lower, upper),
        integrality=np.concatenate([np.zeros(num_inputs * (1 + pairs)), np.ones(pairs)]),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0.0, "node_limit": _MOST_NODES},
    )
    if found.status != 0:
        raise InvalidParameterError(f"gain must have a simpler program for its capacity. {_INSTEAD}")
    return float(-found.fun)
