"""`vs.inspect`: anything that is a VAE, dissected."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from vaescope.data.dataset import Kind
from vaescope.errors import UsageError
from vaescope.geometry.effective_beta import check_nominal
from vaescope.inspection.dissect import PARTS, dissect
from vaescope.inspection.effort import effort_named
from vaescope.inspection.results import Inspection
from vaescope.opening import open_model
from vaescope.progress import Progress, told

__all__ = ["inspect"]


def inspect(
    model: Any = None,
    data: Any = None,
    *,
    factors: Any = None,
    encode: Callable[[Tensor], Any] | None = None,
    decode: Callable[[Tensor], Any] | None = None,
    posterior: str | None = None,
    output: str | None = None,
    value_range: tuple[float, float] | None = None,
    likelihood: Any = None,
    prior: Any = None,
    condition: Any = None,
    lengths: Any = None,
    scored: Any = None,
    batch_axis: int | None = None,
    kind: Kind | None = None,
    columns: Any = None,
    mean: Any = None,
    std: Any = None,
    nominal: float | None = None,
    effort: str = "default",
    images: bool = True,
    name: str | None = None,
    progress: Progress | bool | None = None,
) -> Inspection:
    """Dissects whatever `vs.open_model` opens, on at most 10,000 examples.

    Arguments up to `std` are those of `vs.open_model`.

    Args:
        model: a run, its folder, or any model that `vs.open_model` opens.
        data: a dataset, its name or path, or an array; None takes the run's own.
        factors: ground truth of each row: an array (n, factors), or a column for each by name.
        encode: a function of a tensor that replaces the model's own.
        decode: a function of a tensor that replaces the model's own.
        posterior: how to interpret `encode`'s outputs, e.g. `logvar`; None infers it.
        output: `probabilities`, `logits` or `pixels`; None infers it.
        value_range: range of the images that the model takes; None infers it.
        likelihood: p(x|z), e.g. `gaussian:0.01`; None infers it.
        prior: p(z), e.g. `student-t:5`; None infers it.
        condition: inputs of a conditional model other than x; False states that there are none.
        lengths: lengths of padded rows.
        scored: array of 1 where a value is scored and 0 elsewhere.
        batch_axis: axis of examples in what the model takes.
        kind: `images`, `signals` or `tokens`.
        columns: names of columns, channels or tokens.
        mean: mean that x was standardised with.
        std: standard deviation that x was standardised with.
        nominal: the beta in the training code, to compare with.
        effort: `latents`, `fast`, `default` or `thorough`.
        images: False keeps no picture, neither examples nor reconstructions.
        name: name of the model in reports.
        progress: None draws progress at a terminal and in notebooks, False draws none, and a
            function gets the name of each part.

    Returns:
        `Inspection`: all results.

    Raises:
        BusyError: another process works on the same run.
        DiskError: a folder cannot be written.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x)
        >>> inspection = vs.inspect(model, x, effort="latents")
        >>> [latent.index for latent in inspection.latents if latent.type == "passive"]
        [3, 4, 5]
    """
    size = effort_named(effort)
    if nominal is not None:
        check_nominal(nominal)
        if not size.whole:
            raise UsageError(
                f"The effort {effort!r} does not compute the effective beta.",
                "Leave out the nominal beta, or choose the effort fast, default or thorough.",
            )
    with told(progress, "inspect") as tell:
        if not callable(progress):
            tell("interpreting the model")
        opened = open_model(
            model, data, factors=factors, encode=encode, decode=decode, posterior=posterior,
            output=output, value_range=value_range,
            likelihood=likelihood, prior=prior, condition=condition, lengths=lengths,
            scored=scored, batch_axis=batch_axis, kind=kind, columns=columns, mean=mean, std=std,
            name=name, rows=size.rows,
        )  # fmt: skip

        def part(name: str) -> None:
            numbered = f"{PARTS.index(name) + 1} of {len(PARTS)}, {name}"
            tell(name if callable(progress) else numbered)

        found = dissect(opened, size, images=images, progress=part)
    if nominal is None or found.effective_beta is None:
        return found
    return replace(found, effective_beta=found.effective_beta.against(nominal))
