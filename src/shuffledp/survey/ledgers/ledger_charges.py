"""Charges in a privacy ledger: of a task in the worst case, and of a release by its people."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shuffledp.accounting.gaussian_charges import charge_of, pure_charge
from shuffledp.core.errors import InvalidParameterError, ShuffleDPError, UnsupportedModelError
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.sum_models import GaussianShareModel
from shuffledp.shufflers import IdentityShuffleModel
from shuffledp.survey.budget import pair_of
from shuffledp.survey.columns import Column
from shuffledp.survey.earlier import EarlierRelease
from shuffledp.survey.ledgers.ledger_lines import Charge
from shuffledp.survey.task import Task


@dataclass(frozen=True, slots=True)
class Loss:
    """Charge of a release, its honest people, and its loss about the order inside groups."""

    charge: Charge
    people: int
    order_groups: str = ""
    order_alpha: float = 0.0


def worst_loss(task: Task, remainder: float) -> Loss:
    """Largest loss of a release of a task, before anybody is asked: with the fewest honest people.

    Where only the people who come tell the protocol, as with groups or a graph, it is what their devices guarantee by
    themselves.

    Args:
        task: the task.
        remainder: d of all its columns together.
    """
    batches = [_smallest_batch(column) for column in task.columns]
    share = remainder / len(task.columns)
    each = [_worst(column, least, share) for column, least in zip(task.columns, batches, strict=True)]
    return Loss(charge=sum(each, Charge()), people=max(min(batches) - task.people.fakes, 0))


def promised_releases(task: Task) -> int | None:
    """Number of releases that a task's promise covers; None for a promise about a single release."""
    models = [column.randomizer.randomizer().model for column in task.columns]
    return min((each.releases for each in models if _is_of_several(each)), default=None)


def loss_of_release(release: EarlierRelease, remainder: float) -> Loss:
    """Loss of a release by its own protocols, without the earlier releases that its statements count.

    Args:
        release: what its ``statement.json`` says, believed.
        remainder: d of all its columns together.
    """
    models = release.released[0].models
    if models == (pair_of(release.released[0].part.statement),):  # not borne out by its own protocols
        models = (pair_of(release.headline),)  # which counts the earlier ones again, and never too little
    claim = None if release.order is None else release.order.guarantee
    order = (
        (claim.groups_digest, claim.alpha) if isinstance(claim, DSigmaPrivacy) and not release.earlier else ("", 0.0)
    )
    return Loss(
        charge=charge_of_models(models, remainder),
        people=min(model.shuffle.num_honest for model in models),
        order_groups=order[0],
        order_alpha=order[1],
    )


def charge_of_models(models: Sequence[ProtocolModel], remainder: float) -> Charge:
    """Charge of one release of separately shuffled protocols, none charged above its local guarantee."""
    return sum((_charge(model, remainder / len(models)) for model in models), Charge())


def read_release(path: Path) -> EarlierRelease:
    """Release of a ``statement.json``; refused if the file cannot be believed.

    Raises:
        InvalidParameterError: if the file is none of a release, is withdrawn or seeded, or states less than it loses.
    """
    try:
        return EarlierRelease.read(path)
    except InvalidParameterError as error:
        raise InvalidParameterError(str(error).replace("the earlier release", "the release", 1)) from None


def _smallest_batch(column: Column) -> int:
    """Fewest people of a release, fakes included: the minimum batch, or more for the protocol's noise."""
    return max(column.release.minimum_batch, column.randomizer.least_people + column.people.fakes)


def _worst(column: Column, least: int, remainder: float) -> Charge:
    local = column.randomizer.randomizer().model
    alone = ProtocolModel(local=local, shuffle=IdentityShuffleModel(num_users=1))
    try:
        model = column.model(least)
    except ShuffleDPError:  # the public columns or the graph are missing, or so few are never released
        model = alone
    # With the remainder also where none is needed yet: the release may need it, and may lower mu alone.
    return replace(_charge(model, remainder), remainder=Charge.of(0.0, remainder).remainder)


def _is_of_several(local: LocalModel) -> bool:
    return isinstance(local, GaussianShareModel) and local.releases > 1


def _charge(model: ProtocolModel, remainder: float) -> Charge:
    """Charge of one release, also where the local model's promise covers several releases.

    Such a promise is bounded for any number of releases, and is taken for one.
    """
    if _is_of_several(model.local):
        local: Any = model.local
        model = replace(model, local=replace(local, releases=1))
    pure = model.local.guarantee
    alone = Charge.of(pure_charge(pure.epsilon), pure.delta)
    if isinstance(model.shuffle, IdentityShuffleModel):
        return alone
    try:
        shuffled = Charge.of(charge_of(model, remainder=remainder), remainder)
    except UnsupportedModelError:
        return alone
    return min(shuffled, alone, key=lambda charge: charge.squared)
