"""Totals over people: common base of the analyzers of sums and means."""

from dataclasses import dataclass

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.sum_models import SumModel
from shuffledp.core.validate import invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalAnalyzer:
    """Base of analyzers of a sum or a mean, with the coverage of intervals.

    Args:
        statistic: "sum" or "mean".
        level: coverage of the intervals, strictly between 0 and 1.
    """

    statistic: str = "sum"
    level: float = 0.95

    def __post_init__(self) -> None:
        validate.one_of(("sum", "mean"), statistic=self.statistic)
        validate.open_probability(level=self.level)

    def unit(self, people: int) -> int:
        """Divisor of a sum over these people: their number for a mean, else 1."""
        return people if self.statistic == "mean" else 1

    def possible(self, model: SumModel, people: int) -> tuple[float, float]:
        """Least and largest sum or mean of these people's answers, all in the model's range; intervals end there."""
        count = people / self.unit(people)
        return count * model.lower, count * model.upper


def people_of(model: SumModel, num_reports: int) -> int:
    """Number of people who sent these messages, if all people send equally many messages.

    Raises:
        InvalidParameterError: if there is none, they do not have equally many, or more came than were planned.
    """
    if num_reports == 0:
        raise invalid("a summary of one report or more", num_reports=0)
    people = model.num_users_of(num_reports)
    if people > model.num_users:
        raise InvalidParameterError(f"people must be at most num_users={model.num_users}; got {people}.")
    return people
