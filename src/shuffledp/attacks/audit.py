"""Audit: a test of claims by distinguishing games on the pipeline, for a lower limit of epsilon."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from shuffledp.attacks.audit_statistics import least_found, most_shown, others_of, runs_needed, trials_to_tell
from shuffledp.attacks.findings import WRONG_AT_ZERO, AuditReport, Evidence, Finding, Mode, Verdict
from shuffledp.attacks.games import (
    LOOKS,
    MOST_TRIALS,
    CentralGame,
    Game,
    LocalGame,
    RandomizerAndShuffler,
    StatisticsGame,
    has_statistics,
)
from shuffledp.attacks.likelihood_scores import NeighboringInputs
from shuffledp.attacks.place_games import RowGame, SlotGame
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Progress, Randomizer, Reports, Shuffler
from shuffledp.core.guarantees import CentralDP, DifferentialPrivacy, DSigmaPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits
from shuffledp.protocols.family import LazyMapping, LazySequence, families
from shuffledp.randomness.sources import RandomSource, resolve_source

Games = Mapping[str, type[Game]]


def _known_games() -> tuple[type[Game], ...]:
    """All kinds of games, in the order of preference for each type of guarantee."""
    of_families: list[type[Game]] = [game for family in families() for game in family.games()]
    return (*of_families, LocalGame, SlotGame, RowGame, CentralGame)


GAMES = LazySequence(_known_games)
DEFAULT_TRIALS = LazyMapping(
    lambda: {game.name: game.trials for game in GAMES} | {StatisticsGame.name: StatisticsGame.trials}
)

_TAILS = 4  # two limits of each of two probabilities
_COUNTABLE = 1e15  # largest number of runs that is written out in full
_PEOPLE = re.compile(r"\bnum_users=(\d+)")  # as hypotheses show it


def audit(
    pipeline: RandomizerAndShuffler,
    statements: PrivacyStatement | Iterable[PrivacyStatement],
    *,
    num_users: int,
    trials: int | None = None,
    confidence: float = 0.99,
    inputs: NeighboringInputs | Sequence[NeighboringInputs] = (),
    mode: str = "pipeline",
    stop_early: bool = True,
    source: RandomSource | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Audit of claims about a pipeline: attempts to refute them by attacks on runs of the pipeline itself.

    One person's answer is one of two, everybody else's is fixed, and an attacker who knows all that tells which it was:
    from that person's report for local claims, from the view for central ones. *Training* runs choose data sets, score
    (a likelihood ratio), threshold and side; *held-out* runs count how often that event comes with either answer. Exact
    binomial limits of both probabilities show an epsilon: Pr[event] <= e^epsilon Pr'[event] + delta, if it is claimed.

    Guarantees:
        1. If all claims that promise are true, all of them are called consistent (or not audited) with probability
           ``confidence`` at least, however bad the attacks are and however many claims there are.
        2. A claim that cannot be refuted by these trials, whatever came out, is not audited and never consistent.
        3. With ``mode="pipeline"`` every run is one of the pipeline's own randomizer and shuffler, and attacks see the
           report or the view and public models only. Where people collude, the walks are drawn round by round by the
           shuffler's sampler, and attacks also see what passed through the colluders' hands;
           where links have slots, they see how many messages every link carries.
        4. With ``mode="statistics"`` that is so of local claims. The views of central ones are drawn from the law that
           the models imply, by their sufficient statistics: the claim is put to the test, and the code is not.

    Args:
        pipeline: a `shuffledp.Pipeline`, or anything with its ``randomizer`` and ``shuffler``.
        statements: the claims, made for ``num_users`` people.
        num_users: people in the batch, 1 or more.
        trials: held-out runs with each of the two data sets, 2 to 10,000,000; half as many train. None is what
            ``DEFAULT_TRIALS`` has for each kind of game.
        confidence: strictly between 0 and 1; shared by all limits of all claims.
        inputs: pairs of data sets to play; if there are none, the worst ones known for the randomizer.
        mode: "pipeline", or "statistics" for a uniform shuffle of reports with few outputs, as fast for any number.
        stop_early: stop after a tenth of the held-out runs where those refute all claims; the two looks share the
            confidence.
        source: randomness; None is the cryptographic source.
        progress: told, for each type of claim in turn, how many runs are done and how many there are at most.

    Raises:
        InvalidParameterError: if an argument is out of range, a claim is about another number of people, or the
            randomizer refuses an answer in ``inputs``.
        UnsupportedModelError: if no sufficient statistics are known of the pipeline.

    References:
        Jagielski, Ullman, Oprea 2020 (lower limits of epsilon from Clopper-Pearson limits of an attack's error rates).

    Example:
        >>> from shuffledp import FrequencyAnalyzer, KaryRandomizedResponse, Pipeline, UniformShuffler
        >>> pipeline = Pipeline(
        ...     randomizer=KaryRandomizedResponse(epsilon0=1.0, domain_size=4),
        ...     shuffler=UniformShuffler(),
        ...     analyzer=FrequencyAnalyzer(),
        ... )
        >>> claims = pipeline.run([0, 1, 2, 3] * 5, delta=1e-3).statements
        >>> report = audit(pipeline, claims, num_users=20, trials=1000)
        >>> [finding.verdict.value for finding in report.findings]
        ['consistent', 'not-audited', 'consistent']
    """
    claims = (statements,) if isinstance(statements, PrivacyStatement) else tuple(statements)
    pairs = (inputs,) if isinstance(inputs, NeighboringInputs) else tuple(inputs)
    _check(pipeline, claims, pairs, num_users=num_users, trials=trials, confidence=confidence)
    pipeline = getattr(pipeline, "in_numbers", pipeline)
    validate.one_of([each.value for each in Mode], mode=str(mode))
    source = resolve_source(source)
    model = ProtocolModel(local=pipeline.randomizer.model, shuffle=pipeline.shuffler.model(num_users))
    games, looks = _games(pipeline.shuffler, model, Mode(mode)), LOOKS if stop_early else LOOKS[-1:]
    _check_people(claims, num_users, games["central-dp"].parts_of(pipeline.shuffler))
    pairs = pairs or tuple(games["central-dp"].worst_inputs(model.local))
    reports = _sampled(pipeline.randomizer, pairs, source)
    reasons = [
        _why_no_claim(claim, games) or _why_no_attack(claim, games[claim.guarantee.type], pipeline, reports)
        for claim in claims
    ]
    tail = (1 - confidence) / max(1, reasons.count("")) / _TAILS / len(looks)
    reasons = [
        reason or _why_too_few(claim, games, trials, tail) for claim, reason in zip(claims, reasons, strict=True)
    ]
    auditable = [claim for claim, reason in zip(claims, reasons, strict=True) if not reason]
    evidence: dict[tuple[str, float], Evidence] = {}
    for kind, game in games.items():
        table = game(pipeline=pipeline, num_users=num_users, source=source, progress=progress)
        found = table.attack(pairs, _claimed(auditable, kind), trials, tail, looks)
        evidence |= {(kind, delta): each for delta, each in found.items()}
    findings = [
        Finding(statement=claim, verdict=Verdict.NOT_AUDITED, reason=reason)
        if reason
        else _judged(claim, evidence[claim.guarantee.type, _delta_of(claim)], _unshuffled(claim, model), tail)
        for claim, reason in zip(claims, reasons, strict=True)
    ]
    return AuditReport(
        model=model, findings=tuple(findings), confidence=confidence, mode=Mode(mode), seeded=source.reproducible
    )


def _games(shuffler: Shuffler, model: ProtocolModel, mode: Mode) -> Games:
    """Game to play for each type of guarantee."""
    played: dict[str, type[Game]] = {}
    for game in GAMES:
        if game.guarantee not in played and game.suits(shuffler, model):
            played[game.guarantee] = game
    if mode is Mode.STATISTICS:
        _check_statistics(model)
        played[StatisticsGame.guarantee] = StatisticsGame
    return played


def _check_statistics(model: ProtocolModel) -> None:
    if not (model.shuffle.is_uniform and has_statistics(model.local)):
        raise UnsupportedModelError(
            "views can be drawn by their statistics after a uniform shuffle of categories only, by k-ary randomized "
            "response or, of few categories, by another randomizer whose chances of all reports are listed; got "
            f"{model.local.kind!r} reports in a {model.shuffle.kind!r} shuffle. Leave out --statistics "
            "(mode='statistics'): the runs are then those of the pipeline itself."
        )


def _claimed(claims: Sequence[PrivacyStatement], kind: str) -> dict[float, float]:
    """Largest claimed loss for each delta, over claims of guarantees of this type."""
    found: dict[float, float] = {}
    for claim in claims:
        if claim.guarantee.type == kind:
            found[_delta_of(claim)] = max(_loss_of(claim), found.get(_delta_of(claim), 0.0))
    return dict(sorted(found.items()))


def _check(
    pipeline: RandomizerAndShuffler,
    claims: Sequence[PrivacyStatement],
    pairs: Sequence[NeighboringInputs],
    *,
    num_users: int,
    trials: int | None,
    confidence: float,
) -> None:
    validate.instance_of(RandomizerAndShuffler, pipeline=pipeline)
    validate.integer_at_least(1, num_users=num_users)
    validate.open_probability(confidence=confidence)
    if trials is not None:
        validate.integer_at_least(2, trials=trials)
        if trials > MOST_TRIALS:
            raise validate.invalid(f"at most {MOST_TRIALS:,}, whose scores fit into memory", trials=trials)
    if not claims:
        raise validate.invalid("one PrivacyStatement or more", statements=())
    for claim in claims:
        validate.instance_of(PrivacyStatement, statements=claim)
    for pair in pairs:
        validate.instance_of(NeighboringInputs, inputs=pair)
        if pair.holders:
            raise validate.invalid("without holders, which the audit chooses", inputs=pair)
        if pair.person >= num_users:
            raise validate.invalid(f"about one of num_users={num_users} people", person=pair.person)


def _check_people(claims: Sequence[PrivacyStatement], num_users: int, parts: Sequence[int]) -> None:
    """Check that claims hold for the number of people in the game, or in one part of it.

    Their hypotheses must have been evaluated for it.
    """
    for claim in claims:
        leaves = [claim, *(part.statement for part in claim.leaves())]
        values = [hypothesis.value for leaf in leaves for hypothesis in leaf.basis.hypotheses]
        for people in {int(found) for value in values for found in _PEOPLE.findall(value)}:
            if people not in {num_users, *parts}:
                raise InvalidParameterError(
                    f"statements must be about the people in the game, num_users={num_users}; got a "
                    f"{claim.basis.theorem!r} statement about num_users={people}."
                )


def _delta_of(claim: PrivacyStatement) -> float:
    """Delta of a claim that a game can test."""
    return cast(DifferentialPrivacy | DSigmaPrivacy, claim.guarantee).delta


def _loss_of(claim: PrivacyStatement) -> float:
    """Loss of a claim that a game can test: epsilon, or alpha for orders."""
    guarantee = claim.guarantee
    return guarantee.alpha if isinstance(guarantee, DSigmaPrivacy) else cast(DifferentialPrivacy, guarantee).epsilon


def _why_no_claim(claim: PrivacyStatement, games: Games) -> str:
    """Reason why a statement promises nothing, or no game tests its type of guarantee; else ""."""
    if claim.withdrawn is not None:
        return f"The statement is withdrawn and promises nothing: {claim.withdrawn.text}."
    if claim.kind is Kind.LOWER_BOUND:
        return (
            "A lower bound promises nothing that an attack could refute: where attacks show less, a better attack or "
            "a worse data set may show more."
        )
    if not claim.kind.promises:
        return "An estimate promises nothing."
    if claim.guarantee.is_trivial:
        return "The statement promises nothing."
    if claim.guarantee.type not in games:
        return f"No game is known for guarantees of type {claim.guarantee.type!r}."
    return ""


def _sampled(
    randomizer: Randomizer, pairs: Sequence[NeighboringInputs], source: RandomSource
) -> list[tuple[NeighboringInputs, Reports]]:
    """Pairs of neighboring data sets, each with a few reports on the pair's first data set.

    Every answer is randomized once, so that a wrong one is refused.
    """
    found = []
    for pair in pairs:
        found.append((pair, randomizer.randomize(pair.answers("first", pair.person + 2), source=source)))
        randomizer.randomize(pair.answers("second", pair.person + 1), source=source)
    return found


def _why_no_attack(
    claim: PrivacyStatement,
    game: type[Game],
    pipeline: RandomizerAndShuffler,
    reports: Sequence[tuple[NeighboringInputs, Reports]],
) -> str:
    """Reason why no attack fits the randomizer or the claim; else ""."""
    unreadable = game.why_unreadable(pipeline.randomizer.model, reports)
    return unreadable or game.why_not_about(claim, pipeline.shuffler)


def _why_too_few(claim: PrivacyStatement, games: Games, trials: int | None, tail: float) -> str:
    """Reason why these trials are too few for any attack to refute the claim; else ""."""
    claimed, delta, runs = _loss_of(claim), _delta_of(claim), trials or games[claim.guarantee.type].trials
    most = most_shown(runs, delta, tail=tail)
    if most > claimed:
        return ""
    needed = runs_needed(claimed, delta, tail=tail)
    in_words = f"{math.floor(needed) + 1:,}" if needed < _COUNTABLE else in_digits(needed, "at least", digits=2)
    beyond = f", and no audit takes more than {MOST_TRIALS:,}" if needed >= MOST_TRIALS else ""
    return (
        f"Too few trials: with {runs:,} no attack, not even one that never errs, can show more than "
        f"{in_digits(most, 'at most')}. Refuting this claim takes {in_words} at least{beyond}."
    )


def _judged(claim: PrivacyStatement, evidence: Evidence, unshuffled: float, tail: float) -> Finding:
    claimed, delta, trials = _loss_of(claim), _delta_of(claim), evidence.trials
    if evidence.epsilon_lower > claimed:
        return Finding(statement=claim, verdict=Verdict.REFUTED, evidence=evidence)
    shape = others_of(evidence.true_positive_rate, evidence.false_positive_rate)
    wrong = max(2 * claimed, unshuffled) or WRONG_AT_ZERO
    return Finding(
        statement=claim,
        verdict=Verdict.CONSISTENT,
        evidence=evidence,
        detectable=least_found(claimed, trials, delta, tail=tail, others=shape),
        trials_needed=trials_to_tell(claimed, wrong, trials, delta, tail=tail),
    )


def _unshuffled(claim: PrivacyStatement, model: ProtocolModel) -> float:
    """Loss of one person in a view that reveals the person's report; 0 for claims without a view."""
    return model.local.epsilon0 if isinstance(claim.guarantee, CentralDP) else 0.0
