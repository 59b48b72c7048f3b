"""Systemd units of the services: one text for all roles, with few rights."""

from shuffledp.parties.kit.party_roles import Role

_UNIT = """\
# {work}
# docs/deploy/{guide}.md says where its configuration and its key are put, and how it is started.

[Unit]
Description=shuffledp {name}
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
ExecStart=/opt/shuffledp/bin/shuffledp {runs} --config /etc/shuffledp/{name}.toml
Restart=always
RestartSec=2
TimeoutStopSec=30

# Nothing of the machine but what is listed below: no other user's files, no devices, no kernel, no core dump with keys.
DynamicUser=yes
{state}ConfigurationDirectory=shuffledp
{credentials}UMask=0077
LimitCORE=0
MemorySwapMax=0
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProcSubset=pid
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
RemoveIPC=yes
KeyringMode=private
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
# MemoryDenyWriteExecute is left out: shuffles near an order, and some estimates, compile their kernels at first use.

[Install]
WantedBy=multi-user.target
"""


def unit_of(role: Role, keys: tuple[str, ...]) -> str:
    """Systemd unit of a role's service with these keys; a relay's unit has no state."""
    state = f"StateDirectory=shuffledp-{role.name}\nStateDirectoryMode=0700\n" if role.name != "relay" else ""
    credentials = "".join(f"LoadCredential={key}.key:/etc/shuffledp/{key}.key\n" for key in keys)
    return _UNIT.format(
        work=role.work, guide=role.guide, name=role.name, runs=role.runs, state=state, credentials=credentials
    )
