"""Open answers in words: the words found, words that may be missing, and plans of both."""

from collections.abc import Iterable
from dataclasses import dataclass

from shuffledp.analyzers import WordEstimate
from shuffledp.core.text import count_of, in_digits, percent
from shuffledp.documents.blocks import DETAIL, Block, Column, Table, Text
from shuffledp.documents.plans.column_plan_document import ColumnPlanDocument
from shuffledp.documents.words import NOTHING
from shuffledp.planning.word_discovery import fakes_to_plant, least_share
from shuffledp.planning.word_plan import WordPlan
from shuffledp.survey import ColumnOutcome
from shuffledp.survey.questions.open_answer import OpenAnswer

_FOUND = "95%"
_FEWER = "Words of fewer people may be shown too, the more rarely the fewer there are: this is no least number."


@dataclass(frozen=True, slots=True)
class OpenAnswerPlan(ColumnPlanDocument):
    """Words about the plan of an open question."""

    @property
    def words(self) -> WordPlan | None:
        """Plan of an open question's words; None without such a plan."""
        plan = self.column.of_question
        return plan if isinstance(plan, WordPlan) else None

    def further(self) -> Iterable[Block]:
        """Texts of the plan: least share found, fake senders, a report by itself, and other losses."""
        plan = self.words
        if plan is None:
            return
        if plan.share is not None:
            yield Text(
                f"A word that {percent(plan.share, 'at least')} of the people write ({plan.people:,} people) is found "
                f"with a chance of {_FOUND}; the chance that any word is shown which nobody wrote is at most "
                f"{_chance(plan.alpha)}. {_FEWER}"
            )
            yield Text(_fakes(plan.fakes or 0))
        if plan.better_bits is not None and plan.better_epsilon0 is not None:
            yield Text(
                f"With prefix_bits = {plan.better_bits} and epsilon0 = {in_digits(plan.better_epsilon0, 'at least')}, "
                "which lose about as much, words of fewer people would be found."
            )
        yield Text(
            f"A report by itself holds the first {plan.first_bits} bits of the text, {_letters(plan.first_letters)}, "
            f"as they are in {percent(plan.told, 'at most')} of cases; any report tells of a text that is guessed "
            "whether it is likely. Only the shuffle hides who sent it."
        )
        rows = tuple(
            (
                in_digits(each.epsilon0, "exactly"),
                in_digits(each.epsilon, "at most"),
                f"{each.prefix_bits}",
                NOTHING if each.share is None else percent(each.share, "at least"),
            )
            for each in plan.losses
        )
        heads = (Column("epsilon0"), Column("epsilon"), Column("bits of a prefix"), Column(f"found with {_FOUND}"))
        yield Table("Words that are found, at other losses", heads, rows, titled=True, on=DETAIL)

    def advice(self) -> Text:
        """Text that no other randomizer takes open answers."""
        return Text("No other randomizer takes open answers.", on=DETAIL)


def word_sentences(outcome: ColumnOutcome) -> Iterable[str]:
    """Sentences on the meaning of a release's words, and on words that may be missing.

    None for other estimates.
    """
    estimate, question = outcome.release.estimate, outcome.column.randomizer
    if not isinstance(estimate, WordEstimate) or not isinstance(question, OpenAnswer):
        return
    people, model = outcome.model.num_senders, question.model
    share = least_share(model, people, alpha=estimate.alpha)
    yield may_be_missing(outcome)
    yield (
        f"The chance that any word is shown which nobody wrote is at most {_chance(estimate.alpha)}. All intervals "
        "together cover the shares in a population that these people are a random sample of in "
        f"{estimate.level * 100:.4g}% of all runs: they are from {count_of(estimate.num_estimating, 'report')} that "
        "chose no word."
    )
    unit = "letters" if question.code == "letters" else "bytes"
    yield (
        f"Words are as they were sent, in small letters{' without accents' * (unit == 'letters')}, and whole but for "
        f"what is beyond {question.length} {unit}."
    )
    if share is not None:
        yield _fakes(fakes_to_plant(model, people, share, alpha=estimate.alpha))
    if estimate.cut:
        yield "More than 2,000 beginnings of words were frequent at once, and the rarest were not followed."


def may_be_missing(outcome: ColumnOutcome) -> str:
    """Sentence on words that may be missing from a release; "" for other estimates."""
    estimate, question = outcome.release.estimate, outcome.column.randomizer
    if not isinstance(estimate, WordEstimate) or not isinstance(question, OpenAnswer):
        return ""
    people = outcome.model.num_senders
    share = least_share(question.model, people, alpha=estimate.alpha)
    if share is None:
        who = count_of(people, "person", "people")
        return f"These {who} are too few to count on any word: even one that all wrote may be missing."
    return (
        f"A word that about {round(share * people):,} people or more wrote is shown with a chance of {_FOUND}. {_FEWER}"
    )


def _fakes(fakes: int) -> str:
    """Sentence on the number of fake senders who can plant a word."""
    return (
        f"About {count_of(fakes, 'fake sender')} together can plant one word, and several words if they search for "
        "seeds that serve them all."
    )


def _chance(alpha: float) -> str:
    """Chance in percent, in the fewest digits."""
    return f"{100 * alpha:.4g}%"


def _letters(number: float) -> str:
    """Number of letters in words, such as "about 3 letters"."""
    return f"about {number:.2g} letter{'s' * (number != 1)}"
