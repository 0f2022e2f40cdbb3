"""FactorVAE in the bank: is what holds for the other families true of it? A question of ours.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679, section 4. Their figures show
other families; FactorVAE is among the models that were trained for them.
"""

from dataclasses import replace

from vaescope.studies.bonheme2023.bank import arm
from vaescope.studies.bonheme2023.scores import scores
from vaescope.studies.claims import Claim, Condition, Control
from vaescope.studies.effects import Level
from vaescope.studies.panels import Dots
from vaescope.studies.study import Scale, Study, Trained

__all__ = ["STUDY"]

#: The penalty on total correlation, and the weight of the rate at laptop scale: the bank's 1/16
#: leaves hardly any latent passive, and gamma makes them fewer.
GAMMA, RATE = 20.0, 0.5


def _work(scale: Scale) -> Trained:
    trained = arm(scale, "factor-vae", "dsprites", strengths=[GAMMA])
    if scale != "paper":
        trained = tuple(
            replace(cell, settings={**cell.settings, "objective.rate": RATE}) for cell in trained
        )
    return Trained("bonheme2023-scores", trained, scores)


_PASSIVE = Condition(
    "some latent is passive, by the other half of the images", Level("passive"), "above", 0.5
)

STUDY = Study(
    "bonheme2023/factor-vae",
    "FactorVAE: means and samples with and without passive latents",
    _work,
    (
        Claim(
            "Without the passive latents of a FactorVAE less of the gap in total correlation "
            "between means and samples is left than without most lots of as many.",
            "bonheme2023 section 4.4, a question", Level("tc_gap_lots_below"), "below", 0.5,
            "shown of other families",
            primary=True, own=True,
            control=Control("one lot among the others", Level("tc_gap_lots_below_lot")),
            needs=_PASSIVE,
        ),
        Claim(
            "Means of a FactorVAE are more correlated than its samples.",
            "bonheme2023 section 4.3, a question", Level("tc_gap"), "above", 0.0,
            "shown of other families", own=True,
            control=Control("means whose latents are permuted apart", Level("tc_gap_apart")),
        ),
    ),
    (
        Dots("Gap in total correlation", "tc_gap", "strength", {}, 0.0),
        Dots("Share of it without passives", "tc_share_without_passive", "strength"),
        Dots("The same without as many at random", "tc_share_lot", "strength"),
        Dots("Share of random sets that leave less", "tc_gap_lots_below", "strength", {}, 0.5),
        Dots("Passive latents", "passive", "strength"),
    ),
    ("bonheme2023 FactorVAE in the bank",),
    "FactorVAEs with gamma 20 and a rate of weight 1/2 on 2,592 sprites of four factors at 16 "
    "pixels; MLPs of 64-64, 3,000 steps at learning rate 1e-3. The critic is 3 x 128, where "
    "disentanglement_lib's is 6 x 1000, a step of which takes 67 ms in place of 3.6. Types are "
    "decided on one half of the images, scores are of the other, one sample of each posterior. "
    "With the bank's weight of 1/16 one exploratory model of each gamma from 1 to 50, which never "
    "vote, had 2, 0, 0 and 0 passive latents of ten: unlike the other penalties, gamma does not "
    "make latents passive. With 1/2 two such models, of gamma 5 and 20, had 6 and 4.",
    "Means are more correlated than samples in all 48 seeds (2.9 against 0.04 nats, medians), as "
    "in the other families. But passive latents are not what makes the gap here: without them 52% "
    "of it is left, as without as many others (52%), and they do better than most random sets in "
    "27 of the 47 seeds that have any: undecided at the cap. Few "
    "latents are passive (two or three of ten) and four are mixed; of active ones alone nothing of "
    "the gap is left, so that it is with the mixed ones. The first 16 seeds had nine for the "
    "claim, the other 32 were run at once.",
)  # fmt: skip
