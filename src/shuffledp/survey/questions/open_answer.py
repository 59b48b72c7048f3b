"""Question for an open answer, a short text; words that many people wrote are found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers import WordAnalyzer
from shuffledp.core.estimates import Estimate
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.text import percent, printable
from shuffledp.core.text_codes import TextCode, chunked
from shuffledp.core.validate import open_probability
from shuffledp.planning.mechanism_choice import ExpectedError
from shuffledp.planning.trusted_curator import TrustedCurator
from shuffledp.planning.word_discovery import least_share, word_errors
from shuffledp.planning.word_plan import WordPlan, plan_words
from shuffledp.randomizers import MaskedPrefixes, MaskedPrefixModel
from shuffledp.survey.questions.question import AnswerColumns, Question, Read

_HEAD = """\
kind = "open"  # a short text in people's own words
code = "letters"  # a to z, blank, hyphen, apostrophe; or "bytes", for any script: fewer words are found
length = 8  # letters that count; the rest is cut, and with twice as many, words need twice as many people
"""
_TEMPLATE = """\
kind = "masked-prefix"  # one part of the text, or by chance another
epsilon0 = 6.0  # of one report without the shuffle, which alone hides who wrote what: see what `shuffledp plan` says
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAnswer(Question):
    """Short text; words that many people wrote are found, with the shares of these people.

    ``code`` and ``length`` say how texts become bits, the same number for everybody; ``known`` are words offered beside
    the free field, whose shares are estimated in any case; ``alpha`` bounds the chance of any false word.
    """

    answers: ClassVar[str] = "open"
    takes: ClassVar[str] = "open"
    beside: ClassVar[tuple[str, ...]] = ("code", "length", "known", "alpha")
    renamed: ClassVar[Mapping[str, str]] = {"num_bits": "num_bits"}
    controls: ClassVar[Mapping[str, tuple[float, float]]] = {"length": (1, 64)}
    template: ClassVar[str] = _TEMPLATE
    head: ClassVar[str] = _HEAD
    init_kind: ClassVar[str] = "words"
    init_title: ClassVar[str] = "Open answers"
    needs_uniform: ClassVar[bool] = True
    on_one_machine: ClassVar[bool] = True
    needs_apart: ClassVar[bool] = True
    may_follow: ClassVar[bool] = True
    keeps_missing: ClassVar[bool] = True
    epsilon0: float
    code: str = "letters"
    length: int = 16
    known: tuple[str, ...] = ()
    alpha: float = 0.05
    missing_category: bool = False
    follow_up: bool = False

    def __post_init__(self) -> None:
        open_probability(alpha=self.alpha)
        self.text_code.known(self.known)
        self.randomizer()  # refuses, before a collection, keys that cannot be represented

    @property
    def text_code(self) -> TextCode:
        """Code that writes each text as bits."""
        return TextCode(self.code, self.length)

    @property
    def num_bits(self) -> int:
        """Number of bits of every code."""
        return self.text_code.num_bits

    def randomizer(self) -> MaskedPrefixes:
        """Randomizer whose input is the code of each text, split into chunks."""
        return cast(MaskedPrefixes, super(OpenAnswer, self).randomizer())

    @property
    def model(self) -> MaskedPrefixModel:
        """The model of the randomizer."""
        return self.randomizer().model

    def read(self, answers: AnswerColumns) -> Read:
        """Codes of the normalized texts in chunks; a text that becomes empty is a missing answer."""
        code, model = self.text_code, self.model
        texts, wrong, missing = answers.texts(0, lambda text: code.normalized(text)[0])
        bits = {text: code.bits_of(text) for text in set(texts.tolist())}
        return chunked([bits[text] for text in texts], model.num_bits, model.prefix_bits), wrong, missing

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> WordAnalyzer:
        """The analyzer of words."""
        del columns
        return WordAnalyzer(
            code=self.text_code,
            known=self.known,
            alpha=self.alpha,
            follow_up=self.follow_up,
            missing=self.missing_category,
            level=level,
        )

    def to_dict(self) -> dict[str, Any]:
        """Keys of the table, defaults included; ``missing_category`` only if it is set."""
        table = super(OpenAnswer, self).to_dict()
        return {key: value for key, value in table.items() if value or key != "missing_category"}

    def in_place_of_missing(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Codes in which people who gave no answer have a code that no text has."""
        model = self.model
        nothing = chunked([self.text_code.no_answer], model.num_bits, model.prefix_bits)
        return np.where(missing[:, np.newaxis], nothing, values)

    def where_not_asked(self, values: NDArray[Any], asked: NDArray[np.bool_]) -> NDArray[Any]:
        """Codes in which people who were not asked have the empty text's code, unused by answers."""
        return np.where(asked[:, np.newaxis], values, 0)

    @property
    def targets(self) -> tuple[str, ...]:
        """Known words alone; other words are found later, and not listed beforehand."""
        return self.known

    def named_rows(self, estimate: Estimate, column: str) -> Estimate:
        """The estimate unchanged, since its rows are named by words already."""
        del column
        return estimate

    def expected_error(self, num_users: int) -> ExpectedError:
        """Errors for a word with the smallest share that can be found, or with share 1 if none can."""
        share = least_share(self.model, num_users, alpha=self.alpha) or 1.0
        noise, sampling = word_errors(self.model, num_users, share)
        return ExpectedError(
            at=f"a word of {percent(share)} of the people", standard_error=noise, sampling_error=sampling
        )

    def curator_beside(self, protocol: ProtocolModel, stated: Guarantee) -> TrustedCurator | None:
        """No curator, since the words that a curator would find are not worked out."""
        del protocol, stated
        return None

    def plan(self, protocol: ProtocolModel, *, delta: float, alone: bool) -> WordPlan:
        """Expected words, the power of a fake sender, and the leakage of a report by itself."""
        return plan_words(protocol, delta=delta, alone=alone, alpha=self.alpha, symbol_bits=self.text_code.symbol_bits)

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Free text, with the known words to choose from."""
        code = self.text_code
        known = [{"text": printable(word), "bits": str(code.bits_of(word))} for word in self.known]
        field = {"label": printable(columns[0]), "code": self.code, "length": self.length, "known": known}
        return [field | ({"no_answer": str(code.no_answer)} if self.missing_category else {})]

    def page_names(self, words: Any) -> list[str]:
        """No names of reports: the page shows the part of the text that a report is about."""
        del words
        return []

    @classmethod
    def planned(cls, epsilon0: float, numbers: Mapping[str, float]) -> dict[str, Any]:
        """Keys of the question's table, for texts with the number of letters that the planner sets."""
        return {"epsilon0": epsilon0, "code": "letters", "length": int(numbers["length"])}

    def with_missing_category(self) -> Self:
        """The section with a code of its own for people who gave no answer."""
        return cast(Self, replace(cast(Any, self), missing_category=True))
