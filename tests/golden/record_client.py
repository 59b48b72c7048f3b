"""Makes the vectors that the browser's client is held to, ``client/reports.json``: reports of given random words.

``python tests/golden/record_client.py`` writes them anew; they must only ever be added to. Words are those of a digest,
and others at the edges, where a threshold that is off by one shows.
"""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from shuffledp import (
    AllSets,
    BlanketedResponse,
    CountedBits,
    HadamardResponse,
    KaryRandomizedResponse,
    MaskedPrefixes,
    OneBitMean,
    OneOption,
    OptimizedUnaryEncoding,
    RoundedMean,
    SplitAndMix,
    TextCode,
    TickColumns,
)
from shuffledp.core.text_codes import chunked
from shuffledp.core.tick_models import TicksModel
from shuffledp.parties.client.browser_randomizers import model_in_text
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.protocols.shares.randomizers import polya
from shuffledp.protocols.shares.randomizers.hosts import Hosts
from shuffledp.randomizers.unary_encoding import OptimizedUnaryEncodingModel
from shuffledp.testing import RecordedSource

FILE = Path(__file__).parent / "client" / "reports.json"
TEXTS_FILE = FILE.with_name("texts.json")
LAST = (1 << 64) - 1


def randomizers():
    """Each kind in several sizes, with answers."""
    for epsilon0, size in ((1.0, 2), (2.5, 3), (1e-6, 5), (8.0, 256), (3.0, 257), (0.5, 65_536), (30.0, 65_537)):
        yield KaryRandomizedResponse(epsilon0=epsilon0, domain_size=size), (0, size // 2, size - 1)
    for epsilon0, size in ((1.0, 2), (2.0, 7), (0.1, 8), (4.0, 9), (1.5, 64), (3.0, 65), (2.0, 200)):
        yield OptimizedUnaryEncoding(epsilon0=epsilon0, domain_size=size), (0, size // 2, size - 1)
    for epsilon0, size in ((1.0, 2), (2.0, 3), (0.2, 7), (30.0, 8), (1.0, 255), (3.0, 256), (2.0, 65_536)):
        yield HadamardResponse(epsilon0=epsilon0, domain_size=size), (0, size // 2, size - 1)
    for epsilon0, lower, upper in ((1.0, 0, 1), (0.01, -5, 300), (30.0, 18.5, 99.25), (2.0, -1e100, 1e100)):
        yield OneBitMean(epsilon0=epsilon0, lower=lower, upper=upper), numbers(lower, upper)
    for epsilon0, lower, upper, levels in ((6.0, 0, 1, 1), (8.0, -3, 4, 7), (4.0, 0.1, 0.3, 300), (20.0, 0, 1e-99, 3)):
        yield RoundedMean(epsilon0=epsilon0, lower=lower, upper=upper, num_levels=levels), numbers(lower, upper)
    # A number whose place is cut to a multiple of 2^-64, and a threshold that is decided before its last places.
    yield RoundedMean(epsilon0=6.0, lower=0, upper=1, num_levels=1), (0.75 * 2.0**-63,)
    few_places = OptimizedUnaryEncoding(epsilon0=1.0, domain_size=70).model
    yield OptimizedUnaryEncoding.from_model(replace(few_places, false_words=3 << 60)), (0, 69)
    for epsilon0, bits, chunk in (
        (6.6, 80, None),
        (3.0, 7, 3),
        (11.0, 128, 16),
        (1.0, 62, 2),
        (9.0, 512, 20),
        (2.0, 1, 1),
    ):
        yield (
            MaskedPrefixes(epsilon0=epsilon0, num_bits=bits, prefix_bits=chunk),
            (0, (1 << bits) // 3, (1 << bits) - 1),
        )


def tick_randomizers():
    """Each way of asking for ticks, with none, few and too many of them."""
    for kind, epsilon0, options, most in (
        (TickColumns, 1.0, 1, 1),
        (TickColumns, 2.5, 3, 2),
        (TickColumns, 0.3, 9, 2),
        (OneOption, 1.0, 1, 1),
        (OneOption, 4.0, 3, 2),
        (OneOption, 2.0, 257, 257),
        (AllSets, 1.0, 2, 1),
        (AllSets, 3.0, 5, 3),
        (AllSets, 6.0, 11, 2),
    ):
        few = [0] * (options - 1) + [1]
        yield kind(epsilon0=epsilon0, num_options=options, at_most=most), ([0] * options, few, [1] * options)


def numbers(lower, upper):
    """The ends of a range, numbers next to them, and some between."""
    width = upper - lower
    inside = [lower + width * share for share in (1e-12, 1 / 3, 0.5, 0.777, 1 - 1e-9)]
    beside = [float(np.nextafter(lower, upper)), float(np.nextafter(upper, lower))]
    return tuple(float(each) for each in (lower, upper, *beside, *inside))


def edges(model):
    """Words at which some decision changes, and those beside them."""
    response = getattr(model, "response", model)
    share = getattr(response, "share", None)
    if isinstance(model, TicksModel) and response is model:
        return [0, 1, LAST - 1, LAST, 1 << 63, (1 << 63) - 1, share - 1, share]
    found = [0, 1, LAST - 1, LAST, 1 << 63, (1 << 63) - 1]
    if share is not None:
        truth = (1 << 64) - share * (response.domain_size - 1)
        found += [truth - 1, truth, truth + share - 1, truth + share, share - 1, share, LAST - share, LAST - share + 1]
    else:
        found += [model.false_words - 1, model.false_words]
    return [word for word in found if 0 <= word <= LAST]


def streams(model, label):
    """Sequences of words, long enough for any report: edges, each first and then second, and digests."""
    drawn = [int.from_bytes(hashlib.sha256(f"{label} {each}".encode()).digest()[:8], "big") for each in range(600)]
    for word in edges(model):
        yield [word, *drawn]
        yield [drawn[0], word, *drawn[1:]]
    yield drawn
    if isinstance(model, OptimizedUnaryEncodingModel):  # the last word decides the bit of the answer
        used = len(used_by(model, drawn)) - 1
        for word in ((1 << 63) - 1, 1 << 63):
            yield [*drawn[:used], word]


def taken(model, answers):
    """Answers in the form that the randomizer takes: codes of texts in chunks, and all others as they are."""
    if model.kind == "masked-prefix":
        return chunked(answers, model.num_bits, model.prefix_bits)
    return answers


def tick_vectors():
    """Reports on ticks, those of one person one after the other; words that are rejected are drawn anew."""
    for number, (randomizer, answers) in enumerate(tick_randomizers()):
        layout, reports = ReportLayout.of(randomizer.model), []
        for place, answer in enumerate(answers):
            for words in list(streams(randomizer.model, f"ticks {number} {place}"))[-5:]:
                source = RecordedSource(words)
                blobs = layout.encode(randomizer.randomize([answer], source=source))
                used = words[: len(words) - source.remaining]
                reports.append([answer, " ".join(f"{word:x}" for word in used), b"".join(blobs).hex()])
        yield {"model": model_in_text(randomizer.model), "reports": reports}


def message_randomizers():
    """Randomizers of which a person sends several messages, with answers."""
    for epsilon0, size, messages in ((1.0, 2, 0.5), (8.0, 20, 0.09), (3.0, 256, 3.2), (30.0, 1000, 4.0)):
        yield BlanketedResponse(epsilon0=epsilon0, domain_size=size, blanket_messages=messages), (0, size - 1)
    for lower, upper, bits, coins in ((0, 1, 1, 1), (-5, 300, 16, 2), (0.1, 0.3, 12, 130)):
        yield (
            CountedBits(num_users=1000, lower=lower, upper=upper, value_bits=bits, coins=coins),
            numbers(lower, upper)[:5],
        )
    for people, noisy, further in (
        (30, 15, {}),
        (20, 1, {"hosts": Hosts(number=2, colluding=1, buffers="host"), "num_shares": 6, "modulus": 2**40}),
        (1000, 900, {"num_shares": 300}),
        (30, 12, {"lower": 0, "upper": 1, "integer": True}),
        (10**6, 1, {"epsilon": 1e-3, "lower": 0, "upper": 1e4, "integer": True, "modulus": 2**52}),
        (10, 9, {"epsilon": 97.0, "precision": 3, "num_shares": 2}),
    ):
        keys = {"epsilon": 1.0, "lower": -5, "upper": 300, "num_shares": 8, **further}
        randomizer = SplitAndMix(num_users=people, noise_users=noisy, **keys)
        values = (0, 1, 1) if randomizer.model.integer else numbers(keys["lower"], keys["upper"])
        yield randomizer, tuple(float(each) for each in values)


def message_streams(model, label):
    """Sequences of words for several messages; among them some that one word leaves undecided."""
    drawn = [int.from_bytes(hashlib.sha256(f"{label} {each}".encode()).digest()[:8], "big") for each in range(9000)]
    yield drawn
    yield [LAST, *drawn]
    yield [0, *drawn]
    if model.kind == "split-and-mix":
        before = [] if model.integer else [drawn[0]]
        table = polya._table(model.rate, Fraction(1, model.noise_users))
        for entry in {int(table[0]), int(table[min(2, len(table) - 1)])}:
            yield [*before, entry, *drawn]  # a number of jumps that the next word decides
            yield [*before, entry - 1, *drawn]


def message_vectors():
    """Messages of one person one after the other."""
    for number, (randomizer, answers) in enumerate(message_randomizers()):
        layout, reports = ReportLayout.of(randomizer.model), []
        for place, answer in enumerate(answers):
            every = list(message_streams(randomizer.model, f"messages {number} {place}"))
            for words in every if place == 0 else every[:1]:
                source = RecordedSource(words)
                blobs = layout.encode(randomizer.randomize([answer], source=source))
                used = words[: len(words) - source.remaining]
                reports.append([answer, " ".join(f"{word:x}" for word in used), b"".join(blobs).hex()])
        yield {"model": model_in_text(randomizer.model), "reports": reports}


def used_by(model, words):
    """The words that a report on the first answer takes, of these."""
    source = RecordedSource(words)
    model.randomizer().randomize(taken(model, [0]), source=source)
    return words[: len(words) - source.remaining]


def vectors():
    cases = []
    for number, (randomizer, answers) in enumerate(randomizers()):
        layout, reports = ReportLayout.of(randomizer.model), []
        for place, answer in enumerate(answers):
            every = list(streams(randomizer.model, f"{number} {place}"))
            for words in every if place == 0 else every[-3:]:
                source = RecordedSource(words)
                (report,) = layout.encode(randomizer.randomize(taken(randomizer.model, [answer]), source=source))
                used = words[: len(words) - source.remaining]
                shown = str(answer) if randomizer.model.kind == "masked-prefix" else answer  # beyond numbers of JSON
                reports.append([shown, " ".join(f"{word:x}" for word in used), report.hex()])
        cases.append({"model": model_in_text(randomizer.model), "reports": reports})
    cases += [*tick_vectors(), *message_vectors()]
    return {
        "provenance": "made by record_client.py with the randomizers of this library: the answer, the random words in "
        "hexadecimal digits (all are used), and the bytes of the report",
        "cases": cases,
    }


TEXTS = (
    *(
        "nurse",
        "  Nurse ",
        "ÉCOLE\tnormale",
        "Straße",
        "GROẞ",
        "Łódź",
        "O\u2019Neill",
        "e\u0301cole",
        "route 66!",
        "",
        "...",
        "日本語日本語",
    ),
    *(
        "abcdefghijklmnopqrst",
        "abcdefghijklmno pq",
        "a\u202eb\u0000c",
        "שלום\u202e",
        "ΟΔΥΣΣΕΥΣ",
        "İstanbul",
        "ﬁn ½ ①",
        "\ufeffx",
    ),
    *(
        "\u00a0A\u2003b\u0085c\u001cd ",
        "👩\u200d🔬 lab",
        "a" * 100,
        "Ærø–Þing",
        "ǅ ǆ",
        "x\u0301\u0302y",
        "\u3000 \u2028",
        "it's a-b",
    ),
    *(  # later than Unicode 14, up to 17: unknown on every device
        "x\U0001ccd6y",
        "a\u0897b",
        "\U00010d50\U00010d51",
        "e\u1acf\u0301",
        "\ua7ce\ua7cf",
        "caf\U0001e4eee",
        "\U0001fae9 ok",
    ),
)


def texts():
    cases = []
    for kind, length in (("letters", 16), ("letters", 1), ("letters", 64), ("bytes", 16), ("bytes", 2), ("bytes", 64)):
        code = TextCode(kind, length)
        for text in TEXTS:
            sent, is_less = code.normalized(text)
            cases.append([kind, length, text, sent, is_less, str(code.bits_of(sent))])
    return {
        "provenance": "made by record_client.py with the codes of this library: code, length, text, the text that is "
        "sent, whether something of it is left out, and its number",
        "cases": cases,
    }


if __name__ == "__main__":
    TEXTS_FILE.write_text(json.dumps(texts(), indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    FILE.write_text(
        json.dumps(vectors(), indent=1).replace("\n     ", "").replace("\n    ]", "]") + "\n", encoding="utf-8"
    )
