"""Keys ``by`` and ``weight`` of a task: a uniform shuffle inside strata of these public columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.described import ELSEWHERE, decode
from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError
from shuffledp.core.estimates import Estimate
from shuffledp.core.flow import Analyzer, Progress, Shuffler, View
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.table import Table
from shuffledp.core.text import count_of, plural, printable
from shuffledp.core.validate import invalid
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.protocols.strata.analyzers.post_stratification import StratifiedAnalyzer, StratifiedEstimate
from shuffledp.protocols.strata.people.strata import WEIGHT_CLASSES, Strata, design_effect
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffleModel, StratifiedShuffler
from shuffledp.survey.questions.question import Question
from shuffledp.survey.section import some_text
from shuffledp.survey.shuffle_result import ShuffleResult
from shuffledp.survey.shuffler_section import MadeFrom, ShufflerSection

if TYPE_CHECKING:
    from shuffledp.survey.columns import Column

_CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedSection(ShufflerSection):
    """Table ``[shuffler]`` of a uniform shuffle inside strata, for a task with ``by``, ``weight`` or both."""

    needs_strata: ClassVar[bool] = True
    in_words: ClassVar[str] = "a uniform shuffle inside strata"
    by: str | None = field(default=None, metadata=ELSEWHERE)
    weight: str | None = field(default=None, metadata=ELSEWHERE)
    weight_classes: int = field(default=WEIGHT_CLASSES, metadata=ELSEWHERE)

    def __post_init__(self) -> None:
        for name in ("by", "weight"):
            if getattr(self, name) is not None:
                some_text(**{name: getattr(self, name)})
        validate.integer_at_least(2, weight_classes=self.weight_classes)
        if self.by is not None and self.by == self.weight:
            raise invalid("another column than weight", by=self.by)

    @property
    def beside(self) -> dict[str, Any]:
        """Keys ``by`` and ``weight`` if given, and ``weight_classes`` if it differs from its default."""
        classes = {} if self.weight_classes == WEIGHT_CLASSES else {"weight_classes": self.weight_classes}
        return {key: getattr(self, key) for key in self.keys} | classes

    @property
    def made_from(self) -> MadeFrom:
        """Public columns that strata are made from: labels of regions, and weights."""
        labels, weights = (tuple(filter(None, [name])) for name in (self.by, self.weight))
        return MadeFrom(what="strata", labels=labels, weights=weights)

    @property
    def is_weighted(self) -> bool:
        """Whether people count by weights."""
        return self.weight is not None

    def check(self, column: "Column") -> None:
        """Refuse strata from non-public columns, or beside messages that add up over all strata."""
        if {*column.inputs, column.people.id}.intersection(self.made_from.columns):
            raise InvalidParameterError(
                "by and weight must be public columns, other than the private one and people.id; got "
                f"{', '.join(map(repr, self.made_from.columns))}."
            )
        if column.randomizer.key != Question.key:
            raise InvalidParameterError(
                f"{' and '.join(self.keys)} must be left out beside [{column.randomizer.key}], whose messages only add "
                "up over everybody together."
            )

    def fewest_together(self, public: Mapping[str, NDArray[Any]]) -> int | None:
        """Number of people in the smallest region; None without regions."""
        return None if self.by is None else int(np.unique(public[self.by], return_counts=True)[1].min())

    def attached(self, public: tuple[str, ...]) -> tuple[str, ...]:
        """Public columns for the shuffler: only the columns of strata."""
        del public
        return self.made_from.columns

    def detached(self, public: tuple[str, ...]) -> tuple[str, ...]:
        """All public columns that strata are not made from."""
        return tuple(column for column in public if column not in self.made_from.columns)

    def shuffler(self, grouping: object = None) -> StratifiedShuffler:
        """Shuffler for these strata; refused without strata."""
        if not isinstance(grouping, Strata):
            raise InvalidParameterError(
                f"strata must be given for a task with {' and '.join(self.keys)}: they are made from the input. "
                "`shuffledp plan TASK.toml --input FILE` says what to expect."
            )
        return StratifiedShuffler(grouping)

    def shuffler_for(
        self, column: "Column", around: Any = None, *, num_users: int | None = None, progress: Progress | None = None
    ) -> StratifiedShuffler:
        """Shuffler inside these strata; if unknown, with the smallest allowed stratum."""
        del progress
        if around is None and num_users is not None:
            return self.at_worst(num_users, column.release.minimum_batch)
        return self.shuffler(around)

    def require_planned(self, column: "Column", num_users: int, around: Any = None) -> None:
        """Refuse planned strata if a stratum has fewer people than the smallest batch."""
        if isinstance(around, Strata):
            shuffle = self.shuffler(around).model(num_users)
            self.require_batch(shuffle, around.table, column, planned=True)

    def family_plan(
        self, column: "Column", around: Any, shuffler: Shuffler, *, progress: Progress | None = None
    ) -> "StrataPlan":
        """Plan of the strata, or of the smallest possible stratum if they are unknown."""
        del column, progress
        return StrataPlan.of(cast(StratifiedShuffler, shuffler), known=around is not None)

    def strata(self, public: Table) -> Strata:
        """The strata of the people with these public columns."""
        return Strata.of(public.columns, by=self.by, weight=self.weight, weight_classes=self.weight_classes)

    def at_worst(self, num_users: int, least: int) -> StratifiedShuffler:
        """Stratified shuffler with the fewest people allowed in its smallest stratum."""
        smallest = np.arange(num_users) < (least if num_users >= 2 * least else num_users)
        return StratifiedShuffler(Strata.of({"stratum": smallest}, by="stratum"))

    def analyzer(self, analyzer: Analyzer[Any]) -> StratifiedAnalyzer:
        """Analyzer of all people and of each region, from a stratum's analyzer."""
        return StratifiedAnalyzer(analyzer=analyzer, by=self.by, weight=self.weight)

    def divided(self, column: "Column", whole: View, estimate: Estimate) -> "tuple[Estimate, StratifiedResult | None]":
        """Estimate for all people, and the results by region."""
        found = cast(StratifiedEstimate, estimate)
        return found.everybody, StratifiedResult.of(column, whole, found.regions)

    def could_have_made(self, view: View) -> bool:
        """Whether the view has the described number of reports in each stratum, and a fitting table."""
        shuffle, table = view.shuffle, view.label_table
        if not isinstance(shuffle, StratifiedShuffleModel) or view.labels is None or table is None:
            return False
        sizes = np.bincount(view.labels, minlength=shuffle.num_labels)
        if tuple(table) != self.made_from.columns or shuffle.num_colluding or tuple(sizes.tolist()) != shuffle.sizes:
            return False
        regions = table[self.by] if self.by else np.zeros(len(table))
        classes, effect, most = np.unique(regions, return_counts=True)[1], 1.0, 1
        if self.weight is not None:
            weights, most = table[self.weight], self.weight_classes
            if weights.dtype.kind != "f" or not (np.isfinite(weights) & (weights > 0)).all():
                return False
            effect = design_effect(sizes, weights)
        return bool(classes.max() <= most and abs(shuffle.design_effect - effect) <= _CLOSE * effect)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys ``by`` and ``weight`` that are given."""
        return tuple(name for name in ("by", "weight") if getattr(self, name) is not None)

    @property
    def words(self) -> str:
        """Name of a stratum: "place", "class of PWGTP", "place and class of PWGTP"."""
        weight = None if self.weight is None else f"class of {printable(self.weight)}"
        return " and ".join(filter(None, (self.by and printable(self.by), weight)))

    def require_batch(
        self, shuffle: ShuffleModel, table: Table | None, column: "Column", *, planned: bool = False
    ) -> None:
        """Refuse a release if any stratum has fewer people than the smallest batch.

        The message says how many have, the smallest, and what to do; sizes are public.

        Args:
            shuffle: the description, with the people in each stratum.
            table: what is public of each.
            column: the private column.
            planned: whether nobody has answered yet.

        Raises:
            BatchTooSmallError: if one has.
        """
        least = column.release.minimum_batch
        sizes = shuffle.sizes if isinstance(shuffle, StratifiedShuffleModel) else ()
        few = sum(size < least for size in sizes)
        if not few:
            return
        smallest = int(np.argmin(sizes))
        where = (
            ""
            if self.by is None or table is None
            else f" (in {printable(self.by)} {printable(str(table[self.by][smallest]))!r})"
        )
        ways = [f"join regions in {self.by!r}"] * (self.by is not None)
        if self.weight is not None and self.weight_classes > 2:
            ways.append(f"take fewer weight_classes than {self.weight_classes}")
        ways.append("lower minimum_batch")
        strata, have = count_of(len(sizes), "stratum", "strata"), plural(few, "has", "have")
        advice = " or ".join(filter(None, (", ".join(ways[:-1]), ways[-1])))
        raise BatchTooSmallError(
            f"a release needs at least minimum_batch = {least} reports in each stratum of column "
            f"{column.value!r} ({self.words}); {few:,} of {strata} {have} fewer, the smallest "
            f"{sizes[smallest]}{where}. Nothing {'would be' if planned else 'was'} released: {advice}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StrataPlan(FamilyPlan):
    """Plan of the strata, or of the smallest possible stratum if only the task is known.

    Args:
        smallest: people of the smallest stratum, the fewest with whom anything is released if only the task is known.
        largest: people of the largest.
        num_strata: how many there are.
        fewest: people of the smallest region.
        design_effect: factor by which weights multiply variances.
        rounding: share of all weight that rounding moves, at most.
    """

    key: ClassVar[str] = "strata"
    smallest: int
    largest: int | None = None
    num_strata: int | None = None
    fewest: int | None = None
    design_effect: float | None = None
    rounding: float | None = None

    @classmethod
    def of(cls, shuffler: StratifiedShuffler, *, known: bool) -> Self:
        """Plan of a shuffler inside the strata of an input, or inside the smallest possible stratum."""
        strata = shuffler.strata
        if not known:
            return cls(smallest=min(strata.sizes))
        return cls(
            smallest=min(strata.sizes),
            largest=max(strata.sizes),
            num_strata=len(strata.sizes),
            fewest=int(_people(strata.table, strata.by, strata.sizes).min()),
            design_effect=strata.design_effect,
            rounding=strata.rounding,
        )


def _people(table: Table, by: str | None, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Number of people in each region, in the order of names; without regions, number of all people."""
    regions = np.zeros(len(table)) if by is None else table[by]
    _, region = np.unique(regions, return_inverse=True)
    return np.bincount(region, weights=sizes).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StratifiedResult(ShuffleResult):
    """Results by region after a shuffle inside strata.

    Args:
        estimate: one row per region and target, with ``where``, the regions in the order of their names; None without.
        sizes: people in each stratum.
        table: what is public of each stratum: its region, and the weight of everybody in it.
        section: the keys of the task that say which columns these are.
    """

    estimate: Estimate | None
    sizes: tuple[int, ...]
    table: Table
    section: StratifiedSection

    @classmethod
    def of(cls, column: "Column", view: View, regions: Estimate | None) -> Self:
        """The strata of a view, with the estimates of regions."""
        shuffle, section = cast(StratifiedShuffleModel, view.shuffle), cast(StratifiedSection, column.shuffler)
        return cls(estimate=regions, sizes=shuffle.sizes, table=cast(Table, view.label_table), section=section)

    @property
    def regions(self) -> Estimate | None:
        """Estimates by region."""
        return self.estimate

    @property
    def people(self) -> NDArray[np.int64]:
        """Number of people in each region, in the order of the estimates."""
        return _people(self.table, self.section.by, self.sizes)

    def written(self, *, seeded: bool) -> dict[str, Any]:
        """List of the strata, which are public."""
        del seeded
        return {"strata": self.to_dict()}

    def to_dict(self) -> list[dict[str, Any]]:
        """The strata in the order of the labels: public values and number of people of each."""
        columns = [self.table[name].tolist() for name in self.section.made_from.columns]
        rows = zip(self.sizes, *columns, strict=True)
        return [
            {"people": size, "where": dict(zip(self.section.made_from.columns, row, strict=True))}
            for size, *row in rows
        ]


def inside_strata(
    section: ShufflerSection, by: Any = None, weight: Any = None, weight_classes: Any = WEIGHT_CLASSES
) -> ShufflerSection:
    """Section of a task with these keys; ``section`` itself without ``by`` and ``weight``.

    Raises:
        InvalidParameterError: for a key of the wrong type, another shuffle than the uniform one, or classes of no
            weight.
    """
    by, weight = decode(str | None, by, "by"), decode(str | None, weight, "weight")
    weight_classes = decode(int, weight_classes, "weight_classes")
    if weight is None and weight_classes != WEIGHT_CLASSES:
        raise invalid("left out without weight", weight_classes=weight_classes)
    if by is None and weight is None:
        return section
    if not section.is_uniform:
        raise InvalidParameterError(
            f"{'weight' if by is None else 'by'} must be left out beside [shuffler] kind = {section.kind!r}: it "
            "asks for a uniform shuffle inside each stratum, of which no other kind is worked out."
        )
    return StratifiedSection(by=by, weight=weight, weight_classes=weight_classes)


StratifiedSection.kind = "uniform"  # set here, so that no registry takes it for the kind itself
