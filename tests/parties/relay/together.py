"""Everybody's part in a relay, in one process and without any transport."""

from shuffledp.parties.relay.attendance import record_of
from shuffledp.parties.relay.rounds import begin, finish, prepare
from shuffledp.parties.relay.terms import RelayTerms
from shuffledp.parties.wire.hpke import Sealer


def terms_of(circle):
    return RelayTerms(collection=circle.collection, directory=circle.directory)


def sealed_reports(terms, answers):
    """A sealed report of each member, randomized by nobody: bytes of this length."""
    sealer = Sealer.to(terms.config, collection_id=terms.collection.id, column=0)
    return [sealer.seal(bytes([each])).encode() for each in answers]


class Together:
    """All members, stage by stage; ``capture`` is what an observer of all letters sees."""

    def __init__(self, circle, answers, *, sources=None):
        self.terms, self.keys = terms_of(circle), circle.keys
        self.reports = sealed_reports(self.terms, answers)
        self.sources = list(sources or [None] * len(self.reports))
        self.states = [
            begin(self.terms, person, report, source=source)
            for person, (report, source) in enumerate(zip(self.reports, self.sources, strict=True))
        ]
        self.capture, self.stage = [], 0

    def send(self, gone=frozenset()):
        """Everybody's letters of the stage, but of those who are gone for good."""
        self.states = [
            prepare(self.terms, key, state, source=source) if state.person not in gone else state
            for key, state, source in zip(self.keys, self.states, self.sources, strict=True)
        ]
        for state in self.states:
            if state.person in gone:
                continue
            self.capture += [(self.stage, state.person, to, len(letter)) for to, letter in state.letters.items()]

    def mail_of(self, person, offline=frozenset()):
        to = -1 if self.stage == self.terms.vote_stage else person
        senders = [each for each in self.terms.senders(to, self.stage) if each not in offline]
        return {each: self.states[each].letters[to] for each in senders if to in self.states[each].letters}

    def receive(self, offline=frozenset(), gone=frozenset()):
        """Mail of those who were not offline; of these, those who are gone get none either."""
        offline = frozenset(offline) | gone
        record = record_of(set(range(len(self.states))) - offline, len(self.states))
        self.states = [
            state
            if state.person in gone
            else finish(self.terms, key, state, record, self.mail_of(state.person, offline))
            for key, state in zip(self.keys, self.states, strict=True)
        ]
        self.stage += 1

    def walk(self, offline=None):
        """The set-up and all rounds; ``offline`` says who is away in which stage."""
        for stage in range(self.terms.num_rounds + 1):
            self.send()
            self.receive(frozenset((offline or {}).get(stage, ())))
        return self

    def held(self):
        return {report: state.person for state in self.states for report in state.walk.held}
