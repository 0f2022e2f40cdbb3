"""Any dataset through an encoder, once: codes in float32, whatever the training's precision."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from vaescope.build import build_vae
from vaescope.codes import Codes, draw
from vaescope.data import Dataset
from vaescope.distributions import DiagonalGaussian, FullGaussian, Reparameterised, kl_per_latent
from vaescope.errors import NonFiniteError, RunError, UsageError, VaescopeError
from vaescope.prior_density import PriorDensity
from vaescope.runs import Run
from vaescope.training.checkpoint import load_weights
from vaescope.types import Floats, Integers
from vaescope.vae import VAE

if TYPE_CHECKING:
    from vaescope.models import OpenModel

__all__ = ["Maps", "assemble", "encode_rows", "gathered", "load_vae"]


def load_vae(run: Any) -> VAE:
    """The trained model of a finished run or its folder, on the CPU. For an open model or an
    estimator it returns its networks, and it returns a `vs.VAE` unchanged.

    Args:
        run: a run or its folder.

    Returns:
        `VAE`: an encoder, a decoder and a prior.

    Raises:
        BusyError: another process works on the same run.
        DiskError: a folder cannot be written.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import tempfile
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> folder = tempfile.mkdtemp()
        >>> run = vs.train("vae", x, latent=2, steps=5, net={"name": "linear"}, out=folder)
        >>> type(vs.load_vae(run)).__name__
        'VAE'
    """
    module = next(
        (own for own in (run, *(getattr(run, name, None) for name in ("module", "vae_")))
         if isinstance(own, VAE)), None,
    )  # fmt: skip
    if module is not None:
        return module
    if not isinstance(run, Run | str | Path):
        raise UsageError(
            f"load_vae is for models that vaescope trained; got {type(run).__name__}.",
            "Give a run, its folder or an open model of one; vs.open_model opens other models.",
        )
    run = run if isinstance(run, Run) else Run(Path(run))
    if not run.is_done:
        raise RunError(
            f"{run.path} is not finished, so it has no final weights.",
            "Run its `vaescope train` command again.",
        )
    vae = build_vae(run.open())
    load_weights(run.weights, vae, sha256=run.weights_sha256)
    return vae.eval()


@dataclass(frozen=True, eq=False)
class Maps:
    """Latents that are maps, by channel and by place, over all examples."""

    shape: tuple[int, ...]  # of the places: (height, width), (time,), (time, height, width)
    shift: Floats  # (channel,) mean of the latents
    scale: Floats  # (channel,) standard deviation of samples of them
    kl_nats: Floats | None  # (channel,) mean KL to N(0, 1) of one place; None: codes have no noise
    scaling: float  # 1 / standard deviation over all channels: what brings latents to variance 1
    configured: float | None  # the factor that the model's own configuration publishes
    kl_by_place: Floats | None = None  # (*shape) nats over all channels; None: shapes differ
    configured_shift: float | None = None  # what its pipelines take from latents before
    #: (mean, standard deviation) of each channel that its pipelines work with, where published
    configured_channels: tuple[Floats, Floats] | None = None

    @property
    def pasted(self) -> str:
        """Mean and standard deviation of each channel as a configuration has them."""
        mean, std = (", ".join(f"{v:.4f}" for v in part) for part in (self.shift, self.scale))
        return f'"latents_mean": [{mean}], "latents_std": [{std}]'

    def to_dict(self) -> dict[str, object]:
        return {
            "shape": list(self.shape),
            "shift": self.shift.tolist(),
            "scale": self.scale.tolist(),
            "kl": None if self.kl_nats is None else self.kl_nats.tolist(),
            "scaling": self.scaling,
            "configured": self.configured,
            "configured_shift": self.configured_shift,
            "latents_mean": self.shift.tolist(),
            "latents_std": self.scale.tolist(),
            "configured_mean": _listed(self.configured_channels, 0),
            "configured_std": _listed(self.configured_channels, 1),
            "kl_by_place": None if self.kl_by_place is None else self.kl_by_place.tolist(),
        }


def _listed(channels: tuple[Floats, Floats] | None, part: int) -> object:
    return None if channels is None else channels[part].tolist()


def encode_rows(
    model: "OpenModel", rows: Integers, *, seed: int = 0, batch: int = 256
) -> tuple[Codes, Maps | None]:
    """Codes of these rows of the model's data. Of maps, codes have the spatial mean of each
    channel, and their statistics are beside."""
    us: list[Floats] = []

    def posteriors() -> Iterator[Reparameterised]:
        for start in range(0, len(rows), batch):
            some = rows[start : start + batch]
            u = None
            if model.auxiliary is not None:
                us.append(model.auxiliary(some))
                u = torch.from_numpy(us[-1]).to(model.device)
            yield _posterior(model, model.x(some), u, start)

    with model.evaluating():
        found = gathered(posteriors(), model.name, (model.scaling, model.shift), model.channels)
        seen = np.concatenate(us) if us else None
        prior = model.prior.density(
            None if seen is None else torch.from_numpy(seen).to(model.device)
        )
    codes = assemble(
        model.data, rows, found.mean, found.variance, covariance=found.covariance, seed=seed,
        prior=prior, prior_assumed=model.prior_assumed, u=seen,
        supervised=bool(us) and model.encoder_sees_u,
        spatial=() if found.maps is None else found.maps.shape, **_unused(model, prior),
    )  # fmt: skip
    return codes, found.maps


@dataclass(frozen=True, eq=False)
class Gathered:
    """Posteriors of all examples; of maps, their mean over the places."""

    mean: Floats
    variance: Floats
    covariance: Floats | None
    maps: Maps | None


def gathered(
    posteriors: Iterable[Reparameterised], name: str,
    published: tuple[float | None, float | None] = (None, None),
    channels: tuple[Floats, Floats] | None = None,
) -> Gathered:  # fmt: skip
    """Batches of posteriors as arrays; `published` are the scaling factor and the shift of latents
    that are maps, `channels` mean and standard deviation of each. Raises NonFiniteError where
    some are not finite."""
    means, variances, covariances, sums = [], [], [], []
    shape: tuple[int, ...] = ()
    by_place: list[Tensor] = []
    for q in posteriors:
        mean, variance = q.mean, q.variance
        if mean.ndim > 2:
            shape = tuple(int(size) for size in mean.shape[2:])
            sums.append(_sums(q))
            # KL to N(0, 1) of each place, over all channels, summed over examples.
            by_place.append(_rates(q).sum((0, 1)))
            places = tuple(range(2, mean.ndim))
            mean, variance = mean.mean(places), variance.mean(places)
        means.append(mean.float().cpu().numpy())
        variances.append(variance.float().cpu().numpy())
        if isinstance(q, FullGaussian):
            # In float32 the product of narrow factors is no longer positive definite.
            factor = q.scale_tril.double()
            covariances.append((factor @ factor.mT).cpu().numpy())
    joined = np.concatenate(means), np.concatenate(variances)
    if not all(np.isfinite(values).all() for values in joined):
        raise NonFiniteError(
            f"{name} gives means or variances that are NaN or infinite.",
            "If its spread is a standard deviation, pass posterior=std; else look for the cause "
            "in the encoder.",
        )
    maps = _maps(sums, by_place, len(joined[0]), shape, published) if sums else None
    if maps is not None and channels is not None and len(channels[0]) == len(maps.shift):
        maps = replace(maps, configured_channels=channels)
    return Gathered(*joined, np.concatenate(covariances) if covariances else None, maps)


def _unused(model: "OpenModel", prior: PriorDensity) -> dict[str, Any]:
    """Variance of the posterior of a latent that ignores x, as the objective has it."""
    unused = model.unused
    if unused is None:
        return {}
    if not unused.minima:
        return {"unused": np.full(prior.d, np.nan), "unused_why": unused.why}
    if unused.variance is None:  # that of p(z|u), row by row
        return {"unused": unused.factor * prior.variance}
    return {"unused": unused.variance}


def assemble(
    data: Dataset,
    rows: Integers,
    mean: Floats,
    variance: Floats,
    *,
    covariance: Floats | None = None,
    seed: int = 0,
    **others: Any,
) -> Codes:
    """Posteriors of some rows of the data as codes: a sample of each, and what is known of it."""
    factors = data.factors
    return Codes(
        mean,
        variance,
        draw(mean, variance, covariance, seed=seed),
        factors=None if factors is None else factors.classes(rows),
        factor_names=() if factors is None else factors.names,
        factor_sizes=() if factors is None else factors.sizes,
        factor_values=None if data.sources is None else data.sources[rows],
        covariance=covariance,
        index=rows if factors is not None and factors.complete else None,
        **others,
    )


def _posterior(model: "OpenModel", x: Tensor, u: Tensor | None, start: int) -> Reparameterised:
    """The posterior of a batch. Batches that come later may be smaller, and hold other data, than
    those on which somebody else's model was read."""
    says = f"{model.name} fails on a batch of {len(x)} after {start} rows"
    remedy = "Make its encoder accept batches of any size, and check these rows."
    try:
        q = model.encode(x, u)
    except VaescopeError:
        raise
    except Exception as error:  # anybody's code
        lines = str(error).splitlines()
        raise UsageError(
            f"{says}: {type(error).__name__}: {lines[0][:160] if lines else ''}.", remedy
        ) from error
    if q.mean.ndim < 2 or len(q.mean) != len(x):
        raise UsageError(f"{says}: means have shape {tuple(q.mean.shape)}.", remedy)
    return q


def _sums(q: Reparameterised) -> Tensor:
    """Sums by channel over images and places: 1, mean, mean^2, variance, KL to N(0, 1)."""
    mean, variance = q.mean.double(), q.variance.double()
    kl = _rates(q)
    axes = (0, *range(2, mean.ndim))
    one = torch.ones_like(mean)
    return torch.stack([part.sum(axes) for part in (one, mean, mean**2, variance, kl)])


def _rates(q: Reparameterised) -> Tensor:
    """KL to N(0, 1) of each latent: infinite where there is no noise, as the log of 0 is."""
    mean, variance = q.mean.double(), q.variance.double()
    zero = torch.zeros_like(mean)
    return kl_per_latent(DiagonalGaussian(mean, variance.log()), DiagonalGaussian(zero, zero))


def _maps(
    sums: list[Tensor], by_place: list[Tensor], n_rows: int, shape: tuple[int, ...],
    published: tuple[float | None, float | None],
) -> Maps:  # fmt: skip
    total = sum(part.cpu().numpy() for part in sums)
    n, mean, square, variance, kl = np.asarray(total)
    shift = mean / n
    spread = square / n - shift**2 + variance / n  # total variance: of means, and of samples
    everything = (square.sum() + variance.sum()) / n.sum() - (mean.sum() / n.sum()) ** 2
    finite = bool(np.isfinite(kl).all())
    places = None
    if (
        finite and len({tuple(part.shape) for part in by_place}) == 1
    ):  # sequences may differ in length
        places = np.asarray(torch.stack(by_place).sum(0).cpu().numpy() / n_rows)
    return Maps(
        shape, shift, np.sqrt(spread), kl / n if finite else None,
        float(1.0 / np.sqrt(everything)), published[0], places, published[1],
    )  # fmt: skip
