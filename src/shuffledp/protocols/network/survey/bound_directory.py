"""The directory of members that a collection names, by digest and size; their machines pass its reports on."""

from dataclasses import dataclass
from typing import ClassVar

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.people.overlays import Contacts
from shuffledp.protocols.network.survey.network_section import NetworkSection
from shuffledp.protocols.network.survey.walk_keys import AUTO, LINKS
from shuffledp.randomness.replayable import SeededSource
from shuffledp.survey.section import require_sha256
from shuffledp.survey.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDirectory(Described):
    """A directory of members, fixed by its digest; directory and task together fix the contacts of each member.

    Args:
        sha256: of the directory's file, in hexadecimal.
        people: how many members there are.
    """

    title: ClassVar[str] = "directory"
    sha256: str
    people: int

    def __post_init__(self) -> None:
        require_sha256(sha256=self.sha256)
        validate.integer_at_least(2, people=self.people)

    def check_fits(self, task: Task) -> None:
        """Refuse a task whose reports these members could not pass on, or not all members in the same way.

        Raises:
            InvalidParameterError: for a task without walks, of several columns or files, of walks that lose reports or
                add any, or whose rounds or graph not everybody would find alike; or with an overlay, or a smallest
                batch, that does not fit the members.
        """
        section = task.shuffler
        if not isinstance(section, NetworkSection):
            raise validate.invalid("'network' where members pass reports on", **{"[shuffler] kind": section.kind})
        reasons = {
            "several private columns": "everybody passes on one report of each" if len(task.columns) > 1 else None,
            "a graph in a file": "places follow from members' keys, so that friends in it would be other people here"
            if section.files
            else None,
            f"protocol {section.protocol!r}": "a relay has 'all'" if section.protocol != "all" else None,
            "dropouts or offline": "what happened is recorded" if section.dropouts or section.offline else None,
            "links = 'naive'": "envelopes go along all links, as with 'constant'"
            if section.links == LINKS[0]
            else None,
            "surplus = 'aborts'": "what finds no slot waits"
            if section.surplus == "aborts" and not section.onion
            else None,
            "surplus = 'waits' where onion = true": "the way of a report is fixed by its layers; give 'aborts'"
            if section.surplus == "waits" and section.onion
            else None,
            "rounds = 'auto' where onion = true": "they must be a number"
            if section.rounds == AUTO and section.onion
            else None,
        }
        if section.overlay is None and not section.files:
            reasons |= {
                "rounds = 'auto' on a graph": "they must be a number" if section.rounds == AUTO else None,
                "a random graph without graph_seed": "all draw the same" if section.graph_seed is None else None,
            }
        for part, why in reasons.items():
            if why:
                raise InvalidParameterError(f"a task whose reports members pass on must be without {part}: {why}.")
        if self.people < task.release.minimum_batch:
            raise validate.invalid(f"at least minimum_batch={task.release.minimum_batch}", people=self.people)
        try:
            self.ways(section)
        except InvalidParameterError as error:
            reason = str(error)
        else:
            return
        raise InvalidParameterError(f"[shuffler] must fit the {self.people} members of the directory: {reason}")

    def ways(self, section: NetworkSection) -> Contacts:
        """The contacts of each member: the task's overlay, or the random graph drawn for these members.

        Raises:
            InvalidParameterError: if there is none for so many.
        """
        if section.overlay is not None:
            return section.overlay.of(self.people)
        seed = SeededSource(section.graph_seed or 0)
        return (Graph.random_regular(section.degree or 0, self.people, source=seed),)
