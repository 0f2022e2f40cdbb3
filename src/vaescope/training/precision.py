"""Which arithmetic pays on this machine."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from torch import nn

__all__ = ["Precision", "autocast", "choose", "has_bf16", "threads_for"]

Precision = Literal["bf16", "fp32"]

#: Below this many parameters a network is bound by overhead: casts and threads only cost.
SMALL = 100_000


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def has_bf16(device: torch.device) -> bool:
    """Whether matrix products in bf16 run in hardware. oneDNN says it supports bf16 on any AVX-512
    machine, but where the instructions are missing it emulates them, four times slower."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def choose(requested: Literal["auto", "fp32"], device: torch.device, vae: nn.Module) -> Precision:
    """bf16 where it is asked for by `auto`, the hardware has it and the network is large enough."""
    if requested == "auto" and _size(vae) >= SMALL and has_bf16(device):
        return "bf16"
    return "fp32"


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """The context of a training step; heads, latents and losses stay in float32 inside it."""
    if precision == "bf16":
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def threads_for(vae: nn.Module) -> int:
    """One thread for small networks, whose steps a second thread only slows down."""
    return 1 if _size(vae) < SMALL else torch.get_num_threads()
