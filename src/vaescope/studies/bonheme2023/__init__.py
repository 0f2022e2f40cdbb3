"""Studies of bonheme2023."""

from vaescope.studies.bonheme2023 import (
    annealed,
    correlation,
    factor_vae,
    figure_6,
    figure_10,
    histograms,
    questions,
    traces,
    type_counts,
    unpolarised,
)
from vaescope.studies.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (
    histograms.FIGURE_4,
    histograms.FIGURE_5,
    figure_6.STUDY,
    type_counts.FIGURE_7,
    correlation.FIGURE_8,
    correlation.FIGURE_9,
    figure_10.STUDY,
    traces.FIGURE_11,
    traces.FIGURE_12,
    traces.FIGURE_13,
    type_counts.FIGURE_14,
    annealed.FIGURES_15_16,
    annealed.FIGURE_17,
    annealed.FIGURE_18,
    questions.READOUTS,
    traces.FIRST,
    questions.THRESHOLD,
    questions.CONSUMERS,
    factor_vae.STUDY,
    unpolarised.STUDY,
)
