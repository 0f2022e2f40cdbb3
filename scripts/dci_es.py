"""DCI-ES of the authors' code beside ours, on files of codes: docs/results/dci_es.md.

Their explicitness (`metrics/explitcitness.py` of andreinicolicioiu/DCI-ES, not kept here) is given
the losses of one forest for each depth, as their `train_model_random_forest.py` trains them: depths
1 to 32, classes of each factor, `random_state` set. Ours cuts one forest at each depth. Their whole
pipeline is not run: it reads its own cached representations of MPI3D through torch, timm and
liftoff, and divides by baselines that are typed in for that dataset.

    git clone https://github.com/andreinicolicioiu/DCI-ES /tmp/DCI-ES
    python scripts/dci_es.py --code /tmp/DCI-ES/metrics/explitcitness.py CODES.npz ...
"""

import argparse
import importlib.util
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from vaescope.codes import Codes
from vaescope.metrics.dci_es import DEPTHS, area, dci_explicitness
from vaescope.metrics.rows import split

TREES, TRAIN, TEST = 20, 1_500, 750


def module_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("theirs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compared(code: Any, path: Path, seed: int = 0) -> dict[str, Any]:
    codes = Codes.load(path)
    rows = split(codes, "dci_explicitness", on="mean", train=TRAIN, test=TEST, seed=seed)
    theirs, same = [], []
    for y, y_test in zip(rows.train.factors.T, rows.test.factors.T, strict=True):
        losses = []
        for depth in DEPTHS:
            forest = RandomForestClassifier(
                max_depth=depth, n_estimators=TREES, random_state=seed, n_jobs=1
            ).fit(rows.train.z, y)
            losses.append(1.0 - forest.score(rows.test.z, y_test))
        baseline = float((y_test != np.bincount(y).argmax()).mean())
        curve = code.Explitcitness()
        curve.add_curve(list(DEPTHS), list(losses), baseline, "factor")
        theirs.append(float(curve.get_explitcitness()["factor"]))
        same.append(area(np.array(losses), baseline))
    ours = [
        dci_explicitness(codes, trees=TREES, train=TRAIN, test=TEST, seed=s).value for s in range(4)
    ]
    return {
        "codes": path.stem.removesuffix("_codes"),
        "theirs": float(np.mean(theirs)),
        "same": max(abs(a - b) for a, b in zip(theirs, same, strict=True)),
        "ours": ours,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--code", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/results/dci_es.md"))
    parser.add_argument("codes", type=Path, nargs="+")
    arguments = parser.parse_args()
    code = module_of(arguments.code)
    found = [compared(code, path) for path in arguments.codes]
    lines = [
        "# DCI-ES beside the authors' code",
        "",
        "Made by `python scripts/dci_es.py`, whose head says what of their code is run and what "
        f"is not. {TREES} trees, {TRAIN:,} training and {TEST} test rows; scikit-learn "
        f"{version('scikit-learn')}. *Same losses*: the largest difference of any factor where "
        "both are given the losses of the authors' forests. The rest is the noise of forests: one "
        "for each depth (theirs), one that is cut (ours, four seeds).",
        "",
        "| codes | E, authors | E, ours: mean (least to greatest of 4 seeds) | difference "
        "| same losses |",
        "|---|---|---|---|---|",
    ]
    for one in found:
        mean = float(np.mean(one["ours"]))
        lines.append(
            f"| {one['codes']} | {one['theirs']:.4f} | {mean:.4f} ({min(one['ours']):.4f} to "
            f"{max(one['ours']):.4f}) | {mean - one['theirs']:+.4f} | {one['same']:.0e} |"
        )
    arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
