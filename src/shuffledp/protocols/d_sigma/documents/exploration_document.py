"""Page on the settings tried on a pilot: a chart, the best three with their task lines, and all numbers."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from shuffledp.core.text import count_of, in_digits, percent
from shuffledp.documents.blocks import (
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Code,
    Column,
    Fold,
    Medium,
    Picture,
    Role,
    Table,
    Tag,
    Text,
    told,
)
from shuffledp.documents.charts.chart import Axis, Chart, Dots, Line, Mark, Note, Panel, Spans
from shuffledp.documents.document import Document, Place, Promise, Section
from shuffledp.protocols.d_sigma.documents.dot_names import named_dots
from shuffledp.protocols.d_sigma.survey.groups import GroupsSection
from shuffledp.protocols.d_sigma.survey.pilot_results import (
    EVEN,
    GAUSSIAN,
    LAPLACE,
    MALLOWS,
    SPENDING,
    Exploration,
    Setting,
    SettingResults,
)

EXPLORE_PAGE = "explore.html"
_IN_A_CELL = {"the commonest answer": "commonest"}  # attacks whose names would make the table wider than the page
_LOOKS = {MALLOWS: ("blue", 1.0), SPENDING: ("blue", 0.4), LAPLACE: ("green", 1.0), GAUSSIAN: ("vermilion", 1.0)}
_WHOLE = 100
_NAMING = 3  # columns of a table that name a setting
_CERTAIN = 0.9995  # a chance above it promises nothing
_WEAK = 0.5  # a report that may be named more often than this is hardly hidden
_BANNER = (
    "A pilot is data. Its people must not answer the collection too; whoever ran this saw their answers; and what this "
    "page says about them carries no guarantee: show it to nobody who may not see the answers."
)
_MADE_UP = (
    "The input has no private column: answers are made up, so that one answer after the other is the commonest along "
    "the order of the groups. Guarantees hold for these public columns whatever people will answer; attacks and what "
    "is learned are of made-up answers, and will be others."
)
NO_LEAK = (
    "The task's groups do not overlap: a shuffle inside each keeps the map of groups as it is whatever alpha is, so "
    "that alpha = 0 hides most and costs nothing (mallows and noisy-sort are then the same shuffle); so does a uniform "
    "shuffle inside strata (by = the column), for which a smaller central epsilon is proved."
)
_PICKS = {
    "balanced": "hiding and showing count alike",
    "hides more": "hiding counts three times as much",
    "shows more": "showing counts three times as much",
}


def exploration_document(
    explored: Exploration, *, name: str, digest: str, value: str, groups: GroupsSection
) -> Document:
    """Page on an exploration: the best settings, a chart of the frontier, and a table of all settings.

    Args:
        explored: the result.
        name: of the task.
        digest: of the task.
        value: the private column.
        groups: the table ``[groups]`` of the task.
    """
    people = count_of(explored.num_users, "person", "people")
    source = "made-up answers" if explored.made_up else "a pilot"
    best = tuple(block for pick, number in explored.picks.items() for block in _pick(pick, explored, number, groups))
    sections = (
        Section(
            anchor="frontier", title="Found out against learned", blocks=tuple(_frontier(explored)), place=Place.RESULTS
        ),
        Section(anchor="settings", title="All settings", blocks=tuple(_tables(explored, groups)), titled=Medium.BOTH),
        Section(anchor="reading", title="How to read it", blocks=tuple(_reading(explored, groups))),
    )
    return Document(
        title=name,
        digest=digest,
        kicker=f"Settings tried on {source}",
        summary=f"{people}, epsilon0 = {explored.epsilon0:g}, about",
        values=(value,),
        demonstration=f"made-up answers: {_MADE_UP}" if explored.made_up else "",
        promise=Promise(
            title="Settings to choose from",
            facts=(f"{people}, each epsilon0 = {explored.epsilon0:g}", count_of(len(explored.tried) - 2, "setting")),
            headline=(
                *told("" if explored.made_up else _BANNER, role=Role.DANGER),
                *told(_MADE_UP if explored.made_up else "", role=Role.DANGER, on=TERMINAL),
                *best,
                *told(_undecided(explored), role=Role.DANGER),
                *told(_fewer(explored)),
                *told(_by_chance(explored), on=TERMINAL),
                *_disjoint(explored),
            ),
        ),
        sections=sections,
    )


def is_exploration(folder: Path) -> bool:
    """Whether a folder holds nothing but the page of an exploration."""
    entries = list(folder.iterdir())
    return [each.name for each in entries] == [EXPLORE_PAGE] and b'id="frontier"' in entries[0].read_bytes()


def _fewer(explored: Exploration) -> str:
    """Reason why fewer than three settings are named; "" if three are."""
    lacking = [pick for pick in ("hides more", "shows more") if pick not in explored.picks]
    if not explored.picks:
        return (
            "No setting is named: each one that was tried is beaten, at what attacks find out and at what is learned, "
            "by another one, or by no shuffle or a uniform one. Try larger alphas (--alpha), smaller groups (--reach), "
            "or a larger pilot."
        )
    if not lacking:
        return ""
    why = {
        "hides more": "none lets attacks find out clearly less with promises as good",
        "shows more": "none lets clearly more be learned",
    }
    reasons = " and ".join(f"{why[pick]} (\u201c{pick}\u201d)" for pick in lacking)
    return f"No more settings are named: of all settings that no other one beats, {reasons}."


def _undecided(explored: Exploration) -> str:
    """Warning that nothing is learned anywhere, or that errors differ by chance; "" if some setting is better."""
    if min(each.learned for each in explored.tried) >= 1:
        return (
            "No setting teaches anything about single groups, and neither does no shuffle: lambda is 1 or more, as if "
            "all answers were called equally likely. Take larger groups, more people or a larger epsilon0; or ask for "
            "the overall shares alone, by the uniform shuffle."
        )
    if not explored.is_undecided:
        return ""
    return (
        "About lambda this pilot decides nothing: settings differ by less than twice the error by which chance moves "
        f"each of them ({explored.learned_error:.3f}). Choose by what is promised, or take a larger pilot."
    )


def _by_chance(explored: Exploration) -> str:
    return (
        f"Chance leaves a rho of {percent(explored.uniform.rho)}, as a uniform shuffle does; always saying the "
        f"commonest answer is right for {percent(explored.naive)}."
    )


def _disjoint(explored: Exploration) -> tuple[Text, ...]:
    if explored.overlapping:
        return ()
    return told(NO_LEAK)


def task_lines(setting: Setting, groups: GroupsSection) -> tuple[str, ...]:
    """Lines of a task file for this setting."""
    kind, _, noise = setting.mechanism.partition(", ")
    lines = ["[shuffler]", f'kind = "{kind}"', f"alpha = {float(setting.alpha or 0)!r}"]
    if noise == "gaussian":
        lines.append('noise = "gaussian"')
    if setting.mechanism == EVEN:
        lines.append('spacing = "uniform"')
    if setting.delta:
        lines.append(f"delta = {setting.delta!r}")
    if setting.reach is not None:
        key = "radius" if groups.radius is not None else "neighbors"
        value = setting.reach if key == "radius" else int(setting.reach)
        lines += ["[groups]", f"{key} = {value!r}"]
    return tuple(lines)


def _pick(pick: str, explored: Exploration, number: int, groups: GroupsSection) -> Iterator[Block]:
    """Setting in two sentences, with the task lines to paste."""
    tried = explored.tried[number]
    protected = tried.protected
    weak = " This is a weak promise." * (protected.named_most > _WEAK)
    half = f" (half of the people: {_chance(protected.named_median)})"
    yield Text(f"{pick[:1].upper()}{pick[1:]}: {_named(tried.setting, groups)}", Role.SUBHEADING)
    yield Text(
        f"The best attack known here guesses {percent(tried.guessed.best)} of answers right; the error of what is "
        f"learned is {tried.learned:.3f}. Whoever knows all answers names the slot of a report with a chance of at "
        f"most {_chance(protected.named_most)}{half}.{weak}",
        tags=(Tag(_PICKS[pick], "quiet"),),
    )
    lines = task_lines(tried.setting, groups)
    yield Code(("\n".join(lines),), on=PAGE)
    yield from told(*(f"  {line}" for line in lines), role=Role.PATH, on=TERMINAL)


def _named(setting: Setting, groups: GroupsSection) -> str:
    if setting.alpha is None:
        return setting.mechanism
    reach = (
        "" if setting.reach is None else f", {'radius' if groups.radius is not None else 'neighbors'} {setting.reach:g}"
    )
    return f"{setting.mechanism}, alpha {_alpha(setting.alpha)}{reach}"


# ---- the picture -----------------------------------------------------------------------------------------------------


def _frontier(explored: Exploration) -> Iterator[Block]:
    """Picture of the frontier, with one panel for each attack measure."""
    first, second = ("rho", "guesses") if explored.by_rho else ("guesses", "rho")
    yield Picture(
        Chart(
            name="frontier",
            title="What attacks find out against what is learned",
            description="Each setting as a dot: to the left more is learned, below less is found out. The frontier is "
            "a line; grey dots are dominated. No shuffle and a uniform shuffle are the ends, chance is dotted.",
            caption="To the left, more is learned about places; below, attacks find out less. Line: the settings that "
            "no other one beats at both. Gray: beaten; "
            "bars: twice the standard error of lambda. Dotted: what chance alone leaves, as after a uniform shuffle. "
            "Blue: Mallows; pale blue: Mallows that spends a remainder delta; green: sort with Laplace noise; orange: "
            "sort with Gaussian noise. "
            + (
                "Settings are compared by rho."
                if explored.by_rho
                else "Answers are so uneven that rho says little (always saying the commonest one finds as many people "
                "as no shuffle): settings are compared by the best attack."
            ),
            panels=(_panel(explored, first, is_first=True), _panel(explored, second, is_first=False)),
        ),
        has_files=False,  # a picture by itself would lose the banner
    )


def _panel(explored: Exploration, measure: str, *, is_first: bool) -> Panel:
    """Panel of one attack measure against the learning error lambda, in percent."""

    def height(tried: SettingResults) -> float:
        return 100 * (tried.rho if measure == "rho" else tried.guessed.best)

    chance = 100 * (explored.uniform.rho if measure == "rho" else explored.naive)
    ours = [each for each in explored.tried if each.is_ours]
    left = sorted((each for each in ours if not each.dominated), key=lambda each: each.learned)
    last = 1.08 * max(each.learned for each in explored.tried)
    marks: list[Mark] = [Line(x=[0, last], y=[chance, chance], color="soft", width=1, dash="dotted")]
    error = 2 * explored.learned_error
    marks.append(
        Spans(
            at=[height(e) for e in ours],
            low=[max(0.0, e.learned - error) for e in ours],
            high=[e.learned + error for e in ours],
            color="line",
            width=1.0,
        )
    )
    grey = [each for each in ours if each.dominated]
    marks.append(Dots(x=[e.learned for e in grey], y=[height(e) for e in grey], color="line", size=6.0))
    if is_first and len(left) > 1:
        marks.append(Line(x=[e.learned for e in left], y=[height(e) for e in left], color="ink", width=1))
    for name, (color, strength) in _LOOKS.items():
        some = [each for each in left if each.setting.mechanism == name]
        marks.append(
            Dots(x=[e.learned for e in some], y=[height(e) for e in some], color=color, size=9.0, strength=strength)
        )
    heights = [height(each) for each in explored.tried] + [chance]
    room = 0.12 * max(max(heights) - min(heights), 1.0)
    ends = max(0.0, min(heights) - room), min(100.0, max(heights) + room)
    notes = []
    for end, side, align in ((explored.none, 8, "left"), (explored.uniform, -8, "right")):
        marks.append(Dots(x=[end.learned], y=[height(end)], color="ink", size=8.0, is_square=True))
        notes.append(Note(end.setting.mechanism, (end.learned, height(end)), (side, 8), align))
    if is_first:
        places = [(each.learned, height(each)) for each in explored.tried]
        named = {pick: places[number] for pick, number in explored.picks.items()}
        notes += named_dots(named, places, notes, (0.0, last), ends)
    marks += notes
    title = ("rho", "a vote nearly always guesses") if measure == "rho" else ("best attack", "answers guessed right")
    return Panel(
        x=Axis(label="error of what is learned (lambda, box filter)", ends=(0.0, last)),
        y=Axis(ends=ends, unit="%"),
        marks=tuple(marks),
        title=title,
    )


# ---- the tables ------------------------------------------------------------------------------------------------------


def _tables(explored: Exploration, groups: GroupsSection) -> Iterator[Block]:
    picked = set(explored.picks.values())
    numbered = list(enumerate(explored.tried))
    kept = [number for number, each in numbered if not each.dominated or not each.is_ours]
    rest = [number for number, each in numbered if each.dominated and each.is_ours]
    kept.sort(key=lambda number: (explored.tried[number].is_ours, explored.tried[number].learned))
    own = frozenset(place for place, number in enumerate(kept) if number in picked)
    yield from _both("Settings that no other one beats, and both ends", explored, kept, groups, own)
    if rest:
        tables = _both("Settings that another one beats at both", explored, rest, groups, frozenset())
        yield Fold(f"{len(rest)} settings that another one beats", tuple(tables))


def _both(
    caption: str, explored: Exploration, numbers: list[int], groups: GroupsSection, own: frozenset[int]
) -> Iterator[Table]:
    """Tables of settings: one for a terminal, and two narrower ones for a page, on choices and details."""
    whole = _table(caption, explored, numbers, groups, own)
    yield replace(whole, on=TERMINAL)
    for title, is_detail in ((caption, False), ("Further numbers of the same settings", True)):
        kept = [place for place, head in enumerate(whole.columns) if place < _NAMING or head.detail == is_detail]
        yield replace(
            whole,
            caption=title,
            label=title,
            columns=tuple(whole.columns[place] for place in kept),
            rows=tuple(tuple(row[place] for place in kept) for row in whole.rows),
            on=PAGE,
        )


def _table(
    caption: str, explored: Exploration, numbers: list[int], groups: GroupsSection, own: frozenset[int]
) -> Table:
    picks = {number: pick for pick, number in explored.picks.items()}
    key = "radius" if groups.radius is not None else "neighbors" if groups.neighbors is not None else "reach"
    heads = (
        Column("setting", left=True, folds=True),
        Column("alpha"),
        Column(key),
        Column("largest group", "largest\ngroup", detail=True),
        Column("ranks moved", "ranks\nmoved"),
        Column("rho", "rho"),
        Column("best attack", "best\nattack"),
        Column("lambda", "lambda"),
        Column("lambda, boosting", "boosted", detail=True),
        Column("named, most", "named\nmost"),
        Column("named, half", "named\nhalf"),
        Column("named by an attack", "by an\nattack", detail=True),
        Column("central epsilon, most", "epsilon\nmost", detail=True),
        Column("half", "epsilon\nhalf", detail=True),
    )
    rows = tuple(_row(explored.tried[number], picks.get(number, "")) for number in numbers)
    return Table(caption, heads, rows, own=own, titled=True, label=caption)


def _row(tried: SettingResults, pick: str) -> tuple[str | Cell, ...]:
    setting, protected = tried.setting, tried.protected
    name = Cell(text=setting.mechanism, tags=(Tag(pick, "promise"),)) if pick else setting.mechanism
    return (
        name,
        "" if setting.alpha is None else _alpha(setting.alpha),
        "" if setting.reach is None else f"{setting.reach:.4g}",
        f"{setting.largest:,}" if setting.largest else "",
        f"{tried.displacement:,.0f}",
        f"{tried.rho:.1%}",
        Cell(text=f"{tried.guessed.best:.1%}", note=_IN_A_CELL.get(tried.guessed.attack, tried.guessed.attack)),
        f"{tried.learned:.3f}",
        "" if tried.boosted is None else f"{tried.boosted:.3f}",
        _chance(protected.named_most),
        _chance(protected.named_median),
        f"{protected.named_by_attack:.2%}",
        in_digits(protected.central_most, "at most"),
        in_digits(protected.central_median, "at most"),
    )


def _alpha(alpha: float) -> str:
    return f"{alpha:,.0f}" if alpha >= _WHOLE else f"{alpha:.4g}"


def _chance(share: float) -> str:
    return "100%" if share > _CERTAIN else percent(share, "at most")


def _reading(explored: Exploration, groups: GroupsSection) -> Iterable[Block]:
    """Meaning of each number of the page, in sentences."""
    naive, chance = percent(explored.naive), percent(explored.uniform.rho)
    return told(
        f"A person\u2019s group is {groups.words}. alpha bounds how much the order inside a group shows: it is what "
        "the shuffle promises. Ranks moved: how far along the order a report lands from its sender, on average.",
        "rho: the share of people whose answer a vote over the 25 most similar people nearby guesses right in at least "
        f"90% of 50 runs, all with one permutation. Chance leaves {chance}: what a uniform shuffle of everybody gives. "
        "Best attack: the share of answers guessed right by the best of a vote, the neighborhood posterior and, where "
        "there are further public columns, de Finetti\u2019s attack; or by always saying the commonest answer: "
        f"{naive}.",
        "lambda: the error of the answers\u2019 law in everybody\u2019s group, as a share of the error of calling all "
        "answers equally likely; by a box filter (the average over the group\u2019s slots), and by gradient boosting "
        "where scikit-learn is installed. Reports and shuffles drawn anew move each lambda by a standard error of "
        f"about {explored.learned_error:.3f}; other people than the pilot\u2019s would move it more.",
        "Named: with which chance somebody who knows all answers names the slot of a report, at most, for the least "
        "hidden person and for half of the people; by an attack: what the nearest slot with the right answer finds if "
        "everybody else answers otherwise. Central epsilon: what one person loses by all that is released, by the "
        "quickest bound; `shuffledp plan` computes it more sharply. These are guarantees, which hold whatever people "
        "answer.",
        on=PAGE,
    )
