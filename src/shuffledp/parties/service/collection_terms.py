"""Terms of a collection at one of its shufflers: its number, its limits and its store."""

import math
from datetime import timedelta
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import instant
from shuffledp.parties.service.intake import Terms
from shuffledp.parties.service.public_columns import shapes_of
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.service.share_store import ShareStore
from shuffledp.parties.wire.agreement_messages import MOST_SETS
from shuffledp.parties.wire.grammar import HpkeConfig
from shuffledp.parties.wire.hpke import sealed_lengths
from shuffledp.parties.wire.keys import ShufflerKey, from_text
from shuffledp.survey import Collection

MOST_BYTES_OF_ONE = 1_000_000
MOST_BYTES_RELAYED = 500_000  # relays take 1 MiB, and requests are padded to a power of two
KEY_OUTLIVES = timedelta(hours=1)  # for which an expired key is still taken, since clocks differ


def host_of(collection: Collection, key: ShufflerKey) -> int:
    """Number of the shuffler with this key, from 0; 0 if the collection has only one shuffler."""
    return next((number for number, each in enumerate(collection.hosts) if key.public in each.key.several), 0)


def store_of(collection: Collection, host: int, folder: Path, *, most: float = math.inf) -> ReportStore:
    """Store of a collection at a shuffler, in a folder that is made if necessary.

    Args:
        collection: the collection.
        host: number of the shuffler.
        folder: folder of the store.
        most: most submissions that are ever stored.
    """
    kind = ReportStore
    if collection.further_shufflers:
        kind, most = ShareStore, min(most, MOST_SETS)
    return kind(
        folder,
        pools=[pool.messages for pool in collection.pools_at(host)],
        remembers=collection.every is not None,
        longest=max(terms_of(collection, host).lengths),
        most=most,
    )


def terms_of(collection: Collection, host: int = 0) -> Terms:
    """Terms of a collection that decide on its submissions to a shuffler.

    A host of a sum takes every key that the collection names until the close. A person's shares are sealed to one key,
    and those that a host was away for could not be sealed anew, as the others are stored and their tokens spent.
    """
    key = collection.analyzer.key
    configs = [HpkeConfig.decode(from_text(text, name="key")) for text in (key.key, *key.successors)]
    ends = None
    if key.expires is not None and key.successors and not collection.further_shufflers:
        ends = instant(expires=key.expires) + KEY_OUTLIVES
    return Terms(
        opens=instant(opens=collection.opens).timestamp(),
        closes=instant(closes=collection.closes).timestamp(),
        columns=shapes_of(collection, configs[0], host),
        encapsulated={config.id: sealed_lengths(config, 0)[0] for config in configs},
        outdated={} if ends is None else {configs[0].id: ends.timestamp()},
    )


def require_short(collection: Collection) -> None:
    """Refuse a collection to which one person's upload would be too long.

    Raises:
        InvalidParameterError: for an upload above 1 MB, or behind a relay 500 kB.
    """
    most = MOST_BYTES_RELAYED if collection.is_oblivious else MOST_BYTES_OF_ONE
    longest = max(sum(terms_of(collection, host).lengths) for host in range(len(collection.hosts)))
    if longest > most:
        raise InvalidParameterError(
            f"all messages of one person must be at most {most:,} bytes long together; here they are {longest:,}. Use "
            "a smaller dimension, or a larger block where the protocol has one."
        )
