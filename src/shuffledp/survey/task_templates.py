"""Texts of task files to begin with: for each kind of question one that can be planned at once, with short comments."""

import json
from collections.abc import Sequence
from string import Template

from shuffledp.core.text import printable

_HEAD = """\
# What is asked and how it is protected: fix it before anybody is asked, and give it to all parties.
name = $name
value = $value  # the private column in the table of answers
# question = "what people read, where they answer on a page"
"""
_PEOPLE = """
[people]
expected = $people  # how many will take part
# id = "person"  # a column that names people: then nobody can answer twice
"""
_RELEASE = """
[release]
delta = $delta  # the remainder: far below one in the number of people
minimum_batch = $least  # with fewer answers nothing is released
# contact = "who releases it, and where to ask"
"""
_EPSILON0 = "epsilon0 = 1.0  # the loss of one answer by itself: less is more private, and less exact"
_DROP = 'missing = "drop"  # people without an answer are left out and counted\n'
_ANSWERS = f"""
[randomizer]
kind = "k-rr"  # the true answer, or by chance another
{_EPSILON0}
$categories_from
categories = $categories
"""
_NUMBERS = """\
lower = 0
upper = 100  # the range of answers, fixed beforehand: a narrow one errs less
"""
_CLIP = 'out_of_range = "clip"  # answers outside the range count as its nearer end\n'
# By kind; every $name is filled in by `task_text`.
TEMPLATES = {
    "survey": _HEAD + _DROP + _PEOPLE + _ANSWERS + _RELEASE,
    "mean": _HEAD
    + _DROP
    + _PEOPLE
    + f'\n[randomizer]\nkind = "laplace-mean"  # the number, with noise\n{_EPSILON0}\n'
    + _NUMBERS
    + _CLIP
    + _RELEASE,
    "places": _HEAD
    + 'public = ["lat", "lon"]  # columns that are released beside the answers\n'
    + _PEOPLE
    + _ANSWERS
    + """
[groups]
columns = ["lat", "lon"]
metric = "haversine"  # degrees, and distances in kilometers
radius = 10.0  # who answered what is hidden among everybody so near

[shuffler]
kind = "auto"
alpha = 4.0  # the loss of the order inside a group
"""
    + _RELEASE,
    "walk": _HEAD
    + _DROP
    + _PEOPLE
    + _ANSWERS
    + """
[shuffler]
kind = "network"  # there is no shuffler: people pass reports on to each other
overlay = {contacts = 100}  # to at most so many others; `shuffledp graph design` compares overlays
"""
    + _RELEASE,
    "sum": _HEAD
    + _DROP
    + _PEOPLE
    + """
[protocol]
kind = "split-and-mix"  # only the shuffler protects: whoever has all messages of a person reads the answer
epsilon = 1.0  # the loss of everything released
statistic = "sum"
integer = true  # answers are whole numbers
"""
    + _NUMBERS
    + _CLIP
    + 'dropout_fraction = 0.1  # of the people expected, how many may stay away\n\n[shuffler]\nkind = "uniform"\n'
    + _RELEASE,
}
Category = str | int | bool
_TITLES = {
    "survey": "A survey",
    "mean": "A mean",
    "places": "A survey by place",
    "walk": "A survey from hand to hand",
    "sum": "A sum",
}
_NAMED = "# all possible answers, as they were fixed before anybody answered"
_READ = "# read from the answers, which tells that each was given: better name all that are possible"
_LEAST_BATCH, _DELTA_DIGITS = 100, 6


def task_text(kind: str, *, value: str, people: int, categories: Sequence[Category], read: bool = False) -> str:
    """A task file of a kind, as people edit it.

    Args:
        kind: one of ``TEMPLATES``.
        value: name of the private column.
        people: how many will take part, 1 or more.
        categories: the answers, for the kinds that have any.
        read: whether the categories were read from answers, which a comment then says.
    """
    return Template(TEMPLATES[kind]).substitute(
        name=_toml(printable(f"{_TITLES[kind]}: {value}")),
        value=_toml(value),
        people=people,
        categories=_toml(list(categories)),
        categories_from=_READ if read else _NAMED,
        delta=f"1e-{max(_DELTA_DIGITS, len(str(people)) + 1)}",
        least=min(_LEAST_BATCH, people),
    )


def _toml(value: str | list[Category]) -> str:
    """What JSON writes for texts, whole numbers, true and false, and lists of them is TOML too, but for one control."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
