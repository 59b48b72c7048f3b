"""A relay whose hand-ins were opened and not released says what was lost; one that stopped before, that nothing was."""

import json

import pytest

from parties.relay.test_post_office import everybody, in_office
from shuffledp.core.errors import InputDataError
from shuffledp.parties.relay.relay_release import gather_hand_ins, write_relay_release
from shuffledp.parties.relay.rounds import HandInRefusedError
from shuffledp.survey import EarlierRelease


class Changing:
    """A transport on which what is handed in by some member comes as this makes it."""

    def __init__(self, transport, changed):
        self.transport, self.changed = transport, changed

    async def record(self, stage):
        return await self.transport.record(stage)

    async def fetch(self, stage, recipient):
        record, letters = await self.transport.fetch(stage, recipient)
        if recipient == -2:
            letters = letters | {2: self.changed(letters[2])}
        return record, letters


def test_reports_that_were_opened_and_not_released_are_counted_by_their_own_loss(tmp_path):
    async def work(office):
        await everybody(office)
        keys = [office.circle.analyst]
        found = await gather_hand_ins(office.terms, office.transport(), keys)
        holder = next(person for person, several in found.by_member.items() if several)
        found.by_member[holder] = found.by_member[holder][1:]
        with pytest.raises(InputDataError, match=r"got 5. Nothing was released. Reports were seen: count that with"):
            write_relay_release(office.terms, found, keys, tmp_path / "release")

    in_office(tmp_path, work)
    said = json.loads((tmp_path / "release" / "statement.json").read_text())
    assert [each.name for each in (tmp_path / "release").iterdir()] == ["statement.json"]
    assert "got 5" in said["not_released"]
    assert (said["estimates"], said["flow"]["released"], said["num_reports"]) == ([], 0, 6)
    assert said["statements"][0]["guarantee"] == {
        "type": "central-dp", "epsilon": 1.0, "delta": 0.0, "neighbors": "replace-one",
    }  # fmt: skip
    assert EarlierRelease.read(tmp_path / "release" / "statement.json").headline.guarantee.epsilon == 1.0


def test_a_hand_in_that_is_none_names_its_member_and_what_the_others_handed_in_counts(tmp_path):
    async def work(office):
        await everybody(office)
        keys = [office.circle.analyst]
        changing = Changing(office.transport(), lambda letter: letter[:-1] + bytes([letter[-1] ^ 1]))
        found = await gather_hand_ins(office.terms, changing, keys)
        name = office.terms.directory.entries[2].name
        with pytest.raises(InputDataError, match=f"what member {name} hands in must be signed .* Reports were seen"):
            write_relay_release(office.terms, found, keys, tmp_path / "release")

    in_office(tmp_path, work)
    assert EarlierRelease.read(tmp_path / "release" / "statement.json").headline.guarantee.epsilon == 1.0


def test_a_relay_that_stops_before_the_hand_in_says_that_nothing_was_seen(tmp_path):
    async def work(office):
        taken = office.office.take

        async def dropping(stage, sender, letters):
            return True if (stage, sender) == (1, 4) else await taken(stage, sender, letters)

        office.office.take = dropping
        began = office.clock()
        office.clock = lambda: began + (1e4 if office.office._came >= set(range(6)) - {4} else 0.0)
        await everybody(office)
        with pytest.raises(HandInRefusedError, match=r"Nothing is handed in. So the analyst has seen no report"):
            await gather_hand_ins(office.terms, office.transport(), [office.circle.analyst])

    in_office(tmp_path, work)
