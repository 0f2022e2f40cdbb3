"""Studies of grzes2023."""

from vaescope.studies.grzes2023 import figures, open_questions, posteriors, trained
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (
    figures.STUDY,
    open_questions.DISCARDED,
    open_questions.PRESSURE,
    open_questions.LEARNED_MEANS,
    trained.DISCARDED,
    trained.PRESSURE,
    trained.LEARNED_MEANS,
    posteriors.REGIME,
    posteriors.COVARIANCE,
)
