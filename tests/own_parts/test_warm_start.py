"""`init_from=RUN`: the first step starts from that run's weights, and the digest says so."""

from pathlib import Path
from typing import Any

import pytest
import torch

import vaescope as vs
from vaescope.errors import RunError, UsageError
from vaescope.settings import from_command_line
from vaescope.specs import digest, to_dict
from vaescope.training.many import stackable


def train(out: Path, **settings: Any) -> vs.Run:
    chosen = {"latent": 2, "steps": 20, **settings}
    return vs.train("vae", "synth-linear", out=out, **chosen)


def weights(run: vs.Run) -> torch.Tensor:
    return torch.cat([p.reshape(-1) for p in vs.load_vae(run).parameters()])


def test_training_starts_from_the_weights_of_the_run(tmp_path: Path) -> None:
    first = train(tmp_path)
    still = train(tmp_path, init_from=str(first.path), lr=1e-12, seed=5)
    torch.testing.assert_close(weights(still), weights(first), rtol=0, atol=1e-7)
    fresh = train(tmp_path, lr=1e-12, seed=5)
    assert not torch.allclose(weights(fresh), weights(first), atol=1e-2)


def test_the_digest_holds_the_run_but_not_where_it_lies(tmp_path: Path) -> None:
    first, other = train(tmp_path / "a"), train(tmp_path / "a", seed=1)
    (tmp_path / "b").mkdir()
    moved = first.path.rename(tmp_path / "b" / "moved")
    copied = train(tmp_path / "a")  # the same experiment again, to the same bytes
    settings = ["data.name=synth-linear", "latent=2", "steps=20"]
    digests = [
        digest(from_command_line("vae", [*settings, f"init_from={path}"]))
        for path in (moved, copied.path, other.path)
    ]
    assert digests[0] == digests[1] != digests[2]
    plain = from_command_line("vae", settings)
    assert "init_from" not in to_dict(plain) and digest(plain) not in digests
    assert not stackable(from_command_line("vae", [*settings, f"init_from={moved}"]))


def test_what_cannot_be_the_start_is_refused(tmp_path: Path) -> None:
    first = train(tmp_path)
    with pytest.raises(UsageError, match="not the folder of a finished run"):
        train(tmp_path, init_from=str(tmp_path / "nowhere"))
    with pytest.raises(RunError, match="do not fit"):
        train(tmp_path, latent=3, init_from=str(first.path))
    settings = ["data.name=synth-linear", "latent=2", "steps=20", "seed=9"]
    spec = from_command_line("vae", [*settings, f"init_from={first.path}"])
    first.weights.write_bytes(train(tmp_path, seed=3).weights.read_bytes())
    run = vs.Run.of(spec, "vae", tmp_path)
    run.create(spec)
    from vaescope.build import build_data
    from vaescope.training.run import train_run

    with pytest.raises(RunError, match="does not hold the weights"):
        list(train_run(run, spec, build_data(spec.data), device=torch.device("cpu")))
