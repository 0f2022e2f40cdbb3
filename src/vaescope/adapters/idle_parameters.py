"""Parameters and parts that neither encoder nor decoder uses: they may be a prior's, or a
likelihood's."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, distributions, nn

from vaescope.adapters.noise import Noise
from vaescope.adapters.tensors import leaves, same

__all__ = ["idle_parameters", "idle_priors", "of_likelihood", "of_prior"]

#: So many are looked at: of more, the model is no VAE with a parameter or two of its own.
MOST = 64
#: Weights of losses, and what is there to know the device.
_OTHERS = re.compile(r"beta|alpha|lambda|weight|step|temp|dummy|device|capacity", re.IGNORECASE)
#: What parts are called, or their classes, that make a prior of another: flows, mixtures, energies.
_PRIORS = re.compile(
    r"prior|flow|realnvp|(^|_)(nvp|maf|iaf|made|glow|nice|ebm|gmm)|coupling|energy|mixture|cluster",
    re.IGNORECASE,
)


def idle_parameters(
    module: nn.Module | None, outputs: Callable[[], list[Any]]
) -> dict[str, Tensor]:
    """Parameters outside layers of torch that can change without a change in what the model's
    encoder and decoder give."""
    found = {}
    for name, parameter in list(_own(module))[:MOST]:
        before, value = _tensors(outputs), parameter.detach().clone()
        try:
            with torch.no_grad():
                parameter.add_(0.5)
            after = _tensors(outputs)
        finally:
            with torch.no_grad():
                parameter.copy_(value)
        if len(before) == len(after) and all(map(same, before, after)):
            found[name] = value
    return found


def idle_priors(module: nn.Module | None, outputs: Callable[[], list[Any]]) -> list[str]:
    """Parts that are called what makes a prior, and that encoder and decoder do not call."""
    parts = [] if module is None else list(module.modules())
    if module is None or any(isinstance(part, torch.jit.ScriptModule) for part in parts):
        return []  # scripted parts take no hooks
    called: set[nn.Module] = set()
    handles = [part.register_forward_pre_hook(lambda part, _: called.add(part))
               for part in parts]  # fmt: skip
    try:
        _tensors(outputs)
    finally:
        for handle in handles:
            handle.remove()
    return [
        name for name, part in module.named_modules()
        if name and not called & set(part.modules()) and next(part.parameters(), None) is not None
        and (_PRIORS.search(name) or any(_PRIORS.search(type(p).__name__) for p in part.modules()))
    ]  # fmt: skip


def _own(module: nn.Module | None) -> Iterator[tuple[str, nn.Parameter]]:
    containers = (nn.ParameterList, nn.ParameterDict)
    for prefix, part in () if module is None else module.named_modules():
        if type(part).__module__.startswith("torch.nn") and not isinstance(part, containers):
            continue
        for name, parameter in part.named_parameters(recurse=False):
            if parameter.is_floating_point() and parameter.numel():
                yield f"{prefix}.{name}" if prefix else name, parameter


def _tensors(outputs: Callable[[], list[Any]]) -> list[Tensor]:
    with Noise(0.0), torch.no_grad():
        return [tensor for output in outputs() for tensor in _inside(output)]


def _inside(output: Any) -> Iterator[Tensor]:
    """All tensors of an output; of distributions, their parameters."""
    if isinstance(output, distributions.Distribution):
        for value in vars(output).values():
            yield from _inside(value)
    elif isinstance(output, tuple | list):
        for part in output:
            yield from _inside(part)
    else:
        yield from (tensor for _, tensor in leaves(output))


def of_prior(idle: dict[str, Tensor], latent: int) -> list[str]:
    """Those as wide as the latents."""
    return [name for name, value in idle.items() if value.ndim and latent in value.shape[-2:]]


def of_likelihood(idle: dict[str, Tensor], event: tuple[int, ...]) -> list[str]:
    """Those that could be a scale of all pixels, of each channel, or of each pixel."""
    sizes = (1, event[0], math.prod(event))
    return [name for name, value in idle.items()
            if value.numel() in sizes and not _OTHERS.search(name)]  # fmt: skip
