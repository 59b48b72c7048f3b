import re
import subprocess
import sys
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

import shuffledp as sdp
from documents.outcomes import make_outcome, write_page
from documents.reading import Page
from shuffledp._version import __version__
from shuffledp.documents.document import Document
from shuffledp.documents.page import page_of
from shuffledp.documents.words import number
from shuffledp.testing import SeededSource

FILES = ("release.html", "estimates.svg", "accounting.svg")
TITLES = [
    "In short",
    "Estimates",
    "Meaning",
    "From answers to release",
    "The price of privacy",
    "Beside other ways",
    "What can be guessed about one person",
    "More people, more privacy",
    "Why it holds",
    "How it was made",
]
HOSTILE = "<script>alert(1)</script>"


def written(outcome, folder) -> str:
    write_page(outcome, folder)
    return (folder / "release.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(page) -> Page:
    return Page.read(page)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory) -> Page:
    outcome = make_outcome([0] * 9000 + [1] * 1000, source=SeededSource(1))
    return Page.read(written(outcome, tmp_path_factory.mktemp("seeded")))


# ---- what is written ------------------------------------------------------------------------------------------------


def test_the_names_returned_are_the_files_written(survey, tmp_path):
    assert write_page(survey, tmp_path / "new" / "folder") == FILES
    assert sorted(file.name for file in (tmp_path / "new" / "folder").iterdir()) == sorted(FILES)


def test_the_same_outcome_gives_the_same_bytes(survey, survey_folder, tmp_path):
    for name in write_page(survey, tmp_path):
        assert (tmp_path / name).read_bytes() == (survey_folder / name).read_bytes(), name


def test_the_page_names_the_file_of_each_picture(page):
    assert re.findall("Also as ([^<]*)[.]<", page) == ["estimates.svg", "accounting.svg"]


def test_a_picture_is_drawn_once_for_each_width(survey, tmp_path, monkeypatch):
    drawn = []

    def counted(figure, *places, **options):
        drawn.append(options["format"])
        savefig(figure, *places, **options)

    savefig = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", counted)
    write_page(survey, tmp_path)
    assert drawn == ["svg"] * 2 * 2


def test_the_pictures_are_pictures(survey_folder):
    for name in ("estimates.svg", "accounting.svg"):
        text = (survey_folder / name).read_text(encoding="utf-8")
        assert text.rstrip().endswith("</svg>")
        assert "fill: #ffffff" in text  # white behind it, also in dark surroundings


def test_drawing_changes_no_global_settings(survey, tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    write_page(survey, tmp_path)
    assert dict(mpl.rcParams) == before


def test_drawing_does_not_depend_on_the_users_settings(survey, survey_folder, tmp_path):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 30, "axes.grid": True, "text.color": "red", "svg.hashsalt": None}):
        write_page(survey, tmp_path)
    assert (tmp_path / "accounting.svg").read_bytes() == (survey_folder / "accounting.svg").read_bytes()


def test_importing_the_documents_imports_neither_matplotlib_nor_jinja():
    code = "import sys, shuffledp.documents.release_document; print({'matplotlib', 'jinja2'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


# ---- a page that stands alone ---------------------------------------------------------------------------------------


def test_the_page_is_well_formed(read):
    assert read.errors == []
    ids = [each.attributes["id"] for each in read.elements if "id" in each.attributes]
    assert len(ids) == len(set(ids))


def test_nothing_is_loaded_from_anywhere(page, read):
    for element in read.elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on"), f"{element.tag} has {name}"
            if name in {"href", "xlink:href", "src", "srcset", "action", "data"}:
                assert value.startswith("#"), f"{element.tag} loads {value}"
    assert not {"script", "link", "img", "iframe", "object", "base"} & {each.tag for each in read.elements}
    assert "@import" not in page
    assert set(re.findall(r"url\(([^)]*)\)", page)) == {
        url for url in re.findall(r"url\(([^)]*)\)", page) if url.startswith("#")
    }
    assert "http://" not in page
    assert "https://" not in page


def test_references_inside_the_page_lead_somewhere(read, page):
    ids = {each.attributes["id"] for each in read.elements if "id" in each.attributes}
    hrefs = {each.attributes["href"][1:] for each in read.elements if "href" in each.attributes}
    labels = {name for each in read.elements for name in (each.attributes.get("aria-labelledby") or "").split()}
    assert hrefs | labels | set(re.findall(r"url\(#([^)]*)\)", page)) <= ids


def test_the_page_can_be_read_without_seeing(read):
    assert len(read.all("h1")) == 1
    assert [each.attributes for each in read.all("html")] == [{"lang": "en"}]
    assert len(read.all("table")) == len(read.all("caption"))
    assert all(each.attributes.get("scope") in {"row", "col"} for each in read.all("th"))
    pictures = read.all("svg")
    assert len(pictures) == 4
    assert all(each.attributes["role"] == "img" for each in pictures)
    assert all(any(label.within[-1] == "svg" for label in read.all(tag)) for tag in ("title", "desc"))


def test_pictures_take_the_colors_of_the_page(page):
    inside = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
    assert "var(--ink)" in inside
    assert "var(--blue)" in inside
    assert re.findall(r"#[0-9a-f]{6}\b", inside) == []
    assert "font:" not in inside
    assert "prefers-color-scheme: dark" in page


def test_dark_and_light_name_the_same_colors():
    from shuffledp.documents.charts.house_style import DARK, LIGHT

    assert DARK.keys() == LIGHT.keys()


@pytest.mark.parametrize("scheme", ["LIGHT", "DARK"])
def test_text_in_every_color_can_be_read_on_the_page(scheme):
    from shuffledp.documents.charts import house_style

    colors = getattr(house_style, scheme)
    for name in ("ink", "soft", "blue", "vermilion", "green"):
        assert contrast(colors[name], colors["paper"]) >= 4.5, name


def contrast(first: str, second: str) -> float:
    """As WCAG 2 defines it."""

    def luminance(color: str) -> float:
        channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


# ---- every promised part --------------------------------------------------------------------------------------------


def test_the_sections_come_in_their_order(read):
    titles = [each.text for each in read.all("h2")]
    assert titles == TITLES
    assert read.all("h1")[0].text == "risk survey"


def test_the_statement_is_said_before_all_else(survey, read):
    statement = survey.release.statements[0]
    text = read.text_unfolded
    assert statement.guarantee.text(statement.kind.relation) in text
    epsilon = number(statement.guarantee.epsilon, "exactly")
    assert text.index(f"epsilon, at most {epsilon} remainder (delta)") < text.index("Each interval by itself")
    for trust in statement.trust:
        assert trust.text in text
    assert statement.basis.theorem in text
    assert statement.basis.citation in text
    for remark in statement.remarks:
        assert remark in text


def test_the_other_statements_are_told_apart_by_kind(survey, read):
    kinds = [each.kind.value for each in survey.release.statements[1:]]
    assert kinds == ["lower-bound", "exact"]
    assert "Lower bound everything that is released" in read.text_unfolded
    assert "Exact value one person's report by itself" in read.text_unfolded
    assert "Not a promise: on some data the loss is at least this." in read.text_unfolded


def test_the_flow_says_how_many_came_and_went(read):
    text = read.text_unfolded
    assert "Received 550" in text
    assert "11 left out, without an answer" in text
    for step in ("Randomized", "Shuffled", "Released"):
        assert f"{step} 539" in text
    assert "500 people were planned for; 539 took part (39 more)" in text
    assert 'The public columns "region" and "age" were taken off' in text


def test_estimates_are_a_chart_and_a_table_of_the_same_numbers(survey, page, read):
    svg = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)[0]
    estimate = survey.release.estimate
    for target, value, lower in zip(estimate.target, estimate.estimate, estimate.lower, strict=True):
        assert f"{target} {100 * value:.1f}% {100 * lower:.1f}%" in read.text_unfolded
        assert f">{100 * value:.1f}%<" in svg
        assert f">{target}<" in svg


def test_the_error_stands_beside_that_of_a_survey_without_randomizing(survey, read):
    estimate = survey.release.estimate
    sampling, both = estimate.sampling_error[0], estimate.population_error[0]
    assert f"a survey of {round(539 * (sampling / both) ** 2)} people who answer openly" in read.text_unfolded
    assert f"{100 * sampling:.1f} " in read.text_unfolded


def test_the_chart_of_what_is_promised_names_no_theorem(read):
    text = read.text_unfolded
    assert "Dot: this task." in text
    for name in ("blanket-two-level", "fmt21-closed", "two-level-others-equal"):
        assert name not in text


def test_the_run_can_be_repeated_and_checked(survey, read):
    text = read.text
    assert "shuffledp run TASK.toml --input FILE --output DIR" in text
    assert survey.column.sha256 in text
    assert all(name in text and digest in text for name, digest in survey.files.items())
    assert f"shuffledp {__version__}" in text
    assert sys.version.split()[0] in text
    assert "randomizer. epsilon0 2.0" in text


def test_the_analysts_page_names_the_analysts_command(survey, tmp_path):
    release = survey.column.pipeline().analyze(survey.release.view, delta=1e-6)
    read = Page.read(written(replace(survey, release=release), tmp_path))
    assert "shuffledp analyze TASK.toml --input VIEW --output DIR" in read.text
    assert "saw the raw answers" not in read.text


# ---- never ----------------------------------------------------------------------------------------------------------


def test_no_person_no_report_and_no_path_is_on_the_page(survey, page):
    from pathlib import Path

    assert str(Path(__file__).parents[2]) not in page
    assert str(Path.home()) + "/" not in page
    reports = survey.release.view.reports["value"].tolist()
    assert ", ".join(map(str, reports[:8])) not in page
    assert ",".join(map(str, reports[:8])) not in page


def test_text_of_the_task_stays_text(tmp_path):
    outcome = make_outcome(
        [0, 1] * 50,
        name=f"{HOSTILE} & $x^2$ {{{{ 7*7 }}}}",
        value=f'"{HOSTILE}"',
        public=[HOSTILE],
        categories=(f"a {HOSTILE}", "#0072b2 </svg> $a_b$"),
        flow={"detached": (HOSTILE,)},
    )
    html = written(replace(outcome, files={f"{HOSTILE}.csv": "00"}), tmp_path)
    read = Page.read(html)
    assert read.errors == []
    assert "<script" not in html
    assert not read.all("script")
    assert read.all("h1")[0].text == f"{HOSTILE} & $x^2$ {{{{ 7*7 }}}}"
    assert "#0072b2" in re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)[0]


@pytest.mark.parametrize("control", ["\x1b", "\x9b", "\u202e", "\u2066"])
def test_what_commands_a_terminal_or_turns_text_around_is_on_no_page(control):
    html = page_of(Document(title=f"a{control}b", values=(control,))).decode()
    assert control not in html
    assert html.count(f"a{repr(control)[1:-1]}b") == 2


# ---- withdrawn ------------------------------------------------------------------------------------------------------


def test_a_seeded_run_is_marked_before_all_else(seeded):
    assert seeded.text.strip().startswith("WITHDRAWN No privacy is promised: the randomness came from a seed")
    assert seeded.all("title")[0].text.startswith("WITHDRAWN: ")
    assert seeded.all("h2")[0].text == "Nothing is promised"
    assert "--seed N" in seeded.text


def test_a_seeded_run_promises_no_number(seeded):
    statement_part = seeded.text_unfolded.split("From answers to release")[0]
    assert not seeded.all("dl", class_="numbers")
    assert not seeded.all("article")
    assert "epsilon" not in statement_part
    assert "factor" not in statement_part
    assert "A promise" not in statement_part
    assert "None of this holds for the run on this page" in seeded.text
    assert "none of this holds for it" in seeded.text_unfolded


def test_a_withdrawn_run_is_marked_on_every_chart(survey, tmp_path):
    from shuffledp.core.statement_terms import Withdrawal

    withdrawn = tuple(each.withdraw(Withdrawal.SEEDED) for each in survey.release.statements)
    release = replace(survey.release, statements=withdrawn, seeded=True)
    names = write_page(replace(survey, release=release), tmp_path)
    write_page(survey, tmp_path / "not")
    for name in names:
        assert (tmp_path / name).read_bytes() != (tmp_path / "not" / name).read_bytes()
    assert "WITHDRAWN" in (tmp_path / "estimates.svg").read_text()  # matplotlib notes texts in comments
    assert "WITHDRAWN" not in (tmp_path / "not" / "estimates.svg").read_text()


# ---- unusual outcomes -----------------------------------------------------------------------------------------------


def test_amplification_is_stated_with_its_remainder(tmp_path):
    read = Page.read(written(make_outcome([0] * 9000 + [1] * 1000), tmp_path))
    assert "remainder (delta) 0.000001" in read.text_unfolded
    assert "an allowance on top of every probability: one in 1,000,000" in read.text_unfolded
    assert "the shuffler shuffles as stated" in read.text_unfolded


def test_without_a_shuffle_only_the_local_guarantee_is_stated(tmp_path):
    read = Page.read(written(make_outcome([0, 1, 1] * 40, shuffler="none"), tmp_path))
    assert "Nothing is shuffled, so there is no amplification" in read.text_unfolded
    assert "Not shuffled 120" in read.text_unfolded
    assert "Only the local guarantee" in [each.text for each in read.all("h2")]


def test_many_categories_are_all_in_the_table_and_the_largest_in_the_picture(tmp_path):
    names = tuple(f"category number {number} of a hundred" for number in range(100))
    outcome = make_outcome([number % 7 for number in range(5000)], epsilon0=5.0, categories=names)
    html = written(outcome, tmp_path)
    read = Page.read(html)
    assert all(any(each.text == name for each in read.all("th")) for name in names)
    assert "Of 100 only the 40 largest are drawn, with intervals that hold for all 100 together;" in read.text
    drawn = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)[0]
    assert sum(f">{name[:29].rstrip()}" in drawn for name in names[:7]) == 7
    assert len(re.findall(r">category number", drawn)) == 40


def test_estimates_that_no_truth_can_have_are_shown_as_they_are(tmp_path):
    outcome = make_outcome([0] * 60, epsilon0=0.2, numbers=SeededSource(3))
    assert outcome.release.estimate.estimate.min() < 0
    read = Page.read(written(outcome, tmp_path))
    assert "\N{MINUS SIGN}" in read.text_unfolded
    assert "Estimates are unbiased, so that one may lie outside 0% to 100%" in read.text_unfolded
    assert "Gray: where no true share can lie" in read.text_unfolded


def test_one_person_makes_a_page(tmp_path):
    read = Page.read(written(make_outcome([0]), tmp_path))
    assert read.errors == []
    assert "1 report about the private column" in read.text


def test_a_stage_that_never_saw_the_answers_says_so(tmp_path):
    read = Page.read(written(make_outcome([0, 1] * 50, flow={"received": None}), tmp_path))
    assert "Received not seen" in read.text_unfolded
    assert "left out" not in read.text_unfolded


def test_without_a_sampling_error_there_is_no_section_on_it(survey, tmp_path):
    estimate = replace(survey.release.estimate, sampling_error=None)
    outcome = replace(survey, release=replace(survey.release, estimate=estimate))
    read = Page.read(written(outcome, tmp_path))
    assert "The price of privacy" not in [each.text for each in read.all("h2")]


def test_the_page_says_how_far_the_promise_is_from_the_best_possible(survey, read):
    bracket = sdp.bracket(survey.model, delta=survey.column.release.delta)
    lower, upper = number(bracket.lower, "at least"), number(bracket.upper, "at most")
    assert f"is between {lower} and {upper}" in " ".join(read.text.split())


def test_the_bound_on_a_right_guess_is_said_once_and_drawn_once(page, read):
    bound = re.findall(r"at most ([\d.]+%) of the time", read.text)
    assert len(bound) == 1
    assert page.count('class="guess"') == 1
