"""Studies of grzes2023."""

from vaescope.studies.grzes2023 import figures
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (figures.STUDY,)
