"""Studies of mathieu2019."""

from vaescope.studies.mathieu2019 import (
    appendix_c,
    appendix_c_dimension,
    figure_2,
    figure_3,
    figure_4,
    figure_4_faces,
    figure_6,
    isotropic_encoder,
    overlap,
    subspaces,
    subspaces_trained,
    theorems,
    towards_modes,
    towards_modes_trained,
)
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (
    theorems.STUDY,
    figure_2.ANISOTROPIC,
    figure_2.STUDENT_T,
    figure_2.SEED_SHARE,
    figure_3.STUDY,
    figure_4.STUDY,
    figure_4_faces.STUDY,
    figure_6.STUDY,
    appendix_c.ESTIMATOR,
    appendix_c.TRAINING,
    appendix_c_dimension.STUDY,
    isotropic_encoder.STUDY,
    overlap.STUDY,
    towards_modes.STUDY,
    towards_modes_trained.STUDY,
    subspaces.STUDY,
    subspaces_trained.STUDY,
)
