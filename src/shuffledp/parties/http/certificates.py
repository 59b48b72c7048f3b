"""TLS certificate files, read before a server or client starts, and read again when they change."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import httpx

from shuffledp.core.errors import InvalidParameterError

_SECONDS_BETWEEN = 10.0  # looks at whether files have changed


def trusted(file: Path | None, *, name: str) -> ssl.SSLContext:
    """TLS context that trusts the certificates of a file or, without a file, of the system and of httpx.

    Raises:
        InvalidParameterError: if the file is unreadable, or holds no certificate.
    """
    if file is None:
        context = httpx.create_ssl_context(trust_env=False)  # for systems that know none
        context.load_default_certs()  # among which may be an authority of a university's own
        return context
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


async def follow_pair(context: ssl.SSLContext, certificate: str, key: str, *, told: Callable[[bool], None]) -> None:
    """Load a renewed certificate and key into a server's context, for all later connections.

    While the two files do not belong together, as between the writing of one and of the other, the earlier ones stay.

    Args:
        context: context of the server.
        certificate: file of the chain.
        key: file of its private key.
        told: called after each change, with whether it was taken.
    """
    known = _state_of(certificate, key)
    while True:
        await asyncio.sleep(_SECONDS_BETWEEN)
        now = _state_of(certificate, key)
        if now == known:
            continue
        known = now
        try:
            check_pair(certificate, key)
            context.load_cert_chain(certificate, key, password=_no_password)
        except (InvalidParameterError, OSError):
            told(False)
        else:
            told(True)


def _state_of(*files: str) -> tuple[tuple[int, int, int] | None, ...]:
    """State of each file, to notice changes: inode number, size and time; None for a missing file."""
    found: list[tuple[int, int, int] | None] = []
    for each in files:
        try:
            state = Path(each).stat()
            found.append((state.st_ino, state.st_size, state.st_mtime_ns))
        except OSError:
            found.append(None)
    return tuple(found)


def _no_password() -> str:
    """Empty password for a private key, so that no service waits for input at its start."""
    return ""


def _refused(name: str, what: str, file: Path | str, error: OSError) -> InvalidParameterError:
    reason = "it is something else" if isinstance(error, ssl.SSLError) else error.strerror
    return InvalidParameterError(f"{name} must be {what}; got {file}: {reason}.")
