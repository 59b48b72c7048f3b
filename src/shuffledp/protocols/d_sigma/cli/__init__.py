"""Commands about groups, which the command line finds by `COMMANDS`."""

from shuffledp.protocols.d_sigma.cli.explore_command import explore

COMMANDS = (explore,)
