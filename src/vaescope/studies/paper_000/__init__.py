"""Studies of paper 000."""

from vaescope.studies.paper_000 import figures
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (figures.STUDY,)
