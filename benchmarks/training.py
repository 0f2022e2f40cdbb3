"""Throughput of training the 64x64 convolutional beta-VAE on dSprites, in images per second:
python benchmarks/training.py [--json] [--rounds 7].

`auto` and `fp32` are vaescope's loop, `plain` is the eager float32 loop that people write, `pythae`
is that library's trainer where it is installed, `bound-*` is the forward and backward pass of
vaescope's nets alone. Allocator settings are process-wide, so each contender is a process of its
own, started once; they take turns and never run together.
"""

import argparse
import io
import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, redirect_stderr
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import count, islice
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vaescope.allocator import keep_freed_memory
from vaescope.build import build_data
from vaescope.settings import from_command_line
from vaescope.specs import Experiment
from vaescope.training.loop import fetch, new_state, steps
from vaescope.training.precision import Precision, autocast, choose, threads_for

BATCHES = (64, 256)
TURN_SECONDS = 2.5  # how long a contender runs in one round
WARM_TURNS, WARM_IMAGES = 2, 1024
BETA, LATENT, RATE = 4.0, 10, 1e-4
CPU = torch.device("cpu")
# Every eighth orientation of the largest sprites: 15,360 images, few enough to be held as floats.
GRID = '{"scale": [5], "orientation": [0, 8, 16, 24, 32]}'


# A function that trains for so many steps, and the precision it trains in.
Contender = tuple[Callable[[int], None], Precision]


def _experiment(batch: int, precision: str = "fp32") -> Experiment:
    model = [f"objective.beta={BETA}", f"latent={LATENT}", f"optimiser.lr={RATE}"]
    run = [f"data.grid={GRID}", f"batch={batch}", f"precision={precision}"]
    return from_command_line("beta-vae", [*model, *run])


def vaescope(requested: str, batch: int) -> Contender:
    """What `vaescope train` runs between two checkpoints."""
    keep_freed_memory()
    experiment = _experiment(batch, requested)
    state = new_state(experiment, CPU)
    precision = choose(experiment.precision, CPU, state.vae)
    torch.set_num_threads(threads_for(state.vae))
    loop = steps(state, experiment, build_data(experiment.data), precision)

    def advance(n: int) -> None:
        for _ in islice(loop, n):
            pass

    return advance, precision


def bound(precision: Precision, batch: int) -> Contender:
    """Encoder, mean, decoder and back on a resident batch: no noise, loss or optimiser."""
    keep_freed_memory()
    experiment = _experiment(batch)
    vae = new_state(experiment, CPU).vae
    torch.set_num_threads(threads_for(vae))
    x = fetch(build_data(experiment.data), np.arange(batch), CPU).x

    def advance(n: int) -> None:
        for _ in range(n):
            vae.zero_grad(set_to_none=True)
            with autocast(precision, CPU):
                output = vae.decoder.body(vae.encoder(x).mean)
            output.sum().backward()

    return advance, precision


def _images(experiment: Experiment) -> Tensor:
    data = build_data(experiment.data)
    return torch.from_numpy(data.rows(np.arange(len(data))).astype(np.uint8))


def _plain_nets(experiment: Experiment) -> tuple[nn.Module, nn.Module]:
    """The layers of vaescope's nets as people write them, in torch's own order of memory."""
    # fmt: off
    encoder = nn.Sequential(
        nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 4, 2, 1), nn.ReLU(),
        nn.Conv2d(32, 64, 2, 2), nn.ReLU(), nn.Conv2d(64, 64, 2, 2), nn.ReLU(),
        nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 2 * LATENT),
    )
    decoder = nn.Sequential(
        nn.Linear(LATENT, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU(),
        nn.Unflatten(1, (64, 4, 4)), nn.ConvTranspose2d(64, 64, 4, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(32, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1),
    )
    # fmt: on
    ours = [p.numel() for p in new_state(experiment, CPU).vae.parameters()]
    assert sorted(ours) == sorted(p.numel() for net in (encoder, decoder) for p in net.parameters())
    return encoder, decoder


def plain(batch: int) -> Contender:
    """The loop of many repositories, without a DataLoader to hold it back."""
    experiment = _experiment(batch)
    images = _images(experiment)
    encoder, decoder = _plain_nets(experiment)
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=RATE)

    def advance(n: int) -> None:
        losses = []
        for _ in range(n):
            x = images[torch.randint(len(images), (batch,))].float()
            mean, log_variance = encoder(x).chunk(2, dim=-1)
            z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
            distortion = F.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum")
            rate = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp())
            loss = (distortion + BETA * rate) / batch
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(loss.item())

    return advance, "fp32"


def pythae(batch: int) -> Contender:
    """pythae's BetaVAE, trainer and loader on the plain nets; a turn is an epoch of its own."""
    from pythae.data.datasets import BaseDataset
    from pythae.models import BetaVAE, BetaVAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder
    from pythae.trainers import BaseTrainer, BaseTrainerConfig

    class Encoder(BaseEncoder):  # type: ignore[misc]
        def forward(self, x: Tensor) -> Any:
            mean, log_variance = self.body(x).chunk(2, dim=-1)
            return ModelOutput(embedding=mean, log_covariance=log_variance)

    class Decoder(BaseDecoder):  # type: ignore[misc]
        def forward(self, z: Tensor) -> Any:
            return ModelOutput(reconstruction=torch.sigmoid(self.body(z)))

    logging.disable(logging.INFO)
    experiment = _experiment(batch)
    encoder, decoder = Encoder(), Decoder()
    encoder.body, decoder.body = _plain_nets(experiment)
    images = _images(experiment).float()
    labels = torch.zeros(len(images))
    form = {"input_dim": (1, 64, 64), "latent_dim": LATENT, "reconstruction_loss": "bce"}
    model = BetaVAE(BetaVAEConfig(beta=BETA, **form), encoder, decoder)
    knobs = {"per_device_train_batch_size": batch, "learning_rate": RATE, "no_cuda": True}
    with tempfile.TemporaryDirectory() as folder:
        config = BaseTrainerConfig(output_dir=folder, **knobs)
        trainer = BaseTrainer(model, BaseDataset(images, labels), training_config=config)
        trainer.prepare_training()

    def advance(n: int) -> None:
        for first in range(0, n * batch, len(images)):
            rows = slice(min(n * batch - first, len(images)))
            data = BaseDataset(images[rows], labels[rows])
            trainer.train_loader = trainer.get_train_dataloader(data)
            with redirect_stderr(io.StringIO()):  # its progress bar
                trainer.train_step(epoch=1)

    return advance, "fp32"


CONTENDERS: Mapping[str, Callable[[int], Contender]] = {
    "auto": partial(vaescope, "auto"),
    "fp32": partial(vaescope, "fp32"),
    "plain": plain,
    "pythae": pythae,
    "bound-fp32": partial(bound, "fp32"),
    "bound-bf16": partial(bound, "bf16"),
}


def work(name: str, batch: int) -> None:
    """A contender's process: says what it is, then answers step counts with seconds."""
    advance, precision = CONTENDERS[name](batch)
    print(json.dumps([precision, torch.get_num_threads()]), flush=True)
    for line in sys.stdin:
        start = perf_counter()
        advance(int(line))
        print(perf_counter() - start, flush=True)


def turns(name: str, batch: int, stack: ExitStack) -> Iterator[Any]:
    """Precision and threads of a contender, then images per second, a turn for each `next`."""
    command, pipe = [sys.executable, __file__, "--worker", name, str(batch)], subprocess.PIPE
    process = stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
    assert process.stdin is not None and process.stdout is not None
    yield json.loads(process.stdout.readline())
    size = WARM_IMAGES // batch
    for turn in count():
        print(size, file=process.stdin, flush=True)
        rate = size * batch / float(process.stdout.readline())
        if turn + 1 == WARM_TURNS:
            size = max(1, round(TURN_SECONDS * rate / batch))
        yield rate


@dataclass(frozen=True)
class Figures:
    """Images per second of each contender in each round, at one batch size."""

    batch: int
    precision: str  # what `auto` became on this machine
    threads: int
    rates: Mapping[str, list[float]]

    def ratios(self) -> dict[str, list[float]]:
        """Of each round, since neighbours in time share the machine; empty for who is absent."""
        end = "" if self.batch == BATCHES[0] else f"_{self.batch}"
        found = {}
        for ours, own_bound in (("auto", f"bound-{self.precision}"), ("fp32", "bound-fp32")):
            for label, other in (("plain", "plain"), ("pythae", "pythae"), ("bound", own_bound)):
                pairs = zip(self.rates[ours], self.rates.get(other, ()), strict=False)
                found[f"{ours}_over_{label}{end}"] = [a / b for a, b in pairs]
        return found


def measure(batch: int, rounds: int) -> Figures:
    """Interleaved rounds at one batch size, each begun by another contender."""
    with ExitStack() as stack:
        running = {"auto": turns("auto", batch, stack)}
        precision, threads = next(running["auto"])
        others = ["fp32", "plain", *(["pythae"] if find_spec("pythae") else [])]
        for name in [*others, *sorted({"bound-fp32", f"bound-{precision}"})]:
            running[name] = turns(name, batch, stack)
            next(running[name])
        rates: dict[str, list[float]] = {name: [] for name in running}
        names = list(running)
        for _ in range(WARM_TURNS + rounds):
            for name in names:
                rates[name].append(next(running[name]))
            names = [*names[1:], names[0]]
    return Figures(batch, precision, threads, {k: v[WARM_TURNS:] for k, v in rates.items()})


def report(results: list[Figures], rounds: int) -> dict[str, Any]:
    """Medians of ratios and rates over the rounds, and the ratios' extremes."""
    ratios = {key: values for figures in results for key, values in figures.ratios().items()}
    rates = {f.batch: {name: median(v) for name, v in f.rates.items()} for f in results}
    return {
        **{key: median(values) if values else None for key, values in ratios.items()},
        "extremes": {key: [min(values), max(values)] for key, values in ratios.items() if values},
        "images_per_second": rates,
        "precision": results[0].precision,
        "threads": results[0].threads,
        "torch": torch.__version__,
        "rounds": rounds,
    }


def table(found: Mapping[str, Any]) -> str:
    """The report as text."""
    lines = ["torch {torch}, {threads} threads, auto is {precision}, {rounds} rounds"]
    for batch, rates in found["images_per_second"].items():
        for name, rate in rates.items():
            lines.append(f"batch {batch:>3}  {name:<12}{rate:8.0f} images/s")
    for key, (least, most) in found["extremes"].items():
        lines.append(f"{key:<22}{found[key]:6.2f}  ({least:.2f} to {most:.2f})")
    return "\n".join(lines).format(**found)


def main() -> None:
    """Print the figures as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=7, help="quote no figures of fewer than 7")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker[0], int(options.worker[1]))
        return
    if find_spec("pythae") is None:
        print("pythae is not installed, so it is left out: pip install pythae", file=sys.stderr)
    found = report([measure(batch, options.rounds) for batch in BATCHES], options.rounds)
    print(json.dumps(found) if options.json else table(found))


if __name__ == "__main__":
    main()
