"""The commands about losses that need no data: `account` and `calibrate`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.options import (
    Categories,
    Epsilon0,
    Honest,
    Json,
    Kind,
    LocalDelta,
    ProtocolOptions,
    Published,
    TaskOrOptions,
    Users,
    show_result,
    whole,
)
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.accounting import Examination, Theorem
    from shuffledp.cli.protocol_options import OptionProtocol
    from shuffledp.core.local_models import LocalModel, ProtocolModel
    from shuffledp.documents.document import Document, Section
    from shuffledp.planning import PeoplePlan

Figure = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw all theorems: .html or .svg, a new file.")]
Drawn = Annotated[
    str | None, typer.Option("--theorems", metavar="NAMES", help="Promises that --figure draws: fmt21-pair,...")
]
_PART_OF_LOSS = (
    "whose loss is a part of what one person loses; `shuffledp plan` says how much that is over all columns."
)
_ENDINGS = (".html", ".svg")
_SHARPER = "`--sharp` works out bounds that take seconds, which may be less; a release and a plan state what they give."
_AT_ONCE = "Found with the bounds that are there at once; those that take seconds (`account --sharp`) may promise less."


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTheorems:
    """Options that choose which theorems are computed, listed and drawn."""

    table: Annotated[bool, typer.Option("--table", help="List what each theorem gives, or why it does not.")] = False
    published_only: Published = False
    sharp: Annotated[bool, typer.Option("--sharp", help="Work out the bounds that take seconds too.")] = False
    figure: Figure = None
    theorems: Drawn = None

    def drawn(self) -> "list[Theorem]":
        """Theorems to draw; refuses, before any computing, wrong names, an unknown ending, and a file that exists."""
        from shuffledp.accounting import SHARP_THEOREMS, THEOREMS
        from shuffledp.core.statement_terms import Status
        from shuffledp.core.validate import one_of

        if self.figure is None:
            if self.theorems is not None:
                raise InvalidParameterError(
                    f"--theorems must be left out without --figure; got theorems={self.theorems!r}."
                )
            return []
        one_of(_ENDINGS, figure=self.figure.suffix.lower())
        if self.figure.exists():
            raise InvalidParameterError(f"--figure must be a file that does not exist yet; got {str(self.figure)!r}.")
        known = [
            each
            for each in (SHARP_THEOREMS if self.sharp else THEOREMS)
            if not (self.published_only and each.kind.promises and each.status is Status.OWN_PROOF)
        ]
        if self.theorems is None:
            return known
        wanted, ids = self.theorems.split(","), [each.id for each in known if each.kind.promises]
        costly = {each.id for each in SHARP_THEOREMS if each.is_costly and not (self.sharp or self.published_only)}
        for name in wanted:
            if name in costly:
                raise InvalidParameterError(
                    f"--theorems must be promises that are there at once; {name!r} takes seconds: add --sharp."
                )
            one_of(ids, theorems=name)
        return [each for each in known if each.id in wanted or not each.kind.promises]


def account(
    task: TaskOrOptions = None,
    *,
    protocol: ProtocolOptions,
    honest_fraction: Honest = 1.0,
    releases: Annotated[int, whole("How often the same people take part in such a release.")] = 1,
    renyi: Annotated[str | None, typer.Option(metavar="ORDERS", help="Renyi privacy at these orders: 2,8,32.")] = None,
    shown: ShownTheorems,
    json: Json = False,
) -> None:
    """Say how much shuffling buys, without any data.

    That is the loss of everything released, from above and from below.
    """
    from shuffledp.accounting import examine
    from shuffledp.cli.protocol_options import OptionProtocol
    from shuffledp.documents.account_document import account_document
    from shuffledp.documents.blocks import Role, told
    from shuffledp.documents.document import Section
    from shuffledp.documents.statement_document import with_share

    asked = OptionProtocol.of(protocol, task)
    figure, drawn = shown.figure, shown.drawn()
    found = examine(
        asked.model(),
        delta=asked.remainder(),
        releases=releases,
        orders=_orders(renyi),
        honest_fraction=honest_fraction,
        published_only=shown.published_only,
        sharp=shown.sharp,
        with_theorems=shown.table,
    )
    if figure is not None:
        _draw(found, figure, drawn)
    named = () if figure is None else told(f"Figure: {figure}", role=Role.PATH)
    remark = "" if shown.published_only else _about_sharp(found, sharp=shown.sharp)
    files = Section(anchor="files", title="Files", blocks=(*told(remark), *named))

    def document() -> "Document":
        return with_share(account_document(found), asked.share(_PART_OF_LOSS)).followed_by(files)

    show_result(found, document, as_json=json)


def _about_sharp(found: "Examination", *, sharp: bool) -> str:
    """Remark that slow bounds may promise a smaller loss, or why they cannot; "" if there is none."""
    from shuffledp.accounting import may_be_sharper, why_not_sharper

    share = found.delta / found.releases
    if not sharp:
        return _SHARPER if may_be_sharper(found.counted, delta=share) else ""
    reason = why_not_sharper(found.counted, delta=share)
    each = f" for each of {found.releases} releases" if found.releases > 1 else ""
    return f"`--sharp` adds nothing: the swap bound does not apply ({reason}{each})." if reason else ""


def _orders(renyi: str | None) -> tuple[float, ...]:
    """The orders in an option such as "2,8,32"."""
    if renyi is None:
        return ()
    try:
        return tuple(sorted({float(order) for order in renyi.split(",")}))
    except ValueError:
        raise InvalidParameterError(
            f"--renyi must be orders with commas between them, such as 2,8,32; got renyi={renyi!r}."
        ) from None


def _draw(found: "Examination", figure: Path, theorems: "list[Theorem]") -> None:
    """Write theorems together as a page or a picture; equal numbers give equal files."""
    from shuffledp.documents.account_document import figure_of
    from shuffledp.files.writing import new_file

    with new_file(figure) as file:
        file.write_bytes(figure_of(found, figure.suffix.lower(), theorems=theorems))


def calibrate(
    *,
    delta: Annotated[float, typer.Option(help="The remainder, such as 1e-6.")],
    target_epsilon: Annotated[float | None, typer.Option(help="The central privacy loss wanted, in nats.")] = None,
    target_error: Annotated[
        float | None, typer.Option(help="Half-width of 95% intervals wanted, such as 0.02: how many users it takes.")
    ] = None,
    users: Users = None,
    epsilon0: Epsilon0 = None,
    randomizer: Kind = None,
    categories: Categories = None,
    local_delta: LocalDelta = None,
    honest_fraction: Honest = 1.0,
    published_only: Published = False,
    json: Json = False,
) -> None:
    """Find the epsilon0, or the fewest users, for a wanted loss.

    The largest epsilon0 (give --users), or the fewest users (give --epsilon0); with --target-error, the fewest users
    whose intervals are so narrow (give --epsilon0, or --target-epsilon).
    """
    from shuffledp.cli.protocol_options import OptionProtocol
    from shuffledp.documents.account_document import calibration_document
    from shuffledp.documents.plans.plan_document import people_document
    from shuffledp.planning import calibrate as calibration

    asked = OptionProtocol(
        randomizer=randomizer, epsilon0=epsilon0, users=users, delta=delta, categories=categories,
        local_delta=local_delta, takes_task=False,
    )  # fmt: skip
    if target_error is not None:
        if users is not None or (epsilon0 is None) == (target_epsilon is None):
            raise InvalidParameterError(
                "beside --target-error either --epsilon0 or --target-epsilon must be given, and --users left out: they "
                "are what is found."
            )
        needed, model = _needed(asked, target_error, target_epsilon, honest_fraction, published_only=published_only)
        show_result(needed, lambda: people_document(needed).followed_by(_found_at_once(model, delta)), as_json=json)
        return
    if target_epsilon is None:
        raise InvalidParameterError("--target-epsilon or --target-error must be given; got neither.")
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

    def document() -> "Document":
        sections = () if published_only else (_found_at_once(solved.found.counted, delta),)
        return calibration_document(solved).followed_by(*sections)

    show_result(solved, document, as_json=json)


def _found_at_once(model: "ProtocolModel", delta: float) -> "Section":
    """Remark that slow bounds were left out; empty if these cannot promise a smaller loss."""
    from shuffledp.accounting import may_be_sharper
    from shuffledp.documents.blocks import told
    from shuffledp.documents.document import Section

    remark = _AT_ONCE if may_be_sharper(model, delta=delta) else ""
    return Section(anchor="files", title="Files", blocks=told(remark))


def _needed(
    asked: "OptionProtocol", half_width: float, target: float | None, honest_fraction: float, *, published_only: bool
) -> "tuple[PeoplePlan, ProtocolModel]":
    """Plan of the people needed for a wanted error without a task, and the protocol of its best option."""
    from shuffledp.core.local_models import FrequencyModel, MeanModel, ProtocolModel
    from shuffledp.planning import PeoplePlan, fewest_people, people_for
    from shuffledp.randomizers import model_of_kind
    from shuffledp.shufflers import UniformShuffleModel

    if honest_fraction != 1 or published_only:
        raise InvalidParameterError("--honest-fraction and --published-only must be left out beside --target-error.")

    def family(epsilon0: float) -> "LocalModel":
        return model_of_kind(asked.kind, epsilon0=epsilon0, **asked.parameters)

    model = family(1.0 if asked.epsilon0 is None else asked.epsilon0)  # refuses missing parameters in every case
    if not isinstance(model, FrequencyModel | MeanModel):
        raise InvalidParameterError(
            "--randomizer must be named beside --target-error, since the error depends on it (such as k-rr "
            f"with --categories 2); nothing is known of {asked.kind!r}."
        )
    wanted: dict[str, Any] = {"half_width": half_width, "delta": asked.remainder()}
    if target is None:
        options: tuple[Any, ...] = (people_for(model, **wanted),)
    else:
        options = fewest_people({asked.kind: family}, target_epsilon=target, **wanted)
    plan = PeoplePlan(half_width=half_width, target_epsilon=target, options=options)
    best = plan.options[0]
    return plan, ProtocolModel(local=family(best.epsilon0), shuffle=UniformShuffleModel(num_users=best.num_users))
