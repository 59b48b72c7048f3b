"""The commands of a survey made by `survey new`: its state, reminders, close and result."""

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.collect_command import WaitingNotices, publish_result, resumable
from shuffledp.cli.options import Json, LedgerPath, print_json, require_extra, show_document
from shuffledp.cli.send_command import Certificates
from shuffledp.cli.serve_command import NEEDED
from shuffledp.cli.states_command import status_of
from shuffledp.core.errors import (
    AgreementError,
    BatchTooSmallError,
    InvalidParameterError,
    RemoteProtocolError,
    SpoiltReportsError,
    UnreachableError,
)

if TYPE_CHECKING:
    from shuffledp.parties.organizer.mix_client import MixClient
    from shuffledp.parties.organizer.survey_folder import SurveyFolder
    from shuffledp.parties.service.fetched_release import FetchedRelease
    from shuffledp.parties.wire.published_result import PublishedResult
    from shuffledp.survey import Collection

survey_app = typer.Typer(
    name="survey",
    help="Ask people on their phones, and release what they said.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SurveyPath = Annotated[Path, typer.Argument(metavar="FOLDER", readable=False, help="What `survey new` has made.")]


@survey_app.callback()
def _survey() -> None:
    """Ask people on their phones, and release what they said."""


def status(folder: SurveyPath, *, ca: Certificates = None, json: Json = False) -> None:
    """Say whether a survey is open, whether enough have answered, and whether people are served the right page.

    How many have answered, nobody says before the release.
    """
    require_extra("service", "asking", ["httpx"])
    from shuffledp.documents.collections.survey_document import survey_status_document
    from shuffledp.parties.organizer.survey_folder import SurveyFolder

    survey = SurveyFolder(folder)
    collection = survey.read()
    is_over = collection.local and survey.release.is_dir()  # then nobody is there any more to be asked
    over: dict[str, Any] = {"phase": "released", "at_least_minimum": True}
    found = over if is_over else status_of(collection, ca)
    if found["phase"] == "open":
        _check_page(survey, collection, ca)
    if json:
        print_json({"collection": collection.id.hex()} | found)
        return
    next_ = list(_next(survey, collection, found, ca))
    show_document(lambda: survey_status_document(collection, found, *next_))


def check(
    link: Annotated[str, typer.Argument(metavar="LINK", help="The whole link that people are invited by.")],
    *,
    ca: Certificates = None,
    json: Json = False,
) -> None:
    """Compare the page that is served with the link, from any machine, and show what it asks and whom it trusts.

    An invitation in the link stays here: it is neither sent nor shown.
    """
    require_extra("service", "asking", ["httpx"])
    from shuffledp.documents.collections.collection_document import collection_as_dict
    from shuffledp.documents.collections.survey_document import page_checked_document
    from shuffledp.parties.organizer.page_check import check_page, page_of_link
    from shuffledp.parties.service.client import new_client

    page = page_of_link(link)
    with new_client(certificates=ca) as client:
        found = check_page(page, client)
    if json:
        print_json({"url": page.url, "sha256": page.sha256} | ({} if found is None else collection_as_dict(found)))
    else:
        show_document(lambda: page_checked_document(page, found))


def remind(
    folder: SurveyPath,
    *,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Write all invitations again, and do not ask who has not answered.")
    ] = False,
    ca: Certificates = None,
) -> None:
    """Write the invitations of a survey again, as reminders: "if you have answered already, ignore this".

    All of them; or, where the survey was made with --reminders, those of people who have not taken part, as the mix
    tells three times at most. Without --invite nobody is known by name: send the same link again.
    """
    require_extra("service", "asking", ["httpx", "segno"])
    from shuffledp.documents.collections.survey_document import reminders_document
    from shuffledp.parties.organizer import mix_survey
    from shuffledp.parties.organizer.survey_folder import SurveyFolder
    from shuffledp.parties.service.client import NO_ANSWER

    survey = SurveyFolder(folder)
    collection = survey.read()
    phase = status_of(collection, ca)["phase"]
    if phase == NO_ANSWER:
        raise UnreachableError(f"all mixes must answer; see shuffledp survey status {survey.path}. Try again later.")
    if phase != "open":
        raise InvalidParameterError(
            "FOLDER must be of a survey that is open, so that people can still answer; this one is closed. Next comes "
            f"shuffledp survey finish {survey.path} --publish."
        )
    if collection.issuer is None:
        link = "" if collection.page is None else collection.page.link
        raise InvalidParameterError(
            f"FOLDER must be of a survey with --invite, where people are known by name; of another one, send {link} "
            "again."
        )
    with _mix(collection, ca) as mix:
        made, count = mix_survey.remind(survey, mix, everybody=everybody)
    chosen = collection.reminders and not everybody
    show_document(lambda: reminders_document(collection, made, count, chosen=chosen))


def close(folder: SurveyPath, *, ca: Certificates = None) -> None:
    """Close a survey before its date; what has come is released by `survey finish`."""
    require_extra("service", "asking", ["httpx"])
    from shuffledp.documents.collections.survey_document import survey_status_document
    from shuffledp.parties.organizer.survey_folder import SurveyFolder

    survey = SurveyFolder(folder)
    collection = survey.read()
    _close(survey, collection, ca)
    found = status_of(collection, ca)
    next_ = list(_next(survey, collection, found, ca))
    show_document(lambda: survey_status_document(collection, found, *next_))


def finish(
    folder: SurveyPath,
    *,
    wait: Annotated[
        bool, typer.Option("--wait", help="Take answers in until it closes, or Enter is pressed, as with --local.")
    ] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Send the result to the mix, so that the link shows it.")
    ] = False,
    ledger: LedgerPath = None,
    ca: Certificates = None,
) -> None:
    """Close a survey, if it is open, and write its release; with --publish people who have the link read it, too.

    Interrupted, or run again, it goes on where it was. A second, different result is shown as a correction.
    """
    require_extra("service", "serving", NEEDED)
    from shuffledp.parties.organizer.survey_folder import SurveyFolder

    survey = SurveyFolder(folder)
    collection = survey.read()
    if publish and collection.local:
        raise InvalidParameterError("--publish must be left out of a local survey: its link ends with it.")
    if wait and not collection.local:
        raise InvalidParameterError("--wait must be left out where a mix takes the answers in: it does so by itself.")
    if not collection.local:
        with resumable():
            _finish_at_mix(survey, collection, ca, ledger, publish=publish)
    elif wait:
        run_local(survey, ledger)
    else:
        _finish_local(survey, ledger)


def run_local(survey: "SurveyFolder", ledger: Path | None = None) -> None:
    """Take answers in until the close or a line of input, and release them."""
    from shuffledp.documents.collections.survey_document import open_local_document
    from shuffledp.parties.organizer.local_survey import at_work, finished, wait_for_end

    collection, asked = survey.read(), threading.Event()
    with at_work(survey) as keep:
        show_document(lambda: open_local_document(collection, survey.path))
        threading.Thread(target=_read_line, args=(asked,), daemon=True).start()
        wait_for_end(collection, asked, keep)
        _show_release(survey, finished(survey), ledger)


def _read_line(asked: threading.Event) -> None:
    """Set the event when a line is entered, but not when the input is closed."""
    if sys.stdin.readline():
        asked.set()


def _finish_local(survey: "SurveyFolder", ledger: Path | None) -> None:
    """Release the answers of a survey that was interrupted here."""
    from shuffledp.parties.organizer.local_survey import at_work, finished

    with at_work(survey):
        _show_release(survey, finished(survey), ledger)


def _finish_at_mix(
    survey: "SurveyFolder", collection: "Collection", ca: Path | None, ledger: Path | None, *, publish: bool
) -> None:
    """Close a survey at its mix, write its release, and publish the result if asked to."""
    from shuffledp.parties.organizer import mix_survey

    if not collection.further_shufflers and status_of(collection, ca)["phase"] == "open":
        _close(survey, collection, ca)  # several are told to close when they answer: one of them may be away
    found: FetchedRelease | BatchTooSmallError | AgreementError | SpoiltReportsError
    try:
        found = mix_survey.finished(survey, certificates=ca, waiting=WaitingNotices(once=False))
        _show_release(survey, found, ledger)
    except (BatchTooSmallError, AgreementError, SpoiltReportsError) as error:
        found = error
    if publish:
        publish_result(collection, survey.analyst_key(), found, ca)
    if isinstance(found, Exception):
        raise found


def _close(survey: "SurveyFolder", collection: "Collection", ca: Path | None) -> None:
    """Close a survey, wherever its answers are taken in."""
    from shuffledp.parties.organizer import local_survey

    if collection.local:
        local_survey.close(survey)
        return
    away: RemoteProtocolError | None = None
    for each in collection.hosts:
        try:
            with _mix(collection, ca, each.url) as mix:
                mix.close(collection, survey.analyst_key())
        except RemoteProtocolError as error:
            away = error  # the others are told all the same
    if away is not None:
        raise away


@contextmanager
def _mix(collection: "Collection", ca: Path | None, url: str = "") -> "Iterator[MixClient]":
    """Client of a mix that takes a collection's answers: the mix at this address, or the first."""
    from shuffledp.parties.organizer.mix_client import MixClient
    from shuffledp.parties.service.client import new_client

    with new_client(certificates=ca) as client:
        yield MixClient(url or collection.shuffler.url, client)


def _check_page(survey: "SurveyFolder", collection: "Collection", ca: Path | None) -> None:
    """Compare the served page with the link; the error for a third party's server names the right file."""
    from shuffledp.parties.organizer.page_check import check_page
    from shuffledp.parties.service.client import new_client
    from shuffledp.survey.trusted_parties import serves_page

    if collection.page is None:
        return
    with new_client(certificates=ca) as client:
        try:
            check_page(collection.page, client)
        except RemoteProtocolError as error:
            if collection.local or serves_page(collection):
                raise
            raise type(error)(f"{error} Put {survey.page_file} there, as it is.") from None


def _next(survey: "SurveyFolder", collection: "Collection", found: Mapping[str, Any], ca: Path | None) -> Iterator[str]:
    """Next steps of a survey in the state ``found``, one sentence for each."""
    from shuffledp.documents.release_document import RELEASE_PAGE
    from shuffledp.parties.service.client import NO_ANSWER

    publish = "" if collection.local else " --publish"
    if found["phase"] == "open":
        yield "People are served the page that the link names."
        if collection.issuer is not None:
            yield f"Remind people: shuffledp survey remind {survey.path}"
        if not collection.local:
            yield f"Close it, and publish the result: shuffledp survey finish {survey.path}{publish}"
        return
    released = survey.release.is_dir()
    if released:
        yield f"It is released: {survey.release / RELEASE_PAGE}"
    elif found["phase"] == NO_ANSWER:
        yield "Nothing is released unless all of them answer in the end: ask again later."
        return
    try:
        results = _results(collection, ca) if publish else ()
    except RemoteProtocolError:
        if found["phase"] == NO_ANSWER:  # which is said already
            return
        raise
    if results:
        from shuffledp.parties.service.batch_release import says_released

        last = results[-1].statement
        what = "The result" if last is not None and says_released(last) else "That nothing was released"
        yield f"{what} is published: {collection.result}"
    elif publish or not released:
        yield f"Next: shuffledp survey finish {survey.path}{publish}"


def _results(collection: "Collection", ca: Path | None) -> "Sequence[PublishedResult]":
    """Results that are published at the mix."""
    with _mix(collection, ca) as mix:
        return mix.results(collection)


def _show_release(survey: "SurveyFolder", found: "FetchedRelease", ledger: Path | None) -> None:
    """Count a release in the ledger, if there is one, and print it: its numbers, then its promise."""
    from shuffledp.documents.collections.sending_document import fetched_document
    from shuffledp.documents.collections.survey_document import numbers_document

    collection = survey.read()
    if ledger is not None:
        from shuffledp.files.ledger_use import charge_collection

        charge_collection(ledger, collection, (folder / "statement.json" for folder in found.releases))
    *_, told = found.releases.values()
    show_document(lambda: numbers_document(collection, told))
    show_document(
        lambda: fetched_document(collection, found.releases, has_ended=found.has_ended, missing=found.missing)
    )
