"""Studies of bonheme2023."""

from vaescope.studies.bonheme2023 import figure_10
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (figure_10.STUDY,)
