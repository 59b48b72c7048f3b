"""The client's modules in a real browser, held to the vectors that Python is held to."""

import json
from pathlib import Path

import pytest

from parties.client.loading import loaded
from parties.issuer.issuing import WithTokens
from shuffledp.core.text_codes import TextCode
from shuffledp.parties.client.browser_randomizers import KINDS
from shuffledp.parties.wire.binary_http import BinaryRequest
from shuffledp.parties.wire.grammar import Report, ReportError, ReportStatus, UploadRequest, UploadResponse
from shuffledp.parties.wire.hpke import Opener, Sealer
from shuffledp.parties.wire.keys import AnalyzerKey, from_pem, in_text
from shuffledp.parties.wire.oblivious_http import padded_length

GOLDEN = Path(__file__).parents[2] / "golden"
TEXTS = json.loads((GOLDEN / "client" / "texts.json").read_text(encoding="utf-8"))["cases"]
REPORTS = json.loads((GOLDEN / "client" / "reports.json").read_text(encoding="utf-8"))["cases"]
OBLIVIOUS = json.loads((GOLDEN / "oblivious.json").read_text(encoding="utf-8"))
TOKENS = json.loads((GOLDEN / "tokens.json").read_text(encoding="utf-8"))
WIRE = json.loads((GOLDEN / "wire.json").read_text(encoding="utf-8"))
IKM = "7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234"  # RFC 9180, A.1.1: ikmE
TOOLS = """
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (each) => parseInt(each, 16));
const hex = (data) => Array.from(data, (each) => each.toString(16).padStart(2, "0")).join("");
"""
AGAIN = """async (cases) => {
  const { KINDS, randomized } = await import("/randomizers.js");
  const wrong = [];
  for (const { model, reports } of cases) {
    for (const [answer, text, expected] of reports) {
      const recorded = text.split(" ").map((word) => BigInt(`0x${word}`));
      let used = 0;
      const words = (count) => recorded.slice(used, used += count);
      const report = [await randomized(model, answer, words)].flat().map(hex).join("");
      if (report !== expected || used !== recorded.length) {
        wrong.push([model, answer, text, report, used]);
      }
    }
  }
  return [Object.keys(KINDS), wrong];
}"""


@pytest.fixture(scope="module")
def page(browser):
    with loaded(browser) as found:
        yield found


def run(page, function, *given):
    """What a function of JavaScript returns, which has `bytes` and `hex`."""
    return page.evaluate(f"(given) => {{ {TOOLS} return ({function})(...given); }}", list(given))


def test_the_same_random_words_give_the_same_reports_as_in_python(page):
    kinds, wrong = run(page, AGAIN, REPORTS)
    assert wrong == []
    assert set(kinds) == set(KINDS) == {case["model"]["kind"] for case in REPORTS}


def test_texts_are_spelled_and_numbered_as_in_python(page):
    wrong = run(
        page,
        """async (cases) => {
          const { bitsOf, normalized } = await import("/texts.js");
          return cases.filter(([code, length, given, sent, isLess, bits]) => {
            const own = normalized({ code, length }, given);
            return own.text !== sent || own.isLess !== isLess || String(bitsOf({ code, length }, own.text)) !== bits;
          });
        }""",
        TEXTS,
    )
    assert wrong == []


@pytest.mark.deep
def test_every_character_is_spelled_as_in_python(page):
    """All code points, between two letters; before the table some 137 differed between Unicode 14 and 17."""
    script = """async ([code, block]) => {
      const { normalized } = await import("/texts.js");
      const points = Array.from({ length: 4096 }, (_, place) => 4096 * block + place);
      return points.map((each) => {
        const { text, isLess } = normalized({ code, length: 16 }, `a${String.fromCodePoint(each)}b`);
        return `${text}${isLess ? "!" : ""}`;
      });
    }"""
    for kind in ("letters", "bytes"):
        code = TextCode(kind, 16)
        for block in range(0x110000 // 4096):
            if 0xD800 <= 4096 * block <= 0xDFFF:
                continue  # surrogates, which no text holds alone
            own = [code.normalized(f"a{chr(4096 * block + place)}b") for place in range(4096)]
            assert run(page, script, [kind, block]) == [text + "!" * is_less for text, is_less in own]


def test_the_messages_are_those_of_the_protocol(page):
    id_, info, config, report, stored, refused = run(
        page,
        """async (file, config, enc, payload, own, stored, refused) => {
          const wire = await import("/wire.js");
          const id = await wire.collectionId(file);
          const decoded = wire.decodedConfig(bytes(config));
          const report = await wire.report(decoded.id, bytes(enc), bytes(payload));
          return [
            hex(id), hex(wire.reportInfo(id, 0)),
            [decoded.id, decoded.kem, decoded.kdf, decoded.aead, hex(decoded.publicKey)], hex(report),
            wire.refusal(bytes(stored), bytes(own)), wire.refusal(bytes(refused), bytes(own)),
          ];
        }""",
        WIRE["collection"],
        WIRE["messages"]["HpkeConfig"],
        *(part.hex() for part in _ciphertext()),
        WIRE["messages"]["Report"],
        UploadResponse.to(_request(), ()).encode().hex(),
        WIRE["messages"]["UploadResponse"],
    )
    key = from_pem(WIRE["analyzer_key"]).config
    assert (id_, info) == (WIRE["collection_id"], WIRE["info"])
    assert config == [key.id, key.kem, key.kdf, key.aead, key.public_key.hex()]
    assert report == WIRE["messages"]["Report"]
    assert (stored, refused) == (None, 7)


def _ciphertext():
    sealed = Report.decode(bytes.fromhex(WIRE["messages"]["Report"])).ciphertext
    return sealed.enc, sealed.payload


def _request():
    return UploadRequest.decode(bytes.fromhex(WIRE["messages"]["UploadRequest"]), num_columns=1)


def test_answers_of_a_shuffler_that_are_not_as_the_protocol_says_are_told_apart(page):
    own = _request()
    good = UploadResponse.to(own, ()).encode()
    other = UploadResponse((ReportStatus(bytes(16), ReportError.TASK_EXPIRED),), b"").encode()
    bad = [b"", good[:-1], good + b"\0", good[:-1] + b"\1", b"\0\0\0\1" + good[4:], other, bytes(len(good))]
    found = run(
        page,
        """async (own, answers) => {
          const { INVALID, refusal } = await import("/wire.js");
          return answers.map((each) => refusal(bytes(each), bytes(own)) === INVALID);
        }""",
        own.encode().hex(),
        [each.hex() for each in (*bad, good)],
    )
    assert found == [True] * len(bad) + [False]


def test_with_the_same_secret_the_browser_seals_the_vector_to_the_byte(page):
    found = run(
        page,
        """async (file, config, plaintext, secret) => {
          const { sealed } = await import("/sealing.js");
          const { collectionId, decodedConfig } = await import("/wire.js");
          const [key, id] = [decodedConfig(bytes(config)), await collectionId(file)];
          return hex(await sealed(key, id, 0, bytes(plaintext), { ekm: bytes(secret).buffer }));
        }""",
        WIRE["collection"],
        WIRE["messages"]["HpkeConfig"],
        WIRE["plaintext"],
        IKM,
    )
    assert found == WIRE["messages"]["Report"]


def test_a_ciphertext_from_either_opens_in_the_other(page):
    key, id_, report = AnalyzerKey.generate(), bytes(range(32)), b"a report"
    sealed = Sealer.to(key.config, collection_id=id_, column=1).seal(report)
    upload, opened = run(
        page,
        """async (config, id, plaintext, secret, enc, payload) => {
          const { submission, suite } = await import("/sealing.js");
          const { decodedConfig, reportInfo } = await import("/wire.js");
          const hpke = suite();
          const key = await hpke.kem.importKey("raw", bytes(secret).buffer, false);
          const info = reportInfo(bytes(id), 1);
          const recipient = await hpke.createRecipientContext({ recipientKey: key, enc: bytes(enc), info });
          const plaintexts = [bytes("00"), bytes(plaintext)];
          const sent = await submission(decodedConfig(bytes(config)), bytes(id), plaintexts, [0, 1]);
          return [hex(sent), hex(new Uint8Array(await recipient.open(bytes(payload))))];
        }""",
        key.public.hex(),
        id_.hex(),
        report.hex(),
        key.private_key.private_bytes_raw().hex(),
        sealed.enc.hex(),
        sealed.payload.hex(),
    )
    assert bytes.fromhex(opened) == report
    (submission,) = UploadRequest.decode(bytes.fromhex(upload), num_columns=2).submissions
    for column, plaintext in enumerate((b"\0", report)):
        opener = Opener.by([key], collection_id=id_, column=column)
        assert opener.open(submission.reports[column].ciphertext) == plaintext


def test_a_key_for_other_algorithms_is_refused(page):
    config = bytearray(AnalyzerKey.generate().public)
    config[1:3] = b"\x64\x7a"
    found = run(
        page,
        """async (config) => {
          const { sealed } = await import("/sealing.js");
          const { decodedConfig } = await import("/wire.js");
          const key = decodedConfig(bytes(config));
          return sealed(key, new Uint8Array(32), 0, new Uint8Array(1)).catch((error) => error.message);
        }""",
        config.hex(),
    )
    assert found == "a key is for other algorithms"


@pytest.mark.parametrize(
    ("answers", "outcome", "attempts"),
    [
        (["break", 503, "stored"], "stored", 3),
        (["stored"], "stored", 1),
        ([404], "refused", 1),
        (["late"], "late", 1),
        (["break"] * 100, "unreachable", None),
    ],
)
def test_the_very_same_bytes_are_sent_until_there_is_an_answer(page, answers, outcome, attempts):
    seen, said = [], iter(answers)
    upload = bytes.fromhex(WIRE["messages"]["UploadRequest"])
    good = {
        "stored": UploadResponse.to(_request(), ()).encode(),
        "late": bytes.fromhex(WIRE["messages"]["UploadResponse"]),
    }

    def answer(route):
        seen.append((route.request.post_data_buffer, route.request.headers["content-type"]))
        now = next(said)
        if now == "break":
            route.abort()
        elif isinstance(now, int):
            route.fulfill(status=now, body="")
        else:
            route.fulfill(body=good[now])

    page.route("**/reports", answer)
    try:
        found = run(
            page,
            """async (upload, patience) => {
              const { send } = await import("/sending.js");
              let now = 0;
              return send("/collections/x/reports", bytes(upload), { patience, clock: () => now += 100 });
            }""",
            upload.hex(),
            900 if attempts is None else 60_000,
        )
    finally:
        page.unroute("**/reports")
    assert found == outcome
    assert set(seen) == {(upload, "application/vnd.shuffledp.upload")}
    assert len(seen) == attempts or (attempts is None and len(seen) > 1)


def test_two_tabs_cannot_each_seal_an_answer(page):
    made, state, second = run(
        page,
        """async () => {
          const { Memory } = await import("/memory.js");
          const id = new Uint8Array(32);
          const two = [new Memory(id, id), new Memory(id, id)];
          let made = 0;
          const slow = async () => {
            await new Promise((done) => setTimeout(done, 5));
            made += 1;
            return bytes("0102");
          };
          const kept = await Promise.all(two.map((each) => each.keepOnce(slow)));
          const state = [two[1].state, hex(two[1].upload), kept.filter(Boolean).length];
          two[0].stored();
          return [made, state, [await two[1].keepOnce(slow), two[1].state]];
        }""",
    )
    assert (made, state, second) == (1, ["pending", "0102", 1], [False, "answered"])


@pytest.mark.parametrize("vector", TOKENS["vectors"], ids=["two origins", "no origin"])
def test_the_browser_makes_the_published_tokens_to_the_byte_and_takes_no_other_signature(page, vector):
    found = run(
        page,
        """async (text, challenge, vector) => {
          const { finalized, issuerKey, pendingToken, requestOf } = await import("/tokens.js");
          const { sha256 } = await import("/wire.js");
          const [key, digest] = [await issuerKey(text), await sha256(bytes(challenge))];
          const given = { nonce: bytes(vector.nonce), salt: bytes(vector.salt), factor: BigInt(`0x${vector.blind}`) };
          const pending = await pendingToken(key, digest, given);
          const response = bytes(vector.token_response);
          const token = hex(await finalized(key, digest, pending, response));
          const changed = Uint8Array.from(response, (byte, place) => byte ^ (place === 9));
          const others = [changed, response.slice(1), given.nonce];
          const drawn = [await pendingToken(key, digest), await pendingToken(key, digest)].map(hex);
          const wrong = await Promise.all(others.map((each) => finalized(key, digest, pending, each)));
          return [hex(requestOf(pending)), token, wrong, drawn[0] !== drawn[1]];
        }""",
        in_text(bytes.fromhex(TOKENS["public_key"])),
        vector["token_challenge"],
        vector,
    )
    assert found == [vector["token_request"], vector["token"], [None] * 3, True]


def test_tokens_of_a_collection_are_for_the_same_as_in_python(page):
    collection = WithTokens(issuer="https://issuer.example:8443/below").collection
    found = run(
        page,
        """async (collection, id) => {
          const { challengeDigest } = await import("/tokens.js");
          return hex(await challengeDigest(JSON.parse(collection), bytes(id), JSON.parse(collection).shuffler.url));
        }""",
        collection.canonical.decode(),
        collection.id.hex(),
    )
    assert found == collection.challenge.digest.hex()


def test_the_browser_makes_the_published_oblivious_request_and_opens_the_answer_to_it_alone(page):
    example = OBLIVIOUS["rfc9458"]
    found = run(
        page,
        """async (example) => {
          const { binaryResponse, encapsulated } = await import("/oblivious.js");
          const { suite } = await import("/sealing.js");
          const { kem } = suite();
          const config = { id: 1, kem: 0x20, kdf: 1, aead: 1, publicKey: bytes(example.key_config).slice(3, 35) };
          const privateKey = await kem.importKey("raw", bytes(example.ephemeral_private).buffer, false);
          const ekm = { privateKey, publicKey: await kem.deserializePublicKey(bytes(example.enc)) };
          const { sealed, open } = await encapsulated(config, bytes(example.request), ekm);
          const answer = bytes(example.encapsulated_response);
          const opened = await open(answer);
          const other = await encapsulated(config, bytes(example.request));
          const changed = answer.map((byte, place) => byte ^ (place === 3));
          const refused = await Promise.all(
            [open(changed), open(answer.slice(1)), other.open(answer)]
              .map((each) => each.then(() => false, () => true)),
          );
          return [hex(sealed), hex(opened), binaryResponse(opened).status, refused, hex(other.sealed) !== hex(sealed)];
        }""",
        example,
    )
    assert found == [example["encapsulated_request"], example["response"], 200, [True] * 3, True]


def test_binary_requests_are_those_of_python_and_responses_are_read(page):
    fields = (("content-type", "text/plain"), ("authorization", "x" * 500))
    contents = [bytes(each) for each in (0, 63, 64, 16383, 16384)]
    responses = [each for each in OBLIVIOUS["rfc9292"] if "status" in each and bytes.fromhex(each["data"])[0] == 1]
    assert responses
    for vector in responses:
        whole = len(vector["data"]) // 2
        vector["cuts"] = [whole, whole - vector["may_lack"]]
    requests, lengths, read, refused = run(
        page,
        """async (fields, sizes, responses) => {
          const { binaryRequest, binaryResponse, padded } = await import("/oblivious.js");
          const made = (size) => binaryRequest("POST", "a.example:1", "/b", fields, new Uint8Array(size));
          const requests = sizes.map((size) => hex(made(size)));
          const text = new TextDecoder();
          const read = responses.map(({ data, cuts }) => cuts.map((cut) => binaryResponse(bytes(data).slice(0, cut)))
            .map(({ status, body }) => [status, text.decode(body)]));
          const refused = ["", "00", "01", "0140", "0140c803", "0140c80005"].map((each) => {
            try {
              return binaryResponse(bytes(each)) && false;
            } catch {
              return true;
            }
          });
          return [requests, [1, 1024, 1025, 5000].map((each) => padded(new Uint8Array(each)).length), read, refused];
        }""",
        fields,
        [len(each) for each in contents],
        responses,
    )
    encoded = tuple((name.encode(), value.encode()) for name, value in fields)
    for found, content in zip(requests, contents, strict=True):
        assert found == BinaryRequest(b"POST", b"https", b"a.example:1", b"/b", encoded, content).encode().hex()
    assert lengths == [padded_length(each) for each in (1, 1024, 1025, 5000)]
    assert read == [[[each["status"], each["content"]]] * 2 for each in responses]
    assert refused == [True] * 6
