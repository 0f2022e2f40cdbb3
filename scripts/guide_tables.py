"""Measures what the guides' tables say, keeps it, and writes the tables into the pages.

`python scripts/guide_tables.py [export prune compare tune-beta] [--write]` measures the named ones
(by default all) into `docs/results/guides/NAME.json`; with `--write` it only writes the pages anew
from these files. export and prune need published models in $VAESCOPE_DATA or ../shared/data.
tests/docs/test_guide_tables.py compares pages and files.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "results" / "guides"
SPRITES = ("VAE_dsprites", "betaH_dsprites", "betaB_dsprites", "btcvae_dsprites",
           "btcvae_dsprites_a0")  # fmt: skip
DIGITS = ("VAE_mnist", "betaH_mnist", "betaB_mnist", "btcvae_mnist")
NAMES = {"VAE_dsprites": "VAE on dSprites", "btcvae_dsprites_a0": "btcvae, alpha 0"}
BETA, VARIANCES = 0.05, (1 / 3, 1 / 12)
Found = Mapping[str, Any]


def find(relative: str) -> Path:
    """A file of the real data."""
    folders = [os.environ.get("VAESCOPE_DATA"), ROOT.parent / "shared" / "data"]
    for folder in folders:
        if folder is not None and (Path(folder) / relative).exists():
            return Path(folder) / relative
    sys.exit(f"{relative} is neither in $VAESCOPE_DATA nor in ../shared/data.")


def published(name: str, rows: int) -> tuple[Any, Any]:
    """A published model and images of the data that it was trained on."""
    import vaescope as vs

    sys.path.insert(0, str(ROOT))
    from tests.adapters.pretrained import digits, rebuilt

    if name in DIGITS:
        return rebuilt(name, find).eval(), digits(rows, find)
    data = vs.load_dataset("dsprites")
    return rebuilt(name, find).eval(), data.pick(data.sample(rows, seed=0))


def measure_export(scratch: Path) -> Found:
    import vaescope as vs

    def differences(model: Any, images: Any, name: str) -> Found:
        # A tolerance of 1: what is too far is to be seen here, not refused.
        checks = vs.export_onnx(model, scratch / name, images, tolerance=1.0).checks

        def of(file: str, output: str, on: str) -> Any:
            (one,) = [c for c in checks if (c.file, c.output, c.on) == (file, output, on)]
            return one

        prior = of("decoder", "mean", "prior draws")
        return {
            "mean": of("encoder", "mean", "data").absolute,
            "variance": of("encoder", "variance", "data").absolute,
            "codes": of("decoder", "mean", "codes").absolute,
            "prior": prior.absolute,
            "rounding": prior.rounding,
            "n": of("encoder", "mean", "data").n,
        }

    run = vs.train("demo", out=scratch / "runs")
    found = {"demo": differences(run, None, "demo")}
    for name in (*SPRITES, *DIGITS):
        found[name] = differences(*published(name, 256), name)
    return {"models": found, "onnx": version("onnx"), "onnxruntime": version("onnxruntime")}


def write_export(found: Found) -> list[str]:
    columns = ("mean", "variance", "codes", "prior", "rounding")
    models = dict(found["models"])
    largest = {c: max(models[name][c] for name in DIGITS) for c in columns}
    shown = {name: models[name] for name in ("demo", *SPRITES)}
    shown["four models of MNIST, the largest"] = largest
    return [
        f"Measured with torch {found['torch']}, onnx {found['onnx']} and onnxruntime "
        f"{found['onnxruntime']} on the CPU, one thread; largest absolute differences:",
        "",
        "| model | means | variances | decoded codes | decoded prior draws "
        "| torch's own rounding there |",
        "|---|---|---|---|---|---|",
        *(
            f"| {called(name)} | " + " | ".join(f"{own[c]:.1e}" for c in columns) + " |"
            for name, own in shown.items()
        ),
    ]


def called(name: str) -> str:
    return NAMES.get(name, name.partition("_")[0])


def measure_prune(scratch: Path) -> Found:
    import vaescope as vs

    found = {}
    for name in SPRITES:
        result = vs.prune(*published(name, 10_000))
        found[name] = {
            "before": result.before, "after": result.after, "dropped": list(result.dropped),
            "change": result.max_reconstruction_change, "elbo": result.elbo_change,
            "error": result.elbo_error, "n": result.n,
        }  # fmt: skip
    return {"models": found, "examples": 10_000}


def write_prune(found: Found) -> list[str]:
    lines = [
        f"| model (dSprites, {found['examples']:,} examples) | latents | largest change "
        "| ELBO, nats |",
        "|---|---|---|---|",
    ]
    for name, own in sorted(found["models"].items(), key=lambda pair: not pair[1]["dropped"]):
        what = (
            f"{own['before']} to {own['after']} | {own['change']:.4f} "
            f"| {own['elbo']:+.3f} ± {own['error']:.3f}"
            if own["dropped"] else f"{own['before']} | no latent is passive | "
        )  # fmt: skip
        lines.append(f"| {called(name).removesuffix(' on dSprites')} | {what} |".replace("  ", " "))
    return lines


def measure_compare(scratch: Path) -> Found:
    import vaescope as vs

    data = vs.load_dataset("synth-linear", n=2000)
    falling = {"name": "cosine", "start": 3e-2, "stop": 0.0, "steps": 2000}
    runs = [
        vs.train("beta-vae", data, out=scratch, seed=seed, steps=2000, beta=BETA, latent=2,
                 batch=128, lr=falling)
        for seed in range(4)
    ]  # fmt: skip
    pairs = [vs.compare(a, b, images=False) for i, a in enumerate(runs) for b in runs[i + 1 :]]
    rows = [
        row for pair in pairs for row in pair.to_dict()["matching"] if None not in row["latents"]
    ]
    return {
        "matching": vs.compare(runs, images=False).to_dict()["matching"],
        "over_images": {"pairs": len(rows), "differ": sum(row["differs"] for row in rows)},
    }


def write_compare(found: Found) -> list[str]:
    lines = [
        "| latent of A | in B | in C | in D | mean variance in A, B, C, D | beta / 2 lambda |",
        "|---|---|---|---|---|---|",
    ]
    rows = sorted(found["matching"], key=lambda row: row["mean_variance"]["values"][0])
    closed = sorted(BETA / 2 / variance for variance in VARIANCES)
    gaps = []
    for row, expected in zip(rows, closed, strict=True):
        others = [
            f"{latent} ({correlation:.2f})"
            for latent, correlation in zip(row["latents"], row["correlation"], strict=True)
        ][1:]
        variances = ", ".join(f"{value:.3f}" for value in row["mean_variance"]["values"])
        lines.append(
            f"| {row['latents'][0]} | {' | '.join(others)} | {variances} | {expected:.3f} |"
        )
        gaps += [gap for key in ("kl", "mean_variance") for gap in row[key]["differences"]]
    beyond, images = sum(gap["differs"] for gap in gaps), found["over_images"]
    return [
        *lines, "",
        "Numbers in brackets are rank correlations. Intervals that exclude 0: "
        f"{beyond} of the {len(gaps)} over seeds (two latents, KL and variance, four runs), where "
        f"{0.05 * len(gaps):.1f} would by chance. Over images {images['differ']} of the "
        f"{images['pairs']} pairs of matched latents of two runs differ.",
    ]  # fmt: skip


def measure_tune_beta(scratch: Path) -> Found:
    import vaescope as vs

    plain = {"latent": 2, "by": "onset", "data": {}, "lr": 1e-2, "short_lr": None}
    noisy = {"latent": 5, "by": "dto", "data": {"noise": 0.01}, "lr": 1e-3, "short_lr": 1e-2}
    keys = ("beta", "onset", "over_pruning", "onset_between", "over_pruning_between", "notes")
    found = []
    for one in (plain, noisy, noisy | {"short_lr": None}):
        tuned = vs.tune_beta(
            "beta-vae", vs.load_dataset("synth-linear", **one["data"]), latent=one["latent"],
            by=one["by"], lr=one["lr"], round_steps=100, short_lr=one["short_lr"], out=scratch,
        )  # fmt: skip
        said = tuned.to_dict()
        found.append(one | {key: said[key] for key in keys} | {"lowest": tuned.curve[0].beta})
    return {"tuned": found}


def write_tune_beta(found: Found) -> list[str]:
    lines = [
        "| data | latents | onset | over-pruning | closed form of it | value |",
        "|---|---|---|---|---|---|",
    ]
    *settled, hasty = found["tuned"]
    for one in settled:
        noise = one["data"].get("noise", 0.0)
        data = f"with `data.noise={noise}`, `--by dto`" if noise else "`synth-linear`"
        end, least = place(one["over_pruning"], one["over_pruning_between"]), one["lowest"]
        onset = (
            f"at or below {one['onset']:.2g}"
            if one["onset"] <= least else place(one["onset"], one["onset_between"])
        )  # fmt: skip
        same = one["onset"] == one["over_pruning"]
        closed = 0.9 * 2 * (min(VARIANCES) + noise)
        lines.append(
            f"| {data} | {one['latent']} | {onset} | {'the same' if same else end} "
            f"| {closed:.3f} | {one['beta']:.3f} |"
        )
    moved = any("still changed" in note for note in hasty["notes"])
    return [
        *lines, "",
        "At the default learning rate of 1e-3 a hundred steps are too few for the second: "
        f"over-pruning comes out as {hasty['over_pruning']:.3f}, "
        + ("with a note that latents still changed." if moved else "without a note."),
    ]  # fmt: skip


def place(value: float, between: Sequence[float]) -> str:
    return f"{value:.3f} ({between[0]:.3f} to {between[1]:.3f})"


#: Guide -> what measures, what writes its lines.
GUIDES: Mapping[str, tuple[Callable[[Path], Found], Callable[[Found], list[str]]]] = {
    "export": (measure_export, write_export),
    "prune": (measure_prune, write_prune),
    "compare": (measure_compare, write_compare),
    "tune-beta": (measure_tune_beta, write_tune_beta),
}


def kept(name: str) -> Found:
    """What was measured last."""
    found: Found = json.loads((KEPT / f"{name}.json").read_text("utf-8"))
    return found


def written(name: str, page: str) -> str:
    """The page with the lines of what is kept between its two marks."""
    found = kept(name)
    made = f"Made by `python scripts/guide_tables.py {name}` (vaescope {found['vaescope']}, torch "
    made += f"{found['torch']}), kept in `docs/results/guides/{name}.json`."
    lines = [f"<!-- measured: {name} -->", *GUIDES[name][1](found), "", made, "<!-- end -->"]
    block = "\n".join(lines)
    pattern = rf"<!-- measured: {name} -->\n.*?<!-- end -->"
    new, count = re.subn(pattern, lambda _: block, page, flags=re.DOTALL)
    assert count == 1, f"docs/{name}.md has {count} places for what was measured"
    return new


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("guides", nargs="*", default=list(GUIDES), help=" ".join(GUIDES))
    parser.add_argument("--write", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    for name in arguments.guides:
        if not arguments.write:
            import torch

            import vaescope

            torch.set_num_threads(1)
            with tempfile.TemporaryDirectory() as scratch:
                found = GUIDES[name][0](Path(scratch))
            stated = {"vaescope": vaescope.__version__, "torch": version("torch").split("+")[0]}
            KEPT.mkdir(exist_ok=True)
            (KEPT / f"{name}.json").write_text(json.dumps(stated | found, indent=1) + "\n", "utf-8")
        page = ROOT / "docs" / f"{name}.md"
        page.write_text(written(name, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
