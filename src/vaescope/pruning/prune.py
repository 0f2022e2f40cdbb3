"""`vs.prune`: a run or anybody's model without its passive latents."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vaescope.adapters.condition import ConditionInput
from vaescope.data.in_memory import dataset_of
from vaescope.data.stores import Numbers
from vaescope.distributions import DiagonalGaussian, Reparameterised
from vaescope.errors import UsageError
from vaescope.models import OpenModel
from vaescope.opening import open_model
from vaescope.prior_density import SampledDensity
from vaescope.priors import as_prior
from vaescope.pruned import Pruned, asked_again
from vaescope.pruning.result import Change, Pruning, change_of, plan_of, pruning_of
from vaescope.pruning.run import prune_run
from vaescope.runs import Run
from vaescope.types import Integers

__all__ = ["prune"]

REMEMBERED = 16  # examples kept to read copies of the pruned module


def prune(
    model: Any = None,
    data: Any = None,
    *,
    out: str | Path | None = None,
    encode: Callable[[Tensor], Any] | None = None,
    decode: Callable[[Tensor], Any] | None = None,
    posterior: str | None = None,
    output: str | None = None,
    value_range: tuple[float, float] | None = None,
    likelihood: Any = None,
    prior: Any = None,
    condition: Any = None,
) -> Pruning:
    """Drops the passive latents of a run, or of any model that `vs.inspect` takes, and puts the
    mean of their posterior means in their place.

    For a run, `.model` of the result is a smaller run in the folder `out`. For a module or a pair
    of functions it is a module with `encode` and `decode` that uses their weights. Other arguments
    as for `vs.inspect`. Mixed latents stay. If nothing is dropped, `.model` is the original model
    and `.reason` says why. The measurements say nothing about data unlike these.

    Args:
        model: a run, its folder, or any model that `vs.open_model` opens.
        data: a dataset, its name or path, or an array; None takes the run's own.
        out: folder of the smaller run, if a run is pruned.
        encode: a function of a tensor that replaces the model's own.
        decode: a function of a tensor that replaces the model's own.
        posterior: how to interpret `encode`'s outputs, e.g. `logvar`; None infers it.
        output: `probabilities`, `logits` or `pixels`; None infers it.
        value_range: range of the images that the model takes; None infers it.
        likelihood: likelihood of the decoder's output, as for `vs.open_model`; None infers it.
        prior: prior of the model, as for `vs.open_model`; None infers it.
        condition: what a conditional model takes beside x, as for `vs.open_model`; the pruned
            module takes the same: `encode(x, condition)`, `decode(z, condition)`.

    Returns:
        `Pruning`: a pruned model and how much it differs; the original model if nothing was
        dropped.

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
        >>> vs.prune(model, x).dropped
        (3, 4, 5)
    """
    if isinstance(model, str | Path):
        model = Run(Path(model))
    if isinstance(model, Run) and out is None:
        raise UsageError("A pruned run needs a folder.", 'Pass out="folder".')
    if not isinstance(model, Run) and out is not None:
        raise UsageError(
            "Only a run is written to a folder.",
            "Omit out=: the pruned module is in .model of the result.",
        )
    opened = open_model(
        model, data, encode=encode, decode=decode, posterior=posterior, output=output,
        value_range=value_range, likelihood=likelihood, prior=prior, condition=condition,
    )  # fmt: skip
    if isinstance(model, Run):
        assert out is not None
        return prune_run(model, opened, Run(Path(out)))
    told = {"likelihood": likelihood, "prior": prior}
    return _prune_model(model, opened, (encode, decode), told, dropped=condition is False)


def _prune_model(
    model: Any, opened: OpenModel, functions: tuple[Any, Any], told: dict[str, Any], *,
    dropped: bool,
) -> Pruning:  # fmt: skip
    _refuse(opened)
    plan = plan_of(opened.codes)
    if not plan.dropped:
        return pruning_of(plan, Change(0.0, 0.0, 0.0, 0.0, 0), model, opened.codes)
    if isinstance(model, OpenModel) and opened.inferred:
        raise UsageError(
            f"{opened.name} is open already, and its pruned copy is made of the model itself.",
            "Pass that and its data: vs.prune(model, data).",
        )
    few = opened.rows[np.linspace(0, len(opened.rows) - 1, REMEMBERED).astype(np.int64)]
    condition = _rows_of(opened.auxiliary, few) or (False if dropped else None)
    with opened.evaluating():
        small = Pruned(
            model, functions,
            replace(asked_again(opened.inferred), condition=condition, **told),
            dataset_of(opened.data.name, Numbers(opened.data.rows(few)), None),
            torch.tensor(plan.kept, device=opened.device),
            torch.from_numpy(plan.constants).float().to(opened.device),
        )  # fmt: skip
    return pruning_of(
        plan, change_of(opened, _after(small, opened), plan.kept), small, opened.codes
    )


def _rows_of(condition: Any, rows: Integers) -> ConditionInput | None:
    """The condition of some rows, with the parts that all rows have."""
    return None if condition is None else replace(condition, values=condition.values[rows])


def _refuse(opened: OpenModel) -> None:
    if opened.maps is not None:
        raise UsageError(
            f"The latents of {opened.name} are maps: pruning does not drop channels.",
            "Look at its channels with vs.inspect.",
        )
    prior = opened.codes.prior
    if isinstance(prior, SampledDensity) and prior.d > 1:
        raise UsageError(
            f"The prior of {opened.name} is {prior.says}, and what it is of fewer latents is not "
            "known.",
            "Pass prior=normal to prune with respect to N(0, I).",
        )
    beside = opened.auxiliary
    if beside is not None and not (
        isinstance(beside, ConditionInput) and set(beside.roles) == {"condition"}
    ):
        raise UsageError(
            f"{opened.name} takes lengths, a mask or the data themselves beside its latents, which "
            "a pruned module would not get.",
            "Pass encode= and decode= that fill them in.",
        )
    if opened.codes.covariance is not None:
        raise UsageError(
            f"The latents of {opened.name} share their noise (full covariance), so one cannot be "
            "dropped without changing the others.",
            "Prune a model whose posterior is diagonal.",
        )


def _after(small: Pruned, opened: OpenModel) -> OpenModel:
    """The pruned module as its user has it: images go in as the model takes them."""
    low, high = small.value_range

    def encode(x: Tensor, u: Tensor | None) -> Reparameterised:
        q = small.encode(low + (high - low) * x, u)
        return DiagonalGaussian(q.mean, q.variance.log())

    kept = small.places.argmax(1).cpu().numpy()
    prior = as_prior(opened.codes.prior.columns(kept), len(kept)).to(opened.device)
    return replace(
        opened, encode=encode, decoder=small.decode, prior=prior, untrained=None,
        density=lambda z, u: small.read.decode(small.whole(z), u),
    )  # fmt: skip
