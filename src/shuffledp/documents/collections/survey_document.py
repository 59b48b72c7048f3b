"""A survey in words for its organizer: what each epsilon0 costs, where people answer, and next steps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shuffledp.core.instants import shown
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import Block, Role, Text, told
from shuffledp.documents.collections.collection_document import collection_document
from shuffledp.documents.collections.published_document import result_blocks
from shuffledp.documents.collections.sending_document import status_document
from shuffledp.documents.document import Document, Section
from shuffledp.survey import LOCAL_NETWORK, Collection, WebPage
from shuffledp.survey.trusted_parties import serves_page

if TYPE_CHECKING:
    from shuffledp.survey.asked_questions import Knowledge
    from shuffledp.survey.survey_terms import SurveyTerms

_POINTS = 100
_NO_FAKES = (
    "Through an open link anybody can answer often, and whoever asks first of all: all answers but one may be made up. "
    "So epsilon0 is all that is promised. For a smaller loss among many, say by --fakes how many of the answers may be "
    "made up, and see that it holds."
)
_IF_REAL = "If those whom you invite are real people, none of them you, and nobody tells who sent which: "
_KEEP = "the key that opens the answers (analyst.key): keep the folder to yourself, and a copy of it."
_NOTHING_LEFT = "If the mix and whoever has analyst.key work together, nothing is left: they read everybody's answer."
_TOO_MANY_JOIN = (
    "If more than one of the {hosts} mixes work together with whoever has analyst.key, nothing is left of what is "
    "promised: all of them together read everybody's answer."
)
_MADE_UP = "Whoever makes up all answers but one, as {who} could, reads that one."
_BY_TOKENS, _BY_LINK = "a mix that gives the tokens", "anybody who has the link"
_ONE_LIAR = "If one device lies, the result may be any number, and nobody sees it."
_SERVED = (
    "{mix} takes the answers in and serves the page, too: by another page it alone could read answers, and the page "
    "says so. --page-at URL puts the page with a third party."
)
_REACH = (
    "If a phone does not open it: is it in this network, and not on mobile data? Networks for guests often keep phones "
    "from laptops; then a hotspot helps. A firewall of this machine must let port {port} in."
)


def new_survey_document(
    terms: "SurveyTerms", compared: "Sequence[Knowledge]", collection: Collection, folder: Path, link: str, *next_: str
) -> Document:
    """Document of a new survey: its loss, the cost of other losses, its link, and next steps.

    Args:
        terms: what is asked.
        compared: what is known at several values of epsilon0.
        collection: the collection made of it.
        folder: its folder.
        link: link by which people answer.
        next_: what to do next, a sentence each.
    """
    blocks: tuple[Block, ...] = (
        *told(LOCAL_NETWORK if collection.local else "", role=Role.DANGER),
        *told(_SERVED.format(mix=collection.shuffler.url) if serves_page(collection) else "", role=Role.DANGER),
        *(
            _sum_blocks(terms, invited=collection.issuer is not None)
            if terms.sums
            else _report_blocks(terms, collection)
        ),
        *told(_central(terms, collection)),
        *told(*(_others(terms, compared) if not terms.sums else ())),
        *told(
            f"\nIf fewer than {terms.minimum:,} of {terms.people:,} answer, nothing is released, and all is destroyed. "
            f"It closes at {shown(collection.closes)}.",
        ),
        *told(*([f"\nLink: {link}"] if collection.issuer is None else []), f"Folder: {folder}", role=Role.PATH),
        *told(
            f"It holds the link as a QR code (survey.svg), a sheet to print (print.html), and {_KEEP}"
            if collection.issuer is None
            else f"It holds the invitations, and {_KEEP}"
        ),
        *told(*next_),
    )
    return Document(title=terms.name, sections=(Section(anchor="survey", title="", blocks=blocks),))


def new_mix_steps(collection: Collection, folder: Path, invited: int) -> Iterator[str]:
    """Steps that follow on a new survey through a mix, one after the other.

    Args:
        collection: the collection, which the mix has.
        folder: the folder of the survey.
        invited: number of people who are invited by name; 0 for an open link.
    """
    page = collection.page
    if page is not None and not serves_page(collection):
        yield f"\nFirst put {page.beside(folder / 'survey.collection')}, as it is, at {page.url}."
    if invited:
        yield (
            f"\nNext: give each of {count_of(invited, 'person', 'people')} theirs, from {folder / 'invitations'}: "
            "print.html has cards to cut out, people.csv the links, mails a draft for each where the list has a "
            "column mail. Whoever has that folder can answer in anybody's place."
        )
    else:
        yield f"\nNext: give people the link, show {folder / 'survey.svg'}, or print {folder / 'print.html'}."
    yield f"See how it stands: shuffledp survey status {folder}"
    if invited:
        yield f"Remind people: shuffledp survey remind {folder}"
    yield f"Close it, and publish the result: shuffledp survey finish {folder} --publish"
    yield "This machine may be switched off in between."


def reminders_document(collection: Collection, folder: Path, count: int, *, chosen: bool) -> Document:
    """Document of the invitations that were written again, and of their recipients.

    Args:
        collection: the collection.
        folder: folder of the reminders.
        count: how many they are.
        chosen: whether they are for those alone who have not taken part.
    """
    whom = "for those who have not taken part" if chosen else "for all: nobody tells who has taken part"
    lines = (
        f"{count_of(count, 'reminder')}, {whom}. Each says: if you have answered already, ignore this.",
        f"Folder: {folder}",
        "\nNext: give each person theirs, by print.html, people.csv or mails, as the invitations before.",
        f"It closes at {shown(collection.closes)}.",
    )
    return Document(sections=(Section(anchor="reminders", title="", blocks=told(*lines)),))


def numbers_document(collection: Collection, statement: Mapping[str, Any]) -> Document:
    """Estimates of a release, from the content of its ``statement.json``, as people will read them at the mix."""
    return Document(sections=(Section(anchor="numbers", title="", blocks=result_blocks(collection, statement)),))


def published_document(collection: Collection, *, released: bool) -> Document:
    """Address of the published result, or of the notice that nothing was released."""
    said = "The result is published" if released else "That nothing was released is published"
    where = f"{said}: {collection.result}" if collection.result else f"{said}."
    return Document(sections=(Section(anchor="published", title="", blocks=told(where, role=Role.PATH)),))


def open_local_document(collection: Collection, folder: Path) -> Document:
    """Document with the address of a local survey, help if phones cannot open it, and how it ends."""
    url = collection.shuffler.url
    ends = f"It ends at {shown(collection.closes)}, or when you press Enter here. The release follows at once."
    interrupted = f"If this is interrupted, nothing is lost: shuffledp survey finish --wait {folder}"
    lines = (f"\nOpen on each phone: {url}", _REACH.format(port=url.rpartition(":")[2]), ends, interrupted)
    return Document(sections=(Section(anchor="open", title="", blocks=told(*lines)),))


def page_checked_document(page: WebPage, collection: Collection | None, *lines: str) -> Document:
    """Document on a page that was found to be the right one: the check, then the page's collection.

    Args:
        page: address and digest.
        collection: collection inside the page; None where it is not known here.
        lines: what else is known, a sentence each.
    """
    seen = (
        f"The page at {page.url} is the one that the link names.",
        "That is so now, and for this machine: whoever serves it could serve others another one.",
    )
    blocks = (*told(*seen, *lines),)
    checked = Section(anchor="checked", title="The page", blocks=blocks)
    if collection is None:
        return Document(sections=(checked,))
    return replace(collection_document(collection), sections=(checked, *collection_document(collection).sections))


def survey_status_document(collection: Collection, status: Mapping[str, object], *next_: str) -> Document:
    """Document on the state of a survey and the next steps, without the number of answers."""
    return status_document(collection, status).followed_by(Section(anchor="next", title="", blocks=told(*next_)))


def sum_offer(terms: "SurveyTerms", *, invited: bool, local: bool = False) -> tuple[Block, ...]:
    """Offer of a sum in place of reports: its options, its price and its gain.

    Empty unless the sum errs less than half as much.

    Args:
        terms: what is asked, by reports.
        invited: whether people answer by invitation, once each.
        local: whether one operator does all of it, so that a sum would need a mix.
    """
    better = terms.better_sum
    if better is None:
        return ()
    unsaid, asked = terms.fakes is None, [each for each in terms.questions if each.fits_sum]
    share = terms.epsilon0 / len(terms.questions)
    reports = max((each.known(share, terms.people) for each in asked), key=lambda each: each.relative)
    gain = f"{_accuracy(better, terms.people)}, in place of {_reach(reports, terms.people)}"
    first = f"Best asked as a sum{', through a mix that somebody else runs' * local}: {gain}."
    dangers = (_NOTHING_LEFT, _made_up(invited=invited), _ONE_LIAR)
    told_before = (
        sum_options(terms, local=local),
        "--fakes 0 says that nobody who has the link makes up answers." if unsaid else "",
        f"{terms.people - terms.minimum:,} of {terms.people:,} may stay away, and not one more. The price:",
    )
    further = " ".join(filter(None, (*told_before, *dangers)))
    return Text(first, Role.LEAD, bold=(first,)), Text(further, bold=dangers)


def sum_options(terms: "SurveyTerms", *, local: bool = False) -> str:
    """Sentence on the options of the command that turn the survey into a sum."""
    sums = "--sum" + " --fakes 0" * (terms.fakes is None)
    return f"For that give --mix URL {sums} in place of --local." if local else f"For that add {sums} to the command."


def _made_up(*, invited: bool) -> str:
    """Sentence on who could make up all answers but one."""
    return _MADE_UP.format(who=_BY_TOKENS if invited else _BY_LINK)


def _report_blocks(terms: "SurveyTerms", collection: Collection) -> Iterator[Block]:
    """Texts on the accuracy of a sum, where it is far better, and on the accuracy of the survey's reports."""
    yield from sum_offer(terms, invited=collection.issuer is not None, local=collection.local)
    loss = in_digits(terms.epsilon0, "exactly")
    yield Text(f"epsilon0 = {loss}: {_known(terms.known(terms.epsilon0), terms.people)}.", Role.LEAD)


def _sum_blocks(terms: "SurveyTerms", *, invited: bool) -> Iterator[Block]:
    """Texts on a sum: its accuracy, the danger if others break their word, and how many may stay away."""
    chosen, most = in_digits(terms.epsilon0, "exactly"), count_of(terms.people, "answer")
    joined = _TOO_MANY_JOIN.format(hosts=terms.hosts) if terms.hosts > 1 else _NOTHING_LEFT
    yield from told(joined, _made_up(invited=invited), _ONE_LIAR, role=Role.DANGER)
    yield Text(f"epsilon = {chosen}, of a sum: with {most} {_accuracy(terms.sum_known, terms.people)}.", Role.LEAD)
    yield from told(
        f"{terms.people - terms.minimum:,} of {count_of(terms.people, 'person', 'people')} may stay away, and not one "
        "more; and no more than they can answer. If one message of anybody is lost or spoilt, nothing is released."
    )


def _others(terms: "SurveyTerms", compared: "Sequence[Knowledge]") -> Iterator[str]:
    """Sentences on the accuracy at other losses."""
    if compared:
        yield "Others, by --epsilon0:"
    for each in compared:
        yield f"  {in_digits(each.epsilon0, 'exactly')}: {_known(each, terms.people)}"


def _accuracy(found: "Knowledge", people: int) -> str:
    """Clause on how well a share, a mean, or a total of this many people is known."""
    asked = found.asked
    what = ("a share" if asked.ends is None else "a mean") if not asked.total else "a total"
    return f"{what} is known to {_reach(found, people)}"


def _reach(found: "Knowledge", people: int) -> str:
    """Half-width of an interval as text: in points for a share, in data units for a mean or a total."""
    half_width = min(found.half_width, found.asked.width)
    if found.asked.ends is None and not found.asked.total:
        return f"+-{half_width * _POINTS:.0f} points"
    return f"+-{float(f'{half_width * people if found.asked.total else half_width:.2g}'):,g}"


def _known(found: "Knowledge", people: int) -> str:
    """Sentences on the knowledge that a loss gives the organizer, and on the truth of one report."""
    learnt = f"with {count_of(people, 'answer')} {_accuracy(found, people)}"
    return learnt if found.truth is None else f"{learnt}; a report by itself is true {found.truth:.0%} of the time"


def _central(terms: "SurveyTerms", collection: Collection) -> str:
    """Sentence on the central loss under the survey's limit on made-up answers.

    Without a limit, on how to set one.
    """
    if terms.fakes is None:
        return _NO_FAKES
    first = collection.promised()[0]
    most = f"at most {terms.fakes:,}" if terms.fakes else "none"
    made_up = f"If {most} of the answers {'are' if terms.fakes else 'is'} made up, and nobody tells who sent which: "
    invited = collection.issuer is not None and not terms.fakes
    return f"{_IF_REAL if invited else made_up}{first.sentence_of(first.guarantee)}"
