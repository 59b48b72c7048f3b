"""Key encapsulation mechanisms between device and analyzer: numbers, lengths and keys.

All use HKDF-SHA256 and AES-128-GCM, as in most uses of HPKE (RFC 9180, section 7). A private key is a tuple of the
keys that it is made of, each of which has a PKCS#8 form.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid
from shuffledp.parties.wire.grammar import HpkeConfig

KDF_ID = 0x0001  # HKDF-SHA256
AEAD_ID = 0x0001  # AES-128-GCM
TAG_BYTES = 16  # overhead of a payload over its plaintext

Parts = tuple[Any, ...]


def hpke_library() -> Any:
    """HPKE module of the installed ``cryptography``.

    Raises:
        InvalidParameterError: if ``cryptography`` is older than version 47, the first with HPKE.
    """
    try:
        from cryptography.hazmat.primitives import hpke
    except ImportError:
        import cryptography

        raise InvalidParameterError(
            f"cryptography must be version 47 or newer, which has HPKE; got {cryptography.__version__}: pip install "
            '"shuffledp[service]".'
        ) from None
    return hpke


class Kem(ABC):
    """Key encapsulation mechanism: ``id`` is its number in RFC 9180, section 7.1; lengths are in bytes."""

    name: ClassVar[str]
    id: ClassVar[int]
    enc_length: ClassVar[int]
    public_length: ClassVar[int]
    member: ClassVar[str]  # name in ``cryptography``

    def suite(self) -> Any:
        """HPKE suite of ``cryptography`` with this mechanism and the two fixed algorithms.

        Raises:
            InvalidParameterError: if the installed ``cryptography`` does not have the mechanism.
        """
        hpke = hpke_library()
        try:
            return hpke.Suite(getattr(hpke.KEM, self.member), hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
        except (AttributeError, UnsupportedAlgorithm):
            raise _not_there(self) from None

    @abstractmethod
    def generate(self) -> Parts:
        """New private key from the system's randomness."""

    @abstractmethod
    def private_key(self, parts: Parts) -> Any:
        """Private key in the form that ``suite`` takes; `ValueError` if the parts do not fit the mechanism."""

    @abstractmethod
    def public_key(self, data: bytes) -> Any:
        """Public key in the form that ``suite`` takes, from its bytes.

        Raises:
            InvalidParameterError: if the bytes are no valid public key.
        """


class X25519(Kem):
    """Mechanism DHKEM(X25519, HKDF-SHA256)."""

    name = "x25519"
    id = 0x0020
    enc_length = public_length = 32
    member = "X25519"

    def generate(self) -> Parts:
        """New X25519 private key, as its only part."""
        return (X25519PrivateKey.generate(),)

    def private_key(self, parts: Parts) -> Any:
        """X25519 private key: the only element of ``parts``."""
        if len(parts) != 1 or not isinstance(parts[0], X25519PrivateKey):
            raise ValueError
        return parts[0]

    def public_key(self, data: bytes) -> Any:
        """X25519 public key; points that make every secret zero are refused."""
        try:
            point = X25519PublicKey.from_public_bytes(data)
            X25519PrivateKey.generate().exchange(point)
        except ValueError:
            raise _no_key(self) from None
        return point


class HybridX25519(Kem):
    """Mechanism MLKEM768-X25519 (draft-ietf-hpke-pq), which stays secure if a quantum computer breaks X25519."""

    name = "mlkem768-x25519"
    id = 0x647A
    enc_length = 1120
    public_length = 1216
    member = "MLKEM768_X25519"

    def generate(self) -> Parts:
        """New ML-KEM-768 and X25519 private keys."""
        self.suite()
        from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

        try:
            return MLKEM768PrivateKey.generate(), X25519PrivateKey.generate()
        except UnsupportedAlgorithm:  # version 47 names the mechanism but does not have it
            raise _not_there(self) from None

    def private_key(self, parts: Parts) -> Any:
        """Hybrid private key made of both parts."""
        self.suite()
        try:
            return hpke_library().MLKEM768X25519PrivateKey(*parts)
        except TypeError:
            raise ValueError from None

    def public_key(self, data: bytes) -> Any:
        """Hybrid public key: ML-KEM-768 key first, then the X25519 point."""
        self.suite()
        from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey

        curve = self.public_length - X25519.public_length
        try:
            lattice = MLKEM768PublicKey.from_public_bytes(data[:curve])
        except ValueError:
            raise _no_key(self) from None
        except UnsupportedAlgorithm:
            raise _not_there(self) from None
        return hpke_library().MLKEM768X25519PublicKey(lattice, X25519().public_key(data[curve:]))


def _not_there(kem: Kem) -> InvalidParameterError:
    from cryptography import __version__

    return InvalidParameterError(
        "kem must be one that the installed cryptography has, such as 'x25519' (mlkem768-x25519 takes version 48 or "
        f"newer, with an OpenSSL that has ML-KEM); got kem={kem.name!r} with cryptography {__version__}."
    )


def _no_key(kem: Kem) -> InvalidParameterError:
    return InvalidParameterError(f"public_key must be one of {kem.name}; it is something else.")


KEMS: dict[str, Kem] = {kem.name: kem for kem in (X25519(), HybridX25519())}


def kem_of(config: HpkeConfig) -> Kem:
    """Mechanism of a published key.

    Raises:
        InvalidParameterError: if the mechanism or another algorithm of the key is unknown here.
    """
    kem = next((kem for kem in KEMS.values() if kem.id == config.kem), None)
    if kem is None or (config.kdf, config.aead) != (KDF_ID, AEAD_ID):
        numbers = f"{config.kem:#06x}, {config.kdf:#06x}, {config.aead:#06x}"
        raise invalid(
            f"of kem {' or '.join(f'{kem.id:#06x}' for kem in KEMS.values())}, kdf {KDF_ID:#06x} and aead "
            f"{AEAD_ID:#06x}",
            config=numbers,
        )
    return kem
