"""Settings of optimisers: what `optimiser.name=... optimiser.key=value` may say."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, Strict, model_serializer

from vaescope.model_specs import Group, Number, Positive
from vaescope.schedule_specs import Value

__all__ = ["AdagradSpec", "AdamSpec", "Decays", "OptimiserSpec"]

_Decay = Annotated[Number, Field(ge=0, lt=1)]
#: How fast Adam forgets gradients and their squares.
Decays = Annotated[tuple[_Decay, _Decay], Strict(False)]


class AdamSpec(Group):
    name: Literal["adam"] = "adam"
    lr: Value = 1e-4
    betas: Decays = (0.9, 0.999)
    eps: Positive = 1e-8
    #: Divide by the largest second moment so far. Reddi et al. 2018, algorithm 2.
    amsgrad: bool = False

    @model_serializer(mode="wrap")
    def _without_plain_adam(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = plain(self)
        if not self.amsgrad:
            content.pop("amsgrad", None)  # so that runs from before it keep their digest
        return content


class AdagradSpec(Group):
    name: Literal["adagrad"] = "adagrad"
    lr: Value = 1e-2
    eps: Positive = 1e-10


OptimiserSpec = Annotated[AdamSpec | AdagradSpec, Field(discriminator="name")]
