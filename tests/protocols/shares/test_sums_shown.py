"""The page of a release whose statements begin with a sum over columns or releases."""

from dataclasses import replace

import pytest

from documents.outcomes import make_outcome, write_page
from documents.reading import Page
from shuffledp.core.statement_terms import Trust
from shuffledp.documents.blocks import Table, Text
from shuffledp.documents.provenance_document import command_of
from shuffledp.documents.statement_document import promise_of
from shuffledp.survey import Collected, EarlierRelease, Task, composed_with

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
    return replace(
        outcome,
        release=release,
        composed=composed_with(Task(outcome.column), [earlier], own, [outcome.model]),
        earlier=(earlier,),
    )


def test_the_sum_is_the_headline_of_the_page():
    outcome = summed()
    said = " ".join(block.text for block in promise_of(outcome.statements).headline if isinstance(block, Text))
    assert said.startswith(str(outcome.composed[0]))
    assert "task 4f4f4f4f4f4f (first) takes epsilon = " in said


def test_how_it_was_made_is_that_of_this_release_and_names_the_files_of_the_others():
    staged = command_of(summed())[0]
    assert staged == ("shuffledp analyze TASK.toml", "--input VIEW", "--output DIR", "--earlier FILE")
    ran = command_of(summed(trust=[Trust.OPERATOR]))[0]
    assert ran[0] == "shuffledp run TASK.toml"
    assert ran[-1] == "--earlier FILE"
    alone = summed(trust=[Trust.OPERATOR])  # who played all parties of a collection
    counts = Collected(collection="c0" * 32)
    served = command_of(replace(alone, flow=replace(alone.flow, collected=counts)))[0]
    assert served == ("shuffledp serve analyzer", "--config FILE")  # which names the earlier releases


def test_every_part_is_in_the_table_with_what_it_loses_by_itself():
    outcome = summed()
    table = next(each for each in promise_of(outcome.statements).grounds if isinstance(each, Table))
    labels = [row[0] for row in table.rows]
    assert labels[0].startswith("this release of task ")
    assert labels[1] == "release 5e5e5e5e5e5e of task 4f4f4f4f4f4f (first)"
    shares = [float(row[1].removeprefix("at most ").removeprefix("about ")) for row in table.rows]
    assert shares == [pytest.approx(part.statement.guarantee.epsilon, rel=1e-3) for part in outcome.statements[0].parts]
    assert max(shares) < outcome.statements[0].guarantee.epsilon <= sum(shares) * (1 + 1e-3)


def test_the_page_says_how_many_releases_it_covers_and_leaves_no_part_among_the_promises(tmp_path):
    write_page(summed(), tmp_path)
    page = Page.read((tmp_path / "release.html").read_text(encoding="utf-8"))
    assert page.errors == []
    assert "what is promised here covers this release and 1 earlier one." in page.text
    assert "replacing all of that person's answers by any others" in page.text
    assert "sets of answers" in page.text
    assert "a part of what is promised above for all together" in page.text
    assert "one person's report by itself" not in page.text
    assert "all reports of one person together" in page.text
