"""The page's own words, in the language of the task where there is a table of them: ``js/words/``, a file for each.

What is promised, and what it takes for granted, is not among them: it stands on the page in the statement's own words.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from shuffledp.client.bundle import source_of

LANGUAGES = ("en", "de", "es", "fr")


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of one language.

    Args:
        language: of the words, a tag of BCP 47.
        table: the words by who says them: ``page`` and ``sheet`` (the templates), ``script``, ``told`` and ``why``
            (sentences that are completed here), and how ``numbers`` are written.
    """

    language: str
    table: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, language: str) -> Self:
        """The words for a language, whatever the region or script; in English if there are none.

        Example:
            >>> PageWords.of("de-AT").language, PageWords.of("it").language
            ('de', 'en')
        """
        primary = language.partition("-")[0].lower()
        known = primary if primary in LANGUAGES else LANGUAGES[0]
        return cls(known, json.loads(source_of(f"words/{known}.json")))

    def told(self, name: str, **parts: str) -> str:
        """A sentence with its parts.

        Example:
            >>> PageWords.of("es").told("bin", lower="0", upper="18")
            '0 a 18'
        """
        return str(self.table["told"][name]).format(**parts)

    def number(self, value: int) -> str:
        """A whole number, its thousands apart.

        Example:
            >>> PageWords.of("de").number(1200)
            '1.200'
        """
        return self.written(f"{value:,}")

    def percent(self, chance: float) -> str:
        """A chance in percent, to three digits.

        Example:
            >>> PageWords.of("en").percent(0.7866)
            '78.7%'
        """
        return str(self.table["numbers"]["percent"]).format(number=self.written(f"{100 * chance:.3g}"))

    def percent_of(self, text: str) -> str:
        r"""A chance that is written as "78.7%", as this language writes it, and in no other digits.

        Example:
            >>> PageWords.of("de").percent_of("78.7%")
            '78,7\xa0%'
        """
        return str(self.table["numbers"]["percent"]).format(number=self.written(text.removesuffix("%")))

    def why(self, model: Any) -> str:
        """How the randomizer that a model describes changes an answer.

        Example:
            >>> from shuffledp import KaryRandomizedResponse
            >>> PageWords.of("en").why(KaryRandomizedResponse(epsilon0=2.0, domain_size=3).model)[:66]
            'Your own answer is kept with a chance of about 78.7%; each other o'
        """
        response = getattr(model, "response", model)
        parts = {"likely": self.percent(response.p), "other": self.percent(response.q)}
        return str(self.table["why"][model.kind]).format(levels=self.number(response.domain_size), **parts)

    def written(self, number: str) -> str:
        """A number in English as this language writes it."""
        marks = self.table["numbers"]
        return number.translate({ord("."): marks["decimal"], ord(","): marks["thousands"]})
