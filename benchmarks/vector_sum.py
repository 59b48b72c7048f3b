"""Sums of vectors: ten thousand people with a thousand coordinates each, in parts of which only sums are kept."""

import resource
import time

import numpy as np

import shuffledp as sdp

PEOPLE, DIMENSION, AT_A_TIME = 10_000, 1000, 250


def main() -> None:
    """Time of devices and of adding up, and the most memory that was held."""
    randomizer = sdp.calibrate.vector_sum(
        num_users=PEOPLE, epsilon=1.0, delta=1e-6, largest_norm=1.0, dimension=DIMENSION
    )
    draw, analyzer, shuffler = np.random.default_rng(1), sdp.SumAnalyzer(), sdp.UniformShuffler()
    spent, summary, truth = {"devices": 0.0, "added up": 0.0}, None, np.zeros(DIMENSION)
    for _ in range(0, PEOPLE, AT_A_TIME):
        vectors = draw.normal(size=(AT_A_TIME, DIMENSION))
        vectors /= np.linalg.norm(vectors, axis=1)[:, np.newaxis]
        truth += vectors.sum(axis=0)
        start = time.process_time()
        reports = randomizer.randomize(vectors)
        middle = time.process_time()
        part = analyzer.summarize(shuffler.shuffle(reports))
        summary = part if summary is None else summary + part
        spent["devices"] += middle - start
        spent["added up"] += time.process_time() - middle
    if summary is None:
        return
    error = analyzer.estimate(summary).estimate - truth
    print(f"{PEOPLE:,} people, {DIMENSION:,} coordinates, {randomizer.num_messages:,} messages each")
    print("; ".join(f"{name} {seconds:.1f} s" for name, seconds in spent.items()), "of processor time")
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"error {error.std():.2f} for each coordinate; at most {held:,.0f} MiB held")


if __name__ == "__main__":
    main()
