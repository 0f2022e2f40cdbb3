"""Which of the paper's own settings a study has at laptop scale, as far as settings tell.

Compared are the experiments of one unit at both scales, whole, with their presets' values.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

from vaescope.specs import resolve, to_dict
from vaescope.studies.study import Scale, Study, Trained
from vaescope.sweeps.grid import plan

__all__ = ["ASPECTS", "Likeness", "likeness"]

#: What is compared, and the parts of an experiment that it is.
ASPECTS: Mapping[str, tuple[str, ...]] = {
    "data": ("data", "split"),
    "network": ("net", "latent", "posterior", "likelihood"),
    "strength": ("objective", "prior"),
    "optimiser": ("optimiser", "batch"),
    "length": ("steps",),
}
#: All of the paper's values, some of them, or none.
Likeness = Literal["all", "some", "none"]
#: Of random data: which draw, not which data.
_SEEDS = ("seed", "generator_seed")


def likeness(study: Study) -> Mapping[str, Likeness] | None:
    """For each aspect, how many of the paper's values are among those at laptop scale; None where
    cells train inside of what they compute and are others than at the paper's scale, so that
    settings do not tell.

    >>> from vaescope.studies.catalogue import find
    >>> (study,) = find("mathieu2019/figure-3")
    >>> set(likeness(study).values())
    {'all'}
    """
    works = [study.of_units(scale, (0,)) for scale in ("paper", "laptop")]
    if [c.columns for c in works[0].cells] == [c.columns for c in works[1].cells]:
        return dict.fromkeys(ASPECTS, "all")
    if not all(isinstance(work, Trained) for work in works):
        return None
    paper, laptop = _values(study, "paper"), _values(study, "laptop")
    found: dict[str, Likeness] = {}
    for aspect in ASPECTS:
        if not paper[aspect]:  # models without a strength
            continue
        shared = paper[aspect] & laptop[aspect]
        found[aspect] = "all" if shared == paper[aspect] else "some" if shared else "none"
    return found


def _values(study: Study, scale: Scale) -> dict[str, set[str]]:
    """The values of each aspect over the trained models of a unit."""
    cells = study.of_units(scale, (0,)).cells
    found: dict[str, set[str]] = {aspect: set() for aspect in ASPECTS}
    for spec in plan([dict(cell.settings) for cell in cells], where="The study"):
        whole = to_dict(resolve(spec))
        if whole["steps"] == 1:  # a network before training, as a control
            continue
        for aspect, parts in ASPECTS.items():
            own = {part: _without_seeds(whole.get(part)) for part in parts}
            if aspect == "strength" and set(whole["objective"]) == {"name"}:
                continue  # a plain autoencoder has none, so that it cannot have the paper's
            found[aspect].add(json.dumps(own, sort_keys=True, default=str))
    return found


def _without_seeds(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: one for key, one in value.items() if key not in _SEEDS}
