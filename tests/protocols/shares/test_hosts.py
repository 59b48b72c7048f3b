"""Hosts of the shuffles of a sum, some of whom collude: what people send, what is stated, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from shuffledp.accounting import account
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Trust
from shuffledp.planning import calibrate
from shuffledp.protocols.shares import Hosts
from shuffledp.protocols.shares.analyzers.sums import SumAnalyzer
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffler
from shuffledp.protocols.shares.theorems.additive_shares import SplitAndMixRounds
from shuffledp.shufflers import UniformShuffler
from shuffledp.survey import Task, plan
from shuffledp.testing import SeededSource

USUAL = {"num_users": 1000, "epsilon": 1.0, "delta": 1e-6, "lower": 0, "upper": 1}
POUR = {"buffers": "host"}


def fewest(gamma=0.0, users=1000, **hosts):
    return calibrate.split_and_mix(
        **USUAL | {"num_users": users}, imperfection=gamma, hosts=Hosts(**hosts)
    ).num_messages


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_the_first_traitor_is_free_and_each_further_one_costs_a_message(gamma):
    alone = calibrate.split_and_mix(**USUAL, imperfection=gamma).num_messages
    assert [fewest(gamma, number=alone + extra, colluding=1 + extra) for extra in (0, 1, 3)] == [
        alone,
        alone + 1,
        alone + 3,
    ]
    assert fewest(gamma, number=alone, colluding=2) == 2 * alone  # for every host has as many messages


def test_one_buffer_needs_twenty_messages_where_rounds_need_thirty_one():
    sixty = {"users": 60, "gamma": 3.0}
    assert (fewest(**sixty), fewest(**sixty, **POUR)) == (31, 20)


@pytest.mark.parametrize(("each", "hosts"), [(2, 5), (4, 3)])
def test_hosts_who_pour_need_as_many_others_as_tabled(each, hosts):
    assert fewest(number=hosts, colluding=1, **POUR) == each * hosts
    assert fewest(number=hosts - 1, colluding=1, **POUR) > each * (hosts - 1)


def randomizer(**hosts):
    return SplitAndMix(num_users=60, epsilon=2.0, lower=0, upper=1, num_shares=12, hosts=Hosts(**hosts))


def test_each_host_gets_as_many_messages_and_a_buffer_does_not_tell_them_apart():
    reports = randomizer(number=3, **POUR).randomize([0.5] * 4)
    assert reports["round"].tolist() == 4 * np.repeat([0, 1, 2], 4).tolist()
    assert randomizer(number=3).randomize([0.5])["round"].tolist() == list(range(12))
    moved = reports.take(np.roll(np.arange(len(reports)), 1))
    assert moved.misplaced() == 0
    assert reports.misplaced() is None
    assert reports.take(slice(4, None)).misplaced(first=4) is None


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("inner", [UniformShuffler(), CayleyShuffler(imperfection=1.0)])
def test_sums_come_out_whatever_the_buffers(number, dimension, inner):
    local = replace(randomizer(number=number, **POUR).model, dimension=dimension, epsilon=8.0)
    chosen = SplitAndMix.from_model(local)
    values = np.linspace(0, 1, 60) if dimension == 1 else np.column_stack([np.linspace(0, 1, 60), np.zeros(60)])
    reports = chosen.randomize(values, source=SeededSource(4))
    shuffler = ParallelShuffler(inner, local.num_rounds, messages_per_round=12 // number)
    analyzer = SumAnalyzer()
    view = shuffler.shuffle(reports, source=SeededSource(5))
    summary = analyzer.summarize(view)
    assert summary.messages == (60 * 12 // number,) * (number * dimension)
    found = analyzer.estimate(summary)
    truth = np.array([30.0]) if dimension == 1 else np.array([30.0, 0.0])
    assert (np.abs(found.estimate - truth) < 6 * found.standard_error).all()


def stated(local, num_rounds=None, each=None, gamma=0.5):
    each = local.messages_per_round if each is None else each
    shuffler = ParallelShuffler(
        CayleyShuffler(imperfection=gamma), num_rounds or local.num_rounds, messages_per_round=each
    )
    return ProtocolModel(local=local, shuffle=shuffler.model(local.num_users))


def certified(**hosts):
    return calibrate.split_and_mix(**USUAL, imperfection=0.5, hosts=Hosts(**hosts)).model


def test_a_statement_says_how_many_of_how_many_may_collude_and_trusts_the_others():
    statement = account(stated(certified(number=11, colluding=3)), delta=1e-6)
    assert "Each of 11 hosts gets one message of each value. Any 3 of the 11 hosts may work" in str(statement)
    assert {Trust.SHARES_APART, Trust.ENOUGH_HOSTS} <= set(statement.trust)
    assert not {Trust.SHUFFLER, Trust.NO_COLLUSION, Trust.ALL_SHARES} & set(statement.trust)
    pours = str(account(stated(certified(number=3, colluding=1, **POUR)), delta=1e-6))
    assert "which it pours into one buffer" in pours
    assert "kept a person's messages together would count as one with a single message" in pours
    several = str(account(stated(certified(number=3, colluding=1)), delta=1e-6))
    assert "used one order for several of its shuffles" in several
    alone = account(stated(certified(**POUR)), delta=1e-6)
    assert "All messages of a value go through one buffer" in str(alone)
    assert Trust.SHUFFLER in alone.trust
    assert "None of them may tell" in str(account(stated(certified(number=2, **POUR)), delta=1e-6))


def holds(model):
    return SplitAndMixRounds().applies(model, delta=1e-6)


def test_shuffles_that_tell_apart_what_a_buffer_should_not_are_no_buffers():
    """Rounds show which message is which, of which the bound for a buffer knows nothing; not so the other way round."""
    pours, rounds = certified(**POUR), certified()
    assert holds(stated(pours))
    assert not holds(stated(pours, pours.num_messages, 1))
    assert holds(stated(rounds, 1, rounds.num_messages))  # dependent rounds, whose promise is about all messages
    assert not holds(stated(replace(rounds, dimension=2, num_shares=12), 1, 24))
    assert holds(stated(replace(rounds, dimension=2, num_shares=12)))


def test_traitors_and_buffers_enter_the_bound():
    theorem, local = SplitAndMixRounds(), certified(number=12, colluding=1)
    deltas = [
        theorem.delta(stated(replace(local, hosts=Hosts(number=12, colluding=f))), epsilon=1.0) for f in (0, 1, 2, 3)
    ]
    assert deltas[0] == deltas[1] < deltas[2] < deltas[3]
    assert theorem.delta(stated(replace(local, hosts=Hosts(number=12, colluding=11))), epsilon=1.0) == 1.0


def test_models_survive_being_written_and_older_ones_are_written_as_before():
    model = randomizer(number=3, colluding=1, **POUR).model
    assert LocalModel.from_dict(model.to_dict()) == model
    assert "hosts" not in randomizer().model.to_dict()
    reports = randomizer(number=3, **POUR).randomize([0.5] * 2)
    assert Reports.from_dict(reports.to_dict()) == reports


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"number": 0}, "hosts must be an integer that is 1 or more"),
        ({"number": 1025}, "hosts must be at most 1024"),
        ({"number": 3, "colluding": 3}, "colluding_hosts must be below hosts=3; got colluding_hosts=3"),
        ({"number": 3, "colluding": -1}, "colluding_hosts must be an integer that is 0 or more"),
        ({"buffers": "all"}, "buffers must be"),
    ],
)
def test_hosts_that_cannot_be_are_refused(keys, reason):
    with pytest.raises(InvalidParameterError, match=reason):
        Hosts(**keys)


def test_messages_that_cannot_be_shared_out_are_refused():
    with pytest.raises(InvalidParameterError, match="num_shares must be a multiple of the number of hosts, 5"):
        randomizer(number=5)


# ---- tasks ----------------------------------------------------------------------------------------------------------


def task_of(fakes=0, **protocol):
    return Task.from_dict(
        {
            "name": "commute", "value": "minutes", "people": {"expected": 1000, "fakes": fakes},
            "protocol": {"kind": "split-and-mix", "epsilon": 2.0, "lower": 0, "upper": 9, **protocol},
            "shuffler": {"kind": "imperfect", "imperfection": 0.5}, "release": {"delta": 1e-6, "minimum_batch": 500},
        }
    )  # fmt: skip


def test_keys_at_their_defaults_leave_a_task_as_it_was():
    usual = task_of()
    written = task_of(buffers="message", hosts=1, colluding_hosts=0)
    assert written == usual
    assert written.sha256 == usual.sha256
    assert not {"buffers", "hosts", "colluding_hosts"} & set(usual.to_dict()["protocol"])
    several = task_of(hosts=9, colluding_hosts=2)
    assert several.sha256 != usual.sha256
    assert Task.from_dict(several.to_dict()) == several


def test_a_task_with_hosts_that_cannot_be_is_refused_by_its_table():
    with pytest.raises(InvalidParameterError, match=r"\[protocol\] colluding_hosts must be below hosts=2"):
        task_of(hosts=2, colluding_hosts=2)


def test_a_plan_says_who_may_collude_and_counts_people_and_hosts_at_once():
    found = plan(task_of(hosts=9, colluding_hosts=2, fakes=100, dropout_fraction=0.2))
    (column,) = found.columns
    assert column.of_question.to_dict()["hosts"] == {"number": 9, "colluding": 2, "buffers": "message"}
    statement = found.statements[0]
    assert "Any 2 of the 9 hosts" in str(statement)
    assert any("900 honest people of 1000" in each.value for each in statement.basis.hypotheses)
    assert column.of_question.certificate.num_honest == 900
    assert "hosts" not in plan(task_of()).columns[0].of_question.to_dict()


def test_a_run_in_one_place_says_that_one_operator_played_all_hosts():
    pipeline = task_of(hosts=3, buffers="host").columns[0].pipeline()
    release = pipeline.run(np.linspace(0, 9, 1000), delta=1e-6)
    assert release.estimate.estimate[0] == pytest.approx(4.5, abs=0.2)
    (warning,) = pipeline.randomizer.model.played_by_one
    assert "One operator played all 3 hosts" in warning
    assert task_of().columns[0].pipeline().randomizer.model.played_by_one == ()
