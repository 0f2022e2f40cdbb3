"""The classifiers behind DCI: each learns the factors and says which latents it used.

D and C depend on the engine far more than on the seed: see docs/results/dci.md.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from operator import itemgetter
from typing import Any

import numpy as np

from vaescope.errors import UsageError
from vaescope.metrics.boosting import Boosted, boost, boost_all
from vaescope.metrics.exact_boosting import boost_exactly, can_boost_exactly
from vaescope.seeds import derive, rng
from vaescope.types import Double, Floats, Integers

__all__ = ["ENGINES", "EngineResult", "learn"]

#: One factor: (train codes, classes, test codes, seed) -> importances and predictions.
Engine = Callable[[Floats, Integers, Floats, int], Boosted]


@dataclass(frozen=True, eq=False)
class EngineResult:
    """What an engine says of all factors."""

    importance: Double  # (latent, factor), columns sum to one, or to zero
    train_accuracy: Double  # (factor,)
    test_accuracy: Double


def first_order(x: Floats, y: Integers, x_test: Floats, seed: int) -> Boosted:
    """Our own trees, with the splits of scikit-learn."""
    return boost(x, y, x_test, rng=rng(seed, "boosting"))


def gradient_boosting(x: Floats, y: Integers, x_test: Floats, seed: int) -> Boosted:
    """scikit-learn's, which is disentanglement_lib's and so that of most published numbers."""
    random_state = derive(seed, "boosting") % 2**32
    x, x_test = _for_float32(x, x_test)
    if can_boost_exactly(x):
        return boost_exactly(x, y, x_test, seed=random_state)
    from sklearn.ensemble import GradientBoostingClassifier

    return _fitted(GradientBoostingClassifier(random_state=random_state), x, y, x_test)


def random_forest(x: Floats, y: Integers, x_test: Floats, seed: int) -> Boosted:
    """A hundred deep trees: spreads importance over all latents."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(random_state=derive(seed, "boosting") % 2**32)
    return _fitted(model, x, y, x_test)


#: LightGBM's own checks fail on some inputs; each setting is safer than the one before.
_LIGHTGBM = (
    {"min_child_samples": 1, "min_child_weight": 1e-3, "max_bin": 63},
    {"min_child_samples": 5, "min_child_weight": 1e-2, "max_bin": 63},
    {"min_child_samples": 20, "min_child_weight": 1e-1, "max_bin": 15},
)


def lightgbm(x: Floats, y: Integers, x_test: Floats, seed: int) -> Boosted:
    """LightGBM with 100 trees of depth 3, importance by gain; needs the package lightgbm.

    Where its internal checks fail it is asked again with larger leaves, and as a last resort our
    own trees answer: the user never sees the check.
    """
    library = _import_lightgbm()
    for settings in _LIGHTGBM:
        model = library.LGBMClassifier(
            n_estimators=100, max_depth=3, num_leaves=8, learning_rate=0.1,
            importance_type="gain", n_jobs=1, verbosity=-1, deterministic=True,
            random_state=derive(seed, "boosting") % 2**31, **settings,
        )  # fmt: skip
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of feature names
                return _fitted(model, x, y, x_test)
        except library.basic.LightGBMError:
            continue
    return first_order(x, y, x_test, seed)


def _import_lightgbm() -> Any:
    try:
        return import_module("lightgbm")
    except ImportError as error:
        raise UsageError(
            "The engine lightgbm needs the package of that name.",
            "Run pip install 'vaescope[lightgbm]', or use the engine first-order.",
        ) from error


def _for_float32(x: Floats, x_test: Floats) -> tuple[Floats, Floats]:
    """Columns that float32 can hold, as these trees do: they are blind to scale."""
    largest = np.maximum(np.abs(x).max(axis=0), np.abs(x_test).max(axis=0))
    odd = (largest > 0) & ((largest > 1e30) | (largest < 1e-30))
    scale = np.where(odd, largest, 1.0)
    return x / scale, x_test / scale


def _fitted(model: Any, x: Floats, y: Integers, x_test: Floats) -> Boosted:
    x, x_test = _for_float32(x, x_test)
    model.fit(x, y)
    importance = np.abs(np.asarray(model.feature_importances_, dtype=np.float64))
    total = importance.sum()
    return Boosted(
        importance / total if total > 0 else importance,
        np.asarray(model.predict(x), dtype=np.int64),
        np.asarray(model.predict(x_test), dtype=np.int64),
    )


ENGINES: Mapping[str, Engine] = {
    "first-order": first_order,
    "gradient-boosting": gradient_boosting,
    "lightgbm": lightgbm,
    "random-forest": random_forest,
}

#: Those that are slow enough that a process per factor pays.
_SLOW = ("gradient-boosting", "random-forest")


def learn(
    engine: str, x: Floats, factors: Integers, x_test: Floats, factors_test: Integers, *, seed: int
) -> EngineResult:
    """All factors by one engine; slow ones learn factors in parallel processes."""
    if engine not in ENGINES:
        raise UsageError(
            f"There is no engine {engine!r}; there are {', '.join(ENGINES)}.", "Use one of those."
        )
    jobs = [(ENGINES[engine], x, y, x_test, derive(seed, engine, k)) for k, y in _each(factors)]
    if engine in _SLOW and x.size * len(jobs) > 20_000:
        from sklearn.utils.parallel import Parallel, delayed

        workers = min(len(jobs), os.cpu_count() or 1)
        # A factor costs as many trees as it has classes: the longest first, so that none is left
        # to one worker at the end.
        order = sorted(range(len(jobs)), key=lambda k: -len(np.unique(factors[:, k])))
        # What runs in C leaves the interpreter to the others: no process needs to start.
        prefer = (
            "threads" if engine == "gradient-boosting" and can_boost_exactly(x) else "processes"
        )
        found = Parallel(n_jobs=workers, prefer=prefer)(delayed(_one)(*jobs[k]) for k in order)
        fits = [fit for _, fit in sorted(zip(order, found, strict=True), key=itemgetter(0))]
    elif engine == "first-order":
        streams = [rng(own, "boosting") for *_, own in jobs]
        fits = boost_all(x, list(factors.T), x_test, streams)
    else:
        fits = [_one(*job) for job in jobs]
    return EngineResult(
        np.stack([fit.importance for fit in fits], axis=1),
        np.array(
            [np.mean(fit.train == y) for fit, (_, y) in zip(fits, _each(factors), strict=True)]
        ),
        np.array(
            [np.mean(fit.test == y) for fit, (_, y) in zip(fits, _each(factors_test), strict=True)]
        ),
    )


def _each(factors: Integers) -> list[tuple[int, Integers]]:
    return list(enumerate(factors.T))


def _one(engine: Engine, x: Floats, y: Integers, x_test: Floats, seed: int) -> Boosted:
    return engine(x, y, x_test, seed)
