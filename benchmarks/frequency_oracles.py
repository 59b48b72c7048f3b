"""Randomizers of categories: randomize a column and estimate its frequencies, beside peers where they are installed."""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp
from benchmarks.timing import compare

EPSILON0 = 1.0
OURS: dict[str, Callable[..., Any]] = {
    "SUE": sdp.SymmetricUnaryEncoding,
    "OUE": sdp.OptimizedUnaryEncoding,
    "OLH": sdp.OptimizedLocalHashing,
    "HR": sdp.HadamardResponse,
    "SS": sdp.SubsetSelection,
}


def ours(kind: str, values: NDArray[np.int64], size: int) -> Callable[[], object]:
    """Cryptographic randomness, integer thresholds, checked input, standard errors."""
    randomizer = OURS[kind](epsilon0=EPSILON0, domain_size=size)
    analyzer = sdp.FrequencyAnalyzer()
    model = sdp.IdentityShuffler().model(len(values))
    labels = np.arange(len(values))

    def run() -> object:
        view = sdp.View(reports=randomizer.randomize(values), labels=labels, shuffle=model)
        return analyzer.estimate(analyzer.summarize(view))

    return run


def multi_freq_ldpy(kind: str, values: NDArray[np.int64], size: int) -> Callable[[], object]:
    """One call per record, compiled where the library compiles it, as its documentation shows."""
    if kind in ("SUE", "OUE"):
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

        best = kind == "OUE"
        return lambda: UE_Aggregator_MI([UE_Client(value, size, EPSILON0, best) for value in values], EPSILON0, best)
    if kind == "OLH":
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

        return lambda: LH_Aggregator_MI([LH_Client(value, size, EPSILON0) for value in values], size, EPSILON0)
    if kind == "SS":
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

        return lambda: SS_Aggregator_MI([SS_Client(value, size, EPSILON0) for value in values], size, EPSILON0)
    raise ImportError(f"no {kind}")


def pure_ldp(kind: str, values: NDArray[np.int64], size: int) -> Callable[[], object]:
    """One call per record; values are counted from 1."""
    from pure_ldp.frequency_oracles import hadamard_response, local_hashing, unary_encoding

    def run() -> object:
        if kind in ("SUE", "OUE"):
            client = unary_encoding.UEClient(EPSILON0, size, use_oue=kind == "OUE")
            server = unary_encoding.UEServer(EPSILON0, size, use_oue=kind == "OUE")
        elif kind == "OLH":
            client = local_hashing.LHClient(EPSILON0, size, use_olh=True)
            server = local_hashing.LHServer(EPSILON0, size, use_olh=True)
        else:
            server = hadamard_response.HadamardResponseServer(EPSILON0, size)
            client = hadamard_response.HadamardResponseClient(EPSILON0, size, server.get_hash_funcs())
        for value in values:
            server.aggregate(client.privatise(int(value) + 1))
        return server.estimate_all(range(1, size + 1))

    if kind == "SS":
        raise ImportError(f"no {kind}")
    return run


def beside_peers(kind: str, users: int, size: int) -> None:
    """Ours on all people; each peer and ours on a share of them, and the peer's time scaled up."""
    values = np.random.default_rng(0).integers(0, size, users)
    print(f"\n## {kind}, {users:,} people, k = {size}\n")
    whole = compare({"shuffledp": ours(kind, values, size)}, floor="shuffledp", rounds=5)["shuffledp"]
    for name, peer, few in (
        ("multi-freq-ldpy", multi_freq_ldpy, users // 20),
        ("pure-LDP", pure_ldp, users // 100),
    ):
        try:
            contestant = peer(kind, values[:few], size)
            contestant()
        except (ImportError, TypeError) as error:  # LH of both hashes str, which xxhash refuses since version 4
            print(f"\n{name}: does not run ({error})")
            continue
        start = time.perf_counter()
        contestant()
        scaled = (time.perf_counter() - start) * users / few
        print(f"\n{name}: {scaled:.2f} s ({few:,} people, scaled up), {scaled / whole:.0f} times ours")


def large() -> None:
    """A million people and a thousand values: time, and the largest memory that numpy held, reports included."""
    values = np.random.default_rng(0).integers(0, 1000, 1_000_000)
    print("\n## 1,000,000 people, k = 1000: one run each\n")
    print("| kind | seconds | largest memory, MiB | report, bits |")
    print("|---|---|---|---|")
    for kind, make in OURS.items():
        run = ours(kind, values, 1000)
        start = time.perf_counter()
        run()
        seconds = time.perf_counter() - start
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        bits = make(epsilon0=EPSILON0, domain_size=1000).model.report_bits
        print(f"| {kind} | {seconds:.2f} | {peak:.0f} | {bits} |")


def main() -> None:
    """Every kind beside its peers, and then at full size alone."""
    for kind in ("OUE", "SUE", "HR", "SS"):
        beside_peers(kind, 1_000_000, 100)
    beside_peers("OLH", 100_000, 100)
    large()


if __name__ == "__main__":
    main()
