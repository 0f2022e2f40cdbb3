"""Pairs say the axes of rotated normal sources, single observations do not (scripts/pairs.py)."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "pairs.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pairs_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "low", "high"), [
    ("vae", 0.0, 0.75), ("slow-vae", 0.9, 1.0 + 1e-9), ("pcl", 0.9, 1.0 + 1e-9),
])  # fmt: skip
def test_models_of_pairs_find_the_sources_and_a_vae_a_rotation_of_them(
    script: ModuleType, kind: str, low: float, high: float
) -> None:
    assert low < script.mcc_of_sources(kind, 0) < high
