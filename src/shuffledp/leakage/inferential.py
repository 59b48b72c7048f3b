"""What a channel from data sets says about one record, when a prior links the records, as in a household."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp._validate import instance_of, integer_at_least, invalid
from shuffledp.channels import Channel, distribution, numbers
from shuffledp.errors import InvalidParameterError

__all__ = ["inferential_loss", "joint_prior", "record_channel", "record_prior"]

_MOST_DATA_SETS = 1_000_000


def inferential_loss(prior: ArrayLike | None, channel: Channel) -> float:
    """How much seeing the output can move the odds between two values of one person, as a log-ratio, in nats.

    Formula: the largest ``log(Pr[z | x_i = a] / Pr[z | x_i = b])`` over persons i, values a and b that person can have
    under the prior, and outputs z; the others' values follow the prior given x_i. It is as much the change of the
    log-odds of a against b from prior to posterior. Infinity if an output excludes a value.

    With an i.i.d. prior and everybody randomizing on their own it is at most the local loss; records that are linked
    lose more, since other people's reports speak about them too.

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
    """From one person's value to the output, the others' values drawn from the prior given that value.

    Its inputs are the values that the person can have under the prior; a prior of 0 leaves nothing to condition on.

    Args:
        prior: shape (inputs,); the joint probability of each data set; None is the uniform prior.
        channel: its inputs are data sets: tuples with one value for each person, all of one length.
        person: whose value; counted from 0.

    Raises:
        InvalidParameterError: for inputs that are no data sets, somebody who is not in them, or a prior that is no
            probability distribution on them.
    """
    values = _values_of(channel, person)
    joint = channel.joint(prior)
    rows = {value: joint[[v == value for v in values]].sum(axis=0) for value in dict.fromkeys(values)}
    possible = {value: row / row.sum() for value, row in rows.items() if row.sum() > 0}
    return Channel(np.array(list(possible.values())), tuple(possible), channel.outputs)


def record_prior(prior: ArrayLike | None, channel: Channel, person: int) -> NDArray[Any]:
    """How likely each value of one person is beforehand, for the inputs of `record_channel`, in its order.

    Args:
        prior: shape (inputs,); the joint probability of each data set; None is the uniform prior.
        channel: its inputs are data sets: tuples with one value for each person, all of one length.
        person: whose value; counted from 0.

    Raises:
        InvalidParameterError: as `record_channel`.
    """
    values = _values_of(channel, person)
    belief = distribution(prior, len(channel.inputs))
    masses = [belief[[v == value for v in values]].sum() for value in dict.fromkeys(values)]
    return np.array([mass for mass in masses if mass > 0])


def joint_prior(prior: ArrayLike, num_users: int) -> NDArray[Any]:
    """The probability of each data set if everybody's value is drawn from one law, on its own.

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
    """One person's value in every data set."""
    records = _num_records(channel)
    integer_at_least(0, person=person)
    if person >= records:
        raise invalid(f"below the number of people, {records}", person=person)
    return [data_set[person] for data_set in channel.inputs if isinstance(data_set, tuple)]
