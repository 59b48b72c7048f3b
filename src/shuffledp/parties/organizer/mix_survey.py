"""Survey through another operator's mix host: this machine makes it, reminds, fetches and publishes.

Nothing here has to stay switched on while people answer: every function goes on from the files of the survey.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError, ShuffleDPError
from shuffledp.core.instants import instant, written
from shuffledp.core.validate import invalid
from shuffledp.files.writing import new_folder
from shuffledp.parties.issuer.invitations import new_invitations
from shuffledp.parties.organizer.invitation_folder import write_again, write_invitations
from shuffledp.parties.organizer.mix_client import MixClient
from shuffledp.parties.organizer.survey_folder import Setting, SurveyFolder, new_survey
from shuffledp.parties.service.fetched_release import FetchedRelease, fetch_release
from shuffledp.parties.wire.mix_terms import MixTerms
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, PartyNames, Service, Task
from shuffledp.survey.addresses import is_below
from shuffledp.survey.survey_terms import SurveyTerms

_DAYS_OPEN, _DAYS_TO_FETCH = 7, 30
_SLACK = timedelta(minutes=5)  # by which the clocks of this machine and of the mix may differ
_LONGEST_NAME = 80  # of a party
_STATEMENT = "statement.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class MixPlan:
    """Plan of a survey through a mix: when it closes, who is invited, and who serves the page.

    Args:
        closes: when it closes; None is in a week, or as long as the mix allows.
        invited: list of people with a header line; None is an open link.
        reminders: whether the mix tells the organizer, three times at most, who has not answered.
        page_at: address of the page where a third party serves it; None is the mix.
        relays: addresses of a relay, by which the mix does not see where answers come from, and of another that takes
            its place; empty for none.
    """

    closes: str | None = None
    invited: Sequence[Sequence[str]] | None = None
    reminders: bool = False
    page_at: str | None = None
    relays: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.reminders and self.invited is None:
            raise invalid("left out without people who are invited by name", reminders=self.reminders)


def new_mix_survey(
    terms: SurveyTerms,
    output: Path,
    mix: MixClient,
    found: MixTerms,
    plan: MixPlan,
    *,
    further: Sequence[tuple[MixClient, MixTerms]] = (),
    reserve: Callable[[Collection], None] = lambda _: None,
) -> SurveyFolder:
    """Folder of a new survey, registered at a mix or at all hosts of a sum, so that people can answer.

    Args:
        terms: what is asked.
        output: folder to make.
        mix: client of the mix, with what its operator wants of registrants.
        found: terms of the mix.
        plan: when, who and where.
        further: clients of the mixes that share the answers with it, with their terms; the first one serves the page.
        reserve: reserves the release in a privacy ledger, before the mix knows of the collection.

    Raises:
        InvalidParameterError: if the mix does not take so many people or days, or the page is to be at its own host.
        RemoteProtocolError: if the mix refuses; then there is no folder.
    """
    for each, theirs in ((mix, found), *further):
        if terms.people > theirs.policy.people:
            raise invalid(f"at most {theirs.policy.people}, which {each.url} takes", people=terms.people)
        latest = datetime.now(UTC) + timedelta(days=theirs.policy.days)
        if plan.closes is not None and instant(closes=plan.closes) > latest:
            raise invalid(f"at most {theirs.policy.days} days from now, which {each.url} takes", closes=plan.closes)
    if plan.page_at is not None and is_below(plan.page_at, found.url):
        raise invalid(f"at another host than {mix.url}, which serves the page by itself", page_at=plan.page_at)
    if plan.invited is not None and not found.tokens:
        raise InvalidParameterError(f"--invite must be left out: {mix.url} gives no tokens.")
    issuer = None if plan.invited is None else Service(url=mix.url, key=mix.issuer_key())

    def collection(task: Task, analyst: PublishedKey, _: SurveyFolder) -> Collection:
        shortest = min((found, *(theirs for _, theirs in further)), key=lambda each: each.policy.days)
        closes = plan.closes or default_close(shortest)
        waits = timedelta(days=min(_DAYS_TO_FETCH, shortest.policy.days)) - _SLACK
        made = Collection.new(
            task,
            shuffler=Service(url=mix.url, key=found.shuffler),
            further_shufflers=tuple(Service(url=each.url, key=theirs.shuffler) for each, theirs in further),
            analyzer=Service(key=analyst),
            closes=closes,
            fetch_by=written(instant(closes=closes) + waits),
            transport="oblivious" if plan.relays else "direct" if issuer is None else "token",
            gateway=found.gateway if plan.relays else None,
            **dict(zip(("relay", "second_relay"), plan.relays, strict=False)),
            issuer=issuer,
            reminders=plan.reminders,
            names=_names(terms.contact),
            now=datetime.now(UTC),
        )
        return replace(made, result=found.page_url(made.nonce))

    def register(survey: SurveyFolder) -> None:
        made = survey.read()
        for each in (mix, *(other for other, _ in further)):
            each.register(made)
        if plan.invited is not None:
            _invite(survey, made, plan.invited, mix)

    def page_at(made: Collection) -> str:
        return plan.page_at or found.page_url(made.nonce)

    return new_survey(terms, output, Setting(collection, page_at, register, reserve))


def default_close(found: MixTerms) -> str:
    """Default closing time of a survey: in a week, or as late as a mix with these terms allows."""
    return written(datetime.now(UTC) + min(timedelta(days=_DAYS_OPEN), timedelta(days=found.policy.days) - _SLACK))


def _names(contact: str | None) -> PartyNames:
    """Name of the analyst: the contact, if it is short enough; otherwise none."""
    return PartyNames(analyzer=contact if contact and len(contact) <= _LONGEST_NAME and '"' not in contact else None)


def _invite(survey: SurveyFolder, collection: Collection, rows: Sequence[Sequence[str]], mix: MixClient) -> None:
    made, listed = new_invitations(collection, len(rows) - 1)
    with new_folder(survey.invitations, is_ours=lambda _: False) as folder:
        folder.chmod(0o700)
        write_invitations(folder, collection, rows, made, listed, sheet=True, mails=True)
    mix.invite(collection, survey.analyst_key(), listed)


def remind(survey: SurveyFolder, mix: MixClient, *, everybody: bool = False) -> tuple[Path, int]:
    """Folder with invitations written again as reminders, and the number of reminders.

    Only those who have not taken part are reminded where the collection said beforehand that the mix tells who they
    are; else, or with ``everybody``, all are.

    Raises:
        InvalidParameterError: if nobody is invited by name.
        RemoteProtocolError: if the mix does not tell, as after the third time.
    """
    collection = survey.read()
    if collection.issuer is None:
        raise InvalidParameterError("a survey must have been made with --invite to remind people by name.")
    absent = mix.absent(collection, survey.analyst_key()) if collection.reminders and not everybody else None
    number = 1 + sum(1 for _ in survey.path.glob("reminder-*"))
    with new_folder(survey.path / f"reminder-{number}", is_ours=lambda _: False) as folder:
        folder.chmod(0o700)
        count = write_again(folder, collection, survey.invitations, absent=absent)
    return survey.path / f"reminder-{number}", count


def finished(
    survey: SurveyFolder, *, certificates: Path | None = None, waiting: Callable[[bool], None] = lambda _: None
) -> FetchedRelease:
    """Release of a closed survey: fetched from the mix, opened and written here.

    Raises:
        BatchTooSmallError: if fewer answered than are released.
        AgreementError: if the hosts of a sum never agree.
        InputDataError: if the answers were fetched elsewhere, or not in time.
        RemoteProtocolError: if the mix refuses.
    """
    collection, keys = survey.read(), [survey.analyst_key()]
    return asyncio.run(fetch_release(collection, keys, survey.path, certificates=certificates, waiting=waiting))


def publish(survey: SurveyFolder, mix: MixClient, found: FetchedRelease | ShuffleDPError) -> None:
    """Publish a release at the mix, or that there is none, as data signed by the analyst's key.

    Raises:
        RemoteProtocolError: if the mix refuses.
    """
    statement = None
    if isinstance(found, FetchedRelease):
        folder = [*found.releases][-1]
        statement = json.loads((folder / _STATEMENT).read_text(encoding="utf-8"))
    mix.publish(survey.read(), survey.analyst_key(), statement)
