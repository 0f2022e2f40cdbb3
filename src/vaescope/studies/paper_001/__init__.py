"""Studies of paper 001."""

from vaescope.studies.paper_001 import figure_10
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (figure_10.STUDY,)
