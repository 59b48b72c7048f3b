"""What random walks of everybody's reports lose after few rounds, estimated: a bound for each sampled allocation.

Reveal where all reports are, up to one exchange of the victim with somebody chosen uniformly among the clones and the
victim. Person j's report is at a place with the law P_j. Let v be the victim, C the clones (each other person with
probability q), z the places that are revealed and b = z_v. The victim is in truth at the place of j with a weight

    w_v = P_v(b) times the product of P_k(z_k) over C,
    w_j = P_v(z_j) P_j(b) times the product of P_k(z_k) over C without j,

and with shares u = w / sum of w, and y = a - e b' or b' - e a with equal chances, a = E / (1 + E), b' = 1 / (1 + E),

    delta(epsilon) <= E[2 (sum of u_s y_s)_+].

Products, not quotients: after the exchange P_j(z_j) can be 0, and then the victim is exposed. If all positions have one
law, all shares are equal, and it is the bound of the uniform shuffle.

For each allocation that is the mean of a bound; but the mean over allocations is estimated from samples, which do not
show those that are rarer than one in their number. So it is an estimate, and never what the accountant answers.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from shuffledp.accounting.evaluators.weighted_sums import WeightedSum
from shuffledp.accounting.numerics import smallest_below
from shuffledp.accounting.theorem import common_randomizer, not_adaptive, one_message_each, pure_local
from shuffledp.core import validate
from shuffledp.core.errors import HypothesisError
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Basis, Hypothesis, Kind, Status, Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.randomness.sources import RandomSource, resolve_source

_MOST_PEOPLE = 5000  # 200 MB of laws
_RATIO = 1.01  # shares that close are one class
_NEGLIGIBLE = 1e-12  # shares below count as that much, relative to the largest
_ROUNDING = 2.0**-53


@dataclass(frozen=True, kw_only=True, eq=False)
class SwapReveal:
    """An estimate of the central loss of one person whose report, like everybody's, walks at random.

    Args:
        local: the randomizer.
        laws: row j is the law of where person j's report is at the end; shape (people, people), 5000 people at most.
        victim: whose loss it is.
        samples: allocations, 1 or more.
        source: of randomness; it decides nothing but the estimate.

    Raises:
        InvalidParameterError: if an argument is out of range.
        HypothesisError: unless one common randomizer with a finite epsilon0, and no local delta, sends one report each.
    """

    local: LocalModel
    laws: Floats
    victim: int
    samples: int = 100
    source: RandomSource | None = None

    def __post_init__(self) -> None:
        laws = np.asarray(self.laws, dtype=np.float64)
        if laws.ndim != 2 or laws.shape[0] != laws.shape[1] or not 2 <= len(laws) <= _MOST_PEOPLE:
            raise invalid(f"a square matrix of 2 to {_MOST_PEOPLE} people", shape_of_laws=laws.shape)
        if not (laws >= 0).all() or not np.allclose(laws.sum(axis=1), 1, rtol=0, atol=1e-9):
            raise invalid("rows of probabilities that add up to 1", laws="rows that do not")
        object.__setattr__(self, "laws", laws)
        validate.integer_at_least(0, victim=self.victim)
        validate.integer_at_least(1, samples=self.samples)
        if self.victim >= len(laws):
            raise invalid(f"below {len(laws)}", victim=self.victim)
        failing = "; ".join(each.text for each in self._hypotheses if not each.holds)
        if failing:
            raise HypothesisError(f"swap-reveal {failing}.")

    def delta(self, epsilon: float) -> tuple[float, float]:
        """The estimated delta at an epsilon, and its standard error.

        Args:
            epsilon: in nats, 0 or more.
        """
        validate.nonnegative(epsilon=epsilon)
        if epsilon >= self.local.epsilon0:
            return 0.0, 0.0
        found = np.array([self._given(*each, epsilon) for each in self._allocations])
        error = float(found.std(ddof=1)) / math.sqrt(self.samples) if self.samples > 1 else math.inf
        return float(found.mean()), error

    def state(self, *, delta: float) -> PrivacyStatement:
        """The estimated epsilon at a delta, as a statement that promises nothing.

        Args:
            delta: strictly between 0 and 1.
        """
        validate.open_probability(delta=delta)
        epsilon0 = self.local.epsilon0
        epsilon = smallest_below(lambda at: self.delta(at)[0], level=delta, limit=epsilon0, tolerance=1e-4)
        rare = f"one in {self.samples}"
        return PrivacyStatement(
            guarantee=CentralDP(epsilon=epsilon, delta=delta),
            kind=Kind.ESTIMATE,
            basis=Basis(
                theorem="swap-reveal",
                citation="places revealed up to one exchange with the victim, averaged over samples",
                hypotheses=self._hypotheses,
                status=Status.OWN_PROOF,
            ),
            trust=(Trust.OWN_DEVICE, Trust.RELAYS, Trust.UNOBSERVED, Trust.EVERYBODY),
            remarks=(
                f"An average over {self.samples} sampled allocations, for one person: allocations that are rarer than "
                f"{rare} are not seen, however much they tell.",
            ),
        )

    @property
    def clone_chance(self) -> float:
        """q: 2 / (1 + E) for binary randomized response, whose ratios are E and 1/E only; else 1 / E."""
        odds = math.exp(-self.local.epsilon0)
        return 2 * odds / (1 + odds) if _is_binary(self.local) else odds

    @property
    def _hypotheses(self) -> tuple[Hypothesis, ...]:
        # The hypotheses are about the randomizer alone.
        shuffle = ShuffleModel.from_dict({"kind": "uniform", "num_users": len(self.laws)})
        model = ProtocolModel(local=self.local, shuffle=shuffle)
        return (pure_local(model), one_message_each(model), common_randomizer(model), not_adaptive(model))

    @cached_property
    def _allocations(self) -> list[tuple[Floats, Floats]]:
        """Shares in classes, and how many there are in each, for each sample: the same at every epsilon."""
        generator = np.random.Generator(cast("np.random.BitGenerator", resolve_source(self.source).bit_generator))
        reached = np.cumsum(self.laws, axis=1)
        others = np.delete(np.arange(len(self.laws)), self.victim)
        found = []
        for _ in range(self.samples):
            clones = others[generator.random(len(others)) < self.clone_chance]
            people = np.append(clones, self.victim)
            drawn = generator.random(len(people))
            places = np.array([_place(reached[who], chance) for who, chance in zip(people, drawn, strict=True)])
            chosen = int(generator.random() * len(people))
            places[[chosen, -1]] = places[[-1, chosen]]
            found.append(_classes(shares_of_places(self.laws, self.victim, clones, places)))
        return found

    def _given(self, weights: Floats, counts: Floats, epsilon: float) -> float:
        """The bound for one allocation: a weighted sum of 2 y, of which the mean is 1 - e."""
        factor, growth = math.exp(epsilon), math.expm1(epsilon)
        odds = math.exp(-self.local.epsilon0)
        truth, lie = 1 / (1 + odds), odds / (1 + odds)
        values = 2 * np.array([truth - factor * lie, lie - factor * truth])
        return WeightedSum(
            values=values,
            masses=np.full(2, 0.5),
            weights=weights,
            counts=counts,
            shift=growth * max(float(weights @ counts) - 1, 0.0),
            errors=8 * _ROUNDING * np.array([factor, factor]),
        ).positive_part()


def shares_of_places(laws: Floats, victim: int, clones: Integers, places: Integers) -> Floats:
    """How likely the victim is at each of the places that are revealed, given that it is at one of them.

    Args:
        laws: row j is the law of where person j's report is.
        victim: who it is.
        clones: other people.
        places: revealed for each of the clones, and then for the victim; shape (clones + 1,).

    Returns:
        Shares that add up to 1, for the clones' places and then the victim's own; shape (clones + 1,).
    """
    own = laws[clones, places[:-1]]
    instead = laws[victim, places[:-1]] * laws[clones, places[-1]]
    impossible = own == 0
    if impossible.any():  # all others have weight 0
        shares = np.append(impossible.astype(float), 0.0)
        return np.asarray(shares / shares.sum())
    weights = np.append(instead / own, laws[victim, places[-1]])
    return np.asarray(weights / weights.sum())


def _classes(shares: Floats) -> tuple[Floats, Floats]:
    """Shares rounded up to a few different ones, and how many there are of each."""
    largest = float(shares.max())
    ranks = np.floor(np.log(largest / np.maximum(shares, _NEGLIGIBLE * largest)) / math.log(_RATIO))
    kept, members = np.unique(ranks, return_inverse=True)
    weights = np.zeros(len(kept))
    np.maximum.at(weights, members.ravel(), np.maximum(shares, _NEGLIGIBLE * largest))
    return weights, np.bincount(members.ravel()).astype(float)


def _place(reached: Floats, chance: float) -> int:
    """The place of a law, given by its sums, that this number between 0 and 1 falls on."""
    return int(min(np.searchsorted(reached, chance * reached[-1], side="right"), len(reached) - 1))


def _is_binary(local: LocalModel) -> bool:
    return local.kind == "k-rr" and isinstance(local, FrequencyModel) and local.domain_size == 2
