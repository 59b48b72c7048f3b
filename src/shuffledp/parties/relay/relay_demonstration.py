"""Demonstration of a relay on this machine: a post office, and members as processes with short-lived keys.

One operator plays all parties and sees the answers, so that nobody is protected; the release says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.core.flow import Progress
from shuffledp.core.instants import written
from shuffledp.parties.relay.attendance import Attendance
from shuffledp.parties.relay.directory import Directory
from shuffledp.parties.relay.http_transport import HttpTransport
from shuffledp.parties.relay.mailboxes import letters_kept
from shuffledp.parties.relay.member_keys import MemberKey
from shuffledp.parties.relay.member_processes import PATIENCE, Member, Processes, run_members
from shuffledp.parties.relay.post_office_client import HttpConnection, PostOfficeClient
from shuffledp.parties.relay.relay_release import HandIns, gather_hand_ins
from shuffledp.parties.relay.rounds import begin, prepare
from shuffledp.parties.relay.sealed_hand_ins import sealed_report
from shuffledp.parties.relay.terms import RelayTerms
from shuffledp.parties.service.demonstration import COLLECTION_FILE, LIFE, end, free_ports, party, started, wait_for
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey
from shuffledp.protocols.network.laws.link_slots import slots_sent
from shuffledp.protocols.network.laws.overlay_loads import leaving_chances
from shuffledp.protocols.network.people.overlays import Overlay, most_rounds
from shuffledp.protocols.network.planning.network_rounds import epsilon_of_uniform
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.randomness.sources import SecureSource, uniform_integers
from shuffledp.survey import Collection, Task

_DIRECTORY, _OFFICE = "demo.directory", "post-office"
_MOST_PEOPLE, _CONTACTS = 100_000, 40
_AWAY_FOR = 20.0  # seconds until a member counts as away
_CYCLES, _GATE = 4, 1.25  # overlay cycles; gate as a multiple of the epsilon of a uniform shuffle of the members left
_SHARE = 3  # of ten members say yes
_EPSILON0, _DELTA = 1.0, 1e-6
_LAYERS = {"onion": True, "colluding": 0.005, "surplus": "aborts"}
_MOST_IN_LAYERS, _ROUNDS_IN_LAYERS = 400, 5  # all members are contacts of each other


class Demonstration:
    """Relay of a demonstration, with its post office at work.

    Args:
        terms: terms of the relay.
        keys: private keys of the members, by place.
        analyst: private key that opens hand-ins.
        folder: folder of the members' journals.
    """

    def __init__(self, terms: RelayTerms, keys: Sequence[MemberKey], analyst: AnalyzerKey, folder: Path) -> None:
        self.terms, self.analyst = terms, analyst
        self._keys, self._folder = keys, folder

    def everybody_takes_part(self, progress: Progress, *, num_processes: int | None = None, away: int = 0) -> None:
        """Start the members, and wait until all have handed in.

        Args:
            progress: told the number of ended stages.
            num_processes: number of processes that members share as coroutines; None is one process per member.
            away: number of member processes that are killed after the set-up.

        Raises:
            RemoteProtocolError: if a member that was not killed does not hand in.
        """
        people = self.terms.num_users
        shares = people if num_processes is None else min(num_processes, people)
        validate.integer_at_least(1, processes=shares)
        everybody = [Member(*each) for each in zip(self._keys, self._reports(), strict=True)]
        self._warm_up()
        members = Processes()
        try:
            members.start(
                [partial(run_members, self.terms, everybody[share::shares], self._folder) for share in range(shares)]
            )
            stages = self.terms.hand_in_stage + 1
            with self._client() as client:
                attendance = Attendance(self.terms.collection_id, people)
                for stage in range(stages):
                    record = client.record(stage)
                    if stage <= self.terms.num_rounds:
                        attendance = attendance.followed_by(record)
                    if stage == 0:
                        members.kill(away)
                    progress(stage + 1, stages)
            if failed := members.wait():
                raise RemoteProtocolError(
                    f"all members must hand in; in {failed} of {shares} processes some did not. "
                    f"{_why_not(attendance, away)}"
                )
        finally:
            members.kill(shares)

    @contextmanager
    def _client(self) -> Iterator[PostOfficeClient]:
        """Client of the post office for reading only: it posts no letters."""
        with closing(HttpConnection(self.terms.collection.shuffler.url)) as connection:
            yield PostOfficeClient(self.terms, connection, None, patience=PATIENCE, patience_of_stage=PATIENCE)

    def _warm_up(self) -> None:
        """Load code and compute shared values before the fork, so that all processes share them."""
        self.terms.directory.place_of(self._keys[0].identity)
        prepare(self.terms, self._keys[0], begin(self.terms, 0, bytes(self.terms.report_bytes)))
        with closing(HttpConnection(self.terms.collection.shuffler.url)) as connection:
            connection.answer("GET", "healthz", b"")

    async def gather_hand_ins(self) -> HandIns:
        """Hand-ins of all members."""
        with self._client() as client:
            return await gather_hand_ins(self.terms, HttpTransport(client), [self.analyst])

    def letters_sent(self) -> tuple[int, int]:
        """Number and bytes of letters in all rounds, from the store of the ended post office."""
        kept = self._folder.parent / _OFFICE / self.terms.collection_id.hex()
        return letters_kept(kept, range(1, self.terms.num_rounds + 1))

    def _reports(self) -> list[bytes]:
        """Sealed reports of made-up, randomized answers."""
        randomizer, source = self.terms.collection.task.columns[0].randomizer.randomizer(), SecureSource()
        answers = uniform_integers(10, self.terms.num_users, source=source) < _SHARE
        reports = randomizer.randomize(answers.astype(np.int64), source=source)
        return [sealed_report(self.terms, reports.take([person])) for person in range(self.terms.num_users)]


def _why_not(attendance: Attendance, away: int) -> str:
    """Reason why members did not hand in when ``away`` members were made to leave, with a remedy."""
    late = attendance.num_away - away
    if late > 0:
        return (
            f"Besides the {away} who left, {late} of {attendance.num_users} members were late by {_AWAY_FOR:g} seconds "
            "in some round, and counted as away: this machine is too busy. Try again when it has less to do, or take "
            "fewer people."
        )
    if away:
        return f"Too few were left of {attendance.num_users} members for the gate to open: take more people."
    return "Nobody was away: look for what else went wrong on this machine."


@contextmanager
def demonstration(
    people: int, rounds: int | None, degree: int | None, folder: Path, *, onion: bool = False, away: int = 0
) -> Iterator[Demonstration]:
    """Relay of made-up members, whose post office runs in a process of its own until the block ends.

    Args:
        people: number of members, from 3 to 100,000.
        rounds: rounds of the walk; None takes few, with at most 40 contacts if possible.
        degree: degree of a random regular graph; None is an overlay.
        folder: empty folder for keys, configurations, states and logs; remove it afterwards.
        onion: whether reports are in layers, against one member in 200 who may collude; up to 400 people in one
            group, 5 rounds by default.
        away: number of members who leave after the set-up; a gate is added, and the overlay's cycle is
            repeated.

    Raises:
        InvalidParameterError: if an argument is out of range.
        RemoteProtocolError: if the post office does not start.
    """
    validate.integer_at_least(3, people=people)
    most = _MOST_IN_LAYERS if onion else _MOST_PEOPLE
    if people > most:
        raise validate.invalid(f"from 3 to {most:,}{' in layers' * onion}", people=people)
    now, (port, other) = datetime.now(UTC), free_ports(2)
    operator, analyst = ShufflerKey.generate(), AnalyzerKey.generate()
    keys = [MemberKey.generate() for _ in range(people)]
    directory = Directory.signed([key.entry(f"member-{place}") for place, key in enumerate(keys)], operator)
    collection = Collection.new(
        _task(people, rounds, degree, onion=onion, away=away),
        shuffler=party(folder, operator, port, now),
        analyzer=party(folder, analyst, other, now),
        closes=written(now + LIFE),
        now=now,
        directory=directory.bound,
        demonstration=True,
    )
    (folder / COLLECTION_FILE).write_bytes(collection.canonical)
    (folder / _DIRECTORY).write_bytes(directory.canonical)
    own = (
        f'directories = ["{_DIRECTORY}"]\npatience = {_AWAY_FOR if away else PATIENCE}\n'
        f"[limits]\nmost_connections = {2 * people + 100}\n"
    )
    by_identity = {key.identity: key for key in keys}
    in_places = [by_identity[each.identity_key] for each in directory.entries]
    process = started(["relay", "serve"], folder / f"{_OFFICE}.toml", port, own)
    try:
        wait_for(process)
        terms = RelayTerms(collection=collection, directory=directory)
        yield Demonstration(terms, in_places, analyst, folder / "members")
    finally:
        end([process])


def traffic_of(terms: RelayTerms) -> Mapping[str, float]:
    """Mean traffic of a member over all rounds, and the greatest number of bytes that a member sends."""
    people, rounds = range(terms.num_users), range(1, terms.num_rounds + 1)
    letters = [[terms.letters(person, stage) for stage in rounds] for person in people]
    sent = [sum(sum(each.values()) for each in of_person) for of_person in letters]
    ways = terms.ways
    leaving: float = terms.num_rounds
    if isinstance(ways, Overlay):
        leaving = sum(leaving_chances(ways)) * terms.num_rounds / ways.num_rounds
    return {
        "people": terms.num_users,
        "rounds": terms.num_rounds,
        "letters": float(np.mean([sum(map(len, of_person)) for of_person in letters])),
        "bytes": float(np.mean(sent)),
        "bytes_most": float(max(sent)),
        "slots": float(slots_sent(ways, terms.slots).mean()),
        "messages": float(leaving),
    }


def _task(people: int, rounds: int | None, degree: int | None, *, onion: bool, away: int) -> Task:
    """Task with a yes/no question whose reports walk."""
    if away and (onion or degree is not None):
        raise validate.invalid("0 on a graph, and for reports in layers, which no gate goes with", away=away)
    if degree is not None:
        walk: dict[str, Any] = {"graph": f"random-regular:{degree}", "rounds": rounds or 15, "graph_seed": 1}
    elif onion:
        walk = {"overlay": {"groups": [people]}, "rounds": rounds or _ROUNDS_IN_LAYERS}
    elif rounds is not None:
        if not 1 <= rounds <= most_rounds(people):
            raise validate.invalid(f"from 1 to {most_rounds(people)} on an overlay of {people:,}", rounds=rounds)
        walk = {"overlay": {"groups": list(Overlay.in_rounds(people, rounds).sizes)}}
    else:
        numbers = range(1, most_rounds(people) + 1)
        several = (Overlay.in_rounds(people, number) for number in numbers)
        found = next((each for each in several if each.most_contacts <= _CONTACTS), None)
        if found is None:
            raise InvalidParameterError(
                f"rounds must be given for people={people}: no number of rounds needs at most 40 contacts."
            )
        walk = {"overlay": {"groups": list(found.sizes)}}
    if away:
        walk |= _behind_gate(people, away, len(walk["overlay"]["groups"]))
    return Task.from_dict(
        {
            "name": "Forum: made-up members who pass reports on",
            "value": "sleeps badly",
            "randomizer": {"kind": "k-rr", "epsilon0": _EPSILON0, "categories": ["No", "Yes"]},
            "shuffler": {"kind": "network", "links": "constant"} | walk | (_LAYERS if onion else {}),
            "release": {"delta": _DELTA, "minimum_batch": 3},
        }
    )


def _behind_gate(people: int, away: int, cycle: int) -> dict[str, Any]:
    """Keys ``rounds`` and ``gate`` of a task whose gate most likely opens though ``away`` members leave."""
    if not 0 < 2 * away < people:
        raise validate.invalid("0, or fewer than half of the members, who could not agree on anything", away=away)
    local = KaryRandomizedResponse(epsilon0=_EPSILON0, domain_size=2).model
    gate = _GATE * epsilon_of_uniform(local, people - away, _DELTA)
    if gate >= _EPSILON0:
        raise validate.invalid(
            f"larger with away={away}: a gate opens where more are left to hide among", people=people
        )
    return {"rounds": _CYCLES * cycle, "gate": gate}
