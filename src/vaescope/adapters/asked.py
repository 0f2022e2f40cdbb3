"""What the user says of a model, in place of what would be inferred."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from vaescope.adapters.output_format import LIKELIHOODS, OUTPUTS, Range
from vaescope.adapters.posterior_format import LAYOUTS, SPREADS
from vaescope.errors import UsageError

__all__ = ["Asked"]


@dataclass(frozen=True, eq=False)
class Asked:
    """What the user said; None: infer it.

    `likelihood` is a name or a function of the decoder's output, `prior` one of our priors (names
    are turned into one before), `condition` an array with one row for each example, or False:
    nothing.
    """

    posterior: str | None = None
    output: str | None = None
    value_range: Range | None = None
    likelihood: Any = None
    prior: Any = None
    condition: Any = None
    lengths: Any = None  # of sequences that are padded
    batch_axis: int | None = None  # where the model has its batches
    scored: Any = None  # which values of the data are
    kind: str | None = None  # of the data; None: images where they have the shape of some
    #: True where `condition=False` says that the model was trained without what it may be given.
    unconditional: bool | None = None

    def __post_init__(self) -> None:
        if self.output == "values":  # pixels are the values of images
            object.__setattr__(self, "output", "pixels")
        if self.condition is False:
            object.__setattr__(self, "condition", None)
            object.__setattr__(self, "unconditional", True)

    @property
    def anything(self) -> bool:
        """Whether the user said something."""
        return any(getattr(self, field.name) is not None for field in fields(self))

    def layout(self) -> str | None:
        return self._word(LAYOUTS)

    def spread(self) -> str | None:
        return self._word(SPREADS)

    def _words(self) -> list[str]:
        return [] if self.posterior is None else self.posterior.split(",")

    def _word(self, table: Mapping[str, Any]) -> str | None:
        return next((word for word in self._words() if word in table), None)

    def check(self) -> None:
        """Raises UsageError where a word is unknown or says two things."""
        unknown = [word for word in self._words() if word not in (*LAYOUTS, *SPREADS, "auto")]
        if unknown:
            raise UsageError(
                f"posterior={self.posterior!r} is not known.",
                f"Give one of {', '.join(LAYOUTS)}, one of {', '.join(SPREADS)}, or both with a "
                "comma, e.g. interleaved,logvar.",
            )
        for table in (LAYOUTS, SPREADS):
            if len(said := [word for word in self._words() if word in table]) > 1:
                raise UsageError(
                    f"posterior={self.posterior!r} names {' and '.join(said)}.", "Give one of them."
                )
        if self.output not in (None, *OUTPUTS):
            raise UsageError(
                f"output={self.output!r} is not known.", f"Use one of values, {', '.join(OUTPUTS)}."
            )
        if isinstance(self.likelihood, str):
            family, _, number = self.likelihood.partition(":")
            if family not in LIKELIHOODS or (number and not _positive(number)):
                raise UsageError(
                    f"likelihood={self.likelihood!r} is not known.",
                    f"Use one of {', '.join(LIKELIHOODS)}; a number follows a colon, as in "
                    "gaussian:0.01 (a variance) or laplace:0.1 (a scale).",
                )
        if self.batch_axis not in (None, 0, 1):
            raise UsageError(
                f"batch_axis={self.batch_axis} is not possible.",
                "Use 0, or 1 if the model takes time first.",
            )
        ends = self.value_range
        if ends is not None and (len(ends) != 2 or not ends[0] < ends[1]):
            raise UsageError(
                f"value_range={ends} is not a range.", "Give two numbers, the lower end first."
            )


def _positive(number: str) -> bool:
    try:
        return float(number) > 0
    except ValueError:
        return False
