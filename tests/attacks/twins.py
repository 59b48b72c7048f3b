"""Pipelines that do not do what they say, for audits to find; and claims that were enumerated, not proven."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.core.flow import Reports
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.statement_terms import Basis, Kind
from shuffledp.core.statements import PrivacyStatement
from shuffledp.laws import sample_mallows_blocks
from shuffledp.pipeline import Pipeline
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffler
from shuffledp.randomizers import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from soundness.exact_deltas import binary_laws_of_others, laws_of_others, worst_delta


class TooTruthful:
    """k-RR whose threshold for the truth is ``excess`` too high, under the model of the honest one."""

    def __init__(self, *, epsilon0: float, domain_size: int, excess: float = 0.2) -> None:
        self.model = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=domain_size)
        truth = round(self.model.truth_words * (1 + excess))
        share = (2**64 - truth) // (domain_size - 1)
        self.real = KaryRandomizedResponse.from_model(KaryRandomizedResponseModel(domain_size=domain_size, share=share))

    def randomize(self, values, *, source=None):
        return Reports(self.real.randomize(values, source=source).columns, self.model)


class InArrivalOrder(UniformShuffler):
    """Says that it shuffles, and releases reports in the order in which they came."""

    def shuffle(self, reports, *, public=None, source=None):
        view = super().shuffle(reports, public=public, source=source)
        object.__setattr__(view, "reports", reports)  # past the constructor, which would permute them
        return view


class UnderNames(UniformShuffler):
    """Says that it shuffles, and leaves the sender's number beside each report."""

    def shuffle(self, reports, *, public=None, source=None):
        return IdentityShuffler().shuffle(reports, public=public, source=source)


class MostLost(UniformShuffler):
    """Says that it shuffles everybody's reports, and loses those of all but the first few."""

    def shuffle(self, reports, *, public=None, source=None):
        return super().shuffle(reports.take(slice(0, 3)), public=public, source=source)


def pipeline(randomizer=None, shuffler=None, *, epsilon0=1.0, domain_size=2) -> Pipeline:
    randomizer = randomizer or KaryRandomizedResponse(epsilon0=epsilon0, domain_size=domain_size)
    return Pipeline(randomizer=randomizer, shuffler=shuffler or UniformShuffler(), analyzer=FrequencyAnalyzer())


def exact_central_claim(model, num_users: int, delta: float) -> PrivacyStatement:
    """The least epsilon that is true at this delta, from the enumeration of all data sets; rounded up."""
    channel = model.channel().matrix
    laws = binary_laws_of_others if channel.shape == (2, 2) else laws_of_others
    others = list(laws(channel, num_users - 1))

    def excess(epsilon: float) -> float:
        return worst_delta(channel, iter(others), np.array([epsilon]))[0] - delta

    epsilon = 0.0 if excess(0.0) <= 0 else brentq(excess, 0.0, model.epsilon0, xtol=1e-9) + 1e-8
    return PrivacyStatement(
        guarantee=CentralDP(epsilon=epsilon, delta=delta),
        kind=Kind.EXACT,
        basis=Basis(theorem="enumerated", citation="all data sets"),
    )


class NoNoise(SplitAndMix):
    """Split and mix whose shares of noise are missing, under the model of the honest one."""

    def randomize(self, values, *, source=None):
        silent = SplitAndMix.from_model(replace(self.model, epsilon=100.0))  # e^-25 of all shares are not 0
        return Reports(silent.randomize(values, source=source).columns, self.model, seeded=True)


class TwoShares(SplitAndMix):
    """Splits into two shares, and sends zeros in all further rounds."""

    def randomize(self, values, *, source=None):
        real = SplitAndMix.from_model(replace(self.model, num_shares=2)).randomize(values, source=source)
        residues = np.zeros((len(np.atleast_1d(values)), self.num_messages), dtype=real["residue"].dtype)
        residues[:, :2] = real["residue"].reshape(-1, 2)
        rounds = np.tile(np.arange(self.num_messages), len(residues))
        return Reports({"residue": residues.reshape(-1), "round": rounds}, self.model, seeded=True)


class _Kept(CayleyShuffler):
    """One order, drawn once."""

    order = None

    def draw(self, num_users, *, source=None):  # noqa: ARG002
        return self.order


class SameOrderInEveryRound(ParallelShuffler):
    """Draws the order of the first round, and keeps it."""

    def _order(self, num_users, source):
        return self.shuffler.draw(num_users, source=source)

    def shuffle(self, reports, *, public=None, source=None):
        kept = _Kept(imperfection=self.shuffler.imperfection)
        object.__setattr__(kept, "order", self._order(reports.num_users, source))
        return ParallelShuffler(kept, self.num_rounds).shuffle(reports, public=public, source=source)


class RoundsInArrivalOrder(SameOrderInEveryRound):
    """Does not shuffle any round."""

    def _order(self, num_users, source):  # noqa: ARG002
        return np.arange(num_users)


class OneRoundEarly(RandomWalkShuffler):
    """Lets people hand in what they hold one round before the end."""

    def walk(self, *, source=None):
        return sample_walks(
            self.ways,
            self.num_rounds - 1,
            laziness=self.laziness,
            dropout=self.dropout,
            source=source,
        )


class EmptyHands(RandomWalkShuffler):
    """Says "single", and hands in nothing where a person holds nothing."""

    def hand_in(self, reports, holders, *, public=None, source=None):
        view = super().hand_in(reports, holders, public=public, source=source)
        kept = np.isin(view.labels, holders)
        object.__setattr__(view, "labels", view.labels[kept])
        object.__setattr__(view, "reports", view.reports.take(np.flatnonzero(kept)))
        return view


class TooConcentrated(MallowsShuffler):
    """Draws with a concentration that is ``excess`` too large."""

    excess = 0.2

    def rank_parts(self, *, source=None):
        prepared = self.prepare()
        parameters = prepared.parameters * (1 + self.excess)
        yield sample_mallows_blocks(np.diff(prepared.starts), parameters, distance=self.distance, source=source)


def walking(shuffler=RandomWalkShuffler, *, graph, epsilon0=1.0, protocol="single", **options) -> Pipeline:
    """Binary randomized response that walks."""
    randomizer = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2)
    dummies = None if protocol == "all" else randomizer
    walks = shuffler(graph=graph, protocol=protocol, dummies=dummies, **options)
    return Pipeline(randomizer=randomizer, shuffler=walks, analyzer=FrequencyAnalyzer())


class InOneOrder(UniformShuffler):
    """Says that it shuffles, and puts reports out in an order that is always the same.

    Args:
        order: from people to their order: the person in each row.
    """

    def __init__(self, order):
        self.order = order

    def shuffle(self, reports, *, public=None, source=None):
        view = super().shuffle(reports, public=public, source=source)
        object.__setattr__(view, "reports", reports.take(self.order(len(reports))))  # past the constructor
        return view


class LastStays(InOneOrder):
    """Shuffles all but the last person: a loop that ends one step early."""

    def __init__(self):
        self.draw = np.random.default_rng(1)

    def order(self, people):
        return np.append(self.draw.permutation(people - 1), people - 1)


class LastIsPutBack(CayleyShuffler):
    """An imperfect shuffle, after which the last person's report is put back where it was."""

    def draw(self, num_users, *, source=None):
        order = np.array(super().draw(num_users, source=source))
        place = int(np.flatnonzero(order == num_users - 1)[0])
        order[place], order[-1] = order[-1], num_users - 1
        return order
