"""Errors of the library.

Every message names the parameter, the condition it must meet and the value it had. A message never contains a person's
answer, a permutation or a key.
"""

from collections.abc import Mapping
from typing import Any


class ShuffleDPError(Exception):
    """Base class of every error that the library raises on purpose."""


class InvalidParameterError(ShuffleDPError, ValueError):
    """Argument outside the range that its docstring states."""


class HypothesisError(InvalidParameterError):
    """Hypothesis that fails for a theorem requested by name."""


class UnsupportedModelError(ShuffleDPError, NotImplementedError):
    """Combination of models for which no privacy statement is known.

    Neither that it is private is known, nor that it is not.
    """


class ContradictionError(ShuffleDPError, RuntimeError):
    """Upper bound below a lower bound, which is a bug of the library; the message names both theorems.

    It is never a mistake of the caller.
    """


class IncomparableError(ShuffleDPError, TypeError):
    """Comparison of statements of different kinds, such as a bound and an estimate."""


class InputDataError(ShuffleDPError, ValueError):
    """Unusable table or file of answers; the message gives places and counts, never contents."""


class MissingColumnError(InputDataError):
    """Table without a column that the task names."""


class BatchTooSmallError(InputDataError):
    """Fewer reports than the task's minimum batch."""


class IncompleteSumError(InputDataError):
    """Missing or spoiled message in a sum that is released exactly or not at all."""


class SpoiltReportsError(InputDataError):
    """Opened reports from which no release can be made, now or by a second attempt.

    A second attempt would find the same reports.

    Args:
        message: the reason, in a sentence.
        statement: content of the ``statement.json`` that says so.
    """

    def __init__(self, message: str, statement: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.statement = statement


class BudgetExceededError(ShuffleDPError, RuntimeError):
    """Release above a privacy ledger's cap, or above the number its task promises; refused before anybody is asked."""


class LocalProtocolError(ShuffleDPError, RuntimeError):
    """Call that the protocol does not allow in its present state."""


class RemoteProtocolError(ShuffleDPError, RuntimeError):
    """Message of another party that the protocol does not allow."""


class UnreachableError(RemoteProtocolError):
    """Party that does not answer, or asks to come again; nothing is lost, and the same call may succeed later."""


class MalformedMessageError(RemoteProtocolError):
    """Bytes that are not a valid message; the error shows none of the bytes."""


class UndecryptableReportError(RemoteProtocolError):
    """Report that was sealed to another key, collection or column, or changed after it was sealed."""


class AgreementError(ShuffleDPError, RuntimeError):
    """Disagreement of a sum's hosts about the people with complete shares; nothing is released.

    Hosts that keep their shares back raise it too.
    """


class EngineError(ShuffleDPError, RuntimeError):
    """Failure of the cluster that runs a job, or of one of the job's tasks; the error shows no data."""
