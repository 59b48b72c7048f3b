"""Each accountant of each randomizer through each shuffler: attack <= bound; and bounds fall, or rise, as they must."""

import math
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path

import mpmath
import numpy as np
import pytest

import shuffledp as sdp
from attacks.twins import exact_central_claim, pipeline
from shuffledp.accounting import account
from shuffledp.accounting.theorems.two_levels import BlanketTwoLevel
from shuffledp.attacks import audit
from shuffledp.attacks.audit_statistics import clopper_pearson, loss
from shuffledp.attacks.likelihood_scores import worst_inputs
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.testing import SeededSource
from soundness import crowds
from soundness.exact_views import loss_of, places_of, row_of, view_law
from soundness.matrix import DELTA, GROUPS, PAIRED, PEOPLE, RANDOMIZERS, SHUFFLERS, Cell
from soundness.orders import PAIRED as ORDERS
from soundness.orders import OrderCell
from soundness.page import claims_row, elsewhere
from statistical.thresholds import SIGNIFICANCE

CERTAIN = 1 - SIGNIFICANCE
SOURCE = SeededSource(7)
deep = pytest.mark.deep
PAGE = (Path(__file__).parents[2] / "docs" / "soundness.md").read_text(encoding="utf-8")


def is_stated(randomizer, shuffler):
    """Shares go through rounds, or one uniform shuffle; bits through one buffer; nothing else goes through rounds."""
    if randomizer == "split-and-mix":
        return shuffler == "uniform" or shuffler.startswith("rounds")
    if randomizer == "counted-bits":
        return shuffler in {"uniform", "strata"} or shuffler.startswith("imperfect")
    return not shuffler.startswith("rounds")


ALL = [(one, other) for one in RANDOMIZERS for other in SHUFFLERS if is_stated(one, other)]  # nothing is computed here
FEW = [pair for pair in ALL if pair[0] in {"k-rr", "split-and-mix", "counted-bits"}]


def sound(randomizer, shuffler, trials):
    """Whether no claim of the pair is refuted, and how many were held against attacks."""
    report = Cell(randomizer, shuffler).attacked(trials, confidence=CERTAIN, seed=2)
    held = [finding for finding in report.findings if finding.evidence is not None]
    assert all(finding.evidence.epsilon_lower <= finding.statement.guarantee.epsilon for finding in held)
    return not report.refuted


@pytest.mark.parametrize(("randomizer", "shuffler"), [("k-rr", other) for other in ("none", "uniform", "Mallows")])
def test_no_attack_shows_more_than_any_accountant_claims(randomizer, shuffler):
    assert sound(randomizer, shuffler, 100)


@deep
@pytest.mark.parametrize(("randomizer", "shuffler"), ALL)
def test_no_attack_shows_more_than_any_accountant_claims_in_many_trials(randomizer, shuffler):
    assert sound(randomizer, shuffler, 2000)


def test_the_same_attacks_refute_half_of_the_local_loss_where_nothing_is_shuffled():
    """So that the test above can fail."""
    cell = Cell("k-rr", "none")
    claim = replace(cell.claims[0], guarantee=CentralDP(epsilon=0.3, delta=0.05))
    object.__setattr__(cell, "claims", (claim,))
    assert cell.attacked(1000).refuted


@deep
@pytest.mark.parametrize(("randomizer", "shuffler"), ORDERS)
def test_no_attack_on_orders_shows_more_than_is_promised_about_them(randomizer, shuffler):
    cell = OrderCell(randomizer, shuffler)
    report = cell.attacked(1000, confidence=CERTAIN, seed=2)
    assert len(report.findings) == 2
    assert not report.refuted
    half = cell.claims[0].guarantee.alpha / 2
    cell.claims[0] = replace(cell.claims[0], guarantee=replace(cell.claims[0].guarantee, alpha=half / 2))
    assert shuffler.startswith("noisy") or cell.attacked(2000, confidence=CERTAIN, seed=2).refuted


# ---- the page -------------------------------------------------------------------------------------------------------


def rows_of_the_page():
    return [line for line in PAGE.splitlines() if line.count("|") == 13 and "|---" not in line][1:]


def numbers_of(row):
    """Least upper bound, exact, shown and measured; NaN where there is none."""
    cells = [cell.strip() for cell in row.split("|")]
    return [float(cells[place] or "nan") for place in (3, 7, 8, 9)]


@deep
def test_every_pair_is_in_the_matrix_or_said_to_have_no_claim():
    assert [pair for pair in PAIRED if Cell(*pair).is_stated] == ALL
    here = {claim.basis.theorem for pair in ALL for claim in Cell(*pair).claims}
    assert PAGE.count("\n## ") == 6
    assert ", ".join(f"`{name}`" for name in elsewhere(here)) in PAGE


def test_the_page_has_all_pairs_and_no_refutation():
    rows = rows_of_the_page()
    assert [tuple(row.split(" | ")[:2]) for row in rows] == [(f"| {one}", other) for one, other in ALL]
    assert all(row.endswith("| 0 |") for row in rows)
    assert "| refuted |" not in PAGE.replace("| runs | refuted |", "").replace("| closest | refuted |", "")
    for one, other in set(PAIRED) - set(ALL):
        assert f"{one} through {other}" in PAGE


@pytest.mark.parametrize("pairs", [FEW, pytest.param(ALL, marks=deep)], ids=["few", "all"])
def test_the_page_has_the_claims_of_now(pairs):
    rows = dict(zip(ALL, rows_of_the_page(), strict=True))
    for pair in pairs:
        assert rows[pair].startswith(claims_row(Cell(*pair)))


def test_on_the_page_nothing_shown_is_above_what_is_exact_and_nothing_exact_above_a_bound():
    rows = [numbers_of(row) for row in rows_of_the_page()]
    known = [row for row in rows if not math.isnan(row[1])]
    assert len(known) >= 30
    assert all(shown <= exact <= bound for bound, exact, shown, _ in known)
    assert all(shown <= bound for bound, _, shown, _ in rows if not math.isnan(shown))


# ---- equality where the attack is optimal ---------------------------------------------------------------------------


def best_event(cell, inputs):
    """The views of the event that shows most, in which data set they are likelier, and the loss that they show."""
    first, second, others = (
        row_of(cell.randomizer.model, each) for each in (inputs.first, inputs.second, inputs.others)
    )
    places = places_of(cell.shuffler_name, cell.shuffler, PEOPLE)
    laws = {"first": view_law(places, first, others), "second": view_law(places, second, others)}
    factor, found = math.exp(loss_of(*laws.values(), DELTA)), []
    for likely, other in permutations(laws):
        event = laws[likely] > factor * laws[other]
        chances = (float(laws[each][event].sum()) for each in (likely, other))
        found.append((event, likely, float(loss(*chances, delta=DELTA)) if event.any() else -math.inf))
    return max(found, key=lambda each: each[2])


def view_number(cell, inputs, which):
    """One run: the number of its view among all that the enumeration has."""
    reports = cell.randomizer.randomize(inputs.answers(which, PEOPLE), source=SOURCE)
    view = cell.shuffler.shuffle(reports, source=SOURCE)
    outputs = np.empty(PEOPLE, dtype=np.int64)
    (column,) = view.reports.columns.values()
    outputs[np.arange(PEOPLE) if view.labels is None else view.labels] = column
    return np.ravel_multi_index(outputs, (len(row_of(cell.randomizer.model, inputs.first)),) * PEOPLE)


def test_a_bound_between_the_exact_loss_and_itself_would_be_noticed():
    """What the lower bounds of accountants find is what views enumerate: neither could be off by a thousandth."""
    cell = Cell("k-rr", "uniform")
    assert cell.lower == pytest.approx(cell.exact, rel=1e-4)
    assert cell.exact < cell.claims[0].guarantee.epsilon < 1.05 * cell.exact


@pytest.mark.parametrize(
    ("randomizer", "shuffler"),
    [
        ("k-rr", "uniform"),
        ("hadamard", "uniform"),
        pytest.param("k-rr", "none", marks=deep),
    ],
)
def test_the_optimal_attack_agrees_with_the_exact_loss_from_both_sides(randomizer, shuffler):
    """Where one event shows most in many runs as in few: then the audit, which looks for what it shows, chooses it."""
    cell = Cell(randomizer, shuffler)
    mode, trials = ("statistics", 100_000) if shuffler == "uniform" else ("pipeline", 20_000)
    evidence = cell.attacked(trials, confidence=CERTAIN, seed=4, mode=mode).findings[0].evidence
    assert evidence.epsilon_lower <= cell.exact <= evidence.epsilon_upper
    assert evidence.epsilon == pytest.approx(cell.exact, rel=0.1)
    for off in (0.7, 1.3):
        assert not evidence.epsilon_lower <= off * cell.exact <= evidence.epsilon_upper


@deep
@pytest.mark.parametrize(("randomizer", "shuffler"), [("one-bit-mean", "Mallows"), ("k-rr", "imperfect (Cayley)")])
def test_the_best_event_of_the_enumeration_is_seen_as_often_as_the_exact_loss_says(randomizer, shuffler):
    """That event is rare: of few runs an audit shows more by a commoner one, whose own loss is smaller."""
    cell, runs = Cell(randomizer, shuffler), 20_000
    played = [(inputs, *best_event(cell, inputs)) for inputs in worst_inputs(cell.randomizer.model)]
    inputs, event, likely, loss_known = max(played, key=lambda each: each[3])
    assert loss_known == pytest.approx(cell.exact, rel=1e-6)
    other = {"first": "second", "second": "first"}[likely]
    counts = [sum(event[view_number(cell, inputs, which)] for _ in range(runs)) for which in (likely, other)]
    lower, upper = clopper_pearson(counts, runs, tail=SIGNIFICANCE / 4)
    least, most = loss(lower[0], upper[1], delta=DELTA), loss(upper[0], lower[1], delta=DELTA)
    assert least <= cell.exact <= most
    for off in (0.4, 1.7):
        assert not least <= off * cell.exact <= most


@pytest.mark.parametrize("people", [5, 20])
def test_the_optimal_attack_on_a_crowd_agrees_with_the_exact_loss_of_its_data_sets(people):
    """All others answer like the first person in one data set."""
    honest = pipeline(epsilon0=1.0)
    exact = crowds.exact(people, 1.0, 0.01)
    claim = replace(
        exact_central_claim(honest.randomizer.model, 2, 0.01), guarantee=CentralDP(epsilon=exact, delta=0.01)
    )
    options = {"num_users": people, "inputs": crowds.ALIKE, "mode": "statistics", "stop_early": False}
    evidence = audit(honest, claim, source=SeededSource(4), confidence=CERTAIN, **options).findings[0].evidence
    assert evidence.epsilon_lower <= exact <= evidence.epsilon_upper
    assert evidence.epsilon == pytest.approx(exact, abs=0.1 * exact + 0.01)


def test_every_accountant_of_a_crowd_is_above_the_exact_loss_and_closed_forms_are_there():
    stated = {claim.basis.theorem: claim.guarantee.epsilon for claim in crowds.claims()}
    assert {"fmt23-closed", "fmt21-closed", "efmrtt19-closed", "strong-pair"} <= set(stated)
    exact = crowds.exact()
    assert exact < min(stated.values()) < 1.2 * exact
    report = crowds.attacked(crowds.claims(), 200_000, confidence=CERTAIN, seed=3)
    assert not report.refuted
    low = [replace(claim, guarantee=CentralDP(epsilon=0.003, delta=1e-3)) for claim in crowds.claims()[:1]]
    assert crowds.attacked(low, 2_000_000, confidence=0.999, seed=3).refuted


def test_what_is_stated_of_binary_response_is_rounded_up():
    """By forty digits, on the data set where all others agree; and no more than by the ninth digit."""
    model = sdp.KaryRandomizedResponse(epsilon0=0.45, domain_size=2).model
    stated = account(ProtocolModel(local=model, shuffle=sdp.UniformShuffler().model(1000)), delta=1e-3)
    assert stated.basis.theorem == "binary-worst"
    with mpmath.workdps(40):
        truth, lie = (mpmath.mpf(each) / 2**64 for each in (2**64 - model.share, model.share))
        others = [mpmath.binomial(999, ones) * lie**ones * truth ** (999 - ones) for ones in range(1000)]
        laws = [
            [a * same + b * more for same, more in zip([*others, 0], [0, *others], strict=True)]
            for a, b in ((truth, lie), (lie, truth))
        ]
        deltas = [
            max(
                sum(max(p - mpmath.exp(epsilon) * q, 0) for p, q in zip(*pair, strict=True))
                for pair in permutations(laws)
            )
            for epsilon in (stated.guarantee.epsilon, stated.guarantee.epsilon * (1 - 2e-9))
        ]
        assert deltas[0] <= 1e-3 < deltas[1]


# ---- monotone, and limits -------------------------------------------------------------------------------------------


def stated(shuffler, *, epsilon0=1.0, num_users=100, delta=1e-3):
    local = sdp.KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).model
    return account(ProtocolModel(local=local, shuffle=shuffler.model(num_users)), delta=delta).guarantee.epsilon


def falls(values):
    return all(after <= before * (1 + 1e-9) for before, after in pairwise(values)) and values[-1] < values[0]


def complete(people):
    return sdp.Graph.from_edges([(one, other) for one in range(people) for other in range(one)])


def walking(graph, rounds, protocol="single"):
    randomizer = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    dummies = None if protocol == "all" else randomizer
    return sdp.RandomWalkShuffler(graph=graph, num_rounds=rounds, protocol=protocol, dummies=dummies)


def test_more_people_hide_better():
    assert falls([stated(sdp.UniformShuffler(), num_users=people) for people in (10, 30, 100, 1000, 10_000)])


def test_a_smaller_local_loss_is_a_smaller_loss():
    assert falls([stated(sdp.UniformShuffler(), epsilon0=loss) for loss in (4.0, 2.0, 1.0, 0.5, 0.1)])


def test_more_rounds_hide_better():
    """On a graph whose degrees are alike."""
    graph = sdp.Graph.random_regular(8, 100, source=SeededSource(1))
    assert falls([stated(walking(graph, rounds)) for rounds in (1, 2, 3, 5, 10)])


def test_a_better_shuffler_hides_better():
    imperfect = [sdp.imperfect_shuffler(imperfection=gamma) for gamma in (2.0, 1.0, 0.5, 0.1, 0.01)]
    assert falls([stated(shuffler) for shuffler in imperfect])


def test_a_smaller_alpha_is_a_smaller_loss():
    """Of orders; the swap costs of central claims go with it."""
    shufflers = [sdp.MallowsShuffler(groups=GROUPS, alpha=alpha, order=range(6)) for alpha in (4.0, 2.0, 1.0, 0.1)]
    assert falls([shuffler.model(6).d_sigma.alpha for shuffler in shufflers])
    assert falls([stated(shuffler, num_users=6, delta=0.05) for shuffler in shufflers])


def test_what_attacks_measure_falls_with_people_and_rises_with_the_local_loss():
    def measured(num_users, epsilon0):
        honest = pipeline(epsilon0=epsilon0)
        claim = replace(
            exact_central_claim(honest.randomizer.model, 1, 0.01), guarantee=CentralDP(epsilon=9.0, delta=0.01)
        )
        options = {"num_users": num_users, "mode": "statistics", "trials": 50_000, "source": SeededSource(1)}
        return audit(honest, replace(claim, guarantee=CentralDP(epsilon=6.0, delta=0.01)), **options).findings[0]

    assert falls([measured(people, 2.0).evidence.epsilon for people in (1, 3, 10, 30)])
    assert falls([measured(10, loss).evidence.epsilon for loss in (3.0, 2.0, 1.0)])


def test_one_person_and_no_shuffle_leave_the_local_loss():
    assert stated(sdp.UniformShuffler(), num_users=1) == pytest.approx(1.0)
    assert stated(sdp.IdentityShuffler()) == pytest.approx(1.0)
    assert stated(walking(complete(10), 0), num_users=10) == pytest.approx(1.0)
    assert stated(sdp.imperfect_shuffler(imperfection=50.0)) == pytest.approx(1.0)


def test_perfect_shufflers_and_many_rounds_are_the_uniform_shuffle():
    local = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
    exact = ProtocolModel(local=local, shuffle=sdp.UniformShuffler().model(100))
    uniform = BlanketTwoLevel().epsilon(exact, delta=1e-3)  # the bound that is good for other shuffles too
    assert stated(sdp.imperfect_shuffler(imperfection=1e-9)) == pytest.approx(uniform, rel=1e-4)
    assert stated(sdp.UniformShuffler()) < uniform
    assert stated(walking(complete(100), 60, "all")) == pytest.approx(stated(sdp.UniformShuffler()), rel=1e-3)
    assert math.isfinite(uniform)
