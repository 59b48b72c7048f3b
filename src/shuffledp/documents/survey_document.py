"""A survey in words for the person who asks: what each epsilon0 costs, where people answer, and what to do next."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shuffledp.core.instants import shown
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import Block, Role, Text, told
from shuffledp.documents.collection_document import collection_document
from shuffledp.documents.document import Document, Section
from shuffledp.documents.sending_document import status_document
from shuffledp.survey import LOCAL_NETWORK, Collection, WebPage

if TYPE_CHECKING:
    from shuffledp.survey.survey_terms import Knowledge, SurveyTerms

_POINTS = 100
_NO_FAKES = (
    "Through an open link anybody can answer often, and whoever asks first of all: all answers but one may be made up. "
    "So epsilon0 is all that is promised. For a smaller loss among many, say by --fakes how many of the answers may be "
    "made up, and see that it holds."
)
_REACH = (
    "If a phone does not open it: is it in this network, and not on mobile data? Networks for guests often keep phones "
    "from laptops; then a hotspot helps. A firewall of this machine must let port {port} in."
)


def new_survey_document(
    terms: "SurveyTerms", compared: "Sequence[Knowledge]", collection: Collection, folder: Path, link: str, *next_: str
) -> Document:
    """A new survey: its loss first, what other losses would cost, then its link and the next steps.

    Args:
        terms: what is asked.
        compared: what is known at several values of epsilon0.
        collection: the collection made of it.
        folder: its folder.
        link: link by which people answer.
        next_: what to do next, a sentence each.
    """
    chosen = in_digits(terms.epsilon0, "exactly")
    blocks: tuple[Block, ...] = (
        *told(LOCAL_NETWORK if collection.local else "", role=Role.DANGER),
        Text(f"epsilon0 = {chosen}: {_known(terms.known(terms.epsilon0), terms.people)}.", Role.LEAD),
        *told(_central(terms, collection)),
        *told("Others, by --epsilon0:" if compared else ""),
        *told(*(f"  {in_digits(each.epsilon0, 'exactly')}: {_known(each, terms.people)}" for each in compared)),
        *told(
            f"\nIf fewer than {terms.minimum:,} of {terms.people:,} answer, nothing is released, and all is destroyed. "
            f"It closes at {shown(collection.closes)}.",
        ),
        *told(f"\nLink: {link}", f"Folder: {folder}", role=Role.PATH),
        *told(
            "It holds the link as a QR code (survey.svg), a sheet to print (print.html), and the key that opens the"
            " answers (analyst.key): keep the folder to yourself, and a copy of it."
        ),
        *told(*next_),
    )
    return Document(title=terms.name, sections=(Section(anchor="survey", title="", blocks=blocks),))


def open_local_document(collection: Collection, folder: Path) -> Document:
    """Where phones open a local survey, what to check if they cannot, and how it ends."""
    url = collection.shuffler.url
    ends = f"It ends at {shown(collection.closes)}, or when you press Enter here. The release follows at once."
    interrupted = f"If this is interrupted, nothing is lost: shuffledp survey finish --wait {folder}"
    lines = (f"\nOpen on each phone: {url}", _REACH.format(port=url.rpartition(":")[2]), ends, interrupted)
    return Document(sections=(Section(anchor="open", title="", blocks=told(*lines)),))


def page_checked_document(page: WebPage, collection: Collection | None, *lines: str) -> Document:
    """The right page is served, as far as one look tells; then what the collection inside it promises.

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


def survey_status_document(collection: Collection, status: Mapping[str, object], next_: str) -> Document:
    """Whether a survey is open, whether enough have answered, and what to do next; never how many."""
    return status_document(collection, status).followed_by(Section(anchor="next", title="", blocks=told(next_)))


def _known(found: "Knowledge", people: int) -> str:
    """What is learned at a loss, and what one report tells."""
    return (
        f"with {count_of(people, 'answer')} a share is known to +-{found.half_width * _POINTS:.0f} points; a report by "
        f"itself is true {found.truth:.0%} of the time"
    )


def _central(terms: "SurveyTerms", collection: Collection) -> str:
    """Loss of everything released, under the condition that few answers are made up; or what it needs."""
    if terms.fakes is None:
        return _NO_FAKES
    first = collection.promised()[0]
    return (
        f"If at most {terms.fakes:,} of the answers are made up, and nobody tells who sent which: "
        f"{first.sentence_of(first.guarantee)}"
    )
