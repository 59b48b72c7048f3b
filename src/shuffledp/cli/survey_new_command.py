"""The command `survey new`: a survey for phones in this network, or through a mix for all people."""

import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.collection_options import MixOptions, relays_of
from shuffledp.cli.ledger_command import reserving
from shuffledp.cli.options import LedgerPath, require_extra, show_document, whole
from shuffledp.cli.serve_command import NEEDED
from shuffledp.cli.survey_command import run_local
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.parties.organizer.survey_folder import SurveyFolder
    from shuffledp.survey.asked_questions import AskedQuestion
    from shuffledp.survey.survey_terms import SurveyTerms

_LOCAL_MINUTES = 60
_ALONE = "where one operator runs everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOptions:
    """Options of a survey's questions, and of its name, language and contact."""

    answers: Annotated[str | None, typer.Option(metavar="No,Yes", help="All possible answers; No,Yes.")] = None
    number: Annotated[
        str | None,
        typer.Option(metavar="0:10000", help="People answer by a number; the least and the largest that count."),
    ] = None
    whole: Annotated[bool, typer.Option("--whole", help="Of a sum of numbers: only whole ones are taken.")] = False
    total: Annotated[
        bool, typer.Option("--total", help="Of a sum: how many say the second answer, or all numbers together.")
    ] = False
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            readable=False,
            help="Several questions: [[question]] with text, answers, or lower, upper.",
        ),
    ] = None
    name: Annotated[str | None, typer.Option(help="Name of the survey; the question if left out.")] = None
    language: Annotated[str | None, typer.Option(help="Of the questions, such as de; the page speaks it, too.")] = None
    contact: Annotated[str | None, typer.Option(help="Who asks, and can be asked.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseOptions:
    """Options of the number of participants, and of the promises made to them."""

    people: Annotated[int | None, whole("How many will answer, as far as you know; all invited, if left out.")] = None
    epsilon0: Annotated[
        float | None, typer.Option(help="What all answers of one person may tell; 2, or from 300 people on 1.")
    ] = None
    minimum: Annotated[int | None, whole("With fewer answers nothing is released; half of the people if left out.")] = (
        None
    )
    fakes: Annotated[
        int | None,
        whole("How many of the answers may be made up; if left out all but one, or of people invited by name none."),
    ] = None
    closes: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="In UTC: the end of a day, or 2026-12-01T12:00:00Z; an hour, or a week."),
    ] = None
    sums: Annotated[
        bool | None,
        typer.Option(
            "--sum/--reports",
            help="Numbers, yes or no as a sum: known far better, but nothing is left if mix and you join. Or not so.",
        ),
    ] = None
    ledger: LedgerPath = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughMix:
    """Options of a survey through a mix that somebody else runs."""

    kit: Annotated[
        Path | None,
        typer.Option(metavar="KIT", readable=False, help="A kit with a mix, in place of --mix, --relay and --page-at."),
    ] = None
    invite: Annotated[
        Path | None,
        typer.Option(metavar="people.csv", readable=False, help="Only these people answer, once each: a row for each."),
    ] = None
    reminders: Annotated[
        bool, typer.Option("--reminders", help="The mix tells you who has not answered, 3 times; the page says so.")
    ] = False
    page_at: Annotated[
        str | None, typer.Option(metavar="URL", help="Where you put the page; else the mix serves it.")
    ] = None
    relay: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Answers go through it, so that the mix sees no address. Twice: either."),
    ] = None


def new(
    question: Annotated[str | None, typer.Argument(metavar="[QUESTION]", help="What people are asked.")] = None,
    *,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to make, with all files of the survey.")],
    local: Annotated[
        bool, typer.Option("--local", help="This machine takes the answers in, from phones in its own network.")
    ] = False,
    address: Annotated[
        str | None, typer.Option(metavar="IP", help="Of this machine in its network, where it does not tell it.")
    ] = None,
    at: MixOptions,
    through: ThroughMix,
    asking: QuestionOptions,
    promising: PromiseOptions,
) -> None:
    """Make a survey: its key, its page, its link as a QR code and a sheet to print, or an invitation for each person.

    With --mix somebody else takes the answers in and mixes them: people answer from anywhere, and this machine may be
    switched off. With --local one operator does everything on this machine, without a certificate or the internet: it
    goes on until the survey closes, or Enter is pressed, and then writes the release.
    """
    require_extra("service", "serving", [*NEEDED, "segno"])
    if through.kit is not None:
        at, through = _of_kit(at, through, through.kit)
    if local == (at.mix is not None):
        raise InvalidParameterError(
            "--mix URL must be given, of a mix that somebody else runs, or --local, for phones in the network of this "
            "machine; and not both."
        )
    asked = _asked(question, asking)
    if local:
        if (at, through) != (MixOptions(), ThroughMix()):
            raise InvalidParameterError("--invite, --page-at, --relay and the others of a mix must be left out here.")
        if promising.sums:
            raise InvalidParameterError(
                "--sum must be left out with --local: whoever serves the page, takes answers in and opens them reads "
                "everybody's."
            )
        _new_local(asked, output, address, asking, promising)
        return
    if address is not None:
        raise InvalidParameterError("--address must be left out without --local.")
    _new_at_mix(asked, output, at, through, asking=asking, promising=promising)


def _of_kit(at: MixOptions, through: ThroughMix, kit: Path) -> tuple[MixOptions, ThroughMix]:
    """Options of a survey at the mix of a kit, with its relay and the server of its page."""
    from shuffledp.parties.kit.folders import parties_of
    from shuffledp.parties.kit.party_roles import PAGE

    parties = parties_of(kit)
    if parties.main != "mix":
        raise InvalidParameterError(f"--kit must be a kit with a mix; {kit} has none: `collect new` is for it.")
    if (at.mix, through.relay, through.page_at) != (None, None, None):
        raise InvalidParameterError("--mix, --relay and --page-at must be left out with --kit, which names them.")
    hosts = parties.hosts
    return replace(at, mix=[parties.url("mix")]), replace(
        through,
        relay=list(parties.relays) or None,
        page_at=f"{parties.url('page')}/{PAGE}" if "page" in hosts else None,
    )


def _new_local(
    asked: "tuple[AskedQuestion, ...]",
    output: Path,
    address: str | None,
    asking: QuestionOptions,
    promising: PromiseOptions,
) -> None:
    """Make a survey in this network, and take answers in until it ends."""
    from shuffledp.core.instants import end_of_day, written
    from shuffledp.parties.organizer import local_survey

    terms = _terms(asked, asking, promising, alone=_ALONE)
    in_an_hour = written(datetime.now(UTC) + timedelta(minutes=_LOCAL_MINUTES))
    closes = in_an_hour if promising.closes is None else end_of_day(promising.closes)
    where = address or local_survey.network_address()
    with reserving(promising.ledger) as reserve:
        survey = local_survey.new_local_survey(terms, output, address=where, closes=closes, reserve=reserve)
    _show(terms, survey)
    run_local(survey, promising.ledger)


def _new_at_mix(
    asked: "tuple[AskedQuestion, ...]",
    output: Path,
    at: MixOptions,
    through: ThroughMix,
    *,
    asking: QuestionOptions,
    promising: PromiseOptions,
) -> None:
    """Make a survey, register it at a mix, and print the next steps."""
    from shuffledp.core.instants import end_of_day
    from shuffledp.documents.collections.survey_document import new_mix_steps
    from shuffledp.parties.issuer.invitations import read_people
    from shuffledp.parties.organizer.mix_survey import MixPlan, new_mix_survey
    from shuffledp.survey.addresses import LOCAL, check_address, host_of

    relays, mixes = tuple(filter(None, relays_of(through.relay).values())), at.mix or []
    addresses = (
        *(("mix", each) for each in mixes),
        ("page_at", through.page_at),
        *(("relay", each) for each in relays),
    )
    for name, url in addresses:
        if url is not None:
            check_address(**{name: url})
    rows = None if through.invite is None else read_people(through.invite)
    plan = MixPlan(
        closes=None if promising.closes is None else end_of_day(promising.closes),
        invited=rows,
        reminders=through.reminders,
        page_at=through.page_at,
        relays=relays,
    )
    invited = 0 if rows is None else len(rows) - 1
    alone = _ALONE if any(host_of(each) == LOCAL for each in mixes) else ""
    terms = _terms(asked, asking, promising, invited=invited, alone=alone, hosts=len(mixes))
    if promising.sums is None:
        _offer_sum(terms, invited=bool(invited))
    with at.reached() as reached, reserving(promising.ledger) as reserve:
        survey = new_mix_survey(terms, output, reached, plan, reserve=reserve)
    if through.kit is not None:
        from shuffledp.parties.kit.folders import take_survey

        take_survey(through.kit, survey.collection_file, survey.page_file)
    _show(terms, survey, *new_mix_steps(survey.read(), output, invited))


def _asked(question: str | None, asking: QuestionOptions) -> "tuple[AskedQuestion, ...]":
    """Questions of the command line or of a file."""
    from shuffledp.survey.asked_questions import question_of, questions_in

    if (question is None) == (asking.questions is None):
        raise InvalidParameterError("QUESTION must be given, or --questions in its place, and not both.")
    if asking.questions is None:
        kinds = {"total": asking.total, "whole": asking.whole}
        return (question_of(question or "", asking.answers, asking.number, **kinds),)
    if (asking.answers, asking.number, asking.total, asking.whole) != (None, None, False, False):
        raise InvalidParameterError(
            "--answers, --number, --total and --whole must be left out with --questions, whose file says so of each "
            "question."
        )
    return questions_in(asking.questions)


def _offer_sum(terms: "SurveyTerms", *, invited: bool) -> None:
    """Offer a far more accurate sum at a terminal; raise an error unless reports are confirmed."""
    from shuffledp.documents.collections.survey_document import sum_offer, sum_options
    from shuffledp.documents.document import Document, Section

    if not sys.stdin.isatty() or not (blocks := sum_offer(terms, invited=invited)):
        return
    show_document(lambda: Document(sections=(Section(anchor="sum", title="", blocks=blocks),)))
    if not typer.confirm("Ask by reports all the same (--reports)?", err=True):
        raise InvalidParameterError(f"nothing was made. {sum_options(terms)}")


def _terms(
    asked: "tuple[AskedQuestion, ...]",
    asking: QuestionOptions,
    promising: PromiseOptions,
    *,
    invited: int = 0,
    alone: str = "",
    hosts: int = 1,
) -> "SurveyTerms":
    """Terms of a survey; options left out follow from the number of people."""
    from shuffledp.survey.survey_terms import SurveyTerms, epsilon0_for, minimum_for

    people = invited if invited and promising.sums else promising.people or invited
    if not people:
        raise InvalidParameterError("--people must be given: how many will answer, as far as you know.")
    if invited and promising.sums and promising.people not in (None, invited):
        raise InvalidParameterError(
            "--people must be left out with --sum and --invite: all who are invited may answer."
        )
    if invited and people > invited:
        raise InvalidParameterError(f"--people must be at most {invited}, who are invited; got --people={people}.")
    return SurveyTerms(
        name=asking.name or asked[0].text,
        questions=asked,
        people=people,
        epsilon0=epsilon0_for(people, promising.epsilon0, alone=alone),
        minimum=minimum_for(people) if promising.minimum is None else promising.minimum,
        fakes=0 if invited and promising.fakes is None else promising.fakes,
        language=asking.language,
        contact=asking.contact,
        sums=bool(promising.sums),
        hosts=hosts,
    )


def _show(terms: "SurveyTerms", survey: "SurveyFolder", *next_: str) -> None:
    from shuffledp.documents.collections.survey_document import new_survey_document
    from shuffledp.survey.survey_terms import COMPARED

    collection = survey.read()
    compared = [terms.known(each) for each in COMPARED]
    link = "" if collection.page is None else collection.page.link
    show_document(lambda: new_survey_document(terms, compared, collection, survey.path, link, *next_))
