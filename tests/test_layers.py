"""A module imports from its own floor or below; heavy libraries stay where they belong."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import vaescope

ROOT = Path(vaescope.__file__).parent

#: Floor of each module or package, from the ground up. A new one must be entered here.
FLOORS = {
    "errors": 0, "estimates": 0, "seeds": 0, "types": 0, "paths": 0, "allocator": 0,
    "citations": 0, "latent_types": 0,
    "paper_aliases": 0, "leading_axes": 0, "reading": 0, "sealing": 0,
    "escaping": 0, "progress": 0, "wording": 0, "side_by_side": 0, "measure_ranges": 0,
    "notebook_card": 0, "native": 0, "process_pool": 0,
    "data": 1, "nets": 1, "distributions": 1, "priors": 1, "vae": 1, "objectives": 1,
    "schedules": 1, "aggregate_posterior": 1, "prior_density": 1,
    "presets": 2, "model_specs": 2, "specs": 2, "settings": 2, "build": 2, "runs": 2,
    "run_rows": 2, "codes": 2,
    "codes_file": 2, "encoding": 2, "training": 2, "baselines": 2, "adapters": 2, "foreign": 2,
    "pruned": 2, "models": 2, "opening": 2, "user_data": 2, "own_parts": 2, "scheduling": 2,
    "optimisers": 2, "optimiser_specs": 2, "objective_specs": 2, "objective_table": 2,
    "setting_errors": 2, "schedule_specs": 2,
    "loggers": 2, "rotation": 2, "known": 2, "latent_maps": 2,
    "latent_exchange": 3, "image_cost": 3, "marginal_likelihood": 3,
    "importance_sampling": 3, "importance_weights": 3,
    "information": 3, "metrics": 3, "latents": 3, "traversals": 3, "watching": 3, "estimator": 3,
    "decomposition": 3, "geometry": 3, "measures": 3,
    "inspection": 4, "verdicts": 4, "sweeps": 4, "tables": 4, "statistics": 4,
    "pruning": 4, "tuning": 4, "integrations": 4, "exporting": 4, "studies": 4, "comparing": 4,
    "checking": 4, "court": 4, "perturbing": 4,
    "figures": 5, "report": 5, "serving": 5, "cli": 5, "__main__": 5, "__init__": 5,
}  # fmt: skip

NO_TORCH = (
    "codes",
    "codes_file",
    "prior_density",
    "decomposition",
    "information",
    "measures",
    "metrics",
    "latents",
    "errors",
    "estimates",
    "seeds",
    "paths",
    "reading",
    "sealing",
    "escaping",
    "wording",
    "latent_types",
)
SHOWING_ONLY = ("matplotlib", "jinja2", "typer", "rich", "fastapi", "starlette", "uvicorn")


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Names imported at run time; `if TYPE_CHECKING` blocks do not count."""
    tree = ast.parse(path.read_text())
    hidden = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for part in node.body
        for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        if node in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "vaescope":
                yield from (f"vaescope.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
            yield from (a.value for a in node.args if isinstance(a, ast.Constant))


def home(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


#: Results that write their own page or card call upwards, by name and only when they are asked to.
SAVES = {
    "comparing/result.py": ("vaescope.report.comparison", "vaescope.report.cards"),
    "perturbing/result.py": ("vaescope.report.perturbation",),
    "inspection/results.py": ("vaescope.report", "vaescope.report.cards"),
}


@pytest.mark.slow
@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_from_its_own_floor_or_below(path: Path) -> None:
    floor = FLOORS[home(path)]
    for name in imports(path):
        parts = name.split(".")
        if name in SAVES.get(str(path.relative_to(ROOT)), ()):
            continue
        if parts[0] == "vaescope" and len(parts) > 1 and parts[1] in FLOORS:
            assert FLOORS[parts[1]] <= floor, f"{home(path)} must not import {name}"
        if parts[0] in SHOWING_ONLY:
            assert floor == 5, f"{name} belongs to the showing floor"
        if home(path) in NO_TORCH:
            assert parts[0] != "torch", f"{home(path)} names no torch"


def test_no_file_is_over_400_lines() -> None:
    project = ROOT.parents[1]
    files = [f for top in ("src", "tests", "benchmarks") for f in (project / top).rglob("*.py")]
    long = {str(f): n for f in files if (n := len(f.read_text().splitlines())) > 400}
    assert not long


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    ["import vaescope.metrics", "import vaescope.latents", "import vaescope.serving.app"],
)
def test_measures_leave_torch_out(statement: str) -> None:
    code = f"import sys; {statement}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_resolves() -> None:
    for name in vaescope.__all__:
        assert getattr(vaescope, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = vaescope.nonsense


#: One watcher for each framework, so that its name is the same in both.
NAMED_ALIKE = {"WatchLatents"}


@pytest.mark.slow
def test_no_two_public_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    shared = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert set(shared) == NAMED_ALIKE, shared
