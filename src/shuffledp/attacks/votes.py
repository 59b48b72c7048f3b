"""The majority-vote inference attack: people who are alike answer alike, so that reports nearby tell on somebody."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.side_information import SideInformation, needed, reports_by_slot, spread
from shuffledp.flow import View

__all__ = ["MajorityVote"]


@dataclass(frozen=True, slots=True)
class MajorityVote:
    """Guesses the value that most of the reports say that lie in the slots of similar people nearby.

    Ties go to the value that is said more often in the whole view, then to the smaller one; that value is also the
    guess about people of whom no slot is known.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Section 5.

    Example:
        >>> from shuffledp import IdentityShuffler, KaryRandomizedResponse
        >>> reports = KaryRandomizedResponse(epsilon0=30.0, domain_size=2).randomize([0, 0, 1])
        >>> view = IdentityShuffler().shuffle(reports)
        >>> near = SideInformation(neighbors=np.array([[0, 1, 2], [1, 2, -1], [2, -1, -1]]))
        >>> MajorityVote().infer(view, near).tolist()
        [0, 0, 1]
    """

    def infer(self, view: View, side_information: SideInformation) -> NDArray[np.int64]:
        """One answer per person.

        Args:
            view: of randomized response, with or without slots.
            side_information: with ``neighbors``.

        Raises:
            InvalidParameterError: if ``neighbors`` is not known, or there is not one report per person.
            UnsupportedModelError: if reports are no values, or labels are not slots.
        """
        neighbors = needed(side_information, "neighbors")
        said = reports_by_slot(view, len(neighbors))
        size = int(getattr(view.reports.model, "domain_size"))  # noqa: B009
        total = np.bincount(said, minlength=size)
        votes = spread(neighbors) @ np.eye(size)[said]
        # A fraction of a vote decides ties; it never outweighs a whole one.
        guesses: NDArray[np.int64] = (votes + total / (2 * total.sum())).argmax(axis=1)
        return guesses
