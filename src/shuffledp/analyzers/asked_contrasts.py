"""Differences between shares among the people who were asked.

All shares have one divisor: the share of asked people.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from shuffledp.analyzers.among_asked import AmongAsked, Quotients
from shuffledp.analyzers.contrasts import Contrast, Places
from shuffledp.core.table import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskedContrast(Contrast):
    """Contrast of pairs of answers among asked people, with Fieller's intervals for the differences.

    Each difference is a quotient itself.

    Args:
        steps: weights of the shares of all people in each difference, shape (pairs, answers + 1).
        laws: covariances of the errors of those shares, shape (answers + 1, answers + 1): for the people asked, and for
            a population, where the differences are about one.
        others: as a `Contrast` has them; covariances of pairs are not used.

    References:
        Fieller 1954.
    """

    steps: Floats
    laws: tuple[Floats, Floats | None]

    @classmethod
    def of(cls, among: AmongAsked, places: tuple[Places, Places], target: tuple[str, ...]) -> Self | None:
        """Contrast of these rows; None if errors are not normal or their covariances are unknown."""
        rows = np.arange(len(among.whole.target))
        asked, population = (among.whole.joint(rows, population=each) for each in (False, True))
        if asked is None:
            return None
        unit = np.eye(len(rows))
        none = np.zeros(len(target))
        return cls(
            first=among,
            second=among,
            places=places,
            target=target,
            randomizing=none,
            sampling=None if population is None else none,
            steps=unit[places[0]] - unit[places[1]],
            laws=(asked, population),
        )

    @property
    def _errors(self) -> Floats:
        """Covariances of the errors of all people's shares: for a population if known, else for the people asked."""
        asked, population = self.laws
        return asked if population is None else population

    def intervals(self, level: float) -> Floats:
        """Ends of Fieller's intervals for the differences, shape (pairs, 2)."""
        whole, errors = self.first.whole, self._errors  # type: ignore[attr-defined]  # as `of` makes it
        variances = np.einsum("ij,jk,ik->i", self.steps, errors, self.steps)
        found = Quotients(
            own=self.steps @ whole.estimate,
            asked=1 - float(whole.estimate[-1]),
            variances=(variances, float(errors[-1, -1])),
            together=-self.steps @ errors[:, -1],
        )
        return np.clip(found.fieller(level), -1.0, 1.0)

    def joint(self, pairs: Places) -> Floats:
        """Covariances of the errors of the chosen differences to first order, shape (pairs, pairs)."""
        return self._spread(self._errors)[np.ix_(pairs, pairs)]

    def variances(self) -> tuple[Floats, Floats | None]:
        """Variances of the differences for the people asked, and the variances that sampling adds, if known.

        Both to first order.
        """
        asked = np.diag(self._spread(self.laws[0]))
        further = None if self.laws[1] is None else np.diag(self._spread(self.laws[1])) - asked
        return np.maximum(asked, 0.0), None if further is None else np.maximum(further, 0.0)

    def _spread(self, errors: Floats) -> Floats:
        """Covariances of all differences to first order, shape (pairs, pairs)."""
        whole = self.first.whole  # type: ignore[attr-defined]  # as `of` makes it
        slopes = self.steps.copy()
        slopes[:, -1] += self.apart
        return np.asarray(slopes @ errors @ slopes.T / (1 - float(whole.estimate[-1])) ** 2)
