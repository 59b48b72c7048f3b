"""What accounting reads of a shuffle by random walks, and the hypotheses about it that several theorems share."""

from typing import Protocol, cast

from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Hypothesis


class Walks(Protocol):
    """The fields of a model of kind "network"; `shuffledp.shufflers.RandomWalkShuffleModel` says what they mean."""

    @property
    def num_users(self) -> int: ...  # noqa: D102
    @property
    def num_rounds(self) -> int: ...  # noqa: D102
    @property
    def protocol(self) -> str: ...  # noqa: D102
    @property
    def laziness(self) -> float: ...  # noqa: D102
    @property
    def dropout(self) -> float: ...  # noqa: D102
    @property
    def offline(self) -> float: ...  # noqa: D102
    @property
    def num_colluding(self) -> int: ...  # noqa: D102
    @property
    def near_uniformity(self) -> float: ...  # noqa: D102
    @property
    def separation(self) -> float: ...  # noqa: D102
    @property
    def position_probabilities(self) -> tuple[float, ...]: ...  # noqa: D102
    @property
    def position_counts(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def is_bipartite(self) -> bool: ...  # noqa: D102
    @property
    def num_parts(self) -> int: ...  # noqa: D102
    @property
    def parts(self) -> "tuple[Walks, ...]": ...  # noqa: D102
    def dummy_model_among(self, reports: LocalModel) -> LocalModel | None: ...  # noqa: D102


def walks_of(model: ProtocolModel) -> Walks | None:
    """The model's random walks; None for another shuffle."""
    return cast(Walks, model.shuffle) if model.shuffle.kind == "network" else None


def survival(walks: Walks) -> float:
    """The chance that a report is not lost on its way, which depends on nothing."""
    return float((1 - walks.dropout) ** walks.num_rounds)


def known_walks(model: ProtocolModel) -> Hypothesis:
    """Reports walk, and at least once."""
    walks = walks_of(model)
    rounds = "" if walks is None else f", num_rounds={walks.num_rounds}"
    return Hypothesis(
        name="random-walks",
        requirement="random walks of at least one round, which the analyst sees the end of alone",
        value=f"shuffler {model.shuffle.kind!r}{rounds}",
        holds=walks is not None and walks.num_rounds >= 1,
    )


def independent_walks(model: ProtocolModel) -> Hypothesis:
    """Reports walk independently of each other and of what is in them: nobody's reports wait together."""
    walks = walks_of(model)
    offline = None if walks is None else walks.offline
    return Hypothesis(
        name="independent-walks",
        requirement="reports that walk independently of each other and of the answers, so that offline = 0",
        value="no walks" if offline is None else f"offline={offline:g}",
        holds=offline == 0,
    )


def nobody_colludes(model: ProtocolModel) -> Hypothesis:
    """No relay tells the analyst what it saw: whoever receives a report in the first round knows whose it is."""
    walks = walks_of(model)
    colluding = None if walks is None else walks.num_colluding
    return Hypothesis(
        name="no-colluding-relays",
        requirement="no relay that colludes with the analyst: it would know the owner of what comes in the first "
        "round, and no epsilon below epsilon0 holds with a small delta",
        value="no walks" if colluding is None else f"num_colluding={colluding}",
        holds=colluding == 0,
    )


def fresh_dummies(model: ProtocolModel) -> Hypothesis:
    """Everybody hands in equally many reports, so that what is handed in does not tell how many were held."""
    walks = walks_of(model)
    dummies = None if walks is None else walks.dummy_model_among(model.local)
    return Hypothesis(
        name="hidden-bag-sizes",
        requirement="one report of each person, or equally many, where those who hold too few add fresh dummies from "
        "the same randomizer, those who hold too many choose uniformly, and how many they held is not seen",
        value="no walks" if walks is None else f"protocol {walks.protocol!r}, dummies {_made_by(dummies)}",
        holds=walks is not None and walks.protocol in ("single", "padded") and _are_alike(dummies, model.local),
    )


def dummies_by_themselves(model: ProtocolModel) -> tuple[Hypothesis, ...]:
    """Dummies tell nothing of the reports: assumed of a function, as nobody can tell what one does; else none."""
    walks = walks_of(model)
    if walks is None or walks.protocol == "all" or walks.dummy_model_among(model.local) is not None:
        return ()
    return (
        Hypothesis(
            name="independent-dummies",
            requirement="dummies are made by a function, which looks at no report and draws them by itself",
            value="assumed, as no code can check it",
            holds=True,
        ),
    )


def _made_by(dummies: LocalModel | None) -> str:
    return "of no known randomizer" if dummies is None else f"of {dummies.kind!r}, epsilon0={dummies.epsilon0:.6g}"


def _are_alike(dummies: LocalModel | None, reports: LocalModel) -> bool:
    """Whether dummies are reports of the same randomizer, as far as models tell.

    Another randomizer of the same epsilon0 or less will not do: its reports may be told apart, by their domain already.
    Of one that is only known by its loss, dummies are known to be reports where the shuffle says that they are its own.
    """
    return dummies is not None and dummies == reports
