"""Protocols of every kind, for tests about all theorems: each kind of randomizer, and each kind of shuffle."""

import numpy as np

import shuffledp as sdp
from shuffledp import randomizers
from shuffledp.core.channels import Channel
from shuffledp.core.errors import ShuffleDPError
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.protocols.network.laws.link_slots import slots_needed
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.theorems.network_gate import walk_gate
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel, ObliviousShuffleModel
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffleModel
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.testing import SeededSource

NUMBERS = {"lower": 0.0, "upper": 1.0}
VECTORS = sdp.calibrate.vector_sum(num_users=20, epsilon=4.0, delta=1e-4, largest_norm=1.0, dimension=2).model
SHARES = sdp.SplitAndMix(num_users=20, epsilon=1.0, lower=0, upper=1, num_shares=20, modulus=2000).model


def _channel(epsilon0):
    """Three inputs, of which the last one tells little."""
    odds = np.exp([[epsilon0, 0.0, 0.0], [0.0, epsilon0, 0.0], [0.0, 0.0, epsilon0 / 3]])
    return randomizers.ChannelModel(matrix=Channel(odds / odds.sum(axis=1, keepdims=True)))


LOCAL = {
    "ldp": lambda epsilon0: sdp.LdpModel(epsilon0=epsilon0),
    "ldp, with a remainder": lambda epsilon0: sdp.LdpModel(epsilon0=epsilon0, delta0=1e-9),
    "laplace": lambda epsilon0: randomizers.LaplaceModel(epsilon0=epsilon0),
    "channel": _channel,
    **{
        f"k-rr, {size}": lambda epsilon0, size=size: (
            sdp.KaryRandomizedResponse(epsilon0=epsilon0, domain_size=size).model
        )
        for size in (2, 3, 10, 1000)
    },
    "k-rr-personalized": lambda epsilon0: randomizers.PersonalizedResponseModel(
        domain_size=4, epsilons=(epsilon0 / 2, epsilon0), counts=(500, 500)
    ),
    **{
        kind: lambda epsilon0, kind=kind: kind(epsilon0=epsilon0, domain_size=5).model
        for kind in (
            randomizers.OptimizedUnaryEncoding,
            randomizers.SymmetricUnaryEncoding,
            randomizers.OptimizedLocalHashing,
            randomizers.HadamardResponse,
            randomizers.SubsetSelection,
        )
    },
    **{
        name: lambda epsilon0, kind=kind: kind(epsilon0=epsilon0, num_options=5, at_most=2).model
        for name, kind in (
            ("columns", randomizers.TickColumns),
            ("one-option", randomizers.OneOption),
            ("all-sets", randomizers.AllSets),
        )
    },
    "k-rr-blanket": lambda epsilon0: (
        randomizers.BlanketedResponse(epsilon0=epsilon0, domain_size=5, blanket_messages=0.5).model
    ),
    "masked-prefix": lambda epsilon0: randomizers.MaskedPrefixes(epsilon0=epsilon0, num_bits=12).model,
    "one-bit-mean": lambda epsilon0: randomizers.OneBitMean(epsilon0=epsilon0, **NUMBERS).model,
    "rounded-mean": lambda epsilon0: randomizers.RoundedMean(epsilon0=epsilon0, num_levels=4, **NUMBERS).model,
    "laplace-mean": lambda epsilon0: randomizers.DiscreteLaplaceMean(epsilon0=epsilon0, num_steps=8, **NUMBERS).model,
    "priv-unit": lambda epsilon0: randomizers.PrivUnit(epsilon0=epsilon0, dimension=20).model,
    "split-and-mix": lambda _: SHARES,
    "vector-sum": lambda _: VECTORS,
    "counted-bits": lambda _: sdp.CountedBits(num_users=100_000, value_bits=4, coins=30, **NUMBERS).model,
}

GROUPS = sdp.Groups.from_lists([list(range(30))] * 30)
REGULAR = sdp.Graph.random_regular(8, 100, source=SeededSource(1))
RING = [(one, (one + far) % 20) for one in range(20) for far in (1, 2)]
IN_PARTS = sdp.Graph.from_edges([*RING, *((20 + one, 20 + other) for one, other in RING)])
SMALL = sdp.Overlay(36, (6, 6))
COIN = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)


def _uniform(users):
    return UniformShuffleModel(num_users=users)


def _imperfect(users, construction, **options):
    return ImperfectShuffleModel(num_users=users, imperfection=0.01, construction=construction, **options)


def _walks(graph, rounds, **options):
    return RandomWalkShuffler(graph=graph, num_rounds=rounds, **options).model(graph.num_users)


def _overlay(users, **options):
    side = round(users**0.5)
    return _walks(sdp.Overlay(side * side, (side, side)), 2 * options.pop("cycles", 1), **options)


# Shuffles of as many people as are asked for.
OF_ANY_SIZE = {
    "uniform": _uniform,
    "strata": lambda users: StratifiedShuffleModel(sizes=(max(1, users // 3), users - users // 3)),
    "imperfect (cayley)": lambda users: _imperfect(users, "cayley"),
    "imperfect (assumed), colluders": lambda users: _imperfect(users, "assumed", num_colluding=users // 10),
    "differentially-oblivious": lambda users: ObliviousShuffleModel(num_users=users, epsilon=0.01, delta=1e-12),
    "none": lambda users: sdp.IdentityShuffler().model(users),
    "overlay": _overlay,
    "overlay, colluders who recognize": lambda users: _overlay(users, num_colluding=max(1, users // 1000)),
    "overlay, colluders, layers": lambda users: _overlay(users, num_colluding=users // 100, onion=True, cycles=3),
}

# Shuffles of few people.
OF_FEW = {
    "mallows": lambda: sdp.MallowsShuffler(groups=GROUPS, alpha=0.5, order=range(30)).model(30),
    "noisy-sort": lambda: sdp.NoisySortShuffler(groups=GROUPS, alpha=0.5, order=range(30)).model(30),
    "parallel": lambda: ParallelShuffleModel(round=_uniform(20), num_rounds=20),
    "parallel, of one": lambda: ParallelShuffleModel(round=_uniform(20), num_rounds=1),
    "graph": lambda: _walks(REGULAR, 10),
    "graph, lazy": lambda: _walks(REGULAR, 10, laziness=0.2),
    "graph, losses": lambda: _walks(REGULAR, 10, dropout=0.01),
    "graph, people offline": lambda: _walks(REGULAR, 10, offline=0.05),
    "graph, one report each": lambda: _walks(REGULAR, 5, protocol="single", dummies=COIN),
    "graph, colluders": lambda: _walks(REGULAR, 5, num_colluding=3),
    "graph, colluders by name": lambda: _walks(REGULAR, 5, colluders=(1, 2, 3)),
    "graph in parts": lambda: _walks(IN_PARTS, 30),
    "slots that wait": lambda: _walks(SMALL, 4, slots=slots_needed(SMALL, 4, overflow=1e-8)),
    "slots, aborted": lambda: _walks(SMALL, 4, slots=slots_needed(SMALL, 4, overflow=1e-8), surplus="aborts"),
    "gate": lambda: _walks(SMALL, 9, offline=0.05, gate=walk_gate(COIN.model, num_users=36, epsilon=0.8, delta=1e-3)),
}


def shuffles(sizes):
    """Every kind, those of any size at these; by name."""
    found = [
        (f"{name}, {users}", lambda make=make, users=users: make(users))
        for users in sizes
        for name, make in OF_ANY_SIZE.items()
        if users >= 9 or "overlay" not in name
    ]
    return dict([*found, *OF_FEW.items()])


def protocols(epsilons, sizes, *, local=tuple(LOCAL), of=None):
    """Protocols by name, as long as the two fit together."""
    for name, make in shuffles(sizes).items():
        if of is not None and not of(name):
            continue
        shuffle = make()
        for kind in local:
            for epsilon0 in epsilons[:1] if kind == "split-and-mix" else epsilons:
                try:
                    model = ProtocolModel(local=LOCAL[kind](epsilon0), shuffle=shuffle)
                except ShuffleDPError:
                    continue  # such as personal losses of another number of people
                yield f"{kind}, {epsilon0:g}, {name}", model


def kinds_left_out():
    """Kinds that the library knows and none of these protocols is of."""
    known = {
        kind
        for base in (LocalModel, ShuffleModel)
        for kind, each in base.members().items()
        if each.__module__.startswith("shuffledp.")
    }
    local = {LOCAL[name](1.0).kind for name in LOCAL}
    return known - local - {make().kind for make in shuffles([100]).values()}
