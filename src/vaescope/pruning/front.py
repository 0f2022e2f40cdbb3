"""`vs.prune`: a run or anybody's model without its passive latents."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vaescope.adapters import Asked, Model, Posterior, adapt
from vaescope.adapters.codes import encode_model
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.distributions import DiagonalGaussian
from vaescope.errors import UsageError
from vaescope.inspection.front import as_data
from vaescope.pruned import Origin, Pruned
from vaescope.pruning.change import ROWS, Side, change_of
from vaescope.pruning.result import Change, Pruning, plan_of, pruning_of
from vaescope.pruning.run import prune_run
from vaescope.runs import Run
from vaescope.seeds import derive

__all__ = ["prune"]

_log = logging.getLogger("vaescope")
PROBED = 256  # images on which readings are tried
REMEMBERED = 16  # of these, kept to read copies of the pruned module


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
) -> Pruning:
    """Drops the passive latents of a run, or of any model that `vs.inspect` takes, and puts the
    mean of their posterior means in their place.

    Of a run, `.model` of the result is a smaller run in the folder `out`. Of a module or a pair of
    functions it is a module with `encode` and `decode` that uses their weights. Other arguments as
    for `vs.inspect`. Mixed latents stay. Where nothing is dropped `.model` is what was given and
    `.reason` says why. What was measured says nothing of data unlike these.
    """
    if isinstance(model, str | Path):
        model = Run(Path(model))
    given = None if data is None else as_data(data)
    if isinstance(model, Run):
        if encode or decode or posterior or output or value_range:
            raise UsageError(
                "A run says itself what its outputs mean.", "Leave posterior, output and range out."
            )
        if out is None:
            raise UsageError("A pruned run needs a folder.", 'Pass out="folder".')
        return prune_run(model, Run(Path(out)), given)
    if out is not None:
        raise UsageError(
            "Only a run is written to a folder.",
            "Leave out= away: the pruned module is in .model of the result.",
        )
    if given is None:
        raise UsageError(
            "A model that is no run does not know its data.",
            "Pass images: vs.prune(model, images), or encode=, decode= and data=.",
        )
    asked = Asked(posterior, output, value_range)
    return _prune_model(model, given, encode=encode, decode=decode, asked=asked)


def _prune_model(
    model: Any,
    data: Dataset,
    *,
    encode: Callable[[Tensor], Any] | None,
    decode: Callable[[Tensor], Any] | None,
    asked: Asked,
) -> Pruning:
    rows = data.sample(ROWS, seed=0)
    few = rows[np.linspace(0, len(rows) - 1, min(PROBED, len(rows))).astype(np.int64)]
    probes = torch.from_numpy(data.rows(few)).float()
    read = adapt(model, probes, encode=encode, decode=decode, asked=asked)
    for one in read.inferred:
        _log.info("%s", one)
    codes, maps = encode_model(read, data, index=rows)
    _refuse(read, codes, maps is not None)
    plan = plan_of(codes)
    if not plan.dropped:
        return pruning_of(plan, Change(0.0, 0.0, 0.0, 0), model)
    told = _told(read)
    with read.evaluating():
        small = Pruned(
            Origin(model, encode, decode, told, probes[:REMEMBERED]), read,
            torch.tensor(plan.kept, device=read.device),
            torch.from_numpy(plan.constants).float().to(read.device),
        )  # fmt: skip
        change = change_of(
            _before(read, plan.latents), _after(small, read, told), plan.kept, plan.latents,
            data, rows, device=read.device,
            generator=torch.Generator().manual_seed(derive(0, "prune")),
        )  # fmt: skip
    return pruning_of(plan, change, small)


def _refuse(read: Model, codes: Codes, maps: bool) -> None:
    if maps:
        raise UsageError(
            f"The latents of {read.name} are maps: dropping a channel is not what pruning does.",
            "Look at its channels with vs.inspect.",
        )
    if codes.covariance is not None:
        raise UsageError(
            f"The latents of {read.name} share their noise (full covariance), so that one cannot "
            "be dropped without changing the others.",
            "Prune a model whose posterior is diagonal.",
        )


def _told(read: Model) -> Asked:
    """What was read, as one would ask for it: a copy is then read in the same way."""
    found = {one.what: one.read for one in read.inferred}
    ends = tuple(map(float, found["value_range"].split(","))) if "value_range" in found else None
    return Asked(
        found["posterior"].removesuffix(",none"),
        found["output"],
        None if ends is None else (ends[0], ends[1]),
    )


def _gaussian(q: Posterior) -> DiagonalGaussian:
    return DiagonalGaussian(q.mean, q.variance.log())


def _standard(latents: int, device: torch.device) -> Callable[[Any], DiagonalGaussian]:
    zero = torch.zeros(1, latents, device=device)
    return lambda _: DiagonalGaussian(zero, zero)


def _before(read: Model, latents: int) -> Side:
    return Side(
        lambda x, _: _gaussian(read.encode(x)), read.decode, _standard(latents, read.device)
    )


def _after(small: Pruned, read: Model, told: Asked) -> Side:
    """The pruned module as its user has it: images go in as the model takes them."""
    low, high = told.value_range or (0.0, 1.0)
    return Side(
        lambda x, _: _gaussian(small.encode(low + (high - low) * x)),
        lambda z: read.likelihood(small.decode(z)),
        _standard(len(small.places), read.device),
    )
