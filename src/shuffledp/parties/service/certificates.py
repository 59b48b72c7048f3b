"""TLS certificate files: read before anything is served or sent, and named in errors."""

import ssl
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError


def trusted(file: Path | None, *, name: str) -> ssl.SSLContext | bool:
    """Certificates that a client trusts: those in a file, or True for the system's.

    Raises:
        InvalidParameterError: if the file is unreadable, or holds no certificate.
    """
    if file is None:
        return True
    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        raise _refused(name, "PEM certificates", file, error) from None


def check_pair(certificate: str, key: str) -> None:
    """Refuse a certificate chain and key with which a server could not start.

    Raises:
        InvalidParameterError: if a file is unreadable or no PEM file, or the two do not belong together.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except OSError as error:
        raise _refused("tls_certificate and tls_key", "PEM files that belong together", certificate, error) from None


def _no_password() -> str:
    """Empty password, so that no service waits for input at its start."""
    return ""


def _refused(name: str, what: str, file: Path | str, error: OSError) -> InvalidParameterError:
    reason = "it is something else" if isinstance(error, ssl.SSLError) else error.strerror
    return InvalidParameterError(f"{name} must be {what}; got {file}: {reason}.")
