"""Correlation of annealed VAEs along their capacity. bonheme2023 figures 15 to 18.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679, appendix B.
"""

from vaescope.studies.bonheme2023.bank import STRENGTHS, arm
from vaescope.studies.bonheme2023.scores import scores
from vaescope.studies.bonheme2023.type_counts import CARS
from vaescope.studies.claims import Claim, Condition, Control
from vaescope.studies.effects import Gap, Level, Trend, Where
from vaescope.studies.panels import Curves
from vaescope.studies.study import Scale, Study, Trained

__all__ = ["FIGURES_15_16", "FIGURE_17", "FIGURE_18"]

_LEAST, _MOST = STRENGTHS["annealed-vae"][0], STRENGTHS["annealed-vae"][-1]
_SMALL = (
    "up to four capacities, reached after a third of training; MLPs of 64-64, 12,000 steps at "
    "learning rate 1e-3, gamma 20, 16 pixels; types are decided on one half of the images, scores "
    "are of the other. The paper: convolutions, 64 pixels, 300,000 steps, gamma 1,000, capacities "
    "5 to 100, 50 seeds. A larger capacity is a weaker regularisation. In exploratory seeds, which "
    "never vote, such small models hardly reconstructed with gamma 1,000, at a capacity of 50, or "
    "in 3,000 steps."
)


def _two(scale: Scale) -> Trained:
    rows = (*arm(scale, "annealed-vae", "dsprites"), *arm(scale, "annealed-vae", "cars"))
    return Trained("bonheme2023-scores", rows, scores)


def _scream(scale: Scale) -> Trained:
    return Trained("bonheme2023-scores", arm(scale, "annealed-vae", "scream"), scores)


_DATA = (("dsprites", ""), ("cars", CARS))
_APART = "means whose latents are permuted apart"

FIGURES_15_16 = Study(
    "bonheme2023/figures-15-16",
    "Total correlation and information of annealed VAEs along their capacity",
    _two,
    tuple(
        Claim(
            f"The {words} of means grows with capacity: {data}.",
            f"bonheme2023 App. B, Fig. {15 if data == 'dsprites' else 16}",
            Trend(f"{key}_mean", "strength", {"data": data}), "above", 0.0,
            "grows at a near constant number of passives", substituted,
            primary=(key, data) == ("tc", "dsprites"),
            quote="the TC and averaged MI generally decrease with higher regularisation strengths"
            if (key, data) == ("tc", "dsprites")
            else "",
            control=Control(_APART, Trend(f"{key}_apart", "strength", {"data": data})),
        )
        for data, substituted in _DATA
        for key, words in (("tc", "total correlation"), ("mi", "averaged information"))
    ),
    (
        Curves("TC of means", "tc_mean", "strength", "data"),
        Curves("TC of samples", "tc_sample", "strength", "data"),
        Curves("Information of means", "mi_mean", "strength", "data"),
        Curves("Passive latents", "passive", "strength", "data"),
    ),
    ("bonheme2023 Fig 15-16",),
    f"Annealed VAEs on dSprites and {CARS}: {_SMALL}",
    "On dSprites the total correlation of means is 1.0, 2.2, 8.5 and 12.0 nats at capacities 5, "
    "10, 15 and 25 (medians of 24 seeds), and their averaged information 0.09 to 0.39, so both "
    "fall with regularisation as the paper says. But not at a near constant number of passive "
    "latents: 7, 6, 3.5 and 0 (bonheme2023/figure-14), and without these total correlation rises "
    "too, from 0.002 to 10.9: the latents that take up the capacity are the correlated ones. On "
    "the substitute for Cars3D total correlation is 3.0, 7.1 and 13.5, rising in 21 of 24 seeds, "
    "but averaged information does not, 0.39, 0.31 and 0.35, against the paper. At 5 nats three "
    "latents are not passive, and each pair of them shares 0.71 nats although their total "
    "correlation is 0.002: they depend on each other without being correlated, which total "
    "correlation as if Gaussian does not see. At 15 and 25 nats pairs of those that are not "
    "passive share 0.37 and 0.36. Without passive latents the averaged information is larger here, "
    "not smaller.",
)  # fmt: skip

FIGURE_17 = Study(
    "bonheme2023/figure-17",
    "Effective rank of annealed VAEs along their capacity",
    _two,
    (
        Claim(
            "At the highest capacity the effective rank of means is below the number of latents "
            "that are not passive.",
            "bonheme2023 App. B, Fig. 17",
            Level("rank_mean_miss", {"data": "cars", "strength": _MOST}), "below", 0.0,
            "the same at 4 and at 3 passives", CARS,
            primary=True,
            quote="the effective rank obtained with a higher channel capacity and less passive "
            "variables is close to the one obtained with a lower channel capacity",
            remark="Its words are other than the paper's: what was tested is the rank at one "
            "capacity against the number of latents, not how close ranks are at two.",
            control=Control(
                f"{_APART}, of the same variances",
                Level("rank_apart_miss", {"data": "cars", "strength": _MOST}),
            ),
        ),
        Claim(
            "By the correlations alone the effective rank of means falls with capacity.",
            "bonheme2023 App. B, Fig. 17",
            Gap("rank_of_correlations_mean", {"data": "cars", "strength": _MOST},
                {"data": "cars", "strength": _LEAST}), "below", 0.0,
            "more correlated with a higher channel capacity", CARS,
            control=Control(
                _APART,
                Gap("rank_of_correlations_apart", {"data": "cars", "strength": _MOST},
                    {"data": "cars", "strength": _LEAST}),
            ),
        ),
    ),
    (
        Curves("Effective rank of means", "rank_mean", "strength", "data"),
        Curves("Of their correlations", "rank_of_correlations_mean", "strength", "data"),
        Curves("Of samples", "rank_sample", "strength", "data"),
        Curves("Passive latents", "passive", "strength", "data"),
    ),
    ("bonheme2023 Fig 17",),
    f"Annealed VAEs on dSprites and {CARS}: {_SMALL} The effective rank of a covariance falls with "
    "small variances too; that of the correlation matrix, ours, only with correlation.",
    "On the substitute for Cars3D the effective rank of means is 3.0, 4.0 and 3.9 at 5, 15 and 25 "
    "nats (medians of 24 seeds), while 7, 6 and 4 latents are passive: close to each other, as the "
    "paper says, with fewer passive ones. At 25 it is 2.1 below the number that are not passive; "
    "of means permuted apart 0.8 below, so that unequal variances are a part of it; at 5 nats they "
    "are all of it (3.0 both). That the control is not as good as the claim hangs on few seeds: it "
    "has 18 of 24 seeds, and of the first 16, trained anew by the present steps in C, 14 after 11, "
    "by which the claim alone would be not specific (docs/studies.md). By the correlations alone "
    "the rank is 6.5, 4.9 and 4.1, lower at 25 than at 5 in 17 of 24 seeds. The sentence itself, "
    "that the rank is close although fewer latents are passive, was not registered: between 15 and "
    "25 nats ranks are within 1 of each other in 20 of 24 seeds, between 5 and 25 in 14.",
)  # fmt: skip

_SCREAM: Where = {"data": "scream", "strength": _MOST}
_PASSIVE = Condition(
    "some latent is passive, by the other half of the images",
    Level("passive", _SCREAM), "above", 0.5,
)  # fmt: skip

FIGURE_18 = Study(
    "bonheme2023/figure-18",
    "Annealed VAEs on scream dSprites with and without passive latents",
    _scream,
    tuple(
        Claim(
            f"Less {words} of means is left without passive latents than without as many others.",
            "bonheme2023 App. B, Fig. 18",
            Level(f"{key}_left_lots_below", _SCREAM), "below", 0.5,
            "lower with active variables only",
            primary=key == "tc",
            quote="removing the passive variables effectively reduces the overall TC and averaged "
            "MI scores" if key == "tc" else "",
            control=Control(
                "one lot among the others", Level(f"{key}_left_lots_below_lot", _SCREAM)
            ),
            needs=_PASSIVE,
        )
        for key, words in (("tc", "total correlation"), ("mi", "averaged information"))
    ),
    (
        Curves("TC of means", "tc_mean", "strength"),
        Curves("TC of means without passives", "tc_mean_without_passive", "strength"),
        Curves("TC of means without as many random latents", "tc_mean_lot", "strength"),
        Curves("Information of means", "mi_mean", "strength"),
        Curves("Without passives", "mi_mean_without_passive", "strength"),
    ),
    ("bonheme2023 Fig 18 a-d",),
    f"Annealed VAEs on scream dSprites: {_SMALL} Fewer latents have less total correlation "
    "whatever they are: the effect is the share of 20 sets of as many latents, dropped at random, "
    "that leave less.",
    "Undecided at its cap. Removing passive latents reduces total correlation in all 48 seeds, as "
    "the paper says: at 25 nats from 13.9 to 5.6 (medians; four of ten are passive), and averaged "
    "information from 0.31 to 0.28 (lower in 38). Of active latents only, which the figure shows, "
    "2.6 and 0.17 are left (lower in 44). Removing as many at random leaves 4.7, and most random "
    "sets leave less than removing the passive ones in 35 of 48 seeds: these are not special "
    "there, as the two mixed latents that are kept are correlated too. At 5 nats they are, in all "
    "48 seeds: without the seven passive ones 0.003 of 6.3 is left, at random 0.45; of averaged "
    "information 0.05 of 0.24, at random 0.22.",
)  # fmt: skip
