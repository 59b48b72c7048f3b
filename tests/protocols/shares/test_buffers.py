"""The bound on shares in buffers against the truth: the worst joint law that keeps the promise, by linear programs.

Only who an item in a place belongs to matters, so that a law is one of *fillings*: for each buffer, the owner of each
place. The promise says that exchanging two items of different people in one buffer changes the probability by a factor
of at most exp(gamma). Buffers may depend on each other. What is seen are all residues by place, and the fillings of the
buffers that are told. Its distance to uniform residues of the same total is convex in the law, so that linear programs
for the signs at hand climb to a local maximum. No formula of the library is used.
"""

from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from shuffledp.protocols.shares.theorems.share_mixing import mixing_distance


def fillings(people, buffers):
    """All ways to fill buffers with so many items of each person."""
    each = [sorted(set(permutations(sorted(list(range(people)) * shares)))) for shares in buffers]
    return list(product(*each))


def promises(states, closeness):
    """Rows of A with A law <= 0, for all exchanges of two items of different people in one buffer."""
    place_of = {state: number for number, state in enumerate(states)}
    rows, columns, values = [], [], []
    for state, number in place_of.items():
        for buffer, owners in enumerate(state):
            for one, other in product(range(len(owners)), repeat=2):
                if one < other and owners[one] != owners[other]:
                    swapped = list(owners)
                    swapped[one], swapped[other] = swapped[other], swapped[one]
                    neighbor = place_of[(*state[:buffer], tuple(swapped), *state[buffer + 1 :])]
                    row = rows[-1] + 1 if rows else 0
                    rows += [row, row]
                    columns += [number, neighbor]
                    values += [closeness, -1.0]
    return csr_array((values, (rows, columns)), shape=(rows[-1] + 1, len(states)))


def seen(states, told, residues, modulus, telling=0):
    """Signed difference, for each filling, of all that may be seen and of its ideal; shape (seen, fillings).

    The last people, so many as are ``telling``, tell where their own items are, which are all 0.
    """
    people, places = len(residues), sum(map(len, states[0]))
    outputs = np.array(list(product(range(modulus), repeat=places)))
    hidden = places * people // (people + telling)
    total = outputs.sum(axis=1) % modulus == sum(residues) % modulus

    def known(state):
        own = tuple(tuple(owner if owner >= people else -1 for owner in buffer) for buffer in state)
        return (*(state[buffer] for buffer in told), *own)

    of_block = {block: number for number, block in enumerate(dict.fromkeys(map(known, states)))}
    difference = np.zeros((len(of_block), len(outputs), len(states)))
    for number, state in enumerate(states):
        owners = np.concatenate(state)
        fits = (outputs[:, owners >= people] == 0).all(axis=1)
        ideal = (fits & total) / modulus ** (hidden - 1)
        for person, residue in enumerate(residues):
            fits &= outputs[:, owners == person].sum(axis=1) % modulus == residue
        difference[of_block[known(state)], :, number] = fits / modulus ** (hidden - people) - ideal
    return difference.reshape(-1, len(states))


def worst(people, buffers, told, modulus, gamma, residues, starts=6):  # noqa: PLR0917
    """Largest distance that the linear programs find; of fewer residues than people, the others tell."""
    states, draw = fillings(people, buffers), np.random.default_rng(3)
    limits = promises(states, np.exp(-gamma))
    difference = seen(states, told, residues, modulus, people - len(residues))
    found = 0.0
    for _ in range(starts):
        signs, before = draw.choice([-1.0, 1.0], difference.shape[0]), -1.0
        while True:
            solved = linprog(
                -signs @ difference, A_ub=limits, b_ub=np.zeros(limits.shape[0]), A_eq=np.ones((1, len(states))), b_eq=1
            )
            gap = difference @ solved.x
            distance = np.abs(gap).sum() / 2
            if distance <= before + 1e-9:
                break
            signs, before = np.where(gap >= 0, 1.0, -1.0), distance
        found = max(found, before)
    return found


def bound_of(people, buffers, told, modulus, gamma):
    where = {"shares_per_buffer": buffers[0], "told_buffers": len(told)}
    return mixing_distance(people, sum(buffers), gamma, modulus, **where)


FAST = [
    (2, (2,), (), 2), (2, (2,), (), 3), (2, (3,), (), 2), (2, (1, 1), (), 3), (2, (1, 1, 1), (), 2),
    (2, (1, 1), (0,), 2), (2, (2, 2), (1,), 2), (3, (2,), (), 2),
]  # fmt: skip
DEEP = [
    (2, (2, 2), (), 2), (2, (2, 2), (0,), 3), (2, (1, 1, 1), (2,), 3), (2, (1, 1, 1), (0, 1), 2), (2, (2,), (), 5),
    (2, (4,), (), 2), (3, (2,), (), 3), (3, (1, 1), (), 3), (3, (1, 1, 1), (0,), 2),
]  # fmt: skip


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize(("people", "buffers", "told", "modulus"), FAST, ids=str)
def test_the_bound_is_above_the_worst_law_that_keeps_the_promise(people, buffers, told, modulus, gamma):
    residues = (0,) * (people - 1)
    truth = max(worst(people, buffers, told, modulus, gamma, (first, *residues), 2) for first in (0, 1))
    assert truth <= bound_of(people, buffers, told, modulus, gamma) * (1 + 1e-7)


@pytest.mark.deep
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize(("people", "buffers", "told", "modulus"), FAST + DEEP, ids=str)
def test_the_bound_is_above_the_worst_law_for_all_residues(people, buffers, told, modulus, gamma):
    every = combinations_with_replacement(range(modulus), people)
    truth = max(worst(people, buffers, told, modulus, gamma, residues, 3) for residues in every)
    assert truth <= bound_of(people, buffers, told, modulus, gamma) * (1 + 1e-7)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize(("buffers", "told"), [((1, 1), ()), ((2,), ()), ((1, 1), (1,))], ids=str)
def test_people_who_tell_leave_the_bound_of_the_others(buffers, told, gamma):
    """Hosts and people who collude at once: of three people one tells, and of two hosts one."""
    truth = max(worst(3, buffers, told, 2, gamma, (first, 0), 2) for first in (0, 1))
    assert 0 < truth <= bound_of(2, buffers, told, 2, gamma) * (1 + 1e-7)


def test_the_programs_find_laws_that_are_nearly_as_bad_as_known():
    """The check has power: it finds what longer searches found, and more than uniform buffers tell."""
    assert worst(2, (3,), (), 2, 1.0, (0, 0)) == pytest.approx(0.143051, abs=1e-6)
    assert worst(2, (2,), (), 3, 1.0, (0, 0)) == pytest.approx(0.4042, abs=1e-6)
    assert worst(2, (1, 1), (0,), 2, 1.0, (0, 1)) > worst(2, (1, 1), (0,), 2, 0.0, (0, 1)) + 0.05


def test_a_buffer_of_which_nobody_tells_anything_does_not_count_in_full():
    """Two hosts of one message each, none of which colludes: to count both of them would promise too much."""
    truth = worst(2, (1, 1), (), 3, 0.0, (0, 0))
    assert truth == pytest.approx(4 / 9)
    assert truth > mixing_distance(2, 3, 0.0, 3, told_buffers=1)  # what two rounds that count would give


def test_rounds_with_one_permutation_count_as_one():
    """Then a person's shares of these rounds stay in one place, and only their sum matters, whatever their number."""
    people, modulus = 2, 3
    states = [((owners, owners, owners)) for owners in permutations(range(people))]
    difference = seen(states, (), (0, 0), modulus)
    truth = np.abs(difference @ np.array([0.5, 0.5])).sum() / 2
    assert truth > mixing_distance(people, 3, 0.0, modulus)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize(("users", "messages", "modulus"), [(60, 12, 930), (1000, 9, 63_246)])
def test_one_buffer_never_needs_more_messages_than_rounds(users, messages, modulus, gamma):
    rounds = mixing_distance(users, messages, gamma, modulus)
    assert mixing_distance(users, messages, gamma, modulus, shares_per_buffer=messages) <= rounds * (1 + 1e-9)


def test_each_told_round_beyond_the_first_costs_one_message():
    rounds = [mixing_distance(1000, 8 + told, 0.5, 63_246, told_buffers=told) for told in (1, 2, 3)]
    assert rounds == [mixing_distance(1000, 8 + 1, 0.5, 63_246)] * 3
