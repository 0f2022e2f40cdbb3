"""Studies of paper 003."""

from vaescope.studies.paper_003 import table_6
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (table_6.STUDY,)
