"""Facts kept in a file of reports or of a view, so that the file is not mistaken for another."""

from dataclasses import dataclass
from typing import Any, Self

from shuffledp._version import __version__
from shuffledp.core.described import Described
from shuffledp.core.local_models import LocalModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Party, Trust
from shuffledp.survey import Column, DataFlow, Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts(Described):
    """Facts about a file of reports or of a view, kept in the file itself.

    Args:
        content: "reports", "view", or "labels" (the label table beside a view).
        task_sha256: digest of the task that it belongs to.
        seeded: whether its randomness can be replayed.
        flow: counts so far.
        local: the randomizer's model.
        shuffle: the shuffler's model, for a view.
        trust: whom people must trust besides, for how it was made.
        parties: who the trusted ones are, where that is known.
        demonstration: whether the answers may be made up.
        labels_sha256: digest of the file of labels beside a view, so that those of another run are not taken for them.
        library_version: the version that wrote it.
    """

    content: str
    task_sha256: str
    seeded: bool
    flow: DataFlow
    local: LocalModel
    shuffle: ShuffleModel | None = None
    trust: tuple[Trust, ...] = ()
    parties: tuple[Party, ...] = ()
    demonstration: bool = False
    labels_sha256: str | None = None
    library_version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of all facts; ``demonstration`` is left out where it is false."""
        written = super(FileFacts, self).to_dict()
        return written if self.demonstration else {key: each for key, each in written.items() if key != "demonstration"}

    @classmethod
    def of(
        cls,
        column: Column,
        content: str,
        flow: DataFlow,
        provenance: Provenance,
        *,
        shuffle: ShuffleModel | None = None,
    ) -> Self:
        """Facts about a file of this column; a view's file also names the shuffler's model, ``shuffle``."""
        return cls(
            content=content,
            task_sha256=column.sha256,
            flow=flow,
            local=column.randomizer.randomizer().model,
            shuffle=shuffle,
            seeded=provenance.seeded,
            trust=provenance.trust,
            parties=provenance.parties,
            demonstration=provenance.demonstration,
        )
