"""k-RR, k = 16: randomize a column and estimate its frequencies. Bare numpy is the floor; peers where installed."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp
from benchmarks.timing import compare

DOMAIN, EPSILON0 = 16, 1.0


def ours(values: NDArray[np.int64]) -> Callable[[], object]:
    """Cryptographic randomness, integer thresholds, checked input, standard errors."""
    randomizer = sdp.KaryRandomizedResponse(epsilon0=EPSILON0, domain_size=DOMAIN)
    analyzer = sdp.FrequencyAnalyzer()
    model = sdp.IdentityShuffler().model(len(values))
    labels = np.arange(len(values))

    def run() -> object:
        view = sdp.View(reports=randomizer.randomize(values), labels=labels, shuffle=model)
        return analyzer.estimate(analyzer.summarize(view))

    return run


def bare_numpy(values: NDArray[np.int64]) -> Callable[[], object]:
    """What nobody should use, as fast as numpy goes: floats, a statistical generator, no checks, no errors."""
    p = math.exp(EPSILON0) / (math.exp(EPSILON0) + DOMAIN - 1)
    q = (1 - p) / (DOMAIN - 1)

    def run() -> object:
        draw = np.random.default_rng()
        other = (values + draw.integers(1, DOMAIN, len(values))) % DOMAIN
        reports = np.where(draw.random(len(values)) < p, values, other)
        return (np.bincount(reports, minlength=DOMAIN) / len(values) - q) / (p - q)

    return run


def multi_freq_ldpy(values: NDArray[np.int64]) -> Callable[[], object]:
    """One compiled call per record, as its documentation shows."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

    return lambda: GRR_Aggregator_MI([GRR_Client(value, DOMAIN, EPSILON0) for value in values], DOMAIN, EPSILON0)


def pure_ldp(values: NDArray[np.int64]) -> Callable[[], object]:
    """Direct encoding, one call per record."""
    from pure_ldp.frequency_oracles import DEClient, DEServer

    def run() -> object:
        client, server = DEClient(EPSILON0, DOMAIN), DEServer(EPSILON0, DOMAIN)
        for value in values:
            server.aggregate(client.privatise(int(value) + 1))
        return server.estimate_all(range(1, DOMAIN + 1))

    return run


def opendp(values: NDArray[np.int64]) -> Callable[[], object]:
    """One measurement per record; it leaves estimating to its user."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    p = math.exp(EPSILON0) / (math.exp(EPSILON0) + DOMAIN - 1)
    measure = dp.m.make_randomized_response(list(range(DOMAIN)), p)
    return lambda: [measure(int(value)) for value in values]


def main() -> None:
    """A million answers for us and the floor; fewer for peers, which are linear, scaled up."""
    values = np.random.default_rng(0).integers(0, DOMAIN, 1_000_000)
    print("randomize and estimate 1,000,000 answers, k = 16\n")
    medians = compare({"bare numpy": bare_numpy(values), "shuffledp": ours(values)}, floor="bare numpy", rounds=15)
    for name, peer, share in (
        ("multi-freq-ldpy", multi_freq_ldpy, 10),
        ("pure-LDP", pure_ldp, 50),
        ("OpenDP", opendp, 50),
    ):
        few = values[: len(values) // share]
        try:
            contestant = peer(few)
        except ImportError as error:
            print(f"\n{name}: does not import ({error})")
            continue
        print(f"\n{name}, {len(few):,} answers\n")
        turn = compare({"shuffledp": ours(few), name: contestant}, floor="shuffledp", rounds=3)
        scaled = turn[name] * share
        print(f"\nscaled to a million: {scaled:.2f} s, {scaled / medians['shuffledp']:.0f} times ours")


if __name__ == "__main__":
    main()
