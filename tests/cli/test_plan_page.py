"""`plan --output`: the page that a lawyer reads before anybody is asked."""

import html

import pytest

from cli.running import refused, shuffledp, write_task


def page_of(folder, name="planned"):
    return html.unescape((folder / name / "plan.html").read_text(encoding="utf-8"))


def test_the_page_of_a_plan_is_that_of_its_release_without_estimates(folder):
    write_task(folder, people={"expected": 200}, release={"minimum_batch": 100})
    made = shuffledp("plan", "task.toml", "--output", "planned")
    assert (made.code, made.err) == (0, "")
    assert made.out.endswith("Page: planned/plan.html\n")
    assert [each.name for each in (folder / "planned").iterdir()] == ["plan.html"]
    page = page_of(folder)
    planned = shuffledp("plan", "task.toml", "--json").json
    for statement in planned["statements"][:1]:
        assert f"{statement['guarantee']['epsilon']:.4g}"[:5] in page
    for piece in ("In short", "To quote", "It holds as long as", "the analyst does not work together", "Why it holds",
                  "A plan, before anybody is asked", "If fewer than 100 of the 200 expected answer",
                  "trusted curator (discrete Laplace noise)"):  # fmt: skip
        assert piece in page
    curator = planned["columns"][0]["curator"]
    assert f"a standard error of {curator['standard_error']:.3g}; yours is" in page
    assert "Estimates" not in page


def test_a_page_replaces_another_plan_alone(folder):
    make = ("plan", "task.toml", "--users", 300, "--output", "planned")
    assert shuffledp(*make).code == 0
    assert "planned" in refused(2, *make)
    assert shuffledp(*make, "--force").code == 0
    (folder / "planned" / "mine.txt").write_text("mine", encoding="utf-8")
    refused(2, *make, "--force")
    assert (folder / "planned" / "mine.txt").exists()


def test_a_plan_that_is_refused_writes_nothing(folder):
    write_task(folder, release={"minimum_batch": 100})
    refused(4, "plan", "task.toml", "--users", 30, "--output", "planned")
    assert not (folder / "planned").exists()
    assert "--output" in refused(2, "plan", "task.toml", "--error", 0.1, "--output", "planned")


@pytest.mark.parametrize("shuffler", ["none", "uniform"])
def test_what_is_quoted_names_the_shuffle(folder, shuffler):
    write_task(folder, shuffler={"kind": shuffler})
    assert shuffledp("plan", "task.toml", "--users", 300, "--output", "planned").code == 0
    words = {"none": "k-rr and no shuffle", "uniform": "k-rr and a uniform shuffle"}[shuffler]
    assert f"is protected by {words} with differential privacy of epsilon" in page_of(folder)
