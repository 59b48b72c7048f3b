"""Commands about groups: what the command line gets from this folder, by `COMMANDS`."""

from shuffledp.protocols.d_sigma.cli.explore_command import explore

COMMANDS = (explore,)
