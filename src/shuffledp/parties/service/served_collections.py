"""Collections at a shuffler by id and path, added and removed while the shuffler runs."""

from collections.abc import Iterable, Iterator

from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.fetched_batches import FetchedBatches
from shuffledp.parties.wire.keys import in_text
from shuffledp.survey import Collection

MOST_SUBMISSIONS = 1000  # in one upload
MOST_BYTES = 16 << 20  # bytes of one upload, unless a single submission is longer


class ServedCollections:
    """Collections that a shuffler serves now.

    Args:
        served: collections that are there from the beginning.
    """

    def __init__(self, served: Iterable[CollectionAtShuffler] = ()) -> None:
        self._known: dict[str, CollectionAtShuffler] = {}
        self._fetched: dict[str, FetchedBatches] = {}
        self._ways: dict[bool, dict[str, tuple[CollectionAtShuffler, int]]] = {False: {}, True: {}}
        for each in served:
            self.add(each)

    def __iter__(self) -> Iterator[CollectionAtShuffler]:
        return iter(tuple(self._known.values()))

    def __len__(self) -> int:
        return len(self._known)

    def add(self, at_shuffler: CollectionAtShuffler) -> None:
        """Serve one more collection from now on."""
        collection = at_shuffler.collection
        text = in_text(collection.id)
        self._known[text] = at_shuffler
        if collection.analyzer.fetches:
            self._fetched[text] = FetchedBatches(at_shuffler)
        self._ways[collection.is_oblivious][_uploads_of(collection)] = at_shuffler, longest_upload(at_shuffler)

    def remove(self, collection: Collection) -> None:
        """Stop serving a collection; without effect if it is not served."""
        text = in_text(collection.id)
        self._known.pop(text, None)
        self._fetched.pop(text, None)
        self._ways[collection.is_oblivious].pop(_uploads_of(collection), None)

    @property
    def known(self) -> dict[str, CollectionAtShuffler]:
        """Collections by their ids in base64url."""
        return self._known

    @property
    def fetched(self) -> dict[str, FetchedBatches]:
        """Batches by collection id, for collections whose analyzer fetches them."""
        return self._fetched

    @property
    def relayed(self) -> Iterator[Collection]:
        """Collections that people reach through a relay."""
        return (at_shuffler.collection for at_shuffler, _ in self._ways[True].values())

    def at_path(self, path: str, *, relayed: bool) -> tuple[CollectionAtShuffler | None, int]:
        """Collection whose uploads go to a path, or None, and the length limit of an upload."""
        return self._ways[relayed].get(path, (None, 0))

    @property
    def longest_relayed(self) -> int:
        """Length limit in bytes of all uploads through a relay."""
        return max((length for _, length in self._ways[True].values()), default=0)


def longest_upload(at_shuffler: CollectionAtShuffler) -> int:
    """Length limit of an upload in bytes: `MOST_SUBMISSIONS` submissions up to `MOST_BYTES`, or a single longer one."""
    one = sum(at_shuffler.terms.lengths)
    return max(one, min(MOST_SUBMISSIONS * one, MOST_BYTES))


def _uploads_of(collection: Collection) -> str:
    return f"{collection.path}/reports"
