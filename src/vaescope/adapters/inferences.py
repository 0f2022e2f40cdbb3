"""What was inferred about a model, in words, with the evidence."""

from torch import Tensor

from vaescope.adapters.arguments import optional_beside
from vaescope.adapters.asked import Asked
from vaescope.adapters.input_format import images_of
from vaescope.adapters.output_format import ends_of
from vaescope.adapters.posterior_format import LAYOUTS
from vaescope.adapters.tensors import leaves
from vaescope.adapters.variants import Feeding
from vaescope.models import Inference

__all__ = ["inferences", "left_out"]

#: What the values of a spread cannot tell.
_LOOKALIKES = {
    "logvar": "; the model draws nothing from it, but other kinds would have the same rate here",
}


def left_out(feeding: Feeding, asked: Asked) -> list[tuple[str, str]]:
    """What the model may be given beside the data and was not: functions and their arguments."""
    if feeding.condition is not None or asked.unconditional:
        return []
    source = feeding.source
    functions = [feeding.reading.way.encoder, feeding.reading.decoder]
    functions += [("forward", whole) for whole in source.forwards[:1]]
    found: dict[str, str] = {}
    for name, function in functions:
        for argument in optional_beside(getattr(function, "__wrapped__", function)):
            found.setdefault(argument, name)
    return [(name, argument) for argument, name in found.items()]


def _left_out(feeding: Feeding, asked: Asked) -> list[Inference]:
    if not (left := left_out(feeding, asked)):
        return []
    arguments = " and ".join(argument for _, argument in left)
    why = (f"{left[0][0]} also takes {arguments}, which it was not given: if the model was trained "
           "with that, pass condition= with a row for each example, otherwise "
           "condition=False")  # fmt: skip
    return [Inference("condition", "uncertain", why, told=True)]


def _beside(feeding: Feeding, x: Tensor) -> list[Inference]:
    """What the encoder returns beside the posterior, such as an angle or an element of a group."""
    reading = feeding.reading
    if reading.layout == "drawn":
        return []
    encoded = reading.way(x, feeding.like(x, feeding.u))
    parts = reading.opening.candidate.take(encoded)
    # Means, spreads and samples, alone or as halves of one tensor, and covariances.
    size = parts.mean.numel()
    known = {size, 2 * size} | (
        {parts.covariance.numel()} if parts.covariance is not None else set()
    )
    names = []
    for path, part in leaves(encoded):
        row = path and part.ndim and len(part) == len(x) and part.numel() < x.numel()
        if row and part.numel() not in known:
            word = str(path[-1]) if isinstance(path[-1], str) else f"output {path[-1] + 1}"
            low, high = ends_of(part.detach())
            names.append(f"{word} of shape {tuple(part.shape[1:])} from {low:.3g} to {high:.3g}")
    if not names:
        return []
    why = "the encoder returns it too; it is not given to the decoder, and has no KL and no type"
    return [Inference("beside", "; ".join(names), why, told=True)]


def inferences(feeding: Feeding, asked: Asked, x: Tensor, was_training: bool) -> list[Inference]:
    """What was inferred, in the order in which it is said."""
    reading, tried, source = feeding.reading, feeding.tried, feeding.source
    images = images_of(x, asked.kind)
    constant = "a constant image's" if images else "that of a constant"
    among = (
        f"of {tried} interpretations this one reconstructs best"
        if tried > 1
        else "no other one works"
    )
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
    if reading.assumed:
        found.append(Inference("likelihood", reading.likelihood.family, reading.assumed))
    if reading.opening.candidate.family:
        found.append(
            Inference("family", "gaussian", f"the posterior is a {reading.opening.candidate.family}"
                      ", of which mean and variance are taken; its KL and its samples are those of "
                      "a Gaussian", told=True)
        )  # fmt: skip
    found += _left_out(feeding, asked) + _beside(feeding, x)
    form = reading.way.form
    if form != "as they are":
        found.append(
            Inference("input", form, "the encoder accepts the data in no other form", told=True)
        )
    if feeding.batch_axis:
        told = asked.batch_axis is not None
        why = "as given" if told else "with time first the model gives a code for each example"
        found.append(Inference("batch_axis", "1", why, told))
    if (counting := feeding.counting) is not None:
        found.append(Inference("scored", counting.says, counting.why, counting.why == "as given"))
    if feeding.form is not None and feeding.form.says:
        why = "the model takes this form; traversals and Jacobians use that of the first example"
        if feeding.condition is not None and "x" in feeding.condition.roles:
            why = ("its decoder sees the data of earlier steps; traversals and Jacobians use "
                   "those of the first example")  # fmt: skip
        found.append(Inference("condition", feeding.form.says, why, told=True))
    if was_training:
        found.append(
            Inference("mode", "eval",
            "the model was in training mode, in which dropout and batch norm change its "
            "codes; it is evaluated in eval mode and returned to training mode afterwards",
            told=True)
        )  # fmt: skip
    if reading.error > 1:
        found.append(
            Inference("reconstruction", "poor", f"{error}: either the model is untrained or "
                      f"collapsed, or these are not its data, or its output means something else "
                      f"({seen}); correct it "
                      "with output=, value_range= and likelihood=", told=True)
        )  # fmt: skip
    return found
