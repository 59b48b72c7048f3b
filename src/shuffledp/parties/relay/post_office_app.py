"""Post offices over HTTP: any client may fetch mail, but only the recipient can open it.

``POST /collections/ID/stages/S/letters/M`` takes a member's letters; ``GET /collections/ID/stages/S/record`` tells the
attendance of an ended stage; ``GET /collections/ID/stages/S/mail/R`` does so too, and hands out a recipient's
mail; ``GET /collections/ID/directory`` shows the directory, whose digest the collection has.
"""

from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.http_messages import (
    Problem,
    Refused,
    application,
    of_collection,
    ok_response,
    whole_body,
)
from shuffledp.parties.relay.post_office import PostOffice
from shuffledp.parties.relay.terms import RECIPIENTS
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES
from shuffledp.parties.wire.keys import in_text

LETTERS_TYPE = "application/vnd.shuffledp.letters"
RECORD_TYPE = "application/vnd.shuffledp.record"
NOT_YET = 202  # status while a stage has not ended: ask again
_BY_NAME = {name: recipient for recipient, name in RECIPIENTS.items()}


def post_office_app(offices: Iterable[PostOffice], *, log: EventLog) -> Starlette:
    """Web application of these post offices.

    Guarantees:
        1. Letters with a good answer are on the disk; sent again, they change nothing.
        2. Only a member's letters in the number and lengths of the stage are kept.
        3. Answers and their times depend on who has sent letters, and on nothing in the letters.
    """
    known = {in_text(office.terms.collection_id): office for office in offices}

    def stage_of(request: Request, office: PostOffice) -> int:
        stage: int = request.path_params["stage"]
        if stage > office.terms.hand_in_stage:
            raise Refused(Problem.INVALID_MESSAGE)
        return stage

    async def letters(request: Request) -> Response:
        office, sender = of_collection(request, known), request.path_params["sender"]
        stage = stage_of(request, office)
        if not office.accepts(stage, sender):
            raise Refused(Problem.NOT_AUTHORIZED)
        most = SIGNATURE_BYTES + sum(office.lengths(sender, stage).values())
        body = await whole_body(request.scope, request.receive, media_type=LETTERS_TYPE, most=most)
        found = office.letters(stage, sender, body)
        if found is None:
            raise Refused(Problem.INVALID_MESSAGE)
        if not await office.take(stage, sender, found):
            raise Refused(Problem.CONFLICT if office.waits_for(stage, sender) else Problem.STAGE_ENDED)
        return ok_response(b"", LETTERS_TYPE)

    async def record(request: Request) -> Response:
        office = of_collection(request, known)
        found = await office.record(stage_of(request, office))
        return Response(status_code=NOT_YET) if found is None else ok_response(found, RECORD_TYPE)

    async def mail(request: Request) -> Response:
        office, to = of_collection(request, known), request.path_params["recipient"]
        stage = stage_of(request, office)
        recipient = _BY_NAME.get(to, int(to) if to.isdecimal() and len(to) < 10 else None)
        if recipient is None:
            raise Refused(Problem.INVALID_MESSAGE)
        there = await office.record(stage)
        if there is None:
            return Response(status_code=NOT_YET)
        return ok_response(there + await office.mail(stage, recipient), LETTERS_TYPE)

    async def directory(request: Request) -> Response:
        return ok_response(of_collection(request, known).terms.directory.canonical, "application/json")

    of_stage = "/collections/{id}/stages/{stage:int}"
    routes = [
        Route(f"{of_stage}/letters/{{sender:int}}", letters, methods=["POST"]),
        Route(f"{of_stage}/record", record, methods=["GET"]),
        Route(f"{of_stage}/mail/{{recipient}}", mail, methods=["GET"]),
        Route("/collections/{id}/directory", directory, methods=["GET"]),
    ]
    return application(routes, log=log, tries=[office.try_to_store for office in known.values()])
