"""Combinations of factors that a model never saw: do scores of disentanglement hold for them?

A question that zietlow2022 leaves open, https://doi.org/10.15496/publikation-84066: its scores are
of rows that were split off at random (section 3.3.1). Left out here are combinations at random,
whose neighbours were seen, and all combinations far from a diagonal.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from vaescope.build import build_data
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.data.specs import DspritesSpec
from vaescope.metrics.dci import dci
from vaescope.metrics.mig import mig
from vaescope.metrics.mig_sup import mig_sup
from vaescope.metrics.sap import sap
from vaescope.models import OpenModel
from vaescope.opening import open_model
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.specs import SplitSpec
from vaescope.studies.bhowal2024.bank import SPRITES
from vaescope.studies.bonheme2023.bank import Family, arm, rows_of
from vaescope.studies.claims import Claim, Control
from vaescope.studies.effects import Gap, Level, Trend
from vaescope.studies.panels import Dots, Scatter
from vaescope.studies.study import Cell, Measured, Scale, Study, Trained
from vaescope.types import Integers

__all__ = [
    "ARMS",
    "FAR",
    "METHODS",
    "SQUARES",
    "STUDY",
    "labelled",
    "measure",
    "parts_of",
    "shown_before",
]

#: Methods and one strength of each, of bonheme2023's bank; FactorVAEs train in no stack and cost as
#: much as all others together.
METHODS: dict[Family, float] = {
    "beta-vae": 0.5, "beta-tcvae": 2.0, "dip-vae-i": 5.0, "dip-vae-ii": 5.0,
}  # fmt: skip
#: Of the beta-VAE that hardly regularises, for comparison.
WEAK = 0.0625
#: Two factors whose classes go together in the training images: others are far from the diagonal.
FAR = ("x", "y", 0.9)
#: Rows of each kind that are scored at most.
ROWS = 1500
SCORES = ("mig", "mig_sup", "dci", "sap")
#: 432 squares of six scales, y over half of x's range.
SQUARES = {
    "data__grid": {**SPRITES["data.grid"], "shape": [0]}, "latent": 6,
}  # fmt: skip
ARMS: dict[str, dict[str, Any]] = {
    "random": {"split__shares": [0.5, 0.0, 0.5]}, "far": {"data__correlated": list(FAR)}, "all": {},
}  # fmt: skip


def _work(scale: Scale) -> Trained:
    cells: list[Cell] = []
    for name, own in ARMS.items():
        more = own if scale == "paper" else {**own, **SQUARES}
        for family, strength in METHODS.items():
            one = arm(scale, family, "dsprites", strengths=[strength], **more)
            cells += labelled(one, name, family)
        cells += labelled(arm(scale, "beta-vae", "dsprites", strengths=[WEAK], **more), name, "vae")
    return Trained("zietlow2022-held-out", tuple(cells), measure)


def labelled(trained: tuple[Cell, ...], name: str, method: str) -> list[Cell]:
    return [replace(cell, labels={"arm": name, "method": method}) for cell in trained]


def shown_before(images: Dataset, training: Dataset) -> Integers:
    """Which images are in the training data, in these very pixels: combinations may look alike."""
    seen = {row.tobytes() for row in training.rows(np.arange(len(training)))}
    return np.array([row.tobytes() in seen for row in images.rows(np.arange(len(images)))])


@lru_cache(maxsize=4)  # by what they are made of
def _parts(data: str, split: str) -> tuple[Dataset, Integers, Integers]:
    """All images, and the places of those that were seen and that were not, as many of each.

    Where the training data have all of them, those that the far arm would leave out count as not
    seen.
    """
    spec = DspritesSpec.model_validate_json(data)
    images = training = build_data(spec.model_copy(update={"correlated": None}))
    if split:
        chosen = SplitSpec.model_validate_json(split)
        training = images.split(chosen.seed, chosen.shares)[0]
    else:
        training = build_data(spec.model_copy(update={"correlated": FAR}))
    seen = shown_before(images, training)
    stream = rng(0, "held-out")
    count = min(int(seen.sum()), int((~seen).sum()), ROWS)
    first, second = (
        np.sort(stream.permutation(np.flatnonzero(which))[:count]) for which in (seen, ~seen)
    )
    return images, first, second


def parts_of(run: Run) -> tuple[OpenModel, dict[str, Integers]]:
    """The model with all images encoded, and the rows of combinations that it saw and did not."""
    spec = run.open()
    split = "" if spec.split is None else spec.split.model_dump_json()
    images, seen, unseen = _parts(spec.data.model_dump_json(), split)
    return open_model(run, images, rows=len(images)), {"seen": seen, "unseen": unseen}


def measure(run: Run) -> Measured:
    """Four scores and the distortion of as many combinations that the model saw as it did not."""
    of, parts = parts_of(run)
    seen, unseen = parts["seen"], parts["unseen"]
    row: dict[str, float] = {"combinations": float(len(unseen))}
    for name, places in parts.items():
        codes = rows_of(of.codes, places)
        row |= {f"{score}_{name}": value for score, value in _scores(codes).items()}
        row[f"distortion_{name}"] = float(of.distortion(places, of.noise(places)).mean())
    for score in SCORES:
        row[f"{score}_gap"] = row[f"{score}_unseen"] - row[f"{score}_seen"]
    row["distortion_ratio"] = row["distortion_unseen"] / row["distortion_seen"]
    # What such a ratio is by chance: of two halves of what was seen.
    halves = np.array_split(rng(1, "held-out").permutation(seen), 2)
    first, second = (float(of.distortion(half, of.noise(half)).mean()) for half in halves)
    row["distortion_ratio_halves"] = first / second
    return row


def _scores(codes: Codes) -> dict[str, float]:
    return {
        "mig": mig(codes, resamples=0).value,
        "dci": dci(codes).disentanglement.value,
        "sap": sap(codes).value,
        "mig_sup": mig_sup(codes, resamples=0).value,
    }


_RANDOM, _FAR, _ALL = ({"arm": name} for name in ARMS)
_WHERE = "zietlow2022 section 3.3.1, a question"
_NAMES = {"mig": "MIG", "mig_sup": "MIG-sup", "dci": "DCI's disentanglement", "sap": "SAP"}


def _change(name: str, **more: str) -> Gap:
    """On combinations far from the diagonal: models that never saw them, less models that did."""
    return Gap(f"{name}_unseen", {**_FAR, **more}, {**_ALL, **more})


STUDY = Study(
    "zietlow2022/held-out",
    "Disentanglement on combinations of factors that were held out",
    _work,
    (
        Claim(
            "On combinations of x and y far from a diagonal MIG of models that never saw them is "
            "lower than of models that did, on average over five methods.",
            _WHERE, _change("mig"), "below", 0.0, "asked, not tried",
            primary=True, own=True,
            control=Control(
                "combinations left out at random, less those that were seen",
                Level("mig_gap", _RANDOM),
            ),
        ),
        *(
            Claim(
                f"So is {_NAMES[name]}.",
                _WHERE, _change(name), "below", 0.0, "asked, not tried", own=True,
                control=Control(
                    "combinations left out at random, less those that were seen",
                    Level(f"{name}_gap", _RANDOM),
                ),
            )
            for name in SCORES[1:]
        ),
        *(
            Claim(
                f"So is MIG of {method} alone.",
                _WHERE, _change("mig", method=method), "below", 0.0, "asked, not tried", own=True,
                control=Control(
                    "combinations left out at random, less those that were seen",
                    Level("mig_gap", {**_RANDOM, "method": method}),
                ),
            )
            for method in METHODS
        ),
        Claim(
            "Where combinations are left out at random MIG of those is that of combinations that "
            "were seen, within 0.03, on average over the methods.",
            _WHERE, Level("mig_gap", _RANDOM), "within", 0.0, "asked, not tried",
            margin=0.03, own=True,
            control=Control("combinations far from the diagonal", _change("mig")),
        ),
        Claim(
            "But they are reconstructed less well: their distortion is higher, on average.",
            _WHERE, Level("distortion_ratio", _RANDOM), "above", 1.05, "asked, not tried", own=True,
            control=Control(
                "one half of those that were seen over the other",
                Level("distortion_ratio_halves", _RANDOM),
            ),
        ),
        Claim(
            "Methods with a higher MIG lose less: over the methods the distortion of combinations "
            "far from the diagonal falls with MIG on those that were seen.",
            _WHERE, Trend("distortion_unseen", "mig_seen", _FAR), "below", 0.0, own=True,
            control=Control(
                "models that saw all of them", Trend("distortion_unseen", "mig_seen", _ALL)
            ),
        ),
    ),
    (
        Dots("MIG, combinations never seen", "mig_unseen", "arm"),
        Dots("MIG, combinations seen", "mig_seen", "arm"),
        Dots("DCI, combinations never seen", "dci_unseen", "arm"),
        Dots("MIG far off by method, never seen", "mig_unseen", "method", _FAR),
        Dots("MIG far off by method, seen", "mig_unseen", "method", _ALL),
        Dots("Distortion, never seen over seen", "distortion_ratio", "arm", {}, 1.0),
        Scatter("Distortion far off against MIG", "distortion_unseen", "mig_seen", "method", _FAR),
    ),
    ("zietlow2022 held-out combinations of factors",),
    "VAE, beta-VAE, beta-TCVAE, DIP-VAE I and II (six latents, MLPs of 64-64, 3,000 steps, one "
    "strength each) on 432 squares at 16 pixels: six scales, twelve places x and six y. Three "
    "arms: trained on half of the combinations, drawn at random; on those in which the classes of "
    "x and y have a correlation of 0.9, and so never on others far from the diagonal; and on all. "
    "Scores are of the posterior means of as many combinations of each kind, seen and never seen. "
    "Kept apart: images that were seen under another combination, by their pixels; the bias of "
    "few rows, by equal numbers; and what the left-out rows are themselves, since models trained "
    "on all are scored on the very same ones (as `unseen` in the arm `all`). The FactorVAE score "
    "is left out: it needs batches that share a factor's value. One exploratory seed (100), which "
    "does not vote, with 70% of the combinations, of which too few were left without a twin.",
    "It depends on which combinations are left out. Where they are drawn at random, so that each "
    "has neighbours that were seen, MIG of those never seen is that of the others (0.075 and "
    "0.073, means over methods), and so is DCI (0.107 and 0.108), although they are reconstructed "
    "much less well (8.2 nats in place of 1.7; 12.8 times as many as the mean of each run's "
    "ratio, which the VAE, with 0.3 nats, makes large). So a score on rows split off at random, "
    "as the thesis has it, says nothing about combinations of another kind: far from the diagonal "
    "MIG is 0.041 where models that saw these very rows have 0.093 (in 16 of 16 seeds), most of "
    "it lost by the beta-TCVAE, which had most (0.134 to 0.037); all five methods end between "
    "0.036 and 0.046, whatever they had. Such combinations cost 58 nats in place of 2. DCI falls "
    "as well (0.127 to 0.072, 15 of 16 seeds, too few with a stronger effect than the control's), "
    "SAP by 0.011 (undecided). MIG-sup falls (0.109 to 0.063), but it falls where combinations "
    "are left out at random too, by 0.02. A DIP-VAE I alone does not tell a fall from seeds (11 "
    "of 16). That methods with a higher MIG lose less is undecided (nine of 16): that "
    "disentanglement of this size, which is little, protects from unseen combinations is not seen.",
)  # fmt: skip
