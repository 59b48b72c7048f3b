"""Bayes-optimal neighborhood attack: posterior of an answer, from the known randomizer and a prior of laws."""

from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, logsumexp

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import View
from shuffledp.core.table import Floats
from shuffledp.protocols.d_sigma.attacks.side_information import SideInformation, needed, reports_by_slot, spread

_FITTED_LAWS = 64
_ROUNDS = 30
_FITTED_PEOPLE = 4000
_CONCENTRATIONS = np.logspace(-1, 3, 13)
_EXCESSES = np.linspace(0, 1, 33)[1:]
_SURE = 2.0  # standard errors by which shares differ from equal ones before they are believed
_BELIEVED = 20.0  # neighborhoods that the smooth prior counts for
_LARGEST_RATIO = 1e6  # beyond it reports say nothing of laws, and gamma functions lose their digits
_TINY = 1e-9
_AT_A_TIME = 4_000_000  # numbers


@dataclass(frozen=True, slots=True, eq=False)
class NeighborhoodPrior:
    """Prior of a neighborhood: the possible laws of its answers, and the probability of each law.

    Args:
        laws: shape (laws, values), rows sum to 1.
        weights: shape (laws,), 0 or more, with sum 1.

    Raises:
        InvalidParameterError: if they are no such numbers.
    """

    laws: Floats
    weights: Floats

    def __post_init__(self) -> None:
        validate.unmasked(laws=self.laws, weights=self.weights)
        try:
            laws, weights = (np.array(each, dtype=np.float64) for each in (self.laws, self.weights))
        except (TypeError, ValueError):
            raise InvalidParameterError("laws and weights must be numbers, and rows of one length.") from None
        if laws.ndim != 2 or weights.shape != laws.shape[:1] or not (laws >= 0).all() or not (weights >= 0).all():
            raise InvalidParameterError("laws must be rows of probabilities, and weights one probability per row.")
        if not (np.allclose(laws.sum(axis=1), 1) and np.isclose(weights.sum(), 1)):
            raise InvalidParameterError("each of the laws, and weights, must sum to 1.")
        for name, array in (("laws", laws), ("weights", weights)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)


class _SlotReports(NamedTuple):
    """Reports in the slots that the attack looks at, for each person.

    Attributes:
        counts: how many say each value, shape (people, values).
        own: how likely it is that the person's own report is one of them that says so, of the same shape.
    """

    counts: Floats
    own: Floats


class NeighborhoodBayes:
    """Attack that guesses the likeliest answer, as if the answers of a neighborhood were draws from one law.

    That law is itself drawn from the prior. At most one of the reports looked at is the person's own, and
    ``placement`` says how likely it is each of them; the others are of other people with the same law.

    Guarantees:
        1. Where answers are drawn so, and ``prior`` is the law that they are drawn from, no attack on the same reports
           is right more often on average, the majority vote included.

    Without a prior, a Dirichlet law is fitted to all reports (empirical Bayes): its mean is even, unless the reports
    show by two standard errors that it is not, and its concentration is the likeliest. For two values a grid of laws is
    fitted from there; for more, answers and laws are fitted to each other person by person (collapsed variational
    Bayes), unless laws by which one value of each neighborhood is common and the others equally rare make the reports
    likelier. Nothing is promised of it. Where laws are of one of these families, tests find it no worse than the vote,
    on average, with some hundred neighborhoods of 25; with few and small ones and a small loss it may be worse.

    Args:
        prior: None fits one to the reports.

    References:
        Asuncion, Welling, Smyth, Teh, "On Smoothing and Inference for Topic Models", UAI 2009 (its CVB0).
    """

    def __init__(self, prior: NeighborhoodPrior | None = None) -> None:
        if prior is not None:
            validate.instance_of(NeighborhoodPrior, prior=prior)
        self.prior = prior

    def infer(self, view: View, side_information: SideInformation) -> NDArray[np.int64]:
        """Likeliest answer of each person; on ties the smallest answer.

        Args:
            view: of randomized response, with or without slots.
            side_information: with ``neighbors``; without ``placement`` no report is the person's own.

        Raises:
            InvalidParameterError: if ``neighbors`` is not known, the prior is of other values, or there is not one
                report per person.
            UnsupportedModelError: if reports are no values, or labels are not slots.
        """
        found: NDArray[np.int64] = self.posterior(view, side_information).argmax(axis=1)
        return found

    def posterior(self, view: View, side_information: SideInformation) -> Floats:
        """Probability of each answer for each person, shape (people, values). Arguments as in `infer`."""
        neighbors = needed(side_information, "neighbors")
        channel = _matrix(view, len(neighbors))
        said = np.eye(channel.shape[1])[reports_by_slot(view, len(neighbors))]
        counts = spread(neighbors) @ said
        near = side_information.placement
        own = np.zeros_like(counts) if near is None else spread(neighbors, near) @ said
        prior, base, work = self.prior, np.zeros(0), len(channel) ** 2
        if prior is None:
            base, likelihood = _dirichlet(counts, said, channel)
            if len(channel) == 2:
                prior = _fitted(counts, channel, base)
            else:
                peaks, likelihood_of_peaks = _peaked(counts, channel, base / base.sum())
                prior = peaks if likelihood_of_peaks > likelihood else None
        if prior is not None:
            work = prior.laws.size
            if prior.laws.shape[1] != len(channel):
                raise validate.invalid(f"of {len(channel)} values", values_of_prior=prior.laws.shape[1])
        step = max(1, _AT_A_TIME // work)
        parts = range(0, len(counts), step)
        each = (_SlotReports(counts[start : start + step], own[start : start + step]) for start in parts)
        return np.concatenate(
            [_smoothed(seen, channel, base) if prior is None else _posterior(seen, channel, prior) for seen in each]
        )


def _matrix(view: View, num_slots: int) -> Floats:
    """Matrix of Pr[report | answer]; a view without such a matrix is refused."""
    reports_by_slot(view, num_slots)
    channel = view.reports.model.channel()
    return np.asarray(channel.matrix if channel else None, dtype=np.float64)


def _posterior(seen: _SlotReports, channel: Floats, prior: NeighborhoodPrior) -> Floats:
    """Posterior of answers, up to a factor per person: sum over laws of Pr[law | reports] Pr[answer | law, reports].

    Given the law, the reports are independent draws from law @ channel; where slot s is the person's own, with
    probability a_s, its factor is channel[answer, y_s] instead.
    """
    marginal = prior.laws @ channel
    logs = seen.counts @ np.log(marginal).T + np.log(np.maximum(prior.weights, np.finfo(float).tiny))
    laws = np.exp(logs - logs.max(axis=1, keepdims=True))
    ratios = channel[None] / marginal[:, None]  # of law, answer, report
    own = np.tensordot(seen.own, ratios, axes=([1], [2]))
    own += (1 - np.minimum(seen.own.sum(axis=1), 1))[:, None, None]
    found: Floats = np.einsum("pg,gv,pgv->pv", laws, prior.laws, own, optimize=True)
    total: Floats = found / found.sum(axis=1, keepdims=True)
    return total


def _dirichlet(counts: Floats, said: Floats, channel: Floats) -> tuple[Floats, float]:
    """Parameters of a Dirichlet prior fitted to all reports, with the log-likelihood of the fit.

    Args:
        counts: of the reports looked at for each person, shape (people, values).
        said: the report in each slot as a row with a single 1, of the same shape.
        channel: Pr[report | answer].
    """
    undo, even = np.linalg.inv(channel), 1 / len(channel)
    shares = said.mean(axis=0)
    mean = shares @ undo
    noise = (shares @ (undo**2).sum(axis=1) - (mean**2).sum()) / len(said)  # squared error of it, by randomizing
    off = mean - even
    mean = np.maximum(even + max(0.0, 1 - _SURE**2 * noise / max((off**2).sum(), _TINY**2)) * off, _TINY)
    mean /= mean.sum()
    # Reports near each other then have nearly a Dirichlet-multinomial law, with the same variance of their laws.
    reported = mean @ channel
    spread_of_laws = (mean[:, None] * (channel - reported) ** 2).sum()
    ratio = min((reported * (1 - reported)).sum() / max(spread_of_laws, _TINY), _LARGEST_RATIO)
    totals = counts.sum(axis=1)
    logs = np.empty(len(_CONCENTRATIONS))
    for place, concentration in enumerate(_CONCENTRATIONS):
        whole = (concentration + 1) * ratio - 1
        parts = whole * reported
        logs[place] = (gammaln(whole) - gammaln(whole + totals)).sum()
        logs[place] += (gammaln(parts + counts) - gammaln(parts)).sum()
    logs /= max(totals.mean(), 1)  # neighborhoods overlap: one in as many as a person looks at counts
    weights = np.exp(logs - logs.max())
    found: Floats = mean * np.exp(weights @ np.log(_CONCENTRATIONS) / weights.sum())
    return found, float(logs.max())


def _peaked(counts: Floats, channel: Floats, mean: Floats) -> tuple[NeighborhoodPrior, float]:
    """Prior of laws with one common value and equally rare others, and the reports' log-likelihood.

    The excess of the common value is the likeliest one of a list.

    Args:
        counts: as in `_dirichlet`.
        channel: as in `_dirichlet`.
        mean: how common each value is everywhere; values are the common one of a neighborhood as often as gives that.

    Returns:
        The prior with the likeliest excess, and the log-likelihood, divided by the mean number of reports per person.
    """
    values = len(channel)
    found: list[tuple[float, NeighborhoodPrior]] = []
    for excess in _EXCESSES:
        laws = excess * np.eye(values) + (1 - excess) / values
        weights = np.maximum(mean - (1 - excess) / values, _TINY)
        prior = NeighborhoodPrior(laws, weights / weights.sum())
        logs = counts @ np.log(laws @ channel).T + np.log(prior.weights)
        found.append((float(logsumexp(logs, axis=1).sum() / max(counts.sum(axis=1).mean(), 1)), prior))
    likelihood, prior = max(found, key=itemgetter(0))
    return prior, likelihood


def _smoothed(seen: _SlotReports, channel: Floats, base: Floats) -> Floats:
    """Probability of each answer under a Dirichlet prior, fitted in rounds to the reports looked at.

    The answer behind each report is fitted to the answers behind the other reports.

    Args:
        seen: the reports looked at.
        channel: Pr[report | answer].
        base: parameters of the Dirichlet law.
    """
    total = base.sum() + seen.counts.sum(axis=1, keepdims=True)
    behind = held = np.zeros(0)
    law = (base + seen.counts)[:, None]
    for _ in range(_ROUNDS):
        behind = law * channel.T  # of person, report, answer
        behind /= behind.sum(axis=2, keepdims=True)
        held = base + np.einsum("py,pyv->pv", seen.counts, behind)
        law = np.maximum(held[:, None] - behind, _TINY)  # of the answers behind the other reports
    own = np.einsum("py,pyv->pv", seen.own, behind)
    found: Floats = own + (1 - np.minimum(seen.own.sum(axis=1, keepdims=True), 1)) * held / total
    return found


def _fitted(counts: Floats, channel: Floats, base: Floats) -> NeighborhoodPrior:
    """Prior on a grid of laws of two values, with weights fitted by expectation and maximization.

    The weights start from the Beta law of ``base``, which counts beside the data in every round.

    Neighborhoods are taken as if one in as many as a person looks at did not overlap.
    """
    edges = np.linspace(0, 1, _FITTED_LAWS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    laws = np.column_stack([middle, 1 - middle])
    smooth = np.diff(betainc(base[0], base[1], edges)) + _TINY
    smooth /= smooth.sum()
    some = counts[:: max(1, len(counts) // _FITTED_PEOPLE)]
    logs = some @ np.log(laws @ channel).T
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    alone = len(counts) / len(some) / max(counts.sum(axis=1).mean(), 1)
    weights = smooth
    for _ in range(_ROUNDS):
        shares = likely * weights
        shares = (shares / shares.sum(axis=1, keepdims=True)).sum(axis=0) * alone
        weights = (shares + _BELIEVED * smooth) / (shares.sum() + _BELIEVED)
    return NeighborhoodPrior(laws, weights)
