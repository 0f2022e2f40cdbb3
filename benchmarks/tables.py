"""Ten thousand run folders as a table and as a page: python benchmarks/tables.py [--json].

The folders are made up, with the files that a sweep leaves behind. `render_seconds` is the time
from opening the page until all its figures are drawn in Chromium; None where there is no Chromium.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from vaescope.report.sweep_page import save_sweep
from vaescope.specs import to_dict
from vaescope.sweeps import plan, product
from vaescope.tables import read_table, save_table

SEEDS, STRENGTHS = 50, 200
CHROMIUM = Path("/usr/bin/chromium")
SCORES = ("mig", "sap", "dci_disentanglement", "modularity", "factor_vae", "irs")


@dataclass(frozen=True)
class Figures:
    """Medians, with the amount of data they were measured on."""

    runs: int
    columns: int
    table_seconds: float
    csv_seconds: float
    page_seconds: float
    page_megabytes: float
    render_seconds: float | None


def make_runs(folder: Path) -> None:
    """Run folders as a sweep of one objective leaves them: thirty records and six scores each."""
    strengths = np.geomspace(0.01, 100.0, STRENGTHS).tolist()
    found = plan(
        product({"objective.beta": strengths, "seed": range(SEEDS)}), preset_name="beta-vae"
    )
    rng = np.random.default_rng(0)
    for name, spec in zip(found.names, found, strict=True):
        run = folder / name
        run.mkdir()
        (run / "spec.json").write_text(json.dumps(to_dict(spec), indent=1))
        rows = []
        for step, (loss, distortion, rate) in enumerate(rng.random((30, 3)).tolist(), 1):
            record = {"step": 100 * step, "loss": loss, "distortion": distortion, "rate": rate}
            counts = {"active": int(rng.integers(11)), "mixed": 0, "passive": 0}
            rows.append({**record, **counts, "variance": rng.random(10).tolist()})
        (run / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        scores = {s: {"value": v} for s, v in zip(SCORES, rng.random(6).tolist(), strict=True)}
        (run / "scores.json").write_text(json.dumps({"mean": scores}))
        (run / "done.json").write_text("{}\n")


def timed(action: Callable[[], object], rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        start = perf_counter()
        action()
        seconds.append(perf_counter() - start)
    return median(seconds)


def rendering(page: Path, rounds: int) -> float | None:
    """Seconds until Chromium has drawn the page."""
    if find_spec("playwright") is None or not CHROMIUM.exists():
        return None
    from playwright.sync_api import sync_playwright

    seconds = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        for _ in range(rounds):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.goto(page.as_uri())
            for mark in ("html[data-explored]", "html[data-drawn]"):
                tab.wait_for_selector(mark, timeout=60_000)
            seconds.append(float(tab.evaluate("performance.now()")) / 1000)
            tab.close()
        browser.close()
    return median(seconds)


def measure(rounds: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder, page = Path(name) / "runs", Path(name) / "sweep.html"
        folder.mkdir()
        make_runs(folder)
        table = read_table(folder)
        return Figures(
            runs=len(table),
            columns=len(table.columns),
            table_seconds=timed(lambda: read_table(folder), rounds),
            csv_seconds=timed(lambda: save_table(table, Path(name) / "t.csv"), rounds),
            page_seconds=timed(lambda: save_sweep(table, page, folder=folder), rounds),
            page_megabytes=page.stat().st_size / 1e6,
            render_seconds=rendering(page, rounds),
        )


def main() -> None:
    """Print the figures as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=7, help="quote no figures of fewer than 7")
    options = parser.parse_args()
    figures = measure(options.rounds)
    if options.json:
        print(json.dumps(asdict(figures)))
        return
    for key, value in asdict(figures).items():
        print(f"{key:<16} {value if value is None or isinstance(value, int) else round(value, 3)}")


if __name__ == "__main__":
    main()
