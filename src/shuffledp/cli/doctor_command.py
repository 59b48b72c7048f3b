"""The command `doctor`: examines a party's machine, or a kit with all its parties, and says what to change."""

from pathlib import Path
from typing import Annotated

import typer

from shuffledp.cli.options import require_extra
from shuffledp.core.errors import RemoteProtocolError


def doctor(
    place: Annotated[str, typer.Argument(metavar="KIT|URL", help="A kit, or the address of a service.")],
    *,
    ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="Certificates to trust, in place of the system's."),
    ] = None,
) -> None:
    """Examine a service from outside, or all parties of a kit: names, certificates, clocks, and the way of a report.

    Each failure says what was seen, and what to change. No report is sent, and nothing is counted.
    """
    require_extra("service", "asking", ["httpx"])
    from shuffledp.parties.kit.doctor import examine_address, examine_kit
    from shuffledp.survey.addresses import check_address

    if place.startswith(("https://", "http://")):
        check_address(url=place)
        findings = examine_address(place, ca=ca)
    else:
        findings = examine_kit(Path(place), ca=ca)
    wrong = 0
    for each in findings:
        wrong += not each.is_well
        mark, change = ("ok", "") if each.is_well else ("WRONG", f" -> {each.change}")
        typer.echo(f"{mark:<6}{each.party}: {each.seen}{change}")
    if wrong:
        raise RemoteProtocolError(f"everything must be well; {wrong} of what was looked at is not.")
