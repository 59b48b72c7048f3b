"""Means of numbers and of vectors: randomize and estimate. Bare numpy is the floor; peers where installed."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

import shuffledp as sdp
from benchmarks.timing import compare
from shuffledp.core.flow import Randomizer

EPSILON0 = 1.0
PEOPLE, DIMENSION = 9_498, 200


def ours(randomizer: Randomizer, values: NDArray[np.float64]) -> Callable[[], object]:
    """Cryptographic randomness, exact laws (in real numbers, for PrivUnit), checked input, standard errors."""
    analyzer = sdp.MeanAnalyzer()
    model, labels = sdp.IdentityShuffler().model(len(values)), np.arange(len(values))

    def run() -> object:
        view = sdp.View(reports=randomizer.randomize(values), labels=labels, shuffle=model)
        return analyzer.estimate(analyzer.summarize(view))

    return run


def randomizing(randomizer: Randomizer, values: NDArray[np.float64]) -> Callable[[], object]:
    """The devices' part alone."""
    return lambda: randomizer.randomize(values)


def bare_laplace(values: NDArray[np.float64]) -> Callable[[], object]:
    """What nobody should use, as fast as numpy goes: floats that give values away, and a statistical generator."""

    def run() -> object:
        return (values + np.random.default_rng().laplace(0, 1 / EPSILON0, len(values))).mean()

    return run


def bare_one_bit(values: NDArray[np.float64]) -> Callable[[], object]:
    """One comparison of floats for each person."""
    p = 1 / (1 + math.exp(-EPSILON0))

    def run() -> object:
        bits = np.random.default_rng().random(len(values)) < (1 - p) + (2 * p - 1) * values
        return (bits.mean() - (1 - p)) / (2 * p - 1)

    return run


def bare_priv_unit(vectors: NDArray[np.float64]) -> Callable[[], object]:
    """The same geometry with a statistical generator, no checks and no errors."""
    model = sdp.PrivUnit(epsilon0=4.0, dimension=DIMENSION).model
    half, scale = (DIMENSION - 1) / 2, model.scale
    mass = special.betainc(half, half, model.depth)

    def run() -> object:
        draw = np.random.default_rng()
        in_cap = draw.random(len(vectors)) < model.p
        share = draw.random(len(vectors))
        depth = special.betaincinv(half, half, np.where(in_cap, share * mass, mass + share * (1 - mass)))
        across = draw.standard_normal(vectors.shape)
        across -= np.einsum("ij,ij->i", across, vectors)[:, None] * vectors
        across *= (2 * np.sqrt(depth * (1 - depth)) / np.linalg.norm(across, axis=1))[:, None]
        return (across + (1 - 2 * depth)[:, None] * vectors).mean(axis=0) / scale

    return run


def opendp_laplace(values: NDArray[np.float64]) -> Callable[[], object]:
    """Discrete Laplace noise on the same grid, one vector call: the peer that is exact too."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measure = dp.m.make_laplace(*domain, scale=1000 / EPSILON0)
    points = np.rint(values * 1000).astype(int).tolist()
    return lambda: measure(points)


def main() -> None:
    """A million numbers, then as many vectors as the target names."""
    values = np.random.default_rng(0).random(1_000_000)
    laplace = sdp.DiscreteLaplaceMean(epsilon0=EPSILON0, lower=0, upper=1)
    bit = sdp.OneBitMean(epsilon0=EPSILON0, lower=0, upper=1)
    levels = sdp.RoundedMean(epsilon0=EPSILON0, lower=0, upper=1, num_levels=10)
    print("a million numbers: randomize, and estimate the mean\n")
    medians = compare(
        {
            "bare numpy, Laplace": bare_laplace(values),
            "bare numpy, one bit": bare_one_bit(values),
            "laplace-mean": ours(laplace, values),
            "laplace-mean, devices alone": randomizing(laplace, values),
            "one-bit-mean": ours(bit, values),
            "one-bit-mean, devices alone": randomizing(bit, values),
            "rounded-mean": ours(levels, values),
            "rounded-mean, devices alone": randomizing(levels, values),
        },
        floor="bare numpy, Laplace",
        rounds=9,
    )
    try:
        peer = opendp_laplace(values[:20_000])
    except ImportError as error:
        print(f"\nOpenDP: does not import ({error})")
    else:
        print("\nOpenDP, discrete Laplace noise for 20,000 numbers\n")
        turn = compare({"laplace-mean": randomizing(laplace, values[:20_000]), "OpenDP": peer}, floor="laplace-mean")
        scaled = 50 * turn["OpenDP"]
        print(
            f"\nscaled to a million: {scaled:.2f} s, {scaled / medians['laplace-mean, devices alone']:.0f} times ours"
        )
    vectors = np.random.default_rng(0).normal(size=(PEOPLE, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    unit = sdp.PrivUnit(epsilon0=4.0, dimension=DIMENSION)
    print(f"\n{PEOPLE:,} unit vectors of {DIMENSION} coordinates\n")
    compare(
        {
            "bare numpy, PrivUnit": bare_priv_unit(vectors),
            "priv-unit": ours(unit, vectors),
            "priv-unit, devices alone": randomizing(unit, vectors),
        },
        floor="bare numpy, PrivUnit",
        rounds=9,
    )


if __name__ == "__main__":
    main()
