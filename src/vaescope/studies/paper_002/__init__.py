"""Studies of paper 002."""

from vaescope.studies.paper_002 import dto_steps, figure_7_6, table_3_4, worked_example
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (
    table_3_4.STUDY,
    dto_steps.STUDY,
    worked_example.STUDY,
    figure_7_6.STUDY,
)
