"""Issuer, shuffler and analyzer, killed at every step of an upload with a token: no token is lost, or spent twice."""

import os
import signal
from contextlib import closing, contextmanager
from functools import partial
from itertools import count

import httpx
import pytest

from parties.issuer.issuing import WithTokens
from parties.service.at_work import looks_sealed, reports_of, sealed
from parties.service.given import task
from parties.service.processes import place, until
from parties.service.relay import Relay
from shuffledp.core.errors import RemoteProtocolError
from shuffledp.files.parquet import read_view
from shuffledp.parties.issuer import invitations, issuer_app
from shuffledp.parties.issuer.issuer_app import CollectionAtIssuer
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.service import client as sending
from shuffledp.parties.service import collection_at_analyzer, forwarder
from shuffledp.parties.service.batch_store import BatchStore, IncomingBody
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.device_token import DeviceToken
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.wire.blind_rsa import blind_sign
from shuffledp.parties.wire.grammar import ReportError, UploadRequest
from shuffledp.parties.wire.tokens import ISSUANCE_REQUEST, PendingToken, TokenCheck, TokenRequest

ISSUING = (CollectionAtIssuer, "sign"), [(IssuerStore, "run"), (issuer_app, "blind_sign")]
INTAKE = (CollectionAtShuffler, "upload"), [(ReportStore, "run"), (ReportStore, "run_many")]
RECEPTION = (
    (CollectionAtAnalyzer, "take"),
    [(BatchStore, "run"), (IncomingBody, "publish"), (collection_at_analyzer, "write_batch_release")],
)
MOMENTS_OF_ISSUING = 8  # before and after: all of it, the mark of the invitation, its reading, and the signature
MOMENTS_OF_INTAKE = 12  # before and after: all of it, and each statement about tokens, reports and counts
# All of it; whether it is there and before the last, its body, its row; what is complete; whether digests are there;
# beginning, digest, digest, commit; the release.
MOMENTS_OF_RECEPTION = 24


@contextmanager
def doomed(work, steps, at):
    """Processes that start now kill themselves at a moment of their work: before or after it, or one of its steps."""
    moments, is_at_work = count(), []

    def passes():
        if is_at_work and next(moments) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    def worked(real):
        async def work(*given, **further):
            is_at_work.append(True)
            passes()
            result = await real(*given, **further)
            passes()
            return result

        return work

    def stepped(real):
        def step(*given, **further):
            passes()
            result = real(*given, **further)
            passes()
            return result

        return step

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*work, worked(getattr(*work)))
        for each in steps:
            patch.setattr(*each, stepped(getattr(*each)))
        yield


def killed(where, role, plan, at, attempt):
    """Whether a service that is doomed dies of an attempt; afterwards one that is not runs in its place."""
    if role in where.running:
        where.running[role].end()
    with doomed(*plan, at):
        process = where.start(role)
    try:
        attempt()
    except RemoteProtocolError:
        until(process.has_ended)
        where.start(role)
        return True
    return False


def store_of(where):
    folder = where.folder / "shuffler" / where.parties.collection.id.hex()
    return closing(ReportStore(folder, pools=[1], remembers=False))


def upload_of(where):
    return UploadRequest((looks_sealed(where.parties.collection),)).encode()


def test_an_issuer_that_is_killed_at_any_moment_signs_the_same_again_and_nothing_else(tmp_path):
    with place(tmp_path, kind=WithTokens) as where, httpx.Client(trust_env=False) as client:
        collection, key = where.parties.collection, where.parties.issuer_key
        made, listed = invitations.new_invitations(collection, 2 * MOMENTS_OF_ISSUING)
        (tmp_path / "invited.json").write_text(listed.written())
        asked, url = [], f"{collection.issuer.url}{collection.path}/token-request"
        client.event_hooks["request"] = [lambda request: asked.append(request.content)]
        where.start("shuffler")
        for at, invitation in enumerate(made):
            (tmp_path / f"{at}").mkdir()
            own = DeviceToken(collection, tmp_path / f"{at}")
            asked.clear()
            if not killed(where, "issuer", ISSUING, at, partial(own.get, invitation, client, patience=0.0)):
                break
            token = DeviceToken(collection, tmp_path / f"{at}").get(invitation, client, patience=10.0)
            TokenCheck(collection.challenge, [key.public])(token)
            (request,) = set(asked)
            other = PendingToken.new(collection.challenge, key.public).request.encode()
            head = {"content-type": ISSUANCE_REQUEST, "authorization": f"Bearer {invitation.code}"}
            again, refused = (client.post(url, content=each, headers=head) for each in (request, other))
            assert again.content == blind_sign(key.private_key, TokenRequest.decode(request).blinded_msg)
            assert refused.status_code == 403
            assert (
                sending.upload(collection, upload_of(where), client, patience=10.0, token=token.shown()).refused == ()
            )
        where.running["shuffler"].end()
    assert at == MOMENTS_OF_ISSUING
    with store_of(where) as store:
        assert store.counts() == {Count.STORED: at}


@pytest.mark.parametrize("way", ["token", "oblivious"])
def test_a_shuffler_that_is_killed_at_any_moment_stores_a_report_once_and_spends_its_token_with_it(tmp_path, way):
    with Relay().running() as relay:
        further = {"relay": relay.url} if way == "oblivious" else {}
        with place(tmp_path, kind=WithTokens, **further) as where:
            relay.gateway = f"{where.url}/gateway"
            collection = where.parties.collection
            for at in count():
                body, token = upload_of(where), where.parties.token().shown()
                with sending.new_client(to=collection) as client:
                    send = partial(sending.upload, collection, body, client, token=token)
                    if not killed(where, "shuffler", INTAKE, at, partial(send, patience=0.0)):
                        break
                    assert send(patience=10.0).refused == ()
                    second = sending.upload(collection, upload_of(where), client, patience=10.0, token=token)
                    assert [each.error for each in second.refused] == [ReportError.TOKEN_SPENT]
            where.running["shuffler"].end()
    assert at == MOMENTS_OF_INTAKE
    with store_of(where) as store:
        assert store.waiting == store.counts()[Count.STORED] == at + 1
        assert store.counts()[Count.REFUSED] == at
        assert 1 <= store.counts()[Count.DUPLICATE] < at  # whose report was on the disk, and whose was not


@pytest.mark.usefixtures("without_a_page")
def test_an_analyzer_that_is_killed_at_any_moment_releases_once_what_came_with_tokens(tmp_path, monkeypatch):
    monkeypatch.setattr(forwarder, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(forwarder, "LONGEST_PAUSE", 0.1)
    asked = task(release={"delta": 1e-6, "minimum_batch": 2})
    with place(tmp_path, asked, kind=WithTokens, every=2) as where:
        where.start("shuffler")
        for at in count():
            with doomed(*RECEPTION, at):
                process = where.start("analyzer")
            before = says_released(where)
            answered_by_two(where)
            until(lambda process=process, before=before: process.has_ended() or says_released(where) > before)
            if not process.has_ended():
                break
            where.start("analyzer")
            until(partial(has_released, where, at + 1))
            where.running["analyzer"].end()
    assert at == MOMENTS_OF_RECEPTION
    assert has_released(where, at + 1)
    assert len(list(where.release.iterdir())) == at + 1


def says_released(where):
    """How many releases the analyzer says that it has written."""
    return where.log("analyzer").read_text().count('"released"')


def answered_by_two(where):
    """Two people answer, each with a token."""
    collection, config = where.parties.collection, where.parties.analyzer_key.config
    with sending.new_client(to=collection) as client:
        for each in sealed(collection, reports_of(collection.task, [0, 1]), config=config):
            body, token = UploadRequest((each,)).encode(), where.parties.token().shown()
            assert sending.upload(collection, body, client, patience=10.0, token=token).refused == ()


def has_released(where, number):
    """Whether a batch is released, and both of its reports are in it."""
    folder = where.release / f"batch-{number}"
    if not (folder / "statement.json").exists():
        return False
    parts, _ = read_view(folder / "release.parquet", where.parties.collection.task.columns[0])
    return sorted(value for part in parts for value in part.reports["value"].tolist()) == [0, 1]
