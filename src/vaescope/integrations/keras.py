"""A Keras callback that types the latents of a VAE while `fit` trains it, on Keras's torch backend.

Needs Keras, which is an extra: pip install 'vaescope[keras]'; set KERAS_BACKEND=torch.
"""

from collections.abc import Callable, Mapping
from typing import Any

import keras
from torch import nn

from vaescope.errors import UsageError
from vaescope.integrations.callbacks import POSTERIOR, Looks
from vaescope.watching import MEMORY, Watch

__all__ = ["WatchLatents"]


class WatchLatents(keras.callbacks.Callback):
    """Runs `vs.watch` on what the encoder returns for the batches of `fit`, and logs its numbers.

    encoder: the model whose outputs are looked at; by default the `encoder` of the model that is
        trained.
    posterior: outputs -> a mapping with `mean` and one of `variance`, `std` and `logvar`. By
        default the first two outputs are mean and log variance, as in Keras's own example.
    prior: `prior_mean`, `prior_variance` and `unused`. Without them the prior is taken as N(0, I),
        which is logged once.
    every: batches from one look to the next.
    prefix: put before the names that are logged; they are in the history of `fit`, epoch by epoch.

    `.seen` is the last `vaescope.watching.Watch`. A warning is logged once when it begins.
    """

    def __init__(
        self,
        encoder: Any = None,
        posterior: Callable[[Any], Mapping[str, Any]] | None = None,
        *,
        prior: Mapping[str, Any] | None = None,
        every: int = 1,
        memory: float = MEMORY,
        prefix: str = "latents/",
    ) -> None:
        super().__init__()
        self.encoder, self.posterior, self.every = encoder, posterior, every
        self._looks = Looks(prior, memory, prefix)
        self._outputs: Any = None
        self._hook: Any = None
        self._step = 0
        self._logged: dict[str, float] = {}

    @property
    def seen(self) -> Watch | None:
        return self._looks.seen

    def on_train_begin(self, logs: Any = None) -> None:
        encoder = getattr(self.model, "encoder", None) if self.encoder is None else self.encoder
        if not isinstance(encoder, nn.Module):
            raise UsageError(
                f"WatchLatents found {type(encoder).__name__} as the encoder; wanted a model of "
                f"Keras on torch (the backend is {keras.backend.backend()}).",
                "Pass encoder=, and set KERAS_BACKEND=torch before Keras is imported.",
            )
        self._hook = encoder.register_forward_hook(self._note)

    def on_train_end(self, logs: Any = None) -> None:
        self._hook.remove()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch % self.every == 0:
            if self._outputs is None:
                raise UsageError(
                    "The encoder was not called in this batch.",
                    "Pass encoder=, the layer or model that is called.",
                )
            known = _first_two if self.posterior is None else self.posterior
            self._logged = self._looks.add(known(self._outputs), self._step)
        self._outputs = None
        self._step += 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is not None:
            logs.update(self._logged)

    def _note(self, _: Any, __: Any, outputs: Any) -> None:
        self._outputs = outputs


def _first_two(outputs: Any) -> Mapping[str, Any]:
    if not isinstance(outputs, list | tuple) or len(outputs) < 2:
        raise UsageError(
            f"The encoder returns {type(outputs).__name__}; wanted mean and log variance first.",
            f"Pass posterior=, a function of it that gives `mean` and one of {POSTERIOR[1:]}.",
        )
    return {"mean": outputs[0], "logvar": outputs[1]}
