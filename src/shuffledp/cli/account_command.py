"""The commands that account without any data: `account` and `calibrate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.options import (
    Categories,
    Delta,
    Epsilon0,
    Honest,
    Json,
    Kind,
    LocalDelta,
    Matrix,
    Published,
    TaskOrOptions,
    Users,
    show_result,
)

if TYPE_CHECKING:
    from shuffledp.accounting import Examination

_ENDINGS = (".html", ".svg", ".png")


def account(
    task: TaskOrOptions = None,
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
    from shuffledp.accounting import examine
    from shuffledp.cli.protocol_options import Asked
    from shuffledp.core.validate import one_of
    from shuffledp.documents.account_document import account_document

    asked = Asked(
        task=task,
        randomizer=randomizer,
        epsilon0=epsilon0,
        users=users,
        delta=delta,
        categories=categories,
        channel=channel,
        local_delta=local_delta,
    )
    if figure is not None:
        one_of(_ENDINGS, figure=figure.suffix.lower())
    found = examine(
        asked.model(),
        delta=asked.remainder(),
        releases=releases,
        orders=_orders(renyi),
        honest_fraction=honest_fraction,
        published_only=published_only,
        with_theorems=table,
    )
    if figure is not None:
        _draw(found, figure, published_only=published_only)
    show_result(found, lambda: account_document(found), as_json=json)


def _orders(renyi: str | None) -> tuple[float, ...]:
    """The orders of an option such as "2,8,32"."""
    from shuffledp.core.errors import InvalidParameterError

    if renyi is None:
        return ()
    try:
        return tuple(sorted({float(order) for order in renyi.split(",")}))
    except ValueError:
        raise InvalidParameterError(
            f"--renyi must be orders with commas between them, such as 2,8,32; got renyi={renyi!r}."
        ) from None


def _draw(found: "Examination", figure: Path, *, published_only: bool) -> None:
    """All theorems together as a page or a picture, the same for the same numbers."""
    from shuffledp.documents.account_document import figure_of
    from shuffledp.files.writing import new_file

    with new_file(figure) as file:
        file.write_bytes(figure_of(found, figure.suffix.lower(), published_only=published_only))


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
    from shuffledp.cli.protocol_options import Asked
    from shuffledp.core.errors import InvalidParameterError
    from shuffledp.documents.account_document import calibration_document
    from shuffledp.planning import calibrate as calibration

    asked = Asked(
        randomizer=randomizer, epsilon0=epsilon0, users=users, delta=delta, categories=categories,
        local_delta=local_delta,
    )  # fmt: skip
    wanted: dict[str, Any] = {
        "target_epsilon": target_epsilon,
        "delta": asked.remainder(),
        "randomizer": asked.kind,
        "honest_fraction": honest_fraction,
        "published_only": published_only,
        **asked.parameters,
    }
    if users is not None and epsilon0 is None:
        solved = calibration.epsilon0(num_users=users, **wanted)
    elif epsilon0 is not None and users is None:
        solved = calibration.num_users(epsilon0=epsilon0, **wanted)
    else:
        raise InvalidParameterError(
            "either --users N must be given (to find the largest epsilon0) or --epsilon0 E (to find the fewest "
            f"users); got {'neither' if users is None else 'both'}."
        )
    show_result(solved, lambda: calibration_document(solved), as_json=json)
