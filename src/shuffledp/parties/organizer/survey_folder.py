"""Files of a survey in one folder: key, task, collection, page, link and release."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import written
from shuffledp.core.validate import invalid
from shuffledp.files.key_files import read_key, write_key
from shuffledp.files.writing import new_folder
from shuffledp.parties.client.link_codes import link_code
from shuffledp.parties.client.printed_page import poster
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.service.fetched_release import RELEASE
from shuffledp.parties.wire.keys import AnalyzerKey, PrivateKey, ShufflerKey
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Task, WebPage
from shuffledp.survey.survey_terms import SurveyTerms

_ANALYST_KEY, _OPERATOR_KEY = "analyst.key", "operator.key"
_COLLECTION, _TASK, _POSTER, _INVITATIONS = "survey.collection", "task.toml", "print.html", "invitations"
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class SurveyFolder:
    """Folder of one survey.

    Its reader can read the release, and no more about a person than the release tells.

    Args:
        path: the folder.
    """

    path: Path

    @property
    def collection_file(self) -> Path:
        """Collection file, for people's programs and for the other parties."""
        return self.path / _COLLECTION

    @property
    def page_file(self) -> Path:
        """Page on which people answer."""
        return WebPage.beside(self.collection_file)

    @property
    def code_file(self) -> Path:
        """File with the QR code of the page's link."""
        return self.collection_file.with_suffix(".svg")

    @property
    def poster_file(self) -> Path:
        """Sheet to print, with the question, the code and the link."""
        return self.path / _POSTER

    @property
    def invitations(self) -> Path:
        """Folder of the invitations, if people answer by invitation."""
        return self.path / _INVITATIONS

    @property
    def release(self) -> Path:
        """Folder of the release, which may not exist yet."""
        return self.path / RELEASE

    def read(self) -> Collection:
        """Collection of the survey.

        Raises:
            InvalidParameterError: if the folder is none of a survey.
        """
        if not self.collection_file.is_file():
            raise InvalidParameterError(
                f"FOLDER must be one that `shuffledp survey new` made; got {self.path}, which has no {_COLLECTION}."
            )
        return Collection.read(self.collection_file)

    def analyst_key(self) -> AnalyzerKey:
        """Private key that opens the reports."""
        key = read_key(self.path / _ANALYST_KEY)
        if not isinstance(key, AnalyzerKey):
            raise InvalidParameterError(f"{_ANALYST_KEY} must be the analyst's key; it is another party's.")
        return key

    def operator_key(self) -> ShufflerKey:
        """Private key of the shuffler, if one operator runs all parties."""
        key = read_key(self.operator_key_file)
        if not isinstance(key, ShufflerKey):
            raise InvalidParameterError(f"{_OPERATOR_KEY} must be the shuffler's key; it is another party's.")
        return key

    @property
    def operator_key_file(self) -> Path:
        """File of the shuffler's private key, if one operator runs all parties."""
        return self.path / _OPERATOR_KEY

    def new_operator_key(self) -> PublishedKey:
        """Write a new shuffler key into the folder, and return its public part."""
        return _new_key(self.operator_key_file, ShufflerKey.generate())


@dataclass(frozen=True, slots=True)
class Setting:
    """Setting of a survey: functions that make its collection, place its page, and take the last steps.

    Args:
        collection: makes the collection from its task, the analyst's public key and the folder.
        page_at: address of the page of a collection.
        then: called with the folder when all files are in it; if it fails, there is no folder.
        reserve: called before that with the collection; reserves its release in a privacy ledger, if there is one.
    """

    collection: Callable[[Task, PublishedKey, SurveyFolder], Collection]
    page_at: Callable[[Collection], str]
    then: Callable[[SurveyFolder], None] = lambda _: None
    reserve: Callable[[Collection], None] = lambda _: None


def new_survey(terms: SurveyTerms, output: Path, setting: Setting) -> SurveyFolder:
    """Folder of a new survey, made as a whole or not at all, for its owner alone.

    Args:
        terms: what is asked.
        output: folder to make.
        setting: who does what.

    Raises:
        InvalidParameterError: if the folder exists, or the task does not fit.
    """
    if output.exists():
        raise invalid("a folder that does not exist yet", output=str(output))
    with new_folder(output, is_ours=lambda _: False) as folder:
        os.chmod(folder, _PRIVATE)
        made = SurveyFolder(folder)
        (folder / _TASK).write_text(terms.task_file(), encoding="utf-8")
        analyst = _new_key(folder / _ANALYST_KEY, AnalyzerKey.generate())
        collection = setting.collection(Task.read(folder / _TASK), analyst, made)
        collection, page = with_page(collection, setting.page_at(collection))
        made.page_file.write_bytes(page)
        if collection.issuer is None:
            made.code_file.write_bytes(link_code(collection.page.link if collection.page else ""))
            made.poster_file.write_text(poster(collection), encoding="utf-8")
        made.collection_file.write_bytes(collection.canonical + b"\n")
        setting.reserve(collection)
        setting.then(made)
    return SurveyFolder(output)


def _new_key(file: Path, key: PrivateKey) -> PublishedKey:
    published = PublishedKey.of(key, active_from=written(datetime.now(UTC)))
    write_key(file, key, published)
    return published
