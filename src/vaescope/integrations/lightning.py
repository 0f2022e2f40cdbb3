"""A Lightning callback that types the latents of any VAE while Lightning trains it.

Needs Lightning, which is an extra: pip install 'vaescope[lightning]'.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from vaescope.errors import UsageError
from vaescope.watching import MEMORY, Watch, watch

__all__ = ["WatchLatents"]

_log = logging.getLogger("vaescope")

#: What `vs.watch` takes of a step's outputs.
POSTERIOR = ("mean", "variance", "std", "logvar")
#: What it may be told of the prior and of latents that ignore x.
PRIOR = ("prior_mean", "prior_variance", "unused")


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
        self.posterior, self.prior, self.every = posterior, dict(prior or {}), every
        self.memory, self.prefix = memory, prefix
        self.seen: Watch | None = None
        self._warned = False

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
        known = {**self.prior, **_known(given)}
        if self.seen is None and not set(PRIOR) & set(known):
            _log.info("WatchLatents: the prior is taken as N(0, I); prior= says otherwise.")
        self.seen = watch(**known, state=self.seen, memory=self.memory)
        pl_module.log_dict({f"{self.prefix}{k}": float(v) for k, v in self.seen.to_dict().items()})
        if self.seen.warning and not self._warned:
            _log.warning("Step %d: %s", trainer.global_step, self.seen.warning)
        self._warned = self.seen.warning is not None


def _known(outputs: Any) -> dict[str, Any]:
    """What `vs.watch` takes of what a step gave."""
    if not isinstance(outputs, Mapping) or "mean" not in outputs:
        has = ", ".join(map(str, outputs)) if isinstance(outputs, Mapping) else type(outputs)
        raise UsageError(
            f"WatchLatents got {has} from training_step; wanted `mean` and one of "
            f"{', '.join(POSTERIOR[1:])}.",
            "Return them beside `loss`, or pass posterior=, a function of (module, outputs, "
            "batch).",
        )
    return {name: outputs[name] for name in (*POSTERIOR, *PRIOR) if name in outputs}
