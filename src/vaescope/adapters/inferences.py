"""What was read of a model, in words: each thing with its evidence."""

from torch import Tensor

from vaescope.adapters.asked import Asked
from vaescope.adapters.input_format import images_of
from vaescope.adapters.posterior_format import LAYOUTS
from vaescope.adapters.variants import Feeding
from vaescope.models import Inference

__all__ = ["inferences"]

#: What the values of a spread cannot tell.
_LOOKALIKES = {
    "logvar": "; nothing draws from it, but other kinds would have the same rate here",
}


def inferences(feeding: Feeding, asked: Asked, x: Tensor, was_training: bool) -> list[Inference]:
    """What was inferred, in the order in which it is said."""
    reading, tried, source = feeding.reading, feeding.tried, feeding.source
    images = images_of(x, asked.kind)
    constant = "a constant image's" if images else "that of a constant"
    among = f"of {tried} readings tried it reconstructs best" if tried > 1 else "no other one works"
    error = f"{among}, with an error {reading.error:.3g} times {constant}"
    spread = "" if reading.spread == "none" else f",{reading.spread}"
    why = f"{LAYOUTS[reading.layout]}; {reading.opening.evidence or error}"
    if spread:
        why += f"; spreads are from {reading.spreads[0]:.3g} to {reading.spreads[1]:.3g}"
        if not reading.opening.evidence and asked.spread() is None:
            why += _LOOKALIKES.get(reading.spread, "")
    seen = f"outputs are from {reading.seen[0]:.3g} to {reading.seen[1]:.3g}"
    out = f"{reading.why_output}; {seen}"
    word = "values" if reading.output == "pixels" and not images else reading.output
    low, high = reading.value_range
    margin = reading.margin
    found = [
        Inference("posterior", f"{reading.layout}{spread}", why, asked.posterior is not None),
        Inference("output", word, out, asked.output is not None, margin),
    ]
    if images or asked.value_range is not None:
        told = asked.value_range is not None or source.range is not None
        why = source.says or ("as given" if asked.value_range else error)
        ends = reading.likelihood.output_range
        if ends != reading.value_range:
            why += f"; its outputs are in [{ends[0]:g}, {ends[1]:g}]"
        found.append(Inference("value_range", f"{low:g},{high:g}", why, told, margin))
    if reading.opening.candidate.family:
        found.append(
            Inference("family", "gaussian", f"the posterior is a {reading.opening.candidate.family}"
                      ", of which mean and variance are taken; its KL and its samples are those of "
                      "a Gaussian", told=True)
        )  # fmt: skip
    form = reading.way.form
    if form != "as they are":
        found.append(
            Inference("input", form, "the encoder takes the data in no other form", told=True)
        )
    if feeding.batch_axis:
        told = asked.batch_axis is not None
        why = "as given" if told else "with time first it gives a code for each example"
        found.append(Inference("batch_axis", "1", why, told))
    if feeding.form is not None:
        why = "the model takes this form; traversals and Jacobians use that of the first example"
        if feeding.condition is not None and "x" in feeding.condition.roles:
            why = ("its decoder sees the data of the steps before; traversals and Jacobians use "
                   "those of the first example")  # fmt: skip
        found.append(Inference("condition", feeding.form.says, why, told=True))
    if was_training:
        found.append(
            Inference("mode", "eval", "the model came in training mode, in which dropout and batch "
                      "norm change its codes; it was put back afterwards", told=True)
        )  # fmt: skip
    if reading.error > 1:
        found.append(
            Inference("reconstruction", "poor", f"{error}: either the model is untrained or "
                      f"collapsed, or these are not its data, or its output means something else "
                      f"({seen}); correct it "
                      "with output=, value_range= and likelihood=", told=True)
        )  # fmt: skip
    return found
