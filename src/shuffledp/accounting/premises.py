"""Hypotheses about the shape of a protocol that several theorems share, each read off the model."""

import math

from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis

__all__ = [
    "common_randomizer",
    "not_adaptive",
    "oblivious",
    "one_message_each",
    "pure_local",
    "several_users",
    "shuffled_pure_reports",
    "small_epsilon0",
    "uniform_shuffle",
]


def uniform_shuffle(model: ProtocolModel) -> Hypothesis:
    """Every order of the reports is equally likely, and nothing else about their origin is seen."""
    return Hypothesis(
        name="uniform-shuffle",
        requirement="a uniform shuffle",
        value=f"shuffler {model.shuffle.kind!r}",
        holds=model.shuffle.is_uniform,
    )


def one_message_each(model: ProtocolModel) -> Hypothesis:
    """Each user sends one message."""
    messages = model.local.num_messages
    return Hypothesis(
        name="one-message-each",
        requirement="one message per user",
        value=f"num_messages={messages}",
        holds=messages == 1,
    )


def common_randomizer(model: ProtocolModel) -> Hypothesis:
    """All users apply the same randomizer, so that a report does not tell by its form who may have sent it.

    Without it nothing need be amplified: with an alphabet of its own for each user, shuffling hides nothing.
    """
    shared = model.local.is_common
    return Hypothesis(
        name="common-randomizer",
        requirement="one randomizer for all users",
        value="the same for all" if shared else "one that depends on the user",
        holds=shared,
    )


def not_adaptive(model: ProtocolModel) -> Hypothesis:
    """No report depends on the reports before it, or on its place after the shuffle."""
    adaptive = model.local.is_adaptive
    return Hypothesis(
        name="non-adaptive",
        requirement="a randomizer that depends on nothing but the answer",
        value="one that may depend on its place and on earlier reports" if adaptive else "one that depends on it alone",
        holds=not adaptive,
    )


def oblivious(model: ProtocolModel) -> Hypothesis:
    """The shuffle does not look at the reports."""
    holds = model.shuffle.is_oblivious
    return Hypothesis(
        name="oblivious",
        requirement="a permutation drawn independently of the reports",
        value="one that is" if holds else "one that depends on them",
        holds=holds,
    )


def several_users(model: ProtocolModel) -> Hypothesis:
    """There is somebody to hide among."""
    users = model.num_users
    return Hypothesis(name="several-users", requirement="n >= 2", value=f"num_users={users}", holds=users >= 2)


def pure_local(model: ProtocolModel) -> Hypothesis:
    """The randomizer is (epsilon0, 0)-locally private with a finite epsilon0."""
    local = model.local.guarantee
    return Hypothesis(
        name="pure-local-dp",
        requirement="a randomizer with finite epsilon0 and local delta 0",
        value=f"epsilon0={local.epsilon:.6g}, local delta={local.delta:g}",
        holds=not local.is_trivial and local.delta == 0,
    )


def shuffled_pure_reports(model: ProtocolModel) -> tuple[Hypothesis, ...]:
    """What theorems that know epsilon0 alone ask for: one pure report each, of one randomizer, uniformly shuffled."""
    return (uniform_shuffle(model), one_message_each(model), pure_local(model), common_randomizer(model))


def small_epsilon0(model: ProtocolModel, *, delta: float, formula: str, exp_limit: float) -> Hypothesis:
    """Epsilon0 is at most the logarithm of ``exp_limit``, which ``formula`` spells out."""
    limit = math.log(exp_limit) if exp_limit > 0 else -math.inf
    epsilon0 = model.local.epsilon0
    value = f" = {limit:.6g}" if exp_limit > 0 else ", which no epsilon0 is for so few users"
    return Hypothesis(
        name="small-epsilon0",
        requirement=f"epsilon0 <= {formula}{value}",
        value=f"epsilon0={epsilon0:.6g} with num_users={model.num_users}, delta={delta:g}",
        holds=epsilon0 <= limit,
    )
