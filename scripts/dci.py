"""How far DCI depends on its engine: five real models' codes, and each under three rotations.

python scripts/dci.py FOLDER_OF_CODES writes docs/results/dci.md.
"""

import argparse
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from time import process_time

import numpy as np
from scipy.stats import spearmanr
from sklearn.utils.parallel import Parallel, delayed

from vaescope.codes import Codes
from vaescope.metrics import rows
from vaescope.metrics.dci import completeness, disentanglement
from vaescope.metrics.engines import ENGINES
from vaescope.seeds import derive
from vaescope.types import Floats

REFERENCE = "gradient-boosting"
TRAIN, TEST, ROTATIONS = 1_000, 1_000, 3


@dataclass(frozen=True)
class Row:
    """Of one engine on one set of codes."""

    d: float
    c: float
    i: float
    seconds: float  # of one processor


def measure(codes: Codes, engine: str) -> Row:
    """Factors one after the other, in this process, so that processor time is all there is."""
    split = rows.split(codes, "dci", train=TRAIN, test=TEST)
    start = process_time()
    fits = [
        ENGINES[engine](split.train.z, y, split.test.z, derive(0, engine, k))
        for k, y in enumerate(split.train.factors.T)
    ]
    seconds = process_time() - start
    importance = np.stack([fit.importance for fit in fits], axis=1)
    right = [np.mean(fit.test == y) for fit, y in zip(fits, split.test.factors.T, strict=True)]
    return Row(
        disentanglement(importance), completeness(importance), float(np.mean(right)), seconds
    )


def turned(codes: Codes, seed: int) -> Codes:
    """The means under one of the fixed rotations."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(codes.d, codes.d)))
    mean = codes.mean.astype(np.float64) @ (q * np.sign(np.diag(r)))
    return replace(codes, mean=mean, sample=mean)


def agreement(ours: Floats, theirs: Floats) -> str:
    rank = spearmanr(ours, theirs).statistic
    return f"{rank:.3f} | {np.abs(ours - theirs).mean():.3f} | {np.abs(ours - theirs).max():.3f}"


def written(found: dict[str, dict[str, list[Row]]]) -> list[str]:
    """The tables; of each model's rows the first is of the codes as they are."""
    engines = list(next(iter(found.values())))
    lines = [
        "# DCI depends on its engine", "",
        f"Made by `python scripts/dci.py`: {TRAIN:,} training and {TEST:,} test rows of the means;",
        f"scikit-learn {version('scikit-learn')}, LightGBM {version('lightgbm')}, "
        f"NumPy {version('numpy')}.",
        "D and C move far more with the engine than with the seed, so compare only scores of the",
        "same one. Published numbers are of `gradient-boosting`; `first-order` is our default.", "",
        "D / C / I of each model:", "",
        f"| model | {' | '.join(engines)} |", "|---" * (1 + len(engines)) + "|",
    ]  # fmt: skip
    for model, by_engine in found.items():
        cells = [f"{own[0].d:.3f} / {own[0].c:.3f} / {own[0].i:.3f}" for own in by_engine.values()]
        lines.append(f"| {model} | {' | '.join(cells)} |")
    count = sum(len(by_engine[REFERENCE]) for by_engine in found.values())
    lines += [
        "", f"Against `{REFERENCE}` over {count} codes (each model's and these under "
        f"{ROTATIONS} fixed rotations):", "",
        "| engine | rank correlation of D | mean difference | largest | rank correlation of C "
        "| mean difference | largest | processor seconds a code |",
        "|---" * 8 + "|",
    ]  # fmt: skip
    for engine in engines:
        ours = [row for by_engine in found.values() for row in by_engine[engine]]
        theirs = [row for by_engine in found.values() for row in by_engine[REFERENCE]]
        of_d = agreement(np.array([r.d for r in ours]), np.array([r.d for r in theirs]))
        of_c = agreement(np.array([r.c for r in ours]), np.array([r.c for r in theirs]))
        seconds = np.median([row.seconds for row in ours])
        lines.append(f"| {engine} | {of_d} | {of_c} | {seconds:.1f} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of <model>_codes.npz files")
    parser.add_argument("--out", type=Path, default=Path("docs/results/dci.md"))
    parser.add_argument("--workers", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    found: dict[str, dict[str, list[Row]]] = {}
    jobs: list[tuple[Codes, str]] = []
    for path in sorted(arguments.folder.glob("*_codes.npz")):
        codes = Codes.load(path)
        sets = [codes, *(turned(codes, seed) for seed in range(ROTATIONS))]
        found[path.name.removesuffix("_codes.npz")] = {engine: [] for engine in ENGINES}
        jobs += [(own, engine) for engine in ENGINES for own in sets]
    rows_of = Parallel(n_jobs=arguments.workers)(delayed(measure)(*job) for job in jobs)
    each = iter(rows_of)
    for by_engine in found.values():
        for own_rows in by_engine.values():
            own_rows.extend(next(each) for _ in range(1 + ROTATIONS))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join(written(found)))


if __name__ == "__main__":
    main()
