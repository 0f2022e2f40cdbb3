"""The batches and the noise of stacked models: those that each would have alone."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from vaescope.data import Dataset
from vaescope.seeds import derive, epoch_order
from vaescope.specs import Experiment
from vaescope.vae import as_input

__all__ = ["StackedBatches"]


@final
class StackedBatches:
    """Data order and noise of each model, many steps at a time."""

    def __init__(self, experiments: Sequence[Experiment], data: Dataset, draws: int) -> None:
        self.experiments, self.data, self.draws = experiments, data, draws
        self.orders: dict[tuple[int, int], np.ndarray[Any, Any]] = {}
        self.generator = torch.Generator()
        # Small data are kept as one tensor; larger ones are gathered from their store.
        small = len(data) * int(np.prod(data.shape)) <= 50_000_000
        self.rows = (
            as_input(data.rows(np.arange(len(data))), torch.device("cpu")).contiguous()
            if small
            else None
        )

    def _index(self, seed: int, start: int, stop: int) -> np.ndarray[Any, Any]:
        n = len(self.data)
        parts = []
        while start < stop:
            epoch, at = divmod(start, n)
            if (seed, epoch) not in self.orders:
                self.orders.pop((seed, epoch - 2), None)
                self.orders[seed, epoch] = epoch_order(seed, n, epoch)
            parts.append(self.orders[seed, epoch][at : at + stop - start])
            start += len(parts[-1])
        return np.concatenate(parts)

    def __call__(self, step: int, count: int) -> tuple[Tensor, Tensor]:
        """x (steps, K, batch, ...) and noise (steps, K, draws, batch, latent)."""
        batch = self.experiments[0].batch
        index = self._orders(step, count)
        if self.rows is not None:
            x = self.rows[torch.from_numpy(index.reshape(-1))]
        else:
            x = as_input(self.data.rows(index.reshape(-1)), torch.device("cpu"))
        x = x.view(len(self.experiments), count, batch, *self.data.shape)
        return x.transpose(0, 1).contiguous(), self.noise(step, count)

    def index(self, step: int, count: int) -> Tensor:
        """Which rows these are: (steps, K, batch)."""
        batch = self.experiments[0].batch
        index = self._orders(step, count).reshape(len(self.experiments), count, batch)
        return torch.from_numpy(index.astype(np.int64)).transpose(0, 1).contiguous()

    def _orders(self, step: int, count: int) -> np.ndarray[Any, Any]:
        batch = self.experiments[0].batch
        return np.stack(
            [self._index(e.seed, step * batch, (step + count) * batch) for e in self.experiments]
        )

    def noise(self, step: int, count: int) -> Tensor:
        batch, latent = self.experiments[0].batch, self.experiments[0].latent
        noise = torch.empty(count, len(self.experiments), self.draws, batch, latent)
        draws = iter(noise.flatten(0, 1).unbind())  # of each step and model; indexing takes longer
        for t in range(count):
            for experiment in self.experiments:
                self.generator.manual_seed(derive(experiment.seed, "noise", step + t))
                next(draws).normal_(generator=self.generator)
        return noise
