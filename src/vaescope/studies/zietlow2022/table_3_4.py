"""Equal singular values leave the axes free. zietlow2022 table 3.4 and figure 3.5."""

from typing import Any

from vaescope.studies.blocks import Spread
from vaescope.studies.claims import Claim, Control, Test
from vaescope.studies.effects import Effect, Gap, Level, Trend
from vaescope.studies.panels import Dots, Images, Scatter
from vaescope.studies.study import Cell, Scale, Study, Trained, cells
from vaescope.studies.zietlow2022.synthetic import THESIS_BETA, decaying, linear, measure, thesis

__all__ = ["STUDY"]

RATIOS = (1.0, 1.2, 1.5)


def _cells(scale: Scale) -> tuple[Cell, ...]:
    rows, seeds = 50_000, 50
    training: dict[str, Any] = {**thesis("linear"), "objective.beta": THESIS_BETA["linear"]}
    if scale != "paper":
        rows, seeds, steps = (50_000, 16, 10_000) if scale == "laptop" else (1000, 2, 50)
        training = {"objective.beta": 0.1, **decaying(1e-2, steps)}
    arms = {"beta-vae": training, "ae": {k: v for k, v in training.items() if "beta" not in k}}
    return tuple(
        cell
        for method, own in arms.items()
        for cell in cells(
            (
                {"preset": method, **linear(rows=rows), **own, "data.ratio": ratio, "seed": seed}
                for ratio in RATIOS
                for seed in range(seeds)
            ),
            method=method,
        )
    )


def _at(ratio: float, method: str = "beta-vae") -> dict[str, str | float]:
    return {"method": method, "data.ratio": ratio}


def _gap(measure: str, high: float, low: float, method: str = "beta-vae") -> Gap:
    return Gap(measure, _at(high, method), _at(low, method))


def _without(effect: Effect) -> Control:
    return Control("a plain autoencoder, without noise or rate, on the same data", effect)


_WHERE = "zietlow2022 Tab. 3.4"

STUDY = Study(
    "zietlow2022/table-3.4",
    "Degenerate singular values: the linear task stretched by 1.0, 1.2 and 1.5",
    lambda scale: Trained("zietlow2022-synthetic", _cells(scale), measure, version=2),
    (
        Claim(
            "A ratio of 1.2 gives a smaller distance to orthogonality and a higher score than "
            "equal scales.",
            "zietlow2022 section 3.3.4", _gap("dto", 1.2, 1.0), "below", 0.0,
            "DtO .49 to .20, DS .51 to .76",
            also=(Test(_gap("ds", 1.2, 1.0), "above", 0.0),),
            primary=True,
            quote="We can also see in Table 3.4 that the degeneracy disappears even for small "
            "rescaling of the ground truth factors.",
            control=_without(_gap("dto", 1.2, 1.0, "ae")),
        ),
        Claim(
            "The disentanglement score rises with the ratio.",
            _WHERE, Trend("ds", "data.ratio", {"method": "beta-vae"}), "above", 0.0,
            "DS .51, .76, .98 at ratios 1.0, 1.2, 1.5",
            control=_without(Trend("ds", "data.ratio", {"method": "ae"})),
        ),
        Claim(
            "The distance to orthogonality falls with the ratio.",
            _WHERE, Trend("dto", "data.ratio", {"method": "beta-vae"}), "below", 0.0,
            "DtO .49, .20, .01",
            control=_without(Trend("dto", "data.ratio", {"method": "ae"})),
        ),
        Claim(
            "At a ratio of 1.5 the factors are found.",
            _WHERE, Level("ds", _at(1.5)), "above", 0.9, "DS .98 +- .06",
            control=_without(Level("ds", _at(1.5, "ae"))),
        ),
        Claim(
            "At a ratio of 1.5 the decoder's columns are orthogonal.",
            _WHERE, Level("dto", _at(1.5)), "below", 0.05, "DtO .01 +- .06",
            control=_without(Level("dto", _at(1.5, "ae"))),
        ),
        Claim(
            "DtO varies more over restarts with equal scales than at a ratio of 1.5.",
            "zietlow2022 section 3.3.4", Spread("dto", _at(1.0), _at(1.5)), "above", 0.0,
            ".32 against .06",
            control=_without(Spread("dto", _at(1.0, "ae"), _at(1.5, "ae"))),
        ),
        Claim(
            "DS varies more over restarts with equal scales than at a ratio of 1.5.",
            "zietlow2022 section 3.3.4", Spread("ds", _at(1.0), _at(1.5)), "above", 0.0,
            ".28 against .06",
            control=_without(Spread("ds", _at(1.0, "ae"), _at(1.5, "ae"))),
        ),
    ),
    (
        Dots(
            "Disentanglement score", "ds", "data.ratio", {"method": "beta-vae"}, 0.9,
            {1.0: 0.51, 1.2: 0.76, 1.5: 0.98},
        ),
        Dots(
            "Distance to orthogonality", "dto", "data.ratio", {"method": "beta-vae"}, 0.05,
            {1.0: 0.49, 1.2: 0.20, 1.5: 0.01},
        ),
        Dots("Distance to orthogonality, autoencoder", "dto", "data.ratio", {"method": "ae"}),
        Scatter("Each restart", "ds", "dto", by="data.ratio", where={"method": "beta-vae"}),
        *(
            Images(
                f"Fig. 3.5: codes of four restarts in the colours of the sources, ratio {ratio:g}",
                "portrait", "seed", _at(ratio),
            )
            for ratio in (RATIOS[0], RATIOS[-1])
        ),
    ),
    ("zietlow2022 Tab 3.4, Fig 3.5",),
    "Linear encoder and decoder, two latents, 50,000 rows, batch 128, Adam with a learning rate "
    "that falls from 1e-2 to 0 over 10,000 steps, beta 0.1; a plain autoencoder with the same "
    "training as control. The thesis has beta 1e-4, a constant 1e-3 and 600 epochs. The force that "
    "aligns the axes is of order beta times the difference of the variances, so that at small beta "
    "training ends long before alignment: a trial with one seed outside the study had not "
    "converged at beta 0.05 and ratio 1.2. 0.1 is below 2/12 = 0.167, at which the weaker variance "
    "is pruned. DS is the corrected score on 5,000 rows that were not trained on. Equal scales "
    "leave V undetermined: DtO there is that of random axes (Haar's mean is 0.548), whatever the "
    "training.",
    "With equal scales DS is 0.47 +- 0.28 and DtO 0.52 +- 0.28 over 32 restarts (Haar's mean is "
    "0.55), at a ratio of 1.2 they are 0.97 +- 0.03 and 0.02 +- 0.02, at 1.5 0.995 and 0.004. A "
    "plain autoencoder has a DtO of 0.52 to 0.57 and a DS of 0.45 to 0.51 at all three ratios, so "
    "it is the rate, not the data alone, that determines the axes. The thesis' row for 1.2 (DS "
    "0.76, DtO 0.20) lies between ours for 1.2 and for equal scales: how far alignment has come "
    "is a matter of beta and steps. Rank correlations over three ratios are stronger than the "
    "autoencoder's in only 21 (DtO) and 16 (DS) of 32 seeds, as with three points the "
    "autoencoder's is often at the same extreme. Eight blocks of four seeds cannot decide "
    "whether restarts vary more with equal scales, though all eight say so. The primary claim was "
    "supported after 16 seeds. Seeds 1032 to 1047 were run too and are left out, so that "
    "`--seeds +8` has seeds to add before the cap: they agree, and twelve of twelve blocks "
    "would decide the spread. The spot check at the thesis's own beta, 1e-4, learning rate and "
    "length does not show it: with a batch of 64, which is ours, eight restarts of 375,000 steps "
    "have a DtO of 0.47, "
    "0.32 and 0.30 at ratios 1, 1.2 and 1.5 and a DS of 0.62, 0.65 and 0.68, and single ones at "
    "1.5 a DtO from 0.00 to 1.06. They reconstruct as well as the autoencoder does; their axes "
    "have not come to rest. At a learning rate that falls from 1e-2 as many steps are enough at "
    "beta 1e-4 for a ratio of 2 (zietlow2022/dto-steps, spot check). So the sentence holds where "
    "the rate has the time that it needs; the thesis, with 0.01 and 0.98 at 1.5, does not say its "
    "batch.",
)  # fmt: skip
