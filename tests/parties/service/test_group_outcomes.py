"""A group that is stored together has the outcomes that its submissions would have one after the other."""

import random

import pytest

from shuffledp.parties.service.intake import Count, Row, admission
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.store.digest_keys import keyed
from shuffledp.parties.wire.grammar import ReportError


class OneByOne:
    """The rules of a store, without a disk: one submission after the other, in the order of digests."""

    def __init__(self, key):
        self.key, self.kept, self.spent = key, {}, set()

    def commit(self, group):
        """Outcome of each submission."""
        outcomes = {}
        for number in sorted(range(len(group)), key=lambda each: keyed(group[each][0].id, self.key)):
            rows = group[number]
            kept = [self.kept.get((column, row.id), False) for column, row in enumerate(rows)]
            outcomes[number] = admission(rows, kept, is_spent=rows[0].token in self.spent)
            if outcomes[number] is Count.STORED:
                self.kept |= {(column, row.id): row.extensions for column, row in enumerate(rows)}
                self.spent |= {rows[0].token} - {b""}
        return [outcomes[number] for number in range(len(group))]


def drawn(several, columns):
    """A submission of few possible ids, extensions and tokens, so that many come again in part."""
    ids = several.sample([b"%016d" % number for number in range(40 if columns == 1 else 6)], columns)
    extensions = several.choice([b"\0\0"] * 9 + [b"\0\1"])
    token = several.choice([b"", b"a", b"b", b"c"])
    return [Row(name, extensions, b"sealed" + name, b"" if column else token) for column, name in enumerate(ids)]


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("remembers", [False, True])
def test_groups_have_the_outcomes_of_single_submissions_in_turn(tmp_path, columns, remembers):
    several, found = random.Random(columns), set()
    for number in range(5):
        store = ReportStore(tmp_path / str(number), pools=[1] * columns, remembers=remembers)
        turns = OneByOne(store._key)
        for size in (1, 2, 3, 5, 8, 1, 0):
            group = [drawn(several, columns) for _ in range(size)]
            outcomes = store.commit(group)
            assert outcomes == turns.commit(group)
            found |= set(outcomes)
        assert store.waiting == store.rows("SELECT count(*) FROM reports WHERE column = 0")[0][0]
        stored = store.rows("SELECT column, digest, extensions FROM reports")
        assert {tuple(each) for each in stored} == {(c, keyed(i, store._key), x) for (c, i), x in turns.kept.items()}
        assert store.rows("SELECT count(*) FROM spent") == [(len(turns.spent),)]
        store.close()
    partly = {ReportError.REPORT_REPLAYED} if columns > 1 else set()
    assert found >= {Count.STORED, Count.DUPLICATE, ReportError.TOKEN_SPENT, ReportError.EXTENSIONS_CHANGED} | partly
