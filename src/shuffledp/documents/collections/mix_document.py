"""A mix host in words: its work, what it sees, and which collections it accepts."""

from collections.abc import Mapping, Sequence
from typing import Any

from shuffledp.core.instants import shown
from shuffledp.core.text import printable
from shuffledp.documents.blocks import Code, Column, Listing, Pairs, Role, Table, Text, told
from shuffledp.documents.document import Document, Section
from shuffledp.parties.wire.mix_terms import MixTerms

_LONGEST_REGISTRANT = 20
_DOES = (
    "It takes in sealed answers to surveys that others make, mixes them, and hands them over to whoever asked, in an "
    "order of chance, once enough people have answered. Then it deletes them. With fewer, it destroys them unread.",
    "It shows the page of each survey, which it makes itself: what somebody else wrote is shown as text, and never as "
    "anything else. What a survey asks, it does not check.",
)
_SEES = (
    "from which address and when somebody answers, unless a survey uses a relay; it keeps neither, and logs neither;",
    "not the answer: it is changed by chance in the browser, and sealed to whoever asked.",
)
_TOKENS = (
    "where it also gives the tokens of a survey by invitation: which invitations have been used, and, as it sees both, "
    "which sealed answer came by which invitation; it keeps of the latter nothing."
)
_COULD = (
    "Its operator could serve another page, which sends answers as they are, and so read them. That is why every link "
    "names the digest of its page: {check}, from any other machine, compares them. Whoever asks can let a third party "
    "serve the page instead, and then that party is trusted with it."
)
_CHECK = "shuffledp survey check LINK"
_TOGETHER = (
    "Together with whoever asked, its operator could tell whose randomized answer is whose. Then only the chance in "
    "each browser protects."
)
_ONE_PLACE = (
    "All pages of this mix share one address, and so one storage in a browser. What a page keeps there is under the "
    "digest of that page: a sealed answer until it has arrived, and that this browser has answered."
)
_OWN_PLACE = "Each page has an address of its own, so that browsers keep what it stores apart from all others."
_REGISTER = {
    "codes": "Whoever has a code from the operator.",
    "keys": "Whoever has a key that the operator has listed.",
    "anybody": "Anybody; all share one limit.",
}


def listed_document(found: Sequence[Mapping[str, Any]]) -> Document:
    """Table of a mix host's collections for its operator, with the data that remain of each."""
    rows = tuple(
        (
            printable(each["name"]),
            each["phase"],
            shown(each["closes"]),
            printable(each["registrant"])[:_LONGEST_REGISTRANT],
            ", ".join(each["remains"]),
            each["id"],
        )
        for each in found
    )
    heads = ("Name", "Phase", "Closes", "Registrant", "What remains", "Id")
    columns = tuple(Column(head, left=True, folds=head == "Name") for head in heads)
    table = [Table("Collections", columns, rows)] if rows else list(told("No collection is registered."))
    return Document(sections=(Section(anchor="collections", title="", blocks=tuple(table)),))


def mix_document(terms: MixTerms) -> Document:
    """Page of a mix host: its work, its knowledge, its limits, and the way to hold a survey through it."""
    policy, is_one_place = terms.policy, terms.pages == "path"
    limits = Pairs(
        (
            ("Answers of a survey, at most", f"{policy.people:,}"),
            ("Their size, at most", f"{policy.bytes:,} bytes"),
            ("Days until the close, and from there to the last day of fetching", f"{policy.days:,}"),
            ("Surveys of one registrant at a time", f"{policy.collections:,}"),
            ("Together with those whose page or result is still shown", f"{policy.kept:,}"),
            ("Days for which a result is shown", f"{policy.result_days:,}"),
            ("Tokens for surveys by invitation", "yes" if terms.tokens else "no"),
        )
    )
    keys = Pairs(
        (
            ("Shuffler", terms.shuffler.fingerprint),
            ("Gateway, for requests through a relay", terms.gateway.fingerprint),
            ("Version of the software", terms.version),
        )
    )
    sees = (*_SEES, *([_TOKENS] if terms.tokens else []))
    contact = "" if terms.contact is None else f"Contact of the operator: {printable(terms.contact)}"
    code = {"codes": ["--code CODE"], "keys": ["--key FILE"]}.get(terms.register, [])
    ask = Code(("shuffledp survey new", '"A question?"', "--people 30", f"--mix {terms.url}", *code, "--output survey"))
    return Document(
        title=f"A mix for surveys at {terms.url}",
        kicker="Mix host",
        summary="What this host does and sees.",
        sections=(
            Section(anchor="danger", title="What it could do", blocks=_dangers()),
            Section(anchor="does", title="What it does", blocks=told(*_DOES)),
            Section(
                anchor="sees",
                title="What it sees",
                blocks=(Listing(sees), Text(_ONE_PLACE if is_one_place else _OWN_PLACE), *told(contact)),
            ),
            Section(
                anchor="ask",
                title="Who may ask",
                blocks=(Text(_REGISTER[terms.register]), limits, Text("To ask:"), ask),
            ),
            Section(anchor="keys", title="Its keys", blocks=(keys,)),
        ),
    )


def _dangers() -> tuple[Text, Text]:
    """Dangers from the operator of a mix, alone and together with the organizer."""
    return Text(_COULD.format(check=_CHECK), Role.LEAD, code=(_CHECK,)), Text(_TOGETHER, Role.LEAD)
