"""Studies of bhowal2024."""

from vaescope.studies.bhowal2024 import (
    correlated,
    correlation_levels,
    local_models,
    more_sets,
    shapes,
    single_latent,
    table_5,
    table_6,
    table_7,
    theorem_1,
    theorem_2,
)
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (
    local_models.TABLE_1,
    local_models.TABLE_2,
    more_sets.LOCAL,
    table_5.STUDY,
    table_6.STUDY,
    shapes.STUDY,
    more_sets.SCORES,
    table_7.STUDY,
    theorem_1.STUDY,
    theorem_2.STUDY,
    correlated.STUDY,
    correlation_levels.STUDY,
    single_latent.STUDY,
)
