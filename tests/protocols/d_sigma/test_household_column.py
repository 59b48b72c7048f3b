"""Who lives together, from a column that a plan reads and no release tells of."""

import csv
import tomllib

import pytest

from cli.running import shuffledp
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.files.people_files import read_around, read_households
from shuffledp.protocols.d_sigma.planning.households import household_chances, household_odds
from shuffledp.protocols.d_sigma.planning.personal_promises import promises_of
from shuffledp.survey import Task

PEOPLE = 240
TASK = """name = "street"
value = "ill"
public = ["km"]
[people]
household = "home"
[randomizer]
kind = "k-rr"
epsilon0 = 0.5
categories = ["no", "yes"]
[shuffler]
kind = "noisy-sort"
alpha = 16.0
[groups]
columns = ["km"]
radius = 1.0
[release]
delta = 1e-6
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Homes of three and two in turn, one person alone, and a couple that lives far apart."""
    folder = tmp_path_factory.mktemp("homes")
    homes = [f"h{place // 5}{'ab'[place % 5 > 2]}" for place in range(PEOPLE)]
    homes[0], homes[1], homes[2], homes[-1] = "", "pair", "", "pair"
    with (folder / "people.csv").open("w", newline="") as file:
        rows = [[f"{place / 12:.2f}", home, "no"] for place, home in enumerate(homes)]
        csv.writer(file).writerows([["km", "home", "ill"], *rows])
    (folder / "task.toml").write_text(TASK)
    return folder


def test_people_with_the_same_text_live_together_and_those_without_one_alone(folder):
    found = [rows.tolist() for rows in read_households(folder / "people.csv", "home")]
    assert [1, PEOPLE - 1] in found
    assert [5, 6, 7] in found
    assert [8, 9] in found
    assert not any({0, 2} & set(rows) for rows in found)


def test_a_plan_promises_to_the_households_that_there_are(folder):
    task = Task.read(folder / "task.toml")
    grouping = read_around(task, folder, people=folder / "people.csv")
    shuffler = task.shuffler.shuffler(grouping)
    local = task.column.randomizer.randomizer().model
    found = promises_of(shuffler, grouping.groups, local, delta=1e-6, households=grouping.households)
    assert set(found.households) == {"2", "3"}
    model = ProtocolModel(local=local, shuffle=shuffler.model(PEOPLE))
    pairs, triples = household_odds(shuffler, model, [rows.tolist() for rows in grouping.households])
    assert (pairs.size, triples.size) == (2, 3)
    assert triples.more_than_half <= found.households["3"].most < triples.more_than_half + 0.01  # rounded up
    assert found.households["2"].most == pairs.more_than_half
    apart = household_chances(shuffler, model, [[1, PEOPLE - 1]])[2][0, 0]
    close = household_chances(shuffler, model, [[120, 121]])[2][0, 0]
    assert apart > close  # whoever lives far apart shares no window


def test_the_command_says_so_and_a_release_tells_nothing_of_homes(folder):
    planned = shuffledp("plan", folder / "task.toml", "--input", folder / "people.csv", "-v")
    assert planned.code == 0, planned.err
    assert "household of 3, more than half" in planned.out
    ran = shuffledp("run", folder / "task.toml", "--input", folder / "people.csv", "--output", folder / "out")
    assert ran.code == 0, ran.err
    texts = [path.read_bytes() for path in (folder / "out").iterdir()]
    assert not any(b"h11a" in text or b"more_than_half" in text for text in texts)


@pytest.mark.parametrize("household", ["km", "ill"])
def test_a_column_of_homes_is_none_that_is_released_or_private(household):
    with pytest.raises(InvalidParameterError, match="household must be a column of its own, which is never released"):
        Task.from_dict(tomllib.loads(TASK.replace('"home"', f'"{household}"')))


def test_a_plan_says_what_one_answer_of_a_whole_household_loses(folder):
    (folder / "four.toml").write_text(TASK.replace('"home"', "4").replace("alpha = 16.0", "alpha = 0.5"))
    planned = shuffledp("plan", folder / "four.toml", "--input", folder / "people.csv", "--json")
    assert planned.code == 0, planned.err
    promises = planned.json["groups"]["promises"]
    assert set(promises["households"]) == set(promises["common"]) == {"4"}
    assert promises["central"]["half"] < promises["common"]["4"]["half"] <= promises["common"]["4"]["most"] <= 2.0


def test_without_a_number_of_people_nothing_is_said_of_a_common_answer(folder):
    task = Task.read(folder / "task.toml")
    grouping = read_around(task, folder, people=folder / "people.csv")
    local = task.column.randomizer.randomizer().model
    found = promises_of(task.shuffler.shuffler(grouping), grouping.groups, local, delta=1e-6, with_regions=False)
    assert "common" not in found.to_dict()
    assert set(found.households) == {"3", "5"}
