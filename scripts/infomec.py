"""InfoMEC of the authors' code beside ours, on files of codes: docs/results/infomec.md.

The authors' code needs scikit-learn below 1.8, ours a newer one, so each runs in its own
environment and this script asks the other one:

    python -m venv /tmp/infomec && /tmp/infomec/bin/pip install "scikit-learn<1.8" "numpy<2.3"
    git clone https://github.com/kylehkhsu/latent_quantization /tmp/latent_quantization
    python scripts/infomec.py --python /tmp/infomec/bin/python \\
        --code /tmp/latent_quantization/disentangle/metrics/infomec.py CODES.npz ...
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from vaescope.codes import Codes
from vaescope.metrics.infomec import infoe, infomec

#: Run by the other interpreter: their functions, with the random state of the neighbours fixed.
THEIRS = """
import functools, importlib.util, json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from sklearn import feature_selection
feature_selection.mutual_info_classif = functools.partial(
    feature_selection.mutual_info_classif, random_state=0)
spec = importlib.util.spec_from_file_location("theirs", sys.argv[1])
theirs = importlib.util.module_from_spec(spec); spec.loader.exec_module(theirs)
file = np.load(sys.argv[2])
found = theirs.compute_infomec(file["factors"], file["mean"].astype(np.float64), False)
print(json.dumps({k: np.asarray(v).tolist() for k, v in found.items()}))
"""


def theirs(python: str, code: Path, codes: Codes) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "codes.npz", factors=codes.factors, mean=codes.mean)
        command = [python, "-c", THEIRS, str(code), str(Path(folder) / "codes.npz")]
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(found.stdout))


def compared(python: str, code: Path, path: Path) -> dict[str, object]:
    codes = Codes.load(path)
    reference = theirs(python, code, codes)
    assert codes.factors is not None
    table = infomec(codes, pruning="range", limit=None)
    nmi = np.asarray(reference["nmi"]).T[:, np.ptp(codes.factors, axis=0) > 0]
    ours = {
        "infom": table.modularity.value,
        "infoc": table.compactness.value,
        "infoe": infoe(codes, limit=None, resamples=0).value,
    }
    typed = infomec(codes, limit=None)
    return {
        "codes": path.stem,
        "ours": ours,
        "theirs": {name: reference[name] for name in ours},
        "with types": {"infom": typed.modularity.value, "infoc": typed.compactness.value},
        "largest difference of nmi": float(np.abs(nmi - table.information).max()),
        "same latents kept": bool((np.asarray(reference["active_latents"]) == table.kept).all()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--code", type=Path, required=True)
    parser.add_argument("codes", type=Path, nargs="+")
    given = parser.parse_args()
    for path in given.codes:
        print(json.dumps(compared(given.python, given.code, path)))  # noqa: T201


if __name__ == "__main__":
    main()
