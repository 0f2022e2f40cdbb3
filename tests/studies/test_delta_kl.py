"""The share of training in the polarised regime."""

from pathlib import Path

import pytest
import torch

from vaescope.build import build_data
from vaescope.latents.polarised import delta_kl
from vaescope.opening import encode
from vaescope.runs import Run
from vaescope.studies.zietlow2022.delta_kl import Watched, share_below, watched
from vaescope.sweeps.grid import plan
from vaescope.training.run import train_run

SETTINGS = {
    "preset": "beta-vae", "data.name": "digits", "net.name": "mlp", "net.encoder": [8],
    "net.decoder": [8], "latent": 2, "steps": 12, "seed": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("deltas", "share"),
    [
        ([0.5, 0.02, 0.02, 0.02], 0.75),
        ([0.02, 0.02, 0.5, 0.02], 0.25),  # what was below before counts for nothing
        ([0.02, 0.02, 0.02, 0.03], 0.0),  # below, not at most
        ([0.02, 0.02, 0.02, 0.02], 1.0),
        ([0.02, float("nan"), 0.02, 0.02], 0.5),
    ],
)
def test_the_share_counts_from_the_last_violation(deltas: list[float], share: float) -> None:
    assert share_below(deltas) == share


def test_a_training_is_checked_every_few_steps_and_for_the_last_time_at_its_end() -> None:
    whole, half = (watched({**SETTINGS, "steps": steps}, every=3) for steps in (12, 6))
    assert len(whole.deltas) == 4
    assert whole.deltas[:2] == pytest.approx(half.deltas, rel=1e-5)
    assert whole.end.delta == whole.deltas[-1]


def test_what_is_watched_is_the_training_as_it_would_be_alone(tmp_path: Path) -> None:
    (spec,) = plan([SETTINGS])
    data = build_data(spec.data)
    run = Run.of(spec, "beta-vae", tmp_path)
    run.create(spec)
    for _ in train_run(run, spec, data, device=torch.device("cpu")):
        pass
    alone = delta_kl(encode(run, index=data.sample(1000, seed=0)))
    assert watched(SETTINGS, every=12).end.delta == pytest.approx(alone.delta, rel=1e-5)


def test_the_last_violation_is_a_step() -> None:
    found = watched(SETTINGS, every=3)
    above = [3 * (i + 1) for i, delta in enumerate(found.deltas) if delta >= 0.03]
    assert found.to_dict()["last_above"] == (above[-1] if above else 0)


def test_how_much_the_loss_still_falls_is_over_the_second_half() -> None:
    end = watched({**SETTINGS, "steps": 3}, every=3).end
    falling = tuple([200.0] * 40 + [110.0] * 10 + [105.0] * 40 + [100.0] * 10)
    assert Watched((0.0,) * 100, 1, end, falling).late_fall == pytest.approx(0.1)
    assert Watched((0.0,) * 100, 1, end, (7.0,) * 100).late_fall == 0.0
    assert len(watched(SETTINGS, every=3).losses) == 4
