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
        Curves("TC of means without as many by lot", "tc_mean_lot", "strength"),
        Curves("Information of means", "mi_mean", "strength"),
        Curves("Without passives", "mi_mean_without_passive", "strength"),
    ),
    ("bonheme2023 Fig 18 a-d",),
    f"Annealed VAEs on scream dSprites: {_SMALL} Fewer latents have less total correlation "
    "whatever they are: the effect is the share of 20 sets of as many latents, dropped at random, "
    "that leave less.",
)  # fmt: skip
