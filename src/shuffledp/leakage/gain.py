"""Vulnerability for any gain function: the expected gain of the best action; and refinement of channels.

Verbs as in `shuffledp.leakage.bayes`. If channel, prior and gain are fractions or integers, so are all answers
but `capacity`, which solves a program in floats.
"""

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from shuffledp.core.channels import Channel, distribution, numbers, proportional_columns, times
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import instance_of
from shuffledp.leakage.bayes import growth, plain, ratio

_ROUNDING = 1e-12  # relative to the largest gain: a negative value above this is rounding
_MOST_PARTS = 20_000  # triples of an input, an output and an action
_MOST_NODES = 10_000  # nodes of the search for the best actions
_INSTEAD = "bayes.capacity(channel) is a bound for every gain."
_SAME_ENTRY = 1e-9
_SOLVED = 1e-8
_STRICT = {"presolve": False, "primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_ATTEMPTS: tuple[Any, ...] = ({}, _STRICT)  # the usual tolerances solve more, stricter ones more exactly
_LARGEST_PROGRAM = 4_000_000  # nonzero entries of the constraint matrix


def prior(prior: ArrayLike | None, gain: ArrayLike) -> Fraction | float:
    """Prior g-vulnerability: the expected gain of the best action before anything is seen.

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
    """Posterior g-vulnerability: the expected gain of the best action after the channel's output is seen.

    The arguments are those of `prior`, and the channel is what is seen of the secret; the errors are those of `prior`,
    of any output.

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
    """Additive g-leakage: the increase of the best action's expected gain by the output, 0 or more.

    The arguments are those of `posterior`, and so are the errors.
    """
    after, before = _after_and_before(prior, channel, gain)
    return growth(after, before)


def multiplicative_leakage(prior: ArrayLike | None, channel: Channel, gain: ArrayLike) -> Fraction | float:
    """Multiplicative g-leakage, 1 or more: the factor by which the output raises the best expected gain.

    The arguments are those of `posterior`.

    Raises:
        InvalidParameterError: as `posterior`; and if the best action is worth nothing before anything is seen.
    """
    after, before = _after_and_before(prior, channel, gain)
    if before <= 0:
        raise InvalidParameterError("gain must have an action worth more than 0 under the prior, for a ratio to exist.")
    return ratio(after, before)


def capacity(channel: Channel, gain: ArrayLike) -> float:
    """Multiplicative g-capacity: the largest leakage over all priors for this gain, at most `leakage.bayes.capacity`.

    The largest average worth among weights on the inputs that make no action worth more than 1 beforehand: convex in
    the weights, with an action for each output by a mixed-integer linear program, exact up to about 1e-6.

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
    """Best action for every possible output, as a row of the gain; the first of equally good actions.

    The arguments are those of `posterior`, and so are the errors.
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
    """Gain of the best action for each column of a joint distribution, times the column's probability."""
    worth: NDArray[Any] = times(table, joint).max(axis=0)
    least = 0 if worth.dtype == object else -_ROUNDING * float(np.abs(table).max())
    if (worth < least).any():
        raise InvalidParameterError(
            "gain must have an action worth 0 or more for every output; got an output whose best action is worth less."
        )
    return worth


def _after_and_before(
    prior: ArrayLike | None, channel: Channel, gain: ArrayLike
) -> tuple[Fraction | float, Fraction | float]:
    table = _table(gain, channel)
    belief = distribution(prior, len(channel.inputs))
    return posterior(belief, channel, table), plain(_values(table, belief[:, None])[0])


def _best_ratio(matrix: NDArray[np.float64], table: NDArray[np.float64]) -> float:
    """Largest expected gain after the output, over input weights with prior gains of at most 1.

    That is, under these weights no action gains more than 1 before the output. Variables: the weights (inputs), their
    parts for each pair of an output and an action, and 0 or 1 for each pair, which chooses one action for each output.
    The parts for one output add up to the weights, and each part is worth at most 1 for any action if its pair is
    chosen, and is 0 if not.
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


def equivalent(channel: Channel, other: Channel) -> bool:
    """Whether two channels have equal reduced forms, and so equal information about their input.

    Then they have the same posterior beliefs, with the same probabilities, under every prior. Exact if both channels
    are; else entries may differ by 1e-9.

    Args:
        channel: a channel.
        other: one with the same inputs, in the same order; outputs may have other labels, another order and number.

    Raises:
        InvalidParameterError: if the inputs are not the same.

    Example:
        >>> from shuffledp.leakage.shuffle_channels import reduced_shuffle_channel, shuffle_channel
        >>> equivalent(shuffle_channel(3, 2), reduced_shuffle_channel(3, 2))
        True
    """
    _check_same_inputs(channel, other)
    exact = channel.is_exact and other.is_exact
    left, right = (each.matrix if exact else each.matrix.astype(np.float64) for each in (channel, other))
    split = left.shape[1]
    both = np.hstack([left, right])
    for group in proportional_columns(both):
        sums = [both[:, [y for y in group if (y < split) == first]].sum(axis=1) for first in (True, False)]
        if (sums[0] != sums[1]).any() if exact else np.abs(sums[0] - sums[1]).max() > _SAME_ENTRY:
            return False
    return True


def refines(channel: Channel, other: Channel) -> bool:
    """Whether ``other`` equals ``channel @ D`` for some channel D, and so can be made from ``channel``.

    If there is such a D, and only then, nobody with any prior and any gain can expect more from seeing ``other``. A
    linear program looks for it in floats, **also for channels of fractions**. True means that one was found up to 1e-8
    in every entry: then ``other`` is worth at most 1e-8 times the number of its outputs more, for gains from 0 to 1.

    Args:
        channel: what is seen first.
        other: what may be worked out from it; the same inputs, in the same order.

    Raises:
        InvalidParameterError: if the inputs are not the same, or the program is too large (4 million coefficients).

    References:
        *The Science of Quantitative Information Flow* 2020, Definition 9.5 and Theorem 9.13 (Coriaceous).

    Example:
        >>> sharp, blunt = Channel([[0.9, 0.1], [0.1, 0.9]]), Channel([[0.6, 0.4], [0.4, 0.6]])
        >>> refines(sharp, blunt), refines(blunt, sharp)
        (True, False)
    """
    _check_same_inputs(channel, other)
    given, wanted = (each.reduced().matrix.astype(np.float64) for each in (channel, other))
    size = np.count_nonzero(given) * wanted.shape[1]
    if size > _LARGEST_PROGRAM:
        raise InvalidParameterError(
            f"channel must be smaller for the program of refinement, of at most {_LARGEST_PROGRAM} coefficients; "
            f"got {size}."
        )
    solved = False
    for options in _ATTEMPTS:
        error = _error_of_best(given, wanted, options)
        if error is not None and error <= _SOLVED:
            return True
        solved = solved or error is not None
    if not solved:
        raise InvalidParameterError("channel must have entries of similar size; the program of refinement failed.")
    return False


def _error_of_best(given: NDArray[np.float64], wanted: NDArray[np.float64], options: Any) -> float | None:
    """Largest entrywise distance of ``given @ D`` from ``wanted``, for the best D found; else None.

    Variables: the entries of D, row by row, and the error. What the solver returns is made a channel and measured anew.
    """
    num_given, num_wanted = given.shape[1], wanted.shape[1]
    entries = kron(csr_array(given), eye_array(num_wanted))
    error = csr_array(-np.ones((entries.shape[0], 1)))
    within: Any = vstack([hstack([entries, error]), hstack([-entries, error])])
    rows: Any = hstack([kron(eye_array(num_given), csr_array(np.ones((1, num_wanted)))), csr_array((num_given, 1))])
    found = linprog(
        np.eye(1, num_given * num_wanted + 1, num_given * num_wanted)[0],
        A_ub=within,
        b_ub=np.concatenate([wanted.ravel(), -wanted.ravel()]),
        A_eq=rows,
        b_eq=np.ones(num_given),
        bounds=(0, None),
        method="highs",
        options=options,
    )
    if found.x is None:
        return None
    after = np.maximum(found.x[:-1].reshape(num_given, num_wanted), 0)
    return float(np.abs(given @ (after / after.sum(axis=1, keepdims=True)) - wanted).max())


def _check_same_inputs(channel: Channel, other: Channel) -> None:
    instance_of(Channel, channel=channel)
    instance_of(Channel, other=other)
    if channel.inputs != other.inputs:
        raise InvalidParameterError(
            f"other must have the inputs of channel, in the same order; got {len(other.inputs)} inputs, of which "
            f"{len(set(other.inputs) & set(channel.inputs))} are among the channel's {len(channel.inputs)}."
        )
