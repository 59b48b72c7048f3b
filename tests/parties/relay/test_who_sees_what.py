"""Who sees what in a relay, as the page about it says: the cells of its table, one test each."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from parties.relay.members import Circle
from parties.relay.test_post_office import Office, everybody
from parties.relay.together import Together
from shuffledp.core.errors import RemoteProtocolError, UndecryptableReportError
from shuffledp.parties.relay.attendance import record_of
from shuffledp.parties.relay.links import Link
from shuffledp.parties.relay.terms import ANALYST
from shuffledp.parties.wire.grammar import HpkeCiphertext
from shuffledp.parties.wire.hpke import Opener
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.testing import SeededSource

PAGE = Path(__file__).parents[3] / "docs" / "relay.md"
CELLS = {
    "the post office": "who takes part, and when; letters of one length on every link, and none of what is in them",
    "somebody who watches all traffic": "the same",
    "whoever has the collection file, and asks the post office": "the same, and the directory",
    "a contact": "the sealed reports that pass through its hands, and from whom; in the first round whose they are",
    "the analyst": "who handed in which reports, opened; not whose they are",
    "the operator, who signs the directory": "names, keys and fingerprints of the members",
    "a contact who colludes": "layers that it takes off, from whom they came and to whom they go; in the first round "
    "whose they are; a sealed report only in the last",
    "contacts who collude, with somebody honest between them": "nothing by which to find again what passed through "
    "those hands: other bytes, of one length",
}  # of layers: `test_onion`


def test_the_page_has_these_cells():
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines()]
    assert {row[0]: row[1] for row in rows if row[0] in CELLS} == CELLS


def test_the_post_office_has_no_sealed_report_no_answer_and_no_key_on_its_disk_or_in_its_log(tmp_path):
    office = Office(tmp_path)

    async def running():
        async with office.open():
            assert await everybody(office) == [None] * 6

    asyncio.run(running())
    kept = b"".join(file.read_bytes() for file in (tmp_path / "office").iterdir())
    assert len(kept) > 20_000
    for report in office.reports:
        assert report[3:35] not in kept  # its encapsulated secret: 32 random bytes
    assert {line.split('"')[3] for line in office.lines} == {"stage-ended"}
    sizes = {stage: {len(letter) for _, letter in mail} for stage, mail in stored(tmp_path).items()}
    assert all(len(each) == 1 for each in sizes.values())


def test_whoever_has_the_collection_file_gets_records_letters_and_the_directory_of_the_post_office(tmp_path):
    office, paths = Office(tmp_path), ("stages/1/record", "stages/1/mail/2", "directory")
    collection = office.terms.collection

    async def running():
        async with office.open():
            assert await everybody(office) == [None] * 6
            asked = f"{collection.shuffler.url}{collection.path}"
            return [(await office.client.get(f"{asked}/{path}")).content for path in paths]

    record, mail, directory = asyncio.run(running())
    assert record == mail[: len(record)] == record_of(range(6), 6)
    assert mail[len(record) :] == b"".join(letter for _, letter in kept_for(tmp_path, stage=1, recipient=2))
    assert directory == office.circle.directory.canonical


def kept_for(tmp_path, *, stage, recipient):
    with closing(sqlite3.connect(tmp_path / "office" / "letters.sqlite")) as database:
        to = "SELECT sender, body FROM letters WHERE stage = ? AND recipient = ? ORDER BY sender"
        return database.execute(to, (stage, recipient)).fetchall()


def stored(tmp_path):
    database = sqlite3.connect(tmp_path / "office" / "letters.sqlite")
    rows = database.execute("SELECT stage, sender, body FROM letters").fetchall()
    database.close()
    found = {}
    for stage, sender, body in rows:
        found.setdefault(stage, []).append((sender, body))
    return found


def test_a_colluding_member_sees_what_passes_through_its_hands_and_can_open_no_other_letter():
    circle = Circle(people=12, overlay={"groups": [3, 4]})
    sources = [SeededSource(person) for person in range(12)]
    together = Together(circle, [0] * 12, sources=sources)
    spy, seen, places = 5, {}, [{report: person for person, report in enumerate(together.reports)}]
    for stage in range(together.terms.num_rounds + 1):
        together.send()
        keys = together.states[spy].keys
        if stage:
            for sender, letter in together.mail_of(spy).items():
                link = Link(collection_id=together.terms.collection.id, sender=sender, recipient=spy)
                opened = link.open(keys.inward[sender], stage, letter)
                for report in together.reports:
                    if report in opened:
                        seen[stage, report] = sender
            own = [*keys.inward.values(), *keys.outward.values()]
            others = [
                (state.person, to, letter)
                for state in together.states
                for to, letter in state.letters.items()
                if spy not in (state.person, to)
            ]
            assert others
            for sender, to, letter in others:
                link = Link(collection_id=together.terms.collection.id, sender=sender, recipient=to)
                for key in own:
                    with pytest.raises(RemoteProtocolError):
                        link.open(key, stage, letter)
        together.receive()
        if stage:
            places.append(together.held())
    truth = {
        (stage, report): places[stage - 1][report]
        for stage in range(1, len(places))
        for report in together.reports
        if places[stage][report] == spy != places[stage - 1][report]
    }
    assert seen == truth
    assert truth
    assert all(together.reports.index(report) == sender for (stage, report), sender in seen.items() if stage == 1)


def test_nobody_but_the_analyst_opens_a_report_or_a_hand_in():
    circle = Circle()
    together = Together(circle, [0] * 6).walk()
    for _ in range(2):
        together.send()
        if together.stage == together.terms.vote_stage:
            together.receive()
    other = AnalyzerKey.generate(other_than=[circle.analyst.config.id])
    opener = Opener.by([other], collection_id=together.terms.collection.id, column=0)
    for report in together.reports:
        with pytest.raises(UndecryptableReportError):
            opener.open(HpkeCiphertext.decode(report))
        assert report[3:35] not in b"".join(state.letters[ANALYST] for state in together.states)


def test_the_directory_has_names_keys_and_nothing_else():
    (fields,) = {tuple(each.to_dict()) for each in Circle().directory.entries}
    assert fields == ("name", "identity", "opening", "signature")
