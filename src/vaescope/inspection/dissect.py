"""The dissection of a model whose codes are there: geometry, fit, traversals, verdicts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.adapters.codes import Maps
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.distributions import Distribution
from vaescope.errors import VaescopeError
from vaescope.geometry.overview import KEYS, Overview, overview
from vaescope.inspection.codes import inspect_codes
from vaescope.inspection.effort import Effort
from vaescope.inspection.first_layer import first_layer_norms
from vaescope.inspection.fit import LogPrior, fit_of
from vaescope.inspection.layers import network_of
from vaescope.inspection.results import Inspection, Subject, Training
from vaescope.traversals import Reconstructions, central, reconstruct, traverse
from vaescope.types import Floats, Integers
from vaescope.verdicts import judge

__all__ = ["PARTS", "Anatomy", "Progress", "dissect", "silent"]

CPU = torch.device("cpu")
SHOWN = 12  # examples beside their reconstructions

#: Told before each part, by its name.
Progress = Callable[[str], None]
PARTS = ("codes", "measures", "geometry", "fit", "pictures")


def silent(_: str) -> None:
    """For those who do not watch."""


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A model opened up: codes of some rows of the data, and functions on latents."""

    subject: Subject
    data: Dataset
    rows: Integers  # of the codes
    codes: Codes
    decode: Callable[[Tensor], Distribution]  # of codes as they are in `codes`
    latents: Callable[[Integers], Floats]  # places in the codes -> means for `decode_latents`
    decode_latents: Callable[[Tensor], Distribution]
    log_prior: LogPrior
    module: nn.Module | None = None
    device: torch.device = CPU
    closed: bool = True  # whether the prior is Gaussian, so that rates have a closed form
    maps: Maps | None = None
    beta: float | None = None
    #: For Jacobians: a decoder to tensors and what these mean, where `decode` is no module.
    raw: Callable[[Tensor], Tensor] | None = None
    likelihood: Callable[[Tensor], Distribution] | None = None
    untrained: Callable[[int], Any] | None = None


def dissect(
    model: Anatomy,
    effort: Effort,
    *,
    images: bool = True,
    training: Training | None = None,
    progress: Progress = silent,
) -> Inspection:
    """All results; what cannot be had is None, with its reason in `skipped`."""
    codes = model.codes
    progress("measures")
    found = inspect_codes(codes, model.subject, metrics=effort.metrics)
    progress("geometry")
    geometry, skipped = _geometry(model, found, effort)
    progress("fit")
    fit = fit_of(
        model.decode, model.data, codes, model.rows, effort, model.device, model.log_prior,
        closed=model.closed,
    )  # fmt: skip
    progress("pictures")
    means = _means(model.decode, model.device)
    moved = traverse(means, codes.mean[central(codes.mean)])
    network, why = network_of(model.module, moved.base) if images else (None, "")
    base = torch.from_numpy(codes.mean[:1]).float().to(model.device)
    return replace(
        found,
        verdicts=judge(
            found.latents, found.samples, factors=found.factors, measures=found.measures,
            geometry=geometry, traversals=moved, training=training, maps=model.maps,
        ),
        geometry=geometry,
        column_norm=None
        if model.maps is not None
        else first_layer_norms(model.module, model.decode, base),
        maps=model.maps,
        fit=fit,
        traversals=moved if images else replace(moved, outputs=None),
        reconstructions=_reconstructions(model) if images else None,
        network=network,
        training=training,
        skipped=skipped | ({"sliders": why} if why else {}),
    )  # fmt: skip


def _geometry(
    model: Anatomy, found: Inspection, effort: Effort
) -> tuple[Overview | None, dict[str, str]]:
    codes = model.codes
    used = sorted(latent.index for latent in found.latents if latent.type != "passive")
    if not codes.stochastic:
        used = list(range(codes.d))  # points have no types
    decode = model.decode if model.raw is None else model.raw
    try:
        return overview(
            decode, codes.mean, codes.variance, columns=used, likelihood=model.likelihood,
            weight=model.beta, untrained=model.untrained, points=effort.points, fits=effort.fits,
            nonlinear=effort.nonlinear,
        ), {}  # fmt: skip
    except (VaescopeError, RuntimeError, NotImplementedError) as error:
        # Anybody's decoder: what cannot be differentiated is left out, with the reason.
        lines = str(error).splitlines()
        return None, dict.fromkeys(KEYS, lines[0] if lines else type(error).__name__)


def _means(
    decode: Callable[[Tensor], Distribution], device: torch.device
) -> Callable[[Tensor], Tensor]:
    return lambda z: decode(z.to(device)).mean


def _reconstructions(model: Anatomy) -> Reconstructions:
    # Spread over the data, without its first and last row: grids have their corners there.
    rows, codes = model.rows, model.codes
    few = np.unique(np.linspace(0, len(rows) - 1, SHOWN + 2).astype(np.int64)[1:-1])
    originals = model.data.rows(rows[few])
    decode = _means(model.decode_latents, model.device)
    return reconstruct(decode, model.latents(few), originals, rows[few], _labels(codes, rows, few))


def _labels(codes: Codes, rows: Integers, few: Integers) -> tuple[str, ...]:
    if codes.factors is None:
        return tuple(f"example {row}" for row in rows[few])
    names: Sequence[str] = codes.factor_names
    classes = codes.factors
    varies = np.flatnonzero(np.ptp(classes, axis=0)).tolist()
    return tuple(", ".join(f"{names[k]} {classes[place, k]}" for k in varies) for place in few)
