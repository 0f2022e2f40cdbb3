"""More of what a model shows: where each latent acts and which pixels feed it, draws from the
prior, the worst reconstructions, two latents moved together, the way between two examples, and
codes to scatter."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from vaescope.codes import Codes
from vaescope.errors import VaescopeError
from vaescope.geometry.reader import spaced
from vaescope.models import OpenModel
from vaescope.seeds import rng
from vaescope.traversals import Decode, Reconstructions, Traversals, decoded, reconstruct
from vaescope.types import Floats, Integers

__all__ = ["Gallery", "ScatteredCodes", "gallery_of"]

#: Latents whose action is drawn, examples that it is a mean over, and the step of its differences
#: in standard deviations of the prior.
ACTING, POINTS, STEP = 16, 24, 0.05
#: Outputs of draws from the prior; worst reconstructions, of so many examples.
DRAWN, WORST, JUDGED = 16, 6, 512
#: Outputs along each side of the grid and on the way between two examples.
SIDE, WAY = 7, 9
#: Examples in the scatter, and latents that it can show.
SCATTERED, AXES = 300, 20


@dataclass(frozen=True, eq=False)
class ScatteredCodes:
    """Codes of some examples, what they look like, and what is known of them."""

    latents: tuple[int, ...]
    mean: Floats  # (n, latent) posterior means
    originals: Floats  # (n, *event)
    names: tuple[str, ...]  # of factors
    values: Floats  # (n, factor)
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Gallery:
    """Arrays to draw; what a model or its data do not allow is None, with a reason in `skipped`."""

    acting: tuple[int, ...]  # used latents
    action: Floats  # (acting, *event) mean |d output / d z|, z in standard deviations of the prior
    axes: tuple[int, ...]  # the two latents of the grid
    grid: Floats | None  # (SIDE, SIDE, *event): the first latent along rows, the second down
    places: Floats  # (SIDE,) in standard deviations of the prior
    worst: Reconstructions | None
    errors: Floats  # (worst,) mean squared error of each
    judged: int  # examples of which these are the worst
    ends: tuple[str, str]  # what the two examples are
    way: Floats  # (WAY, *event) outputs between their codes
    scatter: ScatteredCodes | None
    drawn: Floats | None  # (DRAWN, *event) outputs at codes drawn from the prior
    skipped: dict[str, str]
    feeding: Floats | None = None  # (acting, *event) mean |d posterior mean / d input|


def gallery_of(
    model: OpenModel, used: Sequence[int], moved: Traversals, decode: Decode,
    labels: Sequence[str],
) -> Gallery:  # fmt: skip
    """`used` are latents that are not passive, the most certain first; `moved` says where the
    traversals start and in what units; `labels` say what each row of the codes shows."""
    skipped: dict[str, str] = {}
    codes = model.codes
    centre, scale = (np.broadcast_to(own, codes.d) for own in (moved.centre, moved.scale))
    shown = list(used[:ACTING])
    action = _action(decode, codes, shown, scale)
    feeding: Floats | None = None
    try:
        feeding = _feeding(model, shown)
    except (VaescopeError, RuntimeError, NotImplementedError, TypeError) as error:
        # Anybody's encoder: one of whole numbers, or without gradients, has none to draw.
        skipped["feeding"] = (str(error).splitlines() or [type(error).__name__])[0]
    axes = tuple(sorted(used, key=lambda j: -moved.share[j])[:2])
    places = np.linspace(-2.0, 2.0, SIDE)
    grid = None
    if len(axes) == 2:
        grid = _grid(decode, moved.base, axes, centre[list(axes)], scale[list(axes)], places)
    else:
        skipped["grid"] = "fewer than two latents are used"
    undo, event = model.data.scale, len(model.data.shape)

    def seen(values: Floats) -> Floats:
        """As the data were before their standardisation, where it is known."""
        return values if undo is None else undo.undone(values, event)

    worst: Reconstructions | None = None
    errors: Floats = np.zeros(0)
    judged = 0
    if moved.outputs is None or moved.outputs.shape[2:] != model.data.shape:
        skipped["worst"] = "the outputs are not of the shape of the data"
    else:
        worst, errors, judged = _worst(model, labels)
        worst = replace(worst, originals=seen(worst.originals), outputs=seen(worst.outputs))
    first, last = _far_apart(codes, used, scale)
    way = decoded(decode, np.linspace(codes.mean[first], codes.mean[last], WAY))
    drawn = None
    if model.maps is not None:
        skipped["drawn"] = "the prior of spatial means is not that of the maps"
    else:
        drawn = _drawn(model)
    scatter = _scatter(model, used, labels)
    if scatter is None:
        skipped["scatter"] = "fewer than two latents are used"
    else:
        scatter = replace(scatter, originals=seen(scatter.originals))
    return Gallery(
        tuple(shown), action, axes, None if grid is None else seen(grid), places, worst, errors,
        judged, (labels[first], labels[last]), seen(way), scatter,
        None if drawn is None else seen(drawn), skipped, feeding,
    )  # fmt: skip


def _action(decode: Decode, codes: Codes, latents: Sequence[int], scale: Floats) -> Floats:
    """By central differences: anybody's decoder has them, whether or not it has gradients."""
    points = codes.mean[spaced(codes.n, POINTS)].astype(np.float64)
    rows = []
    for j in latents:
        step = np.zeros(codes.d)
        step[j] = STEP * scale[j]
        above, below = decoded(decode, points + step), decoded(decode, points - step)
        rows.append(np.abs(above.astype(np.float64) - below).mean(axis=0) / (2 * STEP))
    return np.array(rows)


def _feeding(model: OpenModel, latents: Sequence[int]) -> Floats:
    """By gradients: an encoder has as many inputs as the data have values."""
    rows = model.rows[spaced(len(model.rows), POINTS)]
    x = model.x(rows).requires_grad_(True)
    with model.evaluating(gradients=True), torch.enable_grad():
        mean = model.encode(x, model.u(rows)).mean
        mean = mean.flatten(2).mean(-1) if mean.ndim > 2 else mean  # of maps, as codes have them
        slopes = [torch.autograd.grad(mean[:, j].sum(), x, retain_graph=True)[0] for j in latents]
    if not slopes:
        return np.zeros((0, *model.data.shape))
    return torch.stack([one.abs().mean(0) for one in slopes]).double().cpu().numpy()


def _grid(
    decode: Decode, base: Floats, axes: Sequence[int], centre: Floats, scale: Floats, places: Floats
) -> Floats:  # fmt: skip
    codes = np.tile(base.astype(np.float64), (SIDE, SIDE, 1))
    codes[:, :, axes[0]] = (centre[0] + scale[0] * places)[None, :]
    codes[:, :, axes[1]] = (centre[1] + scale[1] * places[::-1])[:, None]  # upwards
    outputs = decoded(decode, codes)
    return outputs.reshape(SIDE, SIDE, *outputs.shape[1:])


def _own(model: OpenModel, z: Tensor, places: Integers) -> Tensor:
    """Outputs of latents, each with the u of its row."""
    return model.decode(z.to(model.device), model.u(model.rows[places])).mean


@torch.inference_mode()
def _worst(model: OpenModel, labels: Sequence[str]) -> tuple[Reconstructions, Floats, int]:
    places = spaced(len(model.rows), JUDGED)
    errors = []
    for some in np.array_split(places, max(1, len(places) // 64)):
        z = torch.from_numpy(model.latents(some)).float()
        x = model.data.rows(model.rows[some])
        off = _own(model, z, some).float().cpu().numpy().astype(np.float64) - x
        errors.append(np.square(off).reshape(len(some), -1).mean(axis=1))
    error = np.concatenate(errors)
    order = np.argsort(-np.where(np.isfinite(error), error, np.inf), kind="stable")[:WORST]
    few = places[order]
    found = reconstruct(
        lambda z: _own(model, z, few), model.latents(few), model.data.rows(model.rows[few]),
        model.rows[few], tuple(labels[place] for place in few),
    )  # fmt: skip
    return found, error[order], len(places)


def _far_apart(codes: Codes, used: Sequence[int], scale: Floats) -> tuple[int, int]:
    """The two of a few examples whose codes are furthest apart."""
    few = spaced(codes.n, 64)
    kept = list(used) or list(range(codes.d))
    z = codes.mean[few][:, kept].astype(np.float64) / scale[kept]
    squared = np.square(z[:, None] - z[None]).sum(axis=-1)
    first, last = np.unravel_index(int(squared.argmax()), squared.shape)
    return int(few[first]), int(few[last])


@torch.inference_mode()
def _drawn(model: OpenModel) -> Floats:
    """At codes from the model's own prior; under a prior given u, those of rows over the data."""
    places = np.linspace(0, len(model.rows) - 1, DRAWN).astype(np.int64)
    z = model.codes.prior.draw(rng(0, "gallery"), DRAWN, places)
    outputs = _own(model, torch.from_numpy(z.astype(np.float32)), places)
    return outputs.float().cpu().numpy()


def _scatter(model: OpenModel, used: Sequence[int], labels: Sequence[str]) -> ScatteredCodes | None:
    codes = model.codes
    if len(used) < 2:
        return None
    few, latents = spaced(codes.n, SCATTERED), tuple(used[:AXES])
    factors = np.zeros((codes.n, 0)) if codes.factors is None else codes.factors
    varies = np.flatnonzero(np.ptp(factors, axis=0)) if factors.size else np.zeros(0, np.int64)
    names = tuple(codes.factor_names[k] for k in varies) if codes.factors is not None else ()
    return ScatteredCodes(
        latents, codes.mean[few][:, list(latents)], model.data.rows(model.rows[few]), names,
        factors[few][:, varies].astype(np.float64), tuple(labels[place] for place in few),
    )  # fmt: skip
