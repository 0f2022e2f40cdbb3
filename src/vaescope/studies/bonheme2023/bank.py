"""The bank of models that the figures of bonheme2023 share: families, strengths and data.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679, section 4 and appendix B.
Runs are shared by digest: a figure takes the part of the bank that it is about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from vaescope.codes import Codes
from vaescope.latents.types import Types, types
from vaescope.models import OpenModel
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.measuring import subject
from vaescope.studies.study import Cell, Scale, cells
from vaescope.types import Integers

__all__ = [
    "LATENTS",
    "RATE",
    "STRENGTHS",
    "STRENGTHS_OF",
    "Halves",
    "arm",
    "halves",
    "untrained",
]

Family = Literal["beta-vae", "beta-tcvae", "factor-vae", "dip-vae-i", "dip-vae-ii", "annealed-vae"]
Data = Literal["dsprites", "colour", "scream", "norb", "cars"]

LATENTS = 10
#: The weight of the rate above which the other families are swept: a beta-VAE with it has at most
#: one passive latent on these sprites, while all of them have at least those of their rate.
RATE = 0.0625

#: Strengths at laptop scale, weakest first, but for annealed VAEs: capacities, which go the other
#: way. At `paper` scale they are disentanglement_lib's, with a rate of weight 1.
STRENGTHS: Mapping[Family, tuple[float, ...]] = {
    "beta-vae": (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0),
    "beta-tcvae": (0.0625, 0.5, 2.0, 8.0),
    "factor-vae": (1.0, 5.0, 20.0, 50.0),
    "dip-vae-i": (1.0, 5.0, 20.0, 50.0),
    "dip-vae-ii": (0.25, 1.0, 5.0, 20.0),
    "annealed-vae": (5.0, 10.0, 15.0, 25.0),
}
#: Toys have three channels and larger distortions, so that a penalty must weigh more to act.
STRENGTHS_OF: Mapping[tuple[Family, Data], tuple[float, ...]] = {
    ("beta-tcvae", "norb"): (0.125, 4.0, 32.0),
}
#: The same weight of the rate for data whose images have more to reconstruct.
_RATES: Mapping[Data, float] = {"norb": 0.125}
_PAPER: Mapping[Family, tuple[float, ...]] = {
    "beta-vae": (1.0, 2.0, 4.0, 6.0, 8.0, 16.0),
    "beta-tcvae": (1.0, 2.0, 4.0, 6.0, 8.0, 10.0),
    "factor-vae": (10.0, 20.0, 30.0, 40.0, 50.0, 100.0),
    "dip-vae-i": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
    "dip-vae-ii": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
    "annealed-vae": (5.0, 10.0, 25.0, 50.0, 75.0, 100.0),
}

#: Which of a family's strengths coloured data have at laptop scale.
_FEW: Mapping[Data, tuple[int, ...]] = {
    "colour": (0, -1), "scream": (0, -1), "norb": (0, 1, -1), "cars": (0, 2, -1),
}  # fmt: skip

#: 2,592 sprites of four factors, 12 by 12 places: closer ones would look alike at 16 pixels.
_PLACES = [0, 3, 6, 8, 11, 14, 17, 20, 23, 25, 28, 31]
_SPRITES = {
    "shape": [0, 1, 2], "orientation": [0], "scale": [0, 1, 2, 3, 4, 5], "x": _PLACES, "y": _PLACES,
}  # fmt: skip
_ROOM = {"data.name": "shapes3d-rendered", "data.size": 16}
_LAPTOP: Mapping[Data, Mapping[str, Any]] = {
    "dsprites": {"data.name": "dsprites", "data.size": 16, "data.grid": _SPRITES},
    "colour": {"data.name": "dsprites-colour", "data.size": 16, "data.grid": _SPRITES},
    "scream": {"data.name": "dsprites-scream", "data.size": 16, "data.grid": _SPRITES},
    # Four shapes, sizes, colours and views, for smallNORB's toys; views, colours and backgrounds of
    # one shape for Cars3D: 2,400 and 1,500 images.
    "norb": {**_ROOM, "data.grid": {"floor_hue": [0], "wall_hue": [5], "scale": [0, 2, 4, 6]}},
    "cars": {**_ROOM, "data.grid": {"floor_hue": [0], "scale": [4], "shape": [0]}},
}
_OFFICIAL: Mapping[Data, Mapping[str, Any]] = {
    "dsprites": {"data.name": "dsprites"},
    "colour": {"data.name": "dsprites-colour"},
    "scream": {"data.name": "dsprites-scream"},
    "norb": {"data.name": "smallnorb"},
    "cars": {"data.name": "cars3d"},
}
#: Small networks, 3,000 steps; the critic of a FactorVAE of 6 x 1000 would be thirty times slower.
_SMALL = {
    "net.name": "mlp", "net.encoder": [64, 64], "net.decoder": [64, 64], "optimiser.lr": 1e-3,
}  # fmt: skip
_STEPS: Mapping[Scale, int] = {"smoke": 20, "laptop": 3_000}
#: A capacity is held at the cost of reconstruction: with gamma 1,000, as in the paper, or in 3,000
#: steps, such small models hardly learn to reconstruct.
_ANNEALED_STEPS: Mapping[Scale, int] = {"smoke": 20, "laptop": 12_000}
_GAMMA = 20.0
_SEEDS: Mapping[Scale, int] = {"smoke": 1, "laptop": 16, "paper": 50}


def _objective(family: Family, data: Data, strength: float, scale: Scale) -> dict[str, Any]:
    """The settings of one strength."""
    small = scale != "paper"
    rated = {"objective.rate": _RATES.get(data, RATE)} if small else {}
    match family:
        case "beta-vae":
            return {"objective.beta": strength}
        case "beta-tcvae":
            return {"objective.beta": strength, **rated}
        case "factor-vae":
            critic = {"objective.critic_layers": 3, "objective.critic_width": 128} if small else {}
            return {"objective.gamma": strength, **critic, **rated}
        case "dip-vae-i":
            return {"objective.off_diagonal": strength, "objective.diagonal": 10.0 * strength}
        case "dip-vae-ii":
            return {"objective.off_diagonal": strength, "objective.diagonal": strength, **rated}
        case "annealed-vae":
            steps = _ANNEALED_STEPS[scale] // 3 if small else 100_000
            ramp = {"name": "linear", "start": 0.0, "stop": strength, "steps": steps}
            own = {"objective.gamma": _GAMMA, "steps": _ANNEALED_STEPS[scale]} if small else {}
            return {"objective.capacity": ramp, **own}


def arm(
    scale: Scale,
    family: Family,
    data: Data,
    *,
    strengths: Sequence[float] | None = None,
    **more: Any,
) -> tuple[Cell, ...]:
    """One family on one dataset, at all its strengths or at these; `more` are settings with `__`
    for dots. Coloured images, whose networks are larger, have fewer strengths at laptop scale."""
    every = STRENGTHS if scale != "paper" else _PAPER
    if strengths is None and scale != "paper" and data != "dsprites":
        few = [every[family][place] for place in _FEW[data]]
        strengths = STRENGTHS_OF.get((family, data), few)
    fixed: dict[str, Any] = {"preset": family}
    if scale == "paper":
        fixed |= _OFFICIAL[data]
    else:
        # The painting behind scream dSprites is a file: that it runs is shown without it.
        shown: Data = "colour" if data == "scream" and scale == "smoke" else data
        fixed |= {**_LAPTOP[shown], **_SMALL, "steps": _STEPS[scale]}
    fixed |= {key.replace("__", "."): value for key, value in more.items()}
    found: list[Cell] = []
    for strength in every[family] if strengths is None else strengths:
        own = {**fixed, **_objective(family, data, strength, scale)}
        found += cells(
            ({**own, "seed": seed} for seed in range(_SEEDS[scale])),
            family=family, data=data, strength=strength, arm="trained",
        )  # fmt: skip
    return tuple(found)


def untrained(trained: Sequence[Cell]) -> tuple[Cell, ...]:
    """The same networks before they learn."""
    still = {"optimiser.lr": 0.0, "steps": 1}
    return tuple(
        replace(
            cell,
            settings={**cell.settings, **still},
            labels={**cell.labels, "arm": "untrained"},
        )
        for cell in trained
    )


@final
@dataclass(frozen=True, eq=False)
class Halves:
    """The codes of half of the images, and the types of latents by the other half."""

    model: OpenModel
    kinds: Types
    typed: Codes  # the half that the types are of
    codes: Codes

    def counts(self) -> dict[str, int]:
        names = self.kinds.names
        return {kind: names.count(kind) for kind in ("active", "mixed", "passive")}

    def others(self, dropped: Integers) -> Integers:
        return np.setdiff1d(np.arange(self.codes.d), dropped)


def halves(run: Run) -> Halves:
    """Types by bonheme2023's rule on one half of the images; what is then measured is of the
    other, so that nothing is selected by what is measured."""
    of = subject(run, rows=10_000)
    order = rng(0, "halves").permutation(of.codes.n)
    first, second = np.split(order, [len(order) // 2])
    typed = rows_of(of.codes, first)
    return Halves(of, types(typed, criterion="bonheme2023"), typed, rows_of(of.codes, second))


def rows_of(codes: Codes, rows: Integers) -> Codes:
    """The posteriors of some rows, with their factors."""
    return Codes(
        codes.mean[rows], codes.variance[rows], codes.sample[rows], prior=codes.prior,
        factors=None if codes.factors is None else codes.factors[rows],
        factor_names=codes.factor_names, factor_sizes=codes.factor_sizes,
    )  # fmt: skip
