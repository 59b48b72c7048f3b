"""The page of a release whose statements begin with a sum over columns or releases."""

from dataclasses import replace

from report.outcomes import make_outcome
from shuffledp.report.sections.reproduction import reproduction_section
from shuffledp.report.sections.statement import statement_section
from shuffledp.statements import Trust
from shuffledp.tasks import EarlierRelease, composed_with

OTHER = "4f" * 32


def summed(*, trust=()):
    """A release that composes with an earlier one, which one operator ran."""
    outcome = make_outcome([0, 1] * 500, people={"earlier": [OTHER]})
    own = tuple(replace(each, trust=tuple(set(each.trust) - {Trust.OPERATOR} | set(trust)))
                for each in outcome.release.statements)  # fmt: skip
    headline = outcome.release.statements[0]
    earlier = EarlierRelease(
        name="first", task_sha256=OTHER, file_sha256="5e" * 32, headline=headline, local=outcome.release.statements[-1]
    )
    release = replace(outcome.release, statements=own)
    return replace(outcome, release=release, composed=composed_with(outcome.task, [earlier], own), earlier=(earlier,))


def test_the_sum_is_the_headline_of_the_page():
    outcome = summed()
    first = statement_section(outcome).context["first"]
    assert first.statement == outcome.composed[0]
    assert "task 4f4f4f4f4f4f (first) takes epsilon = " in " ".join(first.statement.remarks)


def test_how_it_was_made_is_that_of_this_release_and_names_the_files_of_the_others():
    staged = reproduction_section(summed()).context["command"]
    assert staged == ("shuffledp analyze TASK.toml", "--input VIEW", "--output DIR", "--earlier FILE")
    ran = reproduction_section(summed(trust=[Trust.OPERATOR])).context["command"]
    assert ran[0] == "shuffledp run TASK.toml"
    assert ran[-1] == "--earlier FILE"
