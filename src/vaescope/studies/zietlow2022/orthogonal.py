"""Is orthogonality all that a beta-VAE adds? A penalty in its place. zietlow2022 section 6.3."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vaescope.runs import Run
from vaescope.studies.claims import Claim, Control, Test
from vaescope.studies.effects import AtEqual, Gap, Where
from vaescope.studies.measuring import ds, subject
from vaescope.studies.panels import Dots, Images, Scatter
from vaescope.studies.study import Cell, Measured, Scale, Study, Trained
from vaescope.studies.zietlow2022.images import ARMS, Settings, geometry, sprites
from vaescope.studies.zietlow2022.synthetic import BETA, THESIS_BETA, portrait, training

__all__ = ["STUDY"]

#: Strengths of the curves on dSprites.
WEIGHTS = (0.003, 0.03, 0.3)
BETAS = (0.25, 1.0, 4.0, 16.0)
#: The weight that is compared with the plain autoencoder.
CHOSEN = WEIGHTS[1]

#: A rate that brings codes to unit variance but is weak at turning axes, beside the penalty.
_WITH_RATE: Settings = {
    "preset": "orthogonal-vae", "objective.weight": 1.0, "objective.beta": 1e-3,
}  # fmt: skip


def _synthetic(task: str, scale: Scale) -> Mapping[str, Settings]:
    beta = THESIS_BETA if scale == "paper" else BETA
    return {
        "ae": ARMS["ae"],
        "orthogonal-ae": {"preset": "orthogonal-ae", "objective.weight": 1.0},
        "beta-vae": {"preset": "beta-vae", "objective.beta": beta[task]},
    }


def _cells(scale: Scale, units: Sequence[int] | None) -> Iterator[Cell]:
    linear_seeds, generators, seeds = (
        (range(n) if units is None else units)
        for n in {"smoke": (2, 1, 1), "laptop": (8, 12, 6), "paper": (50, 20, 10)}[scale]
    )
    methods = {**_synthetic("linear", scale), "orthogonal-vae": _WITH_RATE}
    for method, settings in methods.items():
        for seed in linear_seeds:
            one = {**training("linear", scale), **settings, "seed": seed}
            yield Cell(one, {"task": "linear", "method": method})
    for method, settings in _synthetic("nonlinear", scale).items():
        for generator in generators:
            one = {**training("nonlinear", scale), **settings, "seed": generator}
            one["data.generator_seed"] = generator
            yield Cell(one, {"task": "nonlinear", "method": method})
    for method, settings in _curves():
        for seed in seeds:
            one = {**sprites(scale), **settings, "seed": seed}
            yield Cell(one, {"task": "dsprites", "method": method})


def _curves() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "ae", dict(ARMS["ae"])
    for weight in WEIGHTS:
        yield "orthogonal-ae", {"preset": "orthogonal-ae", "objective.weight": weight}
    for beta in BETAS:
        yield "beta-vae", {"preset": "beta-vae", "objective.beta": beta}


def measure(run: Run) -> Measured:
    """Geometry and score of a run, and a portrait of two latents."""
    of = subject(run)
    row = {**geometry(of), "ds": ds(of)}
    if of.experiment.seed % 1000 == 0 and of.experiment.data.name == "synth-linear":
        return {**row, "portrait": portrait(of)}
    return row


def _work(scale: Scale, units: Sequence[int] | None = None) -> Trained:
    return Trained("zietlow2022-orthogonal", tuple(_cells(scale, units)), measure, version=3)


def _of(task: str, method: str) -> Where:
    return {"task": task, "method": method}


def _against(measure: str, task: str, method: str, unit: str = "seed") -> Gap:
    """How much higher a measure is than the beta-VAE's."""
    return Gap(measure, _of(task, method), _of(task, "beta-vae"), unit)


_STRENGTH = {"objective.weight": CHOSEN}
_PLAIN = "a plain autoencoder, without the penalty"
_DATA = "data.generator_seed"
_WHERE = "zietlow2022 section 6.3"
_ASKED = "asked for, not measured"
_PART = "three factors of dSprites at 32 pixels for all five"

STUDY = Study(
    "zietlow2022/orthogonal",
    "Orthogonal columns by a penalty, against those of a beta-VAE",
    _work,
    (
        Claim(
            "Linear task: a penalty makes an autoencoder as orthogonal as a beta-VAE, and it "
            "then disentangles as well.",
            _WHERE, _against("dto", "linear", "orthogonal-ae"), "within", 0.0, _ASKED, margin=0.1,
            also=(Test(_against("ds", "linear", "orthogonal-ae"), "within", 0.0, 0.1),),
            primary=True, own=True,
            control=Control(_PLAIN, _against("dto", "linear", "ae")),
        ),
        Claim(
            "Nonlinear task: the penalty makes an autoencoder as orthogonal as a beta-VAE.",
            _WHERE, _against("dto", "nonlinear", "orthogonal-ae", _DATA), "within", 0.0, _ASKED,
            margin=0.2, own=True,
            control=Control(_PLAIN, _against("dto", "nonlinear", "ae", _DATA)),
        ),
        Claim(
            "dSprites: the penalty makes an autoencoder more orthogonal and disentangle better.",
            _WHERE,
            Gap("dto", _of("dsprites", "ae"), {**_of("dsprites", "orthogonal-ae"), **_STRENGTH}),
            "above", 0.0, _ASKED, _PART, own=True,
            also=(
                Test(
                    Gap(
                        "ds", {**_of("dsprites", "orthogonal-ae"), **_STRENGTH},
                        _of("dsprites", "ae"),
                    ),
                    "above", 0.0,
                ),
            ),
            control=Control(
                "the weakest weight of the penalty",
                Gap(
                    "dto", _of("dsprites", "ae"),
                    {**_of("dsprites", "orthogonal-ae"), "objective.weight": WEIGHTS[0]},
                ),
            ),
        ),
        Claim(
            "dSprites: at equal distortion the penalty disentangles as well as a beta-VAE.",
            _WHERE,
            AtEqual(
                "ds", "distortion", _of("dsprites", "orthogonal-ae"), _of("dsprites", "beta-vae")
            ),
            "within", 0.0, _ASKED, _PART, margin=0.1, own=True,
            control=Control(
                _PLAIN, Gap("ds", _of("dsprites", "ae"), _of("dsprites", "beta-vae"))
            ),
        ),
    ),
    (
        Dots("DtO, linear task", "dto", "method", {"task": "linear"}),
        Dots("DS, linear task", "ds", "method", {"task": "linear"}),
        Dots("DtO, nonlinear task", "dto", "method", {"task": "nonlinear"}),
        Dots("DS, nonlinear task", "ds", "method", {"task": "nonlinear"}),
        Scatter("DtO against distortion, dSprites", "dto", "distortion", "method",
                {"task": "dsprites"}),
        Scatter("DS against distortion, dSprites", "ds", "distortion", "method",
                {"task": "dsprites"}),
        Images("Codes in the colours of the two sources, linear task", "portrait", "method"),
    ),
    ("zietlow2022 Tab 3.3",),
    "The thesis asks for direct control of orthogonality and has no experiment. Here the "
    "objective has a penalty on the off-diagonal of J'J, J per standard deviation of each code. "
    "Linear task: weight 1, 10,000 steps, the training of zietlow2022/table-3.3-synth, with its "
    "autoencoders and beta-VAEs (0.05); orthogonal-vae has beta 1e-3, at which a VAE "
    "hardly aligns in this time (zietlow2022/dto-steps). Nonlinear task: a random network for each "
    "seed, weight 1 against beta 0.03. dSprites: the setting of zietlow2022/table-3.3-dsprites, "
    "weights 0.003, 0.03, 0.3 against beta 0.25 to 16, interpolated along distortion: "
    "orthogonality that costs distortion is no gain. On the synthetic tasks orthogonal columns "
    "cost hardly any, so single strengths are compared there. As good means within 0.1 (0.2 for "
    "DtO on the nonlinear task). Settings of dSprites were chosen by runs of seed 100 that "
    "printed DtO and DS too, before the claims were written.",
    "Undecided, with most votes against the sentence: orthogonality follows from the rate but does "
    "not replace it. On the linear task the penalty's DtO is 0.000 (the beta-VAE's 0.002, the "
    "autoencoder's 0.55), and its DS is 0.54, as the autoencoder's 0.51, where the beta-VAE has "
    "0.99: lower in all 24 seeds, by over 0.1 in 21. In the plane that a linear autoencoder spans "
    "any two orthogonal columns do, whatever their angle to the factors: the penalty prefers none "
    "of them, and the rate does, as columns along the axes of greatest and least variance cost "
    "least. A rate of weight 1e-3 beside the penalty turns them in part (DS 0.71). On the "
    "nonlinear task the penalty makes decoders more orthogonal than the beta-VAE does (DtO 0.04 "
    "and 0.24, the autoencoder's 0.55), by 0.2 or more in 12 of 24 generators, which is why 'as "
    "orthogonal' is undecided; in one of them the beta-VAE lost a latent and has no DtO. "
    "Distortion is less than the beta-VAE's in 19. DS is 0.55, 0.52 and 0.46, so that there "
    "neither disentangles. On dSprites a weight of 0.03 lowers DtO from 1.01 to 0.56, in 23 of 24 "
    "seeds, and raises DS from 0.18 to 0.28, in 17, where the beta-VAE has 0.47 at beta 4. At "
    "equal distortion its DS is 0.07 below the beta-VAE's on average, and in single seeds from "
    "0.44 below to 0.32 above.",
    extend=_work,
)  # fmt: skip
