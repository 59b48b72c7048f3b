"""Error of a trusted curator, who sees all answers and adds noise to the statistic.

The noise has the same central loss. Of two mechanisms the one with the smaller error is taken. With sensitivities D1
and D2 of what is released, the largest distances in the sum and the Euclidean norm that replacing one person's answer
makes, in the units of one answer:

* Laplace noise of scale D1 / epsilon, of standard deviation sqrt(2) D1 / epsilon; on counts it is discrete, of
  standard deviation sqrt(2 a) / (1 - a) with a = exp(-epsilon / D1). Its delta is 0 (Dwork, McSherry, Nissim, Smith
  2006; Ghosh, Roughgarden, Sundararajan 2009).
* Gaussian noise of standard deviation D2 / mu, with the largest mu of this epsilon and delta (Balle, Wang 2018,
  Theorem 8).

Of k categories D1 = 2 and D2 = sqrt(2); of two both are 1, since one count tells the other. Of ticks, of which two
answers differ in d at most, D1 = d and D2 = sqrt(d).
"""

import math
from dataclasses import dataclass

from shuffledp.core.described import Described
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.guarantees import DifferentialPrivacy, Guarantee
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel, ProtocolModel
from shuffledp.core.sum_models import SumModel
from shuffledp.core.tick_models import TicksModel
from shuffledp.core.validate import integer_at_least, nonnegative, positive
from shuffledp.laws.gaussian_noise import gaussian_mu

_LEAST_DELTA = 1e-200  # smallest delta for which Gaussian noise is calibrated


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedCurator(Described):
    """Error of a trusted curator, as a value.

    Args:
        mechanism: the noise that is added, in words.
        standard_error: that it adds for these people, in the units of the estimate.
        epsilon: central loss of what is released.
        delta: its remainder, which Laplace noise does not use up.
    """

    mechanism: str
    standard_error: float
    epsilon: float
    delta: float


def trusted_curator(
    local: LocalModel, *, epsilon: float, delta: float, num_users: int, unit: float = 1.0
) -> TrustedCurator:
    """Error of a trusted curator who estimates the same statistic from the answers themselves.

    Args:
        local: description of the randomizer, which says what is estimated: of categories their shares, of numbers and
            vectors the mean of each coordinate.
        epsilon: central loss, in nats, above 0.
        delta: the remainder, from 0 to 1.
        num_users: people, 1 or more.
        unit: from an average to the units of the estimate: the number of people, for a sum.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: for a description that does not say what is estimated.

    Example:
        >>> from shuffledp.randomizers import model_of_kind
        >>> coin = model_of_kind("k-rr", epsilon0=1.0, domain_size=4)
        >>> found = trusted_curator(coin, epsilon=0.1, delta=1e-6, num_users=10_000)
        >>> found.mechanism, round(found.standard_error, 6)
        ('discrete Laplace noise', 0.002828)
    """
    positive(epsilon=epsilon)
    nonnegative(delta=delta)
    integer_at_least(1, num_users=num_users)
    in_sum, euclidean = _sensitivities(local)
    counts = isinstance(local, FrequencyModel | TicksModel)
    noises = {"discrete Laplace noise" if counts else "Laplace noise": _laplace(in_sum, epsilon, discrete=counts)}
    if _LEAST_DELTA <= delta < 1:
        noises["Gaussian noise"] = euclidean / gaussian_mu(epsilon, delta)
    mechanism = min(noises, key=lambda name: noises[name])
    return TrustedCurator(
        mechanism=mechanism, standard_error=noises[mechanism] * unit / num_users, epsilon=epsilon, delta=delta
    )


def curator_beside(model: ProtocolModel, guarantee: Guarantee, *, unit: float = 1.0) -> TrustedCurator | None:
    """Error of a trusted curator with the guarantee of a protocol; None without a finite loss."""
    if not isinstance(guarantee, DifferentialPrivacy) or guarantee.is_trivial or not 0 < guarantee.epsilon < math.inf:
        return None
    loss = {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
    return trusted_curator(model.local, num_users=model.num_senders, unit=unit, **loss)


def _sensitivities(local: LocalModel) -> tuple[float, float]:
    """Sensitivities of a sum to one person's answer, in sum norm and in Euclidean norm.

    The most that replacing the answer moves the sum.
    """
    if isinstance(local, FrequencyModel):
        return (1.0, 1.0) if local.domain_size == 2 else (2.0, math.sqrt(2))
    if isinstance(local, TicksModel):
        return float(local.most_differing), math.sqrt(local.most_differing)
    if isinstance(local, MeanModel) and local.dimension > 1:
        return 2 * math.sqrt(local.dimension), 2.0  # of vectors of length 1
    if isinstance(local, MeanModel):
        return local.upper - local.lower, local.upper - local.lower
    if not isinstance(local, SumModel):
        raise UnsupportedModelError(
            f"a trusted curator needs a known statistic; {local.kind!r} reports do not state theirs."
        )
    return local.sensitivities


def _laplace(sensitivity: float, epsilon: float, *, discrete: bool) -> float:
    """Standard deviation of Laplace noise."""
    if not discrete:
        return math.sqrt(2) * sensitivity / epsilon
    kept = math.exp(-epsilon / sensitivity)
    return math.sqrt(2 * kept) / -math.expm1(-epsilon / sensitivity)
