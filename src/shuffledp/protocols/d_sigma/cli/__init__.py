"""Commands about groups, which the command line finds by `COMMANDS`.

In reading order: `explore_command`, and `wanted_command` (options of `plan`).
"""

from shuffledp.protocols.d_sigma.cli.explore_command import explore

COMMANDS = (explore,)
