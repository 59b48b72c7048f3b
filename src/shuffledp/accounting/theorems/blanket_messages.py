"""Privacy loss of one true message among messages with uniform answers, by exact counts of two answers.

One message holds the answer x or y, on top of S messages with one of both from all blankets, each of which is x or y
with chance 1/2. So the number of x among S + 1 messages is 1 + Bin(S, 1/2) in one world, and Bin(S, 1/2) in the other;
all other counts have one law, and S is binomial (docs/proofs.md, "A blanket of messages"). That is the pair of clones
of a report that all but tells the answer, with slots in the place of people.
"""

from dataclasses import dataclass
from typing import cast

from shuffledp.accounting.evaluators.clone_counts import ClonePair
from shuffledp.accounting.theorem import EvaluatedTheorem, common_randomizer, not_adaptive, uniform_shuffle
from shuffledp.core.blanket_models import BlanketModel
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status, Trust
from shuffledp.core.table import Floats

TOLD = 700.0  # loss of a message that says the answer as it is: floats know no larger one
_MOST_DELTA = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenMessage:
    """Message of one person, hidden among other messages that hold one of two answers.

    ``truth`` is the chance that the message depends on the answer.
    """

    pair: ClonePair
    truth: float

    def epsilon(self, delta: float) -> float:
        """Least epsilon at which the delta of the hidden message is at most ``delta``."""
        return self.pair.epsilon(min(delta / self.truth, _MOST_DELTA))

    def delta(self, epsilon: float) -> float:
        """Delta of the hidden message at an epsilon of 0 or more."""
        return self.truth * self.pair.delta(epsilon)

    def curve(self, epsilons: Floats) -> Floats:
        """Deltas of the hidden message at many epsilons."""
        return self.truth * self.pair.curve(epsilons)


def hidden_message(local: BlanketModel, honest: int) -> HiddenMessage:
    """Message hidden among the messages of ``honest`` people, who fill their message slots as agreed."""
    k = local.domain_size
    pair = ClonePair(epsilon0=TOLD, chance=min(2 * local.filled / k, 1.0), users=local.slots * honest + 1)
    return HiddenMessage(pair=pair, truth=1 - k * local.q)


def _blanket(model: ProtocolModel) -> Hypothesis:
    local, value = model.local, f"{model.local.kind!r} reports"
    if isinstance(local, BlanketModel):
        each = local.blanket_messages * model.shuffle.num_honest / local.domain_size
        value = f"{each:.4g} on average with each answer, from {model.shuffle.num_honest} people"
    return Hypothesis(
        name="blanket-messages",
        requirement="messages with a uniform answer, of other people, that cannot be told from theirs",
        value=value,
        holds=isinstance(local, BlanketModel),
    )


class BlanketMessages(EvaluatedTheorem):
    """Exact curve of delta for one message among messages with uniform answers.

    It is that of a pair of laws, so that releases compose.
    """

    id = "blanket-messages"
    citation = "one message among independent messages with uniform answers: counts of two answers"
    status = Status.OWN_PROOF
    premises = (uniform_shuffle, common_randomizer, not_adaptive, _blanket)
    guard = 1e-9

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether people also send messages that do not depend on their answers."""
        return isinstance(model.local, BlanketModel)

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """Trust in other people's messages first, then the usual trust assumptions."""
        return (Trust.BLANKET, *super().trust(model))

    def evaluator(self, model: ProtocolModel) -> HiddenMessage:
        """Message hidden among the messages of the honest people."""
        return hidden_message(cast(BlanketModel, model.local), model.shuffle.num_honest)
