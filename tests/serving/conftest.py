"""A folder of made-up and of trained runs, and one server over it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.serve import make_run, spec_of
from starlette.testclient import TestClient

import vaescope as vs
from vaescope.serving.app import create_app
from vaescope.serving.site import Options, Site

HOST = "127.0.0.1:8765"
ORIGIN = {"Origin": f"http://{HOST}"}
EVIL = '"><img src=x onerror=alert(1)>'


def fill(folder: Path) -> Path:
    """Two strengths with three seeds each, a failed run, an unfinished one and a hostile name."""
    rng = np.random.default_rng(0)
    for beta in (1.0, 4.0):
        for seed in range(3):
            scores = {"mig": 0.1 * beta + 0.01 * seed}
            make_run(folder / f"beta-vae-s{seed}-b{beta:g}", spec_of(beta, seed), rng, records=3,
                     scores=scores)  # fmt: skip
    failed = folder / "beta-vae-s3-failed"
    make_run(failed, spec_of(1.0, 3), rng, records=1, done=False)
    failure = {"type": "DataError", "message": "The file is truncated.", "remedy": "Get it again."}
    (failed / "failed.json").write_text(json.dumps(failure))
    make_run(folder / EVIL.replace("/", "_"), spec_of(9.0, 0), rng, records=1, done=False)
    return folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("served") / "runs")


@pytest.fixture(scope="session")
def site_client(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Site, TestClient]]:
    app = create_app(Options(folder, cache=tmp_path_factory.mktemp("cache")))
    with TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False) as client:
        yield app._app.state.site, client


@pytest.fixture(scope="session")
def client(site_client: tuple[Site, TestClient]) -> TestClient:
    return site_client[1]


@dataclass(frozen=True)
class Server:
    """A real server in a process of its own."""

    url: str
    folder: Path
    trained: tuple[str, ...]  # names of runs with weights


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = fill(tmp_path_factory.mktemp("live") / "runs")
    grid = {"shape": [1], "orientation": [0], "scale": [0, 5], "x": [0, 8, 16, 24], "y": [16]}
    runs = [
        vs.train("demo", out=folder, steps=2, every=1, seed=seed, **{"data.grid": grid})
        for seed in (0, 1)
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")}
    command = [sys.executable, "-m", "vaescope", "serve", str(folder), "--port", "0", "--json"]
    process: Any = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    try:
        url = json.loads(process.stdout.readline())["url"].rstrip("/")
        yield Server(url, folder, tuple(run.path.name for run in runs))
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
