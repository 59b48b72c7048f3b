"""The directory of members who pass on a collection's reports, given by its digest and size."""

from dataclasses import dataclass
from typing import ClassVar

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.survey.section import require_sha256
from shuffledp.survey.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDirectory(Described):
    """A directory of members, fixed by its digest; directory and task together fix the contacts of each member.

    Args:
        sha256: of the directory's file, in hexadecimal.
        people: how many members there are.
    """

    title: ClassVar[str] = "directory"
    sha256: str
    people: int

    def __post_init__(self) -> None:
        require_sha256(sha256=self.sha256)
        validate.integer_at_least(2, people=self.people)

    def check_fits(self, task: Task) -> None:
        """Refuse a task whose reports the members could not pass on in one common way.

        Raises:
            InvalidParameterError: for a task without walks, of several columns or files, of walks that lose reports or
                add any, or whose rounds or graph not everybody would find alike; or with an overlay, or a smallest
                batch, that does not fit the members.
        """
        task.shuffler.check_members(task)
        if self.people < task.release.minimum_batch:
            raise validate.invalid(f"at least minimum_batch={task.release.minimum_batch}", people=self.people)
        try:
            task.shuffler.of_people(self.people)
        except InvalidParameterError as error:
            reason = str(error)
        else:
            return
        raise InvalidParameterError(f"[shuffler] must fit the {self.people} members of the directory: {reason}")
