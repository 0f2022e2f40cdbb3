"""The dissection of an open model: measures, geometry, fit, traversals, verdicts."""

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.adapters.likelihoods import Counted
from vaescope.adapters.output_format import error_of
from vaescope.codes import Codes, central, own_widths
from vaescope.distributions import Distribution
from vaescope.errors import VaescopeError
from vaescope.geometry.effective_beta import EffectiveBeta, effective_beta_of, unreadable
from vaescope.geometry.overview import KEYS, Overview, overview
from vaescope.geometry.torch_threads import one_thread_spared
from vaescope.importance_sampling import importance_bounds
from vaescope.inspection.closer_look import closer_look
from vaescope.inspection.codes import describe_codes, judged
from vaescope.inspection.decoder_names import DecoderName, decoder_names
from vaescope.inspection.effort import Effort
from vaescope.inspection.gallery import Gallery, gallery_of
from vaescope.inspection.layers import network_of
from vaescope.inspection.learnt import strips_along
from vaescope.inspection.results import Fit, Inspection, Settings, Subject, Training
from vaescope.latents import types
from vaescope.latents.unused import unused_units
from vaescope.marginal_likelihood import LogLikelihood, log_likelihood_of
from vaescope.models import OpenModel
from vaescope.objectives.unused import rate_law
from vaescope.progress import Progress
from vaescope.specs import Experiment, to_dict
from vaescope.traversals import Decode, Reconstructions, Traversals, reconstruct, traverse
from vaescope.types import Double, Floats, Integers, Long

__all__ = ["PARTS", "dissect", "first_layer_norms", "prior_units", "silent", "training_of"]

SHOWN = 12  # examples beside their reconstructions

PARTS = ("codes", "measures", "geometry", "fit", "pictures")


def silent(_: str) -> None:
    """For those who do not watch."""


def dissect(
    model: OpenModel, effort: Effort, *, images: bool = True, progress: Progress = silent
) -> Inspection:
    """All results; what is missing is None, with its reason in `skipped`."""
    progress("codes")
    codes, spec = model.codes, model.spec
    subject = Subject(
        model.name, model.data.name, codes.n, len(model.data), model.says, model.data.kind,
        model.data.columns,
    )  # fmt: skip

    def described() -> Inspection:
        return replace(
            describe_codes(codes, subject, metrics=effort.metrics, measured=effort.whole),
            maps=model.maps,
            training=training_of(model.records, spec),
            settings=None if spec is None else Settings(to_dict(spec), model.environment),
            notes=model.notes,
            inferred=model.inferred,
        )

    if not effort.whole:
        return judged(described())
    progress("measures")
    if model.undecoded:
        parts = (*KEYS, "fit", "traversals", "reconstructions")
        return judged(replace(described(), skipped=dict.fromkeys(parts, model.undecoded)))
    # Codes are NumPy's and the decoder is torch's: neither waits for the other. Filters of warnings
    # belong to no thread: two that change them at once would leave the wrong ones behind.
    with warnings.catch_warnings(), ThreadPoolExecutor(1) as beside:
        measured = beside.submit(described)
        with model.evaluating(gradients=True):  # for Jacobians; other parts switch them off
            whole, moved = _decoded(model, effort, measured.result, images, progress)
    verdicts = judged(whole)
    return verdicts if images else replace(verdicts, traversals=replace(moved, outputs=None))


def _decoded(
    model: OpenModel,
    effort: Effort,
    measured: Callable[[], Inspection],
    images: bool,
    progress: Progress,
) -> tuple[Inspection, Traversals]:
    """What needs the decoder, together with what `measured` returns at last; the traversals as the
    decoder has them."""
    codes = model.codes
    with one_thread_spared():
        progress("geometry")
        geometry, skipped = _geometry(model, effort)
        progress("fit")
        likelihood, unweighed = _log_likelihood(model, effort)
        fit = _fit(model, effort, likelihood)
        weight = _effective_beta(model, effort)
        closer = closer_look(model) if effort.closer else None
        progress("pictures")
        decode = _means(model.decode_codes, model.device)
        centre, scale = prior_units(codes)
        typical = codes.mean[central((codes.mean - centre) / scale)]
        moved = traverse(decode, typical, centre=centre, scale=scale)
        network, why = None, ""
        if images:
            network, why = network_of(
                _decoder_module(model), moved.base, centre, scale, decode=decode
            )
        norms = None
        if model.maps is None:
            base = torch.from_numpy(codes.mean[:1]).float().to(model.device)
            norms = first_layer_norms(model.module, model.decode, base)
        unexplained = _unexplained(model)
        reconstructions = _reconstructions(model) if images else None
    found = measured()
    whole = replace(
        found,
        geometry=geometry,
        column_norm=norms,
        fit=fit,
        log_likelihood=likelihood,
        closer_look=closer,
        effective_beta=weight,
        unexplained=unexplained,
        traversals=_unscaled(model, moved),
        axes=strips_along(found, decode, moved, centre, scale) if images else {},
        seen=_seen(model, found, decode, centre, scale) if images else {},
        reconstructions=reconstructions,
        gallery=_gallery(model, found, moved, decode) if images else None,
        network=network,
        skipped=skipped | unweighed | ({"sliders": why} if why else {}),
    )
    return whole, moved


@torch.no_grad()
def _unexplained(model: OpenModel, *, most: int = 512) -> float | None:
    """Squared error of reconstructions at posterior means over that of the mean example; of tokens,
    the error of their probabilities."""
    places = np.unique(np.linspace(0, len(model.rows) - 1, most).astype(np.int64))
    x = model.x(model.rows[places])
    if not bool((x != x[:1]).any()):
        return None
    parts = [_likelihood(model, places[i : i + 128]) for i in range(0, len(x), 128)]
    means = torch.cat([part.mean for part in parts])
    counted = [part.counted(some) for part, some in zip(parts, torch.split(x, 128), strict=True)
               if isinstance(part, Counted)]  # fmt: skip
    return error_of(means, x, torch.cat(counted) if counted else None)


def _likelihood(model: OpenModel, places: Integers) -> Distribution:
    """p(x|z) of some rows at their posterior means, each with its own u."""
    z = torch.from_numpy(model.latents(places)).float().to(model.device)
    return model.decode(z, model.u(model.rows[places]))


def prior_units(codes: Codes) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the prior, over all examples where it depends on them; that of
    an unused latent where it has none."""
    if codes.prior.standard:
        return np.zeros(codes.d), np.ones(codes.d)
    mean, variance = (np.atleast_2d(own) for own in (codes.prior.mean, codes.prior.variance))
    whole = variance.mean(axis=0) + mean.var(axis=0)
    unused = np.atleast_2d(unused_units(codes)).mean(axis=0)
    return mean.mean(axis=0), np.sqrt(np.where(np.isfinite(whole), whole, unused))


def _decoder_module(model: OpenModel) -> nn.Module | None:
    """The decoder alone where it is a module, else all of the model."""
    return model.decoder if isinstance(model.decoder, nn.Module) else model.module


def _geometry(model: OpenModel, effort: Effort) -> tuple[Overview | None, dict[str, str]]:
    codes = model.codes
    used = list(range(codes.d))
    if codes.stochastic:  # points have no types
        used = [j for j, name in enumerate(types(codes).names) if name != "passive"]
    centre, scale = prior_units(codes)
    try:
        return overview(
            model.decoder_of_codes, codes.mean, codes.variance, columns=used,
            likelihood=model.likelihood, **_law(model), centre=centre, scale=scale,
            points=effort.points,
            untrained=None if model.maps is not None else model.untrained, fits=effort.fits,
            nonlinear=effort.nonlinear,
        ), {}  # fmt: skip
    except (VaescopeError, RuntimeError, NotImplementedError) as error:
        # Anybody's decoder: what cannot be differentiated is left out, with the reason.
        lines = str(error).splitlines()
        return None, dict.fromkeys(KEYS, lines[0] if lines else type(error).__name__)


def _log_likelihood(
    model: OpenModel, effort: Effort
) -> tuple[LogLikelihood | None, dict[str, str]]:
    if not effort.pilot:
        return None, {}
    try:
        return log_likelihood_of(
            model, examples=effort.weighted, draws=effort.draws, pilot=effort.pilot
        ), {}
    except VaescopeError as error:
        return None, {"log_likelihood": error.message}


def _effective_beta(model: OpenModel, effort: Effort) -> EffectiveBeta:
    try:
        return effective_beta_of(model, rows=effort.weighed, draws=4)
    except (VaescopeError, RuntimeError, NotImplementedError) as error:
        # Anybody's decoder: one without a gradient has no weight to be read.
        lines = str(error).splitlines()
        return unreadable(lines[0] if lines else type(error).__name__)


def _law(model: OpenModel) -> dict[str, Any]:
    """What the law of posterior variances needs to know of objective and prior."""
    if model.objective is None or model.unused is None:
        return {"reason": "the objective is not known"}
    weight, reason = rate_law(model.objective, model.prior, step=model.experiment.steps)
    if weight is not None and not own_widths(model.codes):
        weight, reason = None, "the law is of posteriors that have a variance for each latent alone"
    units: Any = model.unused.units
    if units is None:  # that of p(z|u), row by row
        units = model.unused.factor * np.asarray(model.codes.prior.variance)
    return {"weight": weight, "reason": reason, "prior_variance": units}


def _means(
    decode: Callable[[Tensor], Distribution], device: torch.device
) -> Callable[[Tensor], Tensor]:
    return lambda z: decode(z.to(device)).mean


def _reconstructions(model: OpenModel) -> Reconstructions:
    # Spread over the data, without its first and last row: grids have their corners there.
    rows, codes = model.rows, model.codes
    few = np.unique(np.linspace(0, len(rows) - 1, SHOWN + 2).astype(np.int64)[1:-1])
    originals = model.data.rows(rows[few])
    decode = _means(lambda z: model.decode(z, model.u(rows[few])), model.device)
    labels = _labels(codes, rows, few)
    found = reconstruct(decode, model.latents(few), originals, rows[few], labels)
    scale, event = model.data.scale, len(model.data.shape)
    if scale is None:
        return found
    return replace(
        found, originals=scale.undone(found.originals, event),
        outputs=scale.undone(found.outputs, event),
    )  # fmt: skip


def _gallery(model: OpenModel, found: Inspection, moved: Traversals, decode: Decode) -> Gallery:
    codes, every = model.codes, np.arange(model.codes.n)
    used = [z.index for z in found.latents if z.type != "passive"]
    return gallery_of(model, used, moved, decode, _labels(codes, model.rows, every))


def _seen(
    model: OpenModel, found: Inspection, decode: Decode, centre: Floats, scale: Floats
) -> dict[int, DecoderName]:
    """Names by the decoder, where there are images and no factors."""
    if found.groups is not None or found.subject.kind != "images":
        return {}
    used = [z.index for z in found.latents if z.type != "passive"]
    return decoder_names(decode, model.codes.mean, used, centre, scale)


def _unscaled(model: OpenModel, moved: Traversals) -> Traversals:
    """Outputs as they were before their standardisation, where it is known."""
    scale = model.data.scale
    if scale is None or moved.outputs is None:
        return moved
    return replace(moved, outputs=scale.undone(moved.outputs, len(model.data.shape)))


def _labels(codes: Codes, rows: Integers, few: Integers) -> tuple[str, ...]:
    if codes.factors is None:
        return tuple(f"example {row}" for row in rows[few])
    names: Sequence[str] = codes.factor_names
    classes = codes.factors
    varies = np.flatnonzero(np.ptp(classes, axis=0)).tolist()
    return tuple(", ".join(f"{names[k]} {classes[place, k]}" for k in varies) for place in few)


def _fit(model: OpenModel, effort: Effort, likelihood: LogLikelihood | None) -> Fit | None:
    """Distortion at one sample of the posterior each and at its mean; the rate in closed form, or
    at the same sample where there is none; `likelihood` where it is known, else its bound. None for
    points and maps."""
    codes = model.codes
    if not codes.stochastic or codes.spatial:
        return None
    few = _spaced(np.arange(codes.n), effort.decoded)
    noise = model.noise(few)
    distortion, rate = model.distortion(few, noise), model.rate(few, noise)
    at_means = model.distortion(few, np.zeros_like(noise))
    if likelihood is None:
        weighted = _spaced(few, min(effort.weighted, 100))
        bounds, draws = importance_bounds(model, weighted, draws=effort.draws), effort.draws
    else:
        bounds, draws = likelihood.per_example, likelihood.draws
    return Fit(
        float(distortion.mean()), float(distortion.std()), float(rate.mean()), float(rate.std()),
        len(few), float(np.mean(bounds)), len(bounds), draws, float(at_means.mean()),
    )  # fmt: skip


def _spaced(places: Integers, most: int) -> Integers:
    chosen = np.linspace(0, len(places) - 1, min(most, len(places))).astype(np.int64)
    return np.asarray(places[chosen])


def training_of(records: Sequence[dict[str, Any]], spec: Experiment | None) -> Training | None:
    """Losses and types by step; None where nothing was recorded."""
    rows = [row for row in records if "distortion" in row]
    if not rows or spec is None:
        return None

    def column(name: str) -> Double:
        # A null in the history was no finite number; a plain autoencoder has no rate.
        values = [row.get(name) for row in rows]
        return np.array([np.nan if value is None else value for value in values])

    def counts(name: str) -> Long:
        return np.array([row[name] for row in rows], dtype=np.int64)

    return Training(
        counts("step"), column("loss"), column("distortion"), column("rate"),
        counts("active"), counts("mixed"), counts("passive"), _since(spec),
        _by_latent(rows, "variance"), _by_latent(rows, "latent_kl"),
    )  # fmt: skip


def _since(spec: Experiment) -> int:
    """When the last schedule of the objective ended. The learning rate may fall to the very end."""
    lengths = [getattr(value, "steps", 0) for value in dict(spec.objective).values()]
    return max([0, *(length for length in lengths if isinstance(length, int))])


def _by_latent(rows: Sequence[dict[str, Any]], name: str) -> Double | None:
    """(step, latent) Of every record; None where some have none."""
    values = [row.get(name) for row in rows]
    if not all(isinstance(own, list) and own and None not in own for own in values):
        return None
    lengths = {len(own) for own in values if own is not None}
    return np.array(values, dtype=np.float64) if len(lengths) == 1 else None


@torch.no_grad()
def first_layer_norms(
    module: nn.Module | None, decode: Callable[[Tensor], Any], z: Tensor
) -> Double | None:
    """Norm of each latent's column in the linear layer that gets `z` itself; None where there is
    none, e.g. for plain functions."""
    if module is None:
        return None
    found: list[nn.Linear] = []

    def seen(layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        first = inputs[0] if inputs else None
        if isinstance(first, Tensor) and first.shape == z.shape and torch.equal(first, z.to(first)):
            found.append(layer)  # type: ignore[arg-type]

    layers = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    hooks = [layer.register_forward_pre_hook(seen) for layer in layers]
    try:
        decode(z)
    finally:
        for hook in hooks:
            hook.remove()
    if not found:
        return None
    return np.asarray(found[0].weight.detach().double().norm(dim=0).cpu().numpy())
