"""Codes, data and a model whose right answers are known: to try functions on, and to test with.

The linear VAE is at its optimum, which is probabilistic PCA: Tipping and Bishop 1999,
https://doi.org/10.1111/1467-9868.00196; Lucas et al. 2019, https://arxiv.org/abs/1911.02469.
"""

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.codes import Codes, draw
from vaescope.errors import ShapeError
from vaescope.seeds import rng
from vaescope.types import Floats

__all__ = ["LinearVAE", "codes", "linear_vae", "signals"]

#: Sizes of the factors of `codes`.
SIZES = {"shape": 3, "size": 4, "place": 5}


def codes(*, rows: int = 600, seed: int = 0) -> Codes:
    """Codes of five latents: three encode one factor each, two are passive.

    Args:
        rows: number of examples.
        seed: seed of the noise.

    Returns:
        `Codes` with three factors (`shape`, `size`, `place`); latents 0 to 2 are active with a
        posterior variance near 0.01, latents 3 and 4 have the prior's variance and means near 0.

    Example:
        >>> import vaescope as vs
        >>> vs.latents.types(vs.known.codes()).names
        ('active', 'active', 'active', 'passive', 'passive')

    Raises:
        DataError: a file is missing or damaged.
        DiskError: a folder cannot be written.
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
    """
    noise = rng(seed, "known-codes")
    sizes = np.array(list(SIZES.values()))
    factors = noise.integers(0, sizes, size=(rows, len(sizes)))
    centred = (factors - (sizes - 1) / 2) / np.sqrt((sizes**2 - 1) / 12)  # of variance 1
    used = centred + noise.normal(0.0, 0.02, size=centred.shape)
    mean = np.concatenate([used, noise.normal(0.0, 0.02, size=(rows, 2))], axis=1)
    near = np.exp(noise.normal(0.0, 0.1, size=used.shape)) * 0.01
    variance = np.concatenate([near, 1.0 - noise.uniform(0.0, 0.01, size=(rows, 2))], axis=1)
    sample = draw(mean, variance, None, seed=seed)
    return Codes(mean, variance, sample, factors, tuple(SIZES), tuple(SIZES.values()))


def signals(*, rows: int = 600, columns: int = 8, seed: int = 0) -> Floats:
    """Rows that vary in three directions of standard deviation 4, 2 and 1, plus noise of 0.3.

    Args:
        rows: number of examples.
        columns: number of values of an example, at least 3.
        seed: seed of the directions and the noise.

    Returns:
        An array (rows, columns) of float32.

    Raises:
        ShapeError: fewer than three columns.

    Example:
        >>> import vaescope as vs
        >>> vs.known.signals().shape
        (600, 8)
    """
    if columns < 3:
        raise ShapeError(f"Three directions need 3 columns; got {columns}.", "Use 3 or more.")
    noise = rng(seed, "known-signals")
    directions, _ = np.linalg.qr(noise.normal(size=(columns, 3)))
    latent = noise.normal(size=(rows, 3)) * np.array([4.0, 2.0, 1.0])
    return np.asarray(latent @ directions.T + noise.normal(0.0, 0.3, size=(rows, columns)), "f4")


class LinearVAE(nn.Module):
    """A VAE with a linear encoder and decoder: `encode` gives mean and log-variance, `decode` a
    normal distribution.

    Args:
        weight: (columns, latent) weight of the decoder; a column of zeros is a latent that is not
            used.
        bias: (columns,) bias of the decoder.
        noise: standard deviation of the observations.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> model = vs.known.LinearVAE(torch.eye(3)[:, :2], torch.zeros(3), noise=0.5)
        >>> model.encode(torch.ones(1, 3))[0].tolist()
        [[0.800000011920929, 0.800000011920929]]
    """

    weight: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor, *, noise: float) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)
        self.noise = noise

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        precision = 1.0 + self.weight.square().sum(0) / self.noise**2  # columns are orthogonal
        mean = (x - self.bias) @ self.weight / self.noise**2 / precision
        logvar = (-precision.log()).expand_as(mean)
        return mean, logvar

    def decode(self, z: Tensor) -> torch.distributions.Normal:
        return torch.distributions.Normal(z @ self.weight.T + self.bias, self.noise)

    def forward(self, x: Tensor) -> torch.distributions.Normal:
        mean, logvar = self.encode(x)
        return self.decode(mean + torch.randn_like(mean) * (0.5 * logvar).exp())


def linear_vae(x: Floats, *, latent: int = 6, noise: float = 0.3) -> LinearVAE:
    """The linear VAE of highest ELBO on these rows, in closed form.

    Its decoder's columns are the principal directions, scaled by sqrt(eigenvalue - noise^2);
    directions whose eigenvalue is at most noise^2 get a column of zeros, and their latents are
    passive.

    Args:
        x: (n, columns) rows.
        latent: number of latents; those beyond what the data need are passive.
        noise: standard deviation of the observations.

    Returns:
        A module with `encode` and `decode`, like other people's models.

    Raises:
        ShapeError: `x` is not a matrix.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> vs.prune(vs.known.linear_vae(x), x).dropped
        (3, 4, 5)
    """
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim != 2:
        raise ShapeError(f"A linear VAE needs rows (n, columns); got {rows.shape}.", "Flatten x.")
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False))
    used = np.argsort(values)[::-1][:latent]
    # Eigenvalues of pure noise scatter about noise^2 by chance (Marchenko and Pastur's edge).
    edge = noise**2 * (1.0 + np.sqrt(rows.shape[1] / len(rows))) ** 2
    gain = np.where(values[used] > edge, np.sqrt(np.maximum(values[used] - noise**2, 0.0)), 0.0)
    weight = np.zeros((rows.shape[1], latent))
    weight[:, : len(used)] = vectors[:, used] * gain
    tensors = (torch.from_numpy(own).float() for own in (weight, rows.mean(axis=0)))
    return LinearVAE(*tensors, noise=noise)
