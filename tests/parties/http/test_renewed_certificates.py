"""A service that speaks TLS takes a renewed certificate while it serves, and keeps a good one when files do not fit."""

import ssl

from parties.http.floods import certified
from parties.service.processes import place, until
from shuffledp.parties.http import certificates


def test_a_renewed_certificate_is_taken_without_a_restart_and_a_wrong_pair_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(certificates, "_SECONDS_BETWEEN", 0.05)
    with place(tmp_path, limits=certified(tmp_path)) as where:
        process = where.start("shuffler")
        address = "127.0.0.1", where.ports["shuffler"]

        def shown():
            return ssl.get_server_certificate(address)

        first = (tmp_path / "tls.pem").read_text()
        assert shown() == first
        (tmp_path / "other").mkdir()
        certified(tmp_path / "other")
        second = (tmp_path / "other" / "tls.pem").read_text()
        (tmp_path / "tls.pem").write_text(second)  # whose key is not there yet
        until(lambda: "certificate-refused" in (tmp_path / "shuffler.log").read_text())
        assert shown() == first
        (tmp_path / "tls.key").write_bytes((tmp_path / "other" / "tls.key").read_bytes())
        until(lambda: shown() == second)
        (tmp_path / "tls.key").write_text("no key")
        until(lambda: (tmp_path / "shuffler.log").read_text().count("certificate-refused") > 1)
        assert shown() == second
        assert not process.has_ended()
    assert "certificate-taken" in (tmp_path / "shuffler.log").read_text()
