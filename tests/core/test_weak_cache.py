"""What is remembered of objects goes with them, and with what comes later."""

import gc

from shuffledp.core.caching import WeakCache


class Thing:
    """All are equal, and none can be hashed."""

    __hash__ = None

    def __eq__(self, other):
        return isinstance(other, Thing)


def test_values_are_those_of_the_very_same_objects_and_an_equal_key():
    kept, one, other = WeakCache(4), Thing(), Thing()
    assert kept.put((one, other), "found", key=0.5) == "found"
    assert kept.get((one, other), 0.5) == "found"
    assert kept.get((other, one), 0.5) is kept.get((one, other)) is kept.get((one,), 0.5) is None


def test_values_go_with_any_of_their_objects():
    kept, one, other = WeakCache(4), Thing(), Thing()
    kept.put((one, other), "both")
    kept.put((one,), "one")
    del other
    gc.collect()
    assert len(kept) == 1
    assert kept.get((one,)) == "one"


def test_the_value_that_was_asked_for_longest_ago_makes_room():
    kept, thing = WeakCache(2), Thing()
    for key in (1, 2):
        kept.put((thing,), key, key)
    kept.get((thing,), 1)
    kept.put((thing,), 3, 3)
    assert [kept.get((thing,), key) for key in (1, 2, 3)] == [1, None, 3]
