"""Vectors with known sources: zietlow2022's two synthetic tasks and the linear-Gaussian family."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from vaescope.data.card import Card
from vaescope.data.dataset import Dataset
from vaescope.data.stores import Numbers
from vaescope.errors import UsageError
from vaescope.seeds import rng
from vaescope.types import Double, Floats

__all__ = ["CARDS", "linear_gaussian", "principal_axes", "synth_linear", "synth_nonlinear"]

#: How the random network of `synth_nonlinear` gets its weights.
Initialisation = Literal["normal", "fan-in"]


def _card(name: str, dimension: int, n: int) -> Card:
    return Card(name, (dimension,), n, "Apache-2.0", "zietlow2022", notes="generated from its seed")


CARDS = {
    "synth-linear": _card("synth-linear", 3, 50_000),
    "synth-nonlinear": _card("synth-nonlinear", 6, 50_000),
    "linear-gaussian": _card("linear-gaussian", 8, 10_000),
}


def rotation(axis: Sequence[float], angle: float) -> Double:
    """Rodrigues' formula: the rotation of 3-space by `angle` about `axis`."""
    x, y, z = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned: Double = np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return np.eye(3) + turned


def synth_linear(
    *, n: int = 50_000, ratio: float = 2.0, noise: float = 0.0, generator_seed: int = 0
) -> Dataset:
    """zietlow2022 section 3.3.1: w ~ U[0,1]^2, one axis stretched by `ratio`, embedded in 3-space
    and rotated by 45 degrees about (1, -1, 1). Covariance eigenvalues ratio^2/12, 1/12 and 0, each
    greater by `noise`, the variance of isotropic noise."""
    generator = rng(generator_seed, "synth-linear")
    w = generator.uniform(size=(n, 2))
    flat = np.column_stack([ratio * w[:, 0], w[:, 1], np.zeros(n)])
    x = flat @ rotation((1.0, -1.0, 1.0), np.pi / 4.0).T
    if noise:
        x += np.sqrt(noise) * generator.normal(size=x.shape)
    return Dataset(CARDS["synth-linear"], Numbers(x.astype(np.float32)), sources=w)


def synth_nonlinear(
    *, n: int = 50_000, initialisation: Initialisation = "normal", generator_seed: int = 0
) -> Dataset:
    """zietlow2022 section 3.3.1: w ~ U[0,1]^2 through a random 2-10-6 network with tanh and biases.

    The thesis has "a random initialization" of that network and gives neither its distribution nor
    a seed. `fan-in` is the usual one, uniform within 1/sqrt(inputs) for weights and biases, with w
    as it is: principal variances of some .03 and .008, so that beta 1 prunes both directions and
    beta 1e-3 none, as the thesis reports. `normal` has weights and biases N(0, 1) and w scaled to
    [-1, 1]: variances some 300 times as large. The output is linear in both ("nonlinearities
    are only applied in the hidden layers", Table 3.1). Scores depend strongly on the seed.
    """
    generator = rng(generator_seed, "synth-nonlinear")
    w = generator.uniform(size=(n, 2))
    if initialisation == "fan-in":
        first, bias = _fan_in(2, 10, generator)
        second, shift = _fan_in(10, 6, generator)
        x = np.tanh(w @ first + bias) @ second + shift
    else:
        first, bias = generator.normal(size=(2, 10)), generator.normal(size=10)
        second, shift = generator.normal(size=(10, 6)), generator.normal(size=6)
        x = np.tanh((2.0 * w - 1.0) @ first + bias) @ second + shift
    return Dataset(CARDS["synth-nonlinear"], Numbers(x.astype(np.float32)), sources=w)


def _fan_in(inputs: int, outputs: int, generator: np.random.Generator) -> tuple[Double, Double]:
    """Weights and biases of a layer, uniform within 1/sqrt(inputs)."""
    bound = 1.0 / np.sqrt(inputs)
    weights = generator.uniform(-bound, bound, size=(inputs, outputs))
    return weights, generator.uniform(-bound, bound, size=outputs)


def linear_gaussian(
    *,
    eigenvalues: Sequence[float] = (4.0, 2.0, 1.0, 0.5),
    dimension: int = 8,
    noise: float = 0.0,
    n: int = 10_000,
    generator_seed: int = 0,
) -> Dataset:
    """x = V diag(sqrt(eigenvalues)) w + noise, w ~ N(0, I), V random with orthonormal columns.

    `noise` is the variance of isotropic noise: covariance V diag(eigenvalues) V' + noise I.
    """
    if not 0 < len(eigenvalues) <= dimension or min(eigenvalues) <= 0 or noise < 0:
        raise UsageError(
            f"linear-gaussian needs 1 to {dimension} positive eigenvalues and a noise variance of "
            f"0 or more; got {list(eigenvalues)} and {noise}.",
            "Change data.eigenvalues, data.dimension or data.noise.",
        )
    generator = rng(generator_seed, "linear-gaussian")
    axes = np.linalg.qr(generator.normal(size=(dimension, len(eigenvalues))))[0]
    w = generator.normal(size=(n, len(eigenvalues)))
    x = w * np.sqrt(eigenvalues) @ axes.T
    x += np.sqrt(noise) * generator.normal(size=(n, dimension))
    return Dataset(CARDS["linear-gaussian"], Numbers(x.astype(np.float32)), sources=w)


def principal_axes(x: Floats) -> tuple[Double, Double]:
    """Eigenvalues of the covariance, descending, and its axes as columns."""
    values, axes = np.linalg.eigh(np.cov(x.astype(np.float64), rowvar=False, ddof=0))
    return values[::-1], axes[:, ::-1]
