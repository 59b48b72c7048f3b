"""Words of the page for respondents, in the task's language if ``js/words/`` has a file for it.

The promise and its conditions are not among them: the page shows them in the statement's own words.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from shuffledp.core.sum_models import SumModel
from shuffledp.parties.client.bundle import source_of

LANGUAGES = ("en", "de", "es", "fr")


@dataclass(frozen=True, slots=True)
class PageWords:
    """Words of the page in one language.

    Args:
        language: language of the words, a tag of BCP 47.
        table: the words by their place: ``page`` and ``sheet`` (the templates), ``script``, ``local`` (what the
            script says in a local network), ``told`` and ``why`` (sentences that are completed here), and how
            ``numbers`` are written.
    """

    language: str
    table: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, language: str) -> Self:
        """Words for a language, whatever its region or script; English if no file exists.

        Example:
            >>> PageWords.of("de-AT").language, PageWords.of("it").language
            ('de', 'en')
        """
        primary = language.partition("-")[0].lower()
        known = primary if primary in LANGUAGES else LANGUAGES[0]
        return cls(known, json.loads(source_of(f"words/{known}.json")))

    def told(self, name: str, **parts: str) -> str:
        """Sentence of this name with its parts filled in.

        Example:
            >>> PageWords.of("es").told("bin", lower="0", upper="18")
            '0 a 18'
        """
        return str(self.table["told"][name]).format(**parts)

    def number(self, value: int) -> str:
        """Whole number with separated thousands.

        Example:
            >>> PageWords.of("de").number(1200)
            '1.200'
        """
        return self.written(f"{value:,}")

    def percent(self, chance: float) -> str:
        """Percentage of a chance, with three digits.

        Example:
            >>> PageWords.of("en").percent(0.7866)
            '78.7%'
        """
        return str(self.table["numbers"]["percent"]).format(number=self.written(f"{100 * chance:.3g}"))

    def percent_of(self, text: str) -> str:
        r"""Percentage such as "78.7%", respelled for this language with the same digits.

        Example:
            >>> PageWords.of("de").percent_of("78.7%")
            '78,7\xa0%'
        """
        return str(self.table["numbers"]["percent"]).format(number=self.written(text.removesuffix("%")))

    def why(self, model: Any) -> str:
        """Explanation of how the randomizer of a model changes an answer.

        Example:
            >>> from shuffledp import KaryRandomizedResponse
            >>> PageWords.of("en").why(KaryRandomizedResponse(epsilon0=2.0, domain_size=3).model)[:66]
            'Your own answer is kept with a chance of about 78.7%; each other o'
        """
        return str(self.table["why"][model.kind]).format(**self._parts_of(model))

    def _parts_of(self, model: Any) -> dict[str, str]:
        """Numbers of a randomizer that its explanation may name."""
        if isinstance(model, SumModel):
            counts = {"levels": getattr(model, "value_bits", 0) + 1, "coins": getattr(model, "coins", 0)}
            return {name: self.number(count) for name, count in counts.items()} | {
                "messages": self.number(model.num_messages)
            }
        response = getattr(model, "response", model)
        return {
            "levels": self.number(getattr(response, "domain_size", None) or model.num_options),
            "slots": self.number(model.num_messages - 1),
            "likely": self.percent(response.p),
            "other": self.percent(response.q),
        }

    def written(self, number: str) -> str:
        """Number with this language's decimal and thousands marks, from its English spelling."""
        marks = self.table["numbers"]
        return number.translate({ord("."): marks["decimal"], ord(","): marks["thousands"]})
