"""Privacy guarantees as values, each with its neighboring relation.

A guarantee is the claim alone. A `PrivacyStatement` adds the theorem and the parties whom people must trust.
"""

import math
import operator
from abc import abstractmethod
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Self

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import IncomparableError
from shuffledp.core.order_laws import OrderLaw
from shuffledp.core.text import factor_in_digits, in_digits, shown_relation, sum_rounded_up, weakness_of

_ROUNDING = 1e-6  # relative, of losses by size


class Neighbors(StrEnum):
    """Neighboring relation: a rule for the pairs of inputs that must be hard to tell apart."""

    REPLACE_ONE = "replace-one"
    ORDERS_IN_GROUP = "orders-in-group"

    @property
    def text(self) -> str:
        """Neighboring relation in words."""
        return _NEIGHBORS_IN_WORDS[self]


_NEIGHBORS_IN_WORDS = {
    Neighbors.REPLACE_ONE: "one person's answer is replaced by any other; the number of people is public",
    Neighbors.ORDERS_IN_GROUP: "the answers of the people of one group change hands among them, in any way",
}


class Guarantee(Described):
    """Base of all guarantees; ``type`` is the tag in JSON."""

    __slots__ = ()
    tag_key: ClassVar[str] = "type"
    type: ClassVar[str]

    @abstractmethod
    def implies(self, other: "Guarantee") -> bool:
        """True if every mechanism with this guarantee has the other guarantee too."""

    @abstractmethod
    def compose(self, other: Self) -> Self:
        """Composition: guarantee of publishing both results about the same people."""

    @abstractmethod
    def mix(self, other: Self, weight: float) -> Self:
        """Mixture: guarantee of this mechanism with probability ``weight``, else of the other mechanism.

        The choice must not depend on the data; it may be public.
        """

    @abstractmethod
    def nothing(self) -> Self:
        """Trivial guarantee of this type."""

    @property
    @abstractmethod
    def is_trivial(self) -> bool:
        """True if every mechanism has this guarantee, so that it promises nothing."""

    @property
    def weakness(self) -> str:
        """Warning in one sentence for a non-specialist if the guarantee promises little, else ""."""
        return ""

    @abstractmethod
    def text(self, relation: str) -> str:
        """Guarantee in one sentence for anybody; ``relation`` is "at most", "exactly", "at least" or "about"."""

    def text_of_sum(self, relation: str) -> str:
        """Guarantee of a sum in one sentence, in which all answers of one person may be replaced."""
        return self.text(relation)


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialPrivacy(Guarantee):
    """(epsilon, delta)-indistinguishability of neighboring inputs; see `LocalDP` and `CentralDP`.

    Args:
        epsilon: privacy loss in nats, 0 or more; infinity means "not private".
        delta: remainder, from 0 to 1.
        neighbors: the neighboring relation.
    """

    seen: ClassVar[str]  # by the adversary, of one answer and of all of a person's
    seen_of_sum: ClassVar[str]
    epsilon: float
    delta: float = 0.0
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        validate.nonnegative(epsilon=self.epsilon)
        validate.probability(delta=self.delta)

    @property
    def is_trivial(self) -> bool:
        """True if every mechanism has this guarantee."""
        return math.isinf(self.epsilon) or self.delta == 1

    @property
    def weakness(self) -> str:
        """Warning of a large epsilon; "" for a small epsilon and for a trivial guarantee."""
        return "" if self.is_trivial else weakness_of(self.epsilon, "what one person answered")

    def implies(self, other: Guarantee) -> bool:
        """True if the other guarantee is trivial, or has equal type and neighbors, no smaller epsilon or delta."""
        if not isinstance(other, DifferentialPrivacy):
            return other.is_trivial
        if other.is_trivial:
            return True
        same = self.type == other.type and self.neighbors == other.neighbors
        return same and self.epsilon <= other.epsilon and self.delta <= other.delta

    def compose(self, other: Self) -> Self:
        """Basic composition: epsilons and deltas add (Dwork and Roth 2014, Theorem 3.16); sums are rounded up."""
        self._require_same(other)
        epsilon, delta = (sum_rounded_up(*pair) for pair in ((self.epsilon, other.epsilon), (self.delta, other.delta)))
        return replace(self, epsilon=epsilon, delta=min(1.0, delta))

    def mix(self, other: Self, weight: float) -> Self:
        """Guarantee of a mixture, by convexity of the divergence: larger epsilon, average delta rounded up."""
        self._require_same(other)
        validate.probability(weight=weight)
        delta = sum_rounded_up(self.delta, other.delta, shares=(Fraction(weight), 1 - Fraction(weight)))
        return replace(self, epsilon=max(self.epsilon, other.epsilon), delta=delta)

    def nothing(self) -> Self:
        """Guarantee with infinite epsilon: not private."""
        return replace(self, epsilon=math.inf, delta=0.0)

    def _require_same(self, other: Any) -> None:
        if type(other) is not type(self) or other.neighbors != self.neighbors:
            raise IncomparableError(f"guarantees must be of one type and relation; got {self!r} and {other!r}.")

    def text(self, relation: str) -> str:
        """Guarantee in one sentence for a non-specialist."""
        return self._sentence(self.seen, relation, replacing="that answer by any other")

    def text_of_sum(self, relation: str) -> str:
        """Guarantee of a sum in one sentence for a non-specialist."""
        return self._sentence(self.seen_of_sum, relation, replacing="all of that person's answers by any others")

    def _sentence(self, observed: str, relation: str, *, replacing: str) -> str:
        if self.is_trivial and relation == "at most":  # no bound is known, which is not the same as knowing the worst
            return f"Nothing is promised about what {observed} reveals about one person."
        if self.is_trivial:
            return f"Not private: nothing limits what {observed} reveals about one person."
        remainder = f", apart from a remainder of {in_digits(self.delta, relation)} (delta)" if self.delta else ""
        factor, epsilon = factor_in_digits(self.epsilon, relation), in_digits(self.epsilon, relation)
        rounded = ", rounded up" if shown_relation(self.epsilon, epsilon, relation) != relation else ""
        return (
            f"Whatever one person answered, replacing {replacing} changes the probability of "
            f"{_SEEN.get(relation, 'anything')} seen in {observed} by a factor of {_FACTORS.get(relation, relation)} "
            f"{factor} (epsilon = {epsilon}{rounded}){remainder}."
        )


# A lower bound is about some outcome; the factor of an exact epsilon is a number that is rounded up.
_SEEN = {"at least": "something"}
_FACTORS = {"exactly": "up to", "about": "up to about"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDP(DifferentialPrivacy):
    """Local differential privacy: the adversary observes everything that leaves one person's device.

    Example:
        >>> LocalDP(epsilon=1.0).implies(LocalDP(epsilon=2.0))
        True
    """

    type: ClassVar[str] = "local-dp"
    seen: ClassVar[str] = "the report that left that person's device"
    seen_of_sum: ClassVar[str] = "all reports that left that person's device"


@dataclass(frozen=True, slots=True, kw_only=True)
class CentralDP(DifferentialPrivacy):
    """Central differential privacy: the adversary observes the view that the analyst receives.

    Example:
        >>> CentralDP(epsilon=0.1, delta=1e-6).compose(CentralDP(epsilon=0.2)).epsilon
        0.30000000000000004
    """

    type: ClassVar[str] = "central-dp"
    seen: ClassVar[str] = "the released data"
    seen_of_sum: ClassVar[str] = "all the released data together"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiDP(Guarantee):
    """Renyi differential privacy of the released data, at several orders (Mironov 2017).

    At order a the Renyi divergence log(E_Q[(P/Q)^a]) / (a - 1) of any two neighboring inputs' laws P, Q is at most
    epsilon. It adds up over releases, order by order.

    Args:
        orders: a, each above 1 and finite, ascending.
        epsilons: the divergence at each order, in nats, 0 or more; infinity promises nothing there.
        neighbors: the neighboring relation.

    Example:
        >>> once = RenyiDP(orders=(2.0, 8.0), epsilons=(0.01, 0.04))
        >>> once.compose(once).epsilons
        (0.02, 0.08)
    """

    type: ClassVar[str] = "renyi-dp"
    orders: tuple[float, ...]
    epsilons: tuple[float, ...]
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        if not self.orders or len(self.orders) != len(self.epsilons):
            raise validate.invalid("one for each order, and at least one", num_epsilons=len(self.epsilons))
        for order in self.orders:
            validate.positive(orders=order)
        if not (self.orders[0] > 1 and all(map(operator.lt, self.orders, self.orders[1:]))):
            raise validate.invalid("above 1 and ascending", orders=self.orders)
        for epsilon in self.epsilons:
            validate.nonnegative(epsilons=epsilon)

    @property
    def is_trivial(self) -> bool:
        """True if epsilon is infinite at every order."""
        return all(map(math.isinf, self.epsilons))

    def implies(self, other: Guarantee) -> bool:
        """True if this guarantee meets each epsilon of the other guarantee, at an equal or larger order.

        An epsilon is met by one that is no larger. Trivial guarantees are implied too; else both must have the same
        neighbors.
        """
        if not isinstance(other, RenyiDP):
            return other.is_trivial
        here = list(zip(self.orders, self.epsilons, strict=True))
        return self.neighbors == other.neighbors and all(
            math.isinf(theirs) or any(mine <= theirs for larger, mine in here if larger >= order)
            for order, theirs in zip(other.orders, other.epsilons, strict=True)
        )

    def compose(self, other: Self) -> Self:
        """Sum of the epsilons, order by order (Mironov 2017, Proposition 1); rounded up."""
        self._require_same(other)
        return replace(self, epsilons=tuple(map(sum_rounded_up, self.epsilons, other.epsilons)))

    def mix(self, other: Self, weight: float) -> Self:
        """Guarantee of a mixture: larger epsilon of both at each order, by quasi-convexity of the divergence."""
        self._require_same(other)
        validate.probability(weight=weight)
        return replace(self, epsilons=tuple(map(max, self.epsilons, other.epsilons)))

    def nothing(self) -> Self:
        """Guarantee with infinite epsilon at every order."""
        return replace(self, epsilons=(math.inf,) * len(self.epsilons))

    def to_central(self, *, delta: float) -> CentralDP:
        """Implied (epsilon, delta), by the best order (Canonne, Kamath, Steinke 2020, Proposition 12).

        Raises:
            InvalidParameterError: if ``delta`` is not strictly between 0 and 1.
        """
        validate.open_probability(delta=delta)
        epsilons = [
            epsilon + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
            for order, epsilon in zip(self.orders, self.epsilons, strict=True)
        ]
        return CentralDP(epsilon=max(min(epsilons), 0.0), delta=delta, neighbors=self.neighbors)

    def text(self, relation: str) -> str:
        """Guarantee in one sentence for a non-specialist."""
        if self.is_trivial:
            return "Nothing is promised about what the released data reveals about one person."
        shown = ", ".join(
            f"{in_digits(epsilon, relation)} at order {order:g}"
            for order, epsilon in zip(self.orders, self.epsilons, strict=True)
        )
        return (
            f"Whatever one person answered, the released data would have come out with nearly the same probability: "
            f"replacing that answer by any other leads to a Renyi divergence of {relation} {shown}."
        )

    def _require_same(self, other: Any) -> None:
        if type(other) is not type(self) or (other.orders, other.neighbors) != (self.orders, self.neighbors):
            raise IncomparableError(f"guarantees must be of one type, orders and relation; got {self!r} and {other!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DSigmaPrivacy(Guarantee):
    """d_sigma-privacy: two orders of the same answers inside one group are hard to tell apart.

    Which answers a group holds may show; who of it holds which one does not: for inputs that differ by a permutation of
    one group's reports, Pr[view in O] <= exp(alpha) Pr'[view in O] + delta.

    Args:
        alpha: privacy loss in nats, 0 or more; infinity promises nothing.
        groups_digest: `shuffledp.Groups.digest` of the groups that it is about.
        delta: remainder, from 0 to 1.
        by_size: law of the loss of one release for the groups of about each size, from which several releases are added
            up group by group; empty if it is not known.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Definition 4.3.

    Example:
        >>> DSigmaPrivacy(alpha=0.5, groups_digest="c0ffee").implies(DSigmaPrivacy(alpha=1.0, groups_digest="c0ffee"))
        True
    """

    type: ClassVar[str] = "d-sigma"
    alpha: float
    groups_digest: str
    delta: float = 0.0
    neighbors: Neighbors = Neighbors.ORDERS_IN_GROUP
    by_size: tuple[OrderLaw, ...] = ()

    def __post_init__(self) -> None:
        validate.nonnegative(alpha=self.alpha)
        validate.probability(delta=self.delta)
        validate.one_of((Neighbors.ORDERS_IN_GROUP,), neighbors=self.neighbors)
        if self.by_size and not self.delta:
            largest = max(each.pure for each in self.by_size)
            if largest < self.alpha * (1 - _ROUNDING):
                raise validate.invalid(f"at most the largest loss by_size, {largest:.6g}", alpha=self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of all fields, without ``by_size`` if it is empty."""
        table = super(DSigmaPrivacy, self).to_dict()
        return {key: value for key, value in table.items() if value or key != "by_size"}

    @property
    def is_trivial(self) -> bool:
        """True if every mechanism has this guarantee."""
        return math.isinf(self.alpha) or self.delta == 1

    @property
    def weakness(self) -> str:
        """Warning of a large alpha, with the thresholds of epsilon, since alpha and epsilon bound log-odds."""
        return "" if self.is_trivial else weakness_of(self.alpha, "who of a group gave which answer")

    def implies(self, other: Guarantee) -> bool:
        """True if the other guarantee is trivial, or has the same groups and no smaller alpha or delta."""
        if not isinstance(other, DSigmaPrivacy) or other.is_trivial:
            return other.is_trivial
        return self.groups_digest == other.groups_digest and self.alpha <= other.alpha and self.delta <= other.delta

    def compose(self, other: Self) -> Self:
        """Sums of alphas and of deltas (Meehan et al. 2022, Section A.2), rounded up."""
        self._require_same(other)
        alpha, delta = (sum_rounded_up(*pair) for pair in ((self.alpha, other.alpha), (self.delta, other.delta)))
        return replace(self, alpha=alpha, delta=min(1.0, delta), by_size=())

    def mix(self, other: Self, weight: float) -> Self:
        """Guarantee of a mixture: larger alpha of both, average delta rounded up (Meehan et al. 2022, Lemma 2).

        The last line of the lemma lacks exp(alpha).
        """
        self._require_same(other)
        validate.probability(weight=weight)
        delta = sum_rounded_up(self.delta, other.delta, shares=(Fraction(weight), 1 - Fraction(weight)))
        return replace(self, alpha=max(self.alpha, other.alpha), delta=delta, by_size=())

    def nothing(self) -> Self:
        """Guarantee with infinite alpha."""
        return replace(self, alpha=math.inf, delta=0.0, by_size=())

    def text(self, relation: str) -> str:
        """Guarantee in one sentence for a non-specialist."""
        if self.is_trivial:
            return "Not private: nothing is promised about who of a group gave which of the group's answers."
        remainder = f", apart from a remainder of {in_digits(self.delta, relation)} (delta)" if self.delta else ""
        factor, alpha = factor_in_digits(self.alpha, relation), in_digits(self.alpha, relation)
        seen, up_to = _SEEN.get(relation, "anything"), _FACTORS.get(relation, relation)
        hides = "" if self.weakness else ": this hides who said what"
        return (
            f"Letting the answers of one group change hands inside it changes the probability of {seen} seen in the "
            f"released data by a factor of {up_to} {factor} (alpha = {alpha}){remainder}{hides}."
        )

    def text_of_sum(self, relation: str) -> str:
        """Guarantee in one sentence for all columns or releases that the people of a group answered."""
        return self.text(relation).replace("the released data", "all the released data together")

    def _require_same(self, other: Any) -> None:
        if type(other) is not type(self) or self.groups_digest != other.groups_digest:
            raise IncomparableError(f"guarantees must be of one type and about equal groups; got {self!r}, {other!r}.")
