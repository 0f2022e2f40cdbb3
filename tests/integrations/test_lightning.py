"""The callback in a real `Trainer` run sees what `vs.watch` sees of the same batches."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import vaescope as vs
from vaescope.errors import UsageError

L = pytest.importorskip("lightning", reason="the extra lightning is not installed")
from vaescope.integrations.lightning import WatchLatents  # noqa: E402


class Model(L.LightningModule):  # type: ignore[misc, name-defined]
    """A linear encoder; notes what it saw. The first latent is used, the others are not."""

    def __init__(self, *, says: bool = True) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.says = says
        self.encoder, self.decoder = nn.Linear(3, 8), nn.Linear(4, 3)
        self.noted: list[tuple[np.ndarray, np.ndarray]] = []

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        return mean, logvar

    def training_step(self, batch: tuple[Tensor], _: int) -> Any:
        mean, logvar = self.encode(batch[0])
        self.noted.append((mean.detach().numpy().copy(), logvar.detach().numpy().copy()))
        loss = (self.decoder(mean) - batch[0]).square().mean() + 0.1 * mean.square().mean()
        return (
            {"loss": loss, "mean": mean.detach(), "logvar": logvar.detach()} if self.says else loss
        )

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.0)  # so that a later look sees the same


def fit(model: Model, callback: WatchLatents, folder: Path) -> Any:
    trainer = L.Trainer(
        max_epochs=2, accelerator="cpu", callbacks=[callback], logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=folder,
    )  # fmt: skip
    rows = torch.randn(40, 3, generator=torch.Generator().manual_seed(1))
    data = torch.utils.data.TensorDataset(rows)
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=8))
    return trainer


def expected(model: Model, **prior: Any) -> Any:
    seen = None
    for mean, logvar in model.noted:
        seen = vs.watch(mean, logvar=logvar, state=seen, **prior)
    return seen


@pytest.mark.parametrize("says", [True, False])
def test_it_sees_what_watch_sees_and_logs_it(tmp_path: Path, says: bool) -> None:
    model = Model(says=says)
    callback = WatchLatents(
        None if says else lambda module, _, batch: dict(
            zip(("mean", "logvar"), module.encode(batch[0]), strict=True)
        )
    )  # fmt: skip
    trainer = fit(model, callback, tmp_path)
    assert len(model.noted) == 10 and callback.seen is not None
    assert callback.seen.examples == 80
    wanted = expected(model)
    np.testing.assert_allclose(callback.seen.kl, wanted.kl, rtol=1e-6)
    assert callback.seen.names == wanted.names
    logged = trainer.callback_metrics
    assert float(logged["latents/kl"]) == pytest.approx(wanted.kl.sum(), rel=1e-5)
    assert "latents/variance_3" in logged


def test_a_prior_that_is_given_is_used_and_one_that_is_not_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "vaescope")
    model, prior = Model(), {"prior_mean": 0.5, "prior_variance": np.full(4, 2.0)}
    callback = WatchLatents(prior=prior)
    fit(model, callback, tmp_path)
    assert callback.seen is not None
    np.testing.assert_allclose(callback.seen.kl, expected(model, **prior).kl, rtol=1e-6)
    assert not np.allclose(callback.seen.kl, expected(model).kl)
    assert "assumed to be N(0, I)" not in caplog.text
    fit(Model(), WatchLatents(), tmp_path)
    assert caplog.text.count("assumed to be N(0, I)") == 1


def test_every_other_batch_and_steps_that_say_nothing(tmp_path: Path) -> None:
    callback = WatchLatents(every=2)
    fit(Model(), callback, tmp_path)
    assert callback.seen is not None and callback.seen.examples == 6 * 8  # 0, 2, 4 of each epoch
    with pytest.raises(UsageError, match=r"wanted `mean` and one of variance.*posterior="):
        fit(Model(says=False), WatchLatents(), tmp_path)
