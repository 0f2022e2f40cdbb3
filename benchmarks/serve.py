"""`vaescope serve` over many runs: python benchmarks/serve.py [--json] [--folders D] [--out PAGE].

Folders are made up, as a sweep of one objective leaves them; fewer runs lie in a folder within that
of more. `--folders` keeps them for the next time. Cold is without the cache, warm with it; both are
the time from nothing in memory to the first table, without the import of Python's modules, which
`import_seconds` has. Clients ask for pages of the table over real connections.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np

from vaescope.sealing import seal_document, sha256_of

COUNTS = (100, 10_000, 20_000, 50_000)
SEEDS, CLIENTS, REQUESTS, ROUNDS = 5, 32, 1_600, 3
#: Runs below which the exponent takes no number: there the fixed cost of a page is most of it.
LEAST = 1_000
SCORES = ("mig", "sap", "dci_disentanglement", "modularity", "factor_vae", "irs")


@dataclass(frozen=True)
class Rounds:
    """One quantity, measured several times."""

    median: float
    least: float
    greatest: float

    def text(self, digits: int) -> str:
        return f"{self.median:.{digits}f} ({self.least:.{digits}f} to {self.greatest:.{digits}f})"


def rounds_of(values: Sequence[float]) -> Rounds:
    """The median of some values with their ends."""
    return Rounds(float(np.median(values)), min(values), max(values))


@dataclass(frozen=True)
class Figures:
    """Seconds by number of runs, megabytes, and the answers to 32 clients."""

    cold_seconds: Mapping[int, Rounds]
    warm_seconds: Mapping[int, Rounds]
    cold_processor_seconds: Mapping[int, Rounds]  # of the same: others on the machine matter less
    warm_processor_seconds: Mapping[int, Rounds]
    rescan_seconds: Mapping[int, Rounds]
    megabytes: Mapping[int, float]  # the most
    import_seconds: float
    warm_exponent: float  # least squares of log warm time on log runs, from `LEAST` runs on
    runs_of_clients: int
    requests_per_second: Rounds
    p50_milliseconds: Rounds
    p99_milliseconds: Rounds


def spec_of(beta: float, seed: int) -> dict[str, Any]:
    """The settings of a beta-VAE."""
    from vaescope.specs import to_dict
    from vaescope.sweeps import plan, product

    made = plan(product({"objective.beta": [1.0], "seed": [0]}), preset_name="beta-vae")
    content = to_dict(made[0])
    content["objective"]["beta"] = beta
    return {**content, "seed": seed}


def history_of(rng: np.random.Generator, records: int) -> bytes:
    """Rows of a training."""
    rows = []
    for step, (loss, distortion, rate) in enumerate(rng.random((records, 3)).tolist(), 1):
        active = int(10 * rate)
        counts = {"active": active, "mixed": 0, "passive": 10 - active}
        record = {"step": 100 * step, "loss": loss, "distortion": distortion, "rate": rate}
        rows.append({**record, **counts, "variance": rng.random(10).tolist()})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def make_run(
    run: Path,
    spec: Mapping[str, Any],
    rng: np.random.Generator,
    *,
    records: int = 30,
    done: bool = True,
    scores: Mapping[str, float] | None = None,
    history: bytes | None = None,
) -> None:
    """A run folder without weights that could be loaded."""
    run.mkdir(parents=True)
    content = json.dumps(spec, indent=1).encode()
    history = history_of(rng, records) if history is None else history
    (run / "spec.json").write_bytes(content)
    (run / "history.jsonl").write_bytes(history)
    values = dict(zip(SCORES, rng.random(6).tolist(), strict=True)) if scores is None else scores
    (run / "scores.json").write_text(
        json.dumps({"mean": {k: {"value": values[k]} for k in values}})
    )
    if done:
        seals = {"spec.json": sha256_of(content), "history.jsonl": sha256_of(history)}
        facts = {"format": 1, "digest": "0" * 64, "steps": 100 * records, "files": seals}
        (run / "done.json").write_text(json.dumps(seal_document(facts)))
        (run / "weights.safetensors").touch()


def make_runs(folder: Path, counts: Sequence[int]) -> dict[int, Path]:
    """Seeds of many strengths: folders by the number of runs below them. What is there stays."""
    spec, places, made = spec_of(1.0, 0), {}, 0
    rng = np.random.default_rng(0)
    histories = [history_of(rng, 30) for _ in range(199)]
    for depth, count in enumerate(sorted(counts)):
        # The largest number has the outermost folder.
        inner = folder.joinpath(
            *(f"of-{n}" for n in sorted(counts, reverse=True)[: len(counts) - depth])
        )
        places[count] = inner
        for place in range(made, count):
            strength, seed = divmod(place, SEEDS)
            run = inner / f"beta-vae-s{seed}-{place:08x}"
            if not run.exists():
                beta = 0.01 * 1.002**strength
                own = {**spec, "objective": {**spec["objective"], "beta": beta}, "seed": seed}
                make_run(run, own, rng, history=histories[place % 199])
        made = count
    return places


def first_table(folder: Path, cache: Path) -> dict[str, float]:
    """Seconds to the first table and to a second scan, and megabytes, in a process of its own."""
    out = subprocess.run(
        [sys.executable, __file__, "--one", str(folder), str(cache)],
        check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    ).stdout  # fmt: skip
    found: dict[str, float] = json.loads(out)
    return found


def one(folder: Path, cache: Path) -> None:
    """What `first_table` starts."""
    begun = time.perf_counter()
    from starlette.testclient import TestClient

    from vaescope.serving.app import create_app
    from vaescope.serving.site import Options

    imported, used = time.perf_counter(), time.process_time()
    app = create_app(Options(folder, cache=cache))
    client = TestClient(app, base_url="http://127.0.0.1")
    assert client.get("/").status_code == 200
    shown, used = time.perf_counter(), time.process_time() - used
    site: Any = app._app.state.site
    site.index._scan()
    scanned = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"import": imported - begun, "table": shown - imported, "processor": used,
                      "rescan": scanned - shown, "megabytes": peak}), flush=True)  # fmt: skip
    os._exit(0)


def answers(folder: Path, cache: Path) -> list[float]:
    """Seconds of each of many answers to clients at once, and of all together at the end."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-m", "vaescope", "serve", str(folder), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        port = int(json.loads(server.stdout.readline())["url"].rstrip("/").rpartition(":")[2])
        _get(HTTPConnection("127.0.0.1", port, timeout=60), "/")
        times: list[list[float]] = [[] for _ in range(CLIENTS)]
        clients = [threading.Thread(target=_ask, args=(port, place, times[place]))
                   for place in range(CLIENTS)]  # fmt: skip
        begun = time.perf_counter()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        whole = time.perf_counter() - begun
        server.terminate()
    return [*(t for each in times for t in each), whole]


def _get(connection: HTTPConnection, address: str) -> None:
    connection.request("GET", address)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200


def _ask(port: int, place: int, times: list[float]) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(REQUESTS // CLIENTS):
        begun = time.perf_counter()
        _get(connection, f"/?sort=-rate&page={1 + (place + number) % 20}")
        times.append(time.perf_counter() - begun)


def measure(counts: Sequence[int], folders: Path) -> Figures:
    """All figures; the folders are made first."""
    places = make_runs(folders / "runs", counts)
    clients = min((n for n in counts if n >= 10_000), default=max(counts))
    cold: dict[int, list[dict[str, float]]] = {}
    warm: dict[int, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        for count in counts:
            caches = [Path(name) / f"cache-{count}-{place}" for place in range(ROUNDS)]
            cold[count] = [first_table(places[count], cache) for cache in caches]
            warm[count] = [first_table(places[count], caches[0]) for _ in range(ROUNDS)]
        # A server of its own for each round, so that no page was made before.
        answered = [
            answers(places[clients], Path(name) / f"clients-{place}") for place in range(ROUNDS)
        ]

    def of(found: Mapping[int, Sequence[Mapping[str, float]]], key: str) -> dict[int, Rounds]:
        return {count: rounds_of([each[key] for each in found[count]]) for count in counts}

    seconds = of(warm, "table")
    every = [each for found in (cold, warm) for each in found.values()]
    return Figures(
        of(cold, "table"), seconds, of(cold, "processor"), of(warm, "processor"),
        of(warm, "rescan"),
        {n: max(each["megabytes"] for each in (*cold[n], *warm[n])) for n in counts},
        float(np.median([one["import"] for each in every for one in each])),
        exponent_of({count: found.median for count, found in seconds.items()}), clients,
        rounds_of([(len(times) - 1) / times[-1] for times in answered]),
        rounds_of([1000 * float(np.median(times[:-1])) for times in answered]),
        rounds_of([1000 * float(np.quantile(times[:-1], 0.99)) for times in answered]),
    )  # fmt: skip


def exponent_of(seconds: Mapping[int, float]) -> float:
    """The slope of log seconds on log runs, where there are many runs; NaN for a single number."""
    counts = [n for n in seconds if n >= LEAST]
    counts = counts if len(counts) > 1 else list(seconds)
    if len(counts) < 2:
        return float("nan")
    return float(np.polyfit(np.log(counts), np.log([seconds[n] for n in counts]), 1)[0])


def page_of(figures: Figures, command: str) -> str:
    """The page of results."""
    many = [n for n in figures.warm_seconds if n >= LEAST]
    rows = [
        f"| {n:,} | {figures.cold_seconds[n].text(2)} | {figures.warm_seconds[n].text(2)} | "
        f"{figures.cold_processor_seconds[n].median:.2f} | "
        f"{figures.warm_processor_seconds[n].median:.2f} | "
        f"{figures.rescan_seconds[n].median:.2f} | {figures.megabytes[n]:.0f} |"
        for n in figures.warm_seconds
    ]
    between = " to ".join(f"{n:,}" for n in (many[0], many[-1])) if many else "all"
    return "\n".join([
        "# `vaescope serve` over many runs", "",
        f"`{command}` on {os.cpu_count()} cores. Made-up runs of 30 records, five seeds of each "
        "setting. Seconds to the first table, without and with the cache, and of a later look at "
        f"all folders: the median of {ROUNDS} rounds, with the least and the greatest in "
        "parentheses. The files were in the machine's memory. Asked for: 10,000 runs cold within "
        "5 s, warm within 1 s; 50,000 warm within 3 s; 500 MB.", "",
        "| runs | cold, s | warm, s | cold, processor s | warm, processor s | later look, s | "
        "memory, MB |",
        "|---|---|---|---|---|---|---|", *rows,
        "",
        f"Python's modules take {figures.import_seconds:.2f} s before that. Warm time grows as the "
        f"number of runs to the power {figures.warm_exponent:.2f} ({between}; 1.1 asked for).", "",
        f"{CLIENTS} clients that ask for {REQUESTS:,} pages of a table of "
        f"{figures.runs_of_clients:,} runs, twenty different ones, none of which was made before: "
        f"{figures.requests_per_second.text(0)} requests a second, median "
        f"{figures.p50_milliseconds.text(0)} ms, 99% within {figures.p99_milliseconds.text(0)} ms "
        "(250 asked for).", "",
    ])  # fmt: skip


def main() -> None:
    """Print the figures as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--counts", type=int, nargs="+", default=list(COUNTS))
    parser.add_argument("--folders", type=Path, help="keep the made-up runs here")
    parser.add_argument("--out", type=Path, help="write a page of results")
    parser.add_argument("--make", action="store_true", help="make the runs and stop")
    parser.add_argument("--one", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(*options.one)
    with tempfile.TemporaryDirectory() as name:
        folders = Path(name) if options.folders is None else options.folders
        if options.make:
            make_runs(folders / "runs", options.counts)
            return
        figures = measure(options.counts, folders)
    if options.out is not None:
        options.out.write_text(page_of(figures, "python benchmarks/serve.py"))
    if options.json:
        print(json.dumps(asdict(figures)))
        return
    for key, value in asdict(figures).items():
        print(f"{key:<20} {value}")


if __name__ == "__main__":
    main()
