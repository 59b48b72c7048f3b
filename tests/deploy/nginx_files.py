"""Files of nginx as a test can start them: without TLS, on a port of their own, and with their bodies in a folder."""

import re


def without_tls(text, folder, *, port=8480, gateway="http://127.0.0.1:9/gateway"):
    """The same servers on loopback without certificates, and without TLS to the server behind."""
    plain = re.sub(r"^\s*(ssl|proxy_ssl)_\w+.*$", "", text, flags=re.MULTILINE).replace(" ssl;", ";")
    plain = plain.replace("listen 443", f"listen 127.0.0.1:{port}").replace("listen [::]:443;", "")
    plain = re.sub(r"https://\S+/gateway", gateway, plain)
    return plain.replace("/run/shuffledp-nginx", str(folder / "bodies"))
