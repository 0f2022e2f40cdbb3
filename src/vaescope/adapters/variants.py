"""Ways to feed a model: time first or not, what it is conditioned on in each form."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from vaescope.adapters.arguments import required_of
from vaescope.adapters.asked import Asked
from vaescope.adapters.condition import ConditionInput, Form
from vaescope.adapters.inference import choose
from vaescope.adapters.output_format import Range, decoded, error_of, event_of
from vaescope.adapters.posterior_inference import line_of
from vaescope.adapters.prior_of_condition import PriorOfCondition, depends
from vaescope.adapters.reading import Reading
from vaescope.adapters.scored_values import Counting, counting_of
from vaescope.adapters.sources import Source, source_of
from vaescope.errors import ReadingError, UnreadableError, UsageError, VaescopeError

__all__ = ["Feeding", "choose_feeding"]


@dataclass(frozen=True, eq=False)
class Feeding:
    """The first way to feed a model in which it can be read, and how it is read then."""

    source: Source
    reading: Reading
    tried: int
    condition: ConditionInput | None
    form: Form | None
    batch_axis: int
    counting: Counting | None  # which values are scored; None: all
    u: Tensor | None  # of the examples that it was read on

    def like(self, values: Tensor, u: Tensor | None = None) -> Tensor | None:
        """What a batch is given beside: u, or else that of the first example."""
        if self.u is None:
            return None
        return self.u[:1].expand(values.shape[0], -1) if u is None else u


Functions = tuple[Callable[..., Any] | None, Callable[..., Any] | None]


def choose_feeding(
    model: Any, functions: Functions, x: Tensor, asked: Asked, came: Range,
    conditions: Callable[[bool], tuple[ConditionInput | None, Tensor | None]],
) -> Feeding:  # fmt: skip
    """The first feeding under which a reading works.

    `conditions` gives what the examples are conditioned on and its rows for x; with True, the data
    themselves too, which decoders may see that predict each step from the ones before. Raises the
    error of the first feeding where none works, or where one works in several ways.
    """
    problems: list[UsageError] = []
    for sees_data in (False, True):
        if sees_data and not _wants_more(model, functions):
            break
        condition, u = conditions(sees_data)
        for batch_axis in _axes(x, asked):
            for form in _forms(condition):
                source = source_of(model, *functions, form=form, batch_axis=batch_axis)
                try:
                    reading, tried = choose(source, x, u, asked, came)
                    _try_prior(asked, form, reading, x, u)
                except UsageError as error:
                    if not problems and not isinstance(error, UnreadableError):
                        raise  # as it is, it works, but in several ways or in none that is known
                    problems.append(error)
                else:
                    _refuse_idle(source, asked)
                    reading, counting = _counted(source, reading, x, u, condition, asked)
                    return Feeding(source, reading, tried, condition, form, batch_axis, counting, u)
    doubts = [one for one in problems if isinstance(one, ReadingError)
              and not isinstance(one, UnreadableError)]  # fmt: skip
    raise (doubts or problems)[0]


def _try_prior(
    asked: Asked, form: Form | None, reading: Reading, x: Tensor, u: Tensor | None
) -> None:
    """Raises UnreadableError where a prior of the condition does not take it in this form."""
    if asked.prior is None or not depends(asked.prior) or form is None:
        return
    latent = reading.opening.parts(x, u, reading.value_range).mean.shape[1]
    try:
        PriorOfCondition(asked.prior, form, latent)(u)
    except Exception as error:  # anybody's code
        if isinstance(error, VaescopeError) and "one-hot" not in form.says:
            return  # which says what it returned, and is raised where the prior is taken
        raise UnreadableError(
            f"prior= failed on the condition as {form.says or 'it is'}: {line_of(error)}.",
            "Give a function of the condition that returns torch.distributions.Normal(mean, std).",
        ) from error


def _refuse_idle(source: Source, asked: Asked) -> None:
    """A condition that no function of the model takes would be left out without a word."""
    functions = [f for _, f in (*source.encoders, *source.decoders, *source.losses)]
    functions += source.forwards
    if asked.condition is None or (asked.prior is not None and depends(asked.prior)):
        return
    if not any(getattr(f, "takes_more", True) for f in functions):
        raise UsageError(
            f"No function of {source.name} takes anything besides data and latents, so "
            "condition= would not reach it.",
            "Leave condition= out, or pass encode= and decode= as functions that take it too.",
        )


def _counted(
    source: Source, reading: Reading, x: Tensor, u: Tensor | None, condition: ConditionInput | None,
    asked: Asked,
) -> tuple[Reading, Counting | None]:  # fmt: skip
    """Which values are scored, and the reading with the error of these."""
    parts = reading.opening.parts(x, u, reading.value_range)
    counting = counting_of(source, reading, parts, x, u, condition, asked.kind)
    if counting is None:
        return reading, None
    output = reading.decoder[1](parts.mean.reshape(len(x), *reading.shape), u)
    mean = reading.likelihood.of(decoded(output, event_of(x, asked.kind))).mean
    return replace(reading, error=error_of(mean, x, counting(x, u))), counting


def _axes(x: Tensor, asked: Asked) -> tuple[int, ...]:
    if asked.batch_axis is not None:
        return (asked.batch_axis,)
    sequences = x.ndim > 2 if asked.kind == "signals" else asked.kind == "tokens"
    return (0, 1) if sequences else (0,)


def _forms(condition: ConditionInput | None) -> Iterator[Form | None]:
    if condition is None:
        yield None
    else:
        yield from condition.forms()


def _wants_more(model: Any, functions: Functions) -> bool:
    """Whether a decoder needs more than latents."""
    own = functions[1] or getattr(model, "decode", None) or getattr(model, "decoder", None)
    return callable(own) and required_of(own) > 1
