"""`vaescope measure`: every measure that can be computed from codes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vaescope.cli.output import JsonOption, QuietOption, messages, result
from vaescope.errors import UsageError

__all__ = ["measure"]

_ON = {"mean": ("mean",), "sample": ("sample",), "both": ("mean", "sample")}


def measure(
    codes: Annotated[Path, typer.Argument(help="An npz file with mean, variance and factors.")],
    metrics: Annotated[str, typer.Option(help="all, or names separated by commas.")] = "all",
    on: Annotated[str, typer.Option(help="mean, sample or both.")] = "both",
    protocol: Annotated[str, typer.Option(help="default, dlib, chen or kim.")] = "default",
    train: Annotated[
        int | None, typer.Option(min=1, help="Rows on which metrics fit predictors.")
    ] = None,
    test: Annotated[
        int | None, typer.Option(min=1, help="Rows on which predictors are scored.")
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of samples and of drawn rows.")
    ] = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure codes: types of latents, means and samples, decomposition, metrics.

    Example: vaescope measure codes.npz --metrics mig,sap --protocol dlib
    """
    from vaescope.codes import Codes
    from vaescope.measures import measure_codes

    if on not in _ON:
        raise UsageError(f"--on is {on!r}.", f"Use one of {', '.join(_ON)}.")
    messages(quiet=quiet)
    loaded = Codes.load(codes, seed=seed)
    measured = measure_codes(
        loaded,
        metrics=None if metrics == "all" else [name.strip() for name in metrics.split(",")],
        on=_ON[on],
        protocol=protocol,
        train=train,
        test=test,
        seed=seed,
    )
    content = measured.to_dict()
    types = measured.types.summary() if loaded.variance.any() else "without noise, so of no type"
    result(content, _plain(content, types), as_json=as_json)


def _plain(content: dict[str, Any], types: str) -> str:
    latents = "1 latent" if content["d"] == 1 else f"{content['d']} latents"
    lines = [f"{content['n']:,} codes of {latents}: {types}"]
    for name, scores in content["metrics"].items():
        for metric, score in scores.items():
            ends = score["interval"]
            interval = f"  [{ends[0]:.4f}, {ends[1]:.4f}]" if ends else ""
            lines.append(f"{metric:20} {name:7} {score['value']:8.4f}{interval}")
    for name in ("mean", "sample"):
        own = content["correlation"].get(name) or {}
        for measure_name, value in own.items():
            if isinstance(value, float):
                lines.append(f"{measure_name:27} of {name:7} {value:8.4f}")
    lines += [
        f"{metric:20} {name:7} {reason}"
        for name, scores in content["metrics"].items()
        for metric, score in scores.items()
        for reason in score["validity"]
    ]
    lines += [f"skipped {name}: {reason}" for name, reason in content["skipped"].items()]
    return "\n".join(lines)
