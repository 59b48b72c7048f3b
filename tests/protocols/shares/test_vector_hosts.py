"""Hosts of the shuffles of vectors: what people send, what is certified, what is stated, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from shuffledp.accounting import account
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Trust
from shuffledp.planning import calibrate
from shuffledp.protocols.shares import CayleyShuffler, Hosts, ParallelShuffler, SumAnalyzer, VectorSum, VectorSums
from shuffledp.protocols.shares.theorems.share_mixing import mixing_distance
from shuffledp.shufflers import UniformShuffler
from shuffledp.survey import Task, plan
from shuffledp.testing import SeededSource

PEOPLE = 200
USUAL = {"num_users": PEOPLE, "epsilon": 1.0, "delta": 1e-6, "largest_norm": 1.0, "dimension": 5}


def certified(gamma=0.0, block=1, **hosts):
    return calibrate.vector_sum(**USUAL, imperfection=gamma, block=block, hosts=Hosts(**hosts)).model


def protocol(model, num_rounds=None, each=None, gamma=0.5):
    each = model.messages_per_round if each is None else each
    shuffler = ParallelShuffler(CayleyShuffler(imperfection=gamma), num_rounds or model.num_rounds, each)
    return ProtocolModel(local=model, shuffle=shuffler.model(PEOPLE))


def test_the_first_traitor_is_free_and_each_further_one_costs_a_message_of_each_block():
    alone = certified().num_shares
    found = [certified(number=alone + extra, colluding=1 + extra).num_shares for extra in (0, 1, 3)]
    assert found == [alone, alone + 1, alone + 3]
    assert certified(gamma=3.0, buffers="host").num_shares < certified(gamma=3.0).num_shares


def test_the_distance_is_that_of_the_buffers_that_are_not_told():
    """With noise that hides everything, what is left of delta is that of the rounds alone."""
    model = replace(certified(number=4, colluding=1, buffers="host", block=2), largest_square=6)
    far = VectorSums().delta(protocol(model), epsilon=1.0)
    told = {"shares_per_buffer": model.num_shares // 4, "told_buffers": 1}
    mixing = mixing_distance(PEOPLE, model.num_shares, 0.5, model.modulus**2, **told)
    assert 2 * 3 * mixing <= far <= (1 + np.e) * 3 * mixing * (1 + 1e-9)
    fewer = replace(model, hosts=Hosts(number=4, buffers="host"))
    assert VectorSums().delta(protocol(fewer), epsilon=1.0) < far


@pytest.mark.parametrize("block", [1, 2])
@pytest.mark.parametrize("inner", [UniformShuffler(), CayleyShuffler(imperfection=0.5)])
def test_sums_come_out_whatever_the_buffers(inner, block):
    model = certified(gamma=0.5, number=4, colluding=1, buffers="host", block=block)
    vectors = np.zeros((PEOPLE, 5))
    vectors[:120, 0], vectors[:, 3] = 1.0, -0.0
    reports = VectorSum(model).randomize(vectors, source=SeededSource(1))
    assert len(reports) == PEOPLE * model.num_messages
    assert (
        reports["round"][: model.num_messages].tolist()
        == np.repeat(np.arange(model.num_rounds), model.messages_per_round).tolist()
    )
    shuffler = ParallelShuffler(inner, model.num_rounds, model.messages_per_round)
    view, analyzer = shuffler.shuffle(reports, source=SeededSource(2)), SumAnalyzer()
    found = analyzer.estimate(analyzer.summarize(view))
    assert (np.abs(found.estimate - [120, 0, 0, 0, 0]) < 6 * found.standard_error).all()


def test_a_statement_says_how_many_hosts_may_collude_and_trusts_the_others():
    statement = account(protocol(certified(gamma=0.5, number=4, colluding=1, buffers="host")), delta=1e-6)
    assert "Any one of the 4 hosts may work together with the analyst" in str(statement)
    assert "if they are settled before anything comes out" in str(statement)
    assert {Trust.SHARES_APART, Trust.ENOUGH_HOSTS} <= set(statement.trust)
    assert not {Trust.SHUFFLER, Trust.NO_COLLUSION, Trust.ALL_SHARES} & set(statement.trust)
    usual = account(protocol(certified(gamma=0.5)), delta=1e-6)
    assert "host" not in str(usual)
    assert Trust.SHUFFLER in usual.trust


def test_shuffles_of_other_messages_than_those_sent_are_not_certified():
    pours, rounds = certified(gamma=0.5, number=2, buffers="host"), certified(gamma=0.5)
    theorem = VectorSums()
    assert theorem.applies(protocol(pours), delta=1e-6)
    assert not theorem.applies(protocol(pours, pours.num_messages, 1), delta=1e-6)
    assert theorem.applies(protocol(rounds), delta=1e-6)
    assert not theorem.applies(protocol(rounds, rounds.num_messages, 3), delta=1e-6)
    assert not theorem.applies(protocol(rounds, 1, rounds.num_messages), delta=1e-6)


def test_models_survive_being_written_and_older_ones_are_written_as_before():
    model = certified(number=3, colluding=1)
    assert LocalModel.from_dict(model.to_dict()) == model
    assert "hosts" not in certified().to_dict()
    with pytest.raises(InvalidParameterError, match="num_shares must be a multiple of the number of hosts, 5"):
        replace(model, hosts=Hosts(number=5), num_shares=9)


def task_of(kind="vector-sum", **keys):
    range_of = {"largest_norm": 1.0, "dimension": 5} if kind == "vector-sum" else {"lower": 0, "upper": 1}
    described = {"name": "t", "value": "v", "people": {"expected": PEOPLE}, "release": {"delta": 1e-6}}
    return Task.from_dict({**described, "protocol": {"kind": kind, "epsilon": 1.0, **range_of, **keys}})


def test_a_task_says_which_hosts_there_are_and_its_keys_at_their_defaults_leave_it_as_it_was():
    usual = task_of()
    assert task_of(buffers="message", hosts=1, colluding_hosts=0).sha256 == usual.sha256
    assert not {"buffers", "hosts", "colluding_hosts"} & set(usual.to_dict()["protocol"])
    assert "hosts" not in plan(usual).columns[0].of_question.to_dict()
    several = task_of(hosts=4, colluding_hosts=1, buffers="host")
    assert Task.from_dict(several.to_dict()) == several
    (column,) = plan(several).columns
    assert column.of_question.to_dict()["hosts"] == {"number": 4, "colluding": 1, "buffers": "host"}
    assert several.column.randomizer.randomizer().model.played_by_one


@pytest.mark.parametrize(("key", "value"), [("hosts", 3), ("colluding_hosts", 0), ("buffers", "host")])
def test_counted_bits_refuse_hosts_and_say_why(key, value):
    with pytest.raises(InvalidParameterError, match=rf"\[protocol\] {key} must be left out .* one buffer"):
        task_of("counted-bits", **{key: value})
