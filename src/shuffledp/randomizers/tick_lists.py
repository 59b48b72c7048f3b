"""Ticks on a list of options: their forms, a limit per person, and the base of randomizers."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.text import alike
from shuffledp.core.tick_models import TicksModel
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import Columns, Mechanism
from shuffledp.randomness.sources import RandomSource, resolve_source

Ticks = NDArray[np.bool_]


class TickRandomizer(Mechanism):
    """Base of randomizers of ticked options, solved from the loss of one message.

    Guarantees:
        1. What a person sends depends on at most ``at_most`` ticks: of more ticks so many are kept, every choice of
           them equally likely, before anything is randomized. Everything is promised to whoever's device does that.

    Args:
        epsilon0: local loss of one message, in nats.
        at_most: ticks of a person that are kept, from 1 to the number of options.
        num_options: number of options; people then give truth values, one for each.
        options: the options themselves, in place of their number; people then give lists of them.
    """

    answers: ClassVar[str] = "multi-select"
    shown: ClassVar[tuple[str, ...]] = ("epsilon0", "num_options", "at_most")
    model: TicksModel
    options: tuple[str, ...] | None = None

    def __init__(
        self, *, epsilon0: float, at_most: int, num_options: int | None = None, options: Iterable[str] | None = None
    ) -> None:
        if (num_options is None) is (options is None):
            found = "neither" if options is None else "both"
            raise InvalidParameterError(f"num_options must be given, or else the options themselves; got {found}.")
        if options is not None:
            self.options = check_options(tuple(options))
            num_options = len(self.options)
        self.model = self.model_type.from_epsilon0(epsilon0=epsilon0, num_options=num_options, at_most=at_most)

    @property
    def answer_names(self) -> tuple[str, ...] | None:
        """Options in the order of their numbers; None if people give truth values."""
        return self.options

    @property
    def in_numbers(self) -> Self:
        """Randomizer of the same model that takes truth values."""
        randomizer = copy(self)
        randomizer.options = None
        return randomizer

    def randomize(self, values: ArrayLike, *, source: RandomSource | None = None) -> Reports:
        """Reports on the ticks of each person; the reports of one person follow each other.

        Args:
            values: truth values (or 0 and 1), shape (n, num_options); or a list of the ticked options of each person.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if a value is something else; the message gives places only.
        """
        source = resolve_source(source)
        ticks = as_ticks(values, self.model.num_options, self.options)
        return self._reports(self._randomized(kept_ticks(ticks, self.model.at_most, source), source), source)

    @abstractmethod
    def _randomized(self, ticks: Ticks, source: RandomSource) -> Columns:
        """Report columns for ticks, at most ``at_most`` ticks for each person."""


def check_options(options: tuple[str, ...], *, separator: str = "") -> tuple[str, ...]:
    """Options, after a check that they are different lines of text without the separator of lists."""
    for option in options:
        validate.instance_of(str, options=option)
        validate.one_line(options=option)
        if separator and separator in option:
            raise invalid(f"texts without {separator!r}, which separates the options of one person", options=option)
        if option != option.strip():
            raise invalid("texts without blanks around them", options=option)
    if len(set(options)) != len(options):
        twice = next(option for place, option in enumerate(options) if option in options[:place])
        raise invalid("all different", options=twice)
    if same := alike(options):
        raise InvalidParameterError(f"options must look different; got {same[0]!a} and {same[1]!a}.")
    return options


def as_ticks(values: Any, num_options: int, options: Sequence[str] | None = None) -> Ticks:
    """Ticks as truth values, shape (n, num_options), from truth values or from lists of options.

    Anything else is refused; the message gives places only.
    """
    if options is not None and not isinstance(values, np.ndarray):
        return _of_names(values, options)
    try:
        ticks = np.asarray(values)
    except ValueError:  # numpy's own message may quote a value
        ticks = np.zeros(1, dtype=object)
    if ticks.size == 0:
        return np.zeros((len(ticks) if ticks.ndim == 2 else 0, num_options), dtype=np.bool_)
    if ticks.ndim != 2 or ticks.shape[1] != num_options:
        raise InvalidParameterError(
            f"values must be truth values for {num_options} options, shape (n, {num_options}); got shape {ticks.shape}."
        )
    if ticks.dtype == np.bool_:
        return ticks
    if ticks.dtype.kind not in "iu" or ((ticks != 0) & (ticks != 1)).any():
        raise InvalidParameterError("values must be true or false, or 0 or 1, for each option; they hold others.")
    return ticks.astype(np.bool_)


def _of_names(values: Iterable[Iterable[str]], options: Sequence[str]) -> Ticks:
    """Ticks from lists of options."""
    numbers = {option: number for number, option in enumerate(options)}
    rows = list(values)
    ticks = np.zeros((len(rows), len(options)), dtype=np.bool_)
    for place, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise InvalidParameterError(f"values must be lists of options; values[{place}] is none.")
        for each in row:
            if not isinstance(each, str) or each not in numbers:
                raise InvalidParameterError(f"values must be lists of options; values[{place}] holds something else.")
            ticks[place, numbers[each]] = True
    return ticks


def kept_ticks(ticks: Ticks, at_most: int, source: RandomSource) -> Ticks:
    """Ticks, with a random choice of ``at_most`` ticks for each person who has more ticks.

    Of more, every choice is equally likely to be kept (but for ties of 64 bits). A word is drawn for each option of a
    person with more ticks, and the ticks with the least words are kept.
    """
    over = np.flatnonzero(ticks.sum(axis=1) > at_most)
    if not len(over):
        return ticks
    words = source.words(len(over) * ticks.shape[1]).reshape(len(over), -1)
    chosen = np.lexsort((words, ~ticks[over]), axis=1)[:, :at_most]
    found = ticks.copy()
    found[over] = False
    found[over[:, np.newaxis], chosen] = True
    return found
