"""The command that says what can be guessed about one person: `leakage`."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.options import Categories, Epsilon0, Json, Matrix, People, TaskOrOptions, Users, show_result
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError

if TYPE_CHECKING:
    from shuffledp.core.local_models import ProtocolModel
    from shuffledp.leakage import Comparison, TargetExamination

Categorical = Annotated[
    str | None, typer.Option(metavar="KIND", help="k-rr (the default), oue, sue, ...: a randomizer of categories.")
]
Shuffler = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="uniform (the default), none, imperfect:GAMMA (the worst), mallows:CONCENTRATION (Kendall's distance; "
        "also mallows-hamming and mallows-cayley).",
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(metavar="SHARES", help="How likely each answer is: 0.2,0.3,0.5 or 1/2,1/2; uniform if left out."),
]
Adversary = Annotated[
    str, typer.Option(help="uninformed (knows the prior), or strong (knows everybody else's answer).")
]
Gain = Annotated[
    str, typer.Option(metavar="bayes|FILE", help="bayes counts right guesses; a CSV file: a row of worths per guess.")
]
Method = Annotated[
    str,
    typer.Option(
        help="auto; quick (less effort); enumeration, max-load, convolution (two guesses); estimates: gaussian (two "
        "guesses), monte-carlo."
    ),
]
_LONGEST = 100  # characters of a number


def leakage(
    task: TaskOrOptions = None,
    *,
    randomizer: Categorical = None,
    epsilon0: Epsilon0 = None,
    users: Users = None,
    categories: Categories = None,
    channel: Matrix = None,
    shuffler: Shuffler = None,
    prior: Prior = None,
    adversary: Adversary = "uninformed",
    gain: Gain = "bayes",
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare shuffling only, randomizing only, and both, at equal error.")
    ] = False,
    method: Method = "auto",
    input: People = None,  # noqa: A002
    value: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="For a task of several private columns: which one.")
    ] = None,
    json: Json = False,
) -> None:
    """What can be guessed about one person, before and after seeing what is released, without any data."""
    from shuffledp.cli.protocol_options import Asked
    from shuffledp.core.validate import one_of
    from shuffledp.documents.leakage_document import leakage_document
    from shuffledp.files.matrices import read_gain
    from shuffledp.leakage import METHODS
    from shuffledp.leakage.uniform_shuffle import MOST_PEOPLE

    one_of(METHODS, method=method)
    asked = Asked(
        task=task,
        randomizer="k-rr" if randomizer is None and task is None and channel is None else randomizer,
        epsilon0=epsilon0,
        users=users,
        categories=categories,
        channel=channel,
        shuffler=shuffler,
        people=input,
        column=value,
    )
    if users is not None and users > MOST_PEOPLE:
        raise InvalidParameterError(
            f"--users must be at most {MOST_PEOPLE:,}, beyond which what is learned is not evaluated (more people tell "
            f"less); got users={users}."
        )
    about: dict[str, Any] = {
        "prior": None if prior is None else _shares(prior),
        "gain": None if gain == "bayes" else read_gain(Path(gain)),
        "method": method,
    }
    found = _examined(asked.model_of_run(), about, adversary=adversary, compare=compare, whole=json)
    counts_right = gain == "bayes"
    show_result(found, lambda: leakage_document(found, asked.answers(), counts_right=counts_right), as_json=json)


def _examined(
    model: "ProtocolModel", about: dict[str, Any], *, adversary: str, compare: bool, whole: bool
) -> "TargetExamination | Comparison":
    """What the protocol tells about one person; unless ``whole``, the comparison alone where the rest is refused."""
    from shuffledp.planning.guaranteed_leakage import compare_guaranteed, examine_guaranteed

    try:
        return examine_guaranteed(model, adversary=adversary, compare=compare, **about)
    except UnsupportedModelError:
        if whole or not compare:
            raise
        return compare_guaranteed(model, **about)


def _shares(prior: str) -> list[float]:
    """Of an option such as "0.2,0.3,0.5" or "1/3,2/3"."""
    parts = [part.strip() for part in prior.split(",")]
    try:
        if max(map(len, parts)) > _LONGEST:
            raise ValueError
        return [float(Fraction(part)) if "/" in part else float(part) for part in parts]
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InvalidParameterError(
            f"--prior must be probabilities with commas between them, such as 0.2,0.3,0.5; got prior={prior!r}."
        ) from None
