"""The commands of a survey with people's phones: `survey new`, and what follows with its folder."""

import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.collect_command import status_of
from shuffledp.cli.options import Json, print_json, require_extra, show_document, whole
from shuffledp.cli.send_command import Certificates
from shuffledp.cli.serve_command import NEEDED
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.parties.organizer.survey_folder import SurveyFolder
    from shuffledp.parties.service.fetched_release import FetchedRelease
    from shuffledp.survey.survey_terms import AskedQuestion

survey_app = typer.Typer(
    name="survey",
    help="Ask people on their phones, and release what they said.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_LOCAL_MINUTES = 60
SurveyPath = Annotated[Path, typer.Argument(metavar="FOLDER", readable=False, help="What `survey new` has made.")]


@survey_app.callback()
def _survey() -> None:
    """Ask people on their phones, and release what they said."""


def new(
    question: Annotated[str | None, typer.Argument(metavar="[QUESTION]", help="What people are asked.")] = None,
    *,
    people: Annotated[int, whole("How many will answer, as far as you know.")],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to make, with all files of the survey.")],
    local: Annotated[
        bool, typer.Option("--local", help="This machine takes the answers in, from phones in its own network.")
    ] = False,
    answers: Annotated[str, typer.Option(metavar="No,Yes", help="All possible answers.")] = "No,Yes",
    questions: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", readable=False, help="Several questions: [[question]] with text, answers."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the survey; the question if left out.")] = None,
    epsilon0: Annotated[
        float | None, typer.Option(help="What all answers of one person may tell; 2, or from 300 people on 1.")
    ] = None,
    minimum: Annotated[
        int | None, whole("With fewer answers nothing is released; half of the people if left out.")
    ] = None,
    fakes: Annotated[int | None, whole("How many of the answers may be made up; all but one if left out.")] = None,
    closes: Annotated[
        str | None, typer.Option(metavar="DATE", help="In UTC: the end of a day, or 2026-12-01T12:00:00Z.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="IP", help="Of this machine in its network, where it does not tell it.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Of the questions, such as de; the page speaks it, too.")] = None,
    contact: Annotated[str | None, typer.Option(help="Who asks, and can be asked.")] = None,
) -> None:
    """Make a survey: its key, its page, its link as a QR code and a sheet to print.

    With --local one operator does everything on this machine, without a certificate or the internet: it goes on until
    the survey closes, or Enter is pressed, and then writes the release.
    """
    require_extra("service", "serving", [*NEEDED, "segno"])
    from shuffledp.documents.survey_document import new_survey_document
    from shuffledp.parties.organizer import local_survey
    from shuffledp.survey.survey_terms import COMPARED, SurveyTerms, epsilon0_for, minimum_for

    if not local:
        raise InvalidParameterError("--local must be given: this version has no other place for a survey.")
    asked = _asked(question, answers, questions)
    terms = SurveyTerms(
        name=name or asked[0].text,
        questions=asked,
        people=people,
        epsilon0=epsilon0_for(people, epsilon0, alone="where one operator runs everything"),
        minimum=minimum_for(people) if minimum is None else minimum,
        fakes=fakes,
        language=language,
        contact=contact,
    )
    where = address or local_survey.network_address()
    survey = local_survey.new_local_survey(terms, output, address=where, closes=_closes(closes))
    collection = survey.read()
    compared = [terms.known(each) for each in COMPARED]
    link = "" if collection.page is None else collection.page.link
    show_document(lambda: new_survey_document(terms, compared, collection, output, link))
    _run_local(survey)


def status(folder: SurveyPath, *, ca: Certificates = None, json: Json = False) -> None:
    """Say whether a survey is open, whether enough have answered, and whether people are served the right page.

    How many have answered, nobody says before the release.
    """
    require_extra("service", "asking", ["httpx"])
    from shuffledp.documents.survey_document import survey_status_document
    from shuffledp.parties.organizer.page_check import check_page
    from shuffledp.parties.organizer.survey_folder import SurveyFolder
    from shuffledp.parties.service.client import new_client

    collection = SurveyFolder(folder).read()
    found = status_of(collection, ca)
    if found["phase"] == "open" and collection.page is not None:
        with new_client(certificates=ca) as client:
            check_page(collection.page, client)
    if json:
        print_json({"collection": collection.id.hex()} | found)
        return
    is_open = found["phase"] == "open"
    next_ = "People are served the page that the link names." if is_open else f"Next: shuffledp survey finish {folder}"
    show_document(lambda: survey_status_document(collection, found, next_))


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
    from shuffledp.documents.collection_document import collection_as_dict
    from shuffledp.documents.survey_document import page_checked_document
    from shuffledp.parties.organizer.page_check import check_page, page_of_link
    from shuffledp.parties.service.client import new_client

    page = page_of_link(link)
    with new_client(certificates=ca) as client:
        found = check_page(page, client)
    if json:
        print_json({"url": page.url, "sha256": page.sha256} | ({} if found is None else collection_as_dict(found)))
    else:
        show_document(lambda: page_checked_document(page, found))


def close(folder: SurveyPath, *, ca: Certificates = None) -> None:
    """Close a survey before its date; what has come is released by `survey finish`."""
    require_extra("service", "asking", ["httpx"])
    from shuffledp.documents.survey_document import survey_status_document
    from shuffledp.parties.organizer import local_survey
    from shuffledp.parties.organizer.survey_folder import SurveyFolder

    survey = SurveyFolder(folder)
    collection = survey.read()
    local_survey.close(survey)
    found = status_of(collection, ca)
    next_ = f"Next: shuffledp survey finish {folder}"
    show_document(lambda: survey_status_document(collection, found, next_))


def finish(
    folder: SurveyPath,
    *,
    wait: Annotated[
        bool, typer.Option("--wait", help="Take answers in until it closes, or Enter is pressed, as `survey new` did.")
    ] = False,
) -> None:
    """Close a survey, if it is open, and write its release."""
    require_extra("service", "serving", NEEDED)
    from shuffledp.parties.organizer.survey_folder import SurveyFolder

    survey = SurveyFolder(folder)
    survey.read()
    if wait:
        _run_local(survey)
    else:
        _finish_local(survey)


def _asked(question: str | None, answers: str, file: Path | None) -> "tuple[AskedQuestion, ...]":
    """Questions of the command line or of a file."""
    from shuffledp.survey.survey_terms import AskedQuestion, questions_in

    if (question is None) == (file is None):
        raise InvalidParameterError("QUESTION must be given, or --questions in its place, and not both.")
    if file is not None:
        return questions_in(file)
    return (AskedQuestion(question or "", tuple(each.strip() for each in answers.split(","))),)


def _closes(given: str | None) -> str:
    """When a local survey closes: as given, or in an hour."""
    from shuffledp.core.instants import end_of_day, written

    if given is not None:
        return end_of_day(given)
    return written(datetime.now(UTC) + timedelta(minutes=_LOCAL_MINUTES))


def _run_local(survey: "SurveyFolder") -> None:
    """Take answers in until the close or a line of input, and release them."""
    from shuffledp.documents.survey_document import open_local_document
    from shuffledp.parties.organizer.local_survey import at_work, finished, wait_for_end

    collection, asked = survey.read(), threading.Event()
    with at_work(survey) as keep:
        show_document(lambda: open_local_document(collection, survey.path))
        threading.Thread(target=_read_line, args=(asked,), daemon=True).start()
        wait_for_end(collection, asked, keep)
        _show_release(survey, finished(survey))


def _read_line(asked: threading.Event) -> None:
    """Set the event when a line is entered; a closed input is none."""
    if sys.stdin.readline():
        asked.set()


def _finish_local(survey: "SurveyFolder") -> None:
    """Release the answers of a survey that was interrupted here."""
    from shuffledp.parties.organizer.local_survey import at_work, finished

    with at_work(survey):
        _show_release(survey, finished(survey))


def _show_release(survey: "SurveyFolder", found: "FetchedRelease") -> None:
    from shuffledp.documents.sending_document import fetched_document

    collection = survey.read()
    show_document(
        lambda: fetched_document(collection, found.releases, has_ended=found.has_ended, missing=found.missing)
    )
