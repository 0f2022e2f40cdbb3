"""What is said of the training: whether the loss still changes."""

from typing import TYPE_CHECKING

import numpy as np

from vaescope.verdicts.thresholds import THRESHOLDS, Verdict, close

if TYPE_CHECKING:
    from vaescope.inspection import Training

__all__ = ["more_training", "settled"]


def more_training(trained: Verdict | None) -> str:
    """What may help where a model is not there yet; nothing where its training has converged."""
    return "" if trained is not None and trained.id == "settled" else "Train longer"


def settled(training: "Training | None") -> Verdict | None:
    if training is None:
        return None
    # While beta falls or rises, so does the loss, whatever the model does.
    loss = training.loss[training.step > training.since]
    if len(loss) < 8:
        return None
    limit = THRESHOLDS["settled"].value
    quarter = len(loss) // 4
    before, last = loss[-2 * quarter : -quarter], loss[-quarter:]
    # Losses that are densities may be near 0 by chance: then beside all that they fell.
    size = max(abs(float(before.mean())), limit * float(np.ptp(loss))) or 1.0
    fall = float(before.mean() - last.mean()) / size
    error = float(np.sqrt((before.var(ddof=1) + last.var(ddof=1)) / quarter)) / size
    same = training.active == training.active[-1]
    first = 0 if same.all() else len(same) - int(np.argmin(same[::-1]))
    count = f"The number of active latents has not changed since step {training.step[first]:,}."
    rule = f"the loss changes by less than {limit:.0%} over the last quarter of the steps"
    verb = "fell" if fall > 0 else "rose" if fall < 0 else "went"
    change = (
        f"the loss {verb} from {before.mean():.4g} in its third quarter to {last.mean():.4g} in "
        f"its last. {count}"
    )
    if 2.0 * error > max(abs(fall), limit):
        return Verdict(
            "unclear", "note",
            f"The loss is too noisy to tell whether training has converged: {change}",
            number=fall, shown=f"{fall:.1%}", threshold=limit, rule=rule,
            advice="Look at the curve of the loss, or average the loss over more steps.",
            section="training",
        )  # fmt: skip
    undecided = close(abs(fall), limit, unit="%")
    if abs(fall) < limit:
        return Verdict(
            "settled", "good", f"Training has converged: {change}{undecided}",
            number=fall, shown=f"{fall:.1%}", threshold=limit, rule=rule,
            advice="A plateau can look the same: compare the reconstructions with the data.",
            section="training", borderline=bool(undecided),
        )  # fmt: skip
    return Verdict(
        "unsettled", "warning", f"Training has not converged: {change}{undecided}",
        number=fall, shown=f"{fall:.1%}", threshold=limit, rule=rule,
        advice="Train for more steps before you judge the latents."
        if fall > 0
        else "Train again with a lower learning rate before you judge the latents.",
        section="training", borderline=bool(undecided),
    )  # fmt: skip
