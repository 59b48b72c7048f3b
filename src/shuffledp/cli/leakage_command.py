"""The command `leakage`: what can be guessed about one person, without any data."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.options import (
    Categories,
    Epsilon0,
    Json,
    Matrix,
    OfColumn,
    People,
    TaskOrOptions,
    Users,
    print_json,
    show_document,
    whole,
)
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError

if TYPE_CHECKING:
    from shuffledp.core.local_models import ProtocolModel
    from shuffledp.documents.document import Document
    from shuffledp.leakage import Comparison, HouseholdLeakage, TargetExamination

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
Household = Annotated[
    int | None,
    whole("People, the target among them, who agree with a chance of --agreement; else the task's household."),
]
Agreement = Annotated[float, typer.Option(help="Chance that all of --household give the same answer.")]
_LONGEST = 100  # characters of a number
_MAY_ADD = "to which the other columns may add: the same person answers in them too."


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
    household: Household = None,
    agreement: Agreement = 1.0,
    input: People = None,  # noqa: A002
    value: OfColumn = None,
    json: Json = False,
) -> None:
    """Say what can be guessed about one person, without any data.

    Before and after seeing what is released.
    """
    from shuffledp.cli.protocol_options import OptionProtocol
    from shuffledp.documents.leakage_document import household_section, leakage_document
    from shuffledp.documents.statement_document import with_share

    _check_people(users)
    asked = OptionProtocol(
        task=task,
        randomizer="k-rr" if randomizer is None and task is None and channel is None else randomizer,
        epsilon0=epsilon0,
        users=users,
        categories=categories,
        channel=channel,
        shuffler=shuffler,
        people=input,
        value=value,
    )
    about = _about(prior, gain, method)
    is_plain = prior is None and gain == "bayes" and adversary == "uninformed"
    model, counts_right = asked.model_of_run(), gain == "bayes"
    at_home = _household(model, household, agreement, of_task=asked.household(), is_plain=is_plain)
    found = _examined(model, about, adversary=adversary, compare=compare, whole=json)

    def document() -> "Document":
        shown = leakage_document(found, asked.answers(), counts_right=counts_right)
        further = () if at_home is None else (household_section(at_home),)
        return with_share(shown, asked.share(_MAY_ADD)).followed_by(*further)

    if json:
        print_json(found.to_dict() | ({} if at_home is None else {"household": at_home.to_dict()}))
    else:
        show_document(document)


def _about(prior: str | None, gain: str, method: str) -> dict[str, Any]:
    """Prior, gain and method as the library takes them."""
    from shuffledp.core.validate import one_of
    from shuffledp.files.matrices import read_gain
    from shuffledp.leakage import METHODS

    one_of(METHODS, method=method)
    return {
        "prior": None if prior is None else _shares(prior),
        "gain": None if gain == "bayes" else read_gain(Path(gain)),
        "method": method,
    }


def _check_people(users: int | None) -> None:
    """Refuse more people than the leakage is evaluated for."""
    from shuffledp.leakage.uniform_shuffle import MOST_PEOPLE

    if users is not None and users > MOST_PEOPLE:
        raise InvalidParameterError(
            f"--users must be at most {MOST_PEOPLE:,}, beyond which what is learned is not evaluated (more people tell "
            f"less); got users={users}."
        )


def _household(
    model: "ProtocolModel", household: int | None, agreement: float, *, of_task: int | None, is_plain: bool
) -> "HouseholdLeakage | None":
    """Leakage about a person whose household answers alike; None if no household is evaluated.

    The task's household is left out where its leakage is not known; that of the option is refused there.
    """
    from shuffledp.leakage import household_leakage

    if household is None and of_task is None and agreement != 1:
        raise InvalidParameterError("--agreement must be left out without --household, the people who agree.")
    if household is not None:
        if not is_plain:
            raise InvalidParameterError("--prior, --gain and --adversary must be left out beside --household.")
        return household_leakage(model, household=household, agreement=agreement)
    if of_task is None or not is_plain:
        return None
    try:
        return household_leakage(model, household=of_task, agreement=agreement)
    except UnsupportedModelError:
        return None


def _examined(
    model: "ProtocolModel", about: dict[str, Any], *, adversary: str, compare: bool, whole: bool
) -> "TargetExamination | Comparison":
    """Examination of one person's leakage, or the comparison alone where no examination is supported.

    An unsupported examination is refused if the ``whole`` is wanted.
    """
    from shuffledp.planning.guaranteed_leakage import compare_guaranteed, examine_guaranteed

    try:
        return examine_guaranteed(model, adversary=adversary, compare=compare, **about)
    except UnsupportedModelError:
        if whole or not compare:
            raise
        return compare_guaranteed(model, **about)


def _shares(prior: str) -> list[float]:
    """The probabilities in an option such as "0.2,0.3,0.5" or "1/3,2/3"."""
    parts = [part.strip() for part in prior.split(",")]
    try:
        if max(map(len, parts)) > _LONGEST:
            raise ValueError
        return [float(Fraction(part)) if "/" in part else float(part) for part in parts]
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InvalidParameterError(
            f"--prior must be probabilities with commas between them, such as 0.2,0.3,0.5; got prior={prior!r}."
        ) from None
