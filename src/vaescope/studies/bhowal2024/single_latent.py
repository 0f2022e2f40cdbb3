"""What a step along one latent changes. bhowal2024 section 3.4, observations (a) and (b).

(a) Only one generative factor changes; (b) the output's change is proportional to the step. Of a
decoded image the factors are those of the nearest sprite. Decoded images are blurred, so that even
sprites that do differ in one factor alone are read so in some pairs only: shares are over that.
"""

import numpy as np
import torch

from vaescope.models import OpenModel
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.bhowal2024.bank import METHODS, bank
from vaescope.studies.claims import Claim, Control, Side, Test
from vaescope.studies.effects import Level
from vaescope.studies.measuring import distortion, some, subject, used
from vaescope.studies.panels import Dots
from vaescope.studies.study import Measured, Scale, Study, Trained
from vaescope.types import Floats, Integers

__all__ = ["STUDY", "exponent", "measure", "pairs", "single"]

#: Codes from which steps are made, and their lengths in the prior's standard deviations.
POINTS = 64
STEPS = (0.25, 0.5, 1.0, 2.0)
#: The step after which factors are read.
READ = 1.0


def _work(scale: Scale) -> Trained:
    return Trained("bhowal2024-single-latent", bank(scale, untrained=True), measure, version=2)


def measure(run: Run) -> Measured:
    """Exponents of the output's change in the step, and how often one factor changes alone."""
    of = subject(run)
    columns = used(of)
    row: dict[str, float | int | None] = {"used": len(columns), "distortion": distortion(of)}
    if len(columns) < 2:
        return row
    start = of.codes.mean[some(of, POINTS)].astype(np.float64)
    along = _along(start, columns)
    row["exponent"] = exponent(_changes(of, start, along), STEPS)
    assert of.codes.factors is not None
    images = of.data.rows(of.rows).reshape(of.codes.n, -1).astype(np.float64)
    before = _nearest(_decoded(of, start), images)
    arms = {"axes": along, "turned": _turned(along, columns)}
    factors = of.codes.factors.astype(np.int64)
    read = factors[_nearest(_decoded(of, of.codes.mean), images)]
    changed_alone = pairs(factors, read, some(of, POINTS), _slack(of))
    found: dict[str, float | None] = {"single_pairs": single(changed_alone)}
    for name, directions in arms.items():
        moved = start[:, None] + READ * directions
        after = _nearest(_decoded(of, moved.reshape(-1, start.shape[1])), images)
        changed = factors[after].reshape(len(start), -1, factors.shape[1])
        apart = np.abs(changed - factors[before][:, None])
        found[f"single_{name}"] = single(apart > _slack(of))
    axes, turned, true = (found[f"single_{name}"] for name in ("axes", "turned", "pairs"))
    lead = None if axes is None or turned is None else axes - turned
    return {
        **row, **found, "single_lead": lead, "of_pairs_axes": _over(axes, true),
        "of_pairs_turned": _over(turned, true),
    }  # fmt: skip


def _over(share: float | None, most: float | None) -> float | None:
    return None if share is None or not most else share / most


def pairs(factors: Integers, read: Integers, points: Integers, slack: Integers) -> Floats:
    """Which factors seem to change between points and all examples that differ from them in one
    factor alone, where factors are read with errors: what a step that changes one is read as."""
    apart = np.abs(factors[:, None] - factors[points])
    alone = (apart.max(axis=2) == apart.sum(axis=2)) & (apart > slack).any(axis=2)
    example, point = np.nonzero(alone)
    return np.asarray(np.abs(read[example] - read[points][point]) > slack)


def _slack(of: OpenModel) -> Integers:
    """How far a factor may be off without having changed: a class where they are in order, as a
    decoded image lies between sprites."""
    return np.array([0 if name == "shape" else 1 for name in of.codes.factor_names])


def _along(start: Floats, columns: Integers) -> Floats:
    """Unit steps along each latent in use, towards the prior's middle: (points, columns, d)."""
    signs = np.where(start[:, columns] > 0.0, -1.0, 1.0)
    return np.asarray(signs[:, :, None] * np.eye(start.shape[1])[columns])


def _turned(along: Floats, columns: Integers) -> Floats:
    """Steps of the same length in directions that are turned at random among latents in use."""
    d = len(columns)
    q, _ = np.linalg.qr(rng(0, "turned-steps", d).standard_normal((len(along), d, d)))
    turned = np.zeros_like(along)
    turned[:, :, columns] = q @ along[:, :, columns]
    return turned


@torch.inference_mode()
def _decoded(of: OpenModel, z: Floats) -> Floats:
    output = of.vae.decoder(torch.from_numpy(z.astype(np.float32))).mean
    return np.asarray(output.flatten(1).double().numpy())


def _changes(of: OpenModel, start: Floats, directions: Floats) -> Floats:
    """Root mean square change of the output after each step, of each latent: (steps, columns)."""
    base = _decoded(of, start)[:, None]
    found = []
    for step in STEPS:
        moved = (start[:, None] + step * directions).reshape(-1, start.shape[1])
        apart = _decoded(of, moved).reshape(len(start), -1, base.shape[-1]) - base
        found.append(np.sqrt(np.square(apart).sum(axis=2).mean(axis=0)))
    return np.array(found)


def exponent(changes: Floats, steps: tuple[float, ...]) -> float:
    """Mean over latents of the slope of log change on log step: 1 if they are proportional.

    >>> round(exponent(np.array([[1.0, 3.0], [2.0, 6.0], [4.0, 12.0]]), (0.5, 1.0, 2.0)), 6)
    1.0
    """
    slopes, _ = np.polyfit(np.log(steps), np.log(changes), 1)
    return float(slopes.mean())


def _nearest(images: Floats, examples: Floats) -> Integers:
    """The example that is nearest to each image."""
    cross = images @ examples.T
    return np.asarray((np.square(examples).sum(axis=1) - 2.0 * cross).argmin(axis=1))


def single(changed: Floats) -> float | None:
    """Of steps that change some factor, the share that change one alone; None where none does.

    >>> single(np.array([[True, False], [True, True], [False, False]]))
    0.5
    """
    count = np.asarray(changed).sum(axis=-1)
    return float((count[count > 0] == 1).mean()) if (count > 0).any() else None


_OF = [{"method": name, "arm": "trained"} for name in METHODS]
_STILL = [{"method": name, "arm": "untrained"} for name in METHODS]
_EACH = "in each of the three methods"


def _others(name: str, side: Side, threshold: float, margin: float = 0.0) -> tuple[Test, ...]:
    """The same test of the second and third method."""
    return tuple(Test(Level(name, where), side, threshold, margin) for where in _OF[1:])


def _untrained(name: str) -> Control:
    return Control("untrained networks", Level(name, _STILL[0]))


STUDY = Study(
    "bhowal2024/single-latent",
    "A step along one latent: does one factor change, and in proportion",
    _work,
    (
        Claim(
            "A step along one latent changes one factor alone: of the steps that change any it is "
            "read so as often as sprites that do differ in one factor alone, reconstructed by the "
            f"same model, to nine tenths, {_EACH}.",
            "bhowal2024 section 3.4 (a)", Level("of_pairs_axes", _OF[0]), "above", 0.9, "solely",
            also=_others("of_pairs_axes", "above", 0.9), primary=True,
            quote="solely in terms of a single generative factor linked to the latent variable",
            control=Control("turned directions", Level("of_pairs_turned", _OF[0])),
        ),
        Claim(
            "Steps along a latent change one factor alone more often than steps of the same length "
            f"in directions turned among the latents in use, {_EACH}.",
            "bhowal2024 section 3.4 (a)", Level("single_lead", _OF[0]), "above", 0.0,
            also=_others("single_lead", "above", 0.0), control=_untrained("single_lead"),
        ),
        Claim(
            "The output's change is proportional to the step, up to two deviations of the prior: "
            f"its exponent is within 0.2 of 1 {_EACH}.",
            "bhowal2024 section 3.4 (b)", Level("exponent", _OF[0]), "within", 1.0,
            "directly proportional", margin=0.2,
            also=_others("exponent", "within", 1.0, 0.2), control=_untrained("exponent"),
        ),
    ),
    (
        Dots("One factor alone: steps along a latent over true pairs", "of_pairs_axes", "method",
             {"arm": "trained"}, 0.9),
        Dots("The same in rotated directions", "of_pairs_turned", "method", {"arm": "trained"}),
        Dots("Exponent of the output's change", "exponent", "method", {"arm": "trained"}, 1.0),
        Dots("Exponent, untrained", "exponent", "method", {"arm": "untrained"}, 1.0),
    ),
    ("bhowal2024 output change proportional to Delta z (section 3.4)",),
    "The models of table 1 (VAE, beta-VAE, beta-TCVAE on 1,296 sprites of 16 pixels) and the same "
    "networks untrained. From 64 codes each latent in use is moved towards the prior's middle by "
    "0.25 to 2; the exponent is the slope of the log of the output's root mean square change on "
    "the log of the step, a mean over latents. After a step of 1 the factors of the decoded image "
    "are those of the nearest sprite, before and after; a factor in order (scale, x, y) has "
    "changed if it is more than a class off, as decoded images lie between sprites. As many errors "
    "are made in reading, shares are over that of sprites that do differ in one factor alone, both "
    "reconstructed by the same model. Any smooth "
    "decoder is proportional for small steps: the question is how far that goes, and whether "
    "training makes it so. The paper speaks of a variance that is proportional to the variance of "
    "the latent; read as differences, whose exponent is then 1.",
    "By the nearest sprite a step of one deviation along a latent seems to change one factor "
    "alone in 62, 43 and 54% of the cases in which any changes (VAE, beta-VAE, beta-TCVAE; 16 "
    "seeds of the first registration), and steps in rotated directions do so as often or more "
    "(63, 50 and 62%). That registration asked for 90% of the steps and ended contradicted by all "
    "seeds, which was a mistake of ours: decoded images of 16 pixels are blurred, and of sprites "
    "that do differ in one factor alone only 70, 61 and 65% are read so after the same models "
    "reconstructed them (six models of each, of seeds that do not vote). So the share is over "
    "that one now, the threshold is as it was, and the seeds are fresh. Of these a beta-VAE is "
    "below nine tenths in all 16 (0.73 on average, with 0.85 in rotated directions); of VAEs and "
    "beta-TCVAEs alone (0.90 and 0.92; 0.91 and 0.96 rotated) as many seeds are above as below, "
    "nearly (9 and 7 each). These models are hardly disentangled (MIG 0.08 to 0.14 by method over "
    "the 48 seeds of bhowal2024/table-5). The output's change is nearly proportional to the step "
    "up to two deviations (exponents 1.01, 0.86 and 0.99 there), as it is of untrained networks "
    "(0.96): smooth decoders of this size are near enough to linear over the prior, whatever they "
    "have learnt.",
)  # fmt: skip
