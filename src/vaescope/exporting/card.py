"""The model card: plain text from frozen results. Computes and writes nothing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vaescope.citations import BIBTEX, METHODS
from vaescope.data import CARDS
from vaescope.data.specs import ArraySpec, FilesSpec, PerturbedSpec
from vaescope.escaping import markdown
from vaescope.inspection import Inspection
from vaescope.metrics import Score
from vaescope.metrics.score import versions
from vaescope.own_parts.specs import is_own
from vaescope.runs import strict_json
from vaescope.settings import dump_yaml
from vaescope.specs import Experiment, digest, to_dict

__all__ = ["ModelCard", "model_card"]

#: Priors that are a method of their own -> its name in METHODS.
PRIORS: Mapping[str, str] = {
    "anisotropic": "anisotropic-vae",
    "conditional": "ivae",
    "mixture": "pinwheel",
    "sparse": "sparse-vae",
    "student-t": "student-t-vae",
    "subspaces": "subspaces",
}


#: Where a score was taken (mean or sample), the metric's name, and the score.
Measured = tuple[str, str, Score]


@dataclass(frozen=True)
class ModelCard:
    """README.md of a model, and how much is on it."""

    text: str
    verdicts: int
    metrics: int


def model_card(
    found: Inspection, spec: Experiment, *, name: str, licence: str = "unknown"
) -> ModelCard:
    """A card in Markdown with the YAML head that the Hugging Face hub reads.

    `licence` is the model's own; that of the data stands in a section of its own.
    """
    measured = _measured(found)
    parts = [
        f"---\n{dump_yaml(_head(found, spec, measured, name=name, licence=licence))}---",
        f"# {_line(name)}",
        _line(found.subject.says),
        *map(_line, found.notes),
        _USE,
        _verdicts(found),
        _metrics(found, measured),
        _latents(found),
        _fit(found),
        _data(found, spec),
        _making(found, spec),
        _citations(spec),
    ]
    text = "\n\n".join(part for part in parts if part) + "\n"
    return ModelCard(text, len(found.verdicts), len(measured))


def _measured(found: Inspection) -> list[Measured]:
    scores = {} if found.measures is None else found.measures.scores
    return [(on, name, score) for on, own in scores.items() for name, score in own.items()]


def _head(
    found: Inspection, spec: Experiment, measured: Sequence[Measured], *, name: str, licence: str
) -> dict[str, Any]:
    data, name = _line(found.subject.data), _line(name)
    head: dict[str, Any] = {
        "library_name": "vaescope",
        "license": licence,
        "tags": ["vae", "variational-autoencoder", "representation-learning", "disentanglement",
                 f"objective-{spec.objective.name}"],
        "datasets": [data],
    }  # fmt: skip
    if measured:
        head["metrics"] = sorted({metric for _, metric, _ in measured})
        result = {
            "task": {"type": "representation-learning", "name": "Representation learning"},
            "dataset": {"type": data, "name": data},
            "metrics": [
                {"type": metric, "name": f"{metric} on the {on}", "value": score.value,
                 "args": _choices(score)}
                for on, metric, score in measured
            ],
        }  # fmt: skip
        head["model-index"] = [{"name": name, "results": [result]}]
    # By JSON, so that tuples and numbers of NumPy are what any reader of YAML knows.
    plain: dict[str, Any] = json.loads(strict_json(head))
    return plain


_USE = """## Use

```python
import vaescope as vs

run = vs.load_pretrained("folder")      # this folder; nothing in it is executed
codes = vs.encode(run)                  # mean, variance and a sample of each example
vae = vs.load_vae(run)                  # a torch module: vae.encoder(x).mean, vae.decoder(z).mean
vs.inspect(run).save("report.html")
```"""


def _verdicts(found: Inspection) -> str:
    seen = found.subject
    rows = [
        (verdict.id, verdict.says, verdict.shown, verdict.rule, verdict.advice)
        for verdict in found.verdicts
    ]
    return (
        f"## Verdicts\n\nOn {seen.n:,} of {seen.of:,} examples of {_line(seen.data)}.\n\n"
        + _table(("verdict", "says", "number", "threshold", "advice"), rows)
    )


def _metrics(found: Inspection, measured: Sequence[Measured]) -> str:
    skipped = {} if found.measures is None else found.measures.skipped
    parts = ["## Metrics"]
    if measured:
        parts.append("One model of one seed: intervals are over examples, not over seeds.")
        parts.append(
            _table(
                ("metric", "on", "value", "interval", "protocol"),
                [
                    (name, on, f"{score.value:.4g}", _interval(score), _protocol(score))
                    for on, name, score in measured
                ],
            )
        )
    parts += [f"- not measured: {_line(name)}: {_line(why)}" for name, why in skipped.items()]
    return "\n\n".join(parts)


def _interval(score: Score) -> str:
    return "" if score.interval is None else "{:.4g} to {:.4g}".format(*score.interval)


def _choices(score: Score) -> dict[str, Any]:
    """The protocol without the versions: these stand once, for all."""
    return {key: value for key, value in score.protocol.to_dict().items() if key != "versions"}


def _protocol(score: Score) -> str:
    return ", ".join(f"{key} {_shown(value)}" for key, value in _choices(score).items())


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else strict_json(value)


def _latents(found: Inspection) -> str:
    rows = [
        (
            str(latent.index), latent.type,
            "" if latent.kl_nats is None else f"{latent.kl_nats:.3g}",
            f"{latent.mean_variance:.3g}", latent.factor or "",
        )
        for latent in found.latents
    ]  # fmt: skip
    head = ("latent", "type", "KL, nats", "mean posterior variance", "factor it encodes best")
    return "## Latents\n\n" + _table(head, rows)


def _fit(found: Inspection) -> str:
    fit = found.fit
    if fit is None:
        return ""
    return (
        f"## Fit\n\nELBO {fit.elbo_nats:.5g} nats per example: distortion "
        f"{fit.distortion_nats:.5g} (sd {fit.distortion_sd:.3g} over examples), rate "
        f"{fit.rate_nats:.5g} (sd {fit.rate_sd:.3g}); n = {fit.n:,}."
    )


def _data(found: Inspection, spec: Experiment) -> str:
    data = spec.data
    size = f"{_line(found.subject.data)}: {found.subject.of:,} examples of shape {data.shape}."
    if isinstance(data, ArraySpec | FilesSpec | PerturbedSpec):
        return (
            f"## Data\n\n{size} The user's own; sha256 of the content `{data.sha256}`. Its "
            "owner determines licence and citation."
        )
    card = CARDS[data.name]
    notes = f" {_line(card.notes)}" if card.notes else ""
    return f"## Data\n\n{size}{notes}\n\nLicence of the data: {_line(card.licence)}."


def _making(found: Inspection, spec: Experiment) -> str:
    environment = {} if found.settings is None else dict(found.settings.environment)
    trained = environment.get("versions", {})
    facts = [
        f"Experiment `{digest(spec)}`:\n\n```yaml\n{dump_yaml(to_dict(spec))}```",
        f"Trained with {_listed(trained)}." if trained else "",
        f"This card was made with {_listed(versions())}.",
    ]
    return "\n\n".join(["## How it was made", *filter(None, facts)])


def _listed(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _citations(spec: Experiment) -> str:
    keys = [] if is_own(spec.objective) else [METHODS[spec.objective.name]]
    if spec.prior.name in PRIORS:
        keys.append(METHODS[PRIORS[spec.prior.name]])
    if spec.data.name in CARDS:
        keys.append(CARDS[spec.data.name].citation)
    entries = "\n\n".join(BIBTEX[key] for key in dict.fromkeys(keys))
    return f"## Citation\n\nOf the method and of the data:\n\n```bibtex\n{entries}\n```"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


def _line(text: str) -> str:
    """One line: a name with a line break in it must not start a heading or end a table."""
    return markdown(text)
