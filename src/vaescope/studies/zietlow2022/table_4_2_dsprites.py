"""Original, perturbed and noisy sprites, by direction alone. zietlow2022 Tab. 4.2 to 4.5."""

from collections.abc import Mapping, Sequence
from typing import Any

from vaescope.studies.claims import Claim, Condition, Control
from vaescope.studies.effects import Gap, Level
from vaescope.studies.panels import Dots
from vaescope.studies.study import Cell, Computed, Scale, Study
from vaescope.studies.zietlow2022.perturbation import compute, sizes_of

__all__ = ["STUDY"]

#: Method -> its strength here, in units of the one on rendered Shapes3D, and its seeds.
_METHODS: Mapping[str, tuple[float, int]] = {
    "beta-vae": (2.5 / 3.0, 6), "ae": (1.0, 4), "slow-vae": (1.0, 4), "pcl": (1.0, 2),
}  # fmt: skip


def work(scale: Scale, units: Sequence[int] | None = None) -> Computed:
    """By method, then by replicate: neighbours do not wait for the same perturbation."""
    replicates = range({"smoke": 1, "laptop": 8, "paper": 8}[scale]) if units is None else units
    return Computed(
        "zietlow2022-perturbation",
        tuple(
            Cell(_settings(scale, method), {"seed": replicate, "method": method})
            for method in _METHODS
            for replicate in replicates
        ),
        compute,
    )


def _settings(scale: Scale, method: str) -> dict[str, Any]:
    factor, seeds = _METHODS[method]
    shared = {k: v for k, v in sizes_of(scale, method).items() if k != "hues"}
    return {
        **shared, "images": "dsprites", "factor": factor, "pool_factor": _METHODS["beta-vae"][0],
        "contrast": min(shared["contrast"], 0.1),
        "seeds": seeds if scale == "laptop" else shared["seeds"],
    }  # fmt: skip


_BETA = {"method": "beta-vae"}
_NOISE = "noise of the same epsilon"
_SUBSTITUTED = "sprites of one shape at 16 pixels: six scales, 16 by 11 places"
_ENTRY = Condition(
    "MIG of the beta-VAE on the original data is above 0.3, where an over-pruned model counts 0",
    Level("entry", _BETA), "above", 0.3,
)  # fmt: skip


def _falls(name: str, method: str, paper: str, metric: str = "mig") -> Claim:
    return Claim(
        f"The perturbation lowers {'MIG' if metric == 'mig' else 'DCI'} of {name} on sprites.",
        f"zietlow2022 Tab. {'4.2' if metric == 'mig' else '4.3'}",
        Level(f"fall_{metric}", {"method": method}), "above", 0.0, paper, _SUBSTITUTED,
        control=Control(_NOISE, Level(f"noise_fall_{metric}", {"method": method})), needs=_ENTRY,
    )  # fmt: skip


def _gap(method: str) -> Gap:
    return Gap("fall_mig", _BETA, {"method": method})


STUDY = Study(
    "zietlow2022/table-4.2-dsprites",
    "MIG on original, perturbed and noisy sprites",
    work,
    (
        _falls("the beta-VAE", "beta-vae", "0.23 - 0.07; noise 0.23 - 0.14"),
        _falls("the beta-VAE", "beta-vae", "0.11 - 0.08; noise 0.11 - 0.14", "dci"),
        _falls("SlowVAE", "slow-vae", "0.39 - 0.27; noise 0.39 - 0.37"),
        Claim(
            "The perturbation lowers MIG of the beta-VAE on sprites more than that of PCL.",
            "zietlow2022 Tab. 4.2",
            _gap("pcl"),
            "above",
            0.0,
            "0.23 - 0.07 against 0.21 - 0.24",
            _SUBSTITUTED,
            control=Control("SlowVAE in place of PCL", _gap("slow-vae")),
            needs=_ENTRY,
        ),
    ),
    (
        Dots(
            "MIG, original minus perturbed",
            "fall_mig",
            "method",
            paper={"beta-vae": 0.16, "slow-vae": 0.12, "pcl": -0.03, "ae": 0.04},
        ),
        Dots(
            "MIG, original minus noise",
            "noise_fall_mig",
            "method",
            paper={"beta-vae": 0.09, "slow-vae": 0.02, "pcl": -0.03, "ae": 0.03},
        ),
        Dots(
            "MIG on the original",
            "mig_original",
            "method",
            paper={"beta-vae": 0.23, "slow-vae": 0.39, "pcl": 0.21, "ae": 0.09},
        ),
        Dots(
            "MIG on perturbed data",
            "mig_perturbed",
            "method",
            paper={"beta-vae": 0.07, "slow-vae": 0.27, "pcl": 0.24, "ae": 0.05},
        ),
    ),
    ("zietlow2022 Tab 4.2", "zietlow2022 Tab 4.3"),
    "The design of table 4.2 on 1,056 sprites of one shape at 16 pixels (six scales, 16 by 11 "
    "places; those of `vaescope perturb dsprites`), three latents, epsilon 0.1. A direction is all "
    "that is claimed, and no claim is primary: a fall of 0.1 would fail the thesis's own numbers, "
    "where noise keeps 0.07 more than the perturbation and FactorVAE is reversed. Eight "
    "replicates, each with its own pool, m and noise, so that 8 of 8 votes are the most that can "
    "be seen. Six seeds of the beta-VAE, four of SlowVAE and of the autoencoder, which starts at "
    "the floor and is no evidence, two of PCL. Other sets of sprites had less headroom: of nine, "
    "with orientation, other scales or other places, medians of MIG were at most 0.39. Strengths "
    "by the one rule of table 4.2, medians of eight exploratory seeds: the beta-VAE 0.30 at 1.5, "
    "0.40 at 2, 0.43 at 2.5, and 0.40 at 3, where two were over-pruned; SlowVAE 0.25 at a beta of "
    "0.12, 0.50 at 0.25, and seven over-pruned at 0.5; the autoencoder has 0.08. A pool needs a "
    "contrast of 0.1 in MIG, and the condition is 0.3.",
    "The direction is the thesis's, and noise does the same. Over all eight replicates MIG of the "
    "beta-VAE is 0.32 on the original, 0.15 on perturbed and 0.18 on noisy sprites (the thesis has "
    "0.23, 0.07, 0.14), of SlowVAE 0.43, 0.19 and 0.20 (0.39, 0.27, 0.37), of PCL 0.37, 0.42 and "
    "0.31 (0.21, 0.24, 0.24), of the autoencoder 0.12, 0.12 and 0.11. The beta-VAE and SlowVAE "
    "lose in 8 of 8 replicates, 0.11 to 0.38, and under noise in 8 of 8 too; PCL loses 0.10 at "
    "most and gains up to 0.22. What the first two lose is latents: of 48 beta-VAEs 21 are "
    "over-pruned on the original, 48 on perturbed and 47 on noisy sprites, of 32 SlowVAEs 13, 32 "
    "and 32; the gap of the scale goes first. So these falls say nothing of axes. Only one of "
    "eight replicates meets the condition, and no claim is decided. The strength is at fault: "
    "none of the eight exploratory seeds that chose it was over-pruned, and 2 of twelve later "
    "ones were. A weaker one would have to be registered anew; at a beta of 1 half of eight "
    "exploratory models lose a latent to noise, and their MIG is 0.31 on noisy sprites.",
    extend=work,
    cap=8,
)
