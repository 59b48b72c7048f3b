"""Two uniform shuffles one after the other, by two operators: together they are a uniform one."""

from dataclasses import dataclass
from typing import ClassVar

from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.closed_forms import ClosedFormFMT23
from shuffledp.accounting.theorems.reductions import uniform_model
from shuffledp.core import validate
from shuffledp.core.flow import Reports, View
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import LabelMeaning, ShuffleModel
from shuffledp.core.statement_terms import Basis, Hypothesis, Kind, Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Table
from shuffledp.randomness.sources import RandomSource


@dataclass(frozen=True, slots=True, kw_only=True)
class TwiceShuffleModel(ShuffleModel):
    """Public description of two shuffles, which says of itself nothing that the kernel's theorems could use."""

    kind: ClassVar[str] = "twice"
    labels: ClassVar[LabelMeaning] = LabelMeaning.NONE
    num_users: int

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users)


class TwiceShuffler:
    """Shuffler that gives its view of the reports to a second one."""

    def model(self, num_users: int) -> TwiceShuffleModel:
        return TwiceShuffleModel(num_users=num_users)

    def shuffle(
        self,
        reports: Reports,
        *,
        public: Table | None = None,  # noqa: ARG002 (detached, as by a uniform shuffle)
        source: RandomSource | None = None,
    ) -> View:
        model = self.model(reports.num_users)
        first = View(reports=reports, shuffle=model, source=source)
        return View(reports=first.reports, shuffle=model, source=source)


class TwiceIsOnce(Theorem):
    """Bound for two shuffles: that of one uniform shuffle."""

    id = "toy-twice-is-once"
    citation = "a uniform shuffle of shuffled reports is a uniform shuffle (Feldman et al. 2023)"
    _once = ClosedFormFMT23()

    def concerns(self, model: ProtocolModel) -> bool:
        return super().concerns(model) and model.shuffle.kind == "twice"

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        is_twice = model.shuffle.kind == "twice"
        twice = Hypothesis("shuffled-twice", "two uniform shuffles", model.shuffle.kind, is_twice)
        return (
            twice,
            *(self._once.hypotheses(uniform_model(model, model.shuffle.num_users), delta=delta) if is_twice else ()),
        )

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        return self._once.epsilon(_once(model), delta=delta)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        return self._once.delta(_once(model), epsilon=epsilon)


def _once(model: ProtocolModel) -> ProtocolModel:
    return uniform_model(model, model.shuffle.num_users)


def order_of_twice(model: ProtocolModel) -> PrivacyStatement | None:
    """Statement that no order inside groups leaks; None for shuffles of other families."""
    if model.shuffle.kind != "twice":
        return None
    return PrivacyStatement(
        guarantee=DSigmaPrivacy(alpha=0.0, groups_digest="0" * 64),
        kind=Kind.UPPER_BOUND,
        basis=Basis(theorem="toy-order-of-twice", citation="every order is equally likely"),
        trust=(Trust.OWN_DEVICE,),
    )


def twice_shufflers() -> int:
    """Fewest operators whose shuffles make up the shuffle of this family."""
    return 2
