"""A study's figure shows what its table has: every run, means over seeds, kept distributions."""

import numpy as np
import pytest

from vaescope.figures.palette import SERIES_DARK
from vaescope.figures.studies import SMALL, axis_words, draw_study
from vaescope.report.study_page import figure_svg
from vaescope.studies import Claim, Gap, Level, Study
from vaescope.studies.bonheme2023.histograms import FIGURE_4, FIGURE_5
from vaescope.studies.catalogue import STUDIES
from vaescope.studies.panels import (
    Curves,
    Dots,
    HistogramPanel,
    Images,
    Panel,
    Scatter,
    Together,
)
from vaescope.studies.running import Outcome
from vaescope.tables import Table

TABLE = Table(
    {
        "run": ["a-0", "a-1", "b-0", "b-1"],
        "method": ["a", "a", "b", "b"],
        "seed": [0, 1, 0, 1],
        "beta": [1.0, 1.0, 2.0, 2.0],
    },
    {"score": [0.0, 1.0, 4.0, None], "cost": [1.0, 2.0, 3.0, 4.0]},
)
KEPT = {"wide": np.linspace(-2.0, 2.0, 61), "narrow": np.zeros(5)}


def test_every_known_run_is_a_dot_and_every_group_has_its_mean() -> None:
    (axes,) = draw_study([Dots("Score", "score", "method")], TABLE).axes
    dots = np.concatenate([line.get_ydata() for line in axes.lines if line.get_marker() == "o"])
    assert sorted(dots) == [0.0, 1.0, 4.0]
    bars = [line.get_ydata()[0] for line in axes.lines if len(set(line.get_ydata())) == 1]
    assert {0.5, 4.0} <= set(bars)


def test_a_threshold_is_a_line_and_the_papers_numbers_are_diamonds() -> None:
    panel = Dots("Score", "score", "method", threshold=0.25, paper={"b": 3.0, "absent": 9.0})
    (axes,) = draw_study([panel], TABLE).axes
    diamonds = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "D"]
    assert diamonds == [[[1.0, 3.0]]]
    assert [0.25, 0.25] in [list(line.get_ydata()) for line in axes.lines]


def test_claims_about_a_level_put_their_thresholds_into_its_panels() -> None:
    """Those of other rows, other measures and of differences do not."""
    claims = [
        Claim("a", "nowhere", Level("score", {"method": "a"}), "above", 0.25),
        Claim("b", "nowhere", Level("score", {"method": "b"}), "within", 3.0, margin=0.5),
        Claim("c", "nowhere", Level("cost"), "above", 7.0),
        Claim("d", "nowhere", Gap("score", {"method": "a"}, {"method": "b"}), "above", 0.1),
    ]
    whole, part = (Dots("Score", "score", "method", where) for where in ({}, {"method": "a"}))
    figure = draw_study([whole, part], TABLE, claims=claims)
    drawn = [
        sorted({line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"})
        for axes in figure.axes
    ]
    assert drawn == [[0.25, 2.5, 3.5], [0.25]]


def test_measures_on_one_axis_are_lines_with_their_labels() -> None:
    panel = Together("Both", {"points": "score", "price": "cost"}, "beta")
    (axes,) = draw_study([panel], TABLE).axes
    assert [line.get_label() for line in axes.lines] == ["points", "price"]
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), [1.5, 3.5])


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_axes_are_named_in_words(study: Study) -> None:
    columns = {
        name
        for panel in study.panels
        for key in ("by", "along", "against")
        if (name := getattr(panel, key, ""))
    }
    assert all(not set("._") & set(axis_words(column)) for column in columns)


@pytest.mark.slow
def test_a_figure_follows_the_dark_and_its_words_can_be_read_at_400_pixels() -> None:
    """Two panels beside each other; words are text of at least 7 pixels there."""
    panels = (Dots("Score", "score", "method"), Curves("Score", "score", "beta"))
    study = Study("paper/table", "t", lambda scale: None, (), panels, (), "")  # type: ignore[arg-type,return-value]
    text = figure_svg(study, Outcome(study.id, "laptop", "", TABLE, {}))
    assert "prefers-color-scheme:dark" in text and "var(--ink," in text
    assert "var(--series-0," in text
    assert text == figure_svg(study, Outcome(study.id, "laptop", "", TABLE, {}))
    width = float(text.partition('width="')[2].partition("pt")[0])
    assert SMALL * 400.0 / width >= 7.0
    assert ">Score</text>" in text


def test_dots_stand_out_in_the_dark() -> None:
    """WCAG 2's contrast of three for graphics, at the opacity of dots."""

    def channels(colour: str) -> np.ndarray:
        return np.array([int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)])

    def luminance(rgb: np.ndarray) -> float:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    below = channels("#14181D")
    ground = luminance(below)
    contrasts = []
    for colour in SERIES_DARK:
        own = luminance(0.7 * channels(colour) + 0.3 * below)
        contrasts.append((own + 0.05) / (ground + 0.05))
    assert min(contrasts) >= 3.0


def test_curves_go_through_the_means_over_seeds() -> None:
    (axes,) = draw_study([Curves("Score", "score", "beta")], TABLE).axes
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [1.0, 2.0])
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [0.5, 4.0])


def test_runs_without_one_of_two_measures_are_left_out_of_a_scatter() -> None:
    (axes,) = draw_study([Scatter("Both", "score", "cost")], TABLE).axes
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [1.0, 2.0, 3.0])


def test_histograms_share_bins_and_rise_to_one() -> None:
    panel = HistogramPanel("Kept", {"spread out": "wide", "a spike": "narrow"})
    (axes,) = draw_study([panel], TABLE, [{}, KEPT]).axes
    wide, narrow = (patch.get_data() for patch in axes.patches)
    np.testing.assert_array_equal(wide.edges, narrow.edges)
    assert wide.values.max() == narrow.values.max() == 1.0
    assert np.count_nonzero(narrow.values) == 1
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["spread out", "a spike"]


def test_panels_whose_arrays_or_columns_were_not_kept_are_left_out() -> None:
    panels: list[Panel] = [
        Dots("Later", "newer", "method"),
        Curves("Later", "score", "beta", where={"arm": "trained"}),
        Images("Faces", "face", "method"),
        HistogramPanel("Kept", {"spread out": "wide", "none": "empty"}),
        Dots("Score", "score", "method"),
    ]
    figure = draw_study(panels, TABLE, [{**KEPT, "empty": np.zeros(0)}, {}, {}, {}])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Score"]


def test_small_numbers_and_powers_of_ten_are_written_out_beside_the_axes() -> None:
    small = Table(TABLE.settings, {"score": [1e-12, 2e-12, 3e-12, 4e-12]})
    panels = [Dots("Score", "score", "method"), Curves("Score", "score", "beta", log=True)]
    figure = draw_study(panels, small)
    figure.canvas.draw()
    dots, curves = figure.axes
    assert dots.yaxis.get_offset_text().get_text() == ""
    assert any(label.get_text().endswith("e-12") for label in dots.get_yticklabels())
    assert {"1", "2"} <= {label.get_text() for label in curves.get_xticklabels()}


def test_long_titles_are_broken() -> None:
    (axes,) = draw_study([Dots("A title " * 10, "score", "method")], TABLE).axes
    assert "\n" in axes.get_title(loc="left")


@pytest.mark.parametrize("study", [FIGURE_4, FIGURE_5], ids=lambda study: study.id)
def test_histograms_of_types_are_of_what_their_study_keeps(study: Study) -> None:
    kept = {
        f"{name}_{kind}": np.linspace(0.0, place + 1.0, 9)
        for place, kind in enumerate(("passive", "mixed", "active"))
        for name in ("mean", "sample")
    }
    panels = [panel for panel in study.panels if isinstance(panel, HistogramPanel)]
    (axes,) = draw_study(panels, TABLE, [kept]).axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["passive", "mixed", "active"]
    assert [np.flatnonzero(one.get_data().values)[-1] for one in axes.patches] == [20, 40, 59]
