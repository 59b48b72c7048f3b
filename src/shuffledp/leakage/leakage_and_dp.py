"""Exact conversion between vulnerability and differential privacy, and inferential loss of linked records.

If somebody who knows all other values guesses whether the target's is x or x', with the prior 1 / (1 + e^epsilon) on x,
then the vulnerability V of that guess and the hockey-stick divergence from x to x' tell the same:

    delta(x, x') = (1 + e^epsilon) V - e^epsilon.

The delta of the mechanism is the largest over both orders of all pairs **and over the others' values**. One direction
alone understates it, nine times on examples; and a vulnerability with a uniform prior over more than two values says
nothing exact about delta.
"""

import math
from collections.abc import Hashable
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.channels import Channel, distribution, numbers
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.statement_terms import Kind
from shuffledp.core.validate import instance_of, integer_at_least, invalid
from shuffledp.leakage.guess_scores import matrix_of
from shuffledp.leakage.informed_adversary import all_feasible, data_sets, strong_vulnerability
from shuffledp.leakage.vulnerability import Vulnerability

_LARGEST_EPSILON = 700.0
_SAME_PRIOR = 1e-9
_MOST_DATA_SETS = 1_000_000


def bridge_prior(epsilon: float) -> tuple[float, float]:
    """Prior on two values (x, x') under which the vulnerability determines the delta from x to x'.

    Args:
        epsilon: in nats, from 0 to 700.

    Raises:
        InvalidParameterError: if it is out of range.
    """
    _checked(epsilon)
    odds = math.exp(-epsilon)
    return odds / (1 + odds), 1 / (1 + odds)


def delta_from_vulnerability(vulnerability: "float | Vulnerability", epsilon: float) -> float:
    """Delta from one value to another, from the vulnerability with `bridge_prior`.

    All other people's values are fixed. Delta is (1 + e^epsilon) V - e^epsilon; the mechanism's delta is the largest
    over pairs, directions and others.

    Args:
        vulnerability: with exactly that prior, of somebody who knows everybody else's value; a number is taken to its
            last digit, which counts e^epsilon times. Of an upper bound, delta is one too.
        epsilon: in nats, from 0 to 700.

    Raises:
        InvalidParameterError: if an argument is out of range, the vulnerability is below what the prior gives, or a
            `Vulnerability` says nothing sure about delta from above, by its kind, gain, prior or adversary.

    Example:
        >>> round(delta_from_vulnerability(0.75, 0.0), 9)
        0.5
    """
    before = bridge_prior(epsilon)[1]
    if isinstance(vulnerability, Vulnerability):
        delta = (1 + math.exp(epsilon)) * _sure_excess(vulnerability, epsilon)
    else:
        validate.probability(vulnerability=vulnerability)
        if vulnerability < before - _SAME_PRIOR:
            raise validate.invalid(f"at least what the prior gives, {before:.12g}", vulnerability=vulnerability)
        delta = 1 - (1 + math.exp(epsilon)) * (1 - vulnerability)  # keeps its digits where the prior rounds to 1
    return min(max(delta, 0.0), 1.0)


def _sure_excess(found: Vulnerability, epsilon: float) -> float:
    """Upper bound on the excess of a guess after a release, for the two values of `bridge_prior`."""
    if found.kind not in (Kind.EXACT, Kind.UPPER_BOUND):
        raise InvalidParameterError(f"vulnerability must be exact or an upper bound; got one of kind {found.kind}.")
    if not found.counts_right:
        raise InvalidParameterError("vulnerability must use gain 1 for a right guess and gain 0 for a wrong one.")
    if found.between is None:
        raise InvalidParameterError(
            "vulnerability must be a result of strong_vulnerability for a guess between two values: with a prior above "
            "0 on exactly two."
        )
    odds, wanted = min(found.between) / max(found.between), math.exp(-epsilon)
    if abs(odds - wanted) > _SAME_PRIOR * wanted:
        raise InvalidParameterError("vulnerability must use the prior that bridge_prior gives for epsilon.")
    return found.additive_leakage + (found.upper - found.value)


def vulnerability_from_delta(delta: float, epsilon: float) -> float:
    """Vulnerability between two values, with `bridge_prior`: (delta + e^epsilon) / (1 + e^epsilon).

    For a mechanism that is (epsilon, delta)-private it is an upper bound for every pair and for all others' values.

    Args:
        delta: from 0 to 1; that of the mechanism or an upper bound of it, as of a lower one it would be none.
        epsilon: in nats, from 0 to 700.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> vulnerability_from_delta(0.5, 0.0)
        0.75
    """
    validate.probability(delta=delta)
    on_first, on_second = bridge_prior(epsilon)
    return delta * on_first + on_second


def delta_of_pair(channel: Channel, first: int, second: int, epsilon: float, *, others: ArrayLike) -> float:
    """Hockey-stick divergence of the shuffled reports between two values of one person.

    It is from the law with ``first`` to the law with ``second``. Exact to about 1e-12, or an upper bound where reports
    are of too many kinds for `strong_vulnerability` to be exact, and for epsilon above 250 where the others send some
    report less than once in 10^140 times.

    Args:
        channel: the local randomizer of everybody.
        first: the target's value under the first law, as the number of an input.
        second: under the second law; another one.
        epsilon: in nats, from 0 to 700.
        others: how many of the others hold each value.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if no exact evaluation is feasible.
    """
    validate.instance_of(Channel, channel=channel)
    size = len(channel.inputs)
    for name, value in (("first", first), ("second", second)):
        validate.integer_at_least(0, **{name: value})
        if value >= size:
            raise validate.invalid(f"below the number of inputs, {size}", **{name: value})
    if first == second:
        raise validate.invalid(f"different from first={first}", second=second)
    prior = np.zeros(size)
    prior[[first, second]] = bridge_prior(epsilon)
    large = math.exp(epsilon / 2)  # with guesses worth e^(epsilon / 2) and more, no digit is lost beside the other one
    guesses = np.eye(size)[[first, second]] * (large + 1 / large)
    found = strong_vulnerability(prior, channel, guesses, others=others)
    matrix = matrix_of(channel).astype(np.float64)
    own = float(np.maximum(matrix[first] / large - matrix[second] * large, 0.0).sum())  # excess by the report alone
    return min(max(large * min(found.additive_leakage, own), 0.0), 1.0)


def worst_delta(channel: Channel, epsilon: float, *, others: ArrayLike) -> float:
    """Largest `delta_of_pair` over all ordered pairs of values, for fixed values of the others.

    The arguments are those of `delta_of_pair`, and so are the errors.
    """
    validate.instance_of(Channel, channel=channel)
    pairs = permutations(range(len(channel.inputs)), 2)
    return max((delta_of_pair(channel, first, second, epsilon, others=others) for first, second in pairs), default=0.0)


def largest_delta(channel: Channel, epsilon: float, *, num_users: int) -> float:
    """Exact delta of a uniform shuffle of a randomizer's reports: the largest over all data sets.

    The arguments are those of `delta_of_pair`, ``num_users`` people (1 or more) in place of values, and the errors too;
    it is unsupported if there are too many data sets to try all.
    """
    validate.instance_of(Channel, channel=channel)
    validate.integer_at_least(1, num_users=num_users)
    _checked(epsilon)
    if not all_feasible(channel, int(num_users) - 1):
        raise UnsupportedModelError(
            f"the exact delta needs all values of {num_users - 1} others, which are too many for "
            f"{len(channel.inputs)} values and {len(channel.outputs)} kinds of reports. Use shuffledp.account, or "
            "worst_delta for values that you choose."
        )
    sets = data_sets(len(channel.inputs), int(num_users) - 1)
    return max(worst_delta(channel, epsilon, others=others) for others in sets)


def _checked(epsilon: float) -> None:
    validate.nonnegative(epsilon=epsilon)
    if epsilon > _LARGEST_EPSILON:
        raise validate.invalid(f"at most {_LARGEST_EPSILON:g}", epsilon=epsilon)


def inferential_loss(prior: ArrayLike | None, channel: Channel) -> float:
    """Inferential loss, in nats: the largest change of one person's log-odds between values by the output.

    Formula: the largest ``log(Pr[z | x_i = a] / Pr[z | x_i = b])`` over persons i, values a and b that person can have
    under the prior, and outputs z; the others' values follow the prior given x_i. Infinity if an output excludes a
    value. With an i.i.d. prior and everybody randomizing on their own it is at most the local loss; records that are
    linked lose more, since other people's reports speak about them too.

    Args:
        prior: shape (inputs,); the *joint* probability of each data set; None is the uniform prior.
        channel: its inputs are data sets: tuples with one value for each person, all of one length.

    Raises:
        InvalidParameterError: for inputs that are no data sets, or a prior that is no probability distribution on them.

    References:
        Meehan, Roy Chowdhury, Chaudhuri and Jha 2022, Definition A.1.

    Example:
        >>> from shuffledp.leakage.shuffle_channels import randomized_response_channel
        >>> pair = randomized_response_channel(2, 2, 0.75)
        >>> round(inferential_loss(None, pair), 6), round(inferential_loss([0.5, 0, 0, 0.5], pair), 6)
        (1.098612, 2.197225)
    """
    people = range(_num_records(channel))
    return max(record_channel(prior, channel, person).epsilon() for person in people)


def record_channel(prior: ArrayLike | None, channel: Channel, person: int) -> Channel:
    """Channel from one person's value to the output; the others' values follow the prior given this value.

    Its inputs are the values that the person can have under the prior; a prior of 0 leaves nothing to condition on.

    The arguments are those of `inferential_loss`, and a ``person`` counted from 0; so are the errors, and one for
    somebody who is not in the data sets.
    """
    values = _values_of(channel, person)
    joint = channel.joint(prior)
    rows = {value: joint[[v == value for v in values]].sum(axis=0) for value in dict.fromkeys(values)}
    possible = {value: row / row.sum() for value, row in rows.items() if row.sum() > 0}
    return Channel(np.array(list(possible.values())), tuple(possible), channel.outputs)


def record_prior(prior: ArrayLike | None, channel: Channel, person: int) -> NDArray[Any]:
    """Prior of one person's value, in the order of the inputs of `record_channel`.

    The arguments are those of `record_channel`, and so are the errors.
    """
    values = _values_of(channel, person)
    belief = distribution(prior, len(channel.inputs))
    masses = [belief[[v == value for v in values]].sum() for value in dict.fromkeys(values)]
    return np.array([mass for mass in masses if mass > 0])


def joint_prior(prior: ArrayLike, num_users: int) -> NDArray[Any]:
    """Probability of each data set if all values are drawn independently from the same law.

    Data sets come in the order of the channels of `shuffledp.leakage.shuffle_channels`: the last person's value varies
    fastest.

    Args:
        prior: shape (values,); adds up to 1.
        num_users: people, 1 or more.

    Raises:
        InvalidParameterError: if the prior is no probability distribution, or for more than a million data sets.

    Example:
        >>> from fractions import Fraction
        >>> joint_prior([Fraction(1, 4), Fraction(3, 4)], 2).tolist()
        [Fraction(1, 16), Fraction(3, 16), Fraction(3, 16), Fraction(9, 16)]
    """
    integer_at_least(1, num_users=num_users)
    belief = numbers(prior, "prior", ndim=1)
    belief = distribution(belief, len(belief))
    if num_users > 20 or len(belief) ** num_users > _MOST_DATA_SETS:
        raise invalid(f"smaller, for at most {_MOST_DATA_SETS} data sets", num_users=num_users)
    together = belief
    for _ in range(num_users - 1):
        together = np.multiply.outer(together, belief).ravel()
    return together


def _num_records(channel: Channel) -> int:
    instance_of(Channel, channel=channel)
    sizes = {len(data_set) if isinstance(data_set, tuple) else 0 for data_set in channel.inputs}
    if len(sizes) != 1 or 0 in sizes:
        raise InvalidParameterError("channel must have data sets as inputs: tuples of one length, a value per person.")
    return sizes.pop()


def _values_of(channel: Channel, person: int) -> list[Hashable]:
    """Value of one person in each data set."""
    records = _num_records(channel)
    integer_at_least(0, person=person)
    if person >= records:
        raise invalid(f"below the number of people, {records}", person=person)
    return [data_set[person] for data_set in channel.inputs if isinstance(data_set, tuple)]
