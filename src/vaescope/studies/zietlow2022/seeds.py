"""Do two seeds learn the same space? A claim of ours, by `vs.exchange`.

zietlow2022's theorem 2 says that a diagonal posterior aligns the axes locally with principal
directions; it does not promise that two trainings end in the same space. Where it is so, a signed
permutation of latents carries codes from one to the other; an autoencoder has no such axes.
"""

from collections.abc import Mapping
from typing import Any

import torch

from vaescope.build import build_auxiliary, build_data, start_from_data
from vaescope.latent_exchange import exchange_opened
from vaescope.models import OpenModel
from vaescope.opening import open_vae
from vaescope.settings import from_command_line
from vaescope.specs import Experiment
from vaescope.studies.claims import Claim, Control
from vaescope.studies.effects import Level
from vaescope.studies.panels import Dots
from vaescope.studies.study import Computed, Measured, Scale, Study, cells
from vaescope.training.loop import new_state, steps
from vaescope.training.precision import choose

__all__ = ["STUDY", "compute"]

#: Methods by name: preset, settings that differ from it, and the weight of the rate.
METHODS: Mapping[str, tuple[str, tuple[str, ...], float]] = {
    "vae": ("vae", (), 1.0),
    "beta-vae": ("beta-vae", ("objective.beta=2",), 2.0),
    "full covariance": ("vae", ("posterior.name=full",), 1.0),
    "ae": ("ae", (), 0.0),
}
_SHARED = ("data.name=digits", "net.name=mlp", "latent=6", "batch=64", "optimiser.lr=0.002")


def experiments(columns: Mapping[str, Any]) -> list[Experiment]:
    """The two trainings of a cell."""
    preset, settings, _ = METHODS[str(columns["method"])]
    fixed = [*_SHARED, *settings, f"steps={int(columns['length'])}"]
    first = 2 * int(columns["seed"])
    return [from_command_line(preset, [*fixed, f"seed={first + k}"]) for k in range(2)]


def _trained(spec: Experiment) -> OpenModel:
    data, device = build_data(spec.data), torch.device("cpu")
    state = new_state(spec, device)
    start_from_data(spec, data, [state.vae])
    for _ in steps(state, spec, data, choose("fp32", device, state.vae)):
        pass
    return open_vae(state.vae, data, spec=spec, auxiliary=build_auxiliary(spec, data))


def compute(columns: Mapping[str, Any]) -> Measured:
    """What each class of maps recovers between two trainings that differ by their seed."""
    a, b = map(_trained, experiments(columns))
    found = exchange_opened(a, b, ("first", "second"))
    shares = {name: share for name, share in found.recovered.items() if share is not None}
    gap = found.mean_image - found.own
    affine = shares.get("affine")
    return {
        **{f"by_{name}": share for name, share in shares.items()},
        # Of what an affine map carries over, what the axes alone do.
        "axes": shares["permutation"] / affine if affine else None,
        "rotation": shares["orthogonal"] / affine if affine else None,
        "by_chance": (found.mean_image - found.null) / gap if gap > 0 else None,
        "own": found.own,
        "mean_image": found.mean_image,
    }


def _work(scale: Scale) -> Computed:
    units = range({"smoke": 2, "laptop": 16, "paper": 48}[scale])
    length = 100 if scale == "smoke" else 1_500
    every = (
        cell
        for unit in units
        for method, (_, _, beta) in METHODS.items()
        for cell in cells([{"seed": unit}], method=method, length=length, beta=beta)
    )
    return Computed("zietlow2022-seeds", tuple(every), compute, trains=experiments)


def _of(method: str) -> dict[str, str]:
    return {"method": method}


STUDY = Study(
    "zietlow2022/seeds",
    "Two seeds: the same space up to axes, a rotation or an affine map",
    _work,
    (
        Claim(
            "Between two seeds of a beta-VAE a signed permutation of axes recovers 90% of what an "
            "affine map does.",
            "zietlow2022 theorem 2", Level("axes", _of("beta-vae")), "above", 0.9,
            "the theorem is local and does not promise it", primary=True, own=True,
            control=Control("a full covariance", Level("axes", _of("full covariance"))),
        ),
        Claim(
            "Between two seeds of a VAE it does too.",
            "zietlow2022 theorem 2", Level("axes", _of("vae")), "above", 0.9,
            "the theorem is local and does not promise it", own=True,
            control=Control("a full covariance", Level("axes", _of("full covariance"))),
        ),
        Claim(
            "Two seeds of an autoencoder have the same space up to an affine map: it recovers 90% "
            "of what the second model's own codes do.",
            "zietlow2022 section 3.2", Level("by_affine", _of("ae")), "above", 0.9, own=True,
            control=Control("shuffled pairs", Level("by_chance", _of("ae"))),
        ),
        Claim(
            "But not up to a rotation, which recovers less than 90% of what an affine map does.",
            "zietlow2022 section 3.2", Level("rotation", _of("ae")), "below", 0.9, own=True,
            control=Control("a beta-VAE", Level("rotation", _of("beta-vae"))),
        ),
    ),
    (
        Dots("Axes: permutation over affine map", "axes", "method", threshold=0.9),
        Dots("Rotation over affine map", "rotation", "method", threshold=0.9),
        Dots("Affine map over own reconstruction", "by_affine", "method", threshold=0.9),
    ),
    ("our own: seeds",),
    "Digits of 8x8 pixels, 6 latents, the small network, 1,500 steps of batch 64 at a rate of "
    "0.002. A unit is a pair of seeds that no other unit has. Maps act on means in units of each "
    "latent's standard deviation, are fitted on half of the images and priced on the other half "
    "(`vs.exchange`). Revised after a look: in the first table, of other seeds, beta was 4, at "
    "which these models collapse. Two pairs of further seeds chose 2: there they do not.",
    "A VAE's space is the same over seeds up to a rotation, and not up to axes: in the median of "
    "24 pairs a rotation recovers 97% of the second model's own gain over the mean image (87 to "
    "100%), all that an affine map does, and a signed permutation 68% of it (below 0 to 89%). At "
    "beta 2 it is no more, 67% (36 to 99%), above 90% in six of 24 pairs (undecided), beside 65% "
    "with a full covariance (below 0 to 95%). So a VAE's diagonal posterior does not fix the axes "
    "over seeds here. Theorem 2 presumes distinct singular values, and here latents are nearly "
    "equal: in three pairs of each from exploratory seeds (not in the table) two or three are "
    "used at beta 2, of mean posterior variances 0.33 to 0.55, and three or four at beta 1, of "
    "which three have 0.12 to 0.20. Two autoencoders are not the same up to an affine map (82%, "
    "below 90% in all 24 pairs), of which a rotation recovers 91%, below 90% in 11 pairs, which "
    "is undecided.",
)  # fmt: skip
