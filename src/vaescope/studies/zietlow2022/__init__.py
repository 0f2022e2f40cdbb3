"""Studies of zietlow2022."""

from vaescope.studies.study import Study
from vaescope.studies.zietlow2022 import (
    cause,
    coordinates,
    dto_steps,
    figure_3_4,
    figure_3_6,
    figure_3_7_dsprites,
    figure_3_7_synth,
    figure_4_1,
    figure_7_6,
    figures_4,
    local_global,
    orthogonal,
    seeds,
    table_3_2_images,
    table_3_2_synth,
    table_3_3_dsprites,
    table_3_3_mnist,
    table_3_3_synth,
    table_3_4,
    tables_4,
    theorem_2,
    worked_example,
)

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (
    table_3_4.STUDY,
    table_3_2_synth.STUDY,
    table_3_2_images.STUDY,
    table_3_3_dsprites.STUDY,
    table_3_3_mnist.STUDY,
    table_3_3_synth.STUDY,
    figure_3_4.STUDY,
    figure_3_6.STUDY,
    figure_3_7_dsprites.STUDY,
    figure_3_7_synth.STUDY,
    dto_steps.STUDY,
    orthogonal.STUDY,
    seeds.STUDY,
    theorem_2.STUDY,
    worked_example.STUDY,
    figure_4_1.STUDY,
    *tables_4.STUDIES,
    cause.STUDY,
    figures_4.STUDY,
    figure_7_6.STUDY,
    local_global.STUDY,
    coordinates.STUDY,
)
