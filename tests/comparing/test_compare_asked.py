"""What is said of models that vaescope did not train reaches all of them, and only them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.corpus.layers import Layers, reparameterise
from tests.adapters.corpus.style import digits
from torch import Tensor, nn

import vaescope as vs
from vaescope.cli import main
from vaescope.errors import ReadingError, UsageError
from vaescope.runs import Run

X = np.random.default_rng(0).random((96, 1, 8, 8), dtype=np.float32)


class TwoHeads(nn.Module):
    """Nothing draws its latents, so that its second output could be any kind of spread."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.head, self.out = nn.Linear(64, 8), nn.Linear(4, 64)

    def encode(self, x: Any) -> Any:
        return self.head(x.flatten(1)).chunk(2, 1)

    def decode(self, z: Any) -> Any:
        return self.out(z).reshape(-1, 1, 8, 8).sigmoid()


def build() -> nn.Module:
    return TwoHeads()


@pytest.mark.slow
def test_what_was_asked_is_answered_for_all_models() -> None:
    models = [TwoHeads(0), TwoHeads(1)]
    with pytest.raises(ReadingError, match="posterior="):
        vs.compare(models, X, images=False)
    rates = []
    for kind in ("logvar", "std"):
        found = vs.compare(models, X, images=False, posterior=kind, output="probabilities")
        rates.append(found.metrics["rate"].gaps[0])
        for side, model in zip(("first", "second"), models, strict=True):
            opened = vs.open_model(model, X, posterior=kind, output="probabilities")
            mean, variance = opened.codes.mean, opened.codes.variance
            kl = 0.5 * (mean**2 + variance - 1.0 - np.log(variance)).sum(axis=1).mean()
            assert getattr(rates[-1], side) == pytest.approx(kl, rel=0.1)  # at drawn noise
    assert rates[0].first != rates[1].first


def test_runs_need_no_answer(make: Callable[..., Run]) -> None:
    with pytest.raises(UsageError, match="Leave posterior out"):
        vs.compare(make("one"), make("two"), posterior="logvar")


@pytest.mark.slow
def test_a_run_is_not_told_what_a_module_is(make: Callable[..., Run]) -> None:
    run = make("one")
    x = vs.open_model(run).data

    class Linear(TwoHeads):
        def __init__(self) -> None:
            super().__init__()
            columns = int(np.prod(x.shape))
            self.head, self.out = nn.Linear(columns, 8), nn.Linear(4, columns)

        def decode(self, z: Any) -> Any:
            return self.out(z).reshape(-1, *x.shape)

    found = vs.compare(run, Linear(), data=x, images=False, posterior="std")
    alone = vs.open_model(Linear(), x, posterior="std", rows=5_000)
    expected = vs.latents.types(alone.codes).mean_variance
    np.testing.assert_allclose(found.kinds[1].mean_variance, expected, rtol=1e-6)


@pytest.mark.slow
def test_the_command_takes_the_same_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in (0, 1):
        torch.save(TwoHeads(seed).state_dict(), tmp_path / f"{seed}.pt")
    np.savez(tmp_path / "x.npz", images=X)
    words = [
        "vaescope", "compare", str(tmp_path / "0.pt"), str(tmp_path / "1.pt"),
        "--model", f"{__name__}:build", "--data", str(tmp_path / "x.npz"), "--json",
    ]  # fmt: skip
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "--posterior" in json.loads(capsys.readouterr().out)["error"]["remedy"]
    monkeypatch.setattr("sys.argv", [*words, "--posterior", "logvar", "--output", "probabilities"])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert "rate" in json.loads(capsys.readouterr().out)["metrics"]


def test_models_of_others_get_standardised_images_as_they_came() -> None:
    class Standardised(Layers):
        def encode(self, x: Tensor) -> Any:
            return self._heads(x)

        def decode(self, z: Tensor) -> Tensor:
            return self._drawn(z).view(-1, 1, 8, 8)

        def forward(self, x: Tensor) -> Any:
            mean, logvar = self.encode(x)
            return self.decode(reparameterise(mean, logvar)), mean, logvar

    torch.manual_seed(0)
    models = [Standardised().eval(), Standardised().eval()]
    x = (digits() - 0.3) / 0.37
    found = vs.compare(models, x, images=False).metrics["rate"].values
    with torch.no_grad():
        for model, rate in zip(models, found, strict=True):
            mean, logvar = model.encode(x)
            wanted = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum(1).mean()
            assert rate == pytest.approx(float(wanted), rel=1e-4)
