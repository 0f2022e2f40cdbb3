"""Restarts on perturbed data over a line of strengths. zietlow2022 Fig. 4.4 to 4.8."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vaescope.errors import UsageError
from vaescope.studies.claims import Claim, Condition, Control, Test
from vaescope.studies.effects import Gap, Level
from vaescope.studies.panels import Curves, Dots
from vaescope.studies.study import Cell, Computed, Measured, Scale, Study
from vaescope.studies.zietlow2022.perturbation import (
    HUES,
    METHODS,
    METRICS,
    arms_of,
    codes_of,
    folder_of,
    measured,
    original,
    replicates_of,
    seeds_of,
    sizes_of,
)
from vaescope.tables import Value

__all__ = ["STUDY"]

#: Factors of the strength that is best on the original data.
FACTORS = (0.75, 1.0, 1.25, 1.5, 2.0)


def work(scale: Scale, units: Any = None) -> Computed:
    """Original and noisy data at their own strength, perturbed data at all."""
    settings = sizes_of(scale, "beta-vae")
    settings["seeds"] = min(settings["seeds"], 4)
    line = [("original", 1.0), ("noise", 1.0), *(("perturbed", factor) for factor in FACTORS)]
    cells = tuple(
        Cell(settings, {"seed": replicate, "arm": arm, "factor": factor})
        for arm, factor in line
        for replicate in replicates_of(scale, units)
    )  # fmt: skip
    return Computed("zietlow2022-line-search", cells, compute)


def compute(columns: Mapping[str, Any]) -> Measured:
    """Restarts of the beta-VAE on one dataset at one strength: means over all of them, and over
    those that use as many latents as there are factors (`kept`)."""
    folder, steps = folder_of(columns), int(columns["steps"])
    data = original(columns["hues"])
    try:
        rows = arms_of(data, columns, folder)[0][str(columns["arm"])]
    except UsageError as error:
        return {"refused": error.message}
    method = METHODS["beta-vae"](steps, float(columns["factor"]))
    seeds = seeds_of(columns, int(columns["seeds"]))
    found = [measured(codes) for codes in codes_of(method, rows, seeds, steps, columns, folder)]
    kept = [one for one in found if one["used"] >= len(HUES)]
    values: dict[str, Value] = {
        "pruned": float(len(found) - len(kept)),
        "entry": sum(one["mig"] for one in kept) / len(found),
    }
    for metric in METRICS:
        values[metric] = float(np.mean([one[metric] for one in found]))
        values[f"{metric}_kept"] = float(np.mean([one[metric] for one in kept])) if kept else None
    each = [one["mig"] for one in found]
    return {**values, "least": min(each), "largest": max(each)}


_ORIGINAL: Mapping[str, Value] = {"arm": "original", "factor": 1.0}


def _at(arm: str, factor: float) -> Mapping[str, Value]:
    return {"arm": arm, "factor": factor}


def _claim(measure: str, says: str, figure: str, *, primary: bool = False) -> Claim:
    """At all strengths."""
    first, *others = (
        Test(Gap(measure, _ORIGINAL, _at("perturbed", factor)), "above", 0.0) for factor in FACTORS
    )
    return Claim(
        f"At no strength from 0.75 to 2 times its own does {says} of the beta-VAE on perturbed "
        "data reach that on the original.",
        f"zietlow2022 Fig. {figure}, section 4.3.4", first.effect, first.side, first.threshold, "",
        "rendered Shapes3D at 16 pixels, arcs of three hues", also=tuple(others), primary=primary,
        quote="one would expect the disentanglement scores to not recover near the level achieved "
        "on the original datasets" if primary else "",
        control=Control("noise of the same epsilon", Gap(measure, _ORIGINAL, _at("noise", 1.0))),
        needs=Condition(
            "MIG on the original data is above 0.5, where an over-pruned model counts 0",
            Level("entry", _ORIGINAL), "above", 0.5,
        ),
    )  # fmt: skip


_PERTURBED = {"arm": "perturbed"}

STUDY = Study(
    "zietlow2022/figures-4.4-4.8",
    "Restarts on perturbed data over a line of strengths",
    work,
    (
        _claim("mig", "MIG", "4.4", primary=True),
        _claim("mig_kept", "MIG of models that are not over-pruned", "4.4"),
        _claim("dci", "DCI", "4.5"),
    ),
    (
        Curves("MIG on perturbed data", "mig", "factor", where=_PERTURBED),
        Curves("MIG, no over-pruned models", "mig_kept", "factor", where=_PERTURBED),
        Dots("MIG", "mig", "arm", {"factor": 1.0}),
        Dots("Best restart", "largest", "arm", {"factor": 1.0}),
        Curves("DCI", "dci", "factor", where=_PERTURBED),
        Curves("FactorVAE score", "factor_vae", "factor", where=_PERTURBED),
        Curves("SAP", "sap", "factor", where=_PERTURBED),
    ),
    ("zietlow2022 Fig 4.4-4.7", "zietlow2022 Fig 4.8"),
    "The data and the design of table 4.2 in the replicates of table-4.2-compared, each with a "
    "perturbed dataset of its own in place of the thesis's one, with four restarts of the beta-VAE "
    "at each strength; at its own they are those of the table. Original and noisy data at its own "
    "strength. The thesis searches from 0.75 to 2 times and names no points between: we take 1, "
    "1.25 and 1.5. It drops over-pruned models, and we look at all of them too. Other methods have "
    "no line here.",
    "Over the first 16 replicates MIG is 0.57 on the original and 0.46, 0.48, 0.49, 0.48 and 0.47 "
    "on perturbed data at 0.75, 1, 1.25, 1.5 and 2 times the strength; DCI is 0.61, and 0.45, "
    "0.47, 0.49, 0.45, 0.43. No strength brings the mean back, as the thesis has it, but in 10 of "
    "16 replicates at least one of the five does. What larger strengths lose is latents: of 64 "
    "models 4, 9, 15, 19 and 28 are over-pruned (2 on the original, 29 on noisy data), and "
    "without these MIG is 0.47, 0.50, 0.54, 0.55 and 0.56 (the last in the twelve replicates that "
    "have such models) where the original has 0.58. So with over-pruned models dropped, as figure "
    "4.4 has it, most of the fall goes away as the strength grows. Good models remain: the best "
    "of four restarts has 0.70, 0.68, 0.70, 0.67 and 0.61 on average (0.86 on the original), the "
    "worst 0.23 to 0.33 (0.32). Six replicates do not meet the condition, and the other ten "
    "decide nothing.",
    extend=work,
    cap=24,
)
