"""Remarks of statements about random walks: assumptions on people, and what remains where they fail."""

from typing import TYPE_CHECKING

from shuffledp.core.text import in_digits

if TYPE_CHECKING:
    from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel

_UNLIKE = 0.05  # in total variation: from here on it is said that estimates may be biased


def remarks_on(walks: "RandomWalkShuffleModel") -> tuple[str, ...]:
    """Assumptions about the people who pass reports on, and what remains where they fail."""
    two_sides = (
        "The graph is bipartite and nobody is lazy: the number of rounds shows on which side a report began. "
        "A laziness above 0 mixes the sides.",
    )
    return (
        *_favoring(walks),
        *_unknown_dummies(walks),
        *(two_sides if walks.is_bipartite and not (walks.laziness or walks.offline) and walks.num_rounds else ()),
        _relays(walks),
        _presence(walks),
        _watched(walks),
    )


def _favoring(walks: "RandomWalkShuffleModel") -> tuple[str, ...]:
    """Remark on a bias that no report shows: some people's reports may be handed in more often than others'."""
    if walks.protocol == "all" or not walks.num_rounds or walks.unlikeness <= _UNLIKE:
        return ()
    return (
        f"After num_rounds={walks.num_rounds} two people's positions are known to be at most "
        f"{in_digits(walks.unlikeness, 'at most')} apart, in total variation, so that protocol {walks.protocol!r} "
        "may hand in some people's reports more often than others'. Then estimates are biased where answers go "
        "with places in the graph, and no standard error counts that; protocol 'all' favors nobody.",
    )


def _unknown_dummies(walks: "RandomWalkShuffleModel") -> tuple[str, ...]:
    """Remark on dummies without a known randomizer."""
    if walks.protocol == "all" or walks.dummy_model is not None or (walks.added is not None and walks.added.own):
        return ()
    return (
        "It is assumed, and cannot be checked, that dummies are made by a function, which looks at no report and "
        "draws them by itself: one that replays reports shows where they are.",
    )


def _chosen(walks: "RandomWalkShuffleModel") -> str:
    """Choice of the next holder of a report, in words."""
    return "to where each digit leads that is drawn" if walks.sizes else "to a neighbor chosen uniformly"


def _presence(walks: "RandomWalkShuffleModel") -> str:
    """Assumptions about attendance, and its effect."""
    if not walks.schedule and walks.gate is None:
        return (
            "Everybody is online in every round, but for chances stated that depend on nothing. Where somebody is "
            "offline, reports wait or get lost together, and whoever knows when learns where they cannot be: then, "
            "too, the local guarantee is left."
        )
    refused = "Nothing is handed in unless who was online has mixed the walks enough. " * (walks.gate is not None)
    return (
        f"{refused}Anybody may know who was online when, and it must depend on nobody's answer: somebody who goes "
        "offline because of an answer, and a server that lies about who was online, are not covered."
    )


def _relays(walks: "RandomWalkShuffleModel") -> str:
    """Assumptions about the relays."""
    said = f"Everybody passes reports on as the protocol says, {_chosen(walks)}, "
    deviates = "where a relay deviates: one that keeps, marks or misdirects reports can tell whose they are."
    if walks.num_colluding:
        return (
            f"{said}those too who are counted as colluding, and tell what they see; nobody else looks at anything. "
            f"The local guarantee is left {deviates}"
        )
    return (
        f"{said}and looks at nothing. Colluding people cannot just be subtracted: against a colluding neighbor the "
        f"local guarantee is left, as {deviates}"
    )


def _watched(walks: "RandomWalkShuffleModel") -> str:
    """Remark on what traffic tells an observer."""
    if not walks.slots:
        return (
            "Nobody but the receiver sees who sends what to whom; somebody who watches the traffic follows each "
            "report to its sender, and the local guarantee is left."
        )
    overflow = walks.overflow if walks.gate is None else walks.gate.overflow
    return (
        "Traffic tells nothing: in each round everybody sends an envelope of one size on every link, whatever "
        "there is to send, sealed anew and at a fixed time. Some link has more to carry than slots with a chance "
        f"of at most {in_digits(overflow, 'at most')}, which delta counts. Whoever keeps messages from "
        "arriving is another danger: who is cut off from others hides among fewer."
    )
