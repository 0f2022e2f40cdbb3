"""Static figures show the numbers they are given, and leave matplotlib's global state alone."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from vaescope.errors import UsageError
from vaescope.figures import draw_curves, draw_histograms, draw_latents, draw_traversals
from vaescope.inspection import Histograms, Latent, Training
from vaescope.traversals import Traversals

LATENTS = (
    Latent(1, "active", 2.0, 1.0, 0.01, 0.0, "x", 0.7),
    Latent(2, "mixed", 0.5, 0.5, 0.4, 0.04),
    Latent(0, "passive", None, 0.0, 1.0, 0.0),
)
EDGES = np.linspace(-4.0, 4.0, 6)
HISTOGRAMS = Histograms(EDGES, np.eye(3, 5), np.ones((3, 5)) / 8, np.full((3, 5), 0.2))


def training(records: int) -> Training:
    counts = np.ones(records, dtype=np.int64)
    values = np.linspace(5.0, 1.0, records)
    return Training(np.arange(records), values, values, values, counts, counts, counts)


def traversals(event: tuple[int, ...]) -> Traversals:
    outputs = np.random.default_rng(0).random((3, 4, *event))
    return Traversals(np.zeros(3), np.linspace(-1, 1, 4), np.full(3, 1 / 3), outputs)


def drawn(figure: Figure) -> int:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg")
    return len(buffer.getvalue())


def test_bars_are_the_rates_in_the_order_given() -> None:
    rate, variance = draw_latents(LATENTS).axes
    assert [bar.get_width() for bar in rate.patches] == [2.0, 0.5, 0.0]
    assert [label.get_text() for label in rate.get_yticklabels()] == ["1", "2", "0"]
    np.testing.assert_allclose(variance.collections[-1].get_offsets()[:, 0], [0.01, 0.4, 1.0])


def test_each_latent_has_its_histogram() -> None:
    panels = draw_histograms(HISTOGRAMS, LATENTS).axes
    assert [panel.get_title(loc="left") for panel in panels] == [
        "1, active",
        "2, mixed",
        "0, passive",
    ]
    line = panels[0].patches[1].get_data()
    np.testing.assert_allclose(line.values, HISTOGRAMS.mean[1])


@pytest.mark.parametrize("records", [1, 30])
def test_curves_show_every_record(records: int) -> None:
    distortion, rate, types = draw_curves(training(records)).axes
    assert len(distortion.lines[0].get_xdata()) == len(rate.lines[0].get_xdata()) == records
    assert types.get_ylim()[1] == 3


def test_images_stand_in_rows_of_sorted_latents() -> None:
    moved = traversals((1, 6, 6))
    axes = draw_traversals(moved, LATENTS).axes
    assert len(axes) == 12
    assert moved.outputs is not None
    np.testing.assert_allclose(axes[0].images[0].get_array(), moved.outputs[1, 0, 0])
    assert [axes[row * 4].images[0].get_alpha() for row in range(3)] == [1.0, 1.0, 0.25]


def test_vectors_are_lines() -> None:
    axes = draw_traversals(traversals((5,)), LATENTS).axes
    assert [len(panel.lines) for panel in axes] == [5, 5, 5]


def test_traversals_without_pictures_cannot_be_drawn() -> None:
    bare = Traversals(np.zeros(3), np.zeros(4), np.ones(3) / 3, None)
    with pytest.raises(UsageError, match="images=True"):
        draw_traversals(bare, LATENTS)


def test_all_can_be_saved_for_a_paper() -> None:
    figures = (
        draw_latents(LATENTS), draw_histograms(HISTOGRAMS, LATENTS), draw_curves(training(5)),
        draw_traversals(traversals((3, 6, 6)), LATENTS),
    )  # fmt: skip
    assert all(drawn(figure) > 2_000 for figure in figures)


@pytest.mark.slow
def test_pyplot_is_never_imported() -> None:
    code = (
        "import sys, vaescope.figures.latents, vaescope.figures.traversals, "
        "vaescope.figures.histograms, vaescope.figures.curves; "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_the_report_needs_no_matplotlib() -> None:
    code = "import sys, vaescope.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
