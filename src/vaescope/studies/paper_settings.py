"""Every setting that one of the five papers prints, with its place, and who follows it.

Values are the papers' words in the terms of an experiment: dotted keys, and three that follow from
several: `epochs` (of the training rows), `seeds` and `strengths` (how many there are). What a paper
leaves open has no entry. `tests/studies/test_paper_settings.py` compares each study's `paper` scale
and each preset with this table: what differs must have its reason here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

__all__ = ["FOLLOWERS", "OWN", "PRINTED", "Follower", "Printed"]


@final
@dataclass(frozen=True)
class Printed:
    """One training as a paper prints it."""

    place: str
    values: Mapping[str, Any]


@final
@dataclass(frozen=True)
class Follower:
    """A preset, or the rows of a study's `paper` scale with these labels, that follow a training.

    `departures` has a reason for each printed setting that is another one here.
    """

    name: str
    printed: str
    labels: Mapping[str, Any] = field(default_factory=dict)
    departures: Mapping[str, str] = field(default_factory=dict)


_SPLIT = {"split.shares": [0.8, 0.1, 0.1]}
_ADAGRAD = {"optimiser.name": "adagrad", "optimiser.lr": 1e-2, "net.name": "mlp"}
_RELU_TANH = {"net.encoder_activation": "relu", "net.decoder_activation": "tanh"}
_ADAM = {"optimiser.name": "adam", "optimiser.betas": [0.9, 0.999]}
_MNIST = {
    **_ADAGRAD, **_RELU_TANH, **_SPLIT, "net.encoder": [400], "net.decoder": [500, 500],
    "latent": 6, "objective.beta": 1.0,
}  # fmt: skip
_SHAPES = {
    **_ADAM, "optimiser.lr": 1e-4, "optimiser.amsgrad": True, "net.name": "conv",
    "net.layout": "mathieu", "latent": 10, "likelihood.name": "bernoulli",
    "data.name": "dsprites", "data.size": 64, "seeds": 100,
}  # fmt: skip

#: Models of each setting of bonheme2023: section 4, empirical setup.
_FIFTY = {"seeds": 50}
_TABLE = "zietlow2022 Tab. 3.1; split and data in section 3.3.1"
PRINTED: Mapping[str, Printed] = {
    "grzes2023 dSprites": Printed(
        "grzes2023 App. B, Tab. 1 and 2",
        {
            **_ADAM, "data.name": "dsprites", "data.size": 64, "batch": 64, "latent": 30,
            "optimiser.eps": 1e-8, "optimiser.lr": 1e-4, "likelihood.name": "bernoulli",
            "steps": 300_000, "split.shares": [0.9, 0.0, 0.1], "prior.hidden": [50, 50, 50],
            "prior.activation": "leaky-relu", "prior.learned_mean": False, "prior.width": 5,
        },
    ),
    "bonheme2023 noisy dSprites": Printed(
        "bonheme2023 section 4, empirical setup; Fig. 10",
        {"data.name": "dsprites-noisy", "objective.name": "beta-tcvae", "seeds": 50,
         "strengths": 6},
    ),
    **{
        f"bonheme2023 {name}": Printed(
            f"bonheme2023 {place}", {"data.name": data, "objective.name": objective, **more}
        )
        for name, place, data, objective, more in (
            ("beta 8", "section 3.3, Fig. 4", "dsprites", "beta-vae", {"objective.beta": 8.0}),
            ("beta 16", "Fig. 11", "dsprites-colour", "beta-vae", {"objective.beta": 16.0}),
            ("snapshots", "section 5", "dsprites", "beta-vae",
             {"objective.beta": 8.0, "steps": 300_000, "logging.correlations": 1_000}),
            ("dSprites", "section 4, Fig. 6", "dsprites", "beta-vae", {**_FIFTY, "strengths": 6}),
            ("smallNORB", "Fig. 7 and 8a", "smallnorb", "beta-tcvae", {**_FIFTY, "strengths": 6}),
            ("colour", "Fig. 8c", "dsprites-colour", "beta-tcvae", {**_FIFTY, "strengths": 6}),
            ("Cars3D", "Fig. 8b", "cars3d", "dip-vae-ii", _FIFTY),
            ("DIP-VAE II", "Fig. 9", "dsprites", "dip-vae-ii", _FIFTY),
            ("annealed dSprites", "App. B", "dsprites", "annealed-vae", _FIFTY),
            ("annealed Cars3D", "App. B", "cars3d", "annealed-vae", _FIFTY),
            ("annealed scream", "App. B", "dsprites-scream", "annealed-vae", _FIFTY),
        )
    },
    "zietlow2022 dSprites": Printed(
        _TABLE,
        {
            **_ADAGRAD, **_RELU_TANH, **_SPLIT, "data.name": "dsprites", "latent": 5, "epochs": 50,
            "net.encoder": [1200, 1200], "net.decoder": [1200, 1200, 1200], "objective.beta": 4.0,
        },
    ),
    "zietlow2022 linear": Printed(
        _TABLE,
        {
            **_SPLIT, "data.n": 50_000, "data.ratio": 2.0, "optimiser.name": "adam",
            "optimiser.lr": 1e-3, "net.name": "linear", "latent": 2, "epochs": 600,
            "objective.beta": 1e-4,
        },
    ),
    "zietlow2022 nonlinear": Printed(
        _TABLE,
        {
            **_SPLIT, "data.n": 50_000, "data.initialisation": "fan-in", "optimiser.name": "adam",
            "optimiser.lr": 1e-3, "net.name": "mlp", "net.encoder": [60, 40, 20],
            "net.decoder": [60, 40, 20], "net.encoder_activation": "tanh",
            "net.decoder_activation": "tanh", "latent": 2, "epochs": 600, "objective.beta": 1e-3,
        },
    ),
    "zietlow2022 MNIST": Printed(_TABLE, {**_MNIST, "data.name": "mnist", "epochs": 400}),
    "zietlow2022 fMNIST": Printed(_TABLE, {**_MNIST, "data.name": "fashion-mnist", "epochs": 500}),
    "zietlow2022 CelebA": Printed(
        _TABLE,
        {
            **_SPLIT, "data.name": "celeba", "optimiser.name": "adam", "optimiser.lr": 1e-4,
            "net.name": "conv", "net.layout": "rolinek", "latent": 32, "epochs": 50,
            "objective.beta": 4.0,
        },
    ),
    "zietlow2022 chapter 4 beta-VAE": Printed("zietlow2022 Tab. 4.1", {"objective.beta": 8.0}),
    "zietlow2022 chapter 4 TC-VAE": Printed("zietlow2022 Tab. 4.1", {"objective.beta": 6.0}),
    "zietlow2022 chapter 4 SlowVAE": Printed("zietlow2022 Tab. 4.1", {"objective.beta": 1.0}),
    "zietlow2022 chapter 4 FactorVAE": Printed("zietlow2022 Tab. 4.1", {"objective.gamma": 35.0}),
    "bhowal2024 dSprites": Printed(
        "bhowal2024 Tab. 3; squared error in section 3.1",
        {
            "data.name": "dsprites", "net.name": "mlp", "net.encoder": [1200, 1200],
            "net.decoder": [1200, 1200], "net.encoder_activation": "relu",
            "net.decoder_activation": "relu", "objective.beta": 6.0, "optimiser.name": "adam",
            "optimiser.lr": 1e-3, "likelihood.name": "squared-error",
        },
    ),
    "bhowal2024 3DFaces": Printed(
        "bhowal2024 Tab. 3; squared error in section 3.1",
        {
            **_ADAM, "data.name": "faces3d", "net.name": "conv", "objective.beta": 6.0,
            "optimiser.lr": 1e-3, "likelihood.name": "squared-error",
        },
    ),
    "mathieu2019 2D-shapes, Gaussian": Printed(
        "mathieu2019 App. B, Tab. 1a", {**_SHAPES, "batch": 64, "epochs": 20}
    ),
    "mathieu2019 2D-shapes, Student-t": Printed(
        "mathieu2019 App. B, Tab. 1a",
        {**_SHAPES, "batch": 256, "epochs": 40, "prior.name": "student-t"},
    ),
    "mathieu2019 pinwheel": Printed(
        "mathieu2019 App. B, Tab. 1b",
        {
            **_ADAM, "data.name": "pinwheel", "data.classes": 4, "data.per_class": 100,
            "data.radial_std": 0.1, "data.tangential_std": 0.3, "data.rate": 0.25,
            "net.name": "mlp", "net.encoder": [100], "net.decoder": [100], "latent": 2,
            "net.encoder_activation": "relu", "net.decoder_activation": "relu",
            "objective.divergence": "inclusive-kl", "prior.variance": 0.03, "batch": 400,
            "epochs": 500, "optimiser.lr": 1e-3, "optimiser.amsgrad": True,
        },
    ),
    "mathieu2019 CelebA": Printed(
        "mathieu2019 App. B, Tab. 1c; gamma in section 6.3",
        {
            "data.name": "celeba", "optimiser.name": "adam", "optimiser.lr": 2e-4,
            "optimiser.betas": [0.5, 0.999], "net.name": "dcgan", "net.base": 32, "latent": 50,
            "batch": 256, "epochs": 60, "prior.spike_std": 0.05, "prior.gamma": 0.9, "seeds": 3,
        },
    ),
}  # fmt: skip

_SCRIPTS = "the released scripts' value"
_SWEPT = "the study sweeps it; the paper does not print the grid"
_BASELINE = {"objective.beta": "an arm of the table without a KL term, or with beta 1"}
_NO_STEPS = "a decoder that is never trained"
_UNTRAINED = {**_BASELINE, "optimiser.lr": _NO_STEPS, "epochs": _NO_STEPS}
_PINWHEEL = {
    "data.radial_std": "the generator that the paper links calls the two the other way round",
    "data.tangential_std": "the generator that the paper links calls the two the other way round",
}
_RELEASED_NET = {
    "net.decoder": "the released code's 1200-1200-1200",
    "net.decoder_activation": "the released code's tanh",
}
_SPARSE = {
    "data.name": "Fashion-MNIST, as in the released code",
    "optimiser.lr": _SCRIPTS, "optimiser.betas": _SCRIPTS, "batch": _SCRIPTS, "epochs": _SCRIPTS,
    "prior.gamma": _SCRIPTS,
}  # fmt: skip


def _arms(study: str, printed: str, labels: Mapping[str, Any]) -> tuple[Follower, ...]:
    """The five models of table 3.3 on one task."""
    return tuple(
        Follower(study, printed, {**labels, "method": method}, departures)
        for method, departures in (
            ("beta-vae", {}), ("vae", _BASELINE), ("ae", _BASELINE), ("full", {}),
            ("random", _UNTRAINED),
        )
    )  # fmt: skip


def _mnist(task: str, printed: str) -> tuple[Follower, ...]:
    return tuple(
        Follower("zietlow2022/table-3.3-mnist", printed, {"task": task, "method": method},
        departures)
        for method, departures in (
            ("vae", {}), ("ae", _BASELINE), ("full", {}), ("random", _UNTRAINED),
        )
    )  # fmt: skip


_LENGTHS = {"epochs": "restarts of 10, 30 and 50 epochs, as in Fig. 3.4"}
FOLLOWERS: tuple[Follower, ...] = (
    Follower("grzes2023/figures", "grzes2023 dSprites", {"arm": "trained"}),
    Follower("bonheme2023/figure-10", "bonheme2023 noisy dSprites"),
    *(
        Follower(f"bonheme2023/{study}", f"bonheme2023 {printed}", labels)
        for study, printed, labels in (
            ("figure-4", "beta 8", {"arm": "trained"}),
            ("figure-5", "beta 8", {"arm": "trained"}),
            ("figure-6", "dSprites", {}),
            ("figure-7", "smallNORB", {"data": "norb"}),
            ("figure-7", "dSprites", {"data": "dsprites", "family": "beta-vae"}),
            ("figure-8", "smallNORB", {"data": "norb"}),
            ("figure-8", "Cars3D", {"data": "cars"}),
            ("figure-8", "colour", {"data": "colour"}),
            ("figure-9", "DIP-VAE II", {}),
            ("figure-11", "beta 16", {}),
            ("figure-12", "snapshots", {}),
            ("figure-13", "snapshots", {}),
            ("which-first", "snapshots", {}),
            ("figure-14", "annealed dSprites", {"data": "dsprites", "family": "annealed-vae"}),
            ("figure-14", "annealed scream", {"data": "scream"}),
            ("figure-14", "annealed Cars3D", {"data": "cars"}),
            ("figure-14", "dSprites", {"family": "beta-vae"}),
            ("figures-15-16", "annealed dSprites", {"data": "dsprites"}),
            ("figures-15-16", "annealed Cars3D", {"data": "cars"}),
            ("figure-17", "annealed dSprites", {"data": "dsprites"}),
            ("figure-17", "annealed Cars3D", {"data": "cars"}),
            ("figure-18", "annealed scream", {}),
        )
    ),
    *_arms("zietlow2022/table-3.3-synth", "zietlow2022 linear", {"task": "linear"}),
    *_arms("zietlow2022/table-3.3-synth", "zietlow2022 nonlinear", {"task": "nonlinear"}),
    *_arms("zietlow2022/table-3.3-dsprites", "zietlow2022 dSprites", {}),
    *_mnist("mnist", "zietlow2022 MNIST"),
    *_mnist("fashion-mnist", "zietlow2022 fMNIST"),
    Follower("zietlow2022/table-3.4", "zietlow2022 linear", {"method": "beta-vae"},
    {"data.ratio": "1.0, 1.2, 1.5: Tab. 3.4"}),
    Follower("zietlow2022/figure-3.4", "zietlow2022 dSprites", {}, _LENGTHS),
    Follower("zietlow2022/figure-3.6", "zietlow2022 CelebA", {"method": "beta-vae"}),
    Follower("zietlow2022/figure-3.7-dsprites", "zietlow2022 dSprites", {"arm": "trained"},
    {"objective.beta": _SWEPT}),
    *(
        Follower(
            "zietlow2022/figure-3.7-synth", f"zietlow2022 {task}", {"task": task},
            {"objective.beta": _SWEPT},
        )
        for task in ("linear", "nonlinear")
    ),
    *(
        Follower(f"bhowal2024/{name}", "bhowal2024 dSprites", {"method": method, **arm}, departures)
        for name, arm in (
            ("table-1", {}), ("table-2", {}), ("table-5", {}), ("table-6", {}),
            ("theorem-1", {"arm": "trained"}), ("single-latent", {"arm": "trained"}),
            ("correlated", {}),
        )
        for method, departures in (
            ("vae", {**_RELEASED_NET, **_BASELINE}), ("beta-vae", _RELEASED_NET),
            ("beta-tcvae", _RELEASED_NET),
        )
    ),
    Follower(
        "bhowal2024/theorem-2", "bhowal2024 dSprites", {"arm": "trained"},
        {**_RELEASED_NET, "objective.beta": "strengths along which KL falls"},
    ),
    Follower("mathieu2019/figure-2-anisotropic", "mathieu2019 2D-shapes, Gaussian"),
    Follower("mathieu2019/seed-share", "mathieu2019 2D-shapes, Gaussian"),
    *(
        Follower("mathieu2019/figure-2-student-t", "mathieu2019 2D-shapes, Student-t", {"df": df})
        for df in (1.5, 3.0, 5.0, 10.0, 30.0)
    ),
    Follower("mathieu2019/figure-3", "mathieu2019 pinwheel", {"row": "alpha"}, _PINWHEEL),
    Follower(
        "mathieu2019/figure-3", "mathieu2019 pinwheel", {"row": "beta"},
        {**_PINWHEEL, "objective.divergence": "alpha is 0: the divergence has no weight"},
    ),
    Follower("mathieu2019/figure-4", "mathieu2019 CelebA", {"gamma": 0.9}),
    Follower(
        "mathieu2019/figure-4", "mathieu2019 CelebA", {"gamma": 0.8},
        {"prior.gamma": "the released scripts' value, which the claims are of"},
    ),
    Follower(
        "mathieu2019/figure-4", "mathieu2019 CelebA", {"gamma": 0.0},
        {"prior.gamma": "the Gaussian prior of the ablation"},
    ),
    # Presets.
    Follower(
        "ivae-dsprites", "grzes2023 dSprites", {},
        {"steps": "what the released code makes of 300,000", "split.shares": "trains on all rows"},
    ),
    Follower(
        "anisotropic-vae", "mathieu2019 2D-shapes, Gaussian", {}, {"optimiser.lr": _SCRIPTS}
    ),
    Follower(
        "student-t-vae", "mathieu2019 2D-shapes, Student-t", {},
        {"optimiser.lr": _SCRIPTS, "batch": _SCRIPTS, "epochs": _SCRIPTS},
    ),
    Follower("pinwheel", "mathieu2019 pinwheel", {}, _PINWHEEL),
    Follower("sparse-vae", "mathieu2019 CelebA", {}, _SPARSE),
    Follower("sparse-vae-celeba", "mathieu2019 CelebA"),
    Follower("beta-vae-faces", "bhowal2024 3DFaces"),
    Follower(
        "beta-vae", "zietlow2022 chapter 4 beta-VAE", {},
        {"objective.beta": "4, the value of Higgins et al. and of Tab. 3.1"},
    ),
    Follower("beta-tcvae", "zietlow2022 chapter 4 TC-VAE"),
    Follower("factor-vae", "zietlow2022 chapter 4 FactorVAE"),
    Follower("slow-vae", "zietlow2022 chapter 4 SlowVAE"),
)  # fmt: skip

_LIBRARY = "disentanglement_lib's settings, which none of the five papers prints"
#: Studies and presets that follow no printed training, and why.
OWN: Mapping[str, str] = {
    **dict.fromkeys(
        ("zietlow2022/worked-example", "zietlow2022/figure-7.6", "zietlow2022/figure-4.1",
         "zietlow2022/local-global", "zietlow2022/coordinates", "mathieu2019/figure-6",
         "mathieu2019/theorems", "mathieu2019/appendix-c-estimator",
         "mathieu2019/appendix-c-dimension", "bhowal2024/table-7"),
        "a computation: nothing is trained",
    ),
    "zietlow2022/table-3.2-synth": "a computation that takes `thesis(task)` itself; "
    "tested in its own file",
    "zietlow2022/table-3.2-images": "a computation that takes the settings of table 3.3",
    "zietlow2022/theorem-2": "a drawn cloud without numbers; the nonlinear task is that of "
    "table 3.3",
    **{
        f"bonheme2023/{name}": "a question of ours about the models of figure 6"
        for name in ("unpolarised", "readouts", "threshold", "consumers")
    },
    "bonheme2023/factor-vae": "a question of ours; disentanglement_lib's settings but the critic",
    "zietlow2022/seeds": "a question of our own: whether seeds share a latent space",
    "zietlow2022/dto-steps": "a study of our own: steps and beta are what it varies",
    "zietlow2022/orthogonal": "the thesis asks for it and has no experiment",
    **{
        f"zietlow2022/{name}": "a computation that trains pools and models itself, with "
        "strengths chosen on exploratory seeds in place of table 4.1's, which presets have"
        for name in (
            "table-4.2",
            "table-4.2-compared",
            "table-4.2-slow-vae",
            "table-4.2-slow",
            "table-4.2-dsprites",
            "transfer",
            "figure-4.10",
            "table-4.3",
            "table-4.4",
            "table-4.5",
            "figures-4.4-4.8",
            "figure-4.11",
            "perturbation-cause",
        )
    },
    "zietlow2022/trained-gap": "a question of ours: the section has a computation alone",
    **dict.fromkeys(
        ("zietlow2022/held-out", "zietlow2022/held-out-more", "zietlow2022/trained-local-global"),
        "a question of ours, or said without an experiment: the thesis has none on it",
    ),
    **{
        f"mathieu2019/{name}": "the paper has no experiment on it"
        for name in ("subspaces", "subspaces-trained", "towards-modes", "isotropic-encoder",
                     "appendix-c-training", "overlap")
    },
    **{
        f"grzes2023/{name}": "linear models brought to their optimum: no setting is printed for it"
        for name in ("discarded", "pressure", "learned-means")
    },
    **{
        f"grzes2023/trained-{name}": "what the paper says without an experiment, at other betas "
        "and numbers of latents"
        for name in ("discarded", "pressure", "means", "regime", "covariance")
    },
    "bhowal2024/correlation-levels": "section 3.3 has no experiment",
    "mathieu2019/towards-modes-trained": "figure 3's models, for longer and at other betas",
    **dict.fromkeys(
        ("bhowal2024/shapes", "bhowal2024/local-sets", "bhowal2024/sets",
         "mathieu2019/figure-4-faces"),
        "other data than the paper's, in networks and for steps of ours",
    ),
    "pcl": "zietlow2022 compares with it and prints no setting",
    "weak-gan": "zietlow2022 compares with it and prints no setting",
    **dict.fromkeys(("ae", "vae", "annealed-vae", "dip-vae-i", "dip-vae-ii"), _LIBRARY),
    "entropy-vae": "the twin of the beta-vae preset, for Corollary 1 of mathieu2019",
    "free-bits": "the vae preset with free bits, which none of the five papers has",
    "sigma-vae": "the vae preset with a learnt variance, which none of the five papers has",
    "ivae": "settings of Khemakhem et al. 2020, which is not one of the five papers",
    **dict.fromkeys(("orthogonal-ae", "orthogonal-vae"), "an objective of our own"),
    "demo": "a demonstration of our own",
}  # fmt: skip
