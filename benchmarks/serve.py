"""`vaescope serve` over many runs: python benchmarks/serve.py [--json].

Folders are made up, as a sweep of one objective leaves them. Cold is without the cache, warm with
it; both are the time from nothing in memory to the first table, without the import of Python's
modules, which `import_seconds` has. Clients ask for pages of the table over real connections.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
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

COUNTS = (100, 10_000, 50_000)
SEEDS, CLIENTS, REQUESTS = 5, 32, 1_600
SCORES = ("mig", "sap", "dci_disentanglement", "modularity", "factor_vae", "irs")


@dataclass(frozen=True)
class Figures:
    """Seconds by number of runs, megabytes, and the answers to clients at 10,000 runs."""

    cold_seconds: Mapping[int, float]
    warm_seconds: Mapping[int, float]
    rescan_seconds: Mapping[int, float]
    megabytes: Mapping[int, float]
    import_seconds: float
    warm_exponent: float  # of warm time against runs, from 10,000 to 50,000
    requests_per_second: float
    p50_milliseconds: float
    p99_milliseconds: float


def spec_of(beta: float, seed: int) -> dict[str, Any]:
    """The settings of a beta-VAE."""
    from vaescope.specs import to_dict
    from vaescope.sweeps import plan, product

    made = plan(product({"objective.beta": [1.0], "seed": [0]}), preset_name="beta-vae")
    content = to_dict(made[0])
    content["objective"]["beta"] = beta
    return {**content, "seed": seed}


def make_run(
    run: Path,
    spec: Mapping[str, Any],
    rng: np.random.Generator,
    *,
    records: int = 30,
    done: bool = True,
    scores: Mapping[str, float] | None = None,
) -> None:
    """A run folder without weights that could be loaded."""
    run.mkdir(parents=True)
    content = json.dumps(spec, indent=1).encode()
    rows = []
    for step, (loss, distortion, rate) in enumerate(rng.random((records, 3)).tolist(), 1):
        active = int(10 * rate)
        counts = {"active": active, "mixed": 0, "passive": 10 - active}
        record = {"step": 100 * step, "loss": loss, "distortion": distortion, "rate": rate}
        rows.append({**record, **counts, "variance": rng.random(10).tolist()})
    history = "".join(json.dumps(row) + "\n" for row in rows).encode()
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


def make_runs(folder: Path, count: int) -> None:
    """Seeds of many strengths."""
    rng = np.random.default_rng(0)
    spec = spec_of(1.0, 0)
    for place in range(count):
        strength, seed = divmod(place, SEEDS)
        own = {**spec, "objective": {**spec["objective"], "beta": 0.01 * 1.002**strength}}
        digest = hashlib.sha256(str(place).encode()).hexdigest()[:8]
        make_run(folder / f"beta-vae-s{seed}-{digest}", {**own, "seed": seed}, rng)


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

    imported = time.perf_counter()
    app = create_app(Options(folder, cache=cache))
    client = TestClient(app, base_url="http://127.0.0.1")
    assert client.get("/").status_code == 200
    shown = time.perf_counter()
    site: Any = app._app.state.site
    site.index._scan()
    scanned = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"import": imported - begun, "table": shown - imported,
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


def measure(counts: Sequence[int]) -> Figures:
    """All figures; folders are made once for each number of runs."""
    cold, warm, rescan, memory = {}, {}, {}, {}
    seconds: list[float] = []
    imports = 0.0
    with tempfile.TemporaryDirectory() as name:
        for count in counts:
            folder, cache = Path(name) / f"runs-{count}", Path(name) / f"cache-{count}"
            make_runs(folder, count)
            cold[count] = first_table(folder, cache)["table"]
            rounds = [first_table(folder, cache) for _ in range(3)]
            best = min(rounds, key=lambda found: found["table"])
            warm[count], rescan[count] = best["table"], best["rescan"]
            memory[count], imports = max(r["megabytes"] for r in rounds), best["import"]
            if count == counts[min(1, len(counts) - 1)]:
                seconds = answers(folder, cache)
            shutil.rmtree(folder)
    *each, whole = seconds
    few, many = counts[min(1, len(counts) - 1)], counts[-1]
    grown = np.log(warm[many] / warm[few]) / np.log(many / few) if many > few else float("nan")
    return Figures(
        cold, warm, rescan, memory, imports, float(grown), len(each) / whole,
        1000 * float(np.median(each)), 1000 * float(np.quantile(each, 0.99)),
    )  # fmt: skip


def main() -> None:
    """Print the figures as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--counts", type=int, nargs="+", default=list(COUNTS))
    parser.add_argument("--one", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(*options.one)
    figures = asdict(measure(options.counts))
    if options.json:
        print(json.dumps(figures))
        return
    for key, value in figures.items():
        print(f"{key:<20} {value}")


if __name__ == "__main__":
    main()
