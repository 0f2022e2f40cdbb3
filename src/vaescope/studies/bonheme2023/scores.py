"""How correlated means and samples are, with and without passive latents: what figures 7 to 9 and
14 to 18 of bonheme2023 show of one run.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679, section 4.2.
"""

import itertools
from collections.abc import Mapping

import numpy as np

from vaescope.latents.correlation import measures_of, shuffled_information
from vaescope.latents.pairwise import pairwise
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.bonheme2023.bank import LATENTS, halves
from vaescope.studies.measuring import distortion
from vaescope.studies.study import Measured
from vaescope.types import Floats, Integers

__all__ = ["lots", "scores"]

#: Sets of latents, as many as are passive, that are dropped by lot for comparison.
LOTS = 20
Scores = Mapping[str, float | None]


def lots(d: int, dropped: int) -> list[Integers]:
    """Sets of latents that are left where so many are dropped by lot."""
    if not dropped or d - dropped < 2:
        return []
    sets = list(itertools.combinations(range(d), d - dropped))
    chosen = rng(0, "random-latents").choice(len(sets), min(LOTS, len(sets)), replace=False)
    return [np.array(sets[i]) for i in chosen]


class _Scored:
    """Scores of sets of latents of one representation, from matrices that are made once."""

    def __init__(self, values: Floats) -> None:
        self.pairs = pairwise(values)
        # What the plug-in information of these latents is by chance.
        self.bias = shuffled_information(values, rng=rng(0, "information"))

    def of(self, which: Integers) -> Scores:
        found = measures_of(self.pairs, np.asarray(which, dtype=np.int64))
        if found is None:
            return dict.fromkeys(("tc", "mi", "rank", "rank_of_correlations"))
        return {
            "tc": found.total_correlation,
            "mi": found.mutual_information - self.bias,
            "rank": found.effective_rank,
            "rank_of_correlations": found.effective_rank_correlation,
        }

    def each(self, sets: list[Integers]) -> Mapping[str, Floats]:
        """Of several sets."""
        found = [self.of(which) for which in sets]
        return {n: np.array([own[n] for own in found]) for n in ("tc", "mi")}


def _middle(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _ranks(value: float | None, left: Floats) -> tuple[float | None, float | None]:
    """The share of the lots that leave less than `value` (of those that leave as much, half), and
    the same for the first lot among the others."""
    if value is None or len(left) < 2:
        return None, None
    first, others = left[0], left[1:]
    return _below(value, left), _below(first, others)


def _below(value: float, others: Floats) -> float:
    return float((others < value).mean() + 0.5 * (others == value).mean())


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _size(value: float | None) -> float | None:
    return None if value is None else abs(value)


def _over(one: float | None, other: float | None) -> float | None:
    return None if one is None or not other else one / other


def scores(run: Run) -> Measured:
    """Total correlation, averaged information and effective rank of means, samples, and means whose
    latents are permuted apart: of all latents, without passives, of active ones, and without as
    many by lot.

    One sample of each posterior, so that means and samples have the same n and so the same bias of
    the plug-in information; what latents have that are permuted apart is subtracted from it.
    """
    of = halves(run)
    codes, kinds = of.codes, of.kinds
    draws = rng(0, "samples")
    mean = codes.mean.astype(np.float64)
    spread = np.sqrt(codes.variance.astype(np.float64))
    values: dict[str, Floats] = {
        "mean": mean,
        "sample": mean + spread * draws.standard_normal(mean.shape),
        "apart": draws.permuted(mean, axis=0),
    }
    sets = {
        "": np.arange(codes.d),
        "_without_passive": of.others(kinds.passive),
        "_active": kinds.active,
    }
    by_lot = lots(codes.d, len(kinds.passive))
    found: dict[str, float | None] = {}
    drawn: dict[str, Mapping[str, Floats]] = {}
    for name, own in values.items():
        scored = _Scored(own)
        for suffix, which in sets.items():
            found |= {f"{key}_{name}{suffix}": v for key, v in scored.of(which).items()}
        drawn[name] = scored.each(by_lot)
        found |= {f"{key}_{name}_lot": _middle(v) for key, v in drawn[name].items()}
        # The effective rank less the number of latents that are not passive, and of all.
        found[f"rank_{name}_miss"] = _minus(found[f"rank_{name}"], LATENTS - len(kinds.passive))
        found[f"rank_{name}_short"] = _minus(found[f"rank_{name}"], LATENTS)
    for key in ("tc", "mi"):
        for suffix in (*sets, "_lot"):
            gap = _minus(found[f"{key}_mean{suffix}"], found[f"{key}_sample{suffix}"])
            found[f"{key}_gap{suffix}"] = gap
            # What is left of the whole gap, whichever its sign, and of the score of means.
            found[f"{key}_share{suffix}"] = _over(_size(gap), _size(found[f"{key}_gap"]))
            found[f"{key}_left{suffix}"] = _over(found[f"{key}_mean{suffix}"], found[f"{key}_mean"])
        # How what is left without passives ranks among what is left without as many by lot.
        gaps = drawn["mean"][key] - drawn["sample"][key]
        for name, whole, left in (
            ("gap", _size(found[f"{key}_gap_without_passive"]), np.abs(gaps)),
            ("left", found[f"{key}_mean_without_passive"], drawn["mean"][key]),
        ):
            ranks = _ranks(whole, left)
            found[f"{key}_{name}_lots_below"], found[f"{key}_{name}_lots_below_lot"] = ranks
        found[f"{key}_gap_apart"] = _minus(found[f"{key}_apart"], found[f"{key}_sample"])
    return {
        **of.counts(), "not_active": codes.d - len(kinds.active),
        "distortion": distortion(of.model), **found,
    }  # fmt: skip
