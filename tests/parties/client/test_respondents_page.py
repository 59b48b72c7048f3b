"""The page of a collection: what it holds, what it may do, and what is refused."""

import hashlib
import json
import re
from copy import copy

import pytest

from parties.agreement.summing import Sum, sum_task
from parties.client.answering import ADDRESS, SMOKES, asking
from parties.issuer.issuing import WithTokens, issuer_key
from parties.service.given import Parties, task, task_near_an_order
from shuffledp import KaryRandomizedResponse, MaskedPrefixes
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.lone_reports import lone_guess
from shuffledp.core.statement_terms import Trust
from shuffledp.core.text import percent
from shuffledp.documents.collections.collection_document import collection_document
from shuffledp.documents.words import Guess
from shuffledp.parties.client.browser_randomizers import KINDS, model_in_text, require_browser
from shuffledp.parties.client.page_words import LANGUAGES, PageWords
from shuffledp.parties.client.respondents_page import is_page, with_page
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, PartyNames, Service
from shuffledp.survey.questions.question_kinds import QUESTIONS, question_type

LARGEST = 170_000


@pytest.fixture(scope="module")
def made():
    return with_page(Parties(asking()).collection, ADDRESS)


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*)</script>', page.decode())
    return json.loads(found[1])


def test_the_collection_has_the_digest_of_the_page_and_the_page_the_rest_of_the_collection(made, tmp_path):
    collection, page = made
    assert collection.page.sha256 == hashlib.sha256(page).hexdigest()
    assert collection.page.link == f"{ADDRESS}#page={collection.page.sha256}"
    blank = data_of(page)["collection"]
    assert blank.count('"page":{"sha256":""') == 1
    assert blank.replace('"sha256":""', f'"sha256":"{collection.page.sha256}"') == collection.canonical.decode()
    (tmp_path / "survey.collection").write_bytes(collection.canonical)
    assert Collection.read(tmp_path / "survey.collection") == collection


def test_a_collection_as_the_page_has_it_is_none(made, tmp_path):
    file = tmp_path / "survey.collection"
    file.write_text(data_of(made[1])["collection"])
    with pytest.raises(InvalidParameterError, match="the page of a collection must have its digest"):
        Collection.read(file)


def test_the_page_is_one_small_file_that_may_run_its_script_and_speak_to_the_shuffler(made, tmp_path):
    page = made[1].decode()
    assert len(made[1]) < LARGEST
    assert re.findall(r'(?:src|href)\s*=\s*"([^"]*)"', page) == ["data:,"]
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["connect-src"] == "https://mixer.example"
    assert re.fullmatch("'sha256-[A-Za-z0-9+/]{43}='", rules["script-src"])
    (tmp_path / "survey.html").write_bytes(made[1])
    assert is_page(tmp_path / "survey.html")
    assert not is_page(tmp_path / "absent.html")


@pytest.mark.parametrize(
    ("ready_made", "allowed"),
    [(False, "https://issuer.example https://mixer.example"), (True, "https://mixer.example")],
)
def test_where_people_are_invited_the_page_may_speak_to_the_issuer_and_says_what_it_learns(ready_made, allowed):
    _, page = with_page(WithTokens(asking(), ready_made=ready_made).collection, ADDRESS)
    assert f"connect-src {allowed};" in page.decode()
    said = data_of(page)["sentences"]
    assert len(said) == 3
    assert ("has made the token" if ready_made else "learns that you answer") in said[1]


def test_behind_a_relay_the_page_speaks_to_the_relay_and_not_to_the_shuffler():
    _, page = with_page(Parties.with_relay(asking()).collection, ADDRESS)
    assert "connect-src https://relay.example;" in page.decode()
    said = data_of(page)["sentences"]
    assert len(said) == 3
    assert said[1].startswith("https://relay.example sees from which address and when, and passes it on sealed; https:")


def test_the_promise_names_the_page_and_whoever_serves_it_first(made):
    collection, page = made
    for statement in collection.promised():
        assert Trust.PAGE in statement.trust
        assert f"{ADDRESS}, SHA-256 {collection.page.sha256}" in str(statement)
    assert Trust.PAGE.is_danger
    needed = data_of(page)["trust"]
    assert needed[0][0].startswith(f"whoever serves the page ({ADDRESS}) serves this one")
    assert [is_danger for _, is_danger in needed[:2]] == [False, True]  # the first one is the danger on top, said once
    assert data_of(page)["dangers"][0].startswith(f"Whoever serves this page, {ADDRESS}, could serve another one")
    assert "could serve" not in " ".join(data_of(page)["check"])


def test_the_numbers_of_the_page_are_those_of_the_statement(made):
    collection, page = made
    said = data_of(page)
    first = collection.promised()[0]
    assert said["promise"][0] == first.sentence_of(first.guarantee)
    assert "73.1%" in said["questions"][0]["why"]
    assert "at least 10 people" in said["sentences"][1]
    assert len(said["sentences"]) == 3


def test_the_page_of_a_demonstration_says_so_on_top_and_that_of_another_nowhere():
    for demonstration in (True, False):
        _, page = with_page(Parties(asking(), demonstration=demonstration).collection, ADDRESS)
        top = page.decode().partition("<header>")[0]
        assert ("Demonstration: this survey is for show." in top) is demonstration
        assert ("this survey is for show" in page.decode()) is demonstration


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_chance_of_guessing_right_is_the_statement_s_in_each_language(language):
    collection, page = with_page(Parties(asking(language=language)).collection, ADDRESS)
    first = collection.promised()[0]
    percent = Guess.under(first.guarantee).text.removesuffix("%")
    said = data_of(page)["sentences"][-1]
    assert PageWords.of(language).written(percent) in said
    assert f"{percent}% of the time" in data_of(page)["promise"][1]  # in the statement's words


def test_a_promise_that_is_weak_is_called_so_beside_the_chance():
    weak = SMOKES | {"randomizer": SMOKES["randomizer"] | {"epsilon0": 5.0}}
    _, page = with_page(Parties(asking(weak)).collection, ADDRESS)
    assert "This is a weak promise" in data_of(page)["sentences"][-1]


@pytest.mark.parametrize(("language", "weak"), [("de", "ein schwaches Versprechen"), ("fr", "une promesse faible"),
                                                ("es", "una promesa débil"), ("en", "a weak promise")])  # fmt: skip
@pytest.mark.parametrize(("epsilon0", "place"), [(4.0, "notes"), (6.0, "dangers")])
def test_what_is_said_of_large_losses_is_in_the_language_of_the_survey(language, weak, epsilon0, place):
    large = SMOKES | {"randomizer": SMOKES["randomizer"] | {"epsilon0": epsilon0}}
    _, page = with_page(Parties(asking(large, language=language)).collection, ADDRESS)
    said, words = data_of(page), PageWords.of(language)
    (alone,) = said["alone"][place]
    guess = lone_guess(KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).model)
    assert alone.endswith(words.told("alone", percent=words.percent_of(guess.percent), among="2"))
    assert ("epsilon0 = 6" in alone) is (place == "dangers")
    assert weak in said["sentences"][-1] or words.told("hardly") in said["sentences"][-1]
    assert said["meaning"] == ""
    if language != "en":
        assert "of the time" not in " ".join([alone, *said["sentences"]])


def test_parties_on_one_host_are_one_operator_on_the_page():
    together = Parties(asking(), shuffler="https://vps.example.org", analyzer="https://vps.example.org:8444")
    said = data_of(with_page(together.collection, ADDRESS)[1])
    served, danger = said["dangers"]
    assert served.startswith(f"Whoever serves this page, {ADDRESS}, could serve another one")
    assert "(https://vps.example.org, https://vps.example.org:8444)" in danger
    assert any("could see who sent which report" in words for words, _ in said["trust"])
    assert len(data_of(with_page(Parties(asking()).collection, ADDRESS)[1])["dangers"]) == 1


@pytest.mark.deep
def test_a_sum_over_hosts_of_one_operator_names_each_address_once_and_no_one_shuffler():
    urls = [f"http://127.0.0.1:{port}" for port in (8001, 8002, 8003)]
    issuer = Service(url=urls[0], key=PublishedKey.of(issuer_key(), active_from="2020-01-01T00:00:00Z"))
    given = Sum.new(urls=urls, task=sum_task(3), transport="token", issuer=issuer)
    said = data_of(with_page(given.collection, f"{urls[0]}/c/survey")[1])
    assert f"({', '.join(urls)})" in said["dangers"][1]
    assert said["promise"][-1].startswith("If more hosts than planned tell the analyst who sent what, this is left:")


JOB = {"column": "job", "kind": "open", "length": 8, "randomizer": {"kind": "masked-prefix", "epsilon0": 6.0}}
JOB_MODEL = MaskedPrefixes(epsilon0=6.0, num_bits=40).model


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_operator_to_whom_texts_begin_to_show_is_said_in_each_language_and_in_the_collection(language):
    asked = asking(SMOKES, JOB, language=language)
    together = Parties(asked, shuffler="https://vps.example.org", analyzer="https://vps.example.org:8444")
    danger = data_of(with_page(together.collection, ADDRESS)[1])["dangers"][-1]
    told = PageWords.of(language).percent_of(percent(JOB_MODEL.first_chunk_told, "at most"))
    assert danger.startswith('"job": ')
    assert told in danger
    assert not any(told in each for each in data_of(with_page(Parties(asked).collection, ADDRESS)[1])["dangers"])
    dangers = next(each for each in collection_document(together.collection).sections if each.anchor == "dangers")
    assert "job: to that operator, texts begin to show" in dangers.blocks[-1].text


def test_a_collection_says_options_ticks_that_count_and_after_which_answer():
    ticks = {"column": "ways", "kind": "multi-select", "options": ["car", "bus"], "at_most": 1}
    ticks |= {"after": f"{SMOKES['column']} = Yes", "randomizer": {"kind": "columns", "epsilon0": 1.5}}
    about = collection_document(Parties(asking(SMOKES, ticks)).collection).sections[1].blocks
    said = next(str(each) for each in about if "ways" in str(each))
    assert "car, bus" in said
    assert "epsilon0 = 3 of all messages of a person, 1.5 of one, at most 1 tick, asked after" in said


def test_warnings_of_large_losses_name_the_questions_they_are_about():
    """Mutant: two nearly equal warnings, of which nobody knows which question has which."""
    large = SMOKES | {"randomizer": SMOKES["randomizer"] | {"epsilon0": 6.0}}
    said = data_of(with_page(Parties(asking(large, JOB)).collection, ADDRESS)[1])["alone"]["dangers"]
    assert [each.split(": ")[0] for each in said] == [
        f'"{each}"' for each in (SMOKES.get("question", SMOKES["column"]), "job")
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_shuffler_that_serves_the_page_and_gives_the_tokens_is_named_for_both_first_and_in_each_language(language):
    url = "https://mix.example"
    parties = WithTokens(asking(language=language), shuffler=url, issuer=url, reminders=True)
    collection, page = with_page(parties.collection, f"{url}/c/survey")
    assert collection.one_operator == ()
    said = data_of(page)
    (served,) = said["dangers"]
    assert served.startswith(f"{url} ")
    assert said["trust"][0][0].startswith(f"the shuffler ({url}), which serves the page")
    assert not said["trust"][0][1]  # it is the danger on top
    assert any("tells nobody which report came by which invitation" in needed for needed, _ in said["trust"])
    assert any("real people, none of them the analyst" in needed for needed, _ in said["trust"])
    with_tokens = said["sentences"][1]
    assert PageWords.of(language).told("reminders", issuer=url, analyst="https://office.example") in with_tokens
    without = data_of(with_page(WithTokens(asking(language=language)).collection, ADDRESS)[1])
    assert url not in " ".join([*without["dangers"], *without["sentences"]])


def test_names_stand_before_addresses_and_are_called_claims():
    names = PartyNames(shuffler="University of X", analyzer="The office", page="The paper")
    said = data_of(with_page(Parties(asking(), names=names).collection, ADDRESS)[1])
    assert 'nobody but "The office" (https://office.example) can read it' in said["sentences"][0]
    assert said["sentences"][1].startswith('"University of X" (https://mixer.example) receives it')
    assert said["trust"][0][0].startswith(f'whoever serves the page ("The paper", {ADDRESS}) serves')
    assert "Nobody has checked them" in said["check"][-1]


def test_the_same_collection_has_the_same_page():
    collection = Parties(asking()).collection
    assert with_page(collection, ADDRESS) == with_page(collection, ADDRESS)


@pytest.mark.parametrize("kind", ["olh", "subset", "sue", "laplace-mean"])
def test_a_kind_that_the_browser_lacks_is_refused_by_name(kind):
    further = {"lower": 0, "upper": 1} if kind == "laplace-mean" else {"categories": ["a", "b", "c"]}
    block = {"column": "city", "randomizer": {"kind": kind, "epsilon0": 1.0, **further}}
    with pytest.raises(InvalidParameterError, match=rf"'(k-rr|one-bit-mean)'.*; got kind='{kind}' in column 'city'"):
        with_page(Parties(asking(SMOKES, block)).collection, ADDRESS)


KEYS_OF_QUESTIONS = {
    "category": {"categories": ["a", "b", "c"]},
    "bin": {"lower": 0, "upper": 10, "bins": 5},
    "pair": {"categories": [["a", "b"], ["c", "d"]]},
    "number": {"lower": 0, "upper": 10},
    "vector": {"dimension": 3},
    "multi-select": {"options": ["a", "b", "c"], "at_most": 2},
    "open": {},
    "blanketed": {"categories": ["a", "b", "c"], "blanket_messages": 1.0},
}
ASKED = [(name, kind) for name in QUESTIONS for kind in question_type(name).members()]


@pytest.mark.parametrize(("name", "kind"), ASKED, ids="-".join)
def test_each_question_with_each_randomizer_is_shown_or_refused_by_name(name, kind):
    """Mutant: the page takes every kind of the library, and fails in the browser."""
    column = {"columns": ["x", "y"]} if name == "pair" else {"column": "x"}
    table, keys, further = {"kind": kind, "epsilon0": 1.0}, KEYS_OF_QUESTIONS[name], {}
    if question_type(name).beside is None:
        table |= keys
    else:
        column |= {"kind": name} | keys
        further = {"release": {"delta": 1e-6, "minimum_batch": 100}}
    try:
        made = asking({**column, "randomizer": table}, **further)
    except InvalidParameterError:
        assert name in ("bin", "pair")  # whose sums need covariances, which are not known for every kind
        return
    key = Parties(made).collection.analyzer.key
    if kind in KINDS:
        require_browser(made, key)
        assert made.column.randomizer.page_fields(made.column.inputs)
    else:
        with pytest.raises(
            InvalidParameterError, match=f"which the browser has(?: for such answers)?; got kind='{kind}' in column"
        ):
            require_browser(made, key)


def test_public_columns_beside_the_reports_are_refused_by_name():
    near = Parties(task_near_an_order()).collection
    with pytest.raises(InvalidParameterError, match=r"without public columns beside the reports.*'place'"):
        with_page(near, ADDRESS)


def test_a_hybrid_key_is_refused_by_name():
    try:
        key = AnalyzerKey.generate("mlkem768-x25519")
    except InvalidParameterError:
        pytest.skip("the installed cryptography lacks it")
    with pytest.raises(InvalidParameterError, match=r"must be of kind 'x25519'.*got kind 'mlkem768-x25519'"):
        require_browser(asking(), Parties().published(key))


def test_other_ways_to_the_shuffler_are_refused_by_name():
    collection = Parties(asking()).collection
    other = copy(collection)
    object.__setattr__(other, "directory", object())  # without the members that it would need
    with pytest.raises(InvalidParameterError, match=r"directory must be .* where people answer on a page"):
        with_page(other, ADDRESS)


def test_a_page_of_too_many_answers_is_refused():
    many = {"kind": "k-rr", "epsilon0": 1.0, "categories": [f"answer number {each}" for each in range(3000)]}
    collection = Parties(asking({"column": "city", "randomizer": many})).collection
    with pytest.raises(InvalidParameterError, match="one of 170,000 bytes; got"):
        with_page(collection, ADDRESS)


@pytest.mark.parametrize("url", ["http://ask.example/survey", "https://ask.example/?a", "https://u:p@ask.example/x"])
def test_an_address_that_cannot_be_trusted_is_refused(url):
    with pytest.raises(InvalidParameterError, match="url must be"):
        with_page(Parties(task()).collection, url)


def test_integers_of_models_are_text_and_numbers_stay():
    from shuffledp import RoundedMean

    model = RoundedMean(epsilon0=4.0, lower=0.1, upper=3, num_levels=4).model
    found = model_in_text(model)
    assert (found["lower"], found["upper"]) == (0.1, 3.0)
    assert found["response"] == {"kind": "k-rr", "domain_size": "5", "share": str(model.response.share)}
    assert "93.2%" in PageWords.of("en").why(model)
    assert "rounded-mean" in KINDS


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_a_guess_is_between_two_of_more_answers_the_page_says_so(language):
    """Mutant: it speaks of each of the two answers, though there are three."""
    blanket = {"kind": "k-rr", "epsilon0": 4.0, "categories": ["a", "b", "c"], "blanket": True, "blanket_messages": 3.0}
    table = asking({"column": "city", "randomizer": blanket}, language=language, people={"expected": 1000})
    words = PageWords.of(language).table["told"]
    between, among = (words[name].partition("{")[0] for name in ("alone_pair", "alone"))
    page = data_of(with_page(Parties(table).collection, ADDRESS)[1])
    said = json.dumps(page, ensure_ascii=False)
    assert between in said
    assert among not in said
