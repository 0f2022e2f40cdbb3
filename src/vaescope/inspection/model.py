"""Dissects somebody else's model on images that its owner gives."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.adapters import Asked, Model, adapt
from vaescope.adapters.codes import encode_model
from vaescope.data import Dataset
from vaescope.distributions import DiagonalGaussian
from vaescope.geometry import reinitialised
from vaescope.inspection.dissect import Anatomy, Progress, dissect, silent
from vaescope.inspection.effort import effort_named
from vaescope.inspection.results import Inspection, Subject
from vaescope.pruned import Pruned
from vaescope.traversals import central
from vaescope.types import Floats, Integers
from vaescope.vae import as_input

__all__ = ["inspect_model"]

PROBED = 256  # images on which readings are tried


def inspect_model(
    model: Any,
    data: Dataset,
    *,
    encode: Callable[[Tensor], Any] | None = None,
    decode: Callable[[Tensor], Any] | None = None,
    asked: Asked = Asked(),  # noqa: B008 - frozen
    name: str | None = None,
    effort: str = "default",
    images: bool = True,
    progress: Progress = silent,
) -> Inspection:
    """Reads the model, encodes at most 10,000 rows of the data, and dissects it."""
    size = effort_named(effort)
    rows = data.sample(size.rows, seed=0)
    probes = data.rows(rows[np.linspace(0, len(rows) - 1, min(PROBED, len(rows))).astype(np.int64)])
    read = adapt(
        model, torch.from_numpy(probes).float(), encode=encode, decode=decode, asked=asked,
        name=name,
    )  # fmt: skip
    progress("codes")
    codes, maps = encode_model(read, data, index=rows)
    with read.evaluating():
        opened = Anatomy(
            _subject(read, data, codes.d, codes.n), data, rows, codes, read.decode,
            latents=lambda places: codes.mean[places], decode_latents=read.decode,
            log_prior=_standard, module=read.module, device=read.device, maps=maps,
            raw=read.raw, likelihood=read.likelihood,
            untrained=_untrained(model, decode, read, data),
        )  # fmt: skip
        if maps is not None:
            opened = _by_channel(opened, read)
    with _gradients(read):
        found = dissect(opened, size, images=images, progress=progress)
    return replace(found, inferred=read.inferred)


def _gradients(read: Model) -> Any:
    # Jacobians need what `evaluating` turns off; every other part turns it off itself.
    return read.evaluating(gradients=True)


def _standard(z: Tensor, _: Integers) -> Tensor:
    return DiagonalGaussian(torch.zeros_like(z), torch.zeros_like(z)).log_prob(z)


def _subject(read: Model, data: Dataset, d: int, n: int) -> Subject:
    return Subject(
        read.name, data.name, n, len(data), f"{read.name} with {d} latents, brought by you."
    )


def _untrained(
    model: Any, decode: Callable[[Tensor], Any] | None, read: Model, data: Dataset
) -> Callable[[int], Callable[[Tensor], Tensor]] | None:
    """The same decoder from new weights: only a module can be initialised anew."""
    if not isinstance(model, nn.Module) or decode is not None:
        return None
    if isinstance(model, Pruned) and model.of_functions:
        return None
    probes = torch.from_numpy(data.rows(np.arange(min(len(data), 2)))).float()
    told = {one.what: one.read for one in read.inferred}
    asked = Asked(told["posterior"].removesuffix(",none"), told["output"])

    def anew(seed: int) -> Callable[[Tensor], Tensor]:
        fresh = reinitialised(model, seed).eval()
        return adapt(fresh, probes, asked=asked).raw

    return anew


def _by_channel(opened: Anatomy, read: Model) -> Anatomy:
    """Codes of maps are spatial means: a decoder of these moves whole channels of the maps of a
    typical example."""
    place = central(opened.codes.mean)

    def maps_at(places: Integers) -> Floats:
        with read.evaluating():
            x = as_input(opened.data.rows(opened.rows[places]), read.device)
            return np.asarray(read.encode(x).mean.float().cpu().numpy())

    field = torch.from_numpy(maps_at(np.array([place]))).to(read.device)
    centre = field.mean(tuple(range(2, field.ndim)))

    def raw(z: Tensor) -> Tensor:
        moved = (z - centre).reshape(*z.shape, *(1,) * (field.ndim - 2))
        return read.raw(field + moved)

    return replace(
        opened, decode=lambda z: read.likelihood(raw(z)), raw=raw, latents=maps_at, untrained=None
    )
