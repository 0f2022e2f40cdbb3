"""The encoder's local linear map, and whether it reads what the decoder writes. bhowal2024 Lemma 2.

Near x the paper writes mu = g_E(M_E x) with M_E = U_E S_E V_E'. If the decoder is the encoder's
pseudo-inverse, as the lemma assumes, reconstruction is the projection M_E^+ M_E = V_E V_E' onto the
rows of M_E: U_E and S_E do not enter. If g_E acts on each latent alone, the Jacobian E of the mean
by x has the rows of M_E but for their lengths, hence the same V_E V_E'. The decoder's Jacobian J at
mu(x) is to be compared with E^+. Both J E and E^+ E stay as they are if the latents are mixed by
any invertible matrix: the axes come from the noise (Theorem 1), not from this loss.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vaescope.distributions import Distribution
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.estimates import interval_of_mean
from vaescope.geometry.columns import column_cosine_of
from vaescope.geometry.jacobian import grams_of, jacobians
from vaescope.geometry.reader import columns_of, own_type
from vaescope.geometry.result import GeometryMeasure, measure_of
from vaescope.geometry.space import Decode
from vaescope.types import Array, Floats, Vector

__all__ = ["LocalEncoder", "encoder_jacobians", "local_encoder", "local_encoder_of"]

Encode = Callable[[Tensor], Tensor | Distribution]


@dataclass(frozen=True, eq=False)
class LocalEncoder(GeometryMeasure):
    """The value is the mean squared cosine of the angles between the rows of E and the columns of
    J, as spaces: 1 if the encoder responds to the directions in which the decoder moves and to no
    others, 0 if it responds to others only. n counts points where both have full rank."""

    per_point: Vector
    chance: float  # expected value for random directions, the ratio of latents to inputs
    inversion: GeometryMeasure  # ||J (E J - I) J^+||^2 / latents: 0 if E inverts J
    projection: GeometryMeasure  # ||J E - E^+ E||^2 / latents: 0 if J = E^+, as the lemma has it
    rows: GeometryMeasure  # mean |cosine| of the rows of E: 0 where they are orthogonal
    deficient: int  # number of points left out because E or J is rank-deficient
    columns: tuple[int, ...]

    def summary(self) -> str:
        left_out = f", {self.deficient} points without full rank left out" if self.deficient else ""
        return (
            f"{self.value:.1%} of the directions to which the encoder responds are those in which "
            "the decoder moves (chance "
            f"{self.chance:.1%}); a small step of the decoder, encoded again, has a relative "
            f"squared error of {self.inversion.value:.3g} ({self.n} points{left_out})"
        )


def _mean(encode: Encode, x: Tensor) -> Tensor:
    code = encode(x)
    mean = code.mean if isinstance(code, Distribution) else code
    if not isinstance(mean, Tensor) or mean.ndim != 2 or len(mean) != len(x):
        shape = tuple(mean.shape) if isinstance(mean, Tensor) else type(mean).__name__
        raise ShapeError(
            f"The encoder returned {shape} for {len(x)} rows; wanted means of shape (n, latent).",
            "Wrap it, e.g. lambda x: model.encode(x)[0].",
        )
    return mean


def _as_rows(x: Floats | Tensor, encode: object) -> Tensor:
    """Rows as encoders take them: arrays get the type of the encoder's weights."""
    if isinstance(x, Tensor):
        rows = x.detach()
    else:
        rows = torch.as_tensor(np.ascontiguousarray(x), **own_type(encode))
    if rows.ndim < 2 or rows.numel() == 0 or not rows.is_floating_point():
        raise ShapeError(
            f"x has shape {tuple(rows.shape)} and type {rows.dtype}; wanted rows of shape (n, ...),"
            " at least one, of a floating-point type.",
            "Pass data as the encoder takes them.",
        )
    return rows


def _a_function_of_each_row(encode: Encode, x: Tensor) -> None:
    """Slopes are summed over rows, which is right only if no row moves another's mean."""
    with torch.no_grad():
        together, again = _mean(encode, x[:2]), _mean(encode, x[:2])
        alone = _mean(encode, x[:1])
    close = 1e3 * torch.finfo(together.dtype).eps * float(together.norm())
    if float((together - again).norm()) > close or float((together[:1] - alone).norm()) > close:
        raise UsageError(
            "The encoder's mean is random, or depends on the other rows of its batch.",
            "Call eval() on its layers, and return the mean rather than a sample.",
        )


def _slopes(encode: Encode, x: Tensor, columns: Sequence[int] | Array | None) -> Tensor:
    """E at each row by reverse mode: a latent has few numbers, a row has many."""
    with torch.inference_mode(False), torch.enable_grad():
        given = x.clone().requires_grad_()
        mean = _mean(encode, given)
        if not mean.requires_grad:
            raise UsageError(
                "The encoder's mean has no derivative by x.",
                "Encode in torch, without no_grad(), detach() or NumPy on the way.",
            )
        chosen = columns_of(columns, mean.shape[1])
        slopes = [
            torch.autograd.grad(mean[:, j].sum(), given, retain_graph=True)[0] for j in chosen
        ]
    stacked = torch.stack(slopes, 1).flatten(2)
    if not bool(torch.isfinite(stacked).all()):
        raise RangeError(
            "The encoder's derivative is not finite at some rows.",
            "Leave such rows out, or find the layer that has no derivative there.",
        )
    return stacked


def encoder_jacobians(
    encode: Encode, x: Floats | Tensor, *, columns: Sequence[int] | Array | None = None
) -> Floats:
    """E = d mu / dx at each row: the local linear map M_E of the encoder, times the slopes of g_E.

    Args:
        encode: a function of a batch of rows that returns posterior means (n, latent), or a
            distribution that has them.
        x: (n, ...) rows at which the encoder is measured.
        columns: latents to measure; None takes all.

    Returns:
        (n, latent, inputs) derivatives; the inputs of a row are flattened.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: the mean has no derivative by x, is random or depends on other rows.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> encode = lambda x: torch.tanh(x @ torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
        >>> vs.geometry.encoder_jacobians(encode, torch.zeros(1, 3)).tolist()
        [[[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]]
    """
    rows = _as_rows(x, encode)
    _a_function_of_each_row(encode, rows)
    slopes = _slopes(encode, rows, columns)
    # NumPy has no bfloat16; half precision holds no sum of squares.
    wide = slopes if slopes.dtype == torch.float64 else slopes.float()
    return wide.cpu().numpy()


def _compared(encoders: Floats, decoders: Floats) -> Vector:
    """At each point: whether both have full rank, the value, the errors of the inversion and of the
    projection, the rows' cosine. Shape (5, n)."""
    e, j = np.asarray(encoders, np.float64), np.asarray(decoders, np.float64)
    if e.ndim != 3 or j.shape != (e.shape[0], e.shape[2], e.shape[1]):
        raise ShapeError(
            f"Encoders have shape {e.shape} and decoders {j.shape}; wanted (n, latent, inputs) and "
            "(n, inputs, latent).",
            "Decode to the shape of x: means, not parameters of x.",
        )
    d = e.shape[1]
    of_rows, of_columns = grams_of(e.swapaxes(1, 2)), grams_of(j)
    full = of_rows.full_rank & of_columns.full_rank
    q_e, (q_j, r_j) = np.linalg.qr(e.swapaxes(1, 2))[0], np.linalg.qr(j)
    shared = ((q_e.swapaxes(1, 2) @ q_j) ** 2).sum(axis=(1, 2)) / d
    # J (E J - I) J^+ in the basis Q of J = Q R.
    inversion = ((r_j @ e @ q_j - np.eye(d)) ** 2).sum(axis=(1, 2)) / d
    # ||J E - E^+ E||^2 by matrices of d x d: tr(E E' J'J) - 2 tr(E J) + d, as E E^+ = I.
    squares = (of_rows.values * of_columns.values).sum(axis=(1, 2))
    projection = (squares - 2.0 * np.trace(e @ j, axis1=1, axis2=2) + d) / d
    rows = column_cosine_of(of_rows).per_point
    # Rounding may leave either range.
    return np.stack([full, np.minimum(shared, 1.0), inversion, np.maximum(projection, 0.0), rows])


def _result(compared: Vector, columns: tuple[int, ...], inputs: int) -> LocalEncoder:
    full = compared[0] > 0
    shared, inversion, projection, rows = compared[1:, full]
    value = float(shared.mean()) if len(shared) else float("nan")
    return LocalEncoder(
        value, interval_of_mean(shared), len(shared), "output", shared, len(columns) / inputs,
        measure_of(inversion, "output"), measure_of(projection, "output"),
        measure_of(rows, "latent"), int((~full).sum()), columns,
    )  # fmt: skip


def local_encoder_of(encoders: Floats, decoders: Floats) -> LocalEncoder:
    """`local_encoder` of known Jacobians: E of the encoder at x, J of the decoder at mu(x).

    Args:
        encoders: (n, latent, inputs), from `encoder_jacobians`.
        decoders: (n, inputs, latent), `values` of `jacobians` in output space.

    Returns:
        `LocalEncoder`: the value is 1 if the encoder responds to the directions in which the
            decoder moves and to no others, 0 if it responds to others only.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> decoder = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> inverse = np.linalg.pinv(decoder)
        >>> measured = vs.geometry.local_encoder_of(inverse[None], decoder[None])
        >>> round(measured.value, 3), round(measured.projection.value, 3), round(measured.chance, 3)
        (1.0, 0.0, 0.667)
    """
    compared = _compared(encoders, decoders)
    latent, inputs = np.shape(encoders)[1:]
    return _result(compared, tuple(range(latent)), inputs)


def local_encoder(
    encode: Encode,
    decode: Decode,
    x: Floats | Tensor,
    *,
    columns: Sequence[int] | Array | None = None,
    batch: int = 64,
) -> LocalEncoder:
    """Does the encoder respond, near each x, to the directions in which the decoder moves, and to
    no others?

    With E the Jacobian of the mean at x and J that of the decoder at mu(x), the value is
    ||Q_E' Q_J||^2 / d, Q orthonormal bases of the rows of E and the columns of J. `inversion` is
    the squared error of a small step along the columns of J after encoding and decoding, over its
    own square; `projection` also requires that E ignores all other directions. A linear VAE at its
    optimum has the value 1 and, as its encoder shrinks, mean_j sigma_j^4 for both errors. Leave
    passive latents out by `columns`: their rows are noise. The decoder must return x itself, e.g.
    after a sigmoid.

    Args:
        encode: a function of a batch of rows that returns posterior means (n, latent), or a
            distribution that has them.
        decode: the decoder: a function of a tensor (n, latent).
        x: (n, ...) rows at which both are measured.
        columns: latents to measure; None takes all.
        batch: rows at a time.

    Returns:
        `LocalEncoder`: the value is 1 if the encoder responds to the directions in which the
            decoder moves and to no others, 0 if it responds to others only.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: the mean has no derivative by x, is random or depends on other rows.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x, latent=3)
        >>> encode = lambda x: model.encode(x)[0]
        >>> decode = lambda z: model.decode(z).mean
        >>> measured = vs.geometry.local_encoder(encode, decode, x[:50])
        >>> round(measured.value, 4), round(measured.rows.value, 4), measured.chance
        (1.0, 0.0, 0.375)
    """
    rows = _as_rows(x, encode)
    _a_function_of_each_row(encode, rows)
    parts, chosen = [], columns_of(columns, _mean(encode, rows[:1]).shape[1])
    for start in range(0, len(rows), batch):
        few = rows[start : start + batch]
        with torch.no_grad():
            mean = _mean(encode, few)
        slopes = _slopes(encode, few, chosen).cpu().double().numpy()
        written = jacobians(decode, mean, space="output", columns=chosen).values
        parts.append(_compared(slopes, written))
    return _result(np.concatenate(parts, axis=1), chosen, rows[0].numel())
