"""Reasons why a fetch waits: the close, or hosts of a sum that are away or behind."""

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.documents.words import listed
from shuffledp.parties.agreement.agreement_courier import HostStanding
from shuffledp.parties.agreement.agreement_steps import Stage

STEPS = list(Stage).index(Stage.AGREED)


@dataclass(frozen=True, slots=True)
class Awaited:
    """Shufflers that a fetch waits for, and the step of their agreement that the others have done.

    Args:
        silent: addresses of the shufflers that do not answer.
        behind: addresses of those that answer, and that the others wait for.
        step: steps of the agreement between several hosts that the others have done, 0 to 4.
    """

    silent: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    step: int = 0

    @classmethod
    def between(cls, urls: Sequence[str], standings: Sequence[HostStanding]) -> "Awaited":
        """Hosts that an agreement waits for, by the standings of all; addresses and standings are in one order."""
        done = {
            url: min(list(Stage).index(each.stage), STEPS)
            for url, each in zip(urls, standings, strict=True)
            if each.stage is not None
        }
        step = max(done.values(), default=0)
        slow = [url for url, steps in done.items() if steps < step]
        if not slow and len(done) == len(urls):  # they wait for a host that keeps its message back
            slow = [url for host, url in enumerate(urls) if any(host in each.waits_for for each in standings)]
        return cls(tuple(url for url in urls if url not in done), tuple(slow), step)

    @property
    def text(self) -> str:
        """Sentence that names whom the fetch waits for; "" where nobody is known to be late.

        Example:
            >>> Awaited(silent=("https://c.example",), step=1).text
            'Waiting since step 1 of 4 for https://c.example, which does not answer.'
        """
        away = f"{listed(self.silent)}, which {'do' if len(self.silent) > 1 else 'does'} not answer"
        late = f"{listed(self.behind)}, which {'are' if len(self.behind) > 1 else 'is'} not so far"
        named = [*([away] if self.silent else []), *([late] if self.behind else [])]
        if self.step == 0:
            return f"Waiting for {'; and for '.join(['the close', *named])}."
        return f"Waiting since step {self.step} of {STEPS} for {'; and for '.join(named)}." if named else ""
