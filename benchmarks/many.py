"""Many models at once: python benchmarks/many.py [--json] [--rounds 7] [--only images].

`stacked_over_sequential`: 50 seeds in one pass over the plain eager loop that people write, one
seed after another; `stacked_over_own_single`: over vaescope's loop of one model. Steps of models
per second, one thread each, batch 64; the lower one of the 2-100-2 and the 60-40-20 tanh VAE, with
both beside it. Importing and compiling come before the rounds, and their seconds are given.
`stacked_over_own_single_images`: the same of sixteen seeds on images, by parameters of the model:
up to where stacking pays (`MOST_IN_C` of `vaescope.training.many`); one is a FactorVAE with its
critic. The single model trains as `vaescope train` would have it, in bf16 where that pays.
`processes_over_threads`: images per second of two processes with one thread each, together, over
those of one process with two threads: what a sweep on two cores gains by training two
convolutional models at a time instead of one after another.

Each contender is a process, started once and warmed up; they take turns.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from statistics import median
from time import perf_counter
from typing import Any

from vaescope.allocator import keep_freed_memory

keep_freed_memory()  # before torch

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from vaescope.build import build_data, build_vae  # noqa: E402
from vaescope.settings import from_command_line  # noqa: E402
from vaescope.specs import Experiment  # noqa: E402
from vaescope.training.loop import new_state, steps  # noqa: E402
from vaescope.training.many import train_many  # noqa: E402
from vaescope.training.precision import choose  # noqa: E402
from vaescope.vae import as_input  # noqa: E402

BATCH, SEEDS = 64, 50
TURN_SECONDS, CONV_SECONDS = 2.0, 4.0  # how long a turn takes
CPU = torch.device("cpu")
# The largest sprites at every eighth orientation: 15,360 images.
CONV = [f"batch={BATCH}", "data.grid.scale=[5]", "data.grid.orientation=[0, 8, 16, 24, 32]"]
#: Sizes of the layers from data to latent; the decoder has them the other way round.
SIZES = {"2-100-2": (2, 100, 2), "60-40-20": (6, 60, 40, 20, 2)}
_TANH = ["net.encoder_activation=tanh", "net.decoder_activation=tanh"]
_MLP = ["data.name=pinwheel", "net.name=mlp", "net.encoder=[100]", "net.decoder=[100]", *_TANH]
NETS = {"2-100-2": _MLP, "60-40-20": ["data.name=synth-nonlinear"]}
BETA, RATE, EVERY = 0.01, 1e-3, 100
#: Images by parameters of the model: data, pixels a side, width of two layers each way.
IMAGES = {
    "43,412": ("dsprites", 16, 64), "234,516": ("dsprites-colour", 16, 128),
    "826,644": ("dsprites-noisy", 32, 128), "1,089,812": ("dsprites", 64, 128),
    "2,241,044": ("dsprites", 64, 256), "43,412 and a critic": ("dsprites", 16, 64),
}  # fmt: skip
IMAGE_SEEDS = 16


def small(net: str, seed: int) -> Experiment:
    common = ["latent=2", f"batch={BATCH}", f"objective.beta={BETA}", f"optimiser.lr={RATE}"]
    endless = [f"seed={seed}", "steps=100000000", f"logging.every={EVERY}"]
    if net not in IMAGES:
        return from_command_line("beta-vae", [*NETS[net], *common, *endless])
    name, size, width = IMAGES[net]
    layers = [f"net.{side}=[{width}, {width}]" for side in ("encoder", "decoder")]
    data = [f"data.name={name}", f"data.size={size}", "data.grid.orientation=[0]",
            "data.grid.x=[0, 8, 16, 24]", "data.grid.y=[0, 8, 16, 24]"]  # fmt: skip
    shape = [f"batch={BATCH}", f"optimiser.lr={RATE}", "net.name=mlp", *layers]
    if net.endswith("critic"):
        critic = ["objective.critic_width=128", "objective.critic_layers=3", "objective.gamma=7"]
        return from_command_line("factor-vae", [*data, *shape, *critic, *endless])
    return from_command_line("beta-vae", [*data, *shape, *endless])


#: Trains for so many steps.
Advance = Callable[[int], None]


def ours(experiment: Experiment) -> Advance:
    """What `vaescope train` runs between two checkpoints."""
    state = new_state(experiment, CPU)
    precision = choose(experiment.precision, CPU, state.vae)
    loop = steps(state, experiment, build_data(experiment.data), precision)

    def advance(n: int) -> None:
        for _ in islice(loop, n):
            pass

    return advance


def single(net: str) -> Advance:
    return ours(small(net, 0))


def stacked(net: str) -> Advance:
    """All seeds in one pass; records are made as they are in a sweep."""
    experiments = [small(net, seed) for seed in range(IMAGE_SEEDS if net in IMAGES else SEEDS)]
    loop = train_many(experiments, build_data(experiments[0].data))

    def advance(n: int) -> None:
        for _ in islice(loop, n // EVERY):
            pass

    return advance


def _layers(sizes: Sequence[int], last: int) -> nn.Module:
    pairs = list(zip(sizes, [*sizes[1:-1], last], strict=False))
    layers: list[nn.Module] = [nn.Linear(*pairs[0])]
    for pair in pairs[1:]:
        layers += [nn.Tanh(), nn.Linear(*pair)]
    return nn.Sequential(*layers)


def plain(net: str) -> Advance:
    """The loop of many repositories, without a DataLoader to hold it back."""
    experiment = small(net, 0)
    data = build_data(experiment.data)
    rows = as_input(data.rows(np.arange(len(data))), CPU)
    sizes = SIZES[net]
    encoder, decoder = _layers(sizes, 2 * sizes[-1]), _layers(sizes[::-1], sizes[0])
    parameters = [*encoder.parameters(), *decoder.parameters()]
    assert sum(p.numel() for p in parameters) == sum(
        p.numel() for p in build_vae(experiment).parameters()
    )
    optimiser = torch.optim.Adam(parameters, lr=RATE)

    def loss_of(x: Tensor) -> Tensor:
        mean, log_variance = encoder(x).chunk(2, dim=-1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        rate = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp())
        return (torch.sum((decoder(z) - x) ** 2) + BETA * rate) / BATCH

    def advance(n: int) -> None:
        losses = []
        for _ in range(n):
            loss = loss_of(rows[torch.randint(len(rows), (BATCH,))])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(loss.item())

    return advance


def conv(threads: str) -> Advance:
    torch.set_num_threads(int(threads))
    return ours(from_command_line("beta-vae", CONV))


CONTENDERS: Mapping[str, Callable[[str], Advance]] = {
    "plain": plain, "single": single, "stacked": stacked, "conv": conv,
}  # fmt: skip


def work(name: str, argument: str) -> None:
    """A contender's process: for each number of steps on stdin, a line when they are made."""
    torch.set_num_threads(1)
    advance = CONTENDERS[name](argument)
    for line in sys.stdin:
        advance(int(line))
        print("done", flush=True)


class Trainer:
    """The parent's side of a contender's process."""

    def __init__(self, stack: ExitStack, name: str, argument: str) -> None:
        command, pipe = [sys.executable, __file__, "--worker", name, argument], subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        stack.enter_context(self.process)

    def begin(self, steps: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{steps}\n")

    def end(self) -> None:
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise RuntimeError("A process that trains ended; its error stands above.")


def seconds(trainers: Sequence[Trainer], steps: int) -> float:
    """So many steps in each at the same time, until the last one is through."""
    start = perf_counter()
    for trainer in trainers:
        trainer.begin(steps)
    for trainer in trainers:
        trainer.end()
    return perf_counter() - start


def turns(trainers: Sequence[Trainer], step: int, length: float) -> Iterator[float]:
    """Steps per second in sum, after two turns to warm up; a turn is a multiple of `step`."""
    seconds(trainers, step)
    count = max(1, round(length / seconds(trainers, step))) * step
    while True:
        yield len(trainers) * count / seconds(trainers, count)


@dataclass(frozen=True)
class Found:
    """Ratios by key, one value per round, and facts that belong to them."""

    ratios: Mapping[str, Sequence[float]]
    facts: Mapping[str, Any]


def interleaved(running: Mapping[str, Iterator[float]], rounds: int) -> dict[str, list[float]]:
    """Rates of all in each round, each begun by another."""
    rates: dict[str, list[float]] = {name: [next(turn)] for name, turn in running.items()}
    names = list(running)
    for _ in range(rounds):
        for name in names:
            rates[name].append(next(running[name]))
        names = [*names[1:], names[0]]
    return {name: values[1:] for name, values in rates.items()}


def _ratio(a: Sequence[float], b: Sequence[float], scale: float = 1.0) -> list[float]:
    return [scale * x / y for x, y in zip(a, b, strict=True)]


def stacking(rounds: int) -> Found:
    """50 seeds in one pass over one after another."""
    found: dict[str, list[float]] = {}
    facts: dict[str, Any] = {}
    for net in NETS:
        with ExitStack() as stack:
            kinds = ("plain", "single", "stacked")
            begun = {kind: Trainer(stack, kind, net) for kind in kinds}
            facts[f"start_seconds_{net}"] = seconds([begun["stacked"]], EVERY)
            running = {k: turns([one], EVERY, TURN_SECONDS) for k, one in begun.items()}
            rates = interleaved(running, rounds)
        for kind, values in rates.items():
            scale = SEEDS if kind == "stacked" else 1
            facts[f"steps_per_second_{kind}_{net}"] = scale * median(values)
        for key, other in (("sequential", "plain"), ("own_single", "single")):
            found[f"stacked_over_{key}_{net}"] = _ratio(rates["stacked"], rates[other], SEEDS)
    for key in ("stacked_over_sequential", "stacked_over_own_single"):
        found[key] = min((found[f"{key}_{net}"] for net in NETS), key=median)
    return Found(found, facts)


def images(rounds: int) -> Found:
    """Sixteen seeds in one pass over our loop of one model, by parameters."""
    found: dict[str, list[float]] = {}
    for net in IMAGES:
        counted = sum(p.numel() for p in build_vae(small(net, 0)).parameters())
        assert f"{counted:,}" == net.removesuffix(" and a critic"), f"{counted:,}"
        with ExitStack() as stack:
            begun = {kind: Trainer(stack, kind, net) for kind in ("single", "stacked")}
            running = {k: turns([one], EVERY, TURN_SECONDS) for k, one in begun.items()}
            rates = interleaved(running, rounds)
        ratios = _ratio(rates["stacked"], rates["single"], IMAGE_SEEDS)
        found[f"stacked_over_own_single_images_{net.replace(' ', '_')}"] = ratios
    return Found(found, {})


def processes(rounds: int) -> Found:
    """Two processes with one thread each over one with two; both turns train as many images."""
    with ExitStack() as stack:
        one, pair = [Trainer(stack, "conv", "2")], [Trainer(stack, "conv", "1") for _ in range(2)]
        running = {"threads": turns(one, 24, CONV_SECONDS), "pair": turns(pair, 12, CONV_SECONDS)}
        rates = interleaved(running, rounds)
    experiment = from_command_line("beta-vae", CONV)
    facts = {
        "images_per_second_threads": BATCH * median(rates["threads"]),
        "images_per_second_processes": BATCH * median(rates["pair"]),
        "precision": choose(experiment.precision, CPU, build_vae(experiment)),
    }
    return Found({"processes_over_threads": _ratio(rates["pair"], rates["threads"])}, facts)


PARTS: Mapping[str, Callable[[int], Found]] = {
    "stacked": stacking, "images": images, "processes": processes,
}  # fmt: skip


def main() -> None:
    """Print the ratios as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=7, help="quote no figures of fewer than 7")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
        return
    parts = [options.only] if options.only else list(PARTS)
    found = [PARTS[part](options.rounds) for part in parts]
    ratios = {key: values for part in found for key, values in part.ratios.items()}
    facts = {key: fact for part in found for key, fact in part.facts.items()}
    if options.json:
        extremes = {key: [min(values), max(values)] for key, values in ratios.items()}
        medians = {key: median(values) for key, values in ratios.items()}
        each = {"rounds": options.rounds, "extremes": extremes, "each": ratios}
        print(json.dumps({**medians, **facts, **each}))
        return
    for key, values in ratios.items():
        print(f"{key:<34}{median(values):6.2f}  ({min(values):.2f} to {max(values):.2f})")
    for key, fact in facts.items():
        print(f"{key:<34}{fact if isinstance(fact, str) else round(fact, 2)}")


if __name__ == "__main__":
    main()
