"""What can go wrong, each said in three parts: what was got, what was wanted, what to do."""

__all__ = [
    "BusyError",
    "DataError",
    "DiskError",
    "ExportError",
    "Interrupted",
    "NonFiniteError",
    "RangeError",
    "ReadingError",
    "RunError",
    "ShapeError",
    "UnreadableError",
    "UsageError",
    "VaescopeError",
]


class VaescopeError(Exception):
    """Base of all errors meant for users; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(
            message, remedy
        )  # all of it: other processes send errors as their arguments
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


class UsageError(VaescopeError):
    """A name, key or value that cannot be understood: exit code 2."""


class ReadingError(UsageError):
    """A model whose outputs can be read in several ways, or in none; `tried` has them all."""

    def __init__(self, message: str, remedy: str, tried: tuple[str, ...] = ()) -> None:
        super().__init__(message, remedy)
        self.args = (message, remedy, tried)
        self.tried = tried


class UnreadableError(ReadingError):
    """A model of which no reading works at all: another way to feed it may."""


class UnscoredError(ReadingError):
    """A model whose posterior is read, but not how the data are scored."""


class ShapeError(VaescopeError):
    """An array of the wrong shape or type."""


class RangeError(VaescopeError):
    """Values outside the range that a likelihood or a loader allows."""


class DataError(VaescopeError):
    """A data file that is missing, truncated or not what its name says."""


class RunError(VaescopeError):
    """A run folder that cannot be read or does not fit the command."""


class BusyError(VaescopeError):
    """Another process works on the same run."""


class DiskError(VaescopeError):
    """A folder that cannot be written, or a full disk."""


class ExportError(VaescopeError):
    """A model that cannot be written for another program, or would not be the same there."""


class Interrupted(VaescopeError):
    """A signal came; what was under way is saved. Exit code 128 + signal."""

    def __init__(self, message: str, remedy: str, signal: int) -> None:
        super().__init__(message, remedy)
        self.args = (message, remedy, signal)
        self.signal = signal


class NonFiniteError(VaescopeError):
    """A loss term became NaN or infinite."""
