"""The options of `leakage`: what can be guessed about one person."""

from pathlib import Path
from typing import Annotated

import typer

from shuffledp.cli.account_app import Categories, Epsilon0, Json, Matrix, Users

__all__ = ["leakage"]

Kind = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="k-rr (the default), oue, sue, hadamard, subset, as far as written out."),
]
People = Annotated[
    Path | None, typer.Option(help="For a task with [groups]: a table of the people with their public columns.")
]
Column = Annotated[str | None, typer.Option(metavar="COLUMN", help="For a task of several private columns: which one.")]


def leakage(
    task: Annotated[Path | None, typer.Argument(metavar="[TASK.toml]", help="A task, in place of options.")] = None,
    *,
    randomizer: Kind = None,
    epsilon0: Epsilon0 = None,
    users: Users = None,
    categories: Categories = None,
    channel: Matrix = None,
    shuffler: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="uniform (the default), none, imperfect:GAMMA (the worst), mallows:CONCENTRATION (Kendall's distance; "
            "also mallows-hamming and mallows-cayley).",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(metavar="SHARES", help="How likely each answer is: 0.2,0.3,0.5 or 1/2,1/2; uniform if left out."),
    ] = None,
    adversary: Annotated[
        str, typer.Option(help="uninformed (knows the prior), or strong (knows everybody else's answer).")
    ] = "uninformed",
    gain: Annotated[
        str,
        typer.Option(metavar="bayes|FILE", help="bayes counts right guesses; a CSV file: a row of worths per guess."),
    ] = "bayes",
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare shuffling only, randomizing only, and both, at equal error.")
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            help="auto; quick (less effort); enumeration, max-load, convolution (two guesses); "
            "estimates: gaussian (two guesses), monte-carlo."
        ),
    ] = "auto",
    input: People = None,  # noqa: A002
    value: Column = None,
    json: Json = False,
) -> None:
    """What can be guessed about one person, before and after seeing what is released, without any data."""
    from shuffledp.cli import leakage_commands, leakage_screen
    from shuffledp.cli.protocols import Asked

    kind = "k-rr" if randomizer is None and task is None and channel is None else randomizer
    asked = Asked(
        task=task,
        randomizer=kind,
        epsilon0=epsilon0,
        users=users,
        categories=categories,
        channel=channel,
        shuffler=shuffler,
        people=input,
        column=value,
    )
    found = leakage_commands.leakage(
        asked, prior=prior, adversary=adversary, gain=gain, compare=compare, method=method, whole=json
    )
    leakage_screen.show_leakage(found, asked.answers(), counts_right=gain == "bayes", as_json=json)
