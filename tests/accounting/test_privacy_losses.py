"""Sums of losses by FFT: above the exact sum at every level, and close, whatever rounding does."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from shuffledp.accounting.privacy_losses import LossLaw, loss_sum


def law(seed: int, width: int, infinite: float = 0.0, steepness: float = 0.3) -> LossLaw:
    generator = np.random.default_rng(seed)
    places = np.arange(-width, width + 1)
    masses = generator.random(len(places)) * np.exp(-steepness * places**2 / width)
    return LossLaw(places=places, masses=masses / masses.sum() * (1 - infinite), infinite=infinite)


def exact(laws: list[LossLaw], repeats: int, step: float, epsilons: list[float]) -> list[mpmath.mpf]:
    """Direct convolution in 50 digits."""
    with mpmath.workdps(50):
        total = {0: mpmath.mpf(1)}
        for one in [one for one in laws for _ in range(repeats)]:
            after: dict[int, mpmath.mpf] = {}
            pairs = itertools.product(total.items(), zip(one.places.tolist(), one.masses.tolist(), strict=True))
            for (place, chance), (more, mass) in pairs:
                after[place + more] = after.get(place + more, mpmath.mpf(0)) + chance * mpmath.mpf(mass)
            total = after
        finite = mpmath.fsum(total.values())
        beyond = 1 - mpmath.fprod([1 - mpmath.mpf(one.infinite) for one in laws]) ** repeats
        assert finite > 0
        return [
            beyond
            + mpmath.fsum(
                mass * (1 - mpmath.exp(epsilon - place * mpmath.mpf(step)))
                for place, mass in total.items()
                if place * step > epsilon
            )
            for epsilon in epsilons
        ]


@pytest.mark.parametrize("repeats", [1, 7, pytest.param(40, marks=pytest.mark.deep)])
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-40])
@pytest.mark.parametrize("infinite", [0.0, 1e-12])
def test_sums_are_above_the_exact_ones_and_close_where_asked(repeats, delta, infinite):
    laws, step = [law(1, 12, infinite), law(2, 6, infinite, steepness=1.5)], 0.05
    found = loss_sum(laws, step=step, repeats=repeats, delta=delta)
    top = repeats * sum(int(one.places[-1]) for one in laws) * step
    epsilons = [fraction * top for fraction in (0.0, 0.05, 0.2, 0.5, 0.8, 0.99)]
    for epsilon, truth in zip(epsilons, exact(laws, repeats, step, epsilons), strict=True):
        assert found.delta(epsilon) >= truth * (1 - mpmath.mpf(10) ** -12)
    solved = found.epsilon(delta, limit=top)
    if infinite * 2 * repeats < delta / 10 and solved < top:
        assert exact(laws, repeats, step, [solved])[0] >= delta * 0.99
        assert math.isfinite(solved)
