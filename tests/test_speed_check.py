"""`make bench-check` fails where a ratio has grown beyond its band, and only there."""

import runpy
from pathlib import Path

SPEED = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "speed.py"))


def test_what_is_slower_than_the_band_allows_is_named() -> None:
    kept = {name: {"ratio": [2.0, 1.9, 2.1]} for name in ("train", "inspect", "gone")}
    most = 2.0 * (1.0 + SPEED["BAND"])
    found = {"train": {"ratio": [most + 0.01, 2, 3]}, "inspect": {"ratio": [most - 0.01, 2, 3]}}
    (sentence,) = SPEED["slower"](found, kept)
    assert sentence.startswith("train: ratio ")
