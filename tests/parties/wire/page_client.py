"""A device written from docs/protocol.md and ``cryptography`` alone: nothing here is of this library.

From the bytes of a collection file and a person's answers it makes the body of an upload. Random words come from a
function ``words()``, so that tests may count and replay them.
"""

import base64
import hashlib
import hmac
import json
import math
import random
import secrets
import struct
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import cache

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

W = 2**64
P = 2**31 - 1
MISSING = None


def secure_word():
    return secrets.randbits(64)


# ---- From an answer to a report: the value --------------------------------------------------------------------------


def edges_of(randomizer):
    if "edges" in randomizer:
        return randomizer["edges"]
    lower, upper, bins = (randomizer[key] for key in ("lower", "upper", "bins"))
    return [lower, *(lower + (upper - lower) * i / bins for i in range(1, bins)), upper]


def values_without_a_missing_one(randomizer):
    if "categories" not in randomizer:
        return len(edges_of(randomizer)) - 1
    lists = randomizer["categories"]
    return len(lists[0]) * len(lists[1]) if isinstance(lists[0], list) else len(lists)


def value_of(randomizer, answer):
    """The number of a category, pair or bin; None where nothing is sent."""
    last = values_without_a_missing_one(randomizer) if randomizer["missing_category"] else None
    if "categories" not in randomizer:
        return last if answer is MISSING else bin_of(edges_of(randomizer), within(randomizer, answer))
    lists = randomizer["categories"]
    if not isinstance(lists[0], list):
        return last if answer is MISSING else lists.index(answer)
    if MISSING in answer:
        return last
    return lists[0].index(answer[0]) * len(lists[1]) + lists[1].index(answer[1])


def bin_of(edges, number):
    return min(max(i for i, edge in enumerate(edges) if edge <= number), len(edges) - 2)


def within(randomizer, number):
    ends = edges_of(randomizer) if "bins" in randomizer or "edges" in randomizer else None
    lower, upper = (ends[0], ends[-1]) if ends else (randomizer["lower"], randomizer["upper"])
    if not lower <= number <= upper and randomizer["out_of_range"] != "clip":
        raise ValueError("beyond the range")
    return min(max(number, lower), upper)


# ---- integers -------------------------------------------------------------------------------------------------------


@cache
def share(e, *, divided_by=1, factor=Fraction(1), plus=1):
    """ceil(2^64 / (exp(e / divided_by) factor + plus))."""
    with localcontext() as context:
        context.prec = 60
        odds = (Decimal(e) / divided_by).exp() * factor.numerator / factor.denominator
        return int((W / (odds + plus)).to_integral_value(ROUND_CEILING))


def below(bound, words):
    """Uniform from 0 to bound - 1."""
    while (word := words()) >= W - W % bound:
        pass
    return word % bound


def happens(count, words):
    """With probability count / 2^64."""
    return words() < count


# ---- kinds of categories --------------------------------------------------------------------------------------------


def k_rr(e, k, x, words):
    s = share(e, plus=k - 1)
    word, truth = words(), W - (k - 1) * s
    if word < truth:
        return x
    other = (word - truth) // s
    return other + (other >= x)


def unary(k, x, own, other, words):
    bits = [happens(own if v == x else other, words) for v in range(k)]
    return packed(bits)


def packed(bits):
    found = bytearray(-(-len(bits) // 8))
    for v, bit in enumerate(bits):
        found[v // 8] |= bit << v % 8
    return bytes(found)


def hadamard(e, k, x, words):
    K = 1 << k.bit_length()
    minus = happens(share(e), words)
    while True:
        c = below(K, words)
        if ((x + 1) & c).bit_count() % 2 == minus:
            return c


def olh(e, g, x, words):
    seed = below(P * P, words)
    a, b = divmod(seed, P)
    return seed, k_rr(e, g, (a * x + b) % P * g // P, words)


@cache
def subset_size(e, k):
    least = int(k / (math.exp(e) + 1))
    found = []
    for d in sorted({max(1, least), min(k - 1, least + 1)}):
        s = share(e, factor=Fraction(d, k - d))
        p = 1 - s / W
        q = (d - p) / (k - 1)
        found.append(((p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2, d, s))
    return min(found)[1:]


def subset(e, k, x, words):
    d, s = subset_size(e, k)
    without = happens(s, words)
    others = [v for v in range(k) if v != x]
    for place in range(d if without else d - 1):  # a shuffle that stops early
        swapped = place + below(len(others) - place, words)
        others[place], others[swapped] = others[swapped], others[place]
    chosen = {*others[: d if without else d - 1], *([] if without else [x])}
    return packed([v in chosen for v in range(k)])


# ---- kinds of numbers -----------------------------------------------------------------------------------------------


def fixed(randomizer, x):
    """F of the grid."""
    return math.floor(Fraction((x - randomizer["lower"]) / (randomizer["upper"] - randomizer["lower"])) * W)


def rounded(randomizer, x, steps, words):
    if x == randomizer["upper"]:
        words()
        return steps
    point, rest = divmod(fixed(randomizer, x) * steps, W)
    return point + happens(rest, words)


def one_bit(e, randomizer, x, words):
    s = share(e)
    if x == randomizer["upper"]:
        return int(happens(W - s, words))
    return int(happens(s + fixed(randomizer, x) * (W - 2 * s) // W, words))


@cache
def best_levels(e):
    E = math.exp(e)

    def largest_variance(L):
        q = 1 / (E + L)
        D = (E - 1) * q
        c = (1 - D) / D
        A = q * L * (L + 1) * (2 * L + 1) / 6 - (q * L * (L + 1) / 2) ** 2
        v = min(max((1 + c - c * L) / 2, 0), 0.5)
        return (A / D**2 - c * v * (L - v) + (1 + c) * v * (1 - v)) / L**2

    return min(range(1, math.floor(2 * E ** (1 / 3) + 3) + 1), key=largest_variance)


@cache
def rate_of(e, S):
    """The largest fraction that is at most e / S, with a denominator of at most 2^40: the nearer ones are searched."""
    wanted = Fraction(e) / S
    near = wanted.limit_denominator(2**40)
    if near <= wanted:
        return near
    # The neighbour below ``near`` among fractions of such denominators: a b' - a' b = 1 with the largest b'.
    a, b = near.numerator, near.denominator
    below_b = pow(a, -1, b) if b > 1 else 0
    below_b += (2**40 - below_b) // b * b
    return Fraction((a * below_b - 1) // b, below_b)


def exponential_coin(n, m, words):
    """Heads with probability exp(-n / m), n at most m."""
    place = 1
    while below(place * m, words) < n:
        place += 1
    return place % 2 == 1


def laplace_noise(r, words):
    a, b = r.numerator, r.denominator
    while True:
        U = below(b, words)
        while not exponential_coin(U, b, words):
            U = below(b, words)
        V = 0
        while exponential_coin(1, 1, words):
            V += 1
        Y, negative = (U + b * V) // a, below(2, words)
        if not (negative and Y == 0):
            return -Y if negative else Y


@cache
def cap(e, d, split):
    """The depth D and the words C of the cap, for a dimension that is small and odd, where c is a polynomial in D."""
    rest, half = e - 2e-9, (d - 1) // 2

    def mass(D):  # I_D(a, a), a = (d - 1) / 2 whole
        n = 2 * half - 1
        return math.fsum(math.comb(n, j) * D**j * (1 - D) ** (n - j) for j in range(half, n + 1))

    def excess(D):
        c = mass(D)
        if split is not None:
            return (1 - split) * rest - math.log((1 - c) / c)
        G = math.expm1(rest)
        area = (4 * D * (1 - D)) ** half / ((d - 1) * math.gamma(0.5) * math.gamma(half) / math.gamma(half + 0.5))
        return (1 - 2 * D) - area * G / (1 + G * c) if split is None else 0

    low, high = 1e-12, 0.5
    sign = excess(high) > 0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if (excess(middle) > 0) == sign else (middle, high)
    c = mass(low)
    odds = math.exp(math.log((1 - c) / c) - rest)
    return low, W - math.ceil(W * (odds / (1 + odds)))


def priv_unit(e, randomizer, x, words):
    D, C = cap(e, randomizer["dimension"], randomizer["budget_split"])
    inside, draw = happens(C, words), random.Random(words())
    while True:
        vector = [draw.gauss(0, 1) for _ in x]
        length = math.sqrt(math.fsum(each * each for each in vector))
        vector = [each / length for each in vector]
        if (math.fsum(a * b for a, b in zip(vector, x, strict=True)) >= 1 - 2 * D) == inside:
            return vector


# ---- a report -------------------------------------------------------------------------------------------------------


def width(largest):
    return next(size for size in (1, 2, 4, 8) if largest < 256**size)


def plaintext(randomizer, answer, words=secure_word):
    """The bytes of a report on an answer; None where nothing is sent."""
    kind, e = randomizer["kind"], randomizer["epsilon0"]
    if kind == "priv-unit":
        return struct.pack(f">{len(answer)}d", *priv_unit(e, randomizer, answer, words))
    if kind in ("one-bit-mean", "rounded-mean", "laplace-mean"):
        if answer is MISSING:
            return None
        return of_number(kind, e, randomizer, within(randomizer, answer), words)
    x = value_of(randomizer, answer)
    return None if x is None else of_value(kind, e, randomizer, x, words)


def of_number(kind, e, randomizer, x, words):
    if kind == "one-bit-mean":
        return bytes([one_bit(e, randomizer, x, words)])
    if kind == "rounded-mean":
        L = randomizer["num_levels"] or best_levels(e)
        return k_rr(e, L + 1, rounded(randomizer, x, L, words), words).to_bytes(width(L), "big")
    S = randomizer["num_steps"]
    r = rate_of(e, S)
    value, M = rounded(randomizer, x, S, words) + laplace_noise(r, words), math.ceil(71 / r)
    return struct.pack(">q", value) if -M <= value <= S + M else None


def of_value(kind, e, randomizer, x, words):
    k = values_without_a_missing_one(randomizer) + randomizer["missing_category"]
    if kind == "k-rr":
        return k_rr(e, k, x, words).to_bytes(width(k - 1), "big")
    if kind == "oue":
        return unary(k, x, W // 2, share(e), words)
    if kind == "sue":
        s = share(e, divided_by=2)
        return unary(k, x, W - s, s, words)
    if kind == "hadamard":
        return hadamard(e, k, x, words).to_bytes(width((1 << k.bit_length()) - 1), "big")
    if kind == "olh":
        g = randomizer["hash_range"] or round(math.exp(e)) + 1
        seed, value = olh(e, g, x, words)
        return seed.to_bytes(8, "big") + value.to_bytes(width(g - 1), "big")
    if kind == "subset":
        return subset(e, k, x, words)
    raise ValueError(kind)


# ---- sealing (RFC 9180, base mode) and upload -----------------------------------------------------------------------


def text(data):
    return base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))


def extract(salt, secret):
    return hmac.digest(salt or bytes(32), secret, "sha256")


def expand(key, info, length):
    found, block = b"", b""
    while len(found) < length:
        block = hmac.digest(key, block + info + bytes([len(found) // 32 + 1]), "sha256")
        found += block
    return found[:length]


def seal(public, info, message):
    """Enc and payload, by DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM."""
    ephemeral = X25519PrivateKey.generate()
    enc = ephemeral.public_key().public_bytes_raw()
    kem, suite = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x01"

    def labeled(suite_id, label, data):
        return b"HPKE-v1" + suite_id + label + data

    def expanded(suite_id, key, label, data, length):
        return expand(key, struct.pack(">H", length) + labeled(suite_id, label, data), length)

    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(public))
    secret = expanded(kem, extract(b"", labeled(kem, b"eae_prk", shared)), b"shared_secret", enc + public, 32)
    parts = (extract(b"", labeled(suite, label, data)) for label, data in ((b"psk_id_hash", b""), (b"info_hash", info)))
    context = b"\x00" + b"".join(parts)
    schedule = extract(secret, labeled(suite, b"secret", b""))
    key, nonce = expanded(suite, schedule, b"key", context, 16), expanded(suite, schedule, b"base_nonce", context, 12)
    return enc, AESGCM(key).encrypt(nonce, message, b"")


def vector(size, data):
    return len(data).to_bytes(size, "big") + data


def columns_of(task):
    """The randomizers of the private columns, in their order."""
    return (
        [block["randomizer"] for block in task["value"]]
        if isinstance(task.get("value"), list)
        else [task["randomizer"]]
    )


def upload(file, answers, words=secure_word):
    """The body of an upload of one submission, from the bytes of the collection file and an answer for each column."""
    file = file.rstrip()
    collection, identity = json.loads(file), hashlib.sha256(b"shuffledp collection v1" + file).digest()
    config = text(collection["analyzer"]["key"]["key"])
    config_id, kem, kdf, aead, length = struct.unpack(">BHHHH", config[:9])
    if (kem, kdf, aead) != (0x20, 1, 1) or length != len(config) - 9:
        raise ValueError("another key")
    body = b""
    for number, (randomizer, answer) in enumerate(zip(columns_of(collection["task"]), answers, strict=True)):
        message = plaintext(randomizer, answer, words)
        if message is None:
            return None
        info = b"shuffledp-1 report\x01\x00" + identity + struct.pack(">H", number)
        enc, payload = seal(config[9:], info, message)
        report_id = hashlib.sha256(enc + payload).digest()[:16]
        body += report_id + vector(2, b"") + bytes([config_id]) + vector(2, enc) + vector(4, payload)
    return body
