"""Total correlation with and without passive latents. bonheme2023 figure 10, and 8a beside it.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679, section 4.
"""

import itertools

import numpy as np

from vaescope.codes import Codes
from vaescope.latents.correlation import mean_against_sample, total_correlation
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.effects import Gap, Level, Trend
from vaescope.studies.measuring import counts, subject, typed
from vaescope.studies.panels import Curves, Dots
from vaescope.studies.study import Measured, Scale, Study, Trained, cells
from vaescope.studies.verdict import Claim
from vaescope.sweeps.grid import product

__all__ = ["STUDY", "measure"]

#: Sets of latents, as many as are passive, that are dropped at random for comparison.
DRAWN = 20
#: The middle strength, at which claims about the gap are made: several latents are active still.
MIDDLE = 4.0

#: Position of one ellipse and its scale, as in the demo; see its preset for the reasons.
_GRID = {
    "shape": [1],
    "orientation": [0],
    "scale": [0, 2, 5],
    "x": list(range(0, 32, 2)),
    "y": list(range(11, 22, 2)),
}


def _work(scale: Scale) -> Trained:
    if scale == "paper":
        axes = {"objective.beta": [1.0, 2.0, MIDDLE, 6.0, 8.0, 10.0], "seed": range(50)}
        fixed = {"preset": "beta-tcvae", "data.name": "dsprites-noisy", "data.size": 64}
    else:
        steps, seeds = (2000, 5) if scale == "laptop" else (20, 2)
        axes = {"objective.beta": [1.0, MIDDLE, 8.0], "seed": range(seeds)}
        fixed = {
            "preset": "beta-tcvae", "data.name": "dsprites-noisy", "data.size": 32,
            "data.grid": _GRID, "optimiser.lr": 1e-3, "steps": steps,
        }  # fmt: skip
    return Trained(
        "bonheme2023-figure-10", cells({**fixed, **one} for one in product(axes)), measure
    )


def _random_share(codes: Codes, dropped: int, gap: float) -> float | None:
    """The gap that is left where as many latents are dropped by lot, as a share of the whole."""
    kept = codes.d - dropped
    if kept < 2 or not dropped:
        return None
    sets = list(itertools.combinations(range(codes.d), kept))
    chosen = rng(0, "random-latents").choice(len(sets), min(DRAWN, len(sets)), replace=False)
    parts = [np.asarray(sets[i]) for i in chosen]
    gaps = [_tc(codes.mean[:, p]) - _tc(codes.sample[:, p]) for p in parts]
    return float(np.mean(gaps)) / gap


def _tc(values: np.ndarray) -> float:
    return total_correlation(np.cov(values.astype(np.float64), rowvar=False))


def measure(run: Run) -> Measured:
    """Total correlations of means and samples on three sets of latents, and shares of the gap."""
    of = subject(run, rows=10_000)
    found = mean_against_sample(of.codes)
    row: dict[str, float | int | None] = dict(counts(of))
    for suffix in ("", "_without_passive", "_active"):
        mean, sample = found[f"mean{suffix}"], found[f"sample{suffix}"]
        names = (f"tc_mean{suffix}", f"tc_sample{suffix}", f"gap{suffix}", f"gap_rank{suffix}")
        row |= dict.fromkeys(names)  # fewer than two latents have no correlation
        if mean is None or sample is None:
            continue
        values = (
            mean.total_correlation,
            sample.total_correlation,
            mean.total_correlation - sample.total_correlation,
            mean.total_correlation_rank - sample.total_correlation_rank,
        )
        row |= dict(zip(names, values, strict=True))
    whole, ranked = row["gap"], row["gap_rank"]
    assert whole is not None and ranked is not None
    for suffix in ("_without_passive", "_active"):
        part, part_ranked = row[f"gap{suffix}"], row[f"gap_rank{suffix}"]
        row[f"share{suffix}"] = None if part is None else part / whole
        row[f"share_rank{suffix}"] = None if part_ranked is None else part_ranked / ranked
    passive = np.flatnonzero([name == "passive" for name in typed(of.codes).names])
    row["share_random"] = _random_share(of.codes, len(passive), whole)
    without, by_lot = row["share_without_passive"], row["share_random"]
    row["share_excess"] = None if without is None or by_lot is None else by_lot - without
    return row


_MIDDLE = {"objective.beta": MIDDLE}

STUDY = Study(
    "bonheme2023/figure-10",
    "Total correlation of means and samples, with and without passive latents",
    _work,
    (
        Claim(
            "Means are more correlated than samples.",
            "bonheme2023 Fig. 10a", Level("gap", _MIDDLE), "above", 0.0,
            "the curves of means and samples part as regularisation grows",
        ),
        Claim(
            "Without passive latents the gap between means and samples loses most of its size.",
            "bonheme2023 Fig. 10b", Level("share_without_passive", _MIDDLE), "below", 0.5,
            "the scores become more similar once passive variables are removed",
        ),
        Claim(
            "With active latents only, the gap loses most of its size.",
            "bonheme2023 Fig. 10c", Level("share_active", _MIDDLE), "below", 0.5,
            "the scores become more similar once passive variables are removed",
        ),
        Claim(
            "The same holds for normal scores, which know nothing of the latents' own shapes.",
            "bonheme2023 Fig. 10b", Level("share_rank_without_passive", _MIDDLE), "below", 0.5,
        ),
        Claim(
            "Dropping passives removes more of the gap than dropping as many latents by lot.",
            "bonheme2023 Fig. 10b", Level("share_excess", _MIDDLE), "above", 0.0,
        ),
        Claim(
            "The gap grows with the number of passive latents.",
            "bonheme2023 Fig. 8a", Trend("gap", "passive"), "above", 0.0,
            "TC of means rises with the number of passives, TC of samples stays flat",
        ),
        Claim(
            "Stronger regularisation makes more latents passive.",
            "bonheme2023 Fig. 7", Gap("passive", {"objective.beta": 8.0}, {"objective.beta": 1.0}),
            "above", 0.0, "passive and mixed variables grow with the strength",
            substituted="noisy dSprites for smallNORB",
        ),
        Claim(
            "The total correlation of samples stays below 0.2 nats.",
            "bonheme2023 Fig. 10a", Level("tc_sample", _MIDDLE), "below", 0.2,
        ),
    ),
    (
        Curves("TC of means, all latents", "tc_mean", "objective.beta"),
        Curves("TC of samples, all latents", "tc_sample", "objective.beta"),
        Curves("TC of means without passives", "tc_mean_without_passive", "objective.beta"),
        Dots("Gap without passives / gap", "share_without_passive", "objective.beta"),
        Dots("Gap without as many by lot / gap", "share_random", "objective.beta"),
        Curves("Passive latents", "passive", "objective.beta"),
    ),
    ("bonheme2023 Fig 10 a-c",),
    "beta-TCVAE on noisy dSprites. The paper: 64 pixels, all factors, convolutions, six "
    "strengths, 50 seeds, 300,000 steps. Laptop scale: 32 pixels, position and scale of one "
    "ellipse, three strengths, five seeds, 2,000 steps at learning rate 1e-3. Types by "
    "bonheme2023's rule and total correlation as if Gaussian, as the paper; kept apart: the shape "
    "of the latents' distributions (total correlation of normal scores beside it) and that fewer "
    "latents have less total correlation whatever they are (as many dropped by lot, 20 sets). The "
    "caption of figure 10 has passives lead to lower TC of samples; Theorem 7 and section 4.3 have "
    "it unchanged by them. Tested is the theorem: TC of samples stays near 0 whatever is passive.",
    "Total correlation of means grows from about 1 nat at beta 1 to 4.4 at 4 and 6.0 at 8, that "
    "of samples stays near 0.07, and without passives nothing of the gap is left (at most 0.09 of "
    "it at beta 4, where one latent is mixed). The undecided claims ask for numbers of passives "
    "that vary: with three factors seven of ten latents are passive at almost every strength, so "
    "that neither their number nor the gap along it can show a trend, and five seeds are few. The "
    "gap grows with the strength here although the number of passives does not: passives are "
    "needed for it, but how strongly they correlate is a matter of beta. Dropping as many latents "
    "by lot also removes nearly all of the gap (0.09 of it is left), as most of those dropped are "
    "passive; that control decides little where seven of ten are.",
)  # fmt: skip
