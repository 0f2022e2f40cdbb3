"""The process that holds open models: traversal strips, sliders and the posterior of an image.

A task is one line of JSON on stdin, its answer one line on stdout. It ends when stdin does, or when
nobody asked for a while.
"""

import base64
import json
import os
import select
import sys
import traceback
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vaescope.encoding import load_vae
from vaescope.errors import RunError, VaescopeError
from vaescope.inspection.dissect import prior_units
from vaescope.latents import types
from vaescope.models import OpenModel
from vaescope.opening import open_model
from vaescope.reading import parse_json
from vaescope.report.pictures import rows_of
from vaescope.report.signals import as_pictures
from vaescope.runs import Run
from vaescope.serving.worker import require_allowed
from vaescope.traversals import traverse
from vaescope.types import Floats

__all__ = ["main"]

#: Seconds without a task until the process ends; models that stay open; rows that each encodes.
IDLE, OPEN, ROWS = 300.0, 2, 2000
#: Of a strip: latents, steps, and its height in pixels.
LATENTS, STEPS, HEIGHT = 3, 7, 96
#: How far sliders go at least, in standard deviations of the prior.
SPAN = 3.0
NEAREST = 4

_models: "OrderedDict[str, OpenModel]" = OrderedDict()


def _strip(task: Mapping[str, Any]) -> dict[str, Any]:
    """The latents that change the output most, from the prior's mean: needs no data."""
    run = Run(Path(task["run"]))
    require_allowed(run, task)
    vae = load_vae(run).eval()
    spec = run.open()
    centre, scale = np.zeros(spec.latent), np.ones(spec.latent)
    with torch.inference_mode():
        try:
            prior = vae.prior(None)
            centre = prior.mean.reshape(-1, spec.latent)[0].double().numpy()
            scale = prior.variance.reshape(-1, spec.latent)[0].sqrt().double().numpy()
        except (AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError):
            pass  # a prior of u has no mean of its own: N(0, I) it is
        if not np.isfinite(scale).all():
            scale = np.ones(spec.latent)
        moved = traverse(
            lambda z: vae.decoder(z).mean, centre, centre=centre, scale=scale, steps=STEPS
        )
    assert moved.outputs is not None
    best = np.argsort(-moved.share)[:LATENTS]
    pictures = _pictures(moved.outputs[best], 2)
    k, n, channels, height, width = pictures.shape
    column = pictures.transpose(1, 2, 0, 3, 4).reshape(1, n, channels, k * height, width)
    return {"png": _text(rows_of(column, height=HEIGHT)[0])}


def _pictures(values: Floats, lead: int) -> Floats:
    event = values.shape[lead:]
    ends = (0.0, 1.0) if len(event) == 3 else (float(values.min()), float(values.max()))
    found = as_pictures(values, event, ends)
    if found is None:
        raise RunError("Its outputs are not pictures.", "The report shows them as lines.")
    return found


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _model(task: Mapping[str, Any]) -> OpenModel:
    key = f"{task['run']} {task['stamp']}"
    if key not in _models:
        run = Run(Path(task["run"]))
        require_allowed(run, task)
        opened = open_model(run, rows=ROWS)
        if len(opened.data.shape) != 3:
            raise RunError("Its data are not images.", "The report shows its traversals.")
        if opened.undecoded or opened.maps is not None:
            raise RunError("Its latents are maps or cannot be decoded.", "See the report.")
        if not np.isfinite(opened.codes.mean).all():
            raise RunError("Its codes are not finite.", "The report says for which examples.")
        _models[key] = opened
        while len(_models) > OPEN:
            _models.popitem(last=False)
    _models.move_to_end(key)
    return _models[key]


def _open(task: Mapping[str, Any]) -> dict[str, Any]:
    """What the sliders need to know."""
    model = _model(task)
    codes = model.codes
    centre, scale = prior_units(model.codes)
    names = types(codes).names if codes.stochastic else ("active",) * codes.d
    start = codes.mean[len(codes.mean) // 2]
    reach = np.maximum(SPAN * scale, np.abs(codes.mean - centre).max(axis=0))
    order = np.argsort([("active", "mixed", "passive").index(n) for n in names], kind="stable")
    return {
        "says": model.says, "shape": list(model.data.shape),
        "latents": [
            {"latent": int(j), "type": names[j], "low": float(centre[j] - reach[j]),
             "high": float(centre[j] + reach[j]), "start": float(start[j])}
            for j in order
        ],
        "own": model.auxiliary is None or not model.encoder_sees_u,
    }  # fmt: skip


def _decoded(model: OpenModel, z: Floats) -> list[bytes]:
    code = torch.from_numpy(np.asarray(z, dtype=np.float32)).to(model.device)
    with model.evaluating():
        output = model.decode_codes(code).mean.float().cpu().numpy()
    return _pngs(model, output)


def _pngs(model: OpenModel, images: Floats) -> list[bytes]:
    if model.data.scale is not None:
        images = model.data.scale.undone(images, 3)
    return rows_of(images[:, None], height=max(96, images.shape[2]))


def _decode(task: Mapping[str, Any]) -> dict[str, Any]:
    model = _model(task)
    z = np.asarray(task["z"], dtype=np.float64)
    if z.shape != (model.codes.d,) or not np.isfinite(z).all():
        raise RunError(f"A code must have {model.codes.d} finite numbers.", "Reload the page.")
    return {"png": _text(_decoded(model, z[None])[0])}


def _encode(task: Mapping[str, Any]) -> dict[str, Any]:
    """The posterior of an image, its reconstruction, and the examples whose codes are nearest."""
    model = _model(task)
    if model.auxiliary is not None and model.encoder_sees_u:
        raise RunError("Its encoder needs u beside the image.", "Use the sliders alone.")
    pixels = np.frombuffer(base64.b64decode(task["pixels"]), dtype=np.uint8)
    x = (pixels.reshape(model.data.shape) / 255.0).astype(np.float32)
    with model.evaluating():
        q = model.encode(torch.from_numpy(x[None]).to(model.device))
        mean = q.mean.float().cpu().numpy().astype(np.float64)
        deviation = q.variance.sqrt().float().cpu().numpy().astype(np.float64)
    centre, scale = prior_units(model.codes)
    far = np.linalg.norm((model.codes.mean - mean) / scale, axis=1)
    near = np.argsort(far)[:NEAREST]
    examples = _pngs(model, model.data.rows(model.rows[near]))
    return {
        "input": _text(_pngs(model, x[None])[0]),
        "reconstruction": _text(_decoded(model, mean)[0]),
        "mean": mean[0].tolist(), "std": deviation[0].tolist(),
        "centre": np.broadcast_to(centre, mean[0].shape).tolist(),
        "scale": np.broadcast_to(scale, mean[0].shape).tolist(),
        "nearest": [
            {"png": _text(png), "row": int(row), "distance": float(d)}
            for png, row, d in zip(examples, model.rows[near], far[near], strict=True)
        ],
    }  # fmt: skip


TASKS = {"strip": _strip, "open": _open, "decode": _decode, "encode": _encode}


def main() -> None:
    """The life of the process."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no answer
    torch.set_num_threads(1)
    lines = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    waiting = b""
    while select.select([lines], [], [], IDLE)[0]:
        got = lines.read(1 << 20)
        if not got:
            return
        *whole, waiting = (waiting + got).split(b"\n")
        for line in whole:
            print(json.dumps(_answer(parse_json(line))), file=answers, flush=True)


def _answer(task: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return TASKS[task["kind"]](task)
    except VaescopeError as error:
        return {"error": str(error).replace(f"{task['root']}/", "")}
    except Exception as error:  # of a part of the user's own, or of files that vanished
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
