"""Reports that only the analyzer can read: sealed and opened by HPKE in base mode (RFC 9180).

``info`` binds a report to its purpose, as section 8.1 of the RFC advises where each message has a setup of its own. A
test of the way is sealed for a purpose of its own: of equal length, so that only the analyzer's key tells it apart.
Public extensions are not bound: those that reach the analyzer are of the place that the shuffler gave to a report, and
to open it by those of its sender the analyzer would have to know whose it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from cryptography.exceptions import InvalidTag

from shuffledp.core.errors import InvalidParameterError, UndecryptableReportError
from shuffledp.core.validate import invalid
from shuffledp.parties.wire.grammar import COLLECTION_ID_BYTES, HpkeCiphertext, HpkeConfig
from shuffledp.parties.wire.kems import TAG_BYTES, kem_of
from shuffledp.parties.wire.keys import AnalyzerKey

_CONTEXT, _OF_TESTS = b"shuffledp-1 report", b"shuffledp-1 test"
_ANALYZER, _CLIENT = 0, 1  # roles, by their numbers in DAP, where the analyzer is the collector


def report_info(collection_id: bytes, column: int, *, is_test: bool = False) -> bytes:
    """HPKE ``info`` of a report, or of a test: protocol, roles of client and analyzer, collection and column."""
    if len(collection_id) != COLLECTION_ID_BYTES:
        raise InvalidParameterError(f"collection_id must be {COLLECTION_ID_BYTES} bytes; got {len(collection_id)}.")
    return (
        (_OF_TESTS if is_test else _CONTEXT) + bytes((_CLIENT, _ANALYZER)) + collection_id + column.to_bytes(2, "big")
    )


@dataclass(frozen=True, slots=True, repr=False)
class Sealer:
    """Sealer of reports for one column of one collection, to one public key.

    Raises:
        InvalidParameterError: for a config with unknown algorithms or an invalid public key.

    Example:
        >>> key = AnalyzerKey.generate()
        >>> sealed = Sealer.to(key.config, collection_id=bytes(32), column=0).seal(b"report")
        >>> Opener.by([key], collection_id=bytes(32), column=0).open(sealed)
        b'report'
    """

    config_id: int
    _suite: Any
    _public_key: Any
    _enc_length: int
    _info: bytes

    @classmethod
    def to(cls, config: HpkeConfig, *, collection_id: bytes, column: int, is_test: bool = False) -> Self:
        """Sealer of reports to the key in ``config``; with ``is_test``, of tests that the analyzer throws away."""
        kem = kem_of(config)
        try:
            public_key = kem.public_key(config.public_key)
            info = report_info(collection_id, column, is_test=is_test)
            sealer = cls(config.id, kem.suite(), public_key, kem.enc_length, info)
            sealer.seal(b"")  # of some points the curve makes no secret
        except ValueError as error:
            if isinstance(error, InvalidParameterError):
                raise
        else:
            return sealer
        raise InvalidParameterError(
            f"public_key of config {config.id} must be one of {kem.name}; it is something else."
        )

    def seal(self, plaintext: bytes) -> HpkeCiphertext:
        """Sealed plaintext; each call uses a fresh secret, so equal plaintexts get different ciphertexts."""
        sealed = self._suite.encrypt(plaintext, self._public_key, info=self._info)
        return HpkeCiphertext(self.config_id, sealed[: self._enc_length], sealed[self._enc_length :])


@dataclass(frozen=True, slots=True, repr=False)
class Opener:
    """Opener of reports for one column of one collection, sealed to any of several keys."""

    _keys: dict[int, tuple[Any, Any, int]]
    _info: bytes
    _info_of_tests: bytes

    @classmethod
    def by(cls, keys: Iterable[AnalyzerKey], *, collection_id: bytes, column: int) -> Self:
        """Opener with these private keys, whose config ids must differ."""
        several = list(keys)
        held = {key.config.id: (key.kem.suite(), key.private_key, key.kem.enc_length) for key in several}
        if len(held) != len(several):
            raise invalid("of different config ids", keys=[key.config.id for key in several])
        return cls(held, *(report_info(collection_id, column, is_test=each) for each in (False, True)))

    def open(self, sealed: HpkeCiphertext) -> bytes:
        """Plaintext of a sealed report.

        Raises:
            UndecryptableReportError: if it was sealed to another key or for another purpose, or was changed.
        """
        return self._opened(sealed, self._info)

    def is_test(self, sealed: HpkeCiphertext) -> bool:
        """Whether a ciphertext that is no report was sealed as a test for this collection and column."""
        try:
            self._opened(sealed, self._info_of_tests)
        except UndecryptableReportError:
            return False
        return True

    def _opened(self, sealed: HpkeCiphertext, info: bytes) -> bytes:
        suite, private_key, enc_length = self._keys.get(sealed.config_id, (None, None, 0))
        if suite is None or len(sealed.enc) != enc_length:
            raise UndecryptableReportError("a report must be sealed to a key of the analyzer; it is to another.")
        try:
            plaintext: bytes = suite.decrypt(sealed.enc + sealed.payload, private_key, info=info)
        except (InvalidTag, ValueError):
            raise UndecryptableReportError(
                "a report must be sealed for this collection and column; it is not."
            ) from None
        return plaintext


def sealed_lengths(config: HpkeConfig, plaintext_length: int) -> tuple[int, int]:
    """Lengths in bytes of ``enc`` and ``payload`` of a sealed report with this plaintext length."""
    return kem_of(config).enc_length, plaintext_length + TAG_BYTES
