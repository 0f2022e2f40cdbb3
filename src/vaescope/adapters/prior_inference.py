"""The prior that a model shows: a distribution, parameters, pseudo-inputs, or a log-density."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributions, nn

from vaescope.adapters.losses import Rate
from vaescope.adapters.posterior_format import SPREADS, Posterior, kind_named
from vaescope.errors import ReadingError, VaescopeError
from vaescope.models import Inference
from vaescope.prior_density import GaussianDensity, MixtureDensity, PriorDensity, standard_normal
from vaescope.priors import as_prior
from vaescope.vae import Prior

__all__ = ["prior_of"]

_NAMED = re.compile(r"^(get_|make_|build_)?_?(\w*_)?(prior|pz|p_z)(_?(dist\w*|params|z))?$")
_PARAMETERS = re.compile(r"(^|_)(prior|pz|p_z)(_|$)", re.IGNORECASE)
_MEANS = re.compile(r"mu|mean|loc", re.IGNORECASE)
_DENSITIES = re.compile(r"^log_?(p_?z|prior|pz)(_prob)?$|^prior_log_?prob$", re.IGNORECASE)
_PSEUDO = re.compile(r"pseudo|vamp", re.IGNORECASE)
#: Methods that change a model: calling them shows nothing of it as it is.
_MAKES = re.compile(r"^_?(add|init|set|reset|update|build|create|make|train|fit|load|save)")
#: By this much a prior's variance may be off 1 through rounding.
_UNIT = 0.02
#: Latents on which two log-densities are compared.
_POINTS = 64
Encode = Callable[[Tensor], Posterior]


def prior_of(
    model: Any, asked: Any, latent: int, event: tuple[int, ...], encode: Encode,
    rate: Rate | None = None, idle: Sequence[str] = (), left_out: Sequence[str] = (),
) -> tuple[Prior | None, Inference]:  # fmt: skip
    """The model's prior, None where nothing shows it, and why.

    `encode` takes images as the model has them, not in [0, 1]; `rate` is the KL in the model's own
    loss, `idle` are parameters and parts that encoder and decoder do not use and that may be a
    prior's, `left_out` arguments that these did not get. Raises ReadingError where the model has a
    prior that cannot be read.
    """
    if asked is not None:
        prior = as_prior(asked, latent)
        why = f"as given{getattr(prior, 'note', '')}"
        return prior, Inference("prior", prior.density().says, why, told=True)
    found: list[tuple[PriorDensity, str]] = []
    unread: list[str] = []
    for density, why in _candidates(model, latent, event, encode, unread):
        found.append((density, why))
    stated = _stated(model, latent)
    if stated is not None:
        name, log_p = stated
        found.append((standard_normal(latent), "the model states no other"))
        for density, why in found:
            if _agrees(density, log_p, latent):
                prior = as_prior(density, latent)
                says = f"{why}, and its {name} is this density"
                return prior, Inference("prior", density.says, says, told=True)
        raise _unreadable(model, name)
    if found:
        density, why = found[0]
        return as_prior(density, latent), Inference("prior", density.says, why, told=True)
    if not unread and idle and left_out and rate is None:
        raise _conditional(model, idle[0], left_out[0])
    if unread or (idle and rate is None):
        raise _unreadable(model, [*unread, *idle][0])
    if rate is not None and abs(rate.variance - 1) > _UNIT:
        own = GaussianDensity(np.zeros(latent), np.full(latent, rate.variance))
        why = f"its {rate.loss} has the KL to it"
        return as_prior(own, latent), Inference("prior", own.says, why, told=True)
    why = "assumed, since the model states no other"
    if rate is not None:
        why = f"its {rate.loss} has the KL to it"
    return None, Inference("prior", "N(0, I)", why, told=rate is not None)


def _unreadable(model: Any, name: str) -> ReadingError:
    return ReadingError(
        f"{type(model).__name__} has {name}, so its prior may not be N(0, I), and it could not "
        "be inferred.",
        "State it with prior=: a torch.distributions object, one of vaescope.priors, a name such "
        "as normal, (log_density, draws) of any other prior, such as a flow or an energy, or a "
        "function of the condition that returns a Normal.",
        (name,),
    )


def _conditional(model: Any, name: str, argument: str) -> ReadingError:
    return ReadingError(
        f"{type(model).__name__} has {name}, which neither encoder nor decoder uses without "
        f"{argument}, an argument that they may be given.",
        f"If it was trained with {argument}, pass condition= with a row for each example; else "
        "state its prior with prior=, e.g. normal.",
        (name,),
    )


def _candidates(
    model: Any, latent: int, event: tuple[int, ...], encode: Encode, unread: list[str]
) -> Iterator[tuple[PriorDensity, str]]:
    names = [] if model is None else _names(model)
    for name in names:
        if not _NAMED.search(name):
            continue
        value = _distribution(model, name)
        if isinstance(value, distributions.Distribution):
            try:
                yield as_prior(value, latent).density(), f"its {name} is a {type(value).__name__}"
            except VaescopeError:
                unread.append(name)
        elif isinstance(value, nn.Module):
            unread.append(name)
    yield from _of_parameters(model, names, latent, unread)
    yield from _of_pseudo_inputs(model, names, event, encode)


def _names(model: Any) -> list[str]:
    own = {*vars(model), *dir(type(model))}
    if isinstance(model, nn.Module):
        own |= {name for name, _ in model.named_children()}
        own |= {name for name, _ in model.named_parameters(recurse=False)}
        own |= {name for name, _ in model.named_buffers(recurse=False)}
    return sorted(name for name in own if not name.startswith("__"))


def _get(model: Any, name: str) -> Any:
    try:
        return getattr(model, name, None)
    except Exception:  # anybody's property
        return None


def _distribution(model: Any, name: str) -> Any:
    """An attribute, or what it returns when called with nothing or with its parameters."""
    value = _get(model, name)
    if isinstance(value, type) and issubclass(value, distributions.Distribution):
        for key in (f"{name}_params", f"_{name}_params"):
            numbers = _get(model, key)
            if isinstance(numbers, tuple | list):
                return value(*numbers)
        return None
    if callable(value) and not isinstance(value, distributions.Distribution):
        try:
            return value()
        except Exception:  # anybody's code
            return value if isinstance(value, nn.Module) else None
    return value


def _of_parameters(
    model: Any, names: list[str], latent: int, unread: list[str]
) -> Iterator[tuple[PriorDensity, str]]:
    """Means and spreads among the attributes: of a Gaussian, or of a mixture of them."""
    held = {
        name: torch.as_tensor(value).detach().double().cpu()
        for name in names
        if _PARAMETERS.search(name) and isinstance(value := _get(model, name), Tensor | float)
    }
    means = [name for name in held if _MEANS.search(name)]
    spreads = [(name, kind) for name in held if name not in means
               if (kind := kind_named(name)) is not None]  # fmt: skip
    if len(means) == 1 and len(spreads) == 1:
        (spread, kind), mean = spreads[0], held[means[0]]
        variance = SPREADS[kind](held[spread])
        shape = np.broadcast_shapes(tuple(mean.shape), tuple(variance.shape))
        mean, variance = mean.expand(shape), variance.expand(shape)
        why = f"its {means[0]} and {spread}"
        if mean.numel() in (1, latent):
            each = [part.reshape(-1).expand(latent).numpy() for part in (mean, variance)]
            yield GaussianDensity(*each), why
            return
        if mean.ndim == 2 and mean.shape[1] == latent:
            rest = [name for name in held if name not in (means[0], spread)]
            weights = torch.full((len(mean),), 1 / len(mean), dtype=torch.double)
            if len(rest) == 1 and held[rest[0]].numel() == len(mean):
                weights = held[rest[0]].reshape(-1).softmax(0)
            if len(rest) <= 1:
                yield MixtureDensity(weights.numpy(), mean.numpy(), variance.numpy()), why
                return
    if means or spreads:
        unread.append(", ".join(held))


def _of_pseudo_inputs(
    model: Any, names: list[str], event: tuple[int, ...], encode: Encode
) -> Iterator[tuple[PriorDensity, str]]:
    """VampPrior: the mixture of the posteriors of learned images. Tomczak and Welling 2018,
    https://arxiv.org/abs/1705.07120, eq. (9)."""
    size = int(np.prod(event))
    for name, images in _pseudo_images(model, names):
        if images is None or images.ndim < 2 or images[0].numel() != size:
            continue
        with torch.no_grad():
            q = encode(images.reshape(len(images), *event))
        k = len(images)
        mean, variance = (part.flatten(1).double().cpu().numpy() for part in (q.mean, q.variance))
        yield MixtureDensity(np.full(k, 1 / k), mean, variance), f"a VampPrior of its {name}"
        return


def _pseudo_images(model: Any, names: list[str]) -> Iterator[tuple[str, Tensor | None]]:
    held = {name: _get(model, name) for name in names}
    idle = [v for v in held.values() if isinstance(v, Tensor) and v.ndim == 2
            and v.shape[0] == v.shape[1] and torch.equal(v, torch.eye(len(v)).to(v))]  # fmt: skip
    for name, value in held.items():
        if isinstance(value, nn.Module) and idle:
            yield name, _called(value, idle[0])
        elif _PSEUDO.search(name) and callable(value) and not _MAKES.search(name):
            yield name, _called(value)
        elif _PSEUDO.search(name) and isinstance(value, Tensor):
            yield name, value.detach()


def _called(function: Any, *arguments: Tensor) -> Tensor | None:
    try:
        with torch.no_grad():
            value = function(*arguments)
    except Exception:  # anybody's code
        return None
    return value if isinstance(value, Tensor) else None


def _stated(model: Any, latent: int) -> tuple[str, Callable[[Tensor], Tensor]] | None:
    """A method that gives log p(z) of each example."""
    for name in [] if model is None else _names(model):
        method = _get(model, name)
        if not _DENSITIES.search(name) or not callable(method):
            continue
        value = _called(method, torch.zeros(2, latent))
        if value is not None and value.shape[:1] == (2,):

            def log_p(z: Tensor, method: Any = method) -> Tensor:
                value: Tensor = method(z)
                return value.flatten(1).sum(1) if value.ndim > 1 else value

            return name, log_p
    return None


def _agrees(density: PriorDensity, log_p: Callable[[Tensor], Tensor], latent: int) -> bool:
    """Whether a log-density is this one, but for a constant."""
    z = torch.randn(_POINTS, latent, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        stated = log_p(z).double().cpu().numpy()
    gap = stated - density.log_prob(z.double().numpy())
    return bool(np.ptp(gap) < 1e-2 * max(1.0, float(np.ptp(stated))))
