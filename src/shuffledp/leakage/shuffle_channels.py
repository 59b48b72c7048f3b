"""Small protocols written out as channels from data sets to views, exact in fractions.

The letters are those of Jurado, Gonze, Alvim and Palamidessi 2023: N randomizes everybody's value, S shuffles a list of
values, and their reduced forms work on *histograms*, the number of people with each value: S^r counts the values of a
list, and N^r randomizes the people behind a histogram. Data sets are tuples of values from 0, histograms are tuples of
counts.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.channels import Channel, integers
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import instance_of, integer_at_least, invalid

Counts = tuple[int, ...]

_MOST_ENTRIES = 1_100_000  # a matrix from lists to lists of 10 people with 2 values, 6 with 3 or 5 with 4


def randomized_response_channel(num_users: int, domain_size: int, truth_probability: Fraction | float) -> Channel:
    """Channel N of randomized response: the truth with a fixed chance, else any other value.

    The other values are equally likely.

    Args:
        num_users: people, 1 or more.
        domain_size: possible values, 2 or more.
        truth_probability: from ``1 / domain_size`` to 1; a fraction makes the channel exact.

    Raises:
        InvalidParameterError: for a parameter out of range, or a matrix of more than 1,100,000 entries.

    References:
        Jurado et al. 2023, Table I.

    Example:
        >>> channel = randomized_response_channel(3, 2, Fraction(3, 4))
        >>> channel.inputs[1], channel.outputs[7], channel.matrix[1, 7]
        ((0, 0, 1), (1, 1, 1), Fraction(3, 64))
    """
    local = _response(domain_size, truth_probability)
    _check_entries(num_users, lambda people: domain_size ** (2 * people))
    return independent_channel([local] * num_users)


def shuffle_channel(num_users: int, domain_size: int) -> Channel:
    """Channel S of a shuffle: the input values in any of their distinct orders, equally likely.

    The arguments are those of `randomized_response_channel`, and so are the errors.

    References:
        Jurado et al. 2023, Table I.

    Example:
        >>> shuffle_channel(3, 2).matrix[1].tolist()[:4]
        [Fraction(0, 1), Fraction(1, 3), Fraction(1, 3), Fraction(0, 1)]
    """
    integer_at_least(2, domain_size=domain_size)
    _check_entries(num_users, lambda people: domain_size ** (2 * people))
    data_sets = _data_sets(num_users, domain_size)
    found = [_histogram(values, domain_size) for values in data_sets]
    orders = {counts: Fraction(1, _multinomial(counts)) for counts in set(found)}
    rows = [[orders[counts] if counts == other else Fraction(0) for other in found] for counts in found]
    return Channel(np.array(rows, dtype=object), tuple(data_sets), tuple(data_sets))


def reduced_shuffle_channel(num_users: int, domain_size: int) -> Channel:
    """Channel S^r of a reduced shuffle: the output is the histogram of the input values.

    That is all that a shuffle tells.

    The arguments are those of `randomized_response_channel`, and so are the errors.

    References:
        Jurado et al. 2023, Table I.

    Example:
        >>> channel = reduced_shuffle_channel(3, 2)
        >>> channel.outputs[int(channel.matrix[1].argmax())]
        (2, 1)
    """
    integer_at_least(2, domain_size=domain_size)
    _check_entries(num_users, lambda people: domain_size**people * _num_histograms(people, domain_size))
    counts = tuple(histograms(num_users, domain_size))
    data_sets = _data_sets(num_users, domain_size)
    place = {each: index for index, each in enumerate(counts)}
    rows = np.full((len(data_sets), len(counts)), Fraction(0), dtype=object)
    for row, values in zip(rows, data_sets, strict=True):
        row[place[_histogram(values, domain_size)]] = Fraction(1)
    return Channel(rows, tuple(data_sets), counts)


def reduced_randomized_response_channel(
    num_users: int, domain_size: int, truth_probability: Fraction | float
) -> Channel:
    """Channel N^r from the histogram of true values to the histogram of randomized values.

    The latter depends on nothing else.

    The arguments are those of `randomized_response_channel`, and so are the errors.

    References:
        Jurado et al. 2023, Table IV, two rows of which are printed wrong: they do not add up to 1.

    Example:
        >>> channel = reduced_randomized_response_channel(3, 2, Fraction(3, 4))
        >>> channel.inputs[1], [str(value) for value in channel.matrix[1]]
        ((2, 1), ['9/64', '33/64', '19/64', '3/64'])
    """
    return reduced_independent_channel(_response(domain_size, truth_probability), num_users)


def independent_channel(channels: Sequence[Channel]) -> Channel:
    """Channel from all people's values to all reports, if each person randomizes independently.

    Args:
        channels: one for each person, not necessarily the same.

    Raises:
        InvalidParameterError: without people, or for a matrix of more than 1,100,000 entries.
    """
    if not channels:
        raise InvalidParameterError("channels must hold one channel for each person; got none.")
    for each in channels:
        instance_of(Channel, channels=each)
    entries = math.prod(each.matrix.size for each in channels)
    if entries > _MOST_ENTRIES:
        raise InvalidParameterError(f"channels must make at most {_MOST_ENTRIES} entries together; got {entries}.")
    matrix: NDArray[Any] = reduce(np.kron, (each.matrix for each in channels))
    inputs = tuple(itertools.product(*(each.inputs for each in channels)))
    return Channel(matrix, inputs, tuple(itertools.product(*(each.outputs for each in channels))))


def reduced_independent_channel(local: Channel, num_users: int) -> Channel:
    """Channel from the histogram of values to the histogram of reports, if all people randomize by one channel.

    Histograms count the channel's inputs, and outputs, in its order.

    Args:
        local: everybody's channel.
        num_users: people, 1 or more.

    Raises:
        InvalidParameterError: for less than one person, or a matrix of more than 1,100,000 entries.
    """
    instance_of(Channel, local=local)
    num_values, num_reports = local.matrix.shape
    _check_entries(  # the work grows with the number of people as well
        num_users, lambda n: n * _num_histograms(n, num_values) * _num_histograms(n, num_reports)
    )
    sizes = [_num_histograms(num_users, many) for many in local.matrix.shape]
    seen = tuple(histograms(num_users, num_reports))
    place = {each: index for index, each in enumerate(seen)}
    exact = local.is_exact
    matrix, scale = integers(local.matrix) if exact else (local.matrix, 1)
    rows = np.full(sizes, Fraction(0) if exact else 0.0, dtype=object if exact else np.float64)
    laws: dict[Counts, dict[Counts, Any]] = {(0,) * num_values: {(0,) * num_reports: 1}}
    for _ in range(num_users):
        laws = _with_one_more(laws, matrix)
    inputs = tuple(histograms(num_users, num_values))
    for row, counts in zip(rows, inputs, strict=True):
        for histogram, probability in laws[counts].items():
            row[place[histogram]] = Fraction(probability, scale**num_users) if exact else probability
    return Channel(rows, inputs, seen)


def cascade(first: Channel, *others: Channel) -> Channel:
    """Cascade of channels: each accepts the outputs of the channel before it.

    Args:
        first: what the secret goes into.
        others: what its outputs go into, in turn.

    Raises:
        InvalidParameterError: if the outputs of one are not the inputs of the next, in this order.

    Example:
        >>> randomize, shuffle = randomized_response_channel(3, 2, Fraction(3, 4)), shuffle_channel(3, 2)
        >>> cascade(randomize, shuffle) == cascade(shuffle, randomize)
        True
    """
    for each in (first, *others):
        instance_of(Channel, others=each)
    return reduce(Channel.cascade, others, first)


def histograms(num_users: int, domain_size: int) -> Iterator[Counts]:
    """All histograms of people over values, beginning with most people at the first values.

    Args:
        num_users: people, 0 or more.
        domain_size: values, 1 or more.

    Example:
        >>> list(histograms(2, 2))
        [(2, 0), (1, 1), (0, 2)]
    """
    for values in itertools.combinations_with_replacement(range(domain_size), num_users):
        yield _histogram(values, domain_size)


def _with_one_more(laws: dict[Counts, dict[Counts, Any]], matrix: NDArray[Any]) -> dict[Counts, dict[Counts, Any]]:
    """Laws of the histogram of reports after one more person, for each histogram of values.

    A histogram of values is reached by adding the person with its last value, so that each is made once.
    """
    longer: dict[Counts, dict[Counts, Any]] = {}
    for counts, law in laws.items():
        last = max((value for value, count in enumerate(counts) if count), default=0)
        for value in range(last, len(counts)):
            sums: dict[Counts, Any] = {}
            for histogram, probability in law.items():
                for report, chance in enumerate(matrix[value]):
                    if chance:
                        reached = _one_more(histogram, report)
                        sums[reached] = sums.get(reached, 0) + probability * chance
            longer[_one_more(counts, value)] = sums
    return longer


def _one_more(counts: Counts, place: int) -> Counts:
    return (*counts[:place], counts[place] + 1, *counts[place + 1 :])


def _response(domain_size: int, truth_probability: Fraction | float) -> Channel:
    """Channel of one person's randomized response, checked."""
    integer_at_least(2, domain_size=domain_size)
    _check_entries(1, lambda people: domain_size ** (2 * people))
    if isinstance(truth_probability, bool) or not isinstance(truth_probability, Real):
        raise invalid("a number", truth_probability=truth_probability)
    exact = isinstance(truth_probability, Rational)
    truth: Any = Fraction(truth_probability) if exact else float(truth_probability)
    if not (Fraction(1, domain_size) if exact else 1 / domain_size) <= truth <= 1:
        raise invalid(f"from 1/domain_size = 1/{domain_size} to 1", truth_probability=truth_probability)
    other = (1 - truth) / (domain_size - 1)
    return Channel(np.array([[truth if x == y else other for y in range(domain_size)] for x in range(domain_size)]))


def _data_sets(num_users: int, domain_size: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(domain_size), repeat=num_users))


def _check_entries(num_users: int, entries: Callable[[int], int]) -> None:
    """Check that the number of people is 1 or more, and small enough to write out a channel.

    The number of ``entries`` grows with it.
    """
    integer_at_least(1, num_users=num_users)
    feasible = 0
    while feasible < num_users and entries(feasible + 1) <= _MOST_ENTRIES:
        feasible += 1
    if feasible < num_users:
        raise InvalidParameterError(
            f"num_users must be at most {feasible} for a channel of this many values to be written out; "
            f"got num_users={num_users}. What a protocol of any size shows of one person needs no channel: "
            "shuffledp.leakage.target_vulnerability."
        )


def _num_histograms(num_users: int, domain_size: int) -> int:
    return math.comb(num_users + domain_size - 1, domain_size - 1)


def _histogram(values: tuple[int, ...], domain_size: int) -> Counts:
    found = Counter(values)
    return tuple(found[value] for value in range(domain_size))


def _multinomial(counts: Counts) -> int:
    """Multinomial coefficient: the number of distinct orders of people of these kinds."""
    return math.factorial(sum(counts)) // math.prod(math.factorial(count) for count in counts)
