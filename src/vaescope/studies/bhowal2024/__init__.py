"""Studies of bhowal2024."""

from vaescope.studies.bhowal2024 import table_6
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (table_6.STUDY,)
