"""Hosts that agree: the same complete sets at all, each signature once, and whoever lies is named."""

import itertools
import random
from dataclasses import replace

import pytest

from contracts.transition_tables import by_table
from parties.agreement.hosts import ID, KINDS, Hosts, sets_of
from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, RemoteProtocolError
from shuffledp.parties.agreement.agreement_rules import AgreementRules, Reason, Refusal
from shuffledp.parties.agreement.agreement_steps import TRANSITIONS, AgreementState, Release, Sign, Stage, frozen, step
from shuffledp.parties.wire.agreement_messages import (
    Agreement,
    Commitment,
    Handed,
    Kind,
    Reveal,
    Signer,
    Standing,
    complete_digest,
    decoded,
    kind_of,
)

ALL = ([1, 2, 3, 4], [2, 3, 4, 5], [0, 2, 4, 3])
COMPLETE = sets_of(2, 3, 4)


def test_hosts_agree_on_the_sets_that_all_of_them_have():
    hosts = Hosts(*ALL)
    hosts.carry()
    assert hosts.stages == [Stage.AGREED] * 3
    assert [each.judged(hosts.rules) for each in hosts.held] == [COMPLETE] * 3
    assert all(outputs.count(Release) == outputs.count(Sign) == 1 for outputs in hosts.outputs)
    assert hosts.analyst().stage(hosts.rules) is Stage.AGREED


def test_no_host_shows_its_sets_before_all_have_committed():
    hosts = Hosts(*ALL)
    assert [hosts.shown(host, Kind.REVEAL) for host in hosts.rules.hosts] == [None] * 3
    hosts.hand(0, hosts.shown(1, Kind.COMMITMENT))
    assert hosts.shown(0, Kind.REVEAL) is None
    hosts.hand(0, hosts.shown(2, Kind.COMMITMENT))
    assert hosts.shown(0, Kind.REVEAL).sets == hosts.sets[0]
    assert hosts.shown(0, Kind.AGREEMENT) is None


@pytest.mark.parametrize("silent", [0, 1, 2])
@pytest.mark.parametrize("since", range(4))
def test_a_host_that_is_silent_from_some_step_on_keeps_all_others_from_releasing(silent, since):
    hosts = Hosts(*ALL)
    for _ in range(since):
        hosts.carry_once()
    before = hosts.stages
    hosts.carry(silent=(silent,))
    assert before[silent] is Stage.AGREED or Stage.AGREED not in hosts.stages[:silent] + hosts.stages[silent + 1 :]
    hosts.carry()
    assert hosts.stages == [Stage.AGREED] * 3


def test_messages_in_any_order_lead_to_one_end_and_the_same_one_twice_changes_nothing():
    draw = random.Random(5)
    for _ in range(4):
        hosts = Hosts(*ALL)
        for _ in range(400):
            host, other, kind = draw.choice(list(itertools.product(range(3), range(3), KINDS)))
            if host != other and (message := hosts.shown(other, kind)) is not None:
                hosts.hand(host, message)
        assert hosts.stages == [Stage.AGREED] * 3
        held = list(hosts.held)
        assert all(hosts.hand(0, hosts.shown(1, kind)) for kind in KINDS)
        assert hosts.held == held


def test_too_few_complete_sets_are_refused_by_all_and_just_enough_are_released():
    hosts = Hosts(*ALL, needed=4)
    hosts.carry()
    assert hosts.stages == [Stage.REFUSED] * 3
    assert {each.refusal for each in (*hosts.held, hosts.analyst())} == {Refusal(Reason.TOO_FEW)}
    assert all(hosts.shown(host, Kind.AGREEMENT) is None for host in range(3))
    hosts = Hosts(*ALL, needed=3)
    hosts.carry()
    assert hosts.stages == [Stage.AGREED] * 3


# ---- lies -----------------------------------------------------------------------------------------------------------


def other_commitment(hosts, host):
    return hosts.signers[host].commitment(hosts.signers[host].reveal(bytes(32), sets_of(7)))


def test_two_commitments_of_one_host_are_proof_of_its_lie():
    hosts = Hosts(*ALL)
    hosts.hand(0, hosts.shown(1, Kind.COMMITMENT))
    hosts.hand(0, other_commitment(hosts, 1))
    assert hosts.held[0].refusal == Refusal(Reason.LIES, 1)
    hosts.carry()
    assert Stage.AGREED not in hosts.stages


def test_commitments_that_were_shown_differently_to_two_hosts_end_in_the_name_of_the_liar():
    hosts = Hosts(*ALL)
    second = frozen(2, hosts.signers[2].reveal(bytes(32), hosts.sets[2]), hosts.signers[2])
    shown = {0: hosts.held[2], 1: second}
    for host, other in ((0, 1), (1, 0)):
        hosts.hand(host, hosts.shown(other, Kind.COMMITMENT))
        hosts.hand(host, shown[host].messages[Kind.COMMITMENT, 2])
    for host, other in ((0, 1), (1, 0)):
        hosts.hand(host, hosts.shown(other, Kind.REVEAL))
        hosts.hand(host, shown[host].messages[Kind.REVEAL, 2])
    assert hosts.stages[:2] == [Stage.SIGNED] * 2
    for host, other in ((0, 1), (1, 0)):
        assert hosts.hand(host, hosts.shown(other, Kind.AGREEMENT)) or hosts.stages[other] is Stage.REFUSED
    assert hosts.held[0].refusal == Refusal(Reason.LIES, 2)


def test_a_reveal_of_other_sets_than_those_committed_to_names_its_host():
    hosts = Hosts(*ALL)
    hosts.carry_once()
    hosts.hand(0, hosts.signers[1].reveal(bytes(32), sets_of(1)))
    assert hosts.held[0].refusal == Refusal(Reason.LIES, 1)


@pytest.mark.parametrize("first", [True, False], ids=["before the right one", "after the right one"])
def test_a_host_that_signs_two_intersections_is_named_and_nothing_is_released(first):
    hosts = Hosts(*ALL)
    hosts.carry_once()
    hosts.carry_once()
    assert hosts.stages == [Stage.SIGNED] * 3
    false = hosts.signers[2].agreement(hosts.held[0].commitments(hosts.rules), complete_digest(ID, sets_of(2, 3)))
    right = hosts.shown(2, Kind.AGREEMENT)
    for message in (false, right) if first else (right, false):
        hosts.hand(0, message)
    assert hosts.held[0].refusal == Refusal(Reason.LIES, 2)
    held = AgreementState(me=None)
    for kind in KINDS:
        for host in range(3):
            held, _ = step(held, hosts.held[1].messages.get((kind, host)) or hosts.shown(host, kind), hosts.rules, None)
            if kind is Kind.AGREEMENT and host == 1:
                held, _ = step(held, false, hosts.rules, None)
    assert held.refusal == Refusal(Reason.LIES, 2)  # also to the analyst


@pytest.mark.parametrize("plays", [10, pytest.param(400, marks=pytest.mark.deep)])
def test_whatever_one_liar_and_the_courier_do_two_honest_hosts_release_the_same_or_nothing(plays):
    draw = random.Random(11)
    released = 0
    for _ in range(plays):
        hosts = Hosts(*ALL)
        signer, faces = hosts.signers[2], []
        for nonce, sets in ((b"\1" * 32, hosts.sets[2]), (b"\2" * 32, sets_of(2, 3))):
            faces.append(frozen(2, signer.reveal(nonce, sets), signer))
        for _ in range(120):
            host, kind = draw.choice([0, 1]), draw.choice(KINDS)
            other, face = draw.choice([1 - host, 2]), draw.randrange(2)
            if other != 2:
                message = hosts.shown(other, kind)
            elif kind is Kind.AGREEMENT:
                seen = hosts.held[draw.choice([0, 1])].commitments(hosts.rules)
                sets = draw.choice([COMPLETE, sets_of(2, 3)])
                message = signer.agreement(seen, complete_digest(ID, sets)) if len(seen) == 3 else None
            else:
                message = faces[face if draw.random() < 0.1 else 0].messages[kind, 2]
            if message is not None:
                hosts.hand(host, message)
        agreed = [each.judged(hosts.rules) for each in hosts.held[:2] if each.stage(hosts.rules) is Stage.AGREED]
        released += len(agreed)
        assert len({tuple(each) for each in agreed}) <= 1
        assert all(set(each) <= set(hosts.sets[0]) & set(hosts.sets[1]) for each in agreed)
    assert released > plays / 10  # the liar is honest at times, so that the test is about something


# ---- messages that change nothing -----------------------------------------------------------------------------------


def test_messages_that_are_forged_foreign_or_too_early_change_nothing():
    hosts, others = Hosts(*ALL), Hosts(*ALL)
    elsewhere = Signer(hosts.keys[1], bytes(32), 1)
    refused = [
        others.shown(1, Kind.COMMITMENT),  # by another key
        replace(hosts.shown(1, Kind.COMMITMENT), host=2),
        replace(hosts.shown(1, Kind.COMMITMENT), host=3),
        hosts.shown(0, Kind.COMMITMENT),  # its own
        elsewhere.commitment(elsewhere.reveal(bytes(32), [])),
        hosts.held[1].messages[Kind.REVEAL, 1],  # too early
    ]
    held = hosts.held[0]
    assert [hosts.hand(0, each) for each in refused] == [False] * len(refused)
    assert hosts.held[0] == held
    with pytest.raises(RemoteProtocolError, match="in its turn"):
        step(held, refused[-1], hosts.rules, None)


def test_an_agreement_with_a_commitment_that_nobody_signed_changes_nothing():
    hosts = Hosts(*ALL)
    hosts.carry_once()
    hosts.carry_once()
    seen = list(hosts.held[0].commitments(hosts.rules))
    seen[1] = replace(seen[1], revealed_sha256=bytes(32))
    forged = hosts.signers[2].agreement(seen, complete_digest(ID, COMPLETE))
    assert not hosts.hand(0, forged)
    assert not hosts.hand(0, hosts.signers[2].agreement(seen[:2], complete_digest(ID, COMPLETE)))
    assert hosts.stages[0] is Stage.SIGNED


def test_before_a_host_is_frozen_it_takes_no_message():
    hosts = Hosts(*ALL)
    assert AgreementState(me=0).stage(hosts.rules) is Stage.OPEN
    with pytest.raises(RemoteProtocolError, match="too early"):
        step(AgreementState(me=0), hosts.shown(1, Kind.COMMITMENT), hosts.rules, hosts.signers[0])


def test_thirteen_hosts_agree():
    hosts = Hosts(*([0, host + 1, 14, 15] for host in range(13)))
    hosts.carry()
    assert hosts.stages == [Stage.AGREED] * 13
    assert hosts.held[12].judged(hosts.rules) == sets_of(0, 14, 15)


def test_rules_are_of_two_hosts_at_least():
    with pytest.raises(InvalidParameterError, match="two hosts or more"):
        AgreementRules(collection_id=ID, keys=((bytes(32),),), needed=1)


# ---- the table ------------------------------------------------------------------------------------------------------


def told(hosts, host, message):
    """Next stage and outputs by the table, and whether the step does the same."""
    held, rules = hosts.held[host], hosts.rules
    stage = held.stage(rules)
    try:
        after, outputs = step(held, message, rules, hosts.signers[host])
    except RemoteProtocolError:
        after, outputs, done = None, (), None
    else:
        done = after.stage(rules)
    lies = after is not None and after.refusal is not None and after.refusal.reason is Reason.LIES
    lacking = held.lacks(kind_of(message), rules)
    known = {"lies": lies, "last": lacking == [message.host], "enough": after is not None and after.refusal is None}
    is_known = message.host not in lacking and not lies and done is not None
    by = (stage, set()) if is_known else by_table(TRANSITIONS, stage, message, (stage, set()), **known)
    assert (done, set(outputs)) == by, (stage, message)
    return {row for row in TRANSITIONS if by_table([row], stage, message, None, **known) is not None}


def test_the_table_says_of_every_stage_and_message_what_the_step_does():
    reached = set()
    for needed in (1, 4):
        hosts = Hosts(*ALL, needed=needed)
        while True:
            false = [
                other_commitment(hosts, 1),
                hosts.signers[1].reveal(bytes(32), sets_of(1)),
                hosts.signers[1].agreement(
                    tuple(each.messages[Kind.COMMITMENT, each.me] for each in hosts.held), bytes(32)
                ),
            ]
            for host, message in itertools.product(range(3), [*false, *(hosts.shown(2, each) for each in KINDS)]):
                if message is not None and message.host != host:
                    reached |= told(hosts, host, message)
            waiting = [
                (host, message)
                for host, held in enumerate(hosts.held)
                for other in held.lacks(held.waited_for(hosts.rules), hosts.rules)
                if (message := hosts.shown(other, held.waited_for(hosts.rules))) is not None
            ]
            if not waiting or Stage.REFUSED in hosts.stages:
                break
            reached |= told(hosts, *waiting[0])
            hosts.hand(*waiting[0])
    assert reached == set(TRANSITIONS)


# ---- wire -----------------------------------------------------------------------------------------------------------


def test_messages_are_read_back_and_anything_else_is_refused():
    hosts = Hosts(*ALL)
    hosts.carry()
    for kind in KINDS:
        message = hosts.shown(1, kind)
        assert decoded(kind, message.encode()) == message
        assert kind_of(message) is kind
        for bad in (message.encode()[:-1], message.encode() + b"\0"):
            with pytest.raises(MalformedMessageError):
                decoded(kind, bad)
    with pytest.raises(MalformedMessageError, match="of none"):
        decoded(Kind.NONE, b"")
    handed = Handed.of(hosts.shown(1, Kind.REVEAL), wanted=Kind.COMMITMENT)
    assert Handed.decode(handed.encode()) == handed
    assert Handed.of() == Handed(Kind.NONE, Kind.NONE, b"")


def test_reveals_out_of_order_and_agreements_without_each_host_are_refused():
    hosts = Hosts(*ALL)
    hosts.carry()
    reveal, agreement = hosts.shown(0, Kind.REVEAL), hosts.shown(0, Kind.AGREEMENT)
    for digests in (b"".join(reversed(reveal.sets)), reveal.sets[0] * 2, reveal.digests[:-1]):
        with pytest.raises(InvalidParameterError, match="ascending"):
            replace(reveal, digests=digests)
    with pytest.raises(InvalidParameterError, match="one of each host"):
        replace(agreement, commitments=agreement.commitments[::-1])
    with pytest.raises(InvalidParameterError, match="collection"):
        replace(agreement, collection_id=bytes(32))
    with pytest.raises(InvalidParameterError, match="two bytes"):
        Standing(0, 0, 0, b"\0", b"")
    assert Standing(0, 0, 0, b"\0\1\1\0", b"").hosts == [1, 256]
    assert {Commitment, Reveal, Agreement} == {type(hosts.shown(0, kind)) for kind in KINDS}
