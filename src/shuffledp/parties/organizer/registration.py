"""Registration of a collection at a mix, or at all mixes that share each answer to a sum."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from shuffledp.core.errors import RemoteProtocolError, UnreachableError
from shuffledp.core.instants import instant, shown, written
from shuffledp.core.validate import invalid
from shuffledp.documents.words import listed
from shuffledp.parties.organizer.mix_client import MixClient
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.parties.wire.mix_terms import MixTerms
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task

_DAYS_OPEN, _DAYS_TO_FETCH = 7, 30
_SLACK = timedelta(minutes=5)  # by which the clocks of this machine and of a mix may differ


@dataclass(frozen=True, slots=True)
class Mixes:
    """Mixes of one collection, with their terms; the first mix shows the collection's page and result.

    Args:
        clients: a client for each mix, one or more.
        found: terms of each mix, in the same order.
    """

    clients: tuple[MixClient, ...]
    found: tuple[MixTerms, ...]

    @classmethod
    def reached(cls, clients: Sequence[MixClient]) -> Self:
        """Mixes with their current terms, which are fetched from each mix.

        Raises:
            RemoteProtocolError: if one does not answer, or is none.
        """
        return cls(tuple(clients), tuple(each.terms() for each in clients))

    @property
    def first(self) -> MixClient:
        """Client of the mix that shows the page and the result."""
        return self.clients[0]

    def page_url(self, nonce: str) -> str:
        """Address of a collection's page at the first mix, where the result is shown, too."""
        return self.found[0].page_url(nonce)

    @property
    def latest_close(self) -> str:
        """Default closing time of a collection: in a week, or earlier if a mix allows only less time."""
        return written(datetime.now(UTC) + min(timedelta(days=_DAYS_OPEN), self._longest - _SLACK))

    @property
    def _longest(self) -> timedelta:
        return timedelta(days=min(each.policy.days for each in self.found))

    def check(self, *, people: int, closes: str | None) -> None:
        """Refuse a collection that a mix would refuse.

        Raises:
            InvalidParameterError: for more people, or a later close, than one of them takes.
        """
        for client, found in zip(self.clients, self.found, strict=True):
            if people > found.policy.people:
                raise invalid(f"at most {found.policy.people}, which {client.url} takes", people=people)
            latest = datetime.now(UTC) + timedelta(days=found.policy.days)
            if closes is not None and instant(closes=closes) > latest:
                raise invalid(f"at most {found.policy.days} days from now, which {client.url} takes", closes=closes)

    def collection(self, task: Task, analyst: PublishedKey, *, closes: str, **further: Any) -> Collection:
        """Collection of a task at these mixes, without a page, whose result the first mix will show.

        Args:
            task: what is asked.
            analyst: public key of the analyst, who fetches what the mixes have mixed.
            closes: when it closes.
            further: other fields of the collection; a relay has the first mix's gateway unless another is named.

        Raises:
            InvalidParameterError: if the task cannot be asked so.
        """
        (shuffler, *others) = [
            Service(url=client.url, key=found.shuffler) for client, found in zip(self.clients, self.found, strict=True)
        ]
        if further.get("relay") is not None and further.get("gateway") is None:
            further["gateway"] = self.found[0].gateway
        waits = min(timedelta(days=_DAYS_TO_FETCH), self._longest) - _SLACK
        made = Collection.new(
            task,
            shuffler=shuffler,
            further_shufflers=tuple(others),
            analyzer=Service(key=analyst),
            closes=closes,
            fetch_by=written(instant(closes=closes) + waits),
            now=datetime.now(UTC),
            **further,
        )
        return made if made.result is not None else replace(made, result=self.page_url(made.nonce))

    def register(self, collection: Collection, have: list[MixClient]) -> None:
        """Register a collection at all mixes, so that people can answer; a repeated registration changes nothing.

        Args:
            collection: the collection.
            have: is given each mix that has it; if another one refuses, these have it all the same.

        Raises:
            RemoteProtocolError: if a mix refuses; the error names the reason.
        """
        for each in self.clients:
            try:
                each.register(collection)
            except UnreachableError as error:
                raise UnreachableError(
                    f"{error} If only its answer was lost, it has the collection until {shown(collection.closes)}."
                ) from None
            have.append(each)

    @staticmethod
    def take_back(collection: Collection, analyst: AnalyzerKey, have: Sequence[MixClient]) -> str:
        """Close a collection at the mixes that have it; return sentences that name the mixes.

        Below its minimum all is destroyed at once, and it counts towards no limit of collections at work.
        """
        closed, open_ = list[str](), list[str]()
        for each in have:
            try:
                each.close(collection, analyst)
                closed.append(each.url)
            except RemoteProtocolError:
                open_.append(each.url)
        taken = f"It was taken back at {listed(closed)}." if closed else ""
        stands = f"It stands at {listed(open_)} until {shown(collection.closes)}; nobody has its link." if open_ else ""
        return " ".join(filter(None, [taken, stands]))
