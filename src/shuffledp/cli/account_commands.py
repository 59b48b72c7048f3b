"""What `account` and `calibrate` do: describe the protocol, call the library once, draw the figure."""

from pathlib import Path
from typing import Any, cast

from shuffledp import calibrate as calibration
from shuffledp._validate import one_of
from shuffledp.accounting import Examination, examine
from shuffledp.cli.protocols import Asked
from shuffledp.errors import InvalidParameterError
from shuffledp.report import ENDINGS, draw_bounds
from shuffledp.tables import new_file

__all__ = ["account", "calibrate"]


def account(
    asked: Asked, *, releases: int = 1, renyi: str | None = None, table: bool = False, figure: Path | None = None
) -> Examination:
    """What is known about the protocol."""
    ending = None if figure is None else figure.suffix.lower()
    if ending is not None:
        one_of(ENDINGS, figure=ending)
    found = examine(
        asked.model(),
        delta=asked.remainder(),
        releases=releases,
        orders=_orders(renyi),
        honest_fraction=asked.honest_fraction,
        published_only=asked.published_only,
        with_theorems=table,
    )
    if figure is not None and ending is not None:
        with new_file(figure) as file:
            file.write_bytes(draw_bounds(found, ending, published_only=asked.published_only))
    return found


def calibrate(asked: Asked, target_epsilon: float) -> calibration.Calibration:
    """The parameter that was left out, of the two."""
    if (asked.users is None) == (asked.epsilon0 is None):
        given = "neither" if asked.users is None else "both"
        raise InvalidParameterError(
            "either --users N must be given (to find the largest epsilon0) or --epsilon0 E (to find the fewest "
            f"users); got {given}."
        )
    wanted: dict[str, Any] = {
        "target_epsilon": target_epsilon,
        "delta": asked.remainder(),
        "randomizer": asked.kind,
        "honest_fraction": asked.honest_fraction,
        "published_only": asked.published_only,
        **asked.parameters,
    }
    if asked.users is not None:
        return calibration.epsilon0(num_users=asked.users, **wanted)
    return calibration.num_users(epsilon0=cast(float, asked.epsilon0), **wanted)


def _orders(renyi: str | None) -> tuple[float, ...]:
    """The orders of an option such as "2,8,32"."""
    if renyi is None:
        return ()
    try:
        return tuple(sorted({float(order) for order in renyi.split(",")}))
    except ValueError:
        raise InvalidParameterError(
            f"--renyi must be orders with commas between them, such as 2,8,32; got renyi={renyi!r}."
        ) from None
