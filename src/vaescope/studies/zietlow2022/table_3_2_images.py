"""How long the polarised regime holds while training on images. zietlow2022 table 3.2."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from vaescope.studies.claims import Claim, Control, Test
from vaescope.studies.effects import Gap, Level, Where
from vaescope.studies.panels import Dots
from vaescope.studies.study import Cell, Computed, Measured, Scale, Study, cells
from vaescope.studies.zietlow2022.delta_kl import watched
from vaescope.studies.zietlow2022.images import ARMS, Settings, mnist, sprites
from vaescope.sweeps.grid import plan

__all__ = ["STUDY"]

#: The thesis's shares with as many latents as factors, and with ten.
SHARES = {"dsprites": (97.8, 90.6), "mnist": (99.8, 99.5), "fashion-mnist": (99.8, 97.7)}
HIGH = 10
#: Small nets and Adam, whose steps are in C: the thesis's number of them takes about two minutes.
_SMALL: Settings = {
    "optimiser.name": "adam", "optimiser.lr": 1e-3, "net.encoder": [64, 64],
    "net.decoder": [64, 64],
}  # fmt: skip
#: Steps between two checks, as in the thesis.
EVERY = 500


def _settings(task: str, scale: Scale) -> Settings:
    own = sprites if task == "dsprites" else partial(mnist, task)
    arm = ARMS["beta-vae" if task == "dsprites" else "vae"]
    small = {**_SMALL, "steps": own("paper")["steps"]} if scale == "laptop" else {}
    return {**own(scale), **arm, **small}


def _cells(scale: Scale) -> tuple[Cell, ...]:
    """At the thesis's length every 500 steps; six times in a try."""
    seeds = {"smoke": 2, "laptop": 16, "paper": 5}[scale]
    rows: list[Cell] = []
    for task in SHARES:
        settings = _settings(task, scale)
        every = settings["steps"] // 6 if scale == "smoke" else EVERY
        for dimension, latent in (("exact", settings["latent"]), ("high", HIGH)):
            for seed in range(seeds):
                one = {"task": task, "scale": scale, "latent": latent, "seed": seed}
                rows += cells([{**one, "every": every}], dimension=dimension)
    return tuple(rows)


def _one(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a cell's training."""
    settings = _settings(columns["task"], columns["scale"])
    return {**settings, "latent": columns["latent"], "seed": columns["seed"]}


def _compute(columns: Mapping[str, Any]) -> Measured:
    one = _one(columns)
    found = watched(one, every=columns["every"])
    still = watched({**one, "optimiser.lr": 0.0, "steps": 1}, every=1).to_dict()
    return {**found.to_dict(), "late_fall": found.late_fall, "share_untrained": still["share"]}


def _of(task: str, dimension: str) -> Where:
    return {"task": task, "dimension": dimension}


_NAMES = {"dsprites": "dSprites", "mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}
_PART = {"dsprites": "three factors of dSprites at 32 pixels for all five"}


def _untrained(effect: Level | Gap) -> Control:
    return Control("networks before training", replace(effect, measure="share_untrained"))


def _regime(task: str, dimension: str) -> Level:
    return Level("share", _of(task, dimension))


_EVERY = [(task, dimension) for task in SHARES for dimension in ("exact", "high")]


def _later(task: str) -> Claim:
    exact, high = SHARES[task]
    effect = Gap("share", _of(task, "exact"), _of(task, "high"))
    return Claim(
        f"On {_NAMES[task]} the regime sets in later with ten latents.",
        "zietlow2022 section 3.4", effect, "above", 0.0, f"{exact}% against {high}%",
        _PART.get(task, ""), control=_untrained(effect),
    )  # fmt: skip


STUDY = Study(
    "zietlow2022/table-3.2-images",
    "The share of training with Delta-KL below 3%: dSprites, MNIST and Fashion-MNIST",
    lambda scale: Computed(
        "zietlow2022-table-3.2-images", _cells(scale), _compute, version=5,
        trains=lambda columns: list(plan([_one(columns)])),
    ),
    (
        Claim(
            "Delta-KL stays below 3% for over 90% of the training, on all three data, with no "
            "latents to spare and with ten.",
            "zietlow2022 section 3.3.2, Tab. 3.2", _regime(*_EVERY[0]), "above", 0.9,
            "90.6% to 99.8%", _PART["dsprites"],
            also=tuple(Test(_regime(*one), "above", 0.9) for one in _EVERY[1:]),
            primary=True,
            quote="In Table 3.2 we show that the polarized regime dominates the training in all "
            "examples after a short initial phase.",
            control=_untrained(_regime(*_EVERY[0])),
        ),
        *map(_later, SHARES),
    ),
    (
        *(
            Dots(f"Share of training, {_NAMES[task]}", "share", "dimension", {"task": task})
            for task in SHARES
        ),
        Dots("Fall of the loss in the second half", "late_fall", "task"),
    ),
    ("zietlow2022 Tab 3.2",),
    "The beta-VAE of zietlow2022/table-3.3-dsprites (three factors, beta 4) and the VAE of "
    "zietlow2022/table-3.3-mnist (beta 1), with as many latents as there (three, six) and with "
    "ten, in small nets of 64-64 and with Adam 1e-3, where the thesis has nets of 400 to 1,200 and "
    "AdaGrad. The share depends on how long training continues, so its length is the thesis's: "
    "460,800 steps on dSprites, 350,000 on MNIST and 437,500 on Fashion-MNIST, its 50, 400 and 500 "
    "epochs in batches of 64. Lengths by convergence were tried with exploratory seeds 0 and 1, "
    "which never vote: after 20,000 steps the loss had still fallen by 3 to 10% in the second half "
    "and the last violation was at step 1,800 to 8,200 in seven of eight models and at the last "
    "check in one, so that a rule by the fall of the loss would decide the claim by where it is "
    "put. Delta-KL on 1,000 rows every 500 steps; the share counts from the last check that is not "
    "below 3%, `last_above` is the step of that check, and `late_fall` how much the loss still "
    "fell in the second half. An active latent is one whose mean deviates by more than 0.5.",
    "The table is the older one, of 2,000 steps with the thesis's nets, which is against the "
    "claim by its length alone: with no latents to spare the last violation is at step 790 "
    "(dSprites), 190 (MNIST) and 560 (Fashion-MNIST) on average, so that 61, 90 and 72% of 2,000 "
    "steps are left, where the thesis has 97.8 to 99.8% of far longer trainings. A seed of the "
    "registered study takes 12 minutes of one processor (0.31 ms a step on dSprites and 0.26 ms on "
    "MNIST, and 6 ms a check), 16 seeds 3.2 hours, and no less together: not run yet.",
)  # fmt: skip
