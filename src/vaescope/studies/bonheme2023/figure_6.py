"""What logistic regressions predict from each type of latents. bonheme2023 figure 6.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679, section 4.1.
"""

from vaescope.latents.downstream import downstream
from vaescope.runs import Run
from vaescope.studies.bonheme2023.bank import arm, halves
from vaescope.studies.claims import Claim, Condition, Control, Test
from vaescope.studies.effects import Level, Trend
from vaescope.studies.measuring import relabelled
from vaescope.studies.panels import Curves
from vaescope.studies.study import Measured, Scale, Study, Trained
from vaescope.tables import Value

__all__ = ["STUDY", "measure"]

STRONG = 8.0


def _work(scale: Scale) -> Trained:
    return Trained("bonheme2023-figure-6", arm(scale, "beta-vae", "dsprites"), measure)


def measure(run: Run) -> Measured:
    """Test accuracy over chance, mean over factors, by subset and representation; and the same for
    factors of other images."""
    of = halves(run)
    row: dict[str, Value] = dict(of.counts())
    for name, codes in (("", of.codes), ("_relabelled", relabelled(of.codes))):
        found = downstream(codes, kinds=of.kinds)
        chance = float(found.chance.mean())
        for key, accuracy in found.accuracy.items():
            row[f"{key}{name}"] = None if accuracy is None else float(accuracy.mean()) - chance
        row["chance"] = chance
    return row


_STRONG = {"strength": STRONG}
_PASSIVE = Condition(
    "some latent is passive, by the other half of the images",
    Level("passive", _STRONG), "above", 0.5,
)  # fmt: skip
_OTHERS = "factors of other images"

STUDY = Study(
    "bonheme2023/figure-6",
    "Accuracy of logistic regressions on means and samples, by type of latent",
    _work,
    (
        Claim(
            "Passive means predict factors better than chance, and passive samples do not.",
            "bonheme2023 section 4.1, Fig. 6", Level("mean_passive", _STRONG), "above", 0.02,
            "well above a random classifier at high beta",
            also=(Test(Level("sample_passive", _STRONG), "within", 0.0, 0.02),),
            primary=True,
            quote="despite being close to zero and having a very low variance, passive variables "
            "of the mean representation seem to capture some information about the data",
            control=Control(_OTHERS, Level("mean_passive_relabelled", _STRONG)),
            needs=_PASSIVE,
        ),
        Claim(
            "Passive means predict more the larger beta is.",
            "bonheme2023 section 4.1, Fig. 6a",
            Trend("mean_passive", "strength"), "above", 0.0,
            "passive variables are becoming more informative as the regularisation strength "
            "increases",
            control=Control(_OTHERS, Trend("mean_passive_relabelled", "strength")),
        ),
        Claim(
            "Samples without their passive latents predict as well as all of them.",
            "bonheme2023 section 4.1, Fig. 6b",
            Level("sample_without_passive", _STRONG), "above", 0.02, "as the full representation",
            control=Control(_OTHERS, Level("sample_without_passive_relabelled", _STRONG)),
            needs=_PASSIVE,
        ),
    ),
    (
        Curves("Passive means over chance", "mean_passive", "strength", log=True),
        Curves("Passive samples over chance", "sample_passive", "strength", log=True),
        Curves("All means over chance", "mean", "strength", log=True),
        Curves("Means without passives over chance", "mean_without_passive", "strength", log=True),
        Curves("Passive latents", "passive", "strength", log=True),
    ),
    ("bonheme2023 Fig 6 a,b",),
    "beta-VAEs on dSprites at six betas. The paper: 64 pixels, all factors, betas 1 to 16, 50 "
    "seeds, 300,000 steps, raw codes with cross-validated penalty, 10,000 and 5,000 images. Laptop "
    "scale: 3,072 sprites of four factors at 32 pixels, betas 0.25 to 8 (at 0.25 hardly any latent "
    "is passive), MLPs of 128-128, 4,000 steps; standardised codes, hardly penalised: it shows "
    "what tiny passive means know, not what they weigh. Types by one half of the images; "
    "regressions are fitted and tested within the other half. Accuracies are above that "
    "of guessing uniformly.",
)  # fmt: skip
