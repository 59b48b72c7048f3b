"""Calls to higher layers by name, at run time: running tasks, reading graphs, showing and saving values.

Nothing is loaded before it is asked for, and no value knows how it is shown.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from shuffledp.core.validate import invalid

# What can be asked for, and the function that does it.
ABOVE = {
    "run": "shuffledp.files.tables.run",
    "graph": "shuffledp.files.people_files.read_graph",
    "html": "shuffledp.documents.page.top_of",
    "picture": "shuffledp.documents.estimate_forms.picture_of",
    "folder": "shuffledp.files.writing.new_folder",
    "difference": "shuffledp.analyzers.differences.difference_of",
}
# The document of a value, by the name of its class or the nearest base of it: what a notebook shows.
DOCUMENTS = {
    "Release": "shuffledp.documents.release_document.release_top",
    "Outcome": "shuffledp.documents.release_document.outcome_top",
    "Estimate": "shuffledp.documents.estimate_document.estimate_document",
    "PrivacyStatement": "shuffledp.documents.statement_document.statement_document",
    "Statements": "shuffledp.documents.statement_document.statements_document",
    "Bracket": "shuffledp.documents.account_document.bracket_document",
    "ShownByFacts": "shuffledp.documents.document.facts_document",
    "AuditReport": "shuffledp.documents.audit_document.report_document",
    "TaskAudit": "shuffledp.documents.audit_document.audit_document",
    "TargetExamination": "shuffledp.documents.leakage_document.leakage_document",
    "Comparison": "shuffledp.documents.leakage_document.leakage_document",
    "Shown": "shuffledp.documents.document.text_document",
}
# What writes the data of a value into a folder, and what writes its page beside them.
SAVED = {
    "Release": ("shuffledp.files.writing.write_memory", "shuffledp.documents.release_document.write_memory_page"),
    "Outcome": ("shuffledp.files.writing.write_all", "shuffledp.documents.release_document.write_release"),
}
_OURS = "shuffledp"


class Shown:
    """Base of values with an HTML form for notebooks and one line of text for other programs."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_short})"

    @property
    def in_short(self) -> str:
        """Text on one line: the printed text, unless a class has a shorter text."""
        return " ".join(str(self).split())

    def _repr_html_(self) -> str | None:
        """HTML for a notebook; None without the extra ``cli``, which makes the notebook show the ``repr``."""
        try:
            html: str = above("html")(_named(_of_class(DOCUMENTS, self))(self))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith(_OURS):
                raise
            return None
        return html


class ShownByFacts(Shown):
    """Base of values that a notebook shows as a list of ``facts``, such as graphs and groups of people."""

    __slots__ = ()


class Saved(Shown):
    """Base of values that can be saved as a folder with a page for readers."""

    __slots__ = ()

    def save(self, folder: str | Path) -> None:
        """Write the folder that the command line would write, from the data in memory.

        It holds the page, pictures, estimates and statements.

        The view is not written. The folder appears when it is whole, or not at all.

        Args:
            folder: a folder that does not exist yet.

        Raises:
            InvalidParameterError: if the folder exists, or cannot be made.
            ModuleNotFoundError: if the extra ``cli`` is not installed.
        """
        if Path(folder).exists():
            raise invalid("a folder that does not exist yet", folder=str(folder))
        data, page = map(_named, _of_class(SAVED, self))
        with above("folder")(Path(folder)) as place:
            page(data(self, place), place)


def above(what: str) -> Callable[..., Any]:
    """Function of a higher layer, by its key in `ABOVE`."""
    return _named(ABOVE[what])


def _named(function: str) -> Callable[..., Any]:
    module, _, name = function.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def _of_class(table: dict[str, Any], value: object) -> Any:
    """Table entry of the value's class, or of the nearest base with an entry."""
    return next(table[each.__name__] for each in type(value).__mro__ if each.__name__ in table)
