"""Survey through another operator's mix host: this machine makes it, reminds, fetches and publishes.

Nothing here has to stay switched on while people answer: every function goes on from the files of the survey.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError, ShuffleDPError, SpoiltReportsError
from shuffledp.core.validate import invalid
from shuffledp.files.writing import new_folder
from shuffledp.parties.issuer.invitations import new_invitations
from shuffledp.parties.organizer.invitation_folder import write_again, write_invitations
from shuffledp.parties.organizer.mix_client import MixClient
from shuffledp.parties.organizer.registration import Mixes
from shuffledp.parties.organizer.survey_folder import Setting, SurveyFolder, new_survey
from shuffledp.parties.service.awaited import Awaited
from shuffledp.parties.service.fetched_release import FetchedRelease, fetch_release
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, PartyNames, Service, Task
from shuffledp.survey.addresses import is_below
from shuffledp.survey.survey_terms import SurveyTerms

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
    mixes: Mixes,
    plan: MixPlan,
    *,
    reserve: Callable[[Collection], None] = lambda _: None,
) -> SurveyFolder:
    """Folder of a new survey, registered at a mix or at all mixes of a sum, so that people can answer.

    Args:
        terms: what is asked.
        output: folder to make.
        mixes: the mix, or all of them; the first one serves the page.
        plan: when, who and where.
        reserve: reserves the release in a privacy ledger, before the mix knows of the collection.

    Raises:
        InvalidParameterError: if a mix does not take this number of people or days, or the page is to be at its own
            host.
        RemoteProtocolError: if a mix refuses; then there is no folder, and what other mixes have is taken back.
    """
    mixes.check(people=terms.people, closes=plan.closes)
    mix, found = mixes.first, mixes.found[0]
    if plan.page_at is not None and is_below(plan.page_at, found.url):
        raise invalid(f"at another host than {mix.url}, which serves the page by itself", page_at=plan.page_at)
    if plan.invited is not None and not found.tokens:
        raise InvalidParameterError(f"--invite must be left out: {mix.url} gives no tokens.")
    issuer = None if plan.invited is None else Service(url=mix.url, key=mix.issuer_key())

    def collection(task: Task, analyst: PublishedKey, _: SurveyFolder) -> Collection:
        return mixes.collection(
            task,
            analyst,
            closes=plan.closes or mixes.latest_close,
            transport="oblivious" if plan.relays else "direct" if issuer is None else "token",
            **dict(zip(("relay", "second_relay"), plan.relays, strict=False)),
            issuer=issuer,
            reminders=plan.reminders,
            names=_names(terms.contact),
        )

    def register(survey: SurveyFolder) -> None:
        made, have = survey.read(), list[MixClient]()
        try:
            mixes.register(made, have)
            if plan.invited is not None:
                _invite(survey, made, plan.invited, mix)
        except BaseException as error:  # also where somebody ends the command meanwhile
            stands = mixes.take_back(made, survey.analyst_key(), have)
            if isinstance(error, RemoteProtocolError):
                raise type(error)(f"{error} {stands}".strip()) from None
            raise

    def page_at(made: Collection) -> str:
        return plan.page_at or mixes.page_url(made.nonce)

    return new_survey(terms, output, Setting(collection, page_at, register, reserve))


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
    survey: SurveyFolder, *, certificates: Path | None = None, waiting: Callable[[Awaited], None] = lambda _: None
) -> FetchedRelease:
    """Release of a closed survey: fetched from the mix, opened and written here; mixes of a sum are told to close.

    Raises:
        BatchTooSmallError: if fewer answered than are released.
        AgreementError: if the hosts of a sum never agree.
        SpoiltReportsError: if the answers were opened, and make no release.
        InputDataError: if the answers were fetched elsewhere, or not in time.
        RemoteProtocolError: if the mix refuses.
    """
    collection, keys = survey.read(), [survey.analyst_key()]
    return asyncio.run(
        fetch_release(collection, keys, survey.path, certificates=certificates, waiting=waiting, close=True)
    )


def publish(
    collection: Collection, analyst: AnalyzerKey, mix: MixClient, found: FetchedRelease | ShuffleDPError
) -> None:
    """Publish a release at the mix, or the fact that there is none, signed by the analyst's key.

    Raises:
        RemoteProtocolError: if the mix refuses.
    """
    statement = found.statement if isinstance(found, SpoiltReportsError) else None
    if isinstance(found, FetchedRelease):
        folder = [*found.releases][-1]
        statement = json.loads((folder / _STATEMENT).read_text(encoding="utf-8"))
    mix.publish(collection, analyst, statement)
