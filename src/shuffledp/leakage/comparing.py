"""Which of two channels of one secret says more."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from shuffledp._validate import instance_of
from shuffledp.channels import Channel, proportional_columns
from shuffledp.errors import InvalidParameterError

__all__ = ["equivalent", "refines"]

_SAME_ENTRY = 1e-9
_SOLVED = 1e-8
_STRICT = {"presolve": False, "primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_ATTEMPTS: tuple[Any, ...] = ({}, _STRICT)  # the usual tolerances solve more, stricter ones more exactly
_LARGEST_PROGRAM = 4_000_000  # entries of its constraint matrix that are not 0


def equivalent(channel: Channel, other: Channel) -> bool:
    """Whether two channels say the same about their input: they have one reduced form.

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
    """Whether somebody who sees ``channel`` can make ``other`` of it: ``channel @ D == other`` for a channel D.

    If there is such a D, and only then, nobody with any prior and any gain can expect more from seeing ``other``. Both
    are reduced first; then a linear program looks for D in floats, **also for channels of fractions**. True means that
    a channel D was found that leads to the other up to 1e-8 in every entry: then seeing ``other`` is worth at most
    1e-8 times the number of its outputs more, for gains from 0 to 1, and not always nothing more.

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
    """How far the worst entry of ``given @ D`` is from ``wanted``, for the best channel D that is found, if one is.

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
