"""How weights start: each changes a module in place and draws from torch's global generator."""

from torch import nn

__all__ = ["glorot", "kaiming", "small_normal", "torch_default"]


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
    """N(0, 0.02) for paper 003; transposed convolutions stay as torch made them."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            nn.init.normal_(part.weight, 0.0, 0.02)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
