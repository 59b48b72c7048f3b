"""Keys of shuffler and analyzer are renewed by a restart while a collection is open, and nobody's answer is lost."""

import signal
import threading
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from parties.service.given import Parties
from parties.service.processes import place, until
from parties.service.test_analyzer_app import submissions_of
from shuffledp.files.key_files import write_key
from shuffledp.parties.service.batch_release import statement_in
from shuffledp.parties.service.client import answer_to, new_client, upload
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.grammar import UploadRequest
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey, in_text
from shuffledp.survey import Service

pytestmark = pytest.mark.usefixtures("without_a_page")
PEOPLE, ROLES = 40, ("shuffler", "analyzer")


def naming_a_successor(where, successor):
    """The collection names the key that will sign after the shuffler's own, as `keys rotate` publishes it."""
    shuffler = where.parties.collection.shuffler
    key = replace(shuffler.key, expires="2099-01-01T00:00:00Z", successors=(in_text(successor.public),))
    where.parties.collection = replace(where.parties.collection, shuffler=Service(url=shuffler.url, key=key))
    (where.folder / "survey.collection").write_bytes(where.parties.collection.canonical)


def renewed(where, successor):
    """New keys, and a second collection that is made with them, in the files of both parties."""
    next_, first = Parties(), where.parties
    next_.shuffler_key = successor
    next_.analyzer_key = AnalyzerKey.generate(other_than=[first.analyzer_key.config.id])
    for role in ROLES:
        key = getattr(next_, f"{role}_key")
        write_key(where.folder / f"next-{role}.key", key, first.published(key))
        service = Service(url=first.collection.addresses[role], key=first.published(key))
        next_.collection = replace(next_.collection, **{role: service})
        file = where.folder / f"{role}.toml"
        text = file.read_text().replace('["survey.collection"]', '["survey.collection", "next.collection"]')
        text = text.replace('key = "shuffler.key"', 'key = "next-shuffler.key"')
        file.write_text(text.replace('["analyzer.key"]', '["analyzer.key", "next-analyzer.key"]'))
    (where.folder / "next.collection").write_bytes(next_.collection.canonical)
    return next_


def sent(parties, number, stored):
    """People answer one by one, each by the same bytes until they are stored."""
    with new_client() as client:
        for each in submissions_of(parties, np.arange(number) % 2):
            answer = upload(parties.collection, UploadRequest((each,)).encode(), client, patience=30)
            assert not answer.refused
            stored.append(each)


def closed(where, parties):
    """The number of reports of the release, after the shuffler's key has closed the collection."""
    collection = parties.collection
    body = CloseRequest.by(parties.shuffler_key, collection.id, datetime.now(UTC)).encode()
    with new_client() as client:
        answer_to(client, "POST", f"{where.url}{collection.path}/close", 5, body=body, media_type=CLOSE_TYPE)
    name = "survey" if parties is where.parties else "next"
    return until(lambda: statement_in(where.folder / "releases" / name, collection))["num_reports"]


@pytest.mark.deep
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_with_renewed_keys_loses_nobody_who_answers_meanwhile(tmp_path, how):
    with place(tmp_path) as where:
        successor, stored = ShufflerKey.generate(), []
        naming_a_successor(where, successor)
        for role in ROLES:
            where.start(role)
        answering = threading.Thread(target=sent, args=(where.parties, PEOPLE, stored))
        answering.start()
        until(lambda: len(stored) > PEOPLE // 4)
        for role in ROLES:
            where.running[role].end(how)
        next_ = renewed(where, successor)
        for role in ROLES:
            where.start(role)
        answering.join(60)
        assert len(stored) == PEOPLE
        sent(next_, PEOPLE // 2, [])
        where.parties.shuffler_key = successor
        assert (closed(where, where.parties), closed(where, next_)) == (PEOPLE, PEOPLE // 2)
