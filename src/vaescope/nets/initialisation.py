"""How weights start: each changes a module in place and draws from torch's global generator."""

import copy

import torch
from torch import nn

from vaescope.errors import UsageError
from vaescope.seeds import derive

__all__ = ["glorot", "kaiming", "reinitialised", "small_normal", "torch_default"]


def torch_default(module: nn.Module) -> None:
    """Leaves the weights as torch made them."""
    del module


def glorot(module: nn.Module) -> None:
    """TensorFlow's default, which disentanglement_lib's numbers were trained from."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)


def kaiming(module: nn.Module) -> None:
    """SlowVAE's: normal weights by fan-in; transposed convolutions stay as torch made them."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            nn.init.kaiming_normal_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)


def small_normal(module: nn.Module) -> None:
    """N(0, 0.02) for bhowal2024; transposed convolutions stay as torch made them."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            nn.init.normal_(part.weight, 0.0, 0.02)
            if part.bias is not None:
                nn.init.zeros_(part.bias)


def reinitialised(decoder: nn.Module, seed: int) -> nn.Module:
    """A copy with weights drawn anew by each layer's own rule: an untrained decoder of somebody
    else's class. For a run, build its experiment with another seed instead.

    Args:
        decoder: a module.
        seed: seed of the new weights.

    Returns:
        The same module with fresh weights of that seed.

    Raises:
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.geometry.reinitialised(torch.nn.Linear(2, 2), 0).weight.shape
        torch.Size([2, 2])
    """
    fresh = copy.deepcopy(decoder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, "weights"))
        for name, layer in fresh.named_modules():
            reset = getattr(layer, "reset_parameters", None)
            if reset is not None:
                reset()
            elif any(True for _ in layer.parameters(recurse=False)):
                raise UsageError(
                    f"{type(layer).__name__} ({name or 'the decoder'}) has weights of its own but "
                    "no reset_parameters(), so it cannot be initialised anew.",
                    "Pass untrained=... a function from a seed to a fresh decoder.",
                )
    return fresh
