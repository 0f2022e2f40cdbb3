"""Which arithmetic pays on this machine."""

import functools
import hashlib
import logging
import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from torch import nn

from vaescope.errors import DiskError
from vaescope.native import machine
from vaescope.paths import cache_folder, replace_file

__all__ = ["Precision", "autocast", "choose", "has_bf16", "threads_for"]

Precision = Literal["bf16", "fp32"]

#: Below this many parameters a network is bound by overhead: casts and threads only cost.
SMALL = 100_000
#: Layers of our networks, forwards and backwards: exits with 0 if bf16 agrees with float32.
_TRIAL = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(8192, 256), nn.ReLU(),
    nn.Linear(256, 256), nn.Unflatten(1, (64, 2, 2)), nn.ConvTranspose2d(64, 32, 4, 2, 1),
)
x = torch.rand(64, 1, 32, 32)
exact = net(x)
with torch.autocast("cpu", torch.bfloat16):
    rounded = net(x)
rounded.float().square().mean().backward()
far = (rounded.float() - exact).abs().max() > 0.1 * exact.abs().max()
raise SystemExit(bool(far) or not all(p.grad.isfinite().all() for p in net.parameters()))
"""
_LOG = logging.getLogger("vaescope")


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def has_bf16(device: torch.device) -> bool:
    """Whether matrix products in bf16 run in hardware. oneDNN says it supports bf16 on any AVX-512
    machine, but where the instructions are missing it emulates them, four times slower; and on some
    virtual machines that list AMX its kernels end the process, so that a trial comes first."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    capabilities = torch.cpu.get_capabilities()
    stated = any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
    return stated and _survives()


@functools.cache
def _survives() -> bool:
    """Whether a process of its own gets through the trial; kept for this processor and torch."""
    limits = [os.environ.get(name, "") for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")]
    content = [machine(), torch.__version__.encode(), *map(str.encode, limits), _TRIAL.encode()]
    joined = b"\0".join(content)
    kept = cache_folder() / f"bf16-{hashlib.sha256(joined).hexdigest()[:32]}"
    try:
        return kept.read_bytes() == b"yes"
    except OSError:
        pass
    try:
        command = [sys.executable, "-c", _TRIAL]
        done = subprocess.run(command, check=False, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError):
        return False  # not kept: another time it may be tried
    passes = done.returncode == 0
    if not passes:
        _LOG.warning(
            "bf16 is listed by this processor but a trial of it failed (exit %d): float32 is used.",
            done.returncode,
        )
    try:
        kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(kept, b"yes" if passes else b"no")
    except (OSError, DiskError):
        _LOG.debug("%s cannot be written; the trial is repeated by the next process", kept)
    return passes


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
