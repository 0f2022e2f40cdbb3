"""Models that several studies of bhowal2024 share by digest: VAE, beta-VAE and beta-TCVAE.

Bhowal et al. 2024, https://proceedings.mlr.press/v235/bhowal24a.html, section 4.3 and Table 3. At
laptop scale images have 16 pixels a side, a sixteenth of the paper's pixels: strengths of 1 and 6,
and the weight of the rate, are a sixteenth of the paper's, so that a pixel weighs as much.
"""

from collections.abc import Mapping
from typing import Any

from vaescope.studies.study import Cell, Scale, cells

__all__ = ["METHODS", "NETS", "SCALED", "SPRITES", "STRENGTH", "bank", "methods"]

#: The paper's strength of beta-VAE and beta-TCVAE.
STRENGTH = 6.0
#: How much less a pixel of 16 by 16 images weighs.
SCALED = 1.0 / 16.0
#: 1,296 sprites of four factors; y over half of x's range, as equal ranges leave their axes free.
SPRITES: Mapping[str, Any] = {
    "data.name": "dsprites", "data.size": 16,
    "data.grid": {
        "shape": [0, 1, 2], "orientation": [0], "scale": [0, 1, 2, 3, 4, 5],
        "x": [0, 3, 6, 8, 11, 14, 17, 20, 23, 25, 28, 31], "y": [8, 11, 14, 18, 21, 24],
    },
}  # fmt: skip
#: Networks and steps at laptop scale, with the paper's learning rate.
NETS: Mapping[str, Any] = {
    "net.name": "mlp", "net.encoder": [64, 64], "net.decoder": [64, 64],
    "net.decoder_activation": "tanh", "optimiser.lr": 1e-3, "latent": 10,
}  # fmt: skip
_PAPER: Mapping[str, Any] = {
    "net.name": "mlp", "net.encoder": [1200] * 2, "net.decoder": [1200] * 3,
    "net.decoder_activation": "tanh", "optimiser.lr": 1e-3, "likelihood.name": "squared-error",
}  # fmt: skip
_STEPS: Mapping[Scale, int] = {"smoke": 20, "laptop": 3_000}
_SEEDS: Mapping[Scale, int] = {"smoke": 2, "laptop": 16, "paper": 50}

METHODS = ("vae", "beta-vae", "beta-tcvae")


def methods(scale: Scale, weight: float = SCALED) -> dict[str, dict[str, Any]]:
    """Preset and strength of each method; `weight` is that of a pixel compared with the paper's."""
    if scale == "paper":
        return {
            "vae": {"preset": "vae"},
            "beta-vae": {"preset": "beta-vae", "objective.beta": STRENGTH},
            "beta-tcvae": {"preset": "beta-tcvae", "objective.beta": STRENGTH},
        }
    strength = STRENGTH * weight
    return {
        "vae": {"preset": "beta-vae", "objective.beta": weight},
        "beta-vae": {"preset": "beta-vae", "objective.beta": strength},
        "beta-tcvae": {
            "preset": "beta-tcvae", "objective.beta": strength, "objective.rate": weight,
        },
    }  # fmt: skip


def bank(scale: Scale, *, untrained: bool = False) -> tuple[Cell, ...]:
    """The three methods, and with `untrained` the same networks before they learn."""
    fixed = _PAPER if scale == "paper" else {**SPRITES, **NETS, "steps": _STEPS[scale]}
    arms = {"trained": {}, "untrained": {"optimiser.lr": 0.0, "steps": 1}}
    return tuple(
        cell
        for arm in (arms if untrained else ("trained",))
        for method, own in methods(scale).items()
        for cell in cells(
            ({**fixed, **own, **arms[arm], "seed": seed} for seed in range(_SEEDS[scale])),
            method=method, arm=arm,
        )
    )  # fmt: skip
