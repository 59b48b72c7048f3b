"""A ledger adds up what was reserved and released, never less, and refuses what would get past the cap."""

import itertools
import json

import pytest

from shuffledp.core.errors import BudgetExceededError, InvalidParameterError, LocalProtocolError
from shuffledp.survey.ledgers.ledger import Ledger, read_ledger
from shuffledp.survey.ledgers.ledger_lines import Charge, LedgerTerms, Released, Reserved, Voided, digest_of, line_of

AT = "2026-12-01T12:00:00Z"
TASK, OTHER = "a" * 64, "b" * 64
numbers = itertools.count()


def ledger_of(**further) -> Ledger:
    given = {"cap": 1.0, "delta": 1e-5, "releases": 10, "nonce": "0" * 32, "at": AT} | further
    return Ledger(LedgerTerms(**given), "head")


def reserved(id_, part=0.1, *, ledger, **further) -> Reserved:
    squared = int(ledger.budget.squared * part)
    given = {"name": "weekly", "task_sha256": TASK, "people": 100, "at": AT} | further
    return Reserved(id=id_, charge=Charge(squared=squared, remainder=1), **given)


def released(id_, part=0.1, *, ledger) -> Released:
    charge = Charge(squared=int(ledger.budget.squared * part), remainder=1)
    sha256 = f"{next(numbers):064x}"
    return Released(id=id_, statement_sha256=sha256, people=100, charge=charge, at=AT)


def taken(ledger, population=""):
    return round(ledger.total(population).squared / ledger.budget.squared, 6)


def test_a_release_lowers_its_reservation_and_nothing_else():
    ledger = ledger_of()
    for name in "ab":
        ledger.take(reserved(name, ledger=ledger), name)
    assert taken(ledger) == 0.2
    ledger.take(released("a", 0.04, ledger=ledger), "c")
    assert taken(ledger) == 0.14
    assert (ledger.entries["a"].state, ledger.entries["b"].state) == ("released", "reserved")


def test_a_release_above_its_reservation_is_refused_and_changes_nothing():
    ledger = ledger_of()
    ledger.take(reserved("a", ledger=ledger), "a")
    with pytest.raises(LocalProtocolError):
        ledger.take(released("a", 0.2, ledger=ledger), "b")
    assert taken(ledger) == 0.1
    assert ledger.heads == ["head", "a"]


def test_what_is_voided_counts_no_more_and_what_was_released_stays():
    ledger = ledger_of()
    ledger.take(reserved("a", ledger=ledger), "a")
    ledger.take(Voided(id="a", reason="not begun", at=AT), "b")
    assert taken(ledger) == 0
    ledger.take(reserved("b", ledger=ledger), "c")
    ledger.take(released("b", ledger=ledger), "d")
    with pytest.raises(LocalProtocolError):
        ledger.take(Voided(id="b", reason="too late", at=AT), "e")
    assert taken(ledger) == 0.1


def test_a_plan_is_used_up_by_its_own_task_at_no_further_cost():
    ledger = ledger_of()
    ledger.take(reserved("plan", 0.05, ledger=ledger, count=4), "a")
    assert taken(ledger) == 0.2
    assert ledger.planned(OTHER) is None
    for number in range(4):
        assert ledger.planned(TASK).reserved.id == "plan"
        ledger.take(reserved(str(number), 0.05, ledger=ledger, of_plan="plan"), f"r{number}")
        assert taken(ledger) == 0.2
    assert ledger.planned(TASK) is None
    with pytest.raises(LocalProtocolError):
        ledger.take(reserved("fifth", 0.05, ledger=ledger, of_plan="plan"), "x")


def test_a_plan_about_one_population_takes_no_release_about_another():
    ledger = ledger_of(populations=("north", "south"))
    ledger.take(reserved("plan", 0.05, ledger=ledger, count=4, population="north"), "a")
    assert ledger.planned(TASK) is ledger.planned(TASK, "south") is None
    assert ledger.planned(TASK, "north").reserved.id == "plan"
    for population in ("south", ""):
        with pytest.raises(LocalProtocolError):
            ledger.take(reserved("one", 0.05, ledger=ledger, of_plan="plan", population=population), "b")
    assert (taken(ledger, "north"), taken(ledger, "south")) == (0.2, 0)


def test_nothing_fits_once_the_cap_holds_no_more():
    ledger = ledger_of()
    ledger.take(reserved("made elsewhere", 1.1, ledger=ledger), "a")
    with pytest.raises(BudgetExceededError, match=r"which holds no more: .* Nothing was spent"):
        ledger.require_room(Charge(), "", "this release")


def test_a_planned_release_that_failed_can_be_tried_again():
    """Mutant: the plan forgets that one of its releases came back."""
    ledger = ledger_of()
    ledger.take(reserved("plan", 0.05, ledger=ledger, count=2), "a")
    ledger.take(reserved("first", 0.05, ledger=ledger, of_plan="plan"), "b")
    ledger.take(Voided(id="first", reason="failed", at=AT), "c")
    assert ledger.entries["plan"].left == 2
    assert taken(ledger) == 0.1


def test_the_rest_of_a_plan_can_be_given_back():
    ledger = ledger_of()
    ledger.take(reserved("plan", 0.05, ledger=ledger, count=4), "a")
    ledger.take(reserved("first", 0.05, ledger=ledger, of_plan="plan"), "b")
    ledger.take(Voided(id="plan", reason="we stop", at=AT), "c")
    assert taken(ledger) == 0.05


def test_what_does_not_fit_is_refused_and_what_just_fits_is_not():
    ledger = ledger_of()
    ledger.take(reserved("a", 0.9, ledger=ledger), "a")
    left = ledger.budget.less(ledger.total())
    ledger.require_room(left, "", "this release")
    with pytest.raises(BudgetExceededError, match=r"cap, epsilon = 1 .* 10\.00% of the budget is left"):
        ledger.require_room(left + Charge(squared=1), "", "this release")
    with pytest.raises(BudgetExceededError, match="leave no more of delta than the ledger has left"):
        ledger.require_room(Charge(remainder=ledger.budget.remainder), "", "this release")


def test_disjoint_populations_cost_each_other_nothing():
    ledger = ledger_of(populations=("north", "south"))
    ledger.take(reserved("a", 0.6, ledger=ledger, population="north"), "a")
    ledger.take(reserved("b", 0.6, ledger=ledger, population="south"), "b")
    ledger.take(reserved("c", 0.3, ledger=ledger), "c")
    assert (taken(ledger, "north"), taken(ledger, "south"), taken(ledger)) == (0.9, 0.9, 0.9)
    half = Charge(squared=ledger.budget.squared // 5)
    for population in ("north", ""):
        with pytest.raises(BudgetExceededError):
            ledger.require_room(half, population, "this release")
    with pytest.raises(InvalidParameterError, match="north, south"):
        ledger.require_room(half, "west", "this release")


def test_releases_of_one_task_are_counted_by_whom_they_are_about():
    ledger = ledger_of(populations=("north", "south"))
    for name, task, further in (
        ("a", TASK, {"population": "north"}),
        ("b", OTHER, {"population": "north"}),
        ("c", TASK, {}),  # about everybody
        ("d", TASK, {"keeps": True, "population": "south"}),
        ("e", TASK, {"count": 4, "population": "south"}),
        ("f", TASK, {"of_plan": "e", "population": "south"}),  # one of these four
        ("g", TASK, {}),
    ):
        ledger.take(reserved(name, 0.01, ledger=ledger, task_sha256=task, **further), name)
    ledger.take(Voided(id="g", reason="it failed", at=AT), "voided")  # which leaves nothing
    for number in range(2):
        ledger.take(released("d", 0.01, ledger=ledger), str(number))  # batches, each about other people
    assert [ledger.releases_of(TASK, each) for each in ("north", "south", "")] == [2, 6, 6]
    assert [ledger.releases_of(OTHER, each) for each in ("north", "south", "")] == [1, 0, 1]
    ledger.require_promised(TASK, "south", count=1, promised=7)
    with pytest.raises(BudgetExceededError, match="must be at most 7"):
        ledger.require_promised(TASK, "south", count=2, promised=7)
    ledger.take(Voided(id="e", reason="enough", at=AT), "rest")
    assert ledger.releases_of(TASK, "south") == 3


def test_batches_of_one_collection_are_about_other_people_each_and_count_once():
    ledger = ledger_of()
    ledger.take(reserved("a", ledger=ledger, keeps=True), "a")
    for number in range(3):
        ledger.take(released("a", 0.05, ledger=ledger), str(number))
    assert taken(ledger) == 0.1


def test_totals_never_fall_below_what_was_released_whatever_comes():
    ledger = ledger_of()
    for number in range(20):
        ledger.take(reserved(str(number), 0.03, ledger=ledger), f"r{number}")
        if number % 3:
            ledger.take(released(str(number), 0.02, ledger=ledger), f"s{number}")
        elif number % 2:
            ledger.take(Voided(id=str(number), reason="not begun", at=AT), f"v{number}")
        sums = [release.charge for entry in ledger.entries.values() for release in entry.releases]
        assert sum(each.squared for each in sums) <= ledger.total().squared


def test_what_may_have_been_seen_cannot_be_taken_back():
    ledger = ledger_of()
    ledger.take(reserved("a", ledger=ledger), "a")
    assert ledger.require_void("a", destroyed=True).reserved.id == "a"
    with pytest.raises(InvalidParameterError, match="reports may have been seen"):
        ledger.require_void("a", destroyed=False)
    with pytest.raises(InvalidParameterError, match="an entry of the ledger"):
        ledger.require_void("b", destroyed=True)


def chain(*events):
    terms = LedgerTerms(cap=1.0, delta=1e-5, releases=10, nonce="0" * 32, at=AT)
    lines, previous = [], ""
    for each in (terms, *events):
        lines.append(line_of(each, previous))
        previous = digest_of(lines[-1])
    return lines


def parsed(lines):
    return [json.loads(line) for line in lines]


def test_a_chain_is_read_as_it_was_written():
    ledger = ledger_of()
    lines = chain(reserved("a", ledger=ledger), released("a", 0.05, ledger=ledger))
    read = read_ledger(lines, parsed(lines))
    assert taken(read) == 0.05
    assert read.head == digest_of(lines[-1])


@pytest.mark.parametrize("change", ["edited", "left out", "in another order", "twice"])
def test_a_broken_chain_is_refused_with_the_line_where_it_breaks(change):
    ledger = ledger_of()
    lines = chain(reserved("a", ledger=ledger), reserved("b", ledger=ledger), released("a", 0.05, ledger=ledger))
    changed = {
        "edited": [lines[0], lines[1].replace(b"weekly", b"weakly"), *lines[2:]],
        "left out": [lines[0], *lines[2:]],
        "in another order": [lines[0], lines[2], lines[1], lines[3]],
        "twice": [*lines[:2], lines[1], *lines[2:]],
    }[change]
    number = {"edited": 2, "left out": 1, "in another order": 1, "twice": 2}[change]
    with pytest.raises(InvalidParameterError, match=f"line {number} was changed"):
        read_ledger(changed, parsed(changed))


@pytest.mark.parametrize(
    "bad",
    [{"cap": 0.0}, {"delta": 1.0}, {"releases": 0}, {"populations": ("a", "a")}, {"nonce": "x"}, {"version": 2}],
)
def test_terms_out_of_range_are_refused(bad):
    with pytest.raises(InvalidParameterError):
        ledger_of(**bad)


def test_charges_are_rounded_up_and_what_promises_nothing_fits_nowhere():
    assert Charge.of(0.1, 1e-10).squared >= 0.01 * 2**60
    assert Charge.of(0.1, 1e-10).remainder >= 1e-10 * 2**60
    assert not Charge.of(float("inf"), 0.0).fits(ledger_of().budget)
