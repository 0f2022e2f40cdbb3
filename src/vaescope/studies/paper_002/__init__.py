"""Studies of paper 002."""

from vaescope.studies.paper_002 import table_3_4
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (table_3_4.STUDY,)
