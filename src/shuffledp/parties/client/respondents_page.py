"""Page for respondents: one file that asks, randomizes, seals and sends; any server may serve it.

One file can be compared with the digest in the invitation byte by byte, and
can be opened from the disk. It loads nothing, and its policy lets it speak to the shuffler alone, or to a
relay before it, and to the issuer where people answer by invitation.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import DifferentialPrivacy, LocalDP
from shuffledp.core.local_models import MeanModel
from shuffledp.core.lone_reports import lone_guess
from shuffledp.core.prefix_models import told_alone
from shuffledp.core.statement_terms import Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits, percent, printable, weakness_grade
from shuffledp.core.validate import invalid
from shuffledp.documents.statement_document import guess_of, meaning_in_short, per_report
from shuffledp.parties.client.browser_randomizers import model_in_text, require_browser
from shuffledp.parties.client.bundle import allowed, filled, script_of, source_of
from shuffledp.parties.client.page_words import LANGUAGES, PageWords
from shuffledp.survey import Collection, Column, Task, WebPage
from shuffledp.survey.parties import host_role
from shuffledp.survey.trusted_parties import gives_tokens, is_read_together, serves_page

_MOST_BYTES = 170_000
_SAID_FIRST = (Trust.PAGE, Trust.PAGE_AT_SHUFFLER, Trust.LOCAL_NETWORK)  # by a banner, or the first sentence
_SCRIPT = re.compile(r"<(?=/?script|!--)", re.IGNORECASE)
_MARK = b'<script type="application/json" id="data">'


def with_page(collection: Collection, url: str) -> tuple[Collection, bytes]:
    """Collection with the address and digest of its page, and the page itself in UTF-8.

    Guarantees:
        1. The page holds all that it needs, and names no other address to the browser than the
           shuffler's, or the relay's, and the issuer's.
        2. The collection that it completes by the digest in its link is the one returned here, to the byte.

    Args:
        collection: collection without a page.
        url: where the page will be served.

    Raises:
        InvalidParameterError: if the browser cannot do the task (`require_browser`), for a ``url`` that Collection
            does not take, or if many categories make the page longer than 170,000 bytes.
    """
    require_browser(collection.task, collection.analyzer.key)
    if collection.directory is not None:
        raise invalid("absent where people answer on a page, which passes nothing on", directory="one")
    draft = replace(collection, page=WebPage(url=url, sha256=""))
    page = _page(draft).encode()
    if len(page) > _MOST_BYTES:
        raise InvalidParameterError(
            f"a task that is answered on a page must be short enough for one of {_MOST_BYTES:,} bytes; got "
            f"{len(page):,}."
        )
    return replace(draft, page=WebPage(url=url, sha256=hashlib.sha256(page).hexdigest())), page


def is_page(file: Path) -> bool:
    """Whether the file is a page made by `with_page`, for any collection."""
    with suppress(OSError):
        return _MARK in file.read_bytes()
    return False


def _page(draft: Collection) -> str:
    """HTML page: the template with all parts filled in."""
    style, script, words = source_of("page.css"), script_of("page.js"), PageWords.of(_language(draft))
    policy = {
        "default-src": "'none'",
        "script-src": allowed(script),
        "style-src": allowed(style),
        "img-src": "data:",
        "connect-src": " ".join(_origins(draft)),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    note = words.table["page"]["in_english"]
    said = dict(words.table["page"])
    if is_read_together(draft):
        said["nobody_can_tell"] = words.told("all_of_it")
    parts = {name: escape(text) for name, text in said.items()} | {
        "policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "own": words.language,
        "language": _language(draft),
        "title": escape(printable(draft.task.name)),
        "in_english": f'<p class="note">{escape(note)}</p>' if note else "",
        "banner": "".join(f'<div class="banner"><p>{escape(each)}</p></div>\n' for each in _banners(draft, words)),
        "style": style,
        "data": _SCRIPT.sub(r"\\u003c", json.dumps(_data(draft, words), separators=(",", ":"))),
        "script": script,
    }
    return filled(source_of("page.html"), parts)


def _banners(draft: Collection, words: PageWords) -> list[str]:
    """Sentences at the top of the page about a demonstration or a local network."""
    said = {"demonstration": draft.demonstration, "local_network": draft.local}
    return [words.told(name) for name, holds in said.items() if holds]


def _origins(draft: Collection) -> list[str]:
    """Origins that the page may contact: the issuer, and the shufflers or the relays in their place."""
    issuer = [] if draft.issuer is None or draft.ready_made else [draft.issuer.url]
    addresses = [*(draft.relays or [each.url for each in draft.hosts]), *issuer]
    return sorted({"{0.scheme}://{0.netloc}".format(urlsplit(each)) for each in addresses})


def _data(draft: Collection, words: PageWords) -> dict[str, Any]:
    """Data for the script: the collection, the page's words, and sentences written by Python."""
    contact = draft.task.release.contact
    first, *others = draft.promised()
    alone = [each for each in others if each.guarantee.type == LocalDP.type]
    who = "more hosts than planned tell" if draft.further_shufflers else "the shuffler tells"
    told = f"If {who} the analyst who sent what, this is left:"
    claimed = [words.told("claimed")] if draft.names.to_dict() else []
    remains = [f"{told} {each.sentence_of(each.guarantee)}" for each in alone]
    return {
        "collection": draft.canonical.decode(),
        "language": _language(draft),
        "words": _script_words(draft, words),
        "until": words.told("until", date="{date}").split("{date}"),
        "result": _result(draft, words),
        "dangers": [] if draft.local else list(_dangers(draft, words)),
        "contact": "" if contact is None else words.told("contact", contact=printable(contact)),
        "questions": [_question(column, words) | _after(column, draft.task) for column in draft.task.columns],
        "pools": [pool.number for pool in draft.task.messages],
        **({"hosts": [pool.host for pool in draft.task.messages]} if draft.further_shufflers else {}),
        "sentences": [
            words.told("local_device")
            if draft.local
            else words.told("device", analyst=_party(draft, "analyzer", words)),
            " ".join([_received(draft, words), *_once(draft, words)]),
            " ".join([words.told("promised"), *_plainly(first, words), *_weakness(first, words)]),
        ],
        "meaning": _meaning(first),
        "alone": _alone(draft, words),
        "promise": [first.sentence_of(first.guarantee), *(each.text for each in meaning_in_short(first)), *remains],
        "trust": [
            [needed, any(_stands_out(each) and first.words_of(each) == needed for each in first.trust)]
            for needed in first.needs
        ],
        "check": [words.told("check"), words.told("check_how"), *claimed],
    }


def _stands_out(needed: Trust) -> bool:
    """Whether a condition of trust is a danger that the top of the page does not mention."""
    return needed.is_danger and needed not in _SAID_FIRST


def _script_words(draft: Collection, words: PageWords) -> Mapping[str, Any]:
    """Words that the page's script uses; some differ in a local network, where nothing is sealed."""
    script = words.table["script"]
    return {**script, "said": {**script["said"], **words.table["local"]}} if draft.local else script


def _party(draft: Collection, role: str, words: PageWords) -> str:
    """Text that names a party: its name, if it has one, and its address or else its key."""
    by_key = words.told("key", fingerprint=draft.analyzer.key.fingerprint)
    address, name = draft.addresses[role] or by_key, draft.names.to_dict().get(role)
    return address if name is None else f'"{printable(name)}" ({address})'


def _dangers(draft: Collection, words: PageWords) -> Iterator[str]:
    """Sentences on who could read answers, and on one operator of several parties."""
    if serves_page(draft):
        yield words.told("served_by_shuffler", shuffler=_party(draft, "shuffler", words))
    else:
        yield words.told("served_by_other", page=_party(draft, "page", words))
    if draft.one_operator:
        name = "one_operator_reads" if is_read_together(draft) else "one_operator"
        yield words.told(name, parties=_several(draft, words))
        for column in draft.task.columns if {"shuffler", "analyzer"} <= set(draft.one_operator) else ():
            if told := told_alone(column.randomizer.randomizer().model):
                shows = words.told("text_shows", percent=words.percent_of(percent(told, "at most")))
                yield f'"{_asked(column)}": {shows}'
    if draft.further_shufflers:
        traitors = max(getattr(column.randomizer, "colluding_hosts", 0) for column in draft.task.columns)
        parts = {"hosts": _hosts(draft, words), "analyst": _party(draft, "analyzer", words)}
        name = "hosts_read" if traitors else "one_host_reads"
        yield words.told(name, traitors=words.number(traitors), **parts)
    elif is_read_together(draft):
        yield words.told(
            "together_read", shuffler=_party(draft, "shuffler", words), analyst=_party(draft, "analyzer", words)
        )


def _several(draft: Collection, words: PageWords) -> str:
    """Names, separated by commas, of the parties that one operator runs, each once."""
    return ", ".join(dict.fromkeys(_party(draft, role, words) for role in draft.one_operator))


def _result(draft: Collection, words: PageWords) -> list[str] | None:
    """Words before and after the address of the result; None if the collection names no address."""
    if draft.result is None:
        return None
    return words.told("result", result="{result}", minimum=words.number(draft.minimum)).split("{result}")


def _language(draft: Collection) -> str:
    """Language of the questions and answers."""
    return draft.task.written.language or LANGUAGES[0]


def _received(draft: Collection, words: PageWords) -> str:
    """Sentence on the parties that see where a report comes from."""
    parts = {"shuffler": _party(draft, "shuffler", words), "minimum": words.number(draft.minimum)}
    if draft.further_shufflers:
        return words.told("direct_hosts", hosts=_hosts(draft, words), minimum=parts["minimum"])
    if draft.relay is None:
        return words.told("local_direct" if draft.local else "direct", **parts)
    relay = _party(draft, "relay", words)
    if draft.second_relay is not None:
        relay = words.told("either", relay=relay, second=draft.second_relay)
    return words.told("relayed", relay=relay, **parts)


def _hosts(draft: Collection, words: PageWords) -> str:
    """Text that names the hosts of a sum, each as `_party` does."""
    *others, last = (_party(draft, host_role(number), words) for number in range(len(draft.hosts)))
    return words.told("several", others=", ".join(others), last=last)


def _once(draft: Collection, words: PageWords) -> Iterator[str]:
    """Sentences on one answer per person, and on what the issuer learns; none without an issuer."""
    if draft.issuer is None:
        return
    parts = {"issuer": _party(draft, "issuer", words), "analyst": _party(draft, "analyzer", words)}
    name = "signed_by_shuffler" if gives_tokens(draft) else "signed"
    yield words.told("ready_made" if draft.ready_made else name, **parts)
    if draft.reminders:
        yield words.told("reminders", **parts)


def _plainly(statement: PrivacyStatement, words: PageWords) -> list[str]:
    """Plain sentence on what a statement means for one person; empty if no guessing chance applies."""
    guess = guess_of(statement)
    if guess is None:
        return []
    percent = words.percent_of(guess.text)
    return [words.told("plain_several" if statement.parts else "plain", percent=percent)]


def _alone(draft: Collection, words: PageWords) -> dict[str, list[str]]:
    """Dangers and milder notes about how much a single report reveals at a large local privacy loss.

    Of several questions each note begins with those that it is about.
    """
    said: dict[str, dict[str, list[str]]] = {"dangers": {}, "notes": {}}
    for column in draft.task.columns:
        model = column.randomizer.randomizer().model
        guess = lone_guess(model)
        if guess is None or not guess.is_said:
            continue
        of_all = guess.among == getattr(model, "domain_size", guess.among)
        name = "alone_ends" if isinstance(model, MeanModel) else "alone" if of_all else "alone_pair"
        guessed = words.told(name, percent=words.percent_of(guess.percent), among=words.number(guess.among))
        large = words.told("alone_large", epsilon0=words.written(in_digits(guess.epsilon0, "exactly")))
        text, kind = (f"{large} {guessed}", "dangers") if guess.warning else (guessed, "notes")
        said[kind].setdefault(text, []).append(f'"{_asked(column)}"')
    several = len(draft.task.columns) > 1
    return {
        kind: [f"{', '.join(asked)}: {text}" if several else text for text, asked in texts.items()]
        for kind, texts in said.items()
    }


def _weakness(statement: PrivacyStatement, words: PageWords) -> list[str]:
    """Warnings about a weak guarantee, in the page's words; empty if the page has no words for it."""
    guarantee = statement.guarantee
    if guess_of(statement) is None or not isinstance(guarantee, DifferentialPrivacy):
        return []
    grade = "" if guarantee.is_trivial else weakness_grade(guarantee.epsilon)
    names = [*["per_report"] * bool(per_report(statement)), *[grade] * bool(grade)]
    return [words.told(each) for each in names]


def _meaning(statement: PrivacyStatement) -> str:
    """Guarantee in the statement's own words; "" if the page has a plainer sentence about guessing."""
    return statement.sentence_of(statement.guarantee) if guess_of(statement) is None else ""


def _question(column: Column, words: PageWords) -> dict[str, Any]:
    """Question with its fields and the explanation of its randomizer."""
    question, model = column.randomizer, column.randomizer.randomizer().model
    return {
        "text": _asked(column),
        "fields": question.page_fields(column.inputs),
        "names": question.page_names(words),
        "has_missing": question.missing_category,
        "model": model_in_text(model),
        "why": " ".join([words.why(model), *([] if column.after is None else [words.told("asked_some")])]),
    }


def _after(column: Column, task: Task) -> dict[str, Any]:
    """Condition of a question: number of an earlier question and the answer; empty if everybody is asked."""
    after = column.after
    if after is None:
        return {}
    place = [each.value for each in task.columns].index(after.column)
    return {"after": {"question": place, "answer": after.place}}


def _asked(column: Column) -> str:
    """Text of the question; if it has none, the names of its columns joined by "&"."""
    return " & ".join(map(printable, column.inputs)) if column.question is None else printable(column.question)
