"""The errors of the library.

Every message names the parameter, the condition it must meet and the value it had. A message never contains a person's
answer, a permutation or a key.
"""

__all__ = [
    "BatchTooSmallError",
    "HypothesisError",
    "IncomparableError",
    "InputDataError",
    "InvalidParameterError",
    "LocalProtocolError",
    "RemoteProtocolError",
    "ShuffleDPError",
    "UnsupportedModelError",
]


class ShuffleDPError(Exception):
    """Base class of every error that the library raises on purpose."""


class InvalidParameterError(ShuffleDPError, ValueError):
    """An argument is outside the range that its docstring states."""


class HypothesisError(InvalidParameterError):
    """A theorem was asked for by name, and one of its hypotheses does not hold."""


class UnsupportedModelError(ShuffleDPError, NotImplementedError):
    """Nothing is known about this combination: neither that it is private nor that it is not."""


class IncomparableError(ShuffleDPError, TypeError):
    """Two statements of different kinds (a bound and an estimate, say) were compared as if equal."""


class InputDataError(ShuffleDPError, ValueError):
    """A table or file of answers cannot be used; the message gives places and counts, never contents."""


class BatchTooSmallError(InputDataError):
    """Fewer reports than the smallest batch that the task allows to be released."""


class LocalProtocolError(ShuffleDPError, RuntimeError):
    """The caller did something that the protocol does not allow in its present state."""


class RemoteProtocolError(ShuffleDPError, RuntimeError):
    """The other party sent something that the protocol does not allow."""
