"""Wrappers give what the plain functions give: on one process, on two, and in a Trainer's log."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vaescope.codes import Codes
from vaescope.errors import UsageError
from vaescope.metrics import active_units, dci, infoe, infomec, mig, modularity, sap
from vaescope.metrics.torchmetrics import (
    ActiveUnitsMetric,
    DCIMetric,
    InfoMECMetric,
    MIGMetric,
    ModularityMetric,
    SAPMetric,
)

ROWS = 240


def batches() -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(0)
    v = rng.integers(3, size=(ROWS, 2))
    z = np.column_stack([v @ [[1.0, 0.4], [0.0, 1.0]], 0.001 * rng.normal(size=ROWS)])
    return torch.from_numpy(z + 0.1 * rng.normal(size=z.shape)), torch.from_numpy(v)


def expected() -> dict[str, float]:
    z, v = (own.numpy() for own in batches())
    codes = Codes(z, np.full(z.shape, 1e-12), z, factors=v)
    table, learnt = infomec(codes, pruning="range"), dci(codes)
    return {
        "mig": mig(codes).value,
        "sap": sap(codes).value,
        "modularity": modularity(codes).value,
        "active_units": active_units(codes).value,
        "infom": table.modularity.value,
        "infoc": table.compactness.value,
        "infoe": infoe(codes).value,
        "dci_disentanglement": learnt.disentanglement.value,
        "dci_completeness": learnt.completeness.value,
        "dci_informativeness": learnt.informativeness.value,
    }


def wrappers() -> dict[str, Any]:
    return {
        "mig": MIGMetric(), "sap": SAPMetric(), "modularity": ModularityMetric(),
        "active_units": ActiveUnitsMetric(), "infomec": InfoMECMetric(), "dci": DCIMetric(),
    }  # fmt: skip


def computed(metrics: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, metric in metrics.items():
        value = metric.compute()
        found |= (
            {k: float(v) for k, v in value.items()}
            if isinstance(value, dict)
            else {name: float(value)}
        )
    return found


def test_batches_on_one_process_give_the_plain_functions() -> None:
    z, v = batches()
    metrics = wrappers()
    for metric in metrics.values():
        for rows in torch.arange(ROWS).split(50):
            metric.update(z[rows], v[rows])
    found = computed(metrics)
    assert found == pytest.approx(expected(), abs=1e-12)
    metrics["mig"].reset()
    with pytest.raises(UsageError, match="no codes yet"):
        metrics["mig"].compute()


def _process(rank: int, folder: str) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    z, v = batches()
    metrics = wrappers()
    for metric in metrics.values():  # batches of different sizes
        for rows in torch.arange(ROWS).split(140)[rank].split(60):
            metric.update(z[rows], v[rows])
    torch.save(computed(metrics), Path(folder) / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_processes_give_the_plain_functions_too(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_process, args=(str(tmp_path),), nprocs=2)
    for rank in range(2):
        assert torch.load(tmp_path / f"{rank}.pt") == pytest.approx(expected(), abs=1e-12)


@pytest.mark.slow
def test_a_lightning_trainer_logs_them(tmp_path: Path) -> None:
    import lightning
    from torch.utils.data import DataLoader, TensorDataset

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(1, 1)
            self.mig, self.dci = MIGMetric(), DCIMetric()

        def validation_step(self, batch: Any, _: int) -> None:
            self.mig.update(*batch)
            self.dci.update(*batch)
            self.log("mig", self.mig)

        def on_validation_epoch_end(self) -> None:
            self.log_dict(self.dci.compute())

    trainer = lightning.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.validate(Model(), DataLoader(TensorDataset(*batches()), 60), verbose=False)
    for name in ("mig", "dci_disentanglement", "dci_completeness"):
        assert float(trainer.callback_metrics[name]) == pytest.approx(expected()[name], abs=1e-6)
