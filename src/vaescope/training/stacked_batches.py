"""The batches and the noise of stacked models: those that each would have alone."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from vaescope.build import build_pairs
from vaescope.data import Dataset
from vaescope.seeds import derive, epoch_order, rng
from vaescope.specs import Experiment
from vaescope.vae import as_input

__all__ = ["StackedBatches"]


@final
class StackedBatches:
    """Data order and noise of each model, many steps at a time."""

    def __init__(self, experiments: Sequence[Experiment], data: Dataset, draws: int) -> None:
        self.experiments, self.data, self.draws = experiments, data, draws
        self.pairs = build_pairs(experiments[0], data)
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
        index = self.index(step, count)
        if self.rows is not None:
            x = self.rows[index.reshape(-1)]
        else:
            x = as_input(self.data.rows(index.reshape(-1).numpy()), torch.device("cpu"))
        return x.view(*index.shape, *self.data.shape), self.noise(step, count)

    def index(self, step: int, count: int) -> Tensor:
        """Which rows these are: (steps, K, batch), of pairs the second rows behind the first."""
        batch = self.experiments[0].batch
        orders = [
            self._index(e.seed, step * batch, (step + count) * batch) for e in self.experiments
        ]
        index = np.stack(orders).astype(np.int64).reshape(len(orders), count, batch)
        index = index.transpose(1, 0, 2)
        if self.pairs is not None:
            partners = np.empty_like(index)
            for t, k in np.ndindex(count, len(orders)):
                generator = rng(self.experiments[k].seed, "pairs", step + t)
                partners[t, k] = self.pairs(index[t, k], generator).index
            index = np.concatenate([index, partners], axis=2)
        return torch.from_numpy(index).contiguous()

    def noise(self, step: int, count: int) -> Tensor:
        batch, latent = self.experiments[0].batch, self.experiments[0].latent
        noise = torch.empty(count, len(self.experiments), self.draws, batch, latent)
        draws = iter(noise.flatten(0, 1).unbind())  # of each step and model; indexing takes longer
        for t in range(count):
            for experiment in self.experiments:
                self.generator.manual_seed(derive(experiment.seed, "noise", step + t))
                next(draws).normal_(generator=self.generator)
        return noise
