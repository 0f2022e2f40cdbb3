"""The geometry of one decoder at a glance: every measure of a dissection from one pass of
Jacobians. Its plain data have the shape of the interface's `geometry`."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vaescope.errors import ShapeError, UsageError, VaescopeError
from vaescope.geometry.columns import column_cosine_of, column_norm_of
from vaescope.geometry.ima_contrast import ima_contrast_of
from vaescope.geometry.jacobian import Grams, grams
from vaescope.geometry.local_decoder import LocalDecoders, local_decoders
from vaescope.geometry.od_score import od_score_of
from vaescope.geometry.orthogonality import distance_of, random_decoder_baseline
from vaescope.geometry.reader import as_points, columns_of, spaced
from vaescope.geometry.result import GeometryMeasure, GeometryResult
from vaescope.geometry.space import Decode, LikelihoodOf, Space
from vaescope.geometry.variance_law import variance_law_of
from vaescope.measure_ranges import range_of, within
from vaescope.types import Array, Floats

__all__ = ["KEYS", "Overview", "overview"]

#: Names in the order of the interface.
KEYS = (
    "dto", "dto_haar", "dto_random_decoder", "od_score", "column_cosine", "column_norm",
    "ima_contrast", "variance_law", "stochastic_loss",
)  # fmt: skip

#: Points at which each untrained decoder is measured, or a quarter of all. They differ between
#: decoders by half of what they do between points (standard deviations .045 and .094 for 64 x 64
#: convolutions): at 50 points instead of 200 the mean moved by .005 and its interval's half-width
#: from .056 to .062.
_UNTRAINED_POINTS = 50


@dataclass(frozen=True, eq=False)
class Overview(GeometryResult):
    """Measures by name, and why some are missing."""

    measures: Mapping[str, GeometryMeasure]  # measures by name
    skipped: Mapping[str, str]
    columns: tuple[int, ...]
    method: str  # how the Jacobians were computed
    notes: tuple[str, ...]

    def summary(self) -> str:
        lines = [measure.summary() for measure in self.measures.values()]
        lines += [f"{name}: left out, {reason}" for name, reason in self.skipped.items()]
        return "\n".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Every key, null where it is in `skipped`."""
        return {
            name: self.measures[name].to_dict() if name in self.measures else None for name in KEYS
        }


def overview(
    decode: Decode,
    mean: Floats | Tensor,
    variance: Floats,
    *,
    columns: Sequence[int] | Array | None = None,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    weight: float | None = None,
    reason: str = "the weight of the rate is not known",
    prior_variance: float | Floats = 1.0,
    centre: float | Floats = 0.0,
    scale: float | Floats = 1.0,
    untrained: Callable[[int], Decode] | None = None,
    points: int = 200,
    fits: int = 50,
    nonlinear: int = 10,
) -> Overview:
    """Jacobian measures at `points` posteriors, linear local decoders at `fits` of these, and tanh
    and quadratic local decoders at `nonlinear` of those, spread over the rows. Arguments as for the
    single measures (`weight`, `reason` and `prior_variance` as for `variance_law`); pass `columns`
    without passive latents.

    `centre` and `scale` are the mean and standard deviation of the prior. The decoder is measured
    as a function of (z - centre) / scale, so that the arbitrary scale of a learnt prior does not
    matter.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        mean: (n, latent) posterior means.
        variance: (n, latent) posterior variances.
        columns: latents to measure; None takes all.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        weight: weight of the rate in the objective; None if it is not known.
        reason: why the weight is not known.
        prior_variance: variance of the prior, one number or one per latent.
        centre: mean of the prior.
        scale: standard deviation of the prior.
        untrained: function of a seed that makes a decoder with fresh weights.
        points: number of posteriors at which Jacobians are computed.
        fits: number of posteriors at which linear decoders are fitted; 0 leaves them out.
        nonlinear: number of points at which the nonlinear models are fitted.

    Returns:
        `Overview`: measures by name, and why some are missing.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x, latent=3)
        >>> codes = vs.encode(model, x[:60])
        >>> decode = lambda z: model.decode(z).mean
        >>> overview = vs.geometry.overview(decode, codes.mean, codes.variance)
        >>> round(overview.measures["dto"].value, 2)
        0.0
    """
    z = as_points(mean, decode)
    if columns is not None and not len(columns):
        unused = dict.fromkeys(KEYS, "all latents are passive")
        return Overview({}, unused, (), "none", ())
    chosen = list(columns_of(columns, z.shape[1]))
    rows = spaced(len(z), points)
    noise = np.asarray(variance, dtype=np.float64)
    if noise.shape != tuple(z.shape):
        raise ShapeError(
            f"variance has shape {noise.shape}; wanted {tuple(z.shape)}, the shape of the means.",
            "Pass the mean and variance of the same codes.",
        )
    at = z[rows]
    middle, unit = (np.broadcast_to(own, z.shape[1:]) for own in (centre, scale))
    found = grams(decode, at, space=space, likelihood=likelihood, columns=chosen)
    found = found.in_units(unit[chosen])
    measures: dict[str, GeometryMeasure] = {"column_norm": column_norm_of(found)}
    if not found.values.any():
        flat = "the decoder's output does not change with any used latent"
        return _ordered(measures, dict.fromkeys(set(KEYS) - set(measures), flat), found, [])
    skipped: dict[str, str] = {}
    notes: list[str] = [] if not found.note else [f"Jacobians by {found.method}: {found.note}."]
    if np.any(unit != 1.0):
        notes.append("Jacobians are by latents in standard deviations of the prior.")
    if len(chosen) < 2:
        alone = "with one used latent there is no other axis to compare it with"
        axes = ("dto", "dto_haar", "dto_random_decoder", "od_score", "column_cosine")
        skipped |= dict.fromkeys((*axes, "ima_contrast"), alone)
    else:
        start = at[spaced(len(at), min(_UNTRAINED_POINTS, max(1, points // 4)))]
        points_in_units = (start - torch.tensor(middle).to(at)) / torch.tensor(unit).to(at)
        baseline, missing = _untrained_distance(
            untrained, points_in_units, space, likelihood, chosen
        )
        if baseline is None:
            skipped["dto_random_decoder"] = missing
        of_axes, left_out, warnings = _axes(found, baseline)
        measures |= of_axes
        skipped |= left_out
        notes += warnings
    if np.any(noise[rows][:, chosen] <= 0):
        skipped |= dict.fromkeys(KEYS[-2:], "the posterior has no noise")
        return _ordered(measures, skipped, found, notes)
    area = unit[chosen] ** 2
    prior = np.broadcast_to(prior_variance, noise.shape)[rows][:, chosen]
    law = variance_law_of(
        found, noise[rows][:, chosen] / area, weight=weight, reason=reason,
        prior_variance=prior / area,
    )  # fmt: skip
    if math.isfinite(law.value):
        measures["variance_law"] = law
    else:
        skipped["variance_law"] = "column norms do not differ, so there is no slope"
    few = rows[spaced(len(rows), fits)]
    try:
        fitted = _local(decode, z[few], noise[few], nonlinear, likelihood, chosen)
        measures["stochastic_loss"] = fitted.stochastic_loss
    except VaescopeError as error:  # none asked for, or too many latents or outputs to fit
        skipped["stochastic_loss"] = error.message
    return _ordered(measures, skipped, found, notes)


def _local(
    decode: Decode,
    mean: Tensor,
    variance: Floats,
    nonlinear: int,
    likelihood: LikelihoodOf | None,
    columns: list[int],
) -> LocalDecoders:
    if not len(mean):
        raise UsageError("no local decoders were asked for; `--effort default` fits them", "")
    return local_decoders(
        decode, mean, variance, nonlinear=nonlinear, likelihood=likelihood, columns=columns,
        fresh=False,
    )  # fmt: skip


def _axes(
    found: Grams, baseline: GeometryMeasure | None
) -> tuple[dict[str, GeometryMeasure], dict[str, str], list[str]]:
    """What two axes or more have to each other: measures, what is left out, and warnings."""
    dto = distance_of(found, random_decoder=baseline)
    measures: dict[str, GeometryMeasure] = {
        "dto": dto, "dto_haar": dto.haar, "od_score": od_score_of(found),
        "column_cosine": column_cosine_of(found),
    }  # fmt: skip
    if baseline is not None:
        measures["dto_random_decoder"] = baseline
    notes = [f"Distance to orthogonality and OD-Score: {dto.warning}."] if dto.warning else []
    mechanism = ima_contrast_of(found)
    if not mechanism.n:
        return measures, {"ima_contrast": "the Jacobian has full rank at no point"}, notes
    return measures | {"ima_contrast": mechanism}, {}, notes


def _untrained_distance(
    untrained: Callable[[int], Decode] | None,
    points: Tensor,
    space: Space | None,
    likelihood: LikelihoodOf | None,
    columns: list[int],
) -> tuple[GeometryMeasure | None, str]:
    """The distance of untrained decoders, or why it is not available."""
    if untrained is None:
        return None, "it is not known how to initialise this decoder anew"
    try:
        return random_decoder_baseline(
            untrained, points, space=space, likelihood=likelihood, columns=columns
        ), ""
    except (VaescopeError, RuntimeError, TypeError) as error:
        # Anybody's module: what cannot be copied or drawn anew can still be measured.
        return None, (str(error) or type(error).__name__).splitlines()[0]


def _ordered(
    measures: Mapping[str, GeometryMeasure],
    skipped: Mapping[str, str],
    found: Any,
    notes: list[str],
) -> Overview:
    return Overview(
        {name: _within(name, measures[name]) for name in KEYS if name in measures},
        {name: skipped[name] for name in KEYS if name in skipped},
        found.columns, found.method, tuple(notes),
    )  # fmt: skip


def _within(name: str, measured: GeometryMeasure) -> GeometryMeasure:
    return replace(measured, interval=within(measured.interval, range_of(name)))
