"""A Lightning callback that types the latents of any VAE while Lightning trains it.

Needs Lightning, which is an extra: pip install 'vaescope[lightning]'.
"""

from collections.abc import Callable, Mapping
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from vaescope.errors import UsageError
from vaescope.integrations.callbacks import POSTERIOR, Looks
from vaescope.watching import MEMORY, Watch

__all__ = ["WatchLatents"]


class WatchLatents(Callback):
    """Runs `vs.watch` on the posteriors of the batches and logs its numbers through Lightning.

    posterior: (module, outputs, batch) -> a mapping with `mean` and one of `variance`, `std` and
        `logvar`, e.g. `lambda module, outputs, batch: dict(zip(("mean", "logvar"),
        module.encode(batch[0])))`. It may also hold `prior_mean`, `prior_variance` and `unused`
        of this batch. By default all these are what `training_step` returns beside `loss`.
    prior: `prior_mean`, `prior_variance` and `unused` where they are the same for all batches.
        Without them the prior is taken as N(0, I), which is logged once.
    every: batches from one look to the next. On a GPU each look waits for the device.
    prefix: put before the names that are logged.

    `.seen` is the last `vaescope.watching.Watch`. A warning is logged once when it begins.
    """

    def __init__(
        self,
        posterior: Callable[[Any, Any, Any], Mapping[str, Any]] | None = None,
        *,
        prior: Mapping[str, Any] | None = None,
        every: int = 1,
        memory: float = MEMORY,
        prefix: str = "latents/",
    ) -> None:
        super().__init__()
        self.posterior, self.every = posterior, every
        self._looks = Looks(prior, memory, prefix)

    @property
    def seen(self) -> Watch | None:
        return self._looks.seen

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        if batch_idx % self.every:
            return
        given = outputs if self.posterior is None else self.posterior(pl_module, outputs, batch)
        pl_module.log_dict(self._looks.add(_known(given), trainer.global_step))


def _known(outputs: Any) -> Mapping[str, Any]:
    """What `vs.watch` takes of what a step gave."""
    if not isinstance(outputs, Mapping) or "mean" not in outputs:
        has = ", ".join(map(str, outputs)) if isinstance(outputs, Mapping) else type(outputs)
        raise UsageError(
            f"WatchLatents got {has} from training_step; wanted `mean` and one of "
            f"{', '.join(POSTERIOR[1:])}.",
            "Return them beside `loss`, or pass posterior=, a function of (module, outputs, "
            "batch).",
        )
    return outputs
