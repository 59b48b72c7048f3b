"""The examples under deploy/, as the kit makes them for these hosts.

`PYTHONPATH=tests python -m deploy.examples` writes them anew.
"""

from pathlib import Path

from shuffledp.parties.kit.folders import files_of
from shuffledp.parties.kit.party_roles import ROLES, Parties

HERE = Path(__file__).parents[2] / "deploy"
HOSTS = {
    "shuffler": "shuffler.example.org",
    "analyzer": "office.example.net",
    "issuer": "issuer.example.com",
    "page": "page.example.edu",
    "post-office": "post.example.org",
}
EXAMPLES = Parties(hosts=HOSTS)  # without a relay a shuffler has no gateway's key
WITH_MIX = Parties(hosts={"mix": "mix.example.org"})
WITH_RELAY = Parties(hosts=HOSTS | {"relay": "relay.example.edu"})


def written():
    """Texts of the examples by their place below deploy/."""
    found = {}
    for name, role in ROLES.items():
        files = files_of(role, {"relay": WITH_RELAY, "mix": WITH_MIX}.get(name, EXAMPLES))
        for file, text in files.items():
            if file.endswith(".service"):
                found[f"systemd/{file}"] = text
            if file == "nginx.conf":
                found[f"nginx/{name}.conf"] = text
            if file == "Caddyfile":
                found[f"caddy/{name}.Caddyfile"] = text
    return found


if __name__ == "__main__":
    for place, text in written().items():
        (HERE / place).parent.mkdir(exist_ok=True)
        (HERE / place).write_text(text)
