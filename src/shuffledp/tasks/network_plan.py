"""What walks along a graph do for a task, as values: what so many rounds give and cost, parts, risks."""

from dataclasses import dataclass

from shuffledp._described import Described
from shuffledp.tasks.network_rounds import MOST_SEARCHED

__all__ = ["AfterRounds", "NetworkPlan", "PartOfGraph", "PrintedFormula", "Risk", "Walked"]


_FEW = 10  # reports; an estimate from fewer says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterRounds(Described):
    """What so many rounds give, and what they cost.

    Args:
        rounds: how often every report is passed on.
        epsilon: what is guaranteed at the task's delta.
        theorem: by which theorem.
        messages: reports that a person is expected to pass on, on average over people.
        messages_most: the same of the person who passes on most.
        lacking: people expected to hold no report in the end; with "padded", reports expected to be lacking.
        exact: whether the law of everybody's position was worked out; else it is bounded by the spectral gap.
    """

    rounds: int
    epsilon: float
    theorem: str
    messages: float
    messages_most: float
    lacking: float
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOfGraph(Described):
    """People who can reach each other, which reports of others never do.

    Args:
        people: how many.
        edges: between them.
        is_bipartite: whether they have two sides.
        gap: "alpha" in papers, the laziness of the task included; None for several graphs.
        mixing_time: log(people) / gap, in rounds; None for several graphs.
        epsilon: what is guaranteed to each of them after the task's rounds.
        uniform: epsilon of a uniform shuffle of as many.
        fewest_rounds: the fewest rounds found that come within 5 % of that; None if none do, that gains nothing, or
            there are too many parts to look, or several graphs.
    """

    people: int
    edges: int
    is_bipartite: bool
    gap: float | None
    mixing_time: float | None
    epsilon: float
    uniform: float
    fewest_rounds: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk(Described):
    """What remains if people collude: no promise, but numbers to weigh.

    Args:
        share: of the people.
        exposure: the chance that a report is ever in the hands of one of them, at most, on average over who they are.
        delta_at_least: against this share of one's own neighbors, delta is at least that, whatever the theorem, at
            half of epsilon0; for the worst randomizer of that epsilon0.
    """

    share: float
    exposure: float
    delta_at_least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedFormula(Described):
    """What the paper prints for the task's rounds: to compare with, never a guarantee.

    Args:
        theorem: its number in Liew et al. 2022.
        epsilon: what the formula gives.
        delta: the remainder that goes with it.
        local_delta: for the version of the theorem for reports that are (epsilon0, delta0)-private, the largest delta0
            for which it claims that; 0 for the other version.
        flag: what is wrong with it.
    """

    theorem: str
    epsilon: float
    delta: float
    local_delta: float
    flag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan(Described):
    """What walks along a graph do for a task.

    Args:
        num_users: people.
        num_edges: of the first round's graph.
        num_graphs: graphs that follow each other.
        merged_edges: further mentions of edges, in either direction, that were merged.
        dropped_loops: edges from a person to the same that were left out.
        num_parts: parts that cannot reach each other, in whatever round.
        two_sides: whether the graph, or all graphs taken together, is bipartite and nobody is lazy, so that the number
            of rounds shows where a report may have begun.
        irregularity: "Gamma" in papers.
        protocol: what people hand in: "all", "single" or "padded".
        rounds: the task's.
        epsilon: what is guaranteed to everybody after them, by the weakest part.
        uniform: epsilon of a uniform shuffle of as many people.
        epsilon_of_all: what would be guaranteed if people handed in all that they hold; None where they do.
        surviving: reports that are expected not to be lost on their way.
        fewest_rounds: the fewest rounds found after which epsilon is at most 1.05 times that, or in each part at most
            1.05 times that of a uniform shuffle of its people; None if none are, or with more than 8 parts.
        mixing_time: log(people) / gap, in rounds, as papers recommend, of the slowest part; None for several graphs, or
            more than 64 parts.
        distance_rounds: the first round after which everybody's law is within a distance of 0.01 of the stationary one:
            at least and at most, of the slowest part; None for several graphs, or more than 64 parts, or if there is
            none.
        by_rounds: ascending; the task's rounds among them.
        parts: the largest first, at most 64 of them.
        risks: if people collude, the task's own share of them first.
        printed: the paper's formulas; empty for several graphs or in parts.
    """

    num_users: int
    num_edges: int
    num_graphs: int
    merged_edges: int
    dropped_loops: int
    num_parts: int
    two_sides: bool
    irregularity: float
    protocol: str
    rounds: int
    epsilon: float
    uniform: float
    epsilon_of_all: float | None
    surviving: float
    fewest_rounds: int | None
    mixing_time: float | None
    distance_rounds: tuple[int, ...] | None
    by_rounds: tuple[AfterRounds, ...]
    parts: tuple[PartOfGraph, ...]
    risks: tuple[Risk, ...]
    printed: tuple[PrintedFormula, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before anything is collected that way; empty if there is nothing."""
        found = []
        if self.rounds == 0:
            found.append("rounds = 0: every report is handed in by its sender, and only epsilon0 holds.")
        elif self.two_sides:
            found.append(
                "The graph is bipartite and nobody is lazy: the number of rounds shows on which side a report began. "
                "laziness = 0.1 mixes the sides."
            )
        if self.num_parts > 1:
            found.append(
                f"The graph is in {self.num_parts:,} parts that no report leaves: everybody hides among those of "
                f"their own part, and the guarantee is {'that of the weakest' if self.parts else 'of no part alone'}."
            )
        if self.surviving < _FEW and self.surviving < self.num_users:
            found.append(
                f"Of {self.num_users:,} reports {self.surviving:.2g} are expected not to get lost on their way: next "
                "to nothing can be estimated, and nothing is released if none is left."
            )
        return tuple(found)

    @property
    def why_not_searched(self) -> str:
        """Why the fewest rounds were not looked for; empty if they were, as far as parts go."""
        if self.fewest_rounds is not None or self.two_sides or self.num_parts <= MOST_SEARCHED:
            return ""
        return f"in more than {MOST_SEARCHED} parts they are not looked for"

    @property
    def all_is_better(self) -> bool:
        """Whether handing in all reports would guarantee no less; it loses none, and needs no dummies."""
        return self.epsilon_of_all is not None and self.epsilon_of_all <= self.epsilon

    @property
    def own(self) -> AfterRounds:
        """What the task's rounds give and cost."""
        return next(each for each in self.by_rounds if each.rounds == self.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What came of walks along a graph.

    Args:
        plan: what there was to expect.
        held: how many people handed in no report, one, two and so on; dummies count.
    """

    plan: NetworkPlan
    held: tuple[int, ...]
