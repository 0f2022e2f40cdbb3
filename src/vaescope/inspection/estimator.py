"""Dissects a fitted `vs.VAEEstimator` on rows like those that it was fitted on."""

from sklearn.utils.validation import check_is_fitted

from vaescope.data import Dataset
from vaescope.errors import ShapeError
from vaescope.estimator import VAEEstimator
from vaescope.inspection.dissect import Progress, silent
from vaescope.inspection.results import Inspection
from vaescope.inspection.trained import inspect_trained

__all__ = ["inspect_estimator"]


def inspect_estimator(
    estimator: VAEEstimator,
    data: Dataset,
    *,
    name: str | None = None,
    effort: str = "default",
    images: bool = True,
    progress: Progress = silent,
) -> Inspection:
    """The same as of a run with its settings: posteriors have their noise and nothing is inferred.

    Raises scikit-learn's NotFittedError before `fit`, and ShapeError for rows of another shape.
    """
    check_is_fitted(estimator)
    if data.shape != estimator.shape_in_:
        raise ShapeError(
            f"The data have rows of shape {data.shape}; the estimator was fitted on "
            f"{estimator.shape_in_}.",
            "Give rows of the shape that `fit` saw, after the same preprocessing.",
        )
    return inspect_trained(
        estimator.vae_, estimator.experiment_, data,
        [record.to_dict() for record in estimator.history_],
        name=name or type(estimator).__name__, effort=effort, images=images, progress=progress,
    )  # fmt: skip
