"""Leakage of a protocol, capped by the largest leakage that its differential privacy allows."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.accounting import privacy_curve
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage import (
    Comparison,
    TargetExamination,
    Vulnerability,
    Way,
    compare_ways,
    examine_target,
    target_vulnerability,
)
from shuffledp.leakage.protocol_leakage import channel_of
from shuffledp.leakage.vulnerability import capped, vulnerability_cap

_DELTA = 1e-6  # default delta of the guarantee that bounds leakage


def guaranteed_vulnerability(model: ProtocolModel, *, delta: float = _DELTA, **asked: Any) -> Vulnerability:
    """Vulnerability by `shuffledp.leakage.target_vulnerability`, with bounds capped by the guarantee.

    Args:
        model: the randomizer and the shuffler, with the number of users.
        delta: the remainder of the statement that bounds it.
        asked: as of `shuffledp.leakage.target_vulnerability`.
    """
    found = target_vulnerability(model, **asked)
    if asked.get("positions") is not None:
        return found  # for a law of places other than the shuffle's, which no guarantee covers
    return _Cap(model, delta, asked.get("prior"), asked.get("gain")).on(found)


def compare_guaranteed(model: ProtocolModel, *, delta: float = _DELTA, **asked: Any) -> Comparison:
    """Comparison by `shuffledp.leakage.compare_ways`, with a bound for "both" if its value is slow.

    Without a shuffle there is one way, randomizing. The arguments are those of `guaranteed_vulnerability`.
    """
    return _bounded(model, compare_ways(model, **asked), _Cap(model, delta, asked.get("prior"), asked.get("gain")))


def examine_guaranteed(model: ProtocolModel, *, delta: float = _DELTA, **asked: Any) -> TargetExamination:
    """Examination by `shuffledp.leakage.examine_target`, with bounds capped by the guarantee.

    The arguments are those of `guaranteed_vulnerability`.
    """
    found, cap = examine_target(model, **asked), _Cap(model, delta, asked.get("prior"), asked.get("gain"))
    return replace(
        found,
        found=cap.on(found.found),
        comparison=None if found.comparison is None else _bounded(model, found.comparison, cap),
    )


class _Cap:
    """Cap on vulnerabilities by the guarantee, computed at the first bound that needs it."""

    def __init__(self, model: ProtocolModel, delta: float, prior: ArrayLike | None, gain: ArrayLike | None) -> None:
        self._model, self._delta, self._prior, self._gain = model, delta, prior, gain

    def on(self, found: Vulnerability) -> Vulnerability:
        """Vulnerability with an upper end of at most the cap; exact values and estimates are unchanged."""
        if found.kind in (Kind.EXACT, Kind.ESTIMATE):
            return found
        return capped(found, self._value)

    @cached_property
    def _value(self) -> float:
        try:
            curve = privacy_curve(self._model, delta=self._delta)
        except UnsupportedModelError:
            return np.inf  # no theorem has a curve
        size = len(channel_of(self._model.local).inputs)
        prior = np.full(size, 1 / size) if self._prior is None else self._prior
        return vulnerability_cap(curve, prior=prior, gain=self._gain)


def _bounded(model: ProtocolModel, found: Comparison, cap: _Cap) -> Comparison:
    alone = found.way("randomizing")
    if model.shuffle.kind == "none" or alone is None:
        return replace(found, ways=tuple(way for way in found.ways if way.name == "randomizing"))
    return replace(found, ways=tuple(_both(way, alone, cap) if way.name == "both" else way for way in found.ways))


def _both(way: Way, alone: Way, cap: _Cap) -> Way:
    """Leakage of the whole protocol; unknown values are bounded by the leakage of one report."""

    def bound(own: Vulnerability | None, of_report: Vulnerability | None) -> Vulnerability | None:
        if own is None and of_report is not None:
            own = replace(of_report, lower=of_report.prior, kind=Kind.UPPER_BOUND)
        return None if own is None else cap.on(own)

    return replace(way, uninformed=bound(way.uninformed, alone.uninformed), strong=bound(way.strong, alone.strong))
