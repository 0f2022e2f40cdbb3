"""What the callbacks of all libraries do with the posteriors of a batch."""

import logging
from collections.abc import Mapping
from typing import Any, final

from vaescope.watching import Watch, watch

__all__ = ["POSTERIOR", "PRIOR", "Looks"]

_log = logging.getLogger("vaescope")

#: What `vs.watch` takes of a step's outputs.
POSTERIOR = ("mean", "variance", "std", "logvar")
#: What it may be told of the prior and of latents that ignore x.
PRIOR = ("prior_mean", "prior_variance", "unused")


@final
class Looks:
    """The last look, and whether its warning was told."""

    def __init__(self, prior: Mapping[str, Any] | None, memory: float, prefix: str) -> None:
        self.prior, self.memory, self.prefix = dict(prior or {}), memory, prefix
        self.seen: Watch | None = None
        self._warned = False

    def add(self, given: Mapping[str, Any], step: int) -> dict[str, float]:
        """Looks at a batch, tells a warning once when it begins, and gives what to log."""
        known = {**self.prior, **{k: given[k] for k in (*POSTERIOR, *PRIOR) if k in given}}
        if self.seen is None and not set(PRIOR) & set(known):
            _log.info(
                "WatchLatents: the prior is assumed to be N(0, I); pass prior= if it is another."
            )
        self.seen = watch(**known, state=self.seen, memory=self.memory)
        if self.seen.warning and not self._warned:
            _log.warning("Step %d: %s", step, self.seen.warning)
        self._warned = self.seen.warning is not None
        return {f"{self.prefix}{k}": float(v) for k, v in self.seen.to_dict().items()}
