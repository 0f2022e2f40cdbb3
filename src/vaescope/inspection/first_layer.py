"""How strongly a decoder's first layer listens to each latent."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.types import Double

__all__ = ["first_layer_norms"]


@torch.no_grad()
def first_layer_norms(
    module: nn.Module | None, decode: Callable[[Tensor], Any], z: Tensor
) -> Double | None:
    """Norm of each latent's column in the linear layer that gets `z` itself; None where there is
    none, e.g. for plain functions."""
    if module is None:
        return None
    found: list[nn.Linear] = []

    def seen(layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        first = inputs[0] if inputs else None
        if isinstance(first, Tensor) and first.shape == z.shape and torch.equal(first, z.to(first)):
            found.append(layer)  # type: ignore[arg-type]

    layers = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    hooks = [layer.register_forward_pre_hook(seen) for layer in layers]
    try:
        decode(z)
    finally:
        for hook in hooks:
            hook.remove()
    if not found:
        return None
    return np.asarray(found[0].weight.detach().double().norm(dim=0).cpu().numpy())
