"""Graphs at run time: read beside the task file or drawn, and the analyst's own copy is what counts."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cli.networks import PEOPLE, make_folder, ring_with_chords, write_edges, write_network
from cli.running import stub_pages
from shuffledp.accounting import account, epsilon_of
from shuffledp.core.errors import BatchTooSmallError, InputDataError, InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.files import stages
from shuffledp.files.family_files import files_of
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.parquet import read_view
from shuffledp.files.reading import NOBODY
from shuffledp.files.releases import release_of_views
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.files.graphs_of_walks import WalkedView, read_graphs
from shuffledp.protocols.network.survey.network_section import NetworkSection
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import UniformShuffler
from shuffledp.survey import DataFlow, EarlierRelease, Provenance, Task

BIT = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)


def section(**keys) -> NetworkSection:
    return NetworkSection(**{"graph": "friends.csv", "rounds": 12, **keys})


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path)


def view_of(task: Task, folder):
    graphs = read_graphs(task.shuffler, PEOPLE, folder)
    shuffler = task.shuffler.along(graphs, task.column.randomizer.randomizer(), task.column.release.delta).shuffler(12)
    return shuffler, shuffler.shuffle(task.column.randomizer.randomizer().randomize(np.arange(PEOPLE) % 2))


def test_graphs_are_read_in_order_for_the_people_of_the_first(folder):
    write_edges(folder / "sunday.csv", ring_with_chords(PEOPLE, 0))
    friends, sunday = read_graphs(section(graph=("friends.csv", "sunday.csv")), None, folder)
    assert friends == Graph.from_edges(ring_with_chords(PEOPLE, 500))
    assert sunday == Graph.from_edges(ring_with_chords(PEOPLE, 0))
    write_edges(folder / "sunday.csv", ring_with_chords(PEOPLE + 1, 0))
    with pytest.raises(InputDataError, match=f"must fit the {PEOPLE} people of the input"):
        read_graphs(section(graph=("friends.csv", "sunday.csv")), None, folder)


def test_files_that_do_not_fit_are_refused(folder):
    with pytest.raises(InputDataError, match=f"the person of row {PEOPLE} .* has none, 3 in all"):
        read_graphs(section(), PEOPLE + 3, folder)
    with pytest.raises(InputDataError, match="must fit the 7 people of the input"):
        read_graphs(section(), 7, folder)
    with pytest.raises(InvalidParameterError, match="the file with the sha256"):
        read_graphs(section(sha256="0" * 64), PEOPLE, folder)


def test_a_drawn_graph_is_that_of_its_seed(folder):
    drawn = section(graph="random-regular:6")
    (one,), (again,) = (read_graphs(drawn, 40, folder) for _ in range(2))
    assert one == again != read_graphs(replace(drawn, graph_seed=1), 40, folder)[0]
    assert one.degrees.tolist() == [6] * 40
    with pytest.raises(InvalidParameterError, match="num_users must be given"):
        read_graphs(drawn, None, folder)
    with pytest.raises(InputDataError, match="cannot be drawn for 6 people"):
        read_graphs(drawn, 6, folder)


def test_the_view_is_described_by_the_analysts_own_copy_of_the_graph(folder):
    task = Task.read(folder / "task.toml")
    shuffler, view = view_of(task, folder)
    boasting = replace(view, shuffle=replace(view.shuffle, separation=0.0, near_uniformity=0.0))
    for given in (shuffler, None):
        found = WalkedView.of(task.column, boasting, given, folder)
        assert found.view.shuffle == shuffler.model(PEOPLE)
        assert found.view.shuffle.near_uniformity > 0
    checked = files_of(task.shuffler).checked(task.column, iter([boasting]), None, folder)
    assert checked.shuffle == next(checked.views).shuffle == shuffler.model(PEOPLE)
    facts = FileFacts.of(
        task.column,
        "view",
        DataFlow(received=PEOPLE, missing=0, released=PEOPLE),
        Provenance(),
        shuffle=boasting.shuffle,
    )
    release_of_views(task.column, iter([boasting]), facts, folder, NOBODY, beside=folder)
    assert read_view(folder / "release.parquet", task.column)[1].shuffle == shuffler.model(PEOPLE)
    another = replace(view, shuffle=replace(view.shuffle, graph_digest="0" * 64))
    with pytest.raises(InputDataError, match="of another graph"):
        WalkedView.of(task.column, another, None, folder)
    uniform = UniformShuffler().shuffle(BIT.randomize([0, 1]))
    with pytest.raises(InputDataError, match="must be one of a 'network' shuffle"):
        WalkedView.of(task.column, uniform, None, folder)


@pytest.mark.deep
def test_what_people_held_is_counted_and_the_weakest_part_is_stated(folder):
    write_edges(folder / "friends.csv", ring_with_chords(80, 300) + ring_with_chords(40, 150, first=80))
    write_network(folder)
    task = Task.read(folder / "task.toml")
    shuffler, view = view_of(task, folder)
    walked_view = WalkedView.of(task.column, view, shuffler, folder)
    walked = walked_view.walked()
    assert sum(walked.held) == PEOPLE
    assert sum(number * people for number, people in enumerate(walked.held)) == PEOPLE
    assert [part.people for part in walked.plan.parts] == [80, 40]
    assert walked.plan.epsilon == walked.plan.parts[1].epsilon > walked.plan.parts[0].epsilon


def test_a_view_is_about_the_weakest_part(folder):
    write_edges(folder / "friends.csv", ring_with_chords(80, 300) + ring_with_chords(40, 150, first=80))
    task = Task.read(folder / "task.toml")
    shuffler, view = view_of(task, folder)
    found = WalkedView.of(task.column, replace(view, shuffle=replace(view.shuffle, parts=())), shuffler, folder).view
    headline = account(ProtocolModel(local=BIT.model, shuffle=found.shuffle), delta=1e-2)
    assert epsilon_of(headline.guarantee) < 0.5
    assert "weakest part, of 40 people" in " ".join(headline.remarks)


def test_the_analyst_counts_people_and_not_the_reports_that_each_hands_in(folder, tmp_path, monkeypatch):
    padded = {"rounds": 2, "protocol": "padded", "submissions": 2}
    task = Task.read(write_network(folder, **padded))
    demanding = Task.from_dict(task.to_dict() | {"release": {"delta": 1e-2, "minimum_batch": PEOPLE + 1}})
    with monkeypatch.context() as careless:
        careless.setattr("shuffledp.survey.columns.Column.require_batch", lambda *_: None)
        stages.randomize(demanding, folder / "people.csv", tmp_path / "reports.parquet")
        stages.shuffle(demanding, tmp_path / "reports.parquet", tmp_path / "view.parquet", beside=folder)
    with pytest.raises(BatchTooSmallError, match=f"got {PEOPLE}"):
        stages.analyze(demanding, tmp_path / "view.parquet", tmp_path, beside=folder)


def test_not_all_of_those_who_walk_may_be_fake(folder):
    shuffler, _ = view_of(Task.read(folder / "task.toml"), folder)
    model = ProtocolModel(local=BIT.model, shuffle=shuffler.model(PEOPLE))
    assert model.with_fakes(PEOPLE - 1).shuffle.num_honest == 1
    with pytest.raises(InvalidParameterError, match="fakes must be at most 119 beside 0"):
        model.with_fakes(PEOPLE)


def test_a_release_of_walks_holds_as_many_reports_as_its_protocol_hands_in(folder, monkeypatch):
    stub_pages(monkeypatch)
    walks = Task.read(write_network(folder, rounds=2)).to_dict()
    task = Task.from_dict(walks | {"people": {"fakes": 3}, "release": {"delta": 1e-2, "minimum_batch": 20}})
    stages.run(task, folder / "people.csv", folder, beside=folder)
    file = folder / "statement.json"
    data = json.loads(file.read_text())
    assert EarlierRelease.read(file).released[0].models[0].shuffle.num_users == PEOPLE
    for others in (PEOPLE - 1, PEOPLE + 1):
        file.write_text(json.dumps(data | {"num_reports": others}))
        with pytest.raises(InvalidParameterError, match="for as many people as sent its reports"):
            EarlierRelease.read(file)
    assert data["model"]["shuffle"].pop("num_colluding") == 3  # the fake senders, who are to be left out
    file.write_text(json.dumps(data))
    with pytest.raises(InvalidParameterError, match="for as many people as sent its reports"):
        EarlierRelease.read(file)
