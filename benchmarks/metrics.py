"""The metrics against disentanglement_lib's way: benchmarks/metrics.py [--json] [--parts A B].

Ratios are of processor time on one thread, which other work on the machine hardly changes, medians
over interleaved rounds. The other side is re-coded from its description: its estimators, its loops
over pairs, and its encoding of each batch of the two intervention metrics, of which 50,000 images
are encoded and the rest extrapolated. Gradient boosting is timed for its first round of trees,
as all cost the same. What takes over ten seconds and is a small part of its sum is timed once.
"""

import argparse
import json
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from vaescope.codes import Codes
from vaescope.metrics import dci, measure_metrics, udr_lasso
from vaescope.metrics.mig import mig_of
from vaescope.metrics.modularity import modularity_of
from vaescope.metrics.table import counted
from vaescope.types import Integers

SIZES = (3, 6, 40, 32, 32)  # of dSprites' factors
LATENTS = 10
TRAIN, TEST = 10_000, 5_000
MODELS = 10  # of UDR
ROUNDS = 9  # of what is fast
SLOW_ROUNDS = 7  # of gradient boosting and of encoding
#: Images that disentanglement_lib encodes: beta-VAE and FactorVAE scores, then all other metrics
#: (MIG, DCI, SAP, modularity and explicitness, IRS, unsupervised scores, downstream task).
INTERVENTIONS = 2 * 64 * 15_000 + 64 * 15_000 + 10_000
OTHERS = 10_000 + 15_000 + 15_000 + 15_000 + 10_000 + 10_000 + 15_000

Array = NDArray[np.float64]


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
    return process_time() - start


def synthetic(n: int, *, seed: int = 0) -> Codes:
    """Codes that know dSprites' factors, mixed and with noise; half of the latents passive."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(SIZES, size=(n, len(SIZES)))
    scaled = factors / (np.array(SIZES) - 1.0) - 0.5
    mixing = np.eye(5) + 0.3 * rng.normal(size=(5, 5))
    active = scaled @ mixing + 0.1 * rng.normal(size=(n, 5))
    passive = 0.02 * (scaled @ rng.normal(size=(5, 5)) + rng.normal(size=(n, 5)))
    mean = np.hstack([active, passive])
    variance = np.tile(np.repeat([0.02, 1.0], 5), (n, 1))
    return Codes(
        mean.astype(np.float32),
        variance.astype(np.float32),
        (mean + np.sqrt(variance) * rng.normal(size=mean.shape)).astype(np.float32),
        factors=factors,
        factor_names=("shape", "scale", "orientation", "x", "y"),
        factor_sizes=SIZES,
    )


def dlib_information(z: Array, v: Integers) -> Array:
    """Per pair, by scikit-learn."""
    from sklearn.metrics import mutual_info_score

    binned = [np.digitize(c, np.histogram(c, 20)[1][:-1]) for c in z.T]
    for column in v.T:  # entropies
        mutual_info_score(column, column)
    return np.array([[mutual_info_score(y, c) for y in v.T] for c in binned])


def our_information(codes: Codes) -> None:
    """MIG, modularity and the matrix behind them."""
    table = counted(codes, "benchmark", resamples=0).plug_in()
    mig_of(table)
    modularity_of(table)


def information() -> dict[str, Any]:
    """MIG, modularity and mutual information against scikit-learn, pair by pair."""
    codes = synthetic(10_000)
    z = codes.mean.astype(np.float64)
    assert codes.factors is not None
    v = codes.factors.astype(np.int64)
    pairs = [
        (seconds(lambda: dlib_information(z, v)), seconds(lambda: our_information(codes)))
        for _ in range(ROUNDS)
    ]
    return {"mi_over_sklearn": median(theirs / ours for theirs, ours in pairs)}


def boosting_seconds(z: Array, v: Integers) -> float:
    """scikit-learn's gradient boosting of all factors, from its first round of trees."""
    from sklearn.ensemble import GradientBoostingClassifier

    def fit() -> None:
        for y in v.T:
            GradientBoostingClassifier(n_estimators=1, random_state=0).fit(z, y)

    return seconds(fit) * 100


def dlib_estimators(codes: Codes, boosting: float) -> dict[str, float]:
    """disentanglement_lib's estimators on codes that are there already."""
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
    from sklearn.model_selection import KFold
    from sklearn.svm import LinearSVC

    assert codes.factors is not None
    z, v = codes.mean[:TRAIN].astype(np.float64), codes.factors[:TRAIN]
    standard = (z - z.mean(axis=0)) / z.std(axis=0)

    def sap() -> None:
        for column in z.T:
            for y in v.T:
                LinearSVC(C=0.01, class_weight="balanced").fit(column[:, None], y)

    def explicitness() -> None:
        for y in v.T:
            LogisticRegression().fit(standard, y).predict_proba(standard)

    def downstream() -> None:
        """One of its five folds."""
        fold = next(KFold(5).split(z))
        for y in v.T:
            LogisticRegressionCV(
                Cs=10, cv=[fold], l1_ratios=(0.0,), use_legacy_attributes=False,
                scoring="accuracy", refit=False,
            ).fit(z, y)  # fmt: skip

    def irs() -> None:
        for y in v.T:
            for value in np.unique(y):
                own = z[y == value]
                np.percentile(np.abs(own - own.mean(axis=0)), 99, axis=0)

    def votes() -> None:
        """Of both scores; one in fifty."""
        for start in range(0, 30_000, 50):
            rows = np.arange(start, start + 64) % TRAIN
            z[rows].var(axis=0, ddof=1).argmin()

    return {
        "dci": boosting,
        "mig_modularity": 2 * seconds(lambda: dlib_information(z, v)),
        "sap": seconds(sap),
        "explicitness": seconds(explicitness),
        "downstream": 5 * seconds(downstream),
        "irs": seconds(irs),
        "votes": 50 * seconds(votes),
        "beta_vae": seconds(lambda: LogisticRegression().fit(np.abs(standard), v[:, 1])),
    }


def encoder() -> Callable[[int], float]:
    """Seconds of a 64 x 64 convolutional encoder for so many images, in batches of 64."""
    import torch

    from vaescope.build import build_vae
    from vaescope.settings import from_command_line
    from vaescope.vae import as_input

    torch.set_num_threads(1)
    vae = build_vae(from_command_line("beta-vae", ["data.name=dsprites", "data.size=64"])).eval()
    batch = (np.random.default_rng(0).random((64, 1, 64, 64)) > 0.9).astype(np.float32)

    def encode(images: int) -> None:
        with torch.inference_mode():
            for _ in range(images // 64):
                posterior = vae.encoder(as_input(batch, torch.device("cpu")))
                posterior.mean.numpy(), posterior.variance.numpy()

    encode(640)  # warm
    return lambda images: seconds(lambda: encode(images))


def dci_engines() -> dict[str, Any]:
    """Our default engine against scikit-learn's, 10,000 rows to learn from."""
    codes = synthetic(TRAIN + TEST)
    assert codes.factors is not None
    z, v = codes.mean[:TRAIN].astype(np.float64), codes.factors[:TRAIN]
    pairs = [
        (boosting_seconds(z, v), seconds(lambda: dci(codes, train=TRAIN, test=TEST)))
        for _ in range(SLOW_ROUNDS)
    ]
    return {
        "dci_over_gbt": median(theirs / ours for theirs, ours in pairs),
        "gbt_seconds": median(theirs for theirs, _ in pairs),
        "dci_seconds": median(ours for _, ours in pairs),
    }


def suite() -> dict[str, Any]:
    """All metrics of a 64 x 64 model, encoding included."""
    codes = synthetic(TRAIN + TEST)
    assert codes.factors is not None
    encode = encoder()
    images = 50_000 // SLOW_ROUNDS
    boosting, per_image = [], []
    for _ in range(SLOW_ROUNDS):
        boosting.append(
            boosting_seconds(codes.mean[:TRAIN].astype(np.float64), codes.factors[:TRAIN])
        )
        per_image.append(encode(images) / images)
    theirs = dlib_estimators(codes, median(boosting))
    ours = {
        "encoding": median(per_image) * (TRAIN + TEST),
        "metrics": seconds(lambda: measure_metrics(codes, on=("mean",))),
    }
    votes = seconds(
        lambda: measure_metrics(codes, metrics=["beta_vae", "factor_vae"], on=("mean",))
    )
    estimators = sum(theirs.values()) - theirs["votes"]
    theirs["encoding_for_interventions"] = median(per_image) * INTERVENTIONS
    theirs["encoding_for_others"] = median(per_image) * OTHERS
    total = sum(theirs.values())
    return {
        "suite_over_dlib": total / sum(ours.values()),
        "suite_over_dlib_same_estimators": total / (ours["encoding"] + estimators + votes),
        "suite_seconds": {**ours, "votes": votes},
        "dlib_seconds": theirs,
    }


def udr() -> dict[str, Any]:
    """Ten models, against standardising and a lasso for each ordered pair."""
    from sklearn.linear_model import Lasso
    from sklearn.preprocessing import StandardScaler

    models = [synthetic(10_000, seed=seed) for seed in range(MODELS)]

    def pairs() -> None:
        for i in range(MODELS):
            for j in range(MODELS):
                if i != j:
                    first, second = (
                        StandardScaler().fit_transform(models[m].mean.astype(np.float64))
                        for m in (i, j)
                    )
                    Lasso(alpha=0.1).fit(first, second)

    found = [(seconds(pairs), seconds(lambda: udr_lasso(models))) for _ in range(ROUNDS)]
    return {"udr_over_pairs": median(theirs / ours for theirs, ours in found)}


def statistics() -> dict[str, Any]:
    """Total correlation, averaged information and effective rank of the whole of dSprites."""
    from vaescope.latents.correlation import averaged_information, effective_rank, total_correlation
    from vaescope.latents.moments import moments
    from vaescope.latents.pairwise import binned_information

    values = np.random.default_rng(0).standard_normal((737_280, LATENTS), dtype=np.float32)

    def measure() -> None:
        covariance = moments(values).covariance
        total_correlation(covariance)
        effective_rank(covariance)
        columns = np.ascontiguousarray(values.T)
        low, high = columns.min(axis=1).astype(float), columns.max(axis=1).astype(float)
        averaged_information(binned_information(columns, np.linspace(low, high, 21, axis=1)))

    clock, processor = [], []
    for _ in range(ROUNDS):
        start = perf_counter()
        processor.append(seconds(measure))
        clock.append(perf_counter() - start)
    tracemalloc.start()
    measure()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return {
        "full_statistics_seconds": median(clock),
        "full_statistics_processor_seconds": median(processor),
        "full_statistics_megabytes": peak,  # beside the codes
    }


#: By name, so that one can be taken alone.
PARTS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "information": information,
    "udr": udr,
    "statistics": statistics,
    "dci": dci_engines,
    "suite": suite,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    with threadpool_limits(1):
        for name in arguments.parts:
            figures |= (found := PARTS[name]())
            print(json.dumps(found), file=sys.stderr, flush=True)  # a long run tells how far it is
    if arguments.json:
        print(json.dumps(figures))
        return
    for key, value in figures.items():
        parts = value if isinstance(value, dict) else {"": value}
        for part, number in parts.items():
            print(f"{' '.join([key, part]).strip():50} {number:10.3f}")


if __name__ == "__main__":
    main()
