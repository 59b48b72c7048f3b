"""Plan of a response hidden under a blanket of random messages, in words: messages needed for each loss."""

from collections.abc import Iterable
from dataclasses import dataclass

from shuffledp.core.text import in_digits
from shuffledp.documents.blocks import Block, Column, Table, Text
from shuffledp.documents.plans.column_plan_document import ColumnPlanDocument
from shuffledp.planning.blanket_plan import BlanketOption, BlanketPlan


@dataclass(frozen=True, slots=True)
class BlanketPlanDocument(ColumnPlanDocument):
    """Words about the plan of a column whose blanket of random messages is used, or only recommended."""

    def further(self) -> Iterable[Block]:
        """Blocks with the messages that each loss needs, or with the better way of asking."""
        plan = self.column.of_question
        if not isinstance(plan, BlanketPlan):
            return
        if plan.is_better:
            yield Text(_better(plan.options[0], self.chosen.error.standard_error))
            return
        rows = tuple(
            (in_digits(each.epsilon, "at most"), f"{each.blanket_messages:.3g}", f"{each.standard_error:.3g}")
            for each in plan.options
        )
        heads = (Column("epsilon"), Column("blanket_messages"), Column("error"))
        yield Table("Messages that losses need", heads, rows, titled=True)

    def advice(self) -> Text:
        """Advice to state the number of fake people; or, for a task without a blanket, on other randomizers."""
        plan = self.column.of_question
        if isinstance(plan, BlanketPlan) and not plan.is_better:
            return Text("All that is promised of the release rests on other people's messages: say how many are fake.")
        return super(BlanketPlanDocument, self).advice()


def _better(option: BlanketOption, standard_error: float) -> str:
    """Sentence on a blanket that errs less, and on the messages that it costs."""
    return (
        f'At the same epsilon, kind = "k-rr" with blanket = true, epsilon0 = {option.epsilon0:.3g} and '
        f"blanket_messages = {option.blanket_messages:.3g} would have a standard error of {option.standard_error:.3g}, "
        f"{standard_error / option.standard_error:.3g} times less: everybody sends so many messages more, which say "
        "nothing and hide others. Then the promise rests on other people's messages."
    )
