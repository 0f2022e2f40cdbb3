"""Orthogonality by architecture on MNIST and Fashion-MNIST. zietlow2022 table 3.3."""

from vaescope.studies.claims import Claim, Control, Test
from vaescope.studies.effects import Gap, Where
from vaescope.studies.panels import Dots
from vaescope.studies.study import Cell, Scale, Study, Trained, cells
from vaescope.studies.zietlow2022.images import ARMS, measure, mnist

__all__ = ["STUDY"]

#: The thesis's DtO of VAE, autoencoder, full covariance and random decoder.
TASKS = {"mnist": (1.59, 1.83, 1.93, 2.11), "fashion-mnist": (1.36, 1.87, 2.02, 2.11)}
METHODS = {
    "vae": ARMS["vae"],
    "ae": ARMS["ae"],
    "full": {**ARMS["full"], "objective.beta": 1.0},
    "random": ARMS["random"],
}


def _cells(scale: Scale) -> tuple[Cell, ...]:
    seeds = {"smoke": 2, "laptop": 8, "paper": 10}[scale]
    rows: list[Cell] = []
    for task in TASKS:
        for method, arm in METHODS.items():
            settings = ({**mnist(task, scale), **arm, "seed": seed} for seed in range(seeds))
            rows += cells(settings, task=task, method=method)
    return tuple(rows)


def _of(task: str, method: str) -> Where:
    return {"task": task, "method": method}


_NAMES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}


def _gap(task: str, low: str) -> Gap:
    """How much farther from orthogonality an autoencoder is."""
    return Gap("dto", _of(task, "ae"), _of(task, low))


_COVARIANCE = "the VAE with a full covariance, which favours no axes"


STUDY = Study(
    "zietlow2022/table-3.3-mnist",
    "DtO of VAE, autoencoder and full covariance on MNIST and Fashion-MNIST",
    lambda scale: Trained("zietlow2022-images", _cells(scale), measure, version=2),
    (
        Claim(
            "The VAE's decoder is nearer to orthogonality than the autoencoder's, on MNIST and on "
            "Fashion-MNIST.",
            "zietlow2022 section 3.3.3, Tab. 3.3", _gap("mnist", "vae"), "above", 0.0,
            "1.83 - 1.59 and 1.87 - 1.36",
            also=(Test(_gap("fashion-mnist", "vae"), "above", 0.0),),
            primary=True,
            quote="The results support the claim that the VAE-based architectures indeed strive "
            "for local orthogonality.",
            control=Control(_COVARIANCE, _gap("mnist", "full")),
        ),
        *(
            Claim(
                f"On {name} the VAE's decoder is nearer to orthogonality than the autoencoder's.",
                "zietlow2022 Tab. 3.3", _gap(task, "vae"), "above", 0.0,
                f"{TASKS[task][1]} - {TASKS[task][0]}",
                control=Control(_COVARIANCE, _gap(task, "full")),
            )
            for task, name in _NAMES.items()
        ),
    ),
    tuple(
        Dots(f"{title}, {_NAMES[task]}", name, "method", {"task": task})
        for task in TASKS
        for title, name in (("DtO", "dto"), ("DtO, likelihood's metric", "dto_likelihood"))
    ),
    ("zietlow2022 Tab 3.3",),
    "The real data, the thesis's nets (400 ReLU / 500-500 tanh), six latents, AdaGrad 1e-2, batch "
    "64, summed cross-entropy, 2,000 steps (about 2 epochs; the thesis has 400 and 500). 80% of "
    "the 70,000 images are trained on. DtO in output space; Haar's mean for six axes is 1.912, and "
    "the thesis's random decoders are above it. Nothing forbids nearly equal singular values here: "
    "`degenerate` is the share of points where two are within a tenth, where V can rotate freely "
    "and DtO is that of random axes.",
    "After two epochs Fashion-MNIST is near the thesis's numbers: VAE 1.41 +- 0.14 (1.36 there), "
    "autoencoder 1.90, in this order in all 24 seeds. On MNIST the VAE is lower too, 1.79 +- 0.07 "
    "against 1.91, in 22 seeds, but by a sixteenth only: at 77% of its points two singular values "
    "are within a tenth of each other, against 25% on Fashion-MNIST, and there V can rotate "
    "freely. Training may also be too short: a run with a seed outside the study and its table "
    "had 1.81 at 1,000, 2,000 and 3,000 steps while its distortion still fell (124, 118, 115 "
    "nats). The control is not at the level of random axes (1.912) where the autoencoder is: a "
    "full covariance has 1.88 on MNIST, below the autoencoder in 16 of 24 seeds, and 1.72 +- 0.15 "
    "on Fashion-MNIST, in 20. Its objective does not change under a rotation, so the theory "
    "predicts no order of the two, and we do not know why it is lower; it is why the sentence on "
    "Fashion-MNIST, with the larger effect, is \"not specific\": the rule counts signs, and a "
    "third of the fall is the control's (0.19 of 0.50). The VAE is below the full covariance in "
    "20 and 21 seeds. The primary claim waits for that number: 20 of 24 units. Untrained decoders "
    "have 1.96 +- 0.16 here, not 2.11; at each of their points two singular values are close.",
)  # fmt: skip
