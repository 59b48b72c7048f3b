"""Files of TLS certificates: read before anything is served or sent, and refused by name."""

import ssl
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError


def trusted(file: Path | None, *, name: str) -> ssl.SSLContext | bool:
    """What a client trusts: the certificates in a file, or True for the usual ones.

    Raises:
        InvalidParameterError: if the file cannot be read, or holds none.
    """
    if file is None:
        return True
    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        raise _refused(name, "PEM certificates", file, error) from None


def check_pair(certificate: str, key: str) -> None:
    """Refuse a certificate chain and a key that a server could not start with.

    Raises:
        InvalidParameterError: if one cannot be read, is no PEM file, or they do not belong together.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except OSError as error:
        raise _refused("tls_certificate and tls_key", "PEM files that belong together", certificate, error) from None


def _no_password() -> str:
    """None is asked for: a service starts by itself."""
    return ""


def _refused(name: str, what: str, file: Path | str, error: OSError) -> InvalidParameterError:
    reason = "it is something else" if isinstance(error, ssl.SSLError) else error.strerror
    return InvalidParameterError(f"{name} must be {what}; got {file}: {reason}.")
