"""Where the time goes in what misses its target: python benchmarks/profiles.py [--write].

`benchmarks/speed.py` says how long things take; this says in what. Every part is run `ROUNDS` times
in processes of its own, and shown with the median, least and greatest of its seconds. `--write`
makes docs/results/profiles.md.
"""

import argparse
import cProfile
import json
import os
import pstats
import runpy
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results" / "profiles.md"
ROUNDS = 7
#: Cores that other processes take, above which a page says that it was measured beside them.
BUSY = 0.2
Seconds = dict[str, float]

#: Put before a program on PYTHONPATH: it counts what the program waits for the disk.
WAITING = """
import atexit, json, os, time
spent = {}
def timed(module, name):
    own = getattr(module, name)
    def call(*given, **more):
        at = time.perf_counter()
        try:
            return own(*given, **more)
        finally:
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - at
    setattr(module, name, call)
for name in ("fsync", "replace", "open", "mkdir"):
    timed(os, name)
def kept():
    with open(os.path.join(os.environ["WAITING"], str(os.getpid())), "w") as file:
        json.dump(spent, file)
atexit.register(kept)
leave = os._exit  # a worker ends by it, and atexit hears nothing
def left(code):
    kept()
    leave(code)
os._exit = left
"""


class Clock:
    """Seconds by name, added up."""

    def __init__(self) -> None:
        self.spent: Seconds = {}

    @contextmanager
    def part(self, name: str) -> Any:
        at = perf_counter()
        try:
            yield
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + perf_counter() - at

    def watch(self, module: Any, function: str, name: str) -> None:
        """From now on calls of a module's function count under the name."""
        own = getattr(module, function)

        def timed(*given: Any, **more: Any) -> Any:
            with self.part(name):
                return own(*given, **more)

        setattr(module, function, timed)


def inspection(effort: str) -> Seconds:
    """Parts of an inspection; those of the geometry apart."""
    from vaescope.allocator import keep_freed_memory

    overview = import_module(
        "vaescope.geometry.overview"
    )  # the package has a function of this name

    clock = Clock()
    clock.watch(overview, "grams", "geometry: Jacobians of the decoder")
    clock.watch(overview, "_untrained_distance", "geometry: Jacobians of untrained decoders")
    clock.watch(overview, "local_decoders", "geometry: local decoders")
    keep_freed_memory()
    script = ROOT / "benchmarks/_inspection.py"
    found: Seconds = runpy.run_path(str(script))["measure"](effort)
    found.pop("used_latents")
    total, geometry = found.pop("total"), found.pop("geometry")
    clock.spent["geometry: the rest"] = geometry - sum(clock.spent.values())
    found["measures, until the decoder's part begins"] = found.pop("measures")
    return {"all": total, **found, **clock.spent}


def first_step() -> Seconds:
    """From the prompt to the first record, in order."""
    clock = Clock()
    with clock.part("import torch"):
        import torch
    with clock.part("import the rest"):
        import vaescope.cli.train  # noqa: F401
        from vaescope.build import build_data
        from vaescope.settings import from_command_line
        from vaescope.training import loop
        from vaescope.training.precision import choose
    import numpy as np

    with clock.part("settings"):
        own = from_command_line("beta-vae", ["steps=1", "logging.every=1"])
    with clock.part("the data, kept from before"):
        data = build_data(own.data)
        data.rows(np.arange(2))
    with clock.part("networks and optimiser"):
        state = loop.new_state(own, torch.device("cpu"))
        precision = choose(own.precision, torch.device("cpu"), state.vae)
    with clock.part("the step"):
        list(loop.steps(state, own, data, precision))
    return {"all": sum(clock.spent.values()), **clock.spent}


def table() -> Seconds:
    """Reading 10,000 runs, by what the interpreter was in (a profiler doubles the time, so these
    are shares of the seconds without it)."""
    from vaescope.tables import read_table

    folder = Path(tempfile.gettempdir()) / "vaescope-benchmark-runs"
    if not folder.exists():
        scratch = Path(tempfile.mkdtemp())
        runpy.run_path(str(ROOT / "benchmarks/tables.py"))["make_runs"](scratch)
        scratch.rename(folder)
    read_table(folder)
    at = perf_counter()
    read_table(folder)
    seconds = perf_counter() - at
    profile = cProfile.Profile()
    profile.runcall(read_table, folder)
    spent: Counter[str] = Counter()
    for (file, _, name), own in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        spent[_kind(file, name)] += own[2]
    whole = sum(spent.values())
    return {"all": seconds, **{name: seconds * own / whole for name, own in spent.items()}}


def _kind(file: str, name: str) -> str:
    """Of a function: what it is for."""
    if any(word in name for word in ("open", "read", "close", "fstat", "scandir", "stat", "lseek")):
        return "opening, reading and closing files"
    if "json" in file or any(w in name for w in ("raw_decode", "scan_once", "loads", "scanner")):
        return "JSON"
    if "sha256" in name or "hash" in name or file.endswith("sealing.py"):
        return "digests of the files"
    return "rows and columns"


TINY = ["data.name=synth-linear", "data.n=64", "net.name=linear", "latent=2", "batch=16", "steps=2"]


def sweep(runs: int = 150) -> Seconds:
    """Seconds by run of a sweep with one worker, and what of it is waiting for the disk."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hook").mkdir()
        (folder / "spent").mkdir()
        (folder / "hook" / "sitecustomize.py").write_text(WAITING)
        fixed = ", ".join(setting.replace("=", ": ") for setting in TINY)
        grid = f"preset: beta-vae\nfixed: {{{fixed}}}\ngrid: {{seed: {list(range(runs))}}}\n"
        (folder / "sweep.yaml").write_text(grid)
        command = [sys.executable, "-m", "vaescope", "sweep", str(folder / "sweep.yaml"), "--out",
                   str(folder / "runs"), "--workers", "1", "--quiet"]  # fmt: skip
        here = {"PYTHONPATH": str(folder / "hook"), "WAITING": str(folder / "spent")}
        at = perf_counter()
        subprocess.run(command, check=True, env=os.environ | here, stdout=subprocess.DEVNULL)
        whole = (perf_counter() - at) / runs
        waited: Counter[str] = Counter()
        for file in (folder / "spent").iterdir():
            waited.update(json.loads(file.read_text()))
    found = {f"os.{name}": value / runs for name, value in waited.items()}
    return {"all": whole, **found, "everything else, starting and training too":
            whole - sum(found.values())}  # fmt: skip


def step() -> Seconds:
    """A training step of the 64 x 64 convolutions at batch 64, by operation."""
    from torch.profiler import ProfilerActivity, profile

    work = _training()
    advance, _ = work["vaescope"]("auto", 64)
    advance(40)
    at = perf_counter()
    advance(60)
    whole = (perf_counter() - at) / 60
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        advance(60)
    spent: Counter[str] = Counter()
    for event in watched.key_averages():
        spent[_operation(event.key)] += event.self_cpu_time_total / 60e6
    scale = whole / sum(spent.values())
    return {"all": whole, **{name: scale * own for name, own in spent.items()}}


def _operation(key: str) -> str:
    kinds = {
        "convolutions, backwards": ("convolution_backward",),
        "convolutions, forwards": ("convolution", "conv2d", "conv_transpose"),
        "products of matrices": ("addmm", "::mm", "linear", "matmul"),
        "casts and copies": ("copy_", "_to_copy", "::to", "contiguous", "clone"),
        "ReLU": ("relu", "threshold"),
        "Adam": ("adam", "Optimizer"),
        "the loss": ("binary_cross", "log_sigmoid", "softplus", "sum", "mean"),
        "bias": ("add_", "::add"),
    }
    for name, words in kinds.items():
        if any(word in key for word in words):
            return name
    return "everything else"


def _training() -> Mapping[str, Any]:
    return runpy.run_path(str(ROOT / "benchmarks/training.py"))


def bound() -> Seconds:
    """Microseconds per image of forward and backward pass alone, as we have it and otherwise; in
    turns, so that each meets the same machine. `matrix rate` is what half of the rate of a large
    product in bf16 would take for the same arithmetic."""
    import numpy as np
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from vaescope.allocator import keep_freed_memory
    from vaescope.build import build_data
    from vaescope.training.loop import fetch, new_state

    keep_freed_memory()
    work = _training()
    cpu = torch.device("cpu")

    def passes(batch: int, *, layout: Any = None, bias: bool = True, inplace: bool = False) -> Any:
        experiment = work["_experiment"](batch)
        vae = new_state(experiment, cpu).vae
        x = fetch(build_data(experiment.data), np.arange(batch), cpu).x
        if layout is not None:
            vae.to(memory_format=layout)  # type: ignore[call-overload]
            x = x.contiguous(memory_format=layout)
        for module in vae.modules():
            # Not of deconvolutions, which are our own and add theirs outside.
            if not bias and type(module) in (torch.nn.Conv2d, torch.nn.ConvTranspose2d):
                module.register_parameter("bias", None)
            if inplace and isinstance(module, torch.nn.ReLU):
                module.inplace = True

        def once() -> None:
            vae.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16):
                output = vae.decoder.body(vae.encoder(x).mean)
            output.sum().backward()

        return once, batch

    variants = {
        "as it is, batch 64": passes(64),
        "batch 128": passes(128),
        "batch 256": passes(256),
        "batch 512": passes(512),
        "channels last, batch 64": passes(64, layout=torch.channels_last),
        "torch's order, batch 64": passes(64, layout=torch.contiguous_format),
        "without biases, batch 64": passes(64, bias=False),
        "ReLU in place, batch 64": passes(64, inplace=True),
    }
    counter = FlopCounterMode(display=False)
    with counter:
        variants["as it is, batch 64"][0]()
    work_per_image = counter.get_total_flops() / 64
    found: dict[str, list[float]] = {name: [] for name in variants}
    a, b = (torch.randn(2048, 2048, dtype=torch.bfloat16) for _ in range(2))
    rates = []
    for turn in range(8):
        for name, (once, batch) in variants.items():
            times = max(1, 1024 // batch)
            at = perf_counter()
            for _ in range(times):
                once()
            if turn:
                found[name].append((perf_counter() - at) / (times * batch))
        at = perf_counter()
        for _ in range(4):
            a @ b
        rates.append(4 * 2 * 2048**3 / (perf_counter() - at))
    bounds = {name: median(values) for name, values in found.items()}
    return {
        "all": bounds["as it is, batch 64"],
        **bounds,
        "half of the matrix rate": work_per_image / (median(rates) / 2),
    }


def by_one(name: str, number: str) -> Seconds:
    """Seconds of a measure for each row or latent, by how many there are."""
    return dict(runpy.run_path(str(ROOT / "benchmarks/scaling.py"))["by_one"](name, number))


#: Part, what a row of it is, and in how many rounds (some make their own turns).
PARTS: Mapping[str, tuple[Callable[[], Seconds], str, int]] = {
    "inspect": (lambda: inspection("default"), "`vaescope inspect`, 10,000 images", 3),
    "fast": (lambda: inspection("fast"), "`vaescope inspect --effort fast`", ROUNDS),
    "first step": (first_step, "`vaescope train` until its first step, warm cache", ROUNDS),
    "table": (table, "`vaescope table` of 10,000 runs", ROUNDS),
    "sweep": (sweep, "one tiny run of `vaescope sweep --workers 1`", ROUNDS),
    "step": (step, "a training step, convolutions at 64 x 64, batch 64", ROUNDS),
    "types": (partial(by_one, "types", "latents"), "types of 100,000 codes, per latent", ROUNDS),
    "explicitness": (partial(by_one, "dci_explicitness", "rows"), "DCI explicitness, per row", 3),
    "bound": (bound, "forward and backward pass of an image, bf16", 3),
}


def measured(part: str) -> list[Seconds]:
    """Rounds of a part, each in a process of its own."""
    command = [sys.executable, __file__, "--one", part]
    elsewhere = runpy.run_path(str(ROOT / "benchmarks/speed.py"))["_elsewhere"]
    found = []
    for _ in range(PARTS[part][2]):
        before = elsewhere()
        done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
        after = elsewhere()
        others = max(0.0, (after[1] - before[1]) / (after[0] - before[0]))
        found.append({**json.loads(done.stdout.splitlines()[-1]), "others": others})
    return found


def section(part: str, rounds: list[Seconds]) -> list[str]:
    """One part of the page: its rows by share of the whole."""
    others = median(own.get("others", 0.0) for own in rounds)
    names = {name: None for own in rounds for name in own if name != "others"}
    mid = {name: median(own.get(name, 0.0) for own in rounds) for name in names}
    order = sorted((name for name in mid if name != "all"), key=lambda name: -mid[name])
    unit, factor = (
        ("µs", 1e6) if mid["all"] < 1e-3 else ("ms", 1e3) if mid["all"] < 1 else ("s", 1.0)
    )
    lines = [f"## {PARTS[part][1]}", ""]
    if others > BUSY:
        lines += [f"Others took {others:.1f} cores meanwhile: only shares and ratios say much.", ""]
    lines += [f"| part | {unit} | of the whole |", "|---|---|---|"]
    for name in ["all", *order]:
        values = [factor * own.get(name, 0.0) for own in rounds]
        if mid[name] < 0.005 * mid["all"]:
            continue
        lines.append(
            f"| {name} | {median(values):.3g} ({min(values):.3g} to {max(values):.3g}) "
            f"| {mid[name] / mid['all']:.0%} |"
        )
    return [*lines, ""]


def page(found: Mapping[str, list[Seconds]]) -> str:
    lines = [
        "# Where the time goes", "",
        "Made by `python benchmarks/profiles.py --write`: what the parts of [](speed.md) that miss",
        "their target are made of. Median (least to greatest) over rounds in processes of their",
        "own.", "",
    ]  # fmt: skip
    for part, rounds in found.items():
        lines += section(part, rounds)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--one", choices=list(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="make docs/results/profiles.md")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(PARTS[options.one][0]()))
        return
    kept = PAGE.with_suffix(".json")
    found = json.loads(kept.read_text()) if kept.exists() and options.write else {}
    for part in options.only:
        found[part] = measured(part)
        print("\n".join(section(part, found[part])), flush=True)
        if options.write:
            whole = {name: found[name] for name in PARTS if name in found}
            kept.write_text(json.dumps(whole) + "\n")
            PAGE.write_text(page(whole))


if __name__ == "__main__":
    main()
