"""Overlays to choose from: cost and guarantee of each, beside a random graph."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, partial

from shuffledp.accounting import account, epsilon_of
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.validate import invalid
from shuffledp.protocols.network.laws.overlay_loads import average_exposure
from shuffledp.protocols.network.laws.typical_walks import decay, usual_likeness
from shuffledp.protocols.network.people.overlays import Overlay, most_rounds
from shuffledp.protocols.network.planning.constant_links import SURPLUS_SHARE, LinksPlan, plan_links
from shuffledp.protocols.network.planning.overlay_plan import OverlayCost, colluding_of
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel
from shuffledp.randomizers import LdpModel

MOST_USERS = 10**7
USUAL_CONTACTS = 100
_SHOWN = 6  # numbers of rounds shown from one on, beside the largest possible one
_DEGREE = 8  # of the random graph beside them
_NEAR = 1.05  # times the epsilon of a uniform shuffle: an epsilon at most this is enough
_POINTS = 8  # of its curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached(Described):
    """Epsilon of walks on a random graph after a number of rounds."""

    rounds: int
    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomGraph(Described):
    """Walks on a random regular graph, for comparison with overlays.

    No graph is drawn: positions are as alike as they usually are (``laws.typical_walks``). So this is no
    guarantee; a plan of the graph itself has one, of about as many rounds.

    Args:
        degree: contacts of everybody.
        rounds: the fewest after which epsilon is at most 1.05 times that of an overlay; None if none are.
        messages: reports that a person is expected to pass on, which is as many.
        slots: those that a person sends in all, as for `OverlayCost`; None without rounds.
        first_hop: as for `OverlayCost`.
        exposure: likewise; None without rounds.
        by_rounds: some numbers of rounds, ascending, the fewest among them.
    """

    degree: int
    rounds: int | None
    messages: float | None
    slots: int | None
    first_hop: float
    exposure: float | None
    by_rounds: tuple[Reached, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayDesigns(Described):
    """Overlays for one number of people, each exactly equal to a uniform shuffle.

    Args:
        num_users: people.
        epsilon0: local loss of one report, in nats; of any randomizer.
        delta: of the guarantee.
        colluders: share of the people who collude, in what is exposed.
        contacts: the most that anybody may need; None if there is no limit.
        rounds: the most rounds; None if there is no limit.
        epsilon: what is guaranteed on each of them.
        epsilon_watched: the same of the one to choose against somebody who watches all messages, if links have slots.
        links: what these cost there.
        designs: ascending by rounds.
        best: the place among them of the one to choose: the fewest rounds within the limits, or if only rounds are
            limited the fewest contacts. Messages, exposure and the time it takes grow with rounds.
        random_graph: to compare with; None for too few people.
    """

    num_users: int
    epsilon0: float
    delta: float
    colluders: float
    contacts: int | None
    rounds: int | None
    epsilon: float
    epsilon_watched: float
    links: LinksPlan | None
    designs: tuple[OverlayCost, ...]
    best: int
    random_graph: RandomGraph | None

    @property
    def chosen(self) -> OverlayCost:
        """Recommended overlay with its cost."""
        return self.designs[self.best]

    @property
    def task_lines(self) -> tuple[str, ...]:
        """Lines of the table ``[shuffler]`` for the recommended overlay.

        Where contacts are limited it is that limit, so that other numbers of people get an overlay too.
        """
        chosen = f"groups = {list(self.chosen.sizes)}" if self.contacts is None else f"contacts = {self.contacts}"
        return ("[shuffler]", 'kind = "network"', f"overlay = {{{chosen}}}")

    def to_dict(self) -> dict[str, object]:
        """JSON object of ``shuffledp graph design --json`` (``graph_design`` in docs/schema.json)."""
        return {**super(OverlayDesigns, self).to_dict(), "task_lines": list(self.task_lines)}


def design_overlays(
    num_users: int,
    *,
    contacts: int | None = None,
    rounds: int | None = None,
    colluders: float = 0.01,
    epsilon0: float = 1.0,
    delta: float = 1e-6,
) -> OverlayDesigns:
    """Designs of overlays, and the best one within the limits.

    Args:
        num_users: people, from 2 to ten millions.
        contacts: the most that anybody may need; None is 100, unless rounds are limited.
        rounds: the most rounds; None is no limit.
        colluders: share of the people who collude, below 1, in what is exposed.
        epsilon0: local loss of one report, in nats.
        delta: of the guarantee, strictly between 0 and 1.

    Raises:
        InvalidParameterError: if an argument is out of range, or no overlay is within the limits.

    Example:
        >>> found = design_overlays(10_000, contacts=40)
        >>> found.chosen.sizes, found.chosen.contacts, round(found.chosen.messages, 3), found.task_lines[-1]
        ((10, 10, 10, 10), 36, 3.6, 'overlay = {contacts = 40}')
    """
    validate.integer_at_least(2, num_users=num_users)
    if num_users > MOST_USERS:
        raise invalid(f"at most {MOST_USERS} here", num_users=num_users)
    validate.probability(colluders=colluders)
    if colluders == 1:
        raise invalid("below 1: nobody would be left to protect", colluders=colluders)
    best, limit = _best(num_users, contacts, rounds)
    colluding, local = colluding_of(colluders, num_users), LdpModel(epsilon0=epsilon0)
    shown = {*range(1, min(_SHOWN, most_rounds(num_users)) + 1), most_rounds(num_users), best.num_rounds}
    overlays = [Overlay.in_rounds(num_users, number) for number in sorted(shown)]
    designs = tuple(OverlayCost.of(each, colluding=colluding, delta=delta) for each in overlays)
    chosen = designs[overlays.index(best)]
    walks = RandomWalkShuffler(graph=best, num_rounds=best.num_rounds)
    watched = RandomWalkShuffler(graph=best, num_rounds=best.num_rounds, slots=chosen.slots_per_link)
    epsilon, epsilon_watched = (
        epsilon_of(account(ProtocolModel(local=local, shuffle=each.model(num_users)), delta=delta).guarantee)
        for each in (walks, watched)
    )
    return OverlayDesigns(
        num_users=num_users,
        epsilon0=epsilon0,
        delta=delta,
        colluders=colluders,
        contacts=limit,
        rounds=rounds,
        epsilon=epsilon,
        epsilon_watched=epsilon_watched,
        links=plan_links(watched, local, epsilon_watched),
        designs=designs,
        best=overlays.index(best),
        random_graph=_random_graph(num_users, limit, local, delta=delta, epsilon=epsilon, colluding=colluding),
    )


def _best(num_users: int, contacts: int | None, rounds: int | None) -> tuple[Overlay, int | None]:
    """Recommended overlay, and the limit of contacts that it keeps; None if only rounds are limited."""
    if rounds is not None:
        validate.integer_at_least(1, rounds=rounds)
    if contacts is None and rounds is not None:
        most = min(rounds, most_rounds(num_users))
        return min((Overlay.in_rounds(num_users, each + 1) for each in range(most)), key=_contacts), None
    limit = USUAL_CONTACTS if contacts is None else contacts
    found = Overlay.within(num_users, contacts=limit)
    if rounds is not None and found.num_rounds > rounds:
        least = Overlay.in_rounds(num_users, rounds).most_contacts
        raise invalid(
            f"{found.num_rounds} or more with contacts={limit}; or contacts {least}, for that many rounds",
            rounds=rounds,
        )
    return found, limit


def _contacts(overlay: Overlay) -> int:
    return overlay.most_contacts


# ---- random graphs beside them ---------------------------------------------------------------------------------------


def _random_graph(
    num_users: int, contacts: int | None, local: LocalModel, *, delta: float, epsilon: float, colluding: int
) -> RandomGraph | None:
    """Walks on a random regular graph; None for too few people."""
    degree = min(_DEGREE, contacts or _DEGREE)
    degree -= degree * num_users % 2
    if degree < 3 or num_users <= 4 * degree:
        return None
    typical = _TypicalModel(num_users=num_users, degree=degree, local=local, delta=delta)
    enough = _NEAR * epsilon
    rounds = typical.fewest(enough) if enough < local.epsilon0 else None
    last = rounds or typical.mixed
    numbers = sorted({last, *(max(2, round(last * place / (_POINTS - 2))) for place in range(1, _POINTS + 1))})
    exposed = partial(average_exposure, num_users=num_users, num_colluding=colluding)
    return RandomGraph(
        degree=degree,
        rounds=rounds,
        messages=rounds,
        slots=None if rounds is None else typical.slots(rounds),
        first_hop=exposed(num_rounds=1),
        exposure=None if rounds is None else exposed(num_rounds=rounds),
        by_rounds=tuple(Reached(rounds=number, epsilon=typical.epsilon(number)) for number in numbers),
    )


@dataclass(frozen=True, kw_only=True)
class _TypicalModel:
    """Model of walks on a typical random regular graph."""

    num_users: int
    degree: int
    local: LocalModel
    delta: float

    @cached_property
    def mixed(self) -> int:
        """Rounds until each place holds nearly its share of reports: n times the decay is below 0.001."""
        return math.ceil(math.log(1000 * self.num_users) / -math.log(decay(self.degree)))

    def epsilon(self, num_rounds: int) -> float:
        """Epsilon that would be stated after this number of rounds."""
        usual = usual_likeness(self.num_users, self.degree, num_rounds)
        model = RandomWalkShuffleModel(
            num_users=self.num_users,
            num_rounds=num_rounds,
            graph_digest="",
            irregularity=1.0,
            mean_overlap=usual.mean_overlap,
            near_uniformity=usual.near_uniformity,
            separation=usual.separation,
            position_probabilities=(min(1.0, usual.largest / self.num_users),),
            position_counts=(self.num_users,),
        )
        return epsilon_of(account(ProtocolModel(local=self.local, shuffle=model), delta=self.delta).guarantee)

    def fewest(self, enough: float) -> int | None:
        """Fewest rounds with an epsilon of at most ``enough``.

        None if twice the mixing rounds are too few.
        """
        last = 2 * self.mixed
        if self.epsilon(last) > enough:
            return None
        return bisect_left(range(last), True, lo=1, key=lambda rounds: self.epsilon(rounds) <= enough)

    def slots(self, num_rounds: int) -> int:
        """Number of slots that a person sends over all rounds, if each holds one report."""
        links, part = self.num_users * self.degree, SURPLUS_SHARE * self.delta / max(num_rounds - 1, 1)
        each = 1
        while links * self.degree ** -(each + 1) / math.factorial(each + 1) > part:
            each += 1
        return self.degree * (1 + (num_rounds - 1) * each)
