"""Two sets of points with known structure: the pinwheel of Mathieu et al. 2019,
https://arxiv.org/abs/1812.02833, and the nonlinear-ICA segments of Khemakhem et al. 2020,
https://arxiv.org/abs/1907.04809."""

from typing import Literal

import numpy as np

from vaescope.data.card import Card
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.stores import Numbers
from vaescope.errors import UsageError
from vaescope.seeds import rng
from vaescope.types import Double

__all__ = ["CARDS", "ica_segments", "pinwheel"]

CARDS = {
    "pinwheel": Card(
        "pinwheel",
        (2,),
        400,
        "Apache-2.0",
        "mathieu2019",
        {"class": 4},
        notes="generated from its seed; another seed gives a test set",
    ),
    "ica-segments": Card(
        "ica-segments",
        (5,),
        40_000,
        "Apache-2.0",
        "khemakhem2020",
        {"segment": 40},
        notes="generated from its seed; the sources are kept",
    ),
}


def pinwheel(
    *,
    classes: int = 4,
    per_class: int = 100,
    radial_std: float = 0.3,
    tangential_std: float = 0.1,
    rate: float = 0.25,
    generator_seed: int = 0,
) -> Dataset:
    """Gaussians round the unit circle, stretched along the radius and twisted; factor `class`.

    A point at radius r of class c is turned by 2 pi c / classes + rate * exp(r). The defaults are
    those of Mathieu et al., whose generator names the two deviations the other way round: the 0.3
    it calls tangential acts on the radius. Train and test sets there have 400 points each.
    """
    if classes < 1 or per_class < 1 or min(radial_std, tangential_std) < 0:
        raise UsageError(
            f"pinwheel needs one class and one point per class or more and deviations of 0 or "
            f"more; got {classes}, {per_class}, {radial_std} and {tangential_std}.",
            "Change data.classes, data.per_class, data.radial_std or data.tangential_std.",
        )
    labels = np.repeat(np.arange(classes), per_class)
    noise = rng(generator_seed, "pinwheel").normal(size=(len(labels), 2))
    radius, across = 1.0 + radial_std * noise[:, 0], tangential_std * noise[:, 1]
    angle = 2.0 * np.pi * labels / classes + rate * np.exp(radius)
    # The row vector (radius, across) times [[cos, -sin], [sin, cos]].
    x = np.stack(
        [
            radius * np.cos(angle) + across * np.sin(angle),
            across * np.cos(angle) - radius * np.sin(angle),
        ],
        axis=1,
    )
    factors = Factors(("class",), (np.arange(classes),), labels[:, None])
    return Dataset(CARDS["pinwheel"], Numbers(x.astype(np.float32)), factors)


def ica_segments(
    *,
    segments: int = 40,
    per_segment: int = 1000,
    sources: int = 5,
    dimension: int = 5,
    depth: int = 3,
    activation: Literal["xtanh", "leaky-relu"] = "xtanh",
    white: bool = False,
    generator_seed: int = 0,
) -> Dataset:
    """Gaussian sources whose deviations change from segment to segment, mixed by a random network.

    s = l_segment * N(0, 1) with l ~ U(0.5, 3) per segment and source; x is s through `depth` square
    layers without biases, the last one linear: `depth=1` is linear ICA. Each layer can be undone,
    its columns have length one, and its condition number is in the lowest quarter of such matrices.
    Activations are tanh(a) + 0.1 a and leaky ReLU of slope 0.1. The factor `segment` gives u; the
    sources are `dataset.sources`. `white` centres, turns and scales x to uncorrelated values of
    variance one: another invertible mixture of the same sources, and easier to fit.
    """
    if min(segments, per_segment, sources, depth) < 1 or dimension < sources:
        raise UsageError(
            f"ica-segments needs at least one segment, point per segment, source and layer, and no "
            f"fewer dimensions than sources; got {segments}, {per_segment}, {sources}, {depth} "
            f"and {dimension}.",
            "Change data.segments, data.per_segment, data.sources, data.depth or data.dimension.",
        )
    if activation not in _ACTIVATIONS:
        raise UsageError(
            f"There is no activation {activation}.",
            f"The activations are {', '.join(_ACTIVATIONS)}.",
        )
    generator = rng(generator_seed, "ica-segments")
    labels = np.repeat(np.arange(segments), per_segment)
    modulation = generator.uniform(0.5, 3.0, size=(segments, sources))
    s = modulation[labels] * generator.normal(size=(len(labels), sources))
    x = s @ _mixing_matrix(sources, dimension, generator)
    for _ in range(depth - 1):
        x = _ACTIVATIONS[activation](x) @ _mixing_matrix(dimension, dimension, generator)
    if white:
        x = _white(x)
    factors = Factors(("segment",), (np.arange(segments),), labels[:, None])
    return Dataset(CARDS["ica-segments"], Numbers(x.astype(np.float32)), factors, sources=s)


def _xtanh(x: Double) -> Double:
    return np.tanh(x) + 0.1 * x


def _leaky_relu(x: Double) -> Double:
    return np.where(x > 0.0, x, 0.1 * x)


def _white(x: Double) -> Double:
    centred = x - x.mean(0)
    values, axes = np.linalg.eigh(centred.T @ centred / len(x))
    if values[0] <= 1e-12 * values[-1]:
        raise UsageError(
            f"{x.shape[1]} values that vary in fewer directions cannot be whitened.",
            "Leave data.white=false, or give no more dimensions than sources.",
        )
    return np.asarray(centred @ axes / np.sqrt(values))


_ACTIVATIONS = {"xtanh": _xtanh, "leaky-relu": _leaky_relu}


def _mixing_matrix(
    rows: int, columns: int, generator: np.random.Generator, *, tried: int = 10_000
) -> Double:
    """A matrix of unit columns, better conditioned than three quarters of `tried` ones."""
    matrices = generator.uniform(-1.0, 1.0, size=(tried, rows, columns))
    matrices /= np.linalg.norm(matrices, axis=1, keepdims=True)
    conditions = np.linalg.cond(matrices)
    good = np.flatnonzero(conditions <= np.percentile(conditions, 25.0))
    return np.asarray(matrices[good[0]])
