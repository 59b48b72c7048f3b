"""Processor seconds for 4 x 200 points of epsilon against people: python -m benchmarks.accounting_figure."""

import time

import numpy as np

import shuffledp as sdp
from shuffledp.core.local_models import LocalModel
from shuffledp.randomizers import KaryRandomizedResponseModel, LaplaceModel, LdpModel
from shuffledp.shufflers import UniformShuffleModel

USERS = np.geomspace(1e3, 1e8, 200).astype(int).tolist()
LOSSES = (0.5, 1.0, 2.0, 4.0)


def seconds(locals_: list[LocalModel], *, both: bool) -> float:
    """For 200 numbers of people each: the upper bound, or the bracket."""
    ask = sdp.bracket if both else sdp.account
    start = time.process_time()
    for local in locals_:
        for users in USERS:
            ask(sdp.ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users)), delta=1e-6)
    return time.process_time() - start


if __name__ == "__main__":
    kinds: dict[str, list[LocalModel]] = {
        "any randomizer": [LdpModel(epsilon0=loss) for loss in LOSSES],
        "k-RR, k = 10": [KaryRandomizedResponseModel.from_epsilon0(epsilon0=loss, domain_size=10) for loss in LOSSES],
        "Laplace": [LaplaceModel(epsilon0=loss) for loss in LOSSES],
    }
    print("| 4 x 200 points | upper bounds, s | brackets, s |\n|---|---|---|")
    for name, locals_ in kinds.items():
        print(f"| {name} | {seconds(locals_, both=False):.1f} | {seconds(locals_, both=True):.1f} |")
