"""Options that commands share as one value."""

from dataclasses import dataclass, fields
from typing import Annotated

import typer
from typer.testing import CliRunner

from shuffledp.cli.options import ProtocolOptions, Screen, on_screen, screen
from shuffledp.cli.protocol_options import OptionProtocol


@dataclass(frozen=True, kw_only=True)
class Shade:
    red: Annotated[int, typer.Option(help="How red.")] = 1
    blue: int = 2


def shown(*arguments: str) -> tuple[int, str]:
    seen, app = [], typer.Typer()

    def paint(thing: str, *, shade: Shade, coats: int = 1) -> None:
        seen.append((thing, shade, coats, screen().quiet))

    app.command()(on_screen(paint))
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, str(seen[0]) if seen else done.output


def test_a_group_of_options_reaches_the_command_as_one_value():
    assert shown("wall", "--blue", "5", "--coats", "3", "-q") == (0, "('wall', Shade(red=1, blue=5), 3, True)")


def test_the_options_of_a_group_stand_in_its_place_in_the_help():
    code, text = shown("--help")
    assert code == 0
    places = [text.index(option) for option in ("--red", "--blue", "--coats", "--verbose")]
    assert places == sorted(places)
    assert "How red." in text
    assert "--shade" not in text


def test_what_describes_a_protocol_is_listed_once():
    own = set(OptionProtocol.__annotations__)
    assert own == {"task", "shuffler", "people", "takes_task", "read"}
    assert {each.name for each in fields(OptionProtocol)} - own == {each.name for each in fields(ProtocolOptions)}
    assert not {each.name for each in fields(ProtocolOptions)} & {each.name for each in fields(Screen)}
