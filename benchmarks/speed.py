"""What a person waits for, as ratios to fixed work: python benchmarks/speed.py [--rounds 7]
[--write] [--check] [--only start dci].

Each figure is taken in turns with its yardstick, work that no change of ours can touch, so that
their ratio says more than seconds do on a shared machine: importing torch for the start of
commands, scikit-learn's gradient boosting for DCI, a fixed pass of convolutions for `inspect`, a
plain loop for stacked seeds, a sort for a million codes.
`--write` keeps medians, least and greatest in docs/results/speed.json and makes speed.md of them,
part by part: what was measured before stays, and a run that is stopped loses one part only;
`--check` compares with what is kept and fails where a median ratio is above it by more than `BAND`.
"""

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
KEPT, PAGE = ROOT / "docs/results/speed.json", ROOT / "docs/results/speed.md"
#: Twice the 15% by which the same training varies from run to run on this kind of machine.
BAND = 0.3
#: Seconds that each is to take at most, on two cores that do nothing else.
TARGETS = {
    "import vaescope": 0.05, "vaescope --help": 0.3, "first step of train": 3.0,
    "inspect": 20.0, "inspect --effort fast": 5.0, "measure, a million codes": 60.0,
    "table of 10,000 runs": 1.0, "sweep, what a run adds": 0.02,
}  # fmt: skip
#: The same for ratios: a stacked model's step over one of the plain loop; exponents of growth.
RATIO_TARGETS = {
    "stacked 2-100-2": 1 / 20, "stacked 60-40-20": 1 / 20,
    "DCI by gradient boosting, three factors on all cores": 1 / 5,
}  # fmt: skip
GROWTH = 1.05
#: Of each target that is not met, the seconds or the ratio that is not to be missed.
FLOORS = {
    "inspect": 30.0, "first step of train": 5.0, "stacked 2-100-2": 1 / 14,
    "stacked 60-40-20": 1 / 14,
}  # fmt: skip

CONVOLUTIONS = """
import torch
x, w = torch.randn(256, 32, 32, 32), torch.randn(32, 32, 3, 3)
with torch.no_grad():
    for _ in range(60):
        torch.nn.functional.conv2d(x, w, padding=1)
"""


def seconds_of(*arguments: str) -> float:
    """Wall clock of one Python process from its start to its end."""
    start = perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return perf_counter() - start


def first_step() -> float:
    """From the command to the first record of a run that logs every step."""
    with tempfile.TemporaryDirectory() as folder:
        start = perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "vaescope", "train", "beta-vae", "steps=1", "logging.every=1",
             "--out", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while not any(path.stat().st_size for path in Path(folder).glob("*/history.jsonl")):
            if process.poll():
                raise RuntimeError(f"vaescope train ended with {process.returncode}")
            sleep(0.005)
        seconds = perf_counter() - start
        process.wait()
    return seconds


def start() -> Iterator[tuple[str, float, float]]:
    """(figure, seconds, seconds of importing torch)"""
    torch = seconds_of("-c", "import torch")
    bare = seconds_of("-c", "pass")
    yield "import vaescope", max(0.0, seconds_of("-c", "import vaescope") - bare), torch
    yield "vaescope --help", seconds_of("-m", "vaescope", "--help"), torch
    yield "first step of train", first_step(), torch


def _sklearn(x: Any, y: Any, x_test: Any, seed: int) -> None:
    """A factor by the classifier that most published scores are of."""
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(random_state=seed).fit(x, y)
    model.predict(x), model.predict(x_test)


def dci() -> Iterator[tuple[str, float, float]]:
    """Processor seconds of one factor by our engines, against scikit-learn's classifier; then wall
    clock of three factors on all cores, ours and scikit-learn's, one process for a core."""
    from vaescope.metrics.engines import first_order, gradient_boosting, learn

    stream = np.random.default_rng(0)
    factors = stream.integers(0, (6, 8, 4), (4000, 3))
    y = factors[:, 0]
    x = stream.normal(size=(4000, 10))
    x[:, :3] += factors

    seconds = []
    for engine in (first_order, gradient_boosting, _sklearn):
        at = process_time()
        engine(x[:3000], y[:3000], x[3000:], 0)
        seconds.append(process_time() - at)
    yield "DCI, a factor of six classes", seconds[0], seconds[2]
    yield "DCI by gradient boosting, a factor of six classes", seconds[1], seconds[2]
    at = perf_counter()
    learn("gradient-boosting", x[:3000], factors[:3000], x[3000:], factors[3000:], seed=0)
    ours = perf_counter() - at
    tasks = [(x[:3000], factors[:3000, k], x[3000:], 0) for k in range(3)]
    with get_context("fork").Pool(os.cpu_count()) as pool:  # forked: nothing is imported again
        at = perf_counter()
        pool.starmap(_sklearn, tasks, chunksize=1)
        theirs = perf_counter() - at
    yield "DCI by gradient boosting, three factors on all cores", ours, theirs


def dissection(effort: str, figure: str) -> Iterator[tuple[str, float, float]]:
    """The whole of inspect with its report, without imports; against convolutions."""
    script = ROOT / "benchmarks/inspect.py"
    fixed = seconds_of("-c", CONVOLUTIONS)
    ran = subprocess.run(
        [sys.executable, str(script), "--json", "--effort", effort], check=True, text=True,
        capture_output=True,
    )  # fmt: skip
    found = json.loads(ran.stdout)
    yield figure, found["seconds"]["total"], fixed
    yield f"memory of {figure}, GB", found["gigabytes"], 1.5


def stacked(rounds: int) -> Iterator[tuple[str, float, float]]:
    """Seconds of a step of one of fifty stacked seeds, against the plain loop; in turns by
    themselves."""
    script = ROOT / "benchmarks/many.py"
    ran = subprocess.run(
        [sys.executable, str(script), "--json", "--only", "stacked", "--rounds", str(rounds)],
        check=True, text=True, capture_output=True,
    )  # fmt: skip
    found = json.loads(ran.stdout)
    for net in ("2-100-2", "60-40-20"):
        step = 1.0 / found[f"steps_per_second_stacked_{net}"]
        for ratio in found["each"][f"stacked_over_sequential_{net}"]:
            yield f"stacked {net}", step, step * ratio


MILLION = """
import resource, sys
from time import perf_counter
import numpy as np
from vaescope.codes import Codes
from vaescope.measures import measure_codes
from vaescope.metrics.suite import METRICS
n, rng = 1_000_000, np.random.default_rng(0)
factors = np.stack([rng.integers(0, size, n) for size in (3, 6, 40, 32, 32)], axis=1)
variance = np.tile(np.repeat([0.01, 1.0], 5), (n, 1)).astype(np.float32)
mean = rng.standard_normal((n, 10), dtype=np.float32) * np.sqrt(1.001 - variance)
mean[:, :5] += factors / factors.max(axis=0)
sample = mean + np.sqrt(variance) * rng.standard_normal((n, 10), dtype=np.float32)
names = ("shape", "scale", "orientation", "x", "y")
codes = Codes(mean, variance, sample, factors=factors, factor_names=names)
start = perf_counter()
np.sort(mean.ravel())
fixed = perf_counter() - start
start = perf_counter()
measure_codes(codes, metrics=[name for name in METRICS if not name.startswith("dci")])
print(perf_counter() - start, fixed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2)
"""


def million() -> Iterator[tuple[str, float, float]]:
    """All measures but DCI, of means and samples; the memory against 2 GB."""
    command = [sys.executable, "-c", MILLION]
    ran = subprocess.run(command, check=True, text=True, capture_output=True)
    seconds, fixed, gigabytes = map(float, ran.stdout.split())
    yield "measure, a million codes", seconds, fixed
    yield "memory of a million codes, GB", gigabytes, 2.0


def table() -> Iterator[tuple[str, float, float]]:
    """Reading 10,000 finished runs as one table, against parsing their records alone."""
    from vaescope.tables import read_table

    folder = Path(tempfile.gettempdir()) / "vaescope-benchmark-runs"
    if not folder.exists():
        scratch = Path(tempfile.mkdtemp())
        runpy.run_path(str(ROOT / "benchmarks/tables.py"))["make_runs"](scratch)
        scratch.rename(folder)
    at = perf_counter()
    for path in folder.glob("*/history.jsonl"):
        json.loads(path.read_bytes().splitlines()[-1])
    fixed = perf_counter() - at
    at = perf_counter()
    rows = read_table(folder)
    seconds = perf_counter() - at
    assert len(rows) == 10_000
    yield "table of 10,000 runs", seconds, fixed


TINY = ["data.name=synth-linear", "data.n=64", "net.name=linear", "latent=2", "batch=16", "steps=2"]


def sweep(few: int = 40, many: int = 240) -> Iterator[tuple[str, float, float]]:
    """Seconds that a run of a sweep by one worker takes beyond its training, from the difference
    between a longer and a shorter sweep; against that training."""
    import torch

    from vaescope.build import build_data
    from vaescope.settings import from_command_line
    from vaescope.training.loop import new_state, steps

    torch.set_num_threads(1)
    taken = []
    for runs in (few, many):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "sweep.yaml"
            fixed = ", ".join(setting.replace("=", ": ") for setting in TINY)
            seeds = list(range(runs))
            file.write_text(f"preset: beta-vae\nfixed: {{{fixed}}}\ngrid: {{seed: {seeds}}}\n")
            out = str(Path(folder) / "runs")
            options = ["--out", out, "--workers", "1", "--quiet"]
            taken.append(seconds_of("-m", "vaescope", "sweep", str(file), *options))
    own = from_command_line("beta-vae", TINY)
    data = build_data(own.data)
    at = perf_counter()
    for _ in range(many - few):
        list(steps(new_state(own, torch.device("cpu")), own, data, "fp32"))
    training = (perf_counter() - at) / (many - few)
    added = (taken[1] - taken[0]) / (many - few) - training
    yield "sweep, what a run adds", added, training


def growth() -> Iterator[tuple[str, float, float]]:
    """Exponents of processor time in rows, from 30,000 to a million, and of each metric in rows,
    latents and factors; each against the power that is stated for it."""
    command = [sys.executable, str(ROOT / "benchmarks/scaling.py"), "--json"]
    found = json.loads(subprocess.run(command, check=True, text=True, capture_output=True).stdout)
    for name, exponents in found["exponents"].items():
        yield from ((f"growth in rows: {name}", exponent, 1.0) for exponent in exponents)
    for name, own in found["growth"].items():
        for number in ("rows", "latents", "factors"):
            if number in own:
                stated = float(own["stated"]) if number == "latents" else 1.0
                figure = f"growth in {number}: {name}" + (", squared" if stated > 1.0 else "")
                yield from ((figure, exponent, 1.0) for exponent in own[number]["exponents"])


#: Each gives (figure, seconds, seconds of the fixed work) once a round.
PARTS: dict[str, Callable[[], Iterator[tuple[str, float, float]]]] = {
    "start": start,
    "dci": dci,
    "fast": lambda: dissection("fast", "inspect --effort fast"),
    "inspect": lambda: dissection("default", "inspect"),
    "million": million,
    "table": table,
    "sweep": sweep,
}
#: These make their rounds by themselves.
IN_TURNS: dict[str, Callable[[int], Iterator[tuple[str, float, float]]]] = {
    "stacked": stacked,
    "growth": lambda _: growth(),
}


def measure(part: str, rounds: int) -> dict[str, dict[str, Any]]:
    """Of each figure: seconds and ratios, each as (median, least, greatest)."""
    found: dict[str, list[tuple[float, float]]] = {}
    before = _elsewhere()
    turns = [IN_TURNS[part](rounds)] if part in IN_TURNS else [PARTS[part]() for _ in range(rounds)]
    for turn in turns:
        for figure, seconds, fixed in turn:
            found.setdefault(figure, []).append((seconds, seconds / fixed))
    after = _elsewhere()
    shared = (after[1] - before[1]) / (after[0] - before[0])
    return {
        figure: {
            "seconds": _spread([s for s, _ in pairs]), "ratio": _spread([r for _, r in pairs]),
            "rounds": rounds, "others": round(max(0.0, shared), 2),
        }
        for figure, pairs in found.items()
    }  # fmt: skip


def _elsewhere() -> tuple[float, float]:
    """Seconds of the clock and processor seconds of all processes but this one and its children.
    The load average still counts what was stopped a minute ago."""
    ticks = [int(value) for value in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:4]]
    own = sum(os.times()[:4])
    return perf_counter(), sum(ticks) / os.sysconf("SC_CLK_TCK") - own


def _spread(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in (median(values), min(values), max(values))]


def page(figures: dict[str, dict[str, Any]]) -> str:
    """The figures as docs/results/speed.md."""
    lines = [
        "# Speed", "",
        "Made by `python benchmarks/speed.py --write`; `make bench-check` measures again and fails",
        f"where a ratio is more than {BAND:.0%} above the one here. Ratios are to fixed work timed",
        "in turns with ours: importing torch, scikit-learn's gradient boosting (processor",
        "time), sixty convolutions, a plain loop, a sort; of memory, to 1.5 GB, or 2 GB for a",
        "million codes. Median (least to greatest). `others` is how many of the machine's two",
        "cores other processes took meanwhile: seconds mean little if that is much.", "",
        "| what | ratio | seconds, or GB | target | rounds | others |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for figure, own in figures.items():
        ratio, seconds = ("{:.3g} ({:.3g} to {:.3g})".format(*own[k]) for k in ("ratio", "seconds"))
        if own["seconds"][0] < 0.001 or figure.startswith("growth"):
            seconds = ""  # below what is kept; an exponent
        others = own["others"] if "others" in own else f"load {own['load']}"
        lines.append(
            f"| {figure} | {ratio} | {seconds} | {_target(figure, own)} | {own['rounds']} "
            f"| {others} |"
        )
    return "\n".join(lines) + "\n"


def _target(figure: str, own: dict[str, Any]) -> str:
    """What was wanted and whether the median is there, or at least at the floor."""
    if figure in TARGETS:
        value, wanted, unit = own["seconds"][0], TARGETS[figure], " s"
    else:
        wanted = _stated(figure) if figure.startswith("growth") else RATIO_TARGETS.get(figure, 0.0)
        wanted = 1.0 if figure.startswith("memory") else wanted
        value, unit = own["ratio"][0], " (ratio)"
    if not wanted:
        return ""
    says = "met" if value <= wanted else "missed"
    if says == "missed" and figure in FLOORS:
        reached = "reached" if value <= FLOORS[figure] else "missed"
        says = f"missed; floor {FLOORS[figure]:.3g}{unit} {reached}"
    return f"{wanted:.3g}{unit}: {says}"


def _stated(figure: str) -> float:
    """The most that the exponent of a growth is to be: a power, and a twentieth for what is
    measured."""
    return GROWTH + 1.0 if figure.endswith(", squared") else GROWTH


def slower(found: dict[str, dict[str, Any]], kept: dict[str, dict[str, Any]]) -> list[str]:
    """A sentence for each figure whose ratio has grown beyond the band."""
    return [
        f"{figure}: ratio {found[figure]['ratio'][0]:.3g}, was {own['ratio'][0]:.3g}"
        for figure, own in kept.items()
        if figure in found and found[figure]["ratio"][0] > (1.0 + BAND) * own["ratio"][0]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    every = [*PARTS, *IN_TURNS]
    parser.add_argument("--only", nargs="+", choices=every, default=every)
    parser.add_argument("--write", action="store_true", help="keep the figures and make the page")
    parser.add_argument("--check", action="store_true", help="fail where a ratio has grown")
    options = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if options.check and not kept:
        sys.exit(f"There is nothing to compare with in {KEPT}; run this with --write first.")
    found: dict[str, dict[str, Any]] = {}
    for part in options.only:
        found |= measure(part, options.rounds)
        if options.write:
            whole = kept | found
            KEPT.write_text(json.dumps(whole, indent=1) + "\n")
            PAGE.write_text(page(whole))
    print(page(found))
    if options.check and (worse := slower(found, kept)):
        sys.exit("slower than what is kept:\n" + "\n".join(worse))


if __name__ == "__main__":
    main()
