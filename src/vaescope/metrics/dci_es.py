"""DCI-ES: explicitness and size. Eastwood et al. 2023, https://arxiv.org/abs/2210.00364."""

from dataclasses import replace

import numpy as np

from vaescope.codes import Codes
from vaescope.metrics.rows import Representation, labelled, split
from vaescope.metrics.score import Protocol, Score
from vaescope.seeds import derive
from vaescope.types import Double, Floats, Integers

__all__ = ["DEPTHS", "area", "dci_explicitness", "dci_size"]

#: Capacities: the depths of the authors' forests.
DEPTHS = (1, 2, 3, 4, 8, 10, 12, 14, 16, 18, 20, 32)
_TREES = 20


def dci_explicitness(
    codes: Codes,
    *,
    trees: int = _TREES,
    on: Representation = "mean",
    train: int | None = None,
    test: int | None = None,
    seed: int = 0,
) -> Score:
    """E: how little capacity a probe needs to predict the factors as well as any probe of its kind
    can.

    Mean over factors of 1 - 2 A / (capacities times the loss of the best constant), A the area of
    the loss above its least value, over the capacity; the loss is the least so far, which makes it
    fall. The probe is a random forest, its capacity the depth of the trees, its loss the share of
    wrong classes on the test rows. It is 1 if depth 1 finds all the information there is, even if
    there is none: look at `dci_informativeness` as well. The authors train a forest for each depth;
    here one forest is cut at each of them, which has the same distribution at each depth and takes
    one fit. The smallest loss of twelve forests is a little lower than that of one, so their score
    is up to 0.015 lower (docs/results/dci_es.md). Permuted rows have no loss to lose, so there is
    no chance level.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        trees: number of trees.
        on: `mean` or `sample`: the representation that is scored.
        train: number of training rows of the classifiers; None takes the protocol's.
        test: number of test rows; None takes the protocol's.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.dci_explicitness(codes).value, 2)
        0.99
    """
    rows = split(codes, "dci_explicitness", on=on, train=train, test=test, seed=seed)
    losses, baseline = [], []
    for y, y_test in zip(rows.train.factors.T, rows.test.factors.T, strict=True):
        commonest = np.bincount(y).argmax()
        baseline.append(float((y_test != commonest).mean()))
        losses.append(_losses(rows.train.z, y, rows.test.z, y_test, trees, seed))
    per_factor = np.array([area(own, base) for own, base in zip(losses, baseline, strict=True)])
    settings = {
        "estimator": f"random forest of {trees} trees, cut at each depth", "train": rows.train.n,
        "test": rows.test.n, "depths": list(DEPTHS), "seed": seed,
        "factors": list(rows.train.names),
    }  # fmt: skip
    return Score(
        float(per_factor.mean()),
        Protocol("default", rows.n, settings, on, codes.supervised),
        {"per_factor": per_factor, "loss": np.array(losses), "baseline": np.array(baseline)},
    )


def area(losses: Floats, baseline: float, capacities: tuple[int, ...] = DEPTHS) -> float:
    """E of losses at rising capacities: 1 - 2 times the area above the least / that of a constant.

    >>> area(np.zeros(12), 0.5), round(area(0.5 - 0.5 * (np.array(DEPTHS) - 1) / 31, 0.5), 3)
    (1.0, 0.0)
    """
    falling = np.minimum.accumulate(np.asarray(losses, dtype=np.float64)) - np.min(losses)
    largest = (capacities[-1] - capacities[0]) * baseline
    if largest <= 0:
        return 1.0  # a constant makes no error: nothing is left to learn
    under = float(np.trapezoid(falling, np.asarray(capacities, dtype=np.float64)))
    return 1.0 - 2.0 * under / largest


def _losses(
    x: Floats, y: Integers, x_test: Floats, y_test: Integers, trees: int, seed: int
) -> Double:
    """Share of wrong classes of the forest cut at each depth."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(
        n_estimators=trees, max_depth=DEPTHS[-1],
        random_state=derive(seed, "dci-explicitness") % 2**32, n_jobs=1,
    )  # fmt: skip
    # As the forest itself: trees take float32, and numbers beyond it have no order there.
    scale = np.abs(x).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    forest.fit((x / scale).astype(np.float32), y)
    inputs = (x_test / scale).astype(np.float32)
    votes = np.zeros((len(DEPTHS), len(x_test), len(forest.classes_)))
    for tree in forest.estimators_:
        node, own = np.zeros(len(inputs), dtype=np.int64), tree.tree_
        share = own.value[:, 0] / own.value[:, 0].sum(axis=1, keepdims=True)
        depth = 0
        for place, wanted in enumerate(DEPTHS):
            while depth < wanted:
                inner = np.flatnonzero(own.children_left[node] >= 0)
                if not len(inner):
                    break
                at = node[inner]
                left = inputs[inner, own.feature[at]] <= own.threshold[at]
                node[inner] = np.where(left, own.children_left[at], own.children_right[at])
                depth += 1
            votes[place] += share[node]
    predicted = forest.classes_[votes.argmax(axis=2)]
    return np.asarray((predicted != y_test).mean(axis=1))


def dci_size(codes: Codes, *, on: Representation = "mean") -> Score:
    """S: the number of factors that vary divided by the number of latents, at most 1; spare latents
    lower it.

    It depends only on the shape of the codes, so it has no chance level and no interval.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        on: `mean` or `sample`: the representation that is scored.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.dci_size(codes).value, 2)
        0.6
    """
    rows = labelled(codes, "dci_size", on=on)
    value = min(1.0, rows.factors.shape[1] / codes.d)
    settings = {"estimator": "factors / latents", "factors": list(rows.names), "seed": None}
    protocol = Protocol("default", codes.n, settings, on)
    return Score(value, replace(protocol, supervised=codes.supervised))
