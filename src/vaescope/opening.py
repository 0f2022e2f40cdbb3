"""Opens every kind of VAE as an `OpenModel`, from which everything is measured.

A run, its folder, an exported folder, a fitted estimator, a `vs.VAE`, somebody else's module, two
functions, a model of pythae, diffusers, scvi-tools, Pyro, Keras or Lightning, or a PCA.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from vaescope.adapters import Asked
from vaescope.adapters.sources import is_of
from vaescope.build import build_auxiliary, build_vae, data_of
from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.data.auxiliary import Auxiliary
from vaescope.data.dataset import Kind
from vaescope.encoding import encode_rows, load_vae
from vaescope.errors import RunError, ShapeError, UsageError
from vaescope.escaping import printable
from vaescope.foreign import Shown, open_foreign
from vaescope.models import OpenModel
from vaescope.nets.initialisation import reinitialised
from vaescope.own_parts.objects import by_group
from vaescope.own_parts.specs import ObjectSpec
from vaescope.priors import as_prior
from vaescope.reading import parse_json, read_regular
from vaescope.runs import Run
from vaescope.settings import experiment, preset
from vaescope.specs import CosineSpec, Experiment, LinearSpec, resolve
from vaescope.types import Integers
from vaescope.user_data import as_dataset
from vaescope.vae import VAE, NoDecoder

__all__ = ["ROWS", "encode", "knows_itself", "open_model", "open_run", "open_vae"]

#: Rows of the data that are encoded unless a caller says otherwise, as in bonheme2023.
ROWS = 10_000

_log = logging.getLogger("vaescope")


def open_model(
    model: Any = None,
    data: Any = None,
    *,
    factors: Any = None,
    encode: Callable[[Tensor], Any] | None = None,
    decode: Callable[[Tensor], Any] | None = None,
    posterior: str | None = None,
    output: str | None = None,
    value_range: tuple[float, float] | None = None,
    likelihood: Any = None,
    prior: Any = None,
    condition: Any = None,
    lengths: Any = None,
    scored: Any = None,
    batch_axis: int | None = None,
    kind: Kind | None = None,
    columns: Any = None,
    mean: Any = None,
    std: Any = None,
    name: str | None = None,
    rows: int = ROWS,
) -> OpenModel:
    """Opens a run or its folder, a fitted `vs.VAEEstimator`, a `vs.VAE`, any module with encode and
    decode (or encoder and decoder), a pair of functions, a model of pythae or diffusers, or a PCA.

    The meaning of a foreign model's outputs is inferred, logged and kept in `.inferred`; arguments
    from `posterior` to `condition` override it. Batches that are not tensors are passed to the
    encoder unchanged, and only their codes are known.

    Args:
        model: a run, its folder, or any model that `vs.open_model` opens.
        data: arrays or tensors of any shape (n, ...), a table, a loader, a dataset, its name or its
            path; None takes the run's own.
        factors: ground truth of each row: an array (n, factors), or a column for each by name.
        encode: a function of a tensor that replaces the model's own.
        decode: a function of a tensor that replaces the model's own.
        posterior: how to interpret `encode`'s outputs, e.g. `interleaved,logvar`; None infers it.
        output: `probabilities`, `logits` or `pixels`; None infers it.
        value_range: range of the images that the model takes; None infers it.
        likelihood: p(x|z), e.g. `gaussian:0.01`, or a function of the decoder's output that returns
            a distribution; None infers it.
        prior: p(z), e.g. `student-t:5`, or anything that `vs.priors.as_prior` takes, or a function
            of the condition that returns a torch Normal; None infers it.
        condition: labels or other arrays with a row for each example, a tuple of these, or a
            function of a batch; False: the model was trained without any.
        lengths: lengths of padded sequences.
        scored: an array of the shape of the data, 1 where a value is scored.
        batch_axis: axis of examples in what the model takes; 1: it takes time first.
        kind: `images`, `signals` or `tokens`.
        columns: names of columns, channels or tokens.
        mean: mean that x was standardised with; it is undone wherever values are shown.
        std: standard deviation that x was standardised with; it is undone likewise.
        name: name of the model in reports.
        rows: largest number of rows that are encoded.

    Returns:
        `OpenModel`: a model, its data, and what is computed from both.

    Raises:
        DataError: a file is missing or damaged.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x)
        >>> vs.open_model(model, x).codes.mean.shape
        (600, 6)
    """
    asked = Asked(posterior, output, value_range, likelihood, prior, condition, lengths, batch_axis,
                  scored)  # fmt: skip
    shown = Shown(kind, columns, mean, std)
    if isinstance(model, OpenModel):
        if encode or decode or asked.anything or shown.anything:
            raise UsageError(
                "This model is open already, so the meaning of its outputs is known.",
                "Open the model itself again with these arguments.",
            )
        return model if data is None or data is model.data else _on(model, data, factors, rows)
    if isinstance(model, str | Path):
        model = Run(Path(model))
    if is_of(model, "scvi"):
        from vaescope.adapters.scvi import open_scvi

        if encode or decode or asked.anything or shown.anything:
            raise UsageError(
                "The meaning of outputs is known for models of scvi-tools.",
                "Pass the model alone, or with an AnnData.",
            )
        return _logged(open_scvi(model, data, factors, name=name, rows=rows))
    like = model.open().data if isinstance(model, Run) and data is not None else None
    trained = knows_itself(model)
    if trained and (encode or decode or asked.anything or shown.anything):
        raise UsageError(
            "The meaning of outputs is known for models that vaescope trained.",
            "Leave out encode, decode, posterior, output and value_range.",
        )
    if not trained and data is not None:
        return _logged(
            open_foreign(model, data, factors, (encode, decode), asked, shown, name=name, rows=rows)
        )
    given = None if data is None else as_dataset(data, factors, most=rows, like=like)
    if isinstance(model, Run):
        return _open_run(model, given, rows)
    if given is None:
        raise UsageError(
            "Only a run records its data.",
            "Pass data: --data FILE; in Python vs.inspect(model, data) or encode=, decode=, data=.",
        )
    if _is_fitted_vae(model):
        return _open_estimator(model, given, name, rows)
    return open_vae(model, given, name=name or type(model).__name__, rows=rows)


def knows_itself(model: Any) -> bool:
    """Whether vaescope trained or made it: nothing of it has to be inferred."""
    return isinstance(model, Run | VAE) or _is_fitted_vae(model)


def _on(opened: OpenModel, data: Any, factors: Any, rows: int) -> OpenModel:
    """A model of ours that is open, on other data. How a stranger was read holds for its own."""
    if opened.spec is not None and opened.auxiliary is None:
        given = as_dataset(data, factors, most=rows, like=opened.spec.data)
        if given.shape == opened.data.shape:
            return replace(opened, data=given, rows=given.sample(rows, seed=0))
    raise UsageError(
        f"{opened.name} is open on {opened.data!r}; got other data.",
        "Open the model itself again with these data, or leave them out.",
    )


def _logged(opened: OpenModel) -> OpenModel:
    for inference in opened.inferred:
        _log.info("%s", inference)
    return opened


def open_run(
    path: str | Path,
    *,
    objective: Any = None,
    encoder: Any = None,
    decoder: Any = None,
    net: Any = None,
    posterior: Any = None,
    prior: Any = None,
    likelihood: Any = None,
    vae: Any = None,
) -> Run:
    """Opens a run that was trained with Python objects, which are passed again.

    Args:
        path: the run folder.
        objective, encoder, decoder, net, posterior, prior, likelihood, vae: the objects that
            `vs.train` was given. Their weights do not matter, since the run has its own.

    Returns:
        The run, for every function that takes one.

    Raises:
        RunError: an object has other code, structure or settings than the run was trained with.

    Example:
        >>> import tempfile
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> folder = tempfile.mkdtemp()
        >>> run = vs.train("vae", x, latent=2, steps=5, net={"name": "linear"}, out=folder)
        >>> vs.open_run(run.path).is_done
        True
    """
    run = Run(Path(path))
    given = {
        "objective": objective, "encoder": encoder, "decoder": decoder, "net": net,
        "posterior": posterior, "prior": prior, "likelihood": likelihood, "vae": vae,
    }  # fmt: skip
    latent = run.open().latent
    objects = {
        group: as_prior(value, latent) if keywords == ("prior",) and not callable(value) else value
        for group, (keywords, value) in by_group(given).items()
    }
    opened = Run(run.path, objects)
    opened.open()
    return opened


def encode(
    model: Any,
    data: Any = None,
    *,
    index: Integers | None = None,
    seed: int = 0,
    batch: int = 256,
    auxiliary: Auxiliary | None = None,
) -> Codes:
    """Codes of the rows `index`, or of all; the sample of each row is drawn with `seed`.

    A run knows its own data, so `encode(run)` is enough where they have a name. It knows its u
    too; a bare identifiable VAE needs `auxiliary`. Encoders that see u see factors, so that their
    codes are marked as supervised.

    Args:
        model: a run, its folder, or any model that `vs.open_model` opens.
        data: a dataset, its name or path, or an array; None takes the run's own.
        index: rows to encode; None takes all.
        seed: seed of all random draws.
        batch: rows at a time.
        auxiliary: u of identifiable VAEs, if the run does not know it.

    Returns:
        `Codes`: posterior of each row, one sample of it, and the ground truth where it is known.

    Raises:
        BusyError: another process works on the same run.
        DiskError: a folder cannot be written.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x)
        >>> vs.encode(model, x).mean.shape
        (600, 6)
    """
    if isinstance(model, VAE):
        if data is None:
            raise UsageError("A bare model comes without data.", "Pass the dataset to encode.")
        opened = open_vae(model, as_dataset(data), auxiliary=auxiliary)
    else:
        opened = open_model(model, data)
    chosen = np.arange(len(opened.data)) if index is None else np.asarray(index)
    return encode_rows(opened, chosen, seed=seed, batch=batch)[0]


def open_vae(
    vae: VAE,
    data: Dataset,
    *,
    name: str = "VAE",
    spec: Experiment | None = None,
    auxiliary: Auxiliary | None = None,
    rows: int | Integers = ROWS,
    records: Sequence[dict[str, Any]] = (),
    environment: dict[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> OpenModel:
    """Our own networks: nothing has to be inferred. `rows` is how many, or which."""
    untrained, says = None, f"{name}, a VAE of vaescope's networks."
    if spec is not None:
        says = _described(spec, data)
        auxiliary = build_auxiliary(spec, data) if auxiliary is None else auxiliary

        def untrained(seed: int) -> nn.Module:
            if isinstance(spec.net, ObjectSpec):  # which came with its weights
                return reinitialised(vae.decoder, seed).eval()
            return build_vae(spec.model_copy(update={"seed": seed})).decoder.eval()

    return OpenModel(
        name, says, data, data.sample(rows, seed=0) if isinstance(rows, int) else rows,
        vae.encoder, vae.decoder, vae.prior, module=vae, auxiliary=auxiliary, untrained=untrained,
        spec=spec, records=records, environment=environment or {}, notes=notes,
        undecoded=NoDecoder.why if isinstance(vae.decoder, NoDecoder) else "",
    )  # fmt: skip


def _open_run(run: Run, data: Dataset | None, rows: int) -> OpenModel:
    spec = run.open()
    given = data_of(resolve(spec), data)
    if not run.seals():
        logging.getLogger("vaescope").info(
            "%s has no checksums: damage to its history would not be found.", run.path
        )
    return open_vae(
        load_vae(run), given, name=printable(run.path.name), spec=spec, rows=rows,
        records=run.records(), environment=_environment(run), notes=_notes(spec),
    )  # fmt: skip


def _is_fitted_vae(model: Any) -> bool:
    """A `vs.VAEEstimator`, which lives above this floor, by what it can give."""
    return callable(getattr(type(model), "trained_vae", None))


def _open_estimator(estimator: Any, data: Dataset, name: str | None, rows: int) -> OpenModel:
    vae, spec, records = estimator.trained_vae()
    if data.shape != spec.data.shape:
        raise ShapeError(
            f"The data have rows of shape {data.shape}; the estimator was fitted on "
            f"{spec.data.shape}.",
            "Give rows of the shape that `fit` saw, after the same preprocessing.",
        )
    return open_vae(
        vae, data, name=name or type(estimator).__name__, spec=spec, rows=rows, records=records
    )


def _described(spec: Experiment, data: Dataset) -> str:
    beta: Any = getattr(spec.objective, "beta", None)
    strength = f" (beta {beta:g})" if isinstance(beta, float) else ""
    if isinstance(beta, LinearSpec | CosineSpec):
        strength = f" (beta from {beta.start:g} to {beta.stop:g})"
    says = (
        f"{spec.objective.name}{strength} with {spec.latent} latents, trained for "
        f"{spec.steps:,} {'step' if spec.steps == 1 else 'steps'} on {data.name}, seed {spec.seed}."
    )
    if spec.pruned is not None:
        says += f" Pruned from {spec.pruned.latent} latents (run {spec.pruned.run[:8]})."
    return says


def _notes(spec: Experiment) -> tuple[str, ...]:
    notes = []
    if (pruned := spec.pruned) is not None:
        gone = ", ".join(map(str, pruned.dropped))
        notes.append(
            f"Pruned from the run with digest {pruned.run}: of its {pruned.latent} latents "
            f"{gone} ignored the data and are constants in this decoder."
        )
    if spec.data == experiment(preset("demo")).data:
        notes.append(
            "The demo shows the ellipse with a third of x's range for y. With equal ranges x and y "
            "would be the degenerate case of zietlow2022 (section 3.3.4): their directions of "
            "largest variance may rotate freely, so the model would still polarise, but its axes "
            "could mix x and y."
        )
    return tuple(notes)


def _environment(run: Run) -> dict[str, Any]:
    if not run.environment.exists():
        return {}
    try:
        content = read_regular(run.environment, most="JSON_BYTES")
        found = parse_json(content)
        if not isinstance(found, dict) or not isinstance(found.get("versions", {}), dict):
            raise ValueError("its keys are not those of an environment")
    except (OSError, ValueError) as error:
        raise RunError(
            f"{run.environment} is not JSON: {error}.",
            "Delete it: the report then leaves out versions and threads.",
        ) from error
    run.require_seal(run.environment, content)
    return found
