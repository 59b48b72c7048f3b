"""Makes the vectors of docs/protocol.md, ``wire.json``, from the page alone: nothing here is of this library.

Bytes are put together by ``struct``, sealed by ``pyhpke`` with the ephemeral key of RFC 9180, A.1.1, and signed by
``cryptography``. ``python tests/golden/record_wire.py`` writes them anew; they must only ever be added to.
"""

import base64
import hashlib
import json
import struct
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKey, KEMKeyPair

FILE = Path(__file__).with_name("wire.json")
SUITE = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)
RECIPIENT = "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"
EPHEMERAL = "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"
SIGNER = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"  # RFC 8032, 7.1, test 1
CLOSED = 1_800_000_000


def vector(length, data):
    """Bytes after their number, which has ``length`` bytes."""
    return len(data).to_bytes(length, "big") + data


def text(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def key_of(kind, secret):
    return kind.from_private_bytes(bytes.fromhex(secret))


def pem(key):
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


def fingerprint(role, public):
    digest = hashlib.sha256(f"shuffledp {role} key".encode() + public).hexdigest()
    return " ".join(digest[at : at + 4] for at in range(0, 20, 4))


def sealed(config_id, public, info, plaintext):
    """A ciphertext with a known ephemeral key, which no other than a test vector may have."""
    ephemeral = key_of(X25519PrivateKey, EPHEMERAL)
    pair = KEMKeyPair(*(KEMKey.from_pyca_cryptography_key(each) for each in (ephemeral, ephemeral.public_key())))
    enc, context = SUITE.create_sender_context(KEMKey.from_pyca_cryptography_key(public), info, eks=pair)
    payload = context.seal(plaintext)
    identity = hashlib.sha256(enc + payload).digest()[:16]
    return identity, bytes([config_id]) + vector(2, enc) + vector(4, payload)


def collection(configs, signer):
    """The collection file of the example: the keys of the task file are all there, in the order of the alphabet."""
    randomizer = {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"], "missing_category": False}
    task = {
        "name": "risk survey",
        "value": "cheated",
        "public": [],
        "missing": "refuse",
        "missing_values": [""],
        "people": {"id": None, "expected": None, "earlier": [], "fakes": 20},
        "randomizer": randomizer,
        "shuffler": {"kind": "uniform"},
        "release": {"delta": 1e-06, "minimum_batch": 500, "level": 0.95},
        "part_of": None,
    }
    since = {"active_from": "2026-12-01T00:00:00Z", "expires": None, "successors": []}
    found = {
        "task": task,
        "nonce": text(bytes(range(16))),
        "opens": "2026-12-01T00:00:00Z",
        "closes": "2026-12-31T23:59:59Z",
        "shuffler": {"url": "https://mixer.example", "key": {"role": "shuffler", "key": text(signer), **since}},
        "analyzer": {"url": "https://office.example", "key": {"role": "analyzer", "key": text(configs), **since}},
        "version": 1,
    }
    return json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def vectors():
    recipient, signer = key_of(X25519PrivateKey, RECIPIENT), key_of(Ed25519PrivateKey, SIGNER)
    public, verifier = recipient.public_key().public_bytes_raw(), signer.public_key().public_bytes_raw()
    config_id = hashlib.sha256(public).digest()[0]
    config = struct.pack(">BHHH", config_id, 0x20, 1, 1) + vector(2, public)
    file = collection(config, verifier)
    identity = hashlib.sha256(b"shuffledp collection v1" + file.encode()).digest()
    info = b"shuffledp-1 report" + b"\x01\x00" + identity + struct.pack(">H", 0)
    report_id, ciphertext = sealed(config_id, recipient.public_key(), info, b"\x01")
    extension = struct.pack(">H", 1) + vector(2, b'["Ulm"]')
    report = report_id + vector(2, b"") + ciphertext
    refused = report_id + b"\x07"
    body = vector(2, b"") + ciphertext
    manifest = b"".join([
        identity, struct.pack(">H", 0), bytes(range(16)), struct.pack(">IIIII", 0, 1, 5, 6, 7),
        hashlib.sha256(body).digest(), vector(1, b"uniform"), vector(1, b"0.1.0"),
    ])  # fmt: skip
    signature = signer.sign(b"shuffledp-1 batch" + manifest)
    closing = identity + struct.pack(">Q", CLOSED)
    good = {
        "HpkeConfig": config,
        "HpkeConfigList": vector(2, config),
        "HpkeCiphertext": ciphertext,
        "Extension": extension,
        "Report": report,
        "ReportStatus": refused,
        "UploadResponse": vector(4, refused) + vector(4, b""),
        "BatchedReport": body,
        "BatchManifest": manifest,
        "SignedManifest": manifest + signature,
        "UploadRequest": report,
        "Batch": manifest + signature + body,
        "CloseRequest": closing + signer.sign(b"shuffledp-1 close" + closing),
    }
    two = vector(2, extension * 2) + ciphertext
    bad = [
        ("Report", bytes(16) + report[16:], "the id is that of another ciphertext"),
        ("Report", report + b"\0", "something follows"),
        ("Report", report[:-1], "it is cut off"),
        ("Report", report_id + two, "an extension comes twice"),
        ("Report", report_id + vector(2, extension[:-1]) + ciphertext, "an extension ends after the list"),
        ("HpkeConfig", config[:7] + b"\0\0", "the key is empty"),
        ("HpkeConfigList", b"\0\0", "there is no key"),
        ("HpkeConfigList", vector(2, config * 2), "two keys have one id"),
        ("HpkeCiphertext", ciphertext[:3] + b"\xff\xff\xff\xff", "it ends long before it says"),
        ("ReportStatus", report_id + b"\0", "error 0 is reserved"),
        ("UploadResponse", vector(4, refused) + vector(4, b"\1"), "the padding is no zeros"),
        ("UploadRequest", b"", "there is no submission"),
        ("UploadRequest", report * 3, "reports are those of a submission and a half, if there are two columns"),
        ("Batch", manifest + signature + body + b"\0", "the body is not the one of the manifest"),
        ("SignedManifest", manifest + signature[:-1], "the signature is cut off"),
    ]
    return {
        "provenance": "made by record_wire.py from docs/protocol.md, without this library: struct, pyhpke and "
        "cryptography; keys of RFC 9180, A.1.1 and RFC 8032, 7.1 (test 1)",
        "analyzer_key": pem(recipient),
        "shuffler_key": pem(signer),
        "fingerprints": {"analyzer": fingerprint("analyzer", config), "shuffler": fingerprint("shuffler", verifier)},
        "collection": file,
        "collection_id": identity.hex(),
        "column": 0,
        "info": info.hex(),
        "plaintext": "01",
        "closed": CLOSED,
        "messages": {name: data.hex() for name, data in good.items()},
        "bad": [{"message": name, "why": why, "bytes": data.hex()} for name, data, why in bad],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
