"""Somebody who holds as many connections of a service as there can be, and opens a new one for each that is cut."""

import resource
import selectors
import socket
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def allow(count):
    """Let this process have so many files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 500:
        pytest.skip("so many connections cannot be opened here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 500), hard))


class Flood(threading.Thread):
    """A part of the connections, in a thread of its own."""

    def __init__(self, port, count, sending, again):
        super().__init__(daemon=True)
        self._port, self._count, self._sending, self._again = port, count, sending, again
        self.opened, self.is_there, self._ended = 0, threading.Event(), threading.Event()

    def run(self):
        """Hold them until it is ended."""
        with selectors.EpollSelector() as selector:
            for _ in range(self._count):
                self._open(selector)
            self.is_there.set()
            while not self._ended.is_set():
                for key, _ in selector.select(0.1):
                    with suppress(OSError):
                        if key.fileobj.recv(1 << 12):
                            continue
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                    if self._again:
                        self._open(selector)
            for key in list(selector.get_map().values()):
                key.fileobj.close()

    def _open(self, selector):
        with suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", self._port), timeout=5)
            selector.register(connection, selectors.EVENT_READ)
            self.opened += 1
            connection.sendall(self._sending)

    def end(self):
        """Let go of all."""
        self._ended.set()
        self.join()


@contextmanager
def flooded(port, count, *, sending=b"", again=True, threads=2):
    """A service of which somebody holds this many connections, in each of which the same was sent."""
    allow(count)
    floods = [Flood(port, count // threads, sending, again) for _ in range(threads)]
    try:
        for each in floods:
            each.start()
        for each in floods:
            assert each.is_there.wait(60)
        yield floods
    finally:
        for each in floods:
            each.end()


def certified(folder, *, age=timedelta()):
    """The lines of a configuration by which a service speaks TLS on this machine, with a certificate of this age."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - age, now + timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
    (folder / "tls.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "tls.key").write_bytes(written)
    return 'tls_certificate = "tls.pem"\ntls_key = "tls.key"\n'
