"""Members and the post office as processes that are killed, again and again: no report is lost, and none is doubled."""

import asyncio
import multiprocessing
import secrets
import time
from collections import Counter
from contextlib import closing

import pytest

from parties.relay.members import Circle
from parties.relay.together import sealed_reports, terms_of
from shuffledp.parties.relay.http_transport import HttpTransport
from shuffledp.parties.relay.member_processes import Member, run_members
from shuffledp.parties.relay.post_office_client import HttpConnection, PostOfficeClient
from shuffledp.parties.relay.relay_release import gather_hand_ins
from shuffledp.parties.service.demonstration import COLLECTION_FILE, end, free_ports, started, wait_for

PEOPLE = 8


class Processes:
    """A post office and members, each a process that can be killed and started again."""

    def __init__(self, tmp_path):
        (self.port,) = free_ports(1)
        self.circle = Circle(people=PEOPLE, url=f"http://127.0.0.1:{self.port}", overlay={"groups": [2, 2, 2]})
        self.terms, self.folder = terms_of(self.circle), tmp_path
        self.reports = sealed_reports(self.terms, [0, 1] * (PEOPLE // 2))
        (tmp_path / COLLECTION_FILE).write_bytes(self.circle.collection.canonical)
        (tmp_path / "d").write_bytes(self.circle.directory.canonical)
        self.office = None
        self.members = {person: self.member(person) for person in range(PEOPLE)}

    def member(self, person):
        given = [Member(self.circle.keys[person], self.reports[person])]
        process = multiprocessing.get_context("fork").Process(
            target=run_members, args=(self.terms, given, self.folder / "members")
        )
        process.start()
        return process

    def start_office(self):
        own = 'directories = ["d"]\npatience = 3600.0\n'
        self.office = started(["relay", "serve"], self.folder / "office.toml", self.port, own)
        wait_for(self.office)

    def kill_office(self):
        self.office.kill()
        self.office.wait()
        self.office.stdout.close()

    def kill_member(self):
        """Somebody who is still at work, if anybody is; started again at once."""
        working = [person for person, process in self.members.items() if process.is_alive()]
        if working:
            person = working[secrets.randbelow(len(working))]
            self.members[person].kill()
            self.members[person].join()
            self.members[person] = self.member(person)

    def handed_in(self):
        with closing(HttpConnection(self.terms.collection.shuffler.url)) as to:
            client = PostOfficeClient(self.terms, to, None, patience=30.0, patience_of_stage=60.0)
            found = asyncio.run(gather_hand_ins(self.terms, HttpTransport(client), [self.circle.analyst]))
        return Counter(each.encode() for several in found.by_member.values() for each in several)


@pytest.mark.deep
@pytest.mark.parametrize("kills", [10])
def test_nothing_is_lost_or_doubled_where_members_and_the_post_office_are_killed(tmp_path, kills):
    processes = Processes(tmp_path)
    try:
        processes.start_office()
        for number in range(kills):
            time.sleep(0.05 * secrets.randbelow(20))
            processes.kill_member()
            if number % 3 == 0:
                processes.kill_office()
                processes.start_office()
        for process in processes.members.values():
            process.join(120)
        assert [process.exitcode for process in processes.members.values()] == [0] * PEOPLE
        assert processes.handed_in() == Counter(processes.reports)
    finally:
        for process in processes.members.values():
            process.kill()
        end([processes.office])
