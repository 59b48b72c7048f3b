"""Sums of vectors in a task file: the table ``[protocol]`` of kind "vector-sum", and its plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.described import ELSEWHERE
from shuffledp.protocols.shares.planning.calibrated_vectors import vector_sum
from shuffledp.protocols.shares.randomizers.hosts import Hosts
from shuffledp.protocols.shares.randomizers.vector_sum import VectorSum, check_norm, lengths_of
from shuffledp.protocols.shares.survey.protocol_section import HostedPlan, HostedSection
from shuffledp.randomizers.families import Mechanism
from shuffledp.survey.questions.question import AnswerColumns, Question, Read
from shuffledp.survey.section import Circumstances, OutOfRange

if TYPE_CHECKING:
    from shuffledp.core.local_models import ProtocolModel

_TOLERANCE = 1e-9  # relative excess of a length over its bound that is accepted
_USUAL_DIMENSION = 10  # of the planner, where it does not ask


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSumPlan(HostedPlan):
    """Plan of a sum of vectors before a collection.

    Args:
        dimension: coordinates.
        block: coordinates that are moved together.
        num_shares: messages for each block.
        num_messages: messages of each person, in each release.
        modulus: what residues are added by.
        residue_bytes: bytes of one person's residues in a release.
        sent_bytes: bytes of one person's messages in a release, each sealed by itself.
        releases: sums that the guarantee is about.
        least_people: with fewer nothing is released, since their noise is too little.
        central_error: standard error of a trusted curator for one coordinate, with the same epsilon and delta.
        hosts: of the shuffles; left out where there is one trusted host with a shuffle for each message.
    """

    key: ClassVar[str] = "protocol"
    dimension: int
    block: int
    num_shares: int
    num_messages: int
    modulus: int
    residue_bytes: int
    sent_bytes: int
    releases: int
    least_people: int
    central_error: float
    hosts: Hosts = field(default_factory=Hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSumSection(HostedSection):
    """Table ``[protocol]`` of vector sums: sums and means of vectors of bounded length.

    The task sets ``circumstances``.
    """

    kind: ClassVar[str] = "vector-sum"
    mechanism: ClassVar[type[Mechanism]] = VectorSum
    answers: ClassVar[str] = "vector"
    epsilon: float
    largest_norm: float
    dimension: int
    statistic: str = "mean"
    block: int = 1
    releases: int = 1
    dropout_fraction: float = 0.0
    out_of_range: OutOfRange = OutOfRange.REFUSE
    circumstances: Circumstances | None = field(default=None, repr=False, metadata=ELSEWHERE)

    def __post_init__(self) -> None:
        super(VectorSumSection, self).__post_init__()
        validate.integer_at_least(2, dimension=self.dimension)
        validate.integer_at_least(1, block=self.block, releases=self.releases)
        check_norm(self.largest_norm)
        self._check_hosts()

    def solved(self, *, num_users: int, imperfection: float, delta: float) -> VectorSum:
        """Randomizer with the fewest certified messages."""
        return vector_sum(
            num_users=num_users,
            epsilon=self.epsilon,
            delta=delta,
            largest_norm=self.largest_norm,
            dimension=self.dimension,
            imperfection=imperfection,
            dropout_fraction=self.dropout_fraction,
            block=self.block,
            releases=self.releases,
            hosts=self.spread,
            clip=self.clips,
        )

    @property
    def clips(self) -> bool:
        """Whether vectors that are too long are shortened."""
        return self.out_of_range is OutOfRange.CLIP

    @property
    def clipping(self) -> str:
        """A sentence about vectors that are too long."""
        return f"Lists of a length above {self.largest_norm:g} are shortened to it." if self.clips else ""

    def read(self, answers: AnswerColumns) -> Read:
        """Column of lists of finite numbers, of bounded length."""

        def fits(vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
            finite = np.asarray(np.isfinite(vectors).all(axis=1))
            short = lengths_of(vectors) <= self.largest_norm * (1 + _TOLERANCE)
            if not self.clips:
                return finite & short
            answers.clipped += int(np.count_nonzero(finite & ~short))
            return finite

        hint = "" if self.clips else f' (or write out_of_range = "clip" in the task\'s {self.title})'
        wanted = f"finite numbers of a Euclidean length of at most {self.largest_norm:g}{hint}"
        return answers.lists(0, self.dimension, "finite numbers" if self.clips else wanted, fits)

    @property
    def expected_values(self) -> str:
        """Assumption behind expected errors, in words: evenly spread vectors."""
        return f"each coordinate of lists spread evenly over all of a length up to {self.largest_norm:g}"

    @property
    def expected_spread(self) -> float:
        """Variance of a coordinate of the uniform law on a ball."""
        return self.largest_norm**2 / (self.dimension + 2)

    def alternatives(self) -> dict[str, type[Question]]:
        """Empty dictionary, since no other randomizer fits vectors of these lengths."""
        return {}

    @classmethod
    def planned(cls, epsilon0: float, numbers: Mapping[str, float]) -> dict[str, Any]:
        """Keys of the table for vectors of length 1, with enough noise even without the ``colluders``.

        The ``colluders`` are counted among all ``people``.
        """
        keys = super(VectorSumSection, cls).planned(epsilon0, {**numbers, "lower": 0, "upper": 1})
        del keys["lower"], keys["upper"]
        return {**keys, "largest_norm": 1.0, "dimension": int(numbers.get("dimension", _USUAL_DIMENSION))}

    def plan(self, protocol: "ProtocolModel", *, delta: float, alone: bool) -> VectorSumPlan:
        """Plan of a vector sum: messages and bytes per person, and the error beside a curator's."""
        del alone
        model = self.randomizer().model
        bare, sealed = model.sent_bytes
        return VectorSumPlan(
            dimension=model.dimension,
            block=model.block,
            num_shares=model.num_shares,
            num_messages=model.num_messages,
            modulus=model.modulus,
            residue_bytes=bare,
            sent_bytes=sealed,
            releases=model.releases,
            least_people=self.least_people + protocol.fakes,
            central_error=self.central_error(protocol, delta),
            hosts=self.spread,
        )

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the estimates: the numbers of the coordinates."""
        return tuple(str(coordinate) for coordinate in range(self.dimension))
