"""Installs the built wheel with each extra alone and runs the extra's main command there.

`python scripts/extras.py [--only core,serve,onnx] [--core FOLDER] [--python python3.13]` builds the
wheel, makes an environment with the core (or takes one that holds this wheel) and runs the demo
there; then for each extra another one that borrows the core's packages (a .pth file): pip adds only
what the extra asks for. Prints one line for each; exits 1 where one fails.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "scripts" / "extra_programs"
RUN = "vaescope train beta-vae data.name=synth-linear latent=2 steps=20 --out runs --quiet"
GRID = "preset: beta-vae, fixed: {data.name: synth-linear, steps: 5}, grid: {seed: [0, 1]}"
SWEEP = f"echo '{{{GRID}}}' > s.yaml && "
CODES = "import vaescope as vs; c = vs.known.codes(); "
#: With the wheel alone.
CORE = 'python -c "import vaescope" && vaescope demo --out demo --quiet && ls demo/report.html'
#: What somebody would install the extra for, as a shell command in an empty folder.
COMMANDS = {
    "h5": "python -c \"import h5py, numpy; h5py.File('a.h5', 'w')['x'] = numpy.ones(3)\" && "
    "vaescope data info shapes3d",
    "lightgbm": f"python -c \"{CODES}print(vs.metrics.dci(c, engine='lightgbm'))\"",
    "onnx": f"{RUN} && vaescope export runs/* --to onnx --out exported && ls exported/decoder.onnx",
    "ray": f"{SWEEP}vaescope sweep s.yaml --out sweep --on ray --workers 1 --quiet",
    "slurm": f'{SWEEP}python -c "from pathlib import Path; '
    "from vaescope.sweeps import read_plan, sweep; "
    "from vaescope.sweeps.slurm_engine import SlurmEngine as E; o = Path('o'); "
    "*_, s = sweep(read_plan(Path('s.yaml')), o, E(o, cluster='local')); assert s.done == 2\"",
    "parquet": f"{RUN} && vaescope table runs --out t.parquet && ls t.parquet",
    "serve": f"{RUN} && (vaescope serve runs --port 8765 & sleep 12; "
    'python -c "import urllib.request as r; '
    "assert b'vaescope' in r.urlopen('http://127.0.0.1:8765').read()\"; "
    "code=$?; kill %1; exit $code)",
    "tensorboard": f"{RUN} --logger tensorboard && find runs -name '*tfevents*' | grep .",
    "wandb": f"WANDB_MODE=offline {RUN} --logger wandb",
    "mlflow": f"MLFLOW_ALLOW_FILE_STORE=true MLFLOW_TRACKING_URI=file:./m {RUN} --logger mlflow",
    "lightning": f"python {ROOT}/examples/with_lightning.py --epochs 1 && ls report.html",
    "torchmetrics": f"python {PROGRAMS}/torchmetrics_batches.py",
    "keras": f"KERAS_BACKEND=torch python {PROGRAMS}/keras_model.py",
    "pyro": f"python {PROGRAMS}/pyro_model.py",
    "scvi": f"python {PROGRAMS}/scvi_model.py",
    "bench": f"python {ROOT}/benchmarks/training.py --rounds 1 | tee out && grep pythae out",
    "docs": f"python {ROOT}/docs/site/build.py --out site && ls site/html/index.html",
    "test": f"cd {ROOT} && python -m pytest -q -m 'not slow' tests/metrics tests/latents",
}  # fmt: skip


def environment(python: str, folder: Path, borrowed: Path | None, *wanted: str) -> str:
    """Makes it and installs; what pip said where it failed."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    if borrowed is not None:
        (site,) = folder.glob("lib/python*/site-packages")
        (there,) = borrowed.glob("lib/python*/site-packages")
        (site / "borrowed.pth").write_text(f"{there}\n", "utf-8")
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--no-compile"]
    done = subprocess.run(
        [*pip, "-c", ROOT / "constraints.txt", *wanted],
        check=False, capture_output=True, text=True, env=clean(),
    )  # fmt: skip
    return "" if done.returncode == 0 else done.stderr[-600:]


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def tried(extra: str, wheel: Path, folder: Path, core: Path, python: str) -> str:
    """ "" where it installs and its command runs, else what was said."""
    if wrong := environment(python, folder / "venv", core, f"{wheel}[{extra}]"):
        return wrong
    bin_folder = folder / "venv" / "bin"
    vaescope = bin_folder / "vaescope"
    if not vaescope.exists():  # the wheel itself is borrowed
        vaescope.write_text(f"#!{bin_folder / 'python'}\nfrom vaescope.cli import main\nmain()\n")
        vaescope.chmod(0o755)
    (folder / "work").mkdir()
    return ran(COMMANDS[extra], bin_folder, folder / "work")


def ran(command: str, bin_folder: Path, folder: Path) -> str:
    """ "" where the command runs in the folder with the environment's programs first."""
    path = {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], check=False, capture_output=True, text=True, cwd=folder,
        env=clean() | path, timeout=1200,
    )  # fmt: skip
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-600:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="names with commas")
    parser.add_argument("--core", type=Path, help="an environment with the wheel, nothing more")
    parser.add_argument("--python", default=sys.executable, help="whose environments are made")
    arguments = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = arguments.only.split(",") if arguments.only else project["optional-dependencies"]
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT]
        subprocess.run(build, check=True, capture_output=True)
        (wheel,) = out.glob("*.whl")
        core = arguments.core or out / "core"
        if arguments.core is None and (
            wrong := environment(arguments.python, core, None, str(wheel))
        ):
            sys.exit(wrong)
        if arguments.only is None or "core" in extras:
            extras = [name for name in extras if name != "core"]
            started = time.monotonic()
            (out / "empty").mkdir()
            wrong = ran(CORE, core.resolve() / "bin", out / "empty")
            failed += bool(wrong)
            sys.stdout.write(f"core: {wrong or 'runs'} ({time.monotonic() - started:.0f} s)\n")
            sys.stdout.flush()
        for extra in extras:
            started = time.monotonic()
            (out / extra).mkdir()
            wrong = tried(extra, wheel, out / extra, core.resolve(), arguments.python)
            failed += bool(wrong)
            sys.stdout.write(f"{extra}: {wrong or 'runs'} ({time.monotonic() - started:.0f} s)\n")
            sys.stdout.flush()
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
