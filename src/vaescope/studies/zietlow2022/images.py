"""What the studies of zietlow2022 chapter 3 on images share: settings, and what is measured.

The thesis gives neither batch size nor reconstruction loss. Here batches have 64 images and the
cross-entropy is summed over pixels, the loss for which its beta of 4 on dSprites is the usual one.
"""

from collections.abc import Mapping
from typing import Any

from vaescope.geometry.jacobian import grams
from vaescope.geometry.orthogonality import degenerate, haar_baseline
from vaescope.metrics.knn_score import knn_score
from vaescope.models import OpenModel
from vaescope.runs import Run
from vaescope.studies.measuring import (
    POINTS,
    counts,
    distortion,
    ds,
    dto,
    relabelled,
    some,
    subject,
    used,
)
from vaescope.studies.study import Measured, Scale
from vaescope.studies.zietlow2022.synthetic import SPLIT

__all__ = [
    "ARMS",
    "SPRITES",
    "Settings",
    "geometry",
    "measure",
    "measure_sprites",
    "mnist",
    "sprites",
]

Settings = Mapping[str, Any]

#: What table 3.3 compares. An untrained decoder is one whose single step has no length.
ARMS: Mapping[str, Settings] = {
    "beta-vae": {"preset": "beta-vae", "objective.beta": 4.0},
    "vae": {"preset": "beta-vae", "objective.beta": 1.0},
    "ae": {"preset": "ae"},
    "full": {"preset": "beta-vae", "posterior.name": "full"},
    "random": {"preset": "ae", "optimiser.lr": 0.0, "steps": 1},
}
_THESIS: Settings = {"optimiser.name": "adagrad", "optimiser.lr": 1e-2, "net.name": "mlp"}

#: Scale, x and y of an ellipse at 32 pixels, y over a third of x's range: with equal ranges the two
#: are a degenerate case, in which no axes are better than others.
SPRITES: Settings = {
    "data.name": "dsprites", "data.size": 32, "data.grid.shape": [1], "data.grid.orientation": [0],
    "data.grid.y": list(range(10, 22)), "latent": 3, "precision": "fp32",
    "net.encoder": [128, 128], "net.decoder": [128, 128], "net.decoder_activation": "tanh",
}  # fmt: skip


def sprites(scale: Scale) -> Settings:
    """dSprites with the thesis's training: all of it, or three factors with small nets."""
    if scale == "paper":
        return {
            **_THESIS, "data.name": "dsprites", "latent": 5, "net.encoder": [1200, 1200],
            "net.decoder": [1200, 1200, 1200], "net.decoder_activation": "tanh",
            "batch": 64, "steps": 460_800,  # 50 epochs of four fifths of 737,280 images
            **SPLIT,
        }  # fmt: skip
    if scale == "laptop":
        return {**_THESIS, **SPRITES, "optimiser.lr": 3e-2, "steps": 2000}
    small = {"data.grid.x": [0, 8, 16, 24], "data.grid.y": [10, 16, 22]}
    return {**_THESIS, **SPRITES, **small, "optimiser.lr": 3e-2, "steps": 30}


def mnist(name: str, scale: Scale) -> Settings:
    """The thesis's nets and optimiser on MNIST or Fashion-MNIST; digits in their place for a try.

    400 and 500 epochs of four fifths of 70,000 images are 350,000 and 437,500 steps.
    """
    if scale == "smoke":
        return {**_THESIS, "data.name": "digits", "latent": 6, "net.encoder": [20],
                "net.decoder": [20, 20], "net.decoder_activation": "tanh", "steps": 30}  # fmt: skip
    long = 350_000 if name == "mnist" else 437_500
    return {
        **_THESIS, "data.name": name, "latent": 6, "net.encoder": [400],
        "net.decoder": [500, 500], "net.decoder_activation": "tanh",
        "batch": 64, "steps": long if scale == "paper" else 2000, **SPLIT,
    }  # fmt: skip


def geometry(of: OpenModel) -> dict[str, float | int | None]:
    """DtO in two spaces, over that of as many random axes, and how far it can be trusted.

    Fewer latents have a smaller DtO whatever their axes: only `dto_relative` can be compared
    between models that use different numbers of them.
    """
    columns = used(of)
    value = dto(of)
    row: dict[str, float | int | None] = {
        "dto": value,
        "dto_relative": None if value is None else value / haar_baseline(len(columns)).value,
        "dto_likelihood": dto(of, space="likelihood"),
        "used": len(columns),
        "distortion": distortion(of),
    }
    if value is not None:
        found = grams(
            of.vae.decoder, of.codes.mean[some(of, POINTS)], space="output", columns=columns
        )
        row["degenerate"] = float(degenerate(found.singular()[0]).mean())
    if of.codes.stochastic:
        row["active"] = counts(of)["active"]
    return row


def measure(run: Run) -> Measured:
    """The geometry of a run's decoder."""
    return geometry(subject(run))


def measure_sprites(run: Run) -> Measured:
    """The same with the disentanglement score, where factors are known."""
    of = subject(run)
    return {
        **geometry(of),
        "ds": ds(of),
        "ds_permuted": knn_score(relabelled(of.codes), resamples=0).value,
    }
