"""Parameters that neither encoder nor decoder uses: they may be a prior's, or a likelihood's."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, distributions, nn

from vaescope.adapters.noise import Noise
from vaescope.adapters.tensors import leaves, same

__all__ = ["idle_parameters", "of_likelihood", "of_prior"]

#: So many are looked at: of more, the model is no VAE with a parameter or two of its own.
MOST = 64
#: Weights of losses, and what is there to know the device.
_OTHERS = re.compile(r"beta|alpha|lambda|weight|step|temp|dummy|device|capacity", re.IGNORECASE)


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
