"""Losses of the order over many releases: composed as pure losses, never below what responses lose; by enumeration."""

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from cli.running import shuffledp, stub_pages, write_csv, write_task
from shuffledp.accounting import compose_pure
from shuffledp.core.guarantees import DSigmaPrivacy, LocalDP
from shuffledp.core.statement_terms import Basis, Kind, Trust
from shuffledp.core.statements import Part, PrivacyStatement
from shuffledp.protocols.d_sigma import Groups, NoisySortShuffler, losses_by_size
from shuffledp.survey import EarlierRelease
from shuffledp.survey.budget import OrderShare, orders_together
from shuffledp.survey.earlier import CountedRelease
from soundness.exact_views import loss_of

BUDGET = json.loads((Path(__file__).parents[1] / "golden" / "budget.json").read_text(encoding="utf-8"))
GROUPS = {"public": ["km"], "groups": {"columns": ["km"], "radius": 2.0}}
SORT = {"shuffler": {"kind": "noisy-sort", "alpha": 0.1}, **GROUPS}


def share_of(place: int, alpha: float, delta: float = 0.0) -> OrderShare:
    """A release of which this alpha is promised."""
    guarantee = DSigmaPrivacy(alpha=alpha, groups_digest="c0ffee", delta=delta)
    basis = Basis(theorem="d-sigma-mallows", citation="a test")
    order = PrivacyStatement(guarantee=guarantee, kind=Kind.UPPER_BOUND, basis=basis, trust=(Trust.OWN_DEVICE,))
    return OrderShare(label=f"week {place}", sent=(), orders=(Part(label=f"week {place}", statement=order),))


def together(losses, *, delta=1e-6, remainder=0.0) -> PrivacyStatement:
    shares = [share_of(place, loss, remainder) for place, loss in enumerate(losses)]
    (found,), unknown = orders_together(shares, 5, delta=delta)
    assert unknown == ()
    return found


@pytest.mark.parametrize(("loss", "releases", "delta", "total"), BUDGET["pure_composed"]["rows"])
def test_orders_compose_as_pure_losses_do(loss, releases, delta, total):
    found = together([loss] * releases, delta=delta)
    assert found.guarantee.alpha == pytest.approx(total, rel=1e-6)
    assert found.guarantee.delta == delta
    assert found.basis.theorem == "adding-losses"
    assert f"only what they add up to holds: alpha = {loss * releases:g}." in str(found)


def test_a_year_of_small_losses():
    assert together([0.1] * 52).guarantee.alpha == pytest.approx(3.2412, abs=1e-4)


def test_few_large_losses_add_up_without_a_remainder():
    found = together([2.0] * 4)
    assert (found.guarantee.alpha, found.guarantee.delta) == (8.0, 0.0)
    assert found.basis.theorem == "basic-composition"


def test_remainders_of_the_parts_come_on_top():
    found = together([0.1] * 52, remainder=1e-9).guarantee
    assert found.alpha == together([0.1] * 52).guarantee.alpha
    assert found.delta == pytest.approx(1e-6 + 52e-9)


def test_losses_of_other_people_do_not_compose_even_about_groups_that_look_alike():
    shares = [share_of(1, 0.1), share_of(2, 0.1)]
    assert len(orders_together(shares, 0, delta=1e-6)[0]) == 1
    found, (unknown,) = orders_together(shares, 0, delta=1e-6, same_people=False)
    assert found == ()
    assert "week 2 may tell any of it" in unknown


@pytest.mark.parametrize(("losses", "delta"), [([0.3, 0.3], 0.05), ([0.2, 0.5, 0.2], 0.02), ([0.4] * 4, 0.1)])
def test_responses_that_lose_as_much_attain_it(losses, delta):
    """So nothing less is true of all shuffles that lose as much each."""
    laws = [(math.exp(loss) / (1 + math.exp(loss)), 1 / (1 + math.exp(loss))) for loss in losses]
    first = np.array([math.prod(choice) for choice in product(*laws)])
    second = np.array([math.prod(choice) for choice in product(*(law[::-1] for law in laws))])
    assert together(losses, delta=delta).guarantee.alpha == pytest.approx(loss_of(first, second, delta), rel=1e-6)


def test_a_composed_statement_counts_by_its_parts_unless_it_says_less():
    local = PrivacyStatement(guarantee=LocalDP(epsilon=1.0), kind=Kind.EXACT, basis=Basis(theorem="t", citation="t"))
    of = {
        "name": "t",
        "task_sha256": "5e" * 32,
        "file_sha256": "4f" * 32,
        "headline": local.to_central(),
        "local": local,
    }
    before = (CountedRelease(task_sha256="5e" * 32, statement_sha256="3a" * 32),)
    order = together([0.1] * 52)
    release = EarlierRelease(**of, earlier=before, order=order)
    assert len(release.order_share.orders) == 52
    less = replace(order, guarantee=replace(order.guarantee, alpha=order.guarantee.alpha * 0.999))
    assert len(EarlierRelease(**of, earlier=before, order=less).order_share.orders) == 1


def released(task: Path, name: str, *earlier: str) -> PrivacyStatement:
    """What a release in a folder of this name promises about the order inside groups, after others."""
    options = [each for before in earlier for each in ("--earlier", f"{before}/statement.json")]
    result = shuffledp("run", task, "--input", "people.csv", "--output", name, *options)
    assert (result.code, result.err) == (0, "")
    written = json.loads(Path(name, "statement.json").read_text())["statements"]
    found = [PrivacyStatement.from_dict(each) for each in written]
    return next(each for each in found if isinstance(each.guarantee, DSigmaPrivacy))


def test_a_chain_composes_again_from_its_parts(tmp_path, monkeypatch):
    """What the third release states is that of three losses, group by group; not of one and a composed pair."""
    stub_pages(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "people.csv", ["km", "cheated"], [[km, "Yes" if km % 3 else "No"] for km in range(30)])
    task = write_task(tmp_path, release={"delta": 0.01}, **SORT)
    own, both, three = released(task, "one"), released(task, "two", "one"), released(task, "three", "two")
    alpha = own.guarantee.alpha
    groups = Groups.from_radius(np.arange(30), 2.0)
    by_size = losses_by_size(NoisySortShuffler(groups=groups, alpha=0.1), delta=0.01, releases=3)
    assert three.guarantee.alpha == pytest.approx(max(each.alpha for each in by_size), rel=1e-3)
    assert both.guarantee.alpha < three.guarantee.alpha < compose_pure([alpha] * 3, delta=0.01) * 0.5
    assert (own.basis.theorem, three.basis.theorem) == ("d-sigma-noisy-sort", "adding-orders")
    assert sum(law.num_groups for law in own.guarantee.by_size) == 30
    assert (own.guarantee.delta, both.guarantee.delta, three.guarantee.delta) == (0.0, 0.01, 0.01)
    assert len(three.parts) == 3
    assert EarlierRelease.read(Path("two/statement.json")).order is not None

    file = Path("two/statement.json")
    data = json.loads(file.read_text())
    next(each for each in data["statements"] if each["guarantee"]["type"] == "d-sigma")["guarantee"]["alpha"] *= 0.99
    file.write_text(json.dumps(data))
    assert EarlierRelease.read(file).order is None  # less than its parts lose
