"""Parallel shuffling: a user's messages go through several shuffles, independent of each other."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.core.shuffle_models import LabelMeaning, ShuffleModel, SwapWindows
from shuffledp.core.statement_terms import Trust
from shuffledp.core.table import Table
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel, ImperfectShuffler
from shuffledp.randomness.sources import RandomSource, resolve_source
from shuffledp.shufflers.uniform import UniformShuffler


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelShuffleModel(ShuffleModel):
    """Public description of several independent shuffle rounds with equally many messages of each person.

    Args:
        round: the shuffle of one round: a uniform or an imperfect one.
        num_rounds: 1 or more.
    """

    kind: ClassVar[str] = "parallel"
    round: ShuffleModel
    num_rounds: int = field()

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_rounds=self.num_rounds)
        validate.instance_of(ShuffleModel, round=self.round)
        several = self.round.num_rounds != 1 or isinstance(self.round, ParallelShuffleModel)
        if self.round.imperfection is None or several:
            raise validate.invalid("one shuffle whose imperfection is known", round=self.round.kind)

    @property
    def num_users(self) -> int:  # type: ignore[override]
        """Number of users in each round."""
        return self.round.num_users

    @property
    def in_words(self) -> str:
        """Name of the shuffle, with the number of rounds."""
        return self.round.in_words if self.num_rounds == 1 else f"{self.num_rounds} separate {self.round.kind} shuffles"

    @property
    def passage(self) -> str:
        """Words for the way of the reports, with the number of parallel rounds if there are several."""
        several = f"through {self.num_rounds:,} {self.round.kind} rounds side by side"
        return self.round.passage if self.num_rounds == 1 else several

    @property
    def labels(self) -> LabelMeaning:  # type: ignore[override]
        """Meaning of labels: the round, or the round and place where rounds have labels."""
        return LabelMeaning.ROUND if self.round.labels is LabelMeaning.NONE else LabelMeaning.POSITION

    @property
    def num_labels(self) -> int:
        """Number of labels: one for each round, or for each place in each round."""
        return self.num_rounds * (1 if self.labels is LabelMeaning.ROUND else self.round.num_labels)

    @property
    def messages_per_round(self) -> int:  # type: ignore[override]
        """Number of messages of each user in a round whose order is visible."""
        return self.round.messages_per_round

    @property
    def is_uniform(self) -> bool:
        """Whether the shuffle is uniform: True for a single uniform round only.

        With several rounds, the round of a message is visible.
        """
        return self.num_rounds == 1 and self.round.is_uniform

    @property
    def imperfection(self) -> float | None:
        """Imperfection of one round."""
        return self.round.imperfection

    def swap_windows(self) -> tuple[SwapWindows, ...]:
        """Swap windows of a single round; none for several rounds.

        They do not cover several messages of one person.
        """
        return self.round.swap_windows() if self.num_rounds == 1 else ()

    @property
    def num_honest(self) -> int:
        """Number of people counted as honest in each round."""
        return self.round.num_honest

    def of_people(self, num_users: int) -> Self:
        """Model of these rounds with this number of people."""
        return replace(self, round=self.round.of_people(num_users))

    def counting(self, num_honest: int) -> Self:
        """Model of these rounds with ``num_honest`` people counted in each."""
        return replace(self, round=self.round.counting(num_honest))

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Trust assumptions of one round."""
        return self.round.trust

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the assumptions of each round, and on the rounds' independence."""
        independent = (
            f"The {self.num_rounds} rounds are assumed to be shuffled independently of each other and of the answers.",
        )
        return (*self.round.remarks, *(independent if self.num_rounds > 1 else ()))


@dataclass(frozen=True)
class ParallelShuffler:
    """Shuffler by rounds: the first messages of all users, then their second messages, and so on.

    Each round has fresh randomness.

    Guarantees:
        1. The orders of different rounds are independent.
        2. Which round a message was in is seen; of imperfect rounds also its place in it, and nothing else.
        3. Public columns are not in the view.
        4. Where reports name their rounds, each round holds as many of each person; other reports are refused.

    Args:
        shuffler: a uniform or an imperfect one, for one round.
        num_rounds: 1 or more.
        messages_per_round: how many of a user's messages each round takes, in their order; then the round is a buffer
            in which nothing tells them apart.

    Raises:
        InvalidParameterError: if an argument is something else.

    Example:
        >>> from shuffledp import UniformShuffler
        >>> ParallelShuffler(UniformShuffler(), 3).model(10).num_rounds
        3
    """

    shuffler: UniformShuffler | ImperfectShuffler
    num_rounds: int
    messages_per_round: int = 1

    def __post_init__(self) -> None:
        validate.instance_of((UniformShuffler, ImperfectShuffler), shuffler=self.shuffler)
        validate.integer_at_least(1, num_rounds=self.num_rounds, messages_per_round=self.messages_per_round)

    def model(self, num_users: int) -> ParallelShuffleModel:
        """Public description for this number of users."""
        one: ShuffleModel = self.shuffler.model(num_users)
        if isinstance(one, ImperfectShuffleModel):
            one = replace(one, messages_per_round=self.messages_per_round)
        return ParallelShuffleModel(round=one, num_rounds=self.num_rounds)

    def shuffle(
        self,
        reports: Reports,
        *,
        public: Table | None = None,  # noqa: ARG002 (detached: guarantee 3)
        source: RandomSource | None = None,
    ) -> View:
        """View of all rounds.

        Args:
            reports: one row per message, those of one person after each other, and by rounds among these.
            public: ignored.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: without reports, for people with unequal numbers of them, or for a wrong round.
            UnsupportedModelError: if people do not send as many messages as all rounds take.
        """
        each, messages = self.messages_per_round, self.num_rounds * self.messages_per_round
        if reports.model.num_messages != messages:
            several = f" of messages_per_round={each}" if each > 1 else ""
            raise UnsupportedModelError(
                f"parallel shuffling needs a round for each message; {reports.model.kind!r} sends num_messages="
                f"{reports.model.num_messages}, and there are num_rounds={self.num_rounds}{several}."
            )
        model, source = self.model(reports.num_users), resolve_source(source)
        wrong = reports.misplaced()
        if wrong is not None:
            raise InvalidParameterError(
                f"reports must be those of one person after another, {'one' if each == 1 else each} for each of "
                f"{self.num_rounds} rounds in their order; row {wrong} is the first for another round."
            )
        rounds = (reports.take(rows) for rows in self._rows(len(reports)))
        if isinstance(self.shuffler, UniformShuffler):  # the view permutes each round by itself
            labels = np.repeat(np.arange(self.num_rounds), model.num_users * each)
            return View(reports=Reports.concat(list(rounds)), labels=labels, shuffle=model, source=source)
        one = self.shuffler.of_messages(each)
        ordered = [part.take(one.draw(len(part), source=source)) for part in rounds]
        return View(reports=Reports.concat(ordered), labels=np.arange(model.num_labels), shuffle=model, source=source)

    def _rows(self, rows: int) -> Iterator[slice | NDArray[np.int64]]:
        """Row indices of the messages of each round."""
        if self.messages_per_round == 1:
            yield from (slice(number, None, self.num_rounds) for number in range(self.num_rounds))
            return
        of_people = np.arange(rows, dtype=np.int64).reshape(-1, self.num_rounds, self.messages_per_round)
        yield from (of_people[:, number].ravel() for number in range(self.num_rounds))
