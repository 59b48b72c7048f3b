import itertools
import json

import numpy as np
import pytest

import shuffledp as sdp
from contracts.siblings import ResidueRandomizer, RoundShuffler, SlotShuffler, SubmitterShuffler, SumAnalyzer
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.guarantees import CentralDP, LocalDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind, Trust, Withdrawal
from shuffledp.core.table import Table
from shuffledp.pipeline import Pipeline, Release, Transcript
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
from shuffledp.testing import RecordedSource, SeededSource

VALUES = np.repeat([0, 1, 2, 3], [500, 250, 150, 100])
BINARY = sdp.Pipeline(
    randomizer=sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
    shuffler=sdp.UniformShuffler(),
    analyzer=sdp.FrequencyAnalyzer(),
)


def pipeline(**changes) -> Pipeline:
    randomizer = sdp.KaryRandomizedResponse(epsilon0=2.0, domain_size=4)
    parts = {"randomizer": randomizer, "shuffler": sdp.UniformShuffler(), "analyzer": sdp.FrequencyAnalyzer()}
    return sdp.Pipeline(**(parts | changes))


def test_the_whole_flow_is_one_call_as_in_the_readme():
    release = pipeline().run(VALUES, delta=1e-6)
    assert isinstance(release, Release)
    assert len(release.view) == release.estimate.num_reports == 1000
    assert np.abs(release.estimate.estimate - [0.5, 0.25, 0.15, 0.1]).max() < 0.2  # nine standard errors
    assert release.statements[0].guarantee.epsilon < 2.0
    assert not release.seeded
    assert str(release.estimate)
    assert str(release.statements[0]).startswith("Whatever one person answered")


def test_statements_come_as_upper_bound_then_lower_bounds_then_local():
    statements = pipeline().run(VALUES, delta=1e-6).statements
    assert [each.kind for each in statements] == [Kind.UPPER_BOUND, Kind.LOWER_BOUND, Kind.EXACT]
    upper, lower, local = (each.guarantee for each in statements)
    assert isinstance(upper, CentralDP)
    assert isinstance(lower, CentralDP)
    assert local == LocalDP(epsilon=pipeline().randomizer.model.epsilon0)
    assert 0 < lower.epsilon <= upper.epsilon < local.epsilon
    assert upper.delta == lower.delta == 1e-6
    exact, *_, own = BINARY.run(VALUES % 2, delta=1e-6).statements  # of two answers the loss itself is known
    assert exact.kind is own.kind is Kind.EXACT


def test_without_a_shuffler_the_headline_is_the_local_loss_and_says_why():
    headline = pipeline(shuffler=sdp.IdentityShuffler()).run(VALUES, delta=1e-6).statements[0]
    assert headline.guarantee.epsilon == pipeline().randomizer.model.epsilon0
    assert any("Nothing is shuffled" in remark for remark in headline.remarks)
    assert Trust.SHUFFLER not in headline.trust


def test_whoever_runs_everything_is_trusted_and_an_analyst_alone_is_not():
    release = pipeline().run(VALUES, delta=1e-6)
    assert all(Trust.OPERATOR in each.trust for each in release.statements)
    alone = pipeline().analyze(release.view, delta=1e-6)
    assert all(Trust.OPERATOR not in each.trust for each in alone.statements)
    assert alone.estimate.rows() == release.estimate.rows()
    assert not alone.seeded


def test_the_statement_is_known_before_any_answer_is_in():
    model = ProtocolModel.from_dict(json.loads(json.dumps(pipeline().model(1000).to_dict())))
    expected = sdp.account(model, delta=1e-6).trusting(Trust.OPERATOR)
    assert pipeline().run(VALUES, delta=1e-6).statements[0] == expected


@pytest.mark.parametrize("source", [SeededSource(1), RecordedSource([3] * 5000)])
def test_a_run_that_can_be_replayed_withdraws_every_statement_and_says_so(source):
    release = BINARY.run(VALUES % 2, delta=1e-6, source=source)
    assert release.seeded
    assert len(release.statements) == 3
    assert all(each.withdrawn is Withdrawal.SEEDED for each in release.statements)
    assert all(each.guarantee.is_trivial and not each.claimed.is_trivial for each in release.statements)
    written = release.to_dict()
    assert written["seeded"] is True
    assert [each["guarantee"]["epsilon"] for each in written["statements"]] == ["inf"] * 3
    assert all(str(each).startswith("WITHDRAWN") for each in release.statements)


def test_the_same_seed_replays_the_release_and_secure_runs_differ():
    first, again, other = (pipeline().run(VALUES, delta=1e-6, source=SeededSource(seed)) for seed in (1, 1, 2))
    assert first.view.reports == again.view.reports
    assert first.to_dict() == again.to_dict()
    assert first.view != other.view
    secure = [pipeline().run(VALUES, delta=1e-6).view for _ in range(2)]
    assert secure[0] != secure[1]


def test_the_analyst_is_told_that_a_view_was_made_with_a_seed():
    view = pipeline().run(VALUES, delta=1e-6, source=SeededSource(1)).view
    assert all(each.withdrawn for each in pipeline().analyze(view, delta=1e-6, seeded=True).statements)


def test_a_release_is_written_in_the_schemas_of_estimates_and_statements():
    written = json.loads(json.dumps(pipeline().run(VALUES, delta=1e-6).to_dict(), allow_nan=False))
    assert list(written) == ["num_reports", "estimates", "statements", "seeded"]
    assert written["num_reports"] == 1000
    assert [row["target"] for row in written["estimates"]] == ["0", "1", "2", "3"]
    assert written["statements"][0]["guarantee"]["type"] == "central-dp"


def test_public_columns_reach_the_view_only_if_the_shuffler_keeps_them():
    public = Table({"region": VALUES % 3})
    assert pipeline().run(VALUES, delta=1e-6, public=public).view.label_table is None
    kept = pipeline(shuffler=sdp.IdentityShuffler()).run(VALUES, delta=1e-6, public=public)
    assert kept.view.label_table == public


@pytest.mark.parametrize("delta", [0, 1, -1e-6, 1.5, float("nan"), None])
def test_delta_is_checked_before_anything_is_drawn(delta):
    untouched = RecordedSource([])
    with pytest.raises(InvalidParameterError, match="delta must be"):
        pipeline().run(VALUES, delta=delta, source=untouched)


def test_wrong_values_and_no_values_are_refused():
    with pytest.raises(InvalidParameterError, match=r"values must be integers in range\(4\); 1 outside, first values"):
        pipeline().run([0, 4], delta=1e-6)
    with pytest.raises(InvalidParameterError, match="num_users must be"):
        pipeline().run([], delta=1e-6)


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("randomizer", sdp.UniformShuffler()),
        ("shuffler", sdp.FrequencyAnalyzer()),
        ("analyzer", sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)),
        ("shuffler", sdp.UniformShuffler),
        ("analyzer", None),
    ],
)
def test_parts_in_the_wrong_place_are_refused(part, wrong):
    with pytest.raises(InvalidParameterError, match=f"^{part} must be a {part.capitalize()}; got"):
        pipeline(**{part: wrong})


def test_a_pipeline_of_siblings_needs_no_edit_of_the_pipeline():
    randomizer = pipeline().randomizer
    for shuffler in (SlotShuffler(), SubmitterShuffler(randomizer)):
        release = pipeline(shuffler=shuffler).run(VALUES, delta=1e-6)
        assert release.statements[0].guarantee.epsilon == randomizer.model.epsilon0
        assert np.abs(release.estimate.estimate - [0.5, 0.25, 0.15, 0.1]).max() < 0.25


# ---- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1000, 999, 100])
def test_a_view_analyzed_in_parts_gives_what_it_gives_at_once_and_is_not_kept(size):
    whole = pipeline().run(VALUES, delta=1e-6)
    parts = pipeline().analyze_parts(whole.view.parts(size), delta=1e-6, trust=(Trust.OPERATOR,))
    assert parts.to_dict() == whole.to_dict()
    assert parts.view is None
    assert parts.num_reports == whole.num_reports == 1000
    assert parts.model == whole.model == pipeline().model(1000)


def test_parts_of_another_model_or_of_another_shuffle_or_no_parts_are_refused():
    view = pipeline().run(VALUES, delta=1e-6).view
    other_size = pipeline().run(VALUES[1:], delta=1e-6).view
    randomizer = sdp.KaryRandomizedResponse(epsilon0=2.1, domain_size=4)
    other_randomizer = pipeline(randomizer=randomizer).run(VALUES, delta=1e-6).view
    for other in (other_size, other_randomizer):
        with pytest.raises(InvalidParameterError, match="views must all be of one model"):
            pipeline().analyze_parts([view, other], delta=1e-6)
    with pytest.raises(InvalidParameterError, match="one part of a view or more"):
        pipeline().analyze_parts([], delta=1e-6)


# ---- simulations ----------------------------------------------------------------------------------------------------


def test_a_transcript_ties_every_row_of_the_view_to_its_report():
    transcript = pipeline().simulate(VALUES)
    assert sorted(transcript.origins.tolist()) == list(range(1000))
    assert transcript.view.reports == transcript.reports.take(transcript.origins)
    assert transcript.values.tolist() == VALUES.tolist()
    # Nearly sorted answers arrive in an order that has nothing to do with theirs: about half of the pairs are inverted.
    ascending = sum(left < right for left, right in itertools.pairwise(transcript.origins.tolist()))
    assert 350 < ascending < 650


def test_a_transcript_shows_nothing():
    transcript = pipeline().simulate([3] * 7)
    assert repr(transcript) == str(transcript) == "Transcript(7 reports; contains secrets, not shown)"
    assert not hasattr(transcript, "to_dict")
    assert not hasattr(transcript, "__dict__")
    assert isinstance(transcript, Transcript)


def test_the_view_of_a_simulation_is_like_that_of_a_run_and_holds_no_origin():
    view = pipeline().simulate(VALUES, source=SeededSource(4)).view
    assert type(view.reports) is sdp.Reports
    assert list(view.reports) == ["value"]
    assert view == pipeline().run(VALUES, delta=1e-6, source=SeededSource(4)).view


def test_what_nobody_knows_to_be_private_is_neither_called_private_nor_not_private():
    rounds = pipeline(
        randomizer=ResidueRandomizer(modulus=97, num_messages=2),
        shuffler=RoundShuffler(num_rounds=2),
        analyzer=SumAnalyzer(),
    )
    with pytest.raises(UnsupportedModelError, match="not known to be private, nor known not to be"):
        rounds.run([1, 2, 3], delta=1e-6)


def test_an_analyzer_that_is_not_for_these_reports_refuses_them():
    with pytest.raises(UnsupportedModelError, match="sums need residues; got reports of 'k-rr'"):
        pipeline(analyzer=SumAnalyzer()).run(VALUES, delta=1e-6)


def test_a_release_prints_its_estimate_and_a_line_for_each_statement():
    release = pipeline().run(VALUES, delta=1e-6)
    shown = str(release)
    assert shown.startswith(f"{release.estimate}\n\n")
    assert all(statement.in_short in shown for statement in release.statements)
    assert "print(release.statements[0]) says what" in shown
    assert "PrivacyStatement(" not in f"{release} {release.statements!r}"


@pytest.mark.parametrize("answers", [2, 7, 40])
@pytest.mark.parametrize("source", [None, SeededSource(1)])
def test_a_release_prints_on_at_most_twelve_lines(answers, source):
    many = pipeline(randomizer=sdp.KaryRandomizedResponse(epsilon0=2.0, domain_size=answers))
    release = many.run(np.arange(400) % answers, delta=1e-6, source=source)
    lines = str(release).splitlines()
    assert len(lines) <= 12
    assert all(statement.in_short in lines for statement in release.statements)
    assert lines[0].startswith(
        "WITHDRAWN: no privacy is promised" if source else "frequency, 95% intervals, 400 reports"
    )
    left_out = next((line for line in lines if "more lines: print(release.estimate)" in line), None)
    assert (left_out is None) == (answers == 2)
    if left_out:
        shown = sum(line.startswith("  ") for line in lines) - 1
        assert int(left_out.split()[1]) == answers - shown


@pytest.mark.parametrize(("randomized", "shuffled"), [(SeededSource(1), None), (None, SeededSource(1))])
def test_a_seed_in_any_piece_withdraws_the_statements_of_an_analysis(randomized, shuffled):
    reports = BINARY.randomizer.randomize([0, 1] * 500, source=randomized)
    view = BINARY.shuffler.shuffle(reports, source=shuffled)
    for release in (BINARY.analyze(view, delta=1e-6, seeded=False), BINARY.analyze_parts([view], delta=1e-6)):
        assert release.seeded is True
        assert {each.withdrawn for each in release.statements} == {"seeded"}
    fresh = BINARY.shuffler.shuffle(BINARY.randomizer.randomize([0, 1] * 500))
    assert BINARY.analyze(fresh, delta=1e-6).seeded is False


# ---- a promise for people who are not there --------------------------------------------------------------------------


@pytest.mark.parametrize("num_users", [9, 11, 10**7])
def test_a_view_of_other_people_than_its_model_says_is_refused(num_users):
    view = sdp.View(
        reports=pipeline().randomizer.randomize([0, 1, 2, 3, 0, 1, 2, 3, 0, 1]),
        shuffle=sdp.UniformShuffler().model(num_users),
    )
    with pytest.raises(InvalidParameterError, match=f"must hold {num_users} reports in all.*; got 10"):
        pipeline().analyze(view, delta=1e-6)
    edited = view.to_dict() | {"shuffle": view.shuffle.to_dict() | {"num_users": num_users}}
    with pytest.raises(InvalidParameterError, match="reports in all"):
        pipeline().analyze(sdp.View.from_dict(edited), delta=1e-6)


def test_a_part_that_is_given_twice_is_refused():
    view = pipeline().shuffler.shuffle(pipeline().randomizer.randomize(VALUES))
    with pytest.raises(InvalidParameterError, match="got 2000"):
        pipeline().analyze_parts([view, view], delta=1e-6)
    assert pipeline().analyze_parts(view.parts(300), delta=1e-6).num_reports == 1000


WALKS = {
    "all": {},
    "single": {},
    "padded": {"submissions": 3},
    "lossy": {"protocol": "all", "dropout": 0.1},
}  # some arrive, but for one time in 10^14


@pytest.mark.parametrize("name", WALKS)
def test_walks_hand_in_as_many_reports_as_their_rule_says(name):
    graph = sdp.Graph.random_regular(4, 60, SeededSource(1))
    walks = pipeline(shuffler=sdp.RandomWalkShuffler(graph=graph, num_rounds=8, **({"protocol": name} | WALKS[name])))
    view = walks.shuffler.shuffle(walks.randomizer.randomize([0, 1, 2] * 20))
    assert len(view) in view.shuffle.num_reports(1)
    assert walks.analyze(view, delta=1e-3).num_reports == len(view)
    most = {"padded": 180}.get(name, 60)
    assert view.shuffle.num_reports(1)[-1] == most
    if name != "lossy":
        part = next(view.parts(len(view) - 1))
        with pytest.raises(InvalidParameterError, match=f"must hold {most} reports in all"):
            walks.analyze(part, delta=1e-3)


def test_a_part_with_slots_that_were_there_before_is_refused():
    alone = pipeline(shuffler=CayleyShuffler(imperfection=0.5))
    parts = list(alone.shuffler.shuffle(alone.randomizer.randomize(VALUES)).parts(500))
    with pytest.raises(InvalidParameterError, match="is in two of them"):
        alone.analyze_parts([parts[0], parts[0]], delta=1e-6)
    assert alone.analyze_parts(reversed(parts), delta=1e-6).num_reports == 1000


@pytest.mark.parametrize(("rounds", "dropout", "least"), [(0, 0.3, 60), (8, 1e-9, 31), (8, 0.3, 0)])
def test_far_fewer_reports_than_get_lost_are_refused(rounds, dropout, least):
    graph = sdp.Graph.random_regular(4, 60, SeededSource(1))
    model = sdp.RandomWalkShuffler(graph=graph, num_rounds=rounds, dropout=dropout).model(60)
    assert model.num_reports(1)[0] == least
    many = sdp.Graph.random_regular(4, 20_000, SeededSource(1))
    assert sdp.RandomWalkShuffler(graph=many, num_rounds=2, dropout=0.01).model(20_000).num_reports(1)[0] > 19_000
