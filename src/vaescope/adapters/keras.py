"""Keras on torch: a model is a module of torch, and `train_step` shows its loss."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vaescope.errors import UsageError

__all__ = ["step_of"]


class _Reached(Exception):
    """Thrown where a step would go backward."""

    def __init__(self, loss: Tensor) -> None:
        super().__init__()
        self.loss = loss


class _UntilBackward(TorchFunctionMode):
    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is Tensor.backward:
            raise _Reached(args[0])
        return func(*args, **(kwargs or {}))


def step_of(model: Any) -> Callable[..., Any]:
    """The loss of `train_step` as a function of a batch; the step ends where it would go backward,
    so that no weight changes. Raises UsageError where Keras runs on another backend."""
    if not isinstance(model, nn.Module):
        raise UsageError(
            f"{type(model).__name__} is a Keras model whose backend is not torch.",
            "Set KERAS_BACKEND=torch before Keras is imported, and load its weights there.",
        )

    def step(x: Tensor) -> Any:
        for batch in (x, (x, x)):
            try:
                with _UntilBackward():
                    model.train_step(batch)  # type: ignore[operator]
            except _Reached as reached:
                return reached.loss
            except (TypeError, ValueError, AttributeError, RuntimeError):
                continue
        raise ValueError("no loss is seen in train_step")

    return step
