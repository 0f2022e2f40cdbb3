"""Lightning: `training_step` is a pass through the model too, and its loss shows the likelihood."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["step_of"]

#: What a step tells its trainer, which is not there.
_TELLS = ("log", "log_dict", "print")


def step_of(model: nn.Module) -> Callable[..., Any] | None:
    """`training_step` as a function of a batch of data: alone, or with labels as loaders give
    them. Labels are zeros where nothing is given. None where it changes the weights itself."""
    if not model.automatic_optimization:
        return None

    def step(x: Tensor, u: Tensor | None = None) -> Any:
        labels = torch.zeros(len(x), dtype=torch.long, device=x.device) if u is None else u
        problem: Exception | None = None
        for batch in ((x, labels), (x,), x):
            try:
                with _alone(model):
                    return model.training_step(batch, 0)  # type: ignore[operator]
            except (TypeError, ValueError, IndexError, AttributeError, RuntimeError) as error:
                problem = problem or error
        assert problem is not None
        raise problem

    return step


@contextmanager
def _alone(model: nn.Module) -> Iterator[None]:
    """Without a trainer: what would be logged is dropped, and lists that a step adds to are put
    back."""
    kept = [(value, list(value)) for value in vars(model).values() if isinstance(value, list)]
    hidden = {name: vars(model).get(name) for name in _TELLS}
    vars(model).update(dict.fromkeys(_TELLS, _nothing))
    try:
        yield
    finally:
        for name, value in hidden.items():
            del vars(model)[name]
            if value is not None:
                vars(model)[name] = value
        for value, before in kept:
            value[:] = before


def _nothing(*_: Any, **__: Any) -> None:
    """Tells nobody."""
