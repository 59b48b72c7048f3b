"""The options of the commands that account without data: `account` and `calibrate`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["account", "calibrate"]

Kind = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="ldp (any randomizer of loss epsilon0; the default), k-rr, laplace, oue, ..."),
]
Epsilon0 = Annotated[float | None, typer.Option(help="Local privacy loss of one report, in nats.")]
Users = Annotated[int | None, typer.Option(help="How many people take part.")]
Delta = Annotated[float | None, typer.Option(help="The remainder, such as 1e-6.")]
Categories = Annotated[int | None, typer.Option(help="How many answers there are, for randomizers of categories.")]
Matrix = Annotated[
    Path | None, typer.Option(metavar="matrix.csv", help="A finite randomizer: a row of probabilities for each input.")
]
LocalDelta = Annotated[float | None, typer.Option(help="Local remainder, of any randomizer of loss epsilon0.")]
Honest = Annotated[float, typer.Option(help="Share of the people who do not collude with the analyst.")]
Published = Annotated[bool, typer.Option("--published-only", help="Leave out what only this project proves.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object (docs/schema.json) instead of text.")]


def account(
    task: Annotated[Path | None, typer.Argument(metavar="[TASK.toml]", help="A task, in place of options.")] = None,
    *,
    randomizer: Kind = None,
    epsilon0: Epsilon0 = None,
    users: Users = None,
    delta: Delta = None,
    categories: Categories = None,
    channel: Matrix = None,
    local_delta: LocalDelta = None,
    honest_fraction: Honest = 1.0,
    releases: Annotated[int, typer.Option(help="How often the same people take part in such a release.")] = 1,
    renyi: Annotated[str | None, typer.Option(metavar="ORDERS", help="Renyi privacy at these orders: 2,8,32.")] = None,
    table: Annotated[bool, typer.Option("--table", help="List what each theorem gives, or why it does not.")] = False,
    published_only: Published = False,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw all theorems: .html, .svg or .png, a new file.")
    ] = None,
    json: Json = False,
) -> None:
    """How much shuffling buys: the loss of everything released, from above and from below, without any data."""
    from shuffledp.cli import account_commands, account_screen
    from shuffledp.cli.protocols import Asked

    asked = Asked(
        task=task,
        randomizer=randomizer,
        epsilon0=epsilon0,
        users=users,
        delta=delta,
        categories=categories,
        channel=channel,
        local_delta=local_delta,
        honest_fraction=honest_fraction,
        published_only=published_only,
    )
    found = account_commands.account(asked, releases=releases, renyi=renyi, table=table, figure=figure)
    account_screen.show_examination(found, as_json=json)


def calibrate(
    *,
    target_epsilon: Annotated[float, typer.Option(help="The central privacy loss wanted, in nats.")],
    delta: Annotated[float, typer.Option(help="The remainder, such as 1e-6.")],
    users: Users = None,
    epsilon0: Epsilon0 = None,
    randomizer: Kind = None,
    categories: Categories = None,
    local_delta: LocalDelta = None,
    honest_fraction: Honest = 1.0,
    published_only: Published = False,
    json: Json = False,
) -> None:
    """The largest epsilon0 for a wanted loss (give --users), or the fewest users (give --epsilon0)."""
    from shuffledp.cli import account_commands, account_screen
    from shuffledp.cli.protocols import Asked

    asked = Asked(
        randomizer=randomizer,
        epsilon0=epsilon0,
        users=users,
        delta=delta,
        categories=categories,
        local_delta=local_delta,
        honest_fraction=honest_fraction,
        published_only=published_only,
    )
    account_screen.show_calibration(account_commands.calibrate(asked, target_epsilon), as_json=json)
